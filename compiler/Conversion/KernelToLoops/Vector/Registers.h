// SPDX-License-Identifier: Apache-2.0
//
// Plain arithmetic on registers.
//
// A value that is the same in every lane stays a scalar until it meets a vector. Constants are
// folded: what an index is made of mostly is.
#pragma once

#include "compiler/Lane/Features.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace penstock::conversion {

/// The type that holds an element in a register: signless, f16 as i16.
mlir::Type registerType(mlir::Type elementType);

class Registers {
public:
  Registers(mlir::OpBuilder &builder, mlir::Location loc, const lane::Features &has)
      : b(builder), loc(loc), has(has) {}

  mlir::OpBuilder &b;
  mlir::Location loc;
  lane::Features has;       ///< of the machine that code is made for
  bool reciprocals = false; ///< quotients by one number for all lanes are products
  /// Elements per vector; 1: no vectors.
  int64_t lanes = 1;

  mlir::Value i64(int64_t value) const;
  mlir::Value i32(int32_t value) const;
  mlir::Value f64(double value) const;
  /// `value` as a constant of `like`'s type (a splat if that is a vector).
  mlir::Value integerLike(mlir::Value like, int64_t value) const;
  mlir::Value floatLike(mlir::Value like, double value) const;
  /// A vector of `lanes` copies; a vector stays as it is.
  mlir::Value splat(mlir::Value value) const;
  /// 0, 1, .. lanes - 1 as i64.
  mlir::Value iota() const;
  /// Makes both vectors if one of them is.
  void match(mlir::Value &a, mlir::Value &b) const;
  mlir::Value add(mlir::Value x, mlir::Value y) const;
  mlir::Value sub(mlir::Value x, mlir::Value y) const;
  mlir::Value mul(mlir::Value x, mlir::Value y) const;
  mlir::Value andInt(mlir::Value x, mlir::Value y) const;
  mlir::Value xorInt(mlir::Value x, mlir::Value y) const;
  mlir::Value orInt(mlir::Value x, mlir::Value y) const;
  mlir::Value shrU(mlir::Value x, int64_t count) const;
  mlir::Value shl(mlir::Value x, int64_t count) const;
  mlir::Value minS(mlir::Value x, mlir::Value y) const;
  mlir::Value maxS(mlir::Value x, mlir::Value y) const;
  mlir::Value divS(mlir::Value x, mlir::Value y) const; ///< divisor known not to be 0 or -1
  mlir::Value remS(mlir::Value x, mlir::Value y) const; ///< likewise
  mlir::Value cmp(mlir::arith::CmpIPredicate predicate, mlir::Value x, mlir::Value y) const;
  mlir::Value pick(mlir::Value condition, mlir::Value x, mlir::Value y) const;
  /// The type of `value` with another element type.
  mlir::Type like(mlir::Value value, mlir::Type element) const;

  /// A constant that `value` is, if it is one.
  static std::optional<int64_t> constantOf(mlir::Value value);
};

/// 0, 1, .. lanes - 1 as a vector of i32.
mlir::Value laneNumbers(const Registers &l);

/// Applies `one` to the operands, register by register.
mlir::Value perRegister(const Registers &l, mlir::ValueRange operands,
                        llvm::function_ref<mlir::Value(mlir::ValueRange)> one);
/// Returns whether what `holds` makes of the elements of `v`, a register at a time, is true of
/// any.
mlir::Value anyLane(const Registers &l, mlir::Value v,
                    llvm::function_ref<mlir::Value(mlir::Value)> holds);
/// Returns what `both` makes of the registers that hold `v`: at most one of them.
mlir::Value combinedRegisters(const Registers &l, mlir::Value v,
                              llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> both);

/// Calls an LLVM intrinsic that keeps no state.
mlir::Value intrinsic(const Registers &l, llvm::StringRef name, mlir::Type result,
                      mlir::ValueRange args);

} // namespace penstock::conversion
