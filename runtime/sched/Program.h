// SPDX-License-Identifier: Apache-2.0
//
// A layout with a session's options applied, read by every thread.
#pragma once

#include "runtime/core/LengthBatches.h"
#include "runtime/core/Order.h"
#include "runtime/sched/DeviceProgram.h"
#include "runtime/sched/Layout.h"
#include "runtime/sched/Options.h"
#include "runtime/sched/Report.h"
#include "runtime/sched/Tables.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::runtime {

class RowHeaders;

/// A batch of this rank: its positions, `step` apart, and where the epoch stands before and behind
/// it for all ranks (Cursor::position).
struct BatchPlace {
  int64_t begin = 0, end = 0;
  int64_t first = 0, step = 1, count = 0;
};

/// Immutable once made, and shared by the session, its threads and its batches.
struct Program {
  std::shared_ptr<const Layout> layout;
  std::shared_ptr<const Tables> tables;
  std::optional<Order> order;
  std::optional<LengthBatches> byLength;     ///< over the order's rows
  std::shared_ptr<const RowHeaders> headers; ///< that the choice of rows asks for; else null
  std::shared_ptr<DeviceProgram> device;     ///< where the layout has a device's stage

  uint64_t seed = 0;
  uint32_t rank = 0;
  uint32_t world = 1;
  LastBatch last = LastBatch::Drop;
  bool callerOrders = false; ///< which rows `for` has comes from the caller
  bool hasExternal = false;  ///< some rows come from the caller, read one by one
  /// Fraction of bad samples allowed; negative: none, and the first is fatal.
  double substitute = 0;
  int64_t globalBatch = 1;
  int64_t perRank = 1; ///< by length, of the largest batch
  /// A parameter block with the parameters that are the same for all samples.
  std::vector<int64_t> block;
  MemoryReport memory;

  const plan::PlanT &tree() const { return layout->tree(); }
  size_t slots() const { return block.size(); }
  size_t rowCount() const { return tree().rows.size(); }
  size_t mediaCount() const { return tree().media.size(); }
  /// Returns the caller's table of a row of the plan; null if it is none of the caller's.
  const ExternalSource *external(size_t row) const {
    return tables->external(tree().rows[row]->source);
  }
  /// Returns whether samples wait for bytes.
  bool fetches() const { return mediaCount() > 0 || hasExternal; }
  int64_t positions() const { return order->positions(); }
  /// Returns the positions in an epoch from its start, padding included.
  int64_t positionsPerEpoch() const;
  /// Returns the end of an epoch as states count: in positions without padding, by length in
  /// batches.
  int64_t endOfEpoch() const { return byLength ? byLength->batches() : positions(); }
  /// Batches of this rank in an epoch that begins at `start` (a Cursor's position).
  int64_t batchesFrom(int64_t start) const {
    return byLength ? byLength->rounds(start, world)
                    : ranks(start).batches(positionsFrom(start), last != LastBatch::Drop);
  }
  /// Returns one of these batches; number < batchesFrom(start).
  BatchPlace batchFrom(uint32_t epoch, int64_t start, int64_t number) const;
  /// The batch of the rank that has a position of an epoch from its start; without begin and
  /// end.
  BatchPlace batchAt(int64_t position) const;
  /// The row of the sample at `position`. `attempt` 0: the order's, else a substitute for it.
  int64_t rowFor(uint32_t epoch, int64_t position, int attempt) const;
  /// The row that fills the plan's row number `row` > 0, where `wanted` is picked. `attempt` 0:
  /// that row, or the nearest one; else one that is as far from it as are the substitutes of its
  /// group from theirs, in tables of one length. `position` is the sample's, or the batch's.
  int64_t pickedRow(uint32_t epoch, int64_t position, size_t row, int attempt,
                    int64_t wanted) const;
  /// Batches of this rank in an epoch from its start. No number where the caller
  /// says which rows there are.
  std::optional<int64_t> batchesPerEpoch() const;
  /// Samples of this rank in an epoch from its start, by the pipeline's order; by length, in the
  /// mean of all ranks.
  int64_t samplesPerEpoch() const;
  /// Returns how many bad samples an epoch that goes on at `start` may have: a share of this rank's
  /// own, those before `start` included. By length it takes O(batches / world).
  int64_t allowedBad(uint32_t epoch, int64_t start) const;

private:
  /// Positions in an epoch that begins at `start`, and this rank's, for batches of one size.
  int64_t positionsFrom(int64_t start) const;
  /// Samples of this rank in an epoch that goes on at `start`, those before it included; not by
  /// length.
  int64_t samplesThrough(int64_t start) const;
  RankLayout ranks(int64_t start) const {
    return *RankLayout::make(globalBatch, rank, world, start);
  }
  Status takeBatches(const SessionOptions &options);

public:
  /// Errors: InvalidArgument for options that do not fit; the sources' own. `headers`: of the
  /// same tables, from a program before; null: they are read where they are asked for.
  static Result<std::shared_ptr<const Program>>
  make(std::shared_ptr<const Layout> layout, std::shared_ptr<const Tables> tables,
       const SessionOptions &options, std::shared_ptr<DeviceProgram> device = nullptr,
       std::shared_ptr<const RowHeaders> headers = nullptr);
};

/// The parameters of `options` by number in the plan, defaults filled in.
Result<std::vector<plan::ArgumentT>> bindParams(const plan::PlanT &tree,
                                                const SessionOptions &options);

} // namespace penstock::runtime
