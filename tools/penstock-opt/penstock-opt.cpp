// SPDX-License-Identifier: Apache-2.0
//
// Runs passes over MLIR text, for tests.
#include "compiler/Conversion/Passes.h"
#include "compiler/Dialect/PipeDialect.h"
#include "compiler/Lane/LaneDialect.h"
#include "compiler/Pipelines/Pipelines.h"
#include "compiler/Schedules/Passes.h"
#include "compiler/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<penstock::pipe::PipeDialect, penstock::lane::LaneDialect,
                  mlir::affine::AffineDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::gpu::GPUDialect, mlir::LLVM::LLVMDialect, mlir::memref::MemRefDialect,
                  mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
  mlir::registerTransformsPasses();
  penstock::conversion::registerConversionPasses();
  penstock::schedules::registerSchedulesPasses();
  penstock::transforms::registerPenstockTransformsPasses();
  penstock::pipelines::registerPipelines();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Penstock's passes and dialect\n", registry));
}
