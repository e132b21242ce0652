// SPDX-License-Identifier: Apache-2.0
//
// Text to the pipe dialect, for tests.
//
//   penstock-import FILE [--pipeline=NAME] [--set NAME=VALUE]... [--params]
#include "compiler/Dialect/PipeDialect.h"
#include "compiler/Import/Import.h"
#include "dsl/Diagnostics/Render.h"
#include "stdlib/ShippedModules.h"
#include "llvm/Support/raw_ostream.h"

#include <fstream>
#include <sstream>

using namespace penstock;

int main(int argc, char **argv) {
  importer::ImportOptions options;
  std::string file;
  bool listParams = false, locations = false;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg == "--set" && i + 1 < argc) {
      std::string setting = argv[++i];
      options.parameters[setting.substr(0, setting.find('='))] =
          setting.substr(setting.find('=') + 1);
    } else if (arg.rfind("--pipeline=", 0) == 0) {
      options.pipeline = arg.substr(11);
    } else if (arg == "--params") {
      listParams = true;
    } else if (arg == "--locations") {
      locations = true;
    } else {
      file = arg;
    }
  }
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    llvm::errs() << "cannot read " << file << "\n";
    return 2;
  }
  std::stringstream text;
  text << in.rdbuf();

  dsl::SourceManager sources;
  dsl::Diagnostics diagnostics;
  stdlib::ShippedModules library;
  dsl::FileId id = sources.add(file.substr(file.rfind('/') + 1), text.str());
  dsl::Program program = dsl::loadProgram(id, sources, library, importer::builtins(), diagnostics);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  importer::ImportResult result;
  if (!diagnostics.hasErrors())
    result = importer::importProgram(context, program, sources, options, diagnostics);
  llvm::errs() << dsl::renderText(diagnostics, sources);
  if (!result.module)
    return 1;
  if (listParams) {
    for (const importer::ParameterInfo &param : result.parameters)
      llvm::outs() << param.name << ": " << param.type << (param.isStatic ? " static" : " run-time")
                   << (param.defaultText ? " = " + *param.defaultText : "") << "\n";
    return 0;
  }
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo(locations);
  result.module->print(llvm::outs(), flags);
  return 0;
}
