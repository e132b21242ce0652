//===- Compile.h - kernels to loops, LLVM IR, objects and images ----------===//
//
// From a module at stage `kernels`:
//
//   buildSchedulePipeline, buildLoopsPipeline, buildLLVMPipeline   (pass managers)
//   llvmText, assemblyText, compileObject                          (from stage llvm)
//   linkImage                                                      (codegen/cpu/Link.h)
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CODEGEN_CPU_COMPILE_H
#define PENSTOCK_CODEGEN_CPU_COMPILE_H

#include "codegen/cpu/Target.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace penstock::codegen {

/// Adds the passes that lead from stage `kernels` to `schedule`.
void buildSchedulePipeline(mlir::OpPassManager &passes, const Target &target);
/// Adds the passes that lead from `schedule` to `loops`.
void buildLoopsPipeline(mlir::OpPassManager &passes, const Target &target);
/// Adds the passes that lead from `loops` to `llvm`; the pipeline op goes.
void buildLLVMPipeline(mlir::OpPassManager &passes, const Target &target);

/// The optimised LLVM IR of a module at stage `llvm`.
llvm::Expected<std::string> llvmText(mlir::ModuleOp module, const Target &target);
/// Its assembly text.
llvm::Expected<std::string> assemblyText(mlir::ModuleOp module, const Target &target);
/// A relocatable ELF object without undefined symbols.
llvm::Expected<std::vector<uint8_t>> compileObject(mlir::ModuleOp module, const Target &target);
/// The image that runtime::Image::load reads: compileObject, linked.
llvm::Expected<std::vector<uint8_t>> compileImage(mlir::ModuleOp module, const Target &target);

} // namespace penstock::codegen

#endif
