// SPDX-License-Identifier: Apache-2.0
//
// Verification of the body of a function for a GPU.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace penstock::conversion {

/// Part of verifyContracts() in KernelContract.h: nests, runs and calls.
mlir::LogicalResult verifyDeviceBody(mlir::func::FuncOp function);

} // namespace penstock::conversion
