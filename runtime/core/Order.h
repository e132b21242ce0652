// SPDX-License-Identifier: Apache-2.0
//
// The row at each position: contract 4 of docs/architecture.md (order, ranks, resume).
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace penstock::runtime {

/// The rows of an epoch, by position. Every answer is a pure function of (seed,
/// epoch, position) and costs O(1), or O(log rows) where weighted; so any
/// position can be asked at any time, by any thread.
class Order {
public:
  /// Counters of draws hold 48 bits of position.
  static constexpr int64_t maxPositions = int64_t(1) << 48;
  /// Substitutes that are tried for one bad sample.
  static constexpr int maxSubstitutes = 8;

  /// Rows 0, 1, 2 ...
  static Result<Order> sequential(int64_t rows);
  /// Each row once per epoch, by a keyed permutation that takes no memory.
  static Result<Order> shuffled(int64_t rows);
  /// As many positions as rows. Each draws its row anew, with a probability
  /// proportional to its weight: some rows come often, some never. Weights are
  /// finite and not negative, and one is positive. Takes 8 bytes a row.
  static Result<Order> weighted(std::span<const double> weights);
  /// The given rows in the given order, the same in all epochs.
  static Result<Order> listed(std::vector<int64_t> list, int64_t rows);
  /// This order over a part of a table, of positions() rows: where it says i,
  /// `rows[i]` is meant. Takes 8 bytes a row.
  Order over(std::vector<int64_t> rows) &&;

  /// Positions in an epoch.
  int64_t positions() const { return count; }
  /// Memory that the order takes beside itself.
  uint64_t bytes() const { return 8 * (part.size() + cumulative.size()); }
  /// The row at `position` < positions().
  int64_t row(uint64_t seed, uint32_t epoch, int64_t position) const;
  /// The row that is tried as the `attempt`-th (1 ... maxSubstitutes) where the
  /// row at `position` is bad: drawn evenly from the table (or part of it),
  /// weighted where the order is. May be bad, or the same row, again.
  int64_t substitute(uint64_t seed, uint32_t epoch, int64_t position, int attempt) const;

private:
  enum class Kind { Sequential, Shuffled, Weighted };
  Order(Kind kind, int64_t count) : kind(kind), count(count) {}
  int64_t draw(uint64_t seed, uint32_t epoch, int64_t position, uint64_t id,
               uint64_t element) const;
  int64_t tableRow(int64_t number) const { return part.empty() ? number : part[size_t(number)]; }

  Kind kind;
  int64_t count;
  std::vector<int64_t> part; // empty: the whole table
  std::vector<double> cumulative;
};

/// Shares an epoch among ranks. Global batch b has the positions start + bG up to start + (b+1)G;
/// rank r of W takes those with p mod W = r, as PyTorch's DistributedSampler does. `start` is where
/// an epoch is resumed; the samples from there on are the same under any W and G.
class RankLayout {
public:
  /// InvalidArgument unless 0 <= rank < world, and `globalBatch` is a positive
  /// multiple of `world`.
  static Result<RankLayout> make(int64_t globalBatch, uint32_t rank, uint32_t world,
                                 int64_t start = 0);

  int64_t perRank() const { return global / world; }
  int64_t globalBatch() const { return global; }
  /// Batches from `start` on, of an epoch with `positions`. The same number on
  /// every rank. Where `keepLast`, the last may be smaller, and empty on some.
  int64_t batches(int64_t positions, bool keepLast) const;
  /// Samples of this rank in a batch.
  int64_t samples(int64_t batch, int64_t positions) const;
  /// The position of a sample in a batch of this rank.
  int64_t position(int64_t batch, int64_t slot) const {
    return start + batch * global + slot * world + offset;
  }
  /// The first position behind a batch, of all ranks: where to resume.
  int64_t endOf(int64_t batch) const { return start + (batch + 1) * global; }

private:
  int64_t global = 1;
  int64_t world = 1;
  int64_t start = 0;
  int64_t offset = 0; // of this rank's first position in a global batch
};

} // namespace penstock::runtime
