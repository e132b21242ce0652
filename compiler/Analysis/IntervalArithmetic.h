//===- IntervalArithmetic.h - affine expressions over boxes -----*- C++ -*-===//
#ifndef PENSTOCK_COMPILER_ANALYSIS_INTERVALARITHMETIC_H
#define PENSTOCK_COMPILER_ANALYSIS_INTERVALARITHMETIC_H

#include "compiler/Analysis/RequiredRegions.h"
#include "compiler/Analysis/ScalarBuilder.h"

namespace penstock::analysis {

/// The values that `expr` takes where each dimension runs through its interval
/// (none whole, none empty).
Interval intervalOf(mlir::AffineExpr expr, llvm::ArrayRef<Interval> dims, mlir::ValueRange symbols,
                    ScalarBuilder &scalars);

} // namespace penstock::analysis

#endif
