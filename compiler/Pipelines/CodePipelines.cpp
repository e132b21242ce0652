// SPDX-License-Identifier: Apache-2.0
//
// From kernels to the LLVM dialect.
#include "compiler/Pipelines/CodePipelines.h"
#include "compiler/Conversion/Passes.h"
#include "compiler/Schedules/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"

using namespace penstock;

void pipelines::buildSchedulePipeline(mlir::OpPassManager &manager, int level) {
  schedules::ScheduleCpuOptions options;
  options.level = level;
  manager.addPass(schedules::createScheduleCpu(options));
}

void pipelines::buildLoopsPipeline(mlir::OpPassManager &manager) {
  manager.addPass(conversion::createKernelToLoops());
  // On loops whose ends are still to be seen.
  manager.addPass(conversion::createAddCancellationPoints());
}

void pipelines::buildCudaPipeline(mlir::OpPassManager &manager, bool tiny) {
  schedules::ScheduleGpuOptions options;
  if (tiny) {
    options.threads = 96;
    options.shared = 600;
    options.tileRows = 5;
    options.tileAll = true;
    options.stripTurns = true;
  }
  manager.addPass(schedules::createScheduleGpu(options));
  buildDeviceCodePipeline(manager);
}

void pipelines::buildDeviceSchedulePipeline(mlir::OpPassManager &manager,
                                            const PassSelection &selection) {
  schedules::ScheduleGpuOptions options;
  options.placed = true;
  manager.addPass(schedules::createPlaceKernels());
  manager.addPass(schedules::createScheduleGpu(options));
  if (!selection.runs("join-launches"))
    return;
  manager.addPass(schedules::createJoinLaunches());
  if (selection.runs("hold-pictures")) {
    schedules::HoldPicturesOptions pictures;
    pictures.room = selection.shared;
    manager.addPass(schedules::createHoldPictures(pictures));
  }
}

void pipelines::buildDeviceCodePipeline(mlir::OpPassManager &manager) {
  manager.addPass(conversion::createKernelToGpu());
  // Constants that each region makes for itself.
  manager.addNestedPass<mlir::func::FuncOp>(mlir::createCSEPass());
}

void pipelines::buildLLVMPipeline(mlir::OpPassManager &manager, int level) {
  // Index arithmetic of the loops repeats itself; LLVM's passes see less then.
  manager.addPass(conversion::createRemoveRepeats());
  conversion::LoopsToLLVMOptions options;
  options.level = level;
  manager.addPass(conversion::createLoopsToLLVM(options));
}
