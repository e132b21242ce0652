// SPDX-License-Identifier: Apache-2.0
//
// A module as numbered registers.
//
// Every SSA value gets a number, so that the inner loops look nothing up. That
// is all the translation there is: one instruction per op, in order.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "stdlib/reference/Interpreter.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include <stdexcept>

namespace penstock::reference {

/// The module is at fault; becomes BatchResult::error.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};
[[noreturn]] void fault(mlir::Operation *op, const std::string &text);

class Machine;
struct Slot;
struct Instruction;

/// Runs an op for one slot.
using RunOne = void (*)(Machine &, Slot &, const Instruction &);
/// Runs an op for several slots in step: what holds regions or reads peers.
using RunAll = void (*)(Machine &, llvm::ArrayRef<Slot *>, const Instruction &);

struct Block {
  std::vector<unsigned> arguments;
  std::vector<Instruction> body;
  /// The terminator's operands; empty without one.
  std::vector<unsigned> results;
};

struct Instruction {
  mlir::Operation *op = nullptr;
  RunOne one = nullptr;
  RunAll all = nullptr;
  std::vector<unsigned> operands, results;
  /// Of its first result, where that is a scalar.
  DType type = DType::i64;
  std::vector<Block> regions;
};

class Program {
public:
  Program(mlir::ModuleOp module, const std::string &pipeline);

  pipe::PipelineOp pipeline;
  Block body;
  llvm::StringMap<Block> kernels;
  /// Names of the pipeline's rows, select and setup kernels, in order.
  std::vector<std::string> rows, select, setup;
  unsigned registers = 0;

  unsigned numberOf(mlir::Value value) const { return numbers.lookup(value); }
  /// The instruction that defines a register; null for block arguments.
  const Instruction *definition(unsigned number) const { return definitions.lookup(number); }

private:
  Block translate(mlir::Block &block);
  void index(const Block &block);
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  llvm::DenseMap<unsigned, const Instruction *> definitions;
};

/// Sets the function that runs an op; a fault if it has no meaning.
void bind(Instruction &instruction);

DType dtypeOf(mlir::Type type);

} // namespace penstock::reference
