// SPDX-License-Identifier: Apache-2.0
//
// How far apart neighbours of a view lie in its input.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::analysis {

/// Returns the step of `expr` when dimension `dim` grows by one: a number, or an expression of
/// symbols where the sample says it. Null where it does not grow evenly.
mlir::AffineExpr stepOf(mlir::AffineExpr expr, int64_t dim);

/// The one axis of its input that a view moves along with `axis`, and its step: -1 where every
/// element along `axis` is the same.
struct ViewStep {
  int64_t axis;
  mlir::AffineExpr step;
};
/// Nothing where a view moves along several axes, or not evenly.
std::optional<ViewStep> stepAlong(pipe::ViewOp view, int64_t axis);

} // namespace penstock::analysis
