//===- Driver.h - from text to any stage of the compiler -------------------===//
#ifndef PENSTOCK_API_C_DRIVER_H
#define PENSTOCK_API_C_DRIVER_H

#include "api/c/Program.h"
#include "codegen/cpu/Target.h"
#include "dsl/Diagnostics/Diagnostics.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace penstock::api {

/// The stages, in order; the names are those of `--emit`.
enum class Stage { ast, pipe, pipeOpt, kernels, schedule, loops, llvm, assembly, object };
std::optional<Stage> stageNamed(std::string_view name);

/// One compilation. All messages, those of MLIR's passes included, end up in
/// `diagnostics` at the user's own lines.
class Driver {
public:
  explicit Driver(const CompileRequest &request);
  ~Driver();

  /// Parses, checks and imports (or reads MLIR). False after errors.
  bool load();
  /// Brings the module to a stage up to `llvm`. False after errors.
  bool advance(Stage stage);
  /// Text (or an object file) of a stage that has been reached.
  std::optional<std::string> print(Stage stage);
  /// The remarks of the passes, in words, in the order of the pipeline.
  std::string explain();
  /// Plan and code; the module must be at `llvm`.
  std::optional<Compiled> finish();

  /// The name of the pipeline, once loaded.
  const std::string &pipelineName() const { return name; }
  Messages messages() const;
  const std::vector<Parameter> &parameters() const { return parameterList; }

private:
  bool loadText();
  bool checkPasses();
  void readName();
  bool runTo(Stage stage);
  bool makePlan();
  /// A pass's message, as one of ours.
  void report(mlir::Diagnostic &diagnostic);
  dsl::SourceRange rangeOf(mlir::Location location) const;

  const CompileRequest &request;
  std::optional<codegen::Target> target;
  dsl::SourceManager sources;
  dsl::Diagnostics diagnostics;
  std::string ast;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<Parameter> parameterList;
  Stage reached = Stage::ast;
  std::string name;
  std::vector<uint8_t> planBytes; ///< made before LLVM's stage drops the pipeline op
};

} // namespace penstock::api

#endif
