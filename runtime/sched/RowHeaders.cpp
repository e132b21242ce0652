// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/RowHeaders.h"

#include "runtime/core/Parallel.h"
#include "runtime/sched/Fetcher.h"
#include "runtime/sched/Workers.h"

#include <algorithm>
#include <numeric>

namespace penstock::runtime {

namespace {

/// Rows that one thread reads before it looks for more.
constexpr size_t rowsAtOnce = 64;

std::vector<int64_t> rowsLookedAt(const Program &program) {
  const plan::PlanT &tree = program.tree();
  if (tree.order == plan::Order::listed)
    return {tree.order_list.begin(), tree.order_list.end()};
  std::vector<int64_t> rows(size_t(program.tables->length(0)));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

} // namespace

Result<std::shared_ptr<const RowHeaders>>
RowHeaders::read(const std::shared_ptr<const Program> &program) {
  const plan::PlanT &tree = program->tree();
  if (std::none_of(tree.media.begin(), tree.media.end(),
                   [](const auto &media) { return media->of_rows; }))
    return std::shared_ptr<const RowHeaders>();
  if (const ExternalSource *table = program->tables->external(0))
    return table->scalar(0, 0).error(); // its rows are read when they are needed
  const std::vector<int64_t> rows = rowsLookedAt(*program);
  auto made = std::make_shared<RowHeaders>();
  RowHeaders &result = *made;
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
  return std::shared_ptr<const RowHeaders>(std::move(made));
}

bool RowHeaders::store(size_t entry, int64_t *block) const {
  for (size_t k = 0; k < slots.size(); ++k)
    block[slots[k]] = numbers[entry * slots.size() + k];
  return !isBad[entry];
}

} // namespace penstock::runtime
