// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/RowHeaders.h"

#include "runtime/core/Parallel.h"
#include "runtime/sched/Fetcher.h"
#include "runtime/sched/Workers.h"

#include <algorithm>

namespace penstock::runtime {

namespace {

/// Rows that one thread reads before it looks for more.
constexpr size_t rowsAtOnce = 64;

} // namespace

RowHeaders RowHeaders::read(const std::shared_ptr<const Program> &program,
                            const std::vector<int64_t> &rows) {
  const plan::PlanT &tree = program->tree();
  RowHeaders result;
  for (const auto &media : tree.media)
    for (int32_t slot : media->numbers)
      if (media->of_rows && slot >= 0)
        result.slots.push_back(slot);
  const size_t width = result.slots.size();
  result.numbers.resize(rows.size() * width);
  result.isBad.resize(rows.size());
  parallelFor((rows.size() + rowsAtOnce - 1) / rowsAtOnce, readingThreads, [&](size_t part) {
    const FloatMode mode;
    const RealClock clock;
    Fetcher files(program, ImageLimits(), clock);
    std::vector<int64_t> block(program->slots());
    const size_t end = std::min(rows.size(), (part + 1) * rowsAtOnce);
    for (size_t i = part * rowsAtOnce; i < end; ++i) {
      Work work;
      work.begin(program, 1);
      work.row(0, 0) = rows[i];
      std::fill(block.begin(), block.end(), 0);
      for (size_t media = 0; media < tree.media.size() && !result.isBad[i]; ++media)
        if (tree.media[media]->of_rows)
          result.isBad[i] = !files.readHeader(work, media, block.data());
      for (size_t k = 0; k < width && !result.isBad[i]; ++k)
        result.numbers[i * width + k] = block[size_t(result.slots[k])];
    }
  });
  return result;
}

bool RowHeaders::store(size_t entry, int64_t *block) const {
  for (size_t k = 0; k < slots.size(); ++k)
    block[slots[k]] = numbers[entry * slots.size() + k];
  return !isBad[entry];
}

} // namespace penstock::runtime
