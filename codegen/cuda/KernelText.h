// SPDX-License-Identifier: Apache-2.0
//
// One kernel's text while it is written.
#pragma once

#include "codegen/cuda/Printer.h"
#include "compiler/Conversion/KernelContract.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

namespace penstock::codegen {

/// An expression, and how strongly its outermost operator binds.
struct Expression {
  std::string text;
  int binding = 0;
};

/// Precedence of operators, as in C++.
enum Binding {
  bindChoice = 1,
  bindOr,
  bindAnd,
  bindBits,
  bindEqual,
  bindLess,
  bindAdd,
  bindMul,
  bindUnary,
  bindAll
};

/// The register's type of a scalar; f16 and bf16 are computed as f32.
std::string registerType(mlir::Type type);
/// The type in memory.
std::string memoryType(mlir::Type type);
/// Returns whether a call makes a byte of a resampling's sum, and all that is wanted is an f32 of
/// it.
bool isWantedAsSum(mlir::func::CallOp call);
/// A number as a literal of exactly its type.
Expression literal(mlir::Attribute value, mlir::Type type);
Expression realLiteral(llvm::APFloat value, mlir::Type type);

class KernelText {
public:
  KernelText(llvm::raw_ostream &os, const CudaPrinterOptions &options) : os(os), options(options) {}

  /// Prints the kernel of a function, or its body for others to call, or both.
  mlir::LogicalResult print(mlir::func::FuncOp function, bool isKernel, bool isBody);

private:
  // KernelText.cpp: statements.
  mlir::LogicalResult block(mlir::Block &block);
  mlir::LogicalResult statement(mlir::Operation &op);
  mlir::LogicalResult nest(mlir::scf::ParallelOp op);
  struct NumberKind {
    bool isNarrow; ///< it has 32 bits
    bool isBelow;  ///< it is the number of a place
  };
  void divide(mlir::scf::ParallelOp op, size_t first, size_t end, llvm::StringRef number,
              llvm::ArrayRef<std::string> axes, NumberKind kind);
  mlir::LogicalResult loop(mlir::scf::ForOp op);
  mlir::LogicalResult loop(mlir::scf::WhileOp op);
  mlir::LogicalResult branch(mlir::scf::IfOp op);
  mlir::LogicalResult branch(mlir::scf::IndexSwitchOp op);
  mlir::LogicalResult arm(mlir::Block &block, mlir::ResultRange results);
  std::string fieldType(mlir::BlockArgument argument, const conversion::KernelArgument &from);
  void argument(mlir::BlockArgument argument, const conversion::KernelArgument &from);
  void load(mlir::memref::LoadOp op);
  Expression bytes(mlir::ValueRange values);
  void store(mlir::memref::StoreOp op);
  /// Returns the value as memory holds it.
  std::string stored(mlir::Value value);
  /// Declares variables that are assigned later.
  void declare(mlir::ValueRange values, mlir::ValueRange inits, llvm::StringRef stem);
  void assign(mlir::ValueRange to, mlir::ValueRange from);
  void place(mlir::Location location);
  llvm::raw_ostream &line() { return os.indent(indent); }
  std::string fresh(llvm::StringRef stem);
  std::string axisName(llvm::StringRef axis);
  std::string numbered() { return fresh("v" + std::to_string(next++)); }

  // Expressions.cpp
  /// The text of an op without regions and effects; nothing if it has none.
  std::optional<Expression> expression(mlir::Operation &op);
  std::optional<Expression> pipeExpression(mlir::Operation &op);
  Expression unary(pipe::UnaryOp op);
  Expression binary(pipe::BinaryOp op);
  Expression cast(pipe::CastOp op);
  Expression draw(pipe::DrawOp op);
  /// Returns the expression of a number as rounded to its storage type.
  std::string rounded(llvm::StringRef function, mlir::Value value);
  Expression infix(mlir::Value a, llvm::StringRef op, mlir::Value b, int binding);
  Expression called(llvm::StringRef name, mlir::ValueRange operands);
  /// An operand where operators that bind more weakly than `binding` need
  /// parentheses.
  std::string use(mlir::Value value, int binding = 0);

  llvm::raw_ostream &os;
  const CudaPrinterOptions &options;
  unsigned indent = 2;
  int next = 0, temporaries = 0, strips = 0;
  llvm::DenseMap<mlir::Value, Expression> texts;
  llvm::StringSet<> taken;
  std::string lastPlace;
  std::string run;      ///< the neighbours that are stored together, so far
  bool inPairs = false; ///< it takes numbers that it rounds to halves
  llvm::DenseMap<int64_t, std::string> loadedRuns; ///< by their number: variables
  int64_t inputs = 0, threads = 0;
  bool isFirstBlock = false; ///< others of its sample run at the same time, and do nothing
};

} // namespace penstock::codegen
