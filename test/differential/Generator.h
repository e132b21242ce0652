// SPDX-License-Identifier: Apache-2.0
//
// A random pipeline.
//
// A pipeline of 1 to 12 steps, sometimes 60, over one to three tensor fields. A step
// takes values from the pool (so values are used several times) and puts its
// result there: views (crops with drawn offsets, flips decided per sample,
// transposes, strides, frames), pad, concat, stack, place, map, window, gather,
// resample, reduce, scan, histogram, contract, fft, sort, compact, group and
// reductions of groups, codecs, cast, choose, repeat, search, each, and peers in the batch
// block. Everything stays in bounds by the way it is built, for every row.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "test/differential/Inputs.h"

namespace penstock::differential {

struct Recipe {
  uint64_t seed = 0;
  int maxOps = 60;
  /// Extents of fields are cut to this: a shrunk case has the same structure.
  int64_t maxExtent = 1 << 20;
  /// No extent of a field differs from row to row.
  bool fixedExtents = false;
  /// Two to six steps of one field, each of the value before: ops meet that seldom do where steps
  /// take any value.
  bool isChain = false;
};

struct Case {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  reference::BatchInputs inputs;
};

Case generate(mlir::MLIRContext &context, const Recipe &recipe);

} // namespace penstock::differential
