// SPDX-License-Identifier: Apache-2.0
//
// The LLVM dialect to LLVM IR, objects and images.
//
// From a module at stage `llvm` (compiler/Pipelines/CodePipelines.h leads there).
#pragma once

#include "codegen/cpu/Target.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace penstock::codegen {

/// The optimised LLVM IR of a module at stage `llvm`.
llvm::Expected<std::string> llvmText(mlir::ModuleOp module, const Target &target);
/// Returns the assembly text of a module.
llvm::Expected<std::string> assemblyText(mlir::ModuleOp module, const Target &target);
/// A relocatable ELF object without undefined symbols.
llvm::Expected<std::vector<uint8_t>> compileObject(mlir::ModuleOp module, const Target &target);
/// The image that runtime::Image::load reads: compileObject, linked.
llvm::Expected<std::vector<uint8_t>> compileImage(mlir::ModuleOp module, const Target &target);

} // namespace penstock::codegen
