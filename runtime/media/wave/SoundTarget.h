// SPDX-License-Identifier: Apache-2.0
//
// The destination of decoded samples of a sound.
#pragma once

#include "runtime/media/Medium.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace penstock::runtime {

/// The box of a request, as f32: `channels` has the axes t and c; `mono` t alone, the mean of
/// the channels, added up in their order.
class SoundTarget {
public:
  /// \param out  where the first element of the whole result would lie
  SoundTarget(const MediumRequest &request, const MediumLayout &layout, uint8_t *out,
              int64_t channels)
      : low(request.box[0].low), high(request.box[0].high), channels(channels), out(out),
        step(layout.strides[0]), isMono(request.format == "mono") {
    if (isMono)
      return;
    left = request.box[1].low;
    right = request.box[1].high;
    channelStep = layout.strides[1];
  }

  /// Stores the part in the box of `count` samples from `first` on. `load(i, c)` is the value
  /// of channel c, `i` samples behind the first one.
  template <typename Load> void put(int64_t first, int64_t count, const Load &load) const {
    const int64_t begin = std::max(first, low), end = std::min(first + count, high);
    if (step == int64_t(sizeof(float)) &&
        (channels == 1 || (isMono && channels == 2))) { // loops that a compiler makes vectors of
      auto *to = reinterpret_cast<float *>(out);
      if (channels == 1)
        for (int64_t t = begin; t < end; ++t)
          to[t] = load(t - first, 0);
      else
        for (int64_t t = begin; t < end; ++t)
          to[t] = (load(t - first, 0) + load(t - first, 1)) * 0.5F;
      return;
    }
    for (int64_t t = begin; t < end; ++t) {
      uint8_t *to = out + t * step;
      if (isMono) {
        float sum = load(t - first, 0);
        for (int64_t c = 1; c < channels; ++c)
          sum += load(t - first, c);
        store(to, sum / float(channels));
        continue;
      }
      for (int64_t c = left; c < right; ++c)
        store(to + c * channelStep, load(t - first, c));
    }
  }

  const int64_t low, high; ///< the samples that are wanted
  const int64_t channels;

private:
  static void store(uint8_t *to, float value) { std::memcpy(to, &value, sizeof value); }

  uint8_t *out;
  int64_t step, channelStep = 0, left = 0, right = 0;
  bool isMono;
};

} // namespace penstock::runtime
