// SPDX-License-Identifier: Apache-2.0
//
// Imports a program given as text.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "compiler/Import/Import.h"
#include "dsl/Diagnostics/Render.h"
#include "stdlib/ShippedModules.h"

namespace penstock::test {

struct Imported {
  /// `messages` is empty after success.
  Imported(const std::string &text, const importer::ImportOptions &options = {})
      : Imported(text, stdlib::ShippedModules(), options) {}
  Imported(const std::string &text, dsl::ModuleLoader &&library,
           const importer::ImportOptions &options)
      : context(mlir::MLIRContext::Threading::DISABLED) {
    dsl::SourceManager sources;
    dsl::Diagnostics diagnostics;
    dsl::Program program = dsl::loadProgram(sources.add("test.pipe", text), sources, library,
                                            importer::builtins(), diagnostics);
    if (!diagnostics.hasErrors())
      result = importer::importProgram(context, program, sources, options, diagnostics);
    messages = dsl::renderText(diagnostics, sources);
  }

  mlir::MLIRContext context;
  importer::ImportResult result;
  std::string messages;
};

} // namespace penstock::test
