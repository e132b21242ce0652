// SPDX-License-Identifier: Apache-2.0
//
// Precompiled headers of the compiler's tests, as Headers.h.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "test/unit/Headers.h"
