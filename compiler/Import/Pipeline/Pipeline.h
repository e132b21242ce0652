// SPDX-License-Identifier: Apache-2.0
//
// A pipeline, from its parameters to its outputs.
#pragma once

#include "compiler/Import/Expressions/Expressions.h"
#include "compiler/Import/Import.h"

namespace penstock::importer {

/// Imports one pipeline. It exists once per round (Import.cpp).
class PipelineImport : private Expressions {
public:
  PipelineImport(mlir::MLIRContext &context, const dsl::Program &program,
                 const dsl::SourceManager &sources, const ImportOptions &options,
                 const StaticParameters &staticParameters, dsl::Diagnostics &diagnostics);

  /// Imports a pipeline. Null after errors. Throws MakeStatic.
  mlir::OwningOpRef<mlir::ModuleOp> run(const dsl::PipelineDecl &pipeline);
  /// Returns whether a parameter's type leaves no choice: a range, a word.
  static bool isAlwaysStatic(const dsl::Param &param);
  /// The defaults that were taken for static parameters, as a user would give them.
  const std::map<std::string, std::string> &staticDefaults() const { return defaults; }

private:
  // --- Parameters (Params.cpp)
  void bindParameters(const dsl::PipelineDecl &pipeline);
  Val bindParameter(const dsl::Param &param);
  Val parseParameter(const dsl::Param &param, const std::string &text);
  /// Adds a remark for each parameter: whether it is static, and why.
  void explainParameters(const dsl::PipelineDecl &pipeline, mlir::Operation *op);

  // --- Options, rows and the batch (Pipeline.cpp)
  void importOption(const dsl::OptionSetting &option, int64_t &seed, double &substitute);
  void importSource(const dsl::PipelineDecl &pipeline);
  /// The order's kind, and the rows of a list.
  std::pair<pipe::OrderKind, mlir::Value> importOrder(const dsl::Expr &order);
  /// Imports `where` and weights, which say which rows take part.
  void importAdmission(const dsl::PipelineDecl &pipeline);
  void importLet(const dsl::LetDecl &let);
  void importBatch(const dsl::BatchDecl &batch);
  mlir::Value importSessionNumber(const dsl::Expr &given, const std::string &what);
  void notYetHere(dsl::SourceRange range);

  // --- Outputs (Output.cpp)
  void importOutput(const dsl::OutputDecl &output);
  void warnOfShared(const dsl::OutputDecl &output);
  void warnOfQuotient(const dsl::OutputDecl &output, const Val &value);
  /// Operands and attributes of `pipe.output` for axes whose extent pixels decide.
  struct OutputCounts {
    llvm::SmallVector<mlir::Value> counts;
    llvm::SmallVector<mlir::Attribute> axes, messages;
    llvm::SmallVector<int64_t> limits;
  };
  Val outputLayout(const dsl::OutputDecl &output, const Val &value, OutputCounts &counts);
  mlir::Value outputExtent(const dsl::OutputDecl &output, const dsl::AxisType &axis,
                           mlir::Value value, const Val &shown, OutputCounts &counts);
  void demandRagged(const dsl::OutputDecl &output, llvm::ArrayRef<mlir::Attribute> stored);
  mlir::Value existingOnly(const dsl::OutputDecl &output, mlir::Value value, const Dim &axis,
                           int64_t extent);
  Val outputElements(const dsl::OutputDecl &output, Val value, const Val &shown);
  /// Returns whether the batch decides how far the output is filled up.
  bool isFilledByBatch(const dsl::OutputDecl &output) const;
  Val fillOf(const dsl::OutputDecl &output, mlir::Type element);
  mlir::TypedAttr importFill(const dsl::OutputDecl &output);

  bool byLength = false; ///< batches have samples of like length
  const ImportOptions &options;
  const StaticParameters &staticParameters;
  std::map<std::string, std::string> defaults;
};

} // namespace penstock::importer
