// SPDX-License-Identifier: Apache-2.0
//
// Batches of samples of like length: contract 4 of docs/architecture.md for them
// (docs/rationale/lengths.md).
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::runtime {

/// The batches of an epoch whose samples differ in length. Rows are sorted by
/// length and cut into buckets; a batch has rows of one bucket, and as many that
/// the bucket's longest times their number stays within a limit.
///
/// Rows are numbered as Order numbers them: 0 ... positions() - 1. A position is
/// a place in one bucket, and a batch is a run of positions, so that samples and
/// batches are pure functions of (lengths, seed, epoch) and the number of ranks
/// only says who takes which. Every answer costs O(log rows) but where it says
/// otherwise.
class LengthBatches {
public:
  static constexpr int64_t maxElements = int64_t(1) << 53;
  static constexpr int64_t maxBuckets = 4096;

  struct Rules {
    int64_t limit = 0;   ///< 1 ... maxElements: most elements of a batch, padding included
    int64_t buckets = 1; ///< 1 ... maxBuckets; fewer where rows have few lengths
    bool shuffles = true;
    bool keepsLast = false; ///< the rest of a bucket is a smaller batch
  };
  /// `lengths[i]` is row i's, 0 ... limit. Takes 16 bytes a row. Limit where all lengths
  /// together are more than 2^62.
  static Result<LengthBatches> make(const std::vector<int64_t> &lengths, const Rules &rules);

  struct Batch {
    int64_t first = 0; ///< its first position
    int64_t count = 0; ///< positions, one behind the other; never 0
  };

  /// Positions in an epoch: as many as rows.
  int64_t positions() const { return int64_t(rows.size()); }
  /// Batches of an epoch, of all ranks, each once.
  int64_t batches() const { return batchCount; }
  /// Samples in these batches.
  int64_t samples() const { return sampleCount; }
  /// Most samples in one batch.
  int64_t largest() const { return largestBatch; }
  uint64_t bytes() const { return 16 * rows.size() + buckets.size() * sizeof(Bucket); }
  /// Returns a fingerprint of lengths and rules: equal ones give the same batches.
  uint64_t fingerprint() const { return print; }
  /// Returns a message about a bucket whose rows fill no batch, so that they come in no epoch.
  /// Empty: there is none.
  std::string unfilled() const;

  /// Batches that each of `world` ranks has, where an epoch goes on at its batch number
  /// `start`. Those that are left over for some ranks only are left out; with
  /// `keepsLast`, the epoch's first ones come again for the others.
  int64_t rounds(int64_t start, uint32_t world) const;
  /// The batch that is number `number` of an epoch, by the order in which they come; from
  /// batches() on the first ones again, at positions of their own.
  Batch batch(uint64_t seed, uint32_t epoch, int64_t number) const;
  /// Samples in the batches before batch `number`. Takes O(number).
  int64_t samplesBefore(uint64_t seed, uint32_t epoch, int64_t number) const;
  /// Samples that rank `rank` of `world` has in an epoch that goes on at batch `start`, those
  /// before it included: of its batches every `world`-th, from the epoch's first on. So it is the
  /// same wherever the epoch is broken off and goes on with as many ranks. Takes O(batches /
  /// world).
  int64_t samplesOf(uint64_t seed, uint32_t epoch, int64_t start, uint32_t rank,
                    uint32_t world) const;
  /// The batch that has a position, whether it is delivered or not.
  Batch batchAt(int64_t position) const;
  /// The row at a position.
  int64_t row(uint64_t seed, uint32_t epoch, int64_t position) const;
  /// As Order::substitute(): drawn evenly from those of the same bucket that are no
  /// longer than the longest of the position's batch; where that has no length, or nobody but the
  /// row itself is as short, from all with which the batch keeps to the limit. Takes O(samples of
  /// the batch).
  int64_t substitute(uint64_t seed, uint32_t epoch, int64_t position, int attempt) const;

private:
  struct Bucket {
    int64_t begin = 0, end = 0; // in `rows`, and positions
    int64_t perBatch = 0;
    int64_t firstBatch = 0; // of those that are delivered
  };
  LengthBatches() = default;
  size_t bucketAt(int64_t position) const;
  Batch batchIn(const Bucket &bucket, int64_t number) const;
  /// Returns the index in `rows` of the row at a position.
  int64_t place(uint64_t seed, uint32_t epoch, int64_t position) const;
  void cut(int64_t total);
  void count();

  Rules rules;
  std::vector<int64_t> rows;    // by length
  std::vector<int64_t> lengths; // of them
  std::vector<Bucket> buckets;
  int64_t batchCount = 0, sampleCount = 0, largestBatch = 0;
  uint64_t print = 0;
};

} // namespace penstock::runtime
