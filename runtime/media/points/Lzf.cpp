// SPDX-License-Identifier: Apache-2.0
//
// A control byte below 32 says how many bytes follow as they are, less one. Any other is a repeat:
// its upper three bits and 2 are the length, 7 standing for that and another byte, and the rest
// with the next byte, and 1, how far back what is repeated begins.
#include "runtime/media/points/Lzf.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace penstock::runtime {

namespace {

constexpr size_t lzfPiece = 64 << 10, farthest = 8 << 10;

Error damagedLzf(const std::string &what) {
  return {Code::Corrupt, "damaged points, packed by LZF: " + what};
}

} // namespace

Status LzfBytes::feed() {
  if (left > 0)
    return {};
  if (next == end)
    return damagedLzf("they end inside a repeat or a run");
  const uint64_t count = std::min<uint64_t>(lzfPiece, end - next);
  auto bytes = file.view(next, count, window);
  if (!bytes)
    return bytes.error();
  in = *bytes;
  left = size_t(count);
  next += count;
  return {};
}

uint8_t LzfBytes::take() {
  --left;
  return *in++;
}

Status LzfBytes::room(size_t count) const {
  return begin + held.size() + count > whole
             ? damagedLzf("they become more than the " + std::to_string(whole) +
                          " bytes that the header says")
             : Status();
}

Status LzfBytes::literals(size_t count) {
  if (Status status = room(count); !status)
    return status;
  while (count > 0) {
    if (Status status = feed(); !status)
      return status;
    const size_t now = std::min(count, left);
    held.insert(held.end(), in, in + now);
    in += now;
    left -= now;
    count -= now;
  }
  return {};
}

Status LzfBytes::repeat(size_t distance, size_t count) {
  if (Status status = room(count); !status)
    return status;
  if (distance > held.size())
    return damagedLzf("they repeat what stands before their beginning");
  const size_t at = held.size();
  held.resize(at + count);
  for (size_t i = at; i < at + count; ++i) // may repeat what it writes
    held[i] = held[i - distance];
  return {};
}

Status LzfBytes::unpack() {
  if (found)
    found = unpackWindow();
  return found;
}

Status LzfBytes::unpackWindow() {
  if (held.size() > farthest) {
    begin += held.size() - farthest;
    held.erase(held.begin(), held.end() - std::ptrdiff_t(farthest));
  }
  const size_t enough = held.size() + lzfPiece;
  held.reserve(enough + 264);
  while (held.size() < enough && (left > 0 || next < end)) {
    if (Status status = feed(); !status)
      return status;
    const uint8_t control = take();
    if (control < 32) {
      if (Status status = literals(size_t(control) + 1); !status)
        return status;
      continue;
    }
    if (Status status = feed(); !status)
      return status;
    const size_t longer = control >> 5 == 7 ? take() : 0;
    if (Status status = feed(); !status)
      return status;
    const size_t distance = (size_t(control & 31) << 8 | take()) + 1;
    if (Status status = repeat(distance, (control >> 5) + longer + 2); !status)
      return status;
  }
  return {};
}

Status LzfBytes::read(uint64_t offset, std::span<uint8_t> out) {
  while (!out.empty()) {
    const uint64_t known = begin + held.size();
    if (offset < known) {
      const size_t count = std::min<size_t>(out.size(), size_t(known - offset));
      std::memcpy(out.data(), held.data() + (offset - begin), count);
      out = out.subspan(count);
      offset += count;
      continue;
    }
    if (Status status = unpack(); !status)
      return status;
    if (begin + held.size() == known)
      return finish();
  }
  return {};
}

Status LzfBytes::finish() {
  while (!found || left > 0 || next < end)
    if (Status status = unpack(); !status)
      return status;
  return begin + held.size() < whole
             ? damagedLzf("they become " + std::to_string(begin + held.size()) + " bytes of " +
                          std::to_string(whole))
             : Status();
}

} // namespace penstock::runtime
