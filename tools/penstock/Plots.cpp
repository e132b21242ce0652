// SPDX-License-Identifier: Apache-2.0
//
// Sound as pictures.
#include "tools/penstock/Plots.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace penstock::cli;

namespace {
constexpr int mostColumns = 320, mostRows = 160, waveRows = 80;

/// The least and the largest of some numbers; those that are not finite do not count.
struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;

  void add(double value) {
    if (!std::isfinite(value))
      return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool isEmpty() const { return low > high; }
};

/// One axis in at most so many parts; a part has one element at least.
struct Parts {
  int64_t elements;
  int count;

  Parts(int64_t elements, int most)
      : elements(elements), count(static_cast<int>(std::clamp<int64_t>(elements, 1, most))) {}
  int64_t first(int part) const { return elements * part / count; }
};
} // namespace

static double at(const pst_output &output, int32_t axis, int64_t i, int32_t other = -1,
                 int64_t j = 0) {
  const char *element = static_cast<const char *>(output.data) + i * output.strides[axis] +
                        (other >= 0 ? j * output.strides[other] : 0);
  return elementValue(output.dtype, element);
}

bool penstock::cli::isPlot(const pst_output &output) {
  const int32_t c = axisOf(output, "c");
  const int32_t known = 1 + (axisOf(output, "freq") >= 0) + (c >= 0);
  return axisOf(output, "t") >= 0 && output.rank == known && !output.offsets &&
         (c < 0 || output.shape[c] > 0);
}

static Picture wave(const pst_output &output) {
  const int32_t t = axisOf(output, "t");
  const Parts columns(output.shape[t], mostColumns);
  std::vector<Range> ranges(static_cast<size_t>(columns.count));
  double largest = 0;
  for (int x = 0; x < columns.count; ++x) {
    Range &range = ranges[static_cast<size_t>(x)];
    for (int64_t i = columns.first(x); i < columns.first(x + 1); ++i)
      range.add(at(output, t, i));
    if (!range.isEmpty())
      largest = std::max({largest, std::abs(range.low), std::abs(range.high)});
  }
  Picture picture{columns.count, waveRows, {}};
  picture.rgb.assign(static_cast<size_t>(3 * picture.width * picture.height), 235);
  auto rowOf = [&](double value) {
    const double place = largest > 0 ? value / largest : 0;
    return static_cast<int>(std::lround((1 - place) / 2 * (waveRows - 1)));
  };
  for (int x = 0; x < columns.count; ++x) {
    const Range &range = ranges[static_cast<size_t>(x)];
    if (range.isEmpty())
      continue;
    for (int y = rowOf(range.high); y <= rowOf(range.low); ++y)
      for (int channel = 0; channel < 3; ++channel)
        picture.rgb[static_cast<size_t>(3 * (y * picture.width + x) + channel)] = 40;
  }
  return picture;
}

static Picture spectrum(const pst_output &output) {
  const int32_t t = axisOf(output, "t"), freq = axisOf(output, "freq");
  const Parts columns(output.shape[t], mostColumns), rows(output.shape[freq], mostRows);
  std::vector<double> means;
  Range all;
  for (int y = rows.count; y-- > 0;)
    for (int x = 0; x < columns.count; ++x) {
      double sum = 0;
      int64_t count = 0;
      for (int64_t j = rows.first(y); j < rows.first(y + 1); ++j)
        for (int64_t i = columns.first(x); i < columns.first(x + 1); ++i)
          if (const double value = at(output, t, i, freq, j); std::isfinite(value)) {
            sum += value;
            ++count;
          }
      means.push_back(count ? sum / static_cast<double>(count)
                            : std::numeric_limits<double>::quiet_NaN());
      all.add(means.back());
    }
  Picture picture{columns.count, rows.count, {}};
  const double scale = all.high > all.low ? 255 / (all.high - all.low) : 0;
  for (const double mean : means) {
    const double value = std::isfinite(mean) ? (mean - all.low) * scale : 0;
    picture.rgb.insert(picture.rgb.end(), 3, static_cast<uint8_t>(value));
  }
  return picture;
}

Picture penstock::cli::makePlot(const pst_output &output) {
  return axisOf(output, "freq") >= 0 ? spectrum(output) : wave(output);
}
