// SPDX-License-Identifier: Apache-2.0
//
// From kernels to the LLVM dialect.
#pragma once

#include "compiler/Pipelines/Pipelines.h"
#include "mlir/Pass/PassManager.h"

namespace penstock::pipelines {

/// kernels -> schedule, for a level as compiler/Lane/Features.h numbers it.
void buildSchedulePipeline(mlir::OpPassManager &manager, int level);
/// schedule -> loops. The pipeline op stays, as the plan's source.
void buildLoopsPipeline(mlir::OpPassManager &manager);
/// loops -> llvm. The pipeline op goes.
void buildLLVMPipeline(mlir::OpPassManager &manager, int level);

/// kernels -> the code of a GPU's threads, which codegen/cuda prints. Kernels that
/// the host runs (select, setup, tables) stay as they are.
/// `tiny`: in tiles wherever that is right, with few threads and little shared memory, for tests.
void buildCudaPipeline(mlir::OpPassManager &manager, bool tiny = false);
/// kernels -> schedule, for those that a GPU runs beside this host; the others stay as they are,
/// for buildSchedulePipeline().
void buildDeviceSchedulePipeline(mlir::OpPassManager &manager, const PassSelection &selection);
/// schedule -> the code of a GPU's threads, of the kernels that have such a schedule.
void buildDeviceCodePipeline(mlir::OpPassManager &manager);

} // namespace penstock::pipelines
