// SPDX-License-Identifier: Apache-2.0
//
// Rounds of elaboration.
//
// Every parameter starts as a run-time one. Where a number is needed at compile
// time and parameters alone stand in its way, they become static and import
// starts again; each round makes at least one more static, so it ends.
#include "compiler/Import/Pipeline/Pipeline.h"
#include "dsl/AST/Printer.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace penstock;
using namespace penstock::importer;

static const dsl::PipelineDecl *findPipeline(const dsl::File &file, const std::string &name,
                                             dsl::Diagnostics &diagnostics) {
  std::string all;
  for (const dsl::PipelineDecl &pipeline : file.pipelines) {
    if (pipeline.name.text == name)
      return &pipeline;
    all += (all.empty() ? "`" : ", `") + pipeline.name.text + "`";
  }
  if (file.pipelines.empty())
    diagnostics.error(file.versionRange, "this file has no pipeline")
        .hint("`pipeline name(...) { ... }` is one, behind functions and constants");
  else if (!name.empty())
    diagnostics.error({}, "there is no pipeline `" + name + "`").hint(all);
  else if (file.pipelines.size() > 1)
    diagnostics
        .error(file.pipelines[1].name.range,
               "this file has several pipelines, and one must be chosen")
        .hint("`--pipeline=` with one of " + all);
  else
    return &file.pipelines.front();
  return nullptr;
}

/// The common parts of equal expressions, and what nothing uses, go at once:
/// that is what makes a library of small functions cheap.
static bool tidy(mlir::ModuleOp module, dsl::Diagnostics &diagnostics) {
  std::string text;
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    text += (text.empty() ? "" : "; ") + diagnostic.str();
    return mlir::success();
  });
  bool good = mlir::succeeded(mlir::verify(module));
  if (good) {
    mlir::PassManager passes(module.getContext());
    passes.addPass(mlir::createCSEPass());
    passes.addPass(mlir::createCanonicalizerPass());
    passes.addPass(mlir::createCSEPass());
    good = mlir::succeeded(passes.run(module));
  }
  if (!good)
    diagnostics.error({}, "internal error: import made IR that is not valid: " + text);
  return good;
}

ImportResult importer::importProgram(mlir::MLIRContext &context, const dsl::Program &program,
                                     const dsl::SourceManager &sources,
                                     const ImportOptions &options, dsl::Diagnostics &diagnostics) {
  ImportResult result;
  context.loadDialect<pipe::PipeDialect>();
  const dsl::PipelineDecl *pipeline = findPipeline(*program.main, options.pipeline, diagnostics);
  if (!pipeline)
    return result;
  StaticParameters staticParameters;
  std::map<std::string, std::string> defaults;
  for (;;) {
    dsl::Diagnostics found; // messages of a round that is given up do not count
    try {
      PipelineImport importer(context, program, sources, options, staticParameters, found);
      result.module = importer.run(*pipeline);
      defaults = importer.staticDefaults();
    } catch (const MakeStatic &demanded) {
      for (const std::string &name : demanded.names)
        staticParameters.try_emplace(name, demanded.reason);
      continue;
    }
    for (const dsl::Diagnostic &message : found.sorted()) {
      auto report = message.severity == dsl::Severity::Error
                        ? diagnostics.error(message.range, message.message)
                        : diagnostics.warning(message.range, message.message);
      for (const dsl::Note &note : message.notes)
        report.note(note.range, note.message);
      if (!message.hint.empty())
        report.hint(message.hint);
    }
    break;
  }
  for (const dsl::Param &param : pipeline->params) {
    ParameterInfo info;
    info.name = param.name.text;
    info.type = dsl::printType(param.type);
    info.isStatic = staticParameters.contains(info.name) || PipelineImport::isAlwaysStatic(param);
    if (param.defaultValue)
      info.defaultText = dsl::printSource(*param.defaultValue);
    if (auto found = defaults.find(info.name); found != defaults.end())
      info.value = found->second;
    info.doc = param.doc;
    result.parameters.push_back(std::move(info));
  }
  if (result.module && !tidy(*result.module, diagnostics))
    result.module = nullptr;
  return result;
}
