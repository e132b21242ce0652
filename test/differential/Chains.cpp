// SPDX-License-Identifier: Apache-2.0
//
// Steps of chains, each of the value before.
#include "test/differential/Draft.h"

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::differential {

using Step = Value (*)(Draft &, Value);

/// What schedules look at most closely: borders, joins and parts, a conversion or numbers along an
/// axis, and windows, which see them together.
static Value closely(Draft &d, Value x) {
  static const std::vector<Step> moves = {
      [](Draft &d, Value x) { return d.pad(x); }, [](Draft &d, Value x) { return d.pad(x); },
      [](Draft &d, Value x) { return d.concat(x); }, [](Draft &d, Value x) { return d.place(x); },
      [](Draft &d, Value x) { return d.flip(x); }};
  static const std::vector<Step> changes = {[](Draft &d, Value x) { return d.cast(x); },
                                            [](Draft &d, Value x) { return d.map(x); }};
  static const std::vector<Step> reads = {[](Draft &d, Value x) { return d.window(x); },
                                          [](Draft &d, Value x) { return d.window(x); },
                                          [](Draft &d, Value x) { return d.resample(x); },
                                          [](Draft &d, Value x) { return d.reduceTiles(x); }};
  const bool isMoved = d.rng.chance(0.6);
  for (const std::vector<Step> *steps :
       {isMoved ? &moves : &changes, isMoved ? &changes : &moves, &reads})
    if (const Value next = d.rng.pick(*steps)(d, x))
      x = next;
  return x;
}

/// What moves elements, what makes another one of each, and what reads several of them.
Value Draft::chained(int64_t number) {
  static const std::vector<Step> moves = {
      [](Draft &d, Value x) { return d.crop(x); },
      [](Draft &d, Value x) { return d.flip(x); },
      [](Draft &d, Value x) { return d.transpose(x); },
      [](Draft &d, Value x) { return d.stride(x); },
      [](Draft &d, Value x) { return d.rename(x); },
      [](Draft &d, Value x) { return d.channel(x); },
      [](Draft &d, Value x) { return d.frames(x); },
      [](Draft &d, Value x) { return d.broadcast(x); },
      [](Draft &d, Value x) { return d.pad(x); },
      [](Draft &d, Value x) { return d.pad(x); },
      [](Draft &d, Value x) { return d.concat(x); },
      [](Draft &d, Value x) { return d.stack(x); },
      [](Draft &d, Value x) { return d.pixels(x); },
      [](Draft &d, Value x) { return d.place(x); },
  };
  static const std::vector<Step> changes = {
      [](Draft &d, Value x) { return d.cast(x); },
      [](Draft &d, Value x) { return d.map(x); },
      [](Draft &d, Value x) { return d.choose(x); },
      [](Draft &d, Value x) { return d.repeat(x); },
  };
  static const std::vector<Step> reads = {
      [](Draft &d, Value x) { return d.window(x); },
      [](Draft &d, Value x) { return d.window(x); },
      [](Draft &d, Value x) { return d.window(x); },
      [](Draft &d, Value x) { return d.gather(x); },
      [](Draft &d, Value x) { return d.resample(x); },
      [](Draft &d, Value x) { return d.resample(x); },
      [](Draft &d, Value x) { return d.reduce(x); },
      [](Draft &d, Value x) { return d.reduceBeside(x); },
      [](Draft &d, Value x) { return d.reduceTiles(x); },
      [](Draft &d, Value x) { return d.scan(x); },
      [](Draft &d, Value x) { return d.contract(x); },
  };
  static const std::vector<Step> *const kinds[] = {&moves, &changes, &reads};
  const Value x = tensors.back();
  if (elements(x) > 9000)
    if (const Value smaller = reduce(x))
      return smaller;
  if (rng.chance(0.4) && !dimsOf(x).empty())
    return closely(*this, x);
  for (int tries = 0; tries < 20; ++tries) {
    const int64_t kind = rng.chance(0.7) ? number % 3 : rng.below(3);
    if (const Value next = rng.pick(*kinds[kind])(*this, x))
      return next;
  }
  return map(x);
}

} // namespace penstock::differential
