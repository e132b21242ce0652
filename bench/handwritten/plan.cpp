// SPDX-License-Identifier: Apache-2.0
#include "bench/handwritten/plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace penstock::bench {

void Axis::set(int start, int extent) {
  taps.resize(kSide);
  weights.clear();
  maxCount = 0;
  const double scale = double(extent) / kSide;
  const double filterScale = std::max(scale, 1.0);
  const double support = filterScale;
  double raw[4096];
  for (int out = 0; out < kSide; ++out) {
    const double center = (out + 0.5) * scale;
    const double inverse = 1.0 / filterScale;
    const int first = std::max(int(center - support + 0.5), 0);
    const int count = std::min(int(center + support + 0.5), extent) - first;
    double sum = 0.0;
    for (int tap = 0; tap < count; ++tap) {
      const double distance = std::fabs((tap + first - center + 0.5) * inverse);
      raw[tap] = distance < 1.0 ? 1.0 - distance : 0.0;
      sum += raw[tap];
    }
    Taps entry{start + first, 0, int(weights.size())};
    for (int tap = 0; tap < count; ++tap) {
      const double share = sum != 0.0 ? raw[tap] / sum : raw[tap];
      weights.push_back(int32_t(0.5 + share * (1 << kPrecision)));
    }
    entry.count = count;
    while (entry.count > 1 && weights[entry.weights + entry.count - 1] == 0)
      --entry.count;
    while (entry.count > 1 && weights[entry.weights] == 0) {
      ++entry.first;
      ++entry.weights;
      --entry.count;
    }
    maxCount = std::max(maxCount, entry.count);
    taps[out] = entry;
  }
}

namespace {

/// Tap `index` of `taps`, zero behind the last.
int32_t weightAt(const Axis &axis, const Taps &taps, int index) {
  return index < taps.count ? axis.weights[taps.weights + index] : 0;
}

/// w = digit2 * 65536 + digit1 * 256 + digit0, all in [-128, 127].
void splitDigits(int32_t weight, int8_t (&digits)[3]) {
  digits[2] = int8_t(weight & 255);
  const int32_t rest = (weight - digits[2]) >> 8;
  digits[1] = int8_t(rest & 255);
  digits[0] = int8_t((rest - digits[1]) >> 8);
}

const Taps &columnOf(const hw_imagenet_plan &plan, int output) {
  const int column = output / 3;
  return plan.columns.taps[plan.flip ? kSide - 1 - column : column];
}

/// False when a window of 128 bytes does not hold the taps of some group.
bool setColumns512(hw_imagenet_plan &plan) {
  constexpr int groups = kPaddedRow / 16;
  const int rowBytes = plan.width * 3;
  plan.chunks = (plan.columns.maxCount + 3) / 4;
  plan.groups512.resize(size_t(groups) * plan.chunks);
  plan.bases512.resize(plan.groups512.size());
  plan.wide = false;
  // The lowest and highest byte that each window must hold.
  int spans = 0;
  for (int group = 0; group < groups; ++group) {
    for (int chunk = 0; chunk < plan.chunks; ++chunk) {
      int low = rowBytes, high = 0;
      for (int lane = 0; lane < 16; ++lane) {
        const int output = std::min(group * 16 + lane, kRowBytes - 1);
        const Taps &taps = columnOf(plan, output);
        for (int tap = 4 * chunk; tap < std::min(taps.count, 4 * chunk + 4); ++tap) {
          low = std::min(low, (taps.first + tap) * 3 + output % 3);
          high = std::max(high, (taps.first + tap) * 3 + output % 3);
        }
      }
      plan.bases512[size_t(group) * plan.chunks + chunk] = std::min(low, high);
      spans = std::max(spans, high - low + 1);
    }
  }
  plan.wide = spans > 64;
  const int window = plan.wide ? 128 : 64;
  if (spans > 128 || rowBytes < window)
    return false;
  for (int group = 0; group < groups; ++group) {
    for (int chunk = 0; chunk < plan.chunks; ++chunk) {
      const size_t at = size_t(group) * plan.chunks + chunk;
      const int base = plan.bases512[at] = std::min(plan.bases512[at], rowBytes - window);
      Group512 &entry = plan.groups512[at];
      for (int lane = 0; lane < 16; ++lane) {
        const int output = std::min(group * 16 + lane, kRowBytes - 1);
        const Taps &taps = columnOf(plan, output);
        for (int tap = 0; tap < 4; ++tap) {
          const int index = 4 * chunk + tap;
          int8_t digits[3];
          splitDigits(weightAt(plan.columns, taps, index), digits);
          const int offset = (taps.first + index) * 3 + output % 3 - base;
          entry.shuffle[4 * lane + tap] = index < taps.count ? uint8_t(offset) : 0;
          for (int digit = 0; digit < 3; ++digit)
            entry.digit[digit][4 * lane + tap] = digits[digit];
        }
      }
    }
  }
  return true;
}

void setRows512(hw_imagenet_plan &plan) {
  plan.rowQuads = (plan.rows.maxCount + 3) / 4;
  plan.rowDigits.assign(size_t(kSide) * plan.rowQuads * 3, 0);
  for (int row = 0; row < kSide; ++row) {
    for (int index = 0; index < plan.rows.taps[row].count; ++index) {
      int8_t digits[3];
      splitDigits(weightAt(plan.rows, plan.rows.taps[row], index), digits);
      for (int digit = 0; digit < 3; ++digit)
        plan.rowDigits[(size_t(row) * plan.rowQuads + index / 4) * 3 + digit] |=
            uint32_t(uint8_t(digits[digit])) << (8 * (index % 4));
    }
  }
}

/// Outputs of lane `lane` (0..7) of group `group` within a row: four groups make
/// 32 outputs, in the order that two rounds of packing turn into rows of bytes.
int output256(int group, int lane) {
  return group / 4 * 32 + lane / 4 * 16 + group % 4 * 4 + lane % 4;
}

bool setColumns256(hw_imagenet_plan &plan) {
  constexpr int groups = kRowBytes / 8;
  const int rowBytes = plan.width * 3;
  if (rowBytes < 16)
    return false;
  plan.pairs = (plan.columns.maxCount + 1) / 2;
  plan.groups256.resize(size_t(groups) * plan.pairs);
  plan.bases256.resize(plan.groups256.size() * 2);
  for (int group = 0; group < groups; ++group) {
    for (int pair = 0; pair < plan.pairs; ++pair) {
      const size_t at = size_t(group) * plan.pairs + pair;
      Group256 &entry = plan.groups256[at];
      for (int half = 0; half < 2; ++half) {
        int low = rowBytes, high = 0;
        for (int lane = 4 * half; lane < 4 * half + 4; ++lane) {
          const int output = output256(group, lane);
          const Taps &taps = columnOf(plan, output);
          for (int tap = 2 * pair; tap < std::min(taps.count, 2 * pair + 2); ++tap) {
            low = std::min(low, (taps.first + tap) * 3 + output % 3);
            high = std::max(high, (taps.first + tap) * 3 + output % 3);
          }
        }
        if (high - low >= 16)
          return false;
        const int base = std::min(std::min(low, high), rowBytes - 16);
        plan.bases256[2 * at + half] = base;
        for (int lane = 4 * half; lane < 4 * half + 4; ++lane) {
          const int output = output256(group, lane);
          const Taps &taps = columnOf(plan, output);
          for (int tap = 0; tap < 2; ++tap) {
            const int index = 2 * pair + tap;
            const int32_t weight = weightAt(plan.columns, taps, index);
            const int offset = (taps.first + index) * 3 + output % 3 - base;
            entry.shuffle[4 * lane + 2 * tap] = index < taps.count ? uint8_t(offset) : 0x80;
            entry.shuffle[4 * lane + 2 * tap + 1] = 0x80;
            entry.high[2 * lane + tap] = int16_t(weight >> 11);
            entry.low[2 * lane + tap] = int16_t(weight & 2047);
          }
        }
      }
    }
  }
  return true;
}

void setRows256(hw_imagenet_plan &plan) {
  plan.rowPairs = (plan.rows.maxCount + 1) / 2;
  plan.rowWeights.assign(size_t(kSide) * plan.rowPairs * 2, 0);
  for (int row = 0; row < kSide; ++row) {
    for (int pair = 0; pair < plan.rowPairs; ++pair) {
      const Taps &taps = plan.rows.taps[row];
      const int32_t first = weightAt(plan.rows, taps, 2 * pair);
      const int32_t second = weightAt(plan.rows, taps, 2 * pair + 1);
      uint32_t *entry = &plan.rowWeights[(size_t(row) * plan.rowPairs + pair) * 2];
      entry[0] = uint32_t(first >> 11) | uint32_t(second >> 11) << 16;
      entry[1] = uint32_t(first & 2047) | uint32_t(second & 2047) << 16;
    }
  }
}

} // namespace
} // namespace penstock::bench

using namespace penstock::bench;

extern "C" {

int hw_imagenet_plan_set(hw_imagenet_plan *plan, int width, int height, hw_box box, int flip) {
  if (box.top < 0 || box.left < 0 || box.height < 1 || box.width < 1 ||
      box.top + box.height > height || box.left + box.width > width || box.height > 4096 ||
      box.width > 4096)
    return 1;
  plan->width = width;
  plan->height = height;
  plan->box = box;
  plan->flip = flip;
  plan->columns.set(box.left, box.width);
  plan->rows.set(box.top, box.height);
  const hw_isa best = hw_best_isa();
  // A table that does not fit leaves its count at 0: the level below runs.
  if (best < HW_AVX512 || !setColumns512(*plan))
    plan->chunks = 0;
  else
    setRows512(*plan);
  if (best < HW_AVX2 || !setColumns256(*plan))
    plan->pairs = 0;
  else
    setRows256(*plan);
  return 0;
}

hw_imagenet_plan *hw_imagenet_plan_make(int width, int height, hw_box box, int flip) {
  auto *plan = new hw_imagenet_plan;
  if (hw_imagenet_plan_set(plan, width, height, box, flip) == 0)
    return plan;
  delete plan;
  return nullptr;
}

void hw_imagenet_plan_free(hw_imagenet_plan *plan) { delete plan; }

hw_isa hw_imagenet_plan_isa(const hw_imagenet_plan *plan, hw_isa isa) {
  if (isa >= HW_AVX512 && plan->chunks > 0)
    return HW_AVX512;
  if (isa >= HW_AVX2 && plan->pairs > 0)
    return HW_AVX2;
  return HW_SCALAR;
}

void hw_imagenet_run(const hw_imagenet_plan *plan, hw_isa isa, const uint8_t *image,
                     ptrdiff_t stride, uint16_t *out) {
  switch (hw_imagenet_plan_isa(plan, isa)) {
  case HW_AVX512:
    return imagenetAvx512(*plan, image, stride, out);
  case HW_AVX2:
    return imagenetAvx2(*plan, image, stride, out);
  case HW_SCALAR:
    return imagenetScalar(*plan, image, stride, out);
  }
}

hw_isa hw_best_isa(void) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("f16c"))
    return HW_SCALAR;
  const bool all = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vnni");
  return all ? HW_AVX512 : HW_AVX2;
}
}
