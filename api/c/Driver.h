// SPDX-License-Identifier: Apache-2.0
//
// From text to any stage of the compiler.
#pragma once

#include "api/c/Compilation.h"
#include "api/c/Machine.h"
#include "codegen/cpu/Target.h"
#include "compiler/Pipelines/Pipelines.h"
#include "dsl/AST/Program.h"
#include "dsl/Diagnostics/Diagnostics.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir {
class PassManager;
}

namespace penstock::api {

/// One compilation. All messages, those of MLIR's passes included, end up in
/// `diagnostics` at the user's own lines.
class Driver final : public Compilation {
public:
  explicit Driver(const CompileRequest &request);
  ~Driver() override;

  bool load() override;
  bool advance(Stage stage) override;
  std::optional<std::string> print(Stage stage, const std::string &architecture) override;
  std::string explain() override;
  std::string overview() override;
  std::optional<std::string> transfers() override;
  const std::vector<uint8_t> &plan() const override { return planBytes; }
  std::optional<Compiled> finish() override;

  const std::string &pipelineName() const override { return name; }
  Messages messages() const override;
  const std::vector<Parameter> &parameters() const override { return parameterList; }

private:
  bool loadText();
  bool isOfStage(Stage stage);
  bool checkPasses();
  bool checkTransfer();
  bool readMachine();
  pipelines::PassSelection selection() const;
  /// Returns the transfer level that costs least, of a module at `pipe-opt`; nothing after errors.
  std::optional<std::string> chooseTransfer();
  void readName();
  void readParameters();
  bool checkParameters();
  bool runTo(Stage stage);
  /// Runs passes. False after errors, of which at least one is reported.
  bool run(mlir::PassManager &passes, Stage stage);
  bool readsRows();
  bool makePlan();
  bool makeCuda();
  bool takeDeviceKernels();
  bool compileDevice(Compiled &compiled);
  std::optional<std::string> printCuda();
  std::optional<std::string> compileCuda(Stage stage, const std::string &architecture);
  /// Remembers the stages and outputs that the user has placed on a GPU.
  void noteGpu();
  /// Reports a pass's message as one of ours.
  void report(mlir::Diagnostic &diagnostic);
  dsl::SourceRange rangeOf(mlir::Location location) const;

  const CompileRequest &request;
  std::optional<codegen::Target> target;
  dsl::SourceManager sources;
  dsl::Diagnostics diagnostics;
  std::optional<dsl::Program> program; ///< the checked text
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<Parameter> parameterList;
  Stage reached = Stage::ast;
  std::string name;
  Machine machine;
  std::string transfer; ///< the level that was taken
  GpuPlaces gpuPlaces;
  std::string deviceText;         ///< of the kernels that a GPU runs beside this host
  std::vector<uint8_t> planBytes; ///< made before LLVM's stage drops the pipeline op
};

} // namespace penstock::api
