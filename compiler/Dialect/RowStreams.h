// SPDX-License-Identifier: Apache-2.0
//
// Rows that are made when they are read.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::pipe {

/// Returns whether rows of a horizontal resampling can be made when the pass across them reads
/// them: at most four channels of bytes that lie side by side in memory, in as many columns as are
/// known. Axes in front of the rows are gone through one picture after the other.
bool canStreamRows(ResampleOp op);
/// Returns whether a resampling goes across the rows of another one, and can read them one by one.
bool canReadRows(ResampleOp op);

/// The value stored where rows of a reduction are read, and how many of its last axes are a row.
struct StoredByRows {
  mlir::Value stored;
  int64_t inRow = 1;
};
/// Returns the value stored where rows of `op` are read, all at their own outer indices: the
/// reduction or view that reads them, or what is computed of its elements alone. Null where they
/// are read otherwise.
StoredByRows storedByRows(ReduceOp op);
/// Returns whether rows of a reduction can be made when they are read, by what the schedule says of
/// it and of what reads it: both have lanes along rows.
bool canMakeRows(ReduceOp op);

} // namespace penstock::pipe
