// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/RowHeaders.h"

#include "runtime/core/Clock.h"
#include "runtime/core/Parallel.h"
#include "runtime/media/video/VideoLibrary.h"
#include "runtime/sched/Fetcher.h"
#include "runtime/sched/Workers.h"

#include <algorithm>
#include <atomic>
#include <numeric>

namespace penstock::runtime {

namespace {

/// Rows that one thread reads before it looks for more.
constexpr size_t rowsAtOnce = 64;

/// Times of files have the grain of a clock's tick, which may be another machine's: what has
/// changed just now may change again without showing it.
constexpr int64_t clockGrainNs = 2'000'000'000;

std::vector<int64_t> rowsLookedAt(const Program &program) {
  const plan::PlanT &tree = program.tree();
  if (tree.order == plan::Order::listed)
    return {tree.order_list.begin(), tree.order_list.end()};
  std::vector<int64_t> rows(size_t(program.tables->length(0)));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

/// Returns a text that identifies the numbers kept of a row, in their order.
std::string nameOfNumbers(const plan::PlanT &tree) {
  std::string name;
  for (const auto &media : tree.media)
    if (media->of_rows) {
      name += media->media + " " + std::to_string(media->column);
      for (size_t i = 0; i < media->numbers.size(); ++i)
        name += media->numbers[i] >= 0 ? " " + std::to_string(i) : "";
      name += '\n';
    }
  return name;
}

/// Returns the places of the first sample's files. None if they cannot be recognized later, such as
/// files that have changed since `before`.
std::vector<MediaPlace> placesOf(const Fetcher &files, Work &work, int64_t before) {
  const plan::PlanT &tree = work.program->tree();
  std::vector<MediaPlace> places;
  for (size_t media = 0; media < tree.media.size(); ++media)
    if (tree.media[media]->of_rows) {
      auto place = files.placeOf(work, 0, media);
      if (!place || place->modifiedNs >= before)
        return {};
      places.push_back(std::move(*place));
    }
  return places;
}

/// FFmpeg's version, whose decoders say how long some files are.
uint64_t decodingLibrary() {
  const auto module = videoModule();
  return module ? uint64_t((*module)->library) << 32 | (*module)->sound_library : 0;
}

/// Returns whether headers of the first sample's row are known by decoding alone.
bool isDecoded(Work &work) {
  const auto &all = work.program->tree().media;
  for (size_t media = 0; media < all.size(); ++media)
    if (all[media]->of_rows && (work.media(0, media).video || work.media(0, media).sound))
      return true;
  return false;
}

/// Reads the header numbers of the first sample's row. False if a header cannot be read.
bool readNumbers(Fetcher &files, Work &work, const std::vector<int32_t> &slots,
                 std::vector<int64_t> &block, int64_t *numbers) {
  const plan::PlanT &tree = work.program->tree();
  std::fill(block.begin(), block.end(), 0);
  for (size_t media = 0; media < tree.media.size(); ++media)
    if (tree.media[media]->of_rows && !files.readHeader(work, media, block.data()))
      return false;
  for (size_t k = 0; k < slots.size(); ++k)
    numbers[k] = block[size_t(slots[k])];
  return true;
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
  const std::unique_ptr<HeaderIndex> kept =
      program->tables->headers(tree.rows[0]->source, nameOfNumbers(tree), width);
  std::vector<HeaderIndex::Key> keys(kept ? rows.size() : 0);
  const int64_t before = timeNow() - clockGrainNs;
  std::atomic<bool> isNew{false};
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
      int64_t *const numbers = result.numbers.data() + i * width;
      const auto places = kept ? placesOf(files, work, before) : std::vector<MediaPlace>();
      if (!places.empty() && !kept->isEmpty()) {
        keys[i] = HeaderIndex::keyOf(places);
        const int64_t *known = kept->find(keys[i]);
        if (!known) {
          keys[i] = HeaderIndex::keyOf(places, decodingLibrary());
          known = kept->find(keys[i]);
        }
        if (known) {
          std::copy_n(known, width, numbers);
          continue;
        }
        keys[i] = {};
      }
      result.isBad[i] = !readNumbers(files, work, result.slots, block, numbers);
      if (places.empty() || result.isBad[i])
        continue;
      const uint64_t library = isDecoded(work) ? decodingLibrary() : 0;
      const auto key = HeaderIndex::keyOf(places, library);
      // Keeps the numbers only if no other file took the place of the one that was read.
      if (HeaderIndex::keyOf(placesOf(files, work, before), library) == key) {
        keys[i] = key;
        isNew = true;
      }
    }
  });
  if (isNew)
    kept->keep(keys, result.numbers);
  return std::shared_ptr<const RowHeaders>(std::move(made));
}

bool RowHeaders::store(size_t entry, int64_t *block) const {
  for (size_t k = 0; k < slots.size(); ++k)
    block[slots[k]] = numbers[entry * slots.size() + k];
  return !isBad[entry];
}

} // namespace penstock::runtime
