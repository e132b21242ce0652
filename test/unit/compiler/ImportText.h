// Imports a program given as text.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "compiler/Import/Import.h"
#include "dsl/Diagnostics/Render.h"
#include "stdlib/Modules.h"

namespace penstock::test {

struct Library : dsl::ModuleLoader {
  std::optional<Module> load(std::string_view name) override {
    std::optional<std::string_view> text = stdlib::moduleText(name);
    if (!text)
      return std::nullopt;
    return Module{"stdlib/" + std::string(name) + ".pipe", std::string(*text)};
  }
  std::vector<std::string> names() override { return {}; }
};

struct Imported {
  /// `messages` is empty after success.
  Imported(const std::string &text, const importer::ImportOptions &options = {})
      : Imported(text, Library(), options) {}
  Imported(const std::string &text, dsl::ModuleLoader &&library, const importer::ImportOptions &options)
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
