// SPDX-License-Identifier: Apache-2.0
//
// Checked text to the pipe dialect.
//
// Import is elaboration: it walks the syntax tree, instantiates functions,
// evaluates what is static and emits typed ops (docs/rationale/ir.md).
#pragma once

#include "dsl/AST/Program.h"
#include "dsl/Diagnostics/Diagnostics.h"
#include "dsl/Sema/Check.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace penstock::importer {

struct ImportOptions {
  /// The pipeline to import; empty: the only one of the file.
  std::string pipeline;
  /// Values given by the user as text, for static and run-time parameters.
  /// Static ones are compiled in; the others are only checked.
  std::map<std::string, std::string> parameters;
};

struct ParameterInfo {
  std::string name;
  std::string type; ///< as written: `int`, `path`
  bool isStatic = false;
  std::optional<std::string> defaultText; ///< as written
  /// What the default of a static one is, as a user would give it; absent where it was given.
  std::optional<std::string> value;
  std::string doc;
};

struct ImportResult {
  /// Null after errors.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// In the order of declaration.
  std::vector<ParameterInfo> parameters;
};

/// The names that exist without a declaration, for dsl::loadProgram.
dsl::Builtins builtins();

/// Elaborates one pipeline of a program that loadProgram accepted. Reports to
/// `diagnostics`, all errors of the pipeline in one run. Loads the dialect.
ImportResult importProgram(mlir::MLIRContext &context, const dsl::Program &program,
                           const dsl::SourceManager &sources, const ImportOptions &options,
                           dsl::Diagnostics &diagnostics);

} // namespace penstock::importer
