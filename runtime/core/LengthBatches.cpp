// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/LengthBatches.h"

#include "runtime/abi/random.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace penstock::runtime {

namespace {

// Paths no user can write, so that these draws share nothing with pipelines'.
constexpr uint64_t bucketId = random::drawId("<order in a bucket>");
constexpr uint64_t batchesId = random::drawId("<order of batches by length>");
constexpr uint64_t sameBucketId = random::drawId("<substitute of like length>");

constexpr int64_t mostTogether = int64_t(1) << 62;

uint64_t epochKey(uint64_t seed, uint32_t epoch, uint64_t id) {
  return random::mix(random::mix(seed, id), epoch);
}

} // namespace

Result<LengthBatches> LengthBatches::make(const std::vector<int64_t> &lengths, const Rules &rules) {
  LengthBatches result;
  result.rules = rules;
  int64_t total = 0;
  for (int64_t length : lengths) {
    if (length > mostTogether - total)
      return Error{Code::Limit, "the rows have more than 2^62 elements together"};
    total += length;
  }
  result.rows.resize(lengths.size());
  std::iota(result.rows.begin(), result.rows.end(), 0);
  std::sort(result.rows.begin(), result.rows.end(), [&](int64_t a, int64_t b) {
    return std::pair(lengths[size_t(a)], a) < std::pair(lengths[size_t(b)], b);
  });
  result.lengths.reserve(lengths.size());
  for (int64_t row : result.rows)
    result.lengths.push_back(lengths[size_t(row)]);
  result.cut(total);
  result.count();
  return result;
}

/// Buckets of about the same number of elements: many rows of short ones, few of long ones, so
/// that each makes some batches. Rows of one length are in one bucket.
void LengthBatches::cut(int64_t total) {
  const int64_t wanted = rules.buckets;
  auto end = [&](int64_t bucket) { // of its elements
    return total / wanted * (bucket + 1) + total % wanted * (bucket + 1) / wanted;
  };
  int64_t before = 0, bucket = 0;
  for (int64_t i = 0; i < positions(); before += lengths[size_t(i++)]) {
    if (buckets.empty() ||
        (before >= end(bucket) && lengths[size_t(i)] != lengths[size_t(i - 1)])) {
      buckets.emplace_back().begin = i;
      while (bucket + 1 < wanted && before >= end(bucket))
        ++bucket;
    }
    buckets.back().end = i + 1;
  }
}

void LengthBatches::count() {
  print = random::mix(random::mix(random::mix(0, uint64_t(rules.limit)), uint64_t(rules.buckets)),
                      rules.keepsLast);
  for (size_t i = 0; i < rows.size(); ++i)
    print = random::mix(random::mix(print, uint64_t(rows[i])), uint64_t(lengths[i]));
  for (Bucket &bucket : buckets) {
    const int64_t size = bucket.end - bucket.begin;
    const int64_t longest = std::max<int64_t>(lengths[size_t(bucket.end - 1)], 1);
    bucket.perBatch = std::max<int64_t>(rules.limit / longest, 1);
    bucket.firstBatch = batchCount;
    const int64_t full = size / bucket.perBatch, rest = size % bucket.perBatch;
    batchCount += full + (rules.keepsLast && rest ? 1 : 0);
    sampleCount += rules.keepsLast ? size : full * bucket.perBatch;
    if (batchCount > bucket.firstBatch)
      largestBatch = std::max(largestBatch, std::min(bucket.perBatch, size));
  }
}

std::string LengthBatches::unfilled() const {
  for (const Bucket &bucket : buckets)
    if (const int64_t size = bucket.end - bucket.begin; !rules.keepsLast && size < bucket.perBatch)
      return "the bucket of the lengths " + std::to_string(lengths[size_t(bucket.begin)]) + " to " +
             std::to_string(lengths[size_t(bucket.end - 1)]) + " has " + std::to_string(size) +
             " rows, which do not fill one batch of " + std::to_string(bucket.perBatch);
  return "";
}

int64_t LengthBatches::rounds(int64_t start, uint32_t world) const {
  const int64_t left = std::max<int64_t>(batchCount - start, 0);
  return rules.keepsLast ? (left + world - 1) / world : left / world;
}

LengthBatches::Batch LengthBatches::batchIn(const Bucket &bucket, int64_t number) const {
  const int64_t first = bucket.begin + number * bucket.perBatch;
  return {first, std::min(bucket.perBatch, bucket.end - first)};
}

LengthBatches::Batch LengthBatches::batch(uint64_t seed, uint32_t epoch, int64_t number) const {
  const int64_t lap = number / batchCount;
  number %= batchCount;
  if (rules.shuffles)
    number = int64_t(
        random::permute(epochKey(seed, epoch, batchesId), uint64_t(batchCount), uint64_t(number)));
  // Buckets that make no batch begin where the next one does: it comes last among equals.
  auto behind = std::upper_bound(
      buckets.begin(), buckets.end(), number,
      [](int64_t wanted, const Bucket &bucket) { return wanted < bucket.firstBatch; });
  const Bucket &bucket = *std::prev(behind);
  Batch result = batchIn(bucket, number - bucket.firstBatch);
  result.first += lap * positions();
  return result;
}

int64_t LengthBatches::samplesBefore(uint64_t seed, uint32_t epoch, int64_t number) const {
  int64_t sum = 0;
  for (int64_t i = 0; i < number; ++i)
    sum += batch(seed, epoch, i).count;
  return sum;
}

int64_t LengthBatches::samplesOf(uint64_t seed, uint32_t epoch, int64_t start, uint32_t rank,
                                 uint32_t world) const {
  const int64_t end = start + rounds(start, world) * world;
  int64_t sum = 0;
  for (int64_t i = (start + rank) % world; i < end; i += world)
    sum += batch(seed, epoch, i).count;
  return sum;
}

size_t LengthBatches::bucketAt(int64_t position) const {
  auto behind =
      std::upper_bound(buckets.begin(), buckets.end(), position,
                       [](int64_t wanted, const Bucket &bucket) { return wanted < bucket.begin; });
  return size_t(behind - buckets.begin()) - 1;
}

LengthBatches::Batch LengthBatches::batchAt(int64_t position) const {
  const int64_t once = position % positions();
  const Bucket &bucket = buckets[bucketAt(once)];
  Batch result = batchIn(bucket, (once - bucket.begin) / bucket.perBatch);
  result.first += position - once;
  return result;
}

int64_t LengthBatches::place(uint64_t seed, uint32_t epoch, int64_t position) const {
  position %= positions();
  if (!rules.shuffles)
    return position;
  const size_t number = bucketAt(position);
  const Bucket &bucket = buckets[number];
  const uint64_t key = random::mix(epochKey(seed, epoch, bucketId), number);
  return bucket.begin + int64_t(random::permute(key, uint64_t(bucket.end - bucket.begin),
                                                uint64_t(position - bucket.begin)));
}

int64_t LengthBatches::row(uint64_t seed, uint32_t epoch, int64_t position) const {
  return rows[size_t(place(seed, epoch, position))];
}

int64_t LengthBatches::substitute(uint64_t seed, uint32_t epoch, int64_t position,
                                  int attempt) const {
  const Batch batch = batchAt(position);
  int64_t longest = 0;
  for (int64_t i = 0; i < batch.count; ++i)
    longest = std::max(longest, lengths[size_t(place(seed, epoch, batch.first + i))]);
  const Bucket &bucket = buckets[bucketAt(position % positions())];
  auto upTo = [&](int64_t from, int64_t to, int64_t most) {
    return std::upper_bound(lengths.begin() + from, lengths.begin() + to, most) - lengths.begin();
  };
  int64_t low = bucket.begin, end = upTo(low, bucket.end, longest);
  if (longest == 0 || end - low < 2) {
    // Bad rows among themselves, whose length nobody knows, or one alone: any that fits the limit.
    const int64_t most = rules.limit / batch.count, known = upTo(0, positions(), 0);
    if (const int64_t fitting = upTo(0, positions(), most); fitting > known) {
      low = known;
      end = fitting;
    }
  }
  const random::Key key{seed, uint64_t(position), epoch, 0};
  return rows[size_t(
      random::integer(random::bits(key, sameBucketId, uint64_t(attempt)), low, end))];
}

} // namespace penstock::runtime
