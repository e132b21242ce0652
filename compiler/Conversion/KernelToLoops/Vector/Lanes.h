// SPDX-License-Identifier: Apache-2.0
//
// Scalar semantics on several elements at once.
//
// Emits arithmetic whose meaning is runtime/abi/scalar.h, on one element or on
// a vector of them. A value that is the same in every lane stays a scalar
// until it meets a vector. Every value carries the interval it lies in: that
// is what makes clamps, NaN tests and saturation disappear where they cannot
// happen.
#pragma once

#include "compiler/Conversion/KernelToLoops/Vector/Interval.h"
#include "compiler/Dialect/PipeDialect.h"
#include "compiler/Lane/Features.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <array>

namespace penstock::conversion {

/// constant + weights[c] * channel c of the pixel in each lane, modulo 2^32.
/// `pixels` holds the pixels of three bytes as i32 with the middle byte twice
/// (c0 c1 c1 c2), so that half its weight goes to each; null: no such sum.
struct PixelSum {
  mlir::Value pixels;
  std::array<int64_t, 3> weights{};
  int64_t constant = 0;
};

/// A map of bytes to bytes in four registers.
using ByteTable = std::array<mlir::Value, 4>;

/// One value for all lanes. `type` is the dialect's element type; `value` has
/// the signless type of registers (f16 and bf16 are their bits, i16), or a
/// vector of it.
struct LaneValue {
  mlir::Value value;
  mlir::Type type;
  Interval range;
  /// The same numbers in other forms, where somebody had them anyway; null
  /// otherwise. A consumer takes what suits it, the rest is dead code.
  mlir::Value wide = {};         ///< an integer as i32: some loads widen for free
  mlir::Value real = {};         ///< an integer as f32, exactly: it was one, or will be
  mlir::Value upToZeroSign = {}; ///< a float but for the sign of a zero
  PixelSum sum = {};             ///< a u8 or i32 out of the bytes of pixels
  mlir::Value scaled = {};       ///< an f32 times 2^32: a quotient of integers before its last step
  mlir::Value low = {};   ///< of an integer of more bits its lowest byte, i8: all that a u8 takes
  mlir::Value first = {}; ///< an i64 in lane 0, where it grows by `step` from lane to lane
  std::optional<int64_t> step = {};
  mlir::Value asI16 = {}; ///< an i32 as i16: it began as a byte, and all numbers fit

  bool isVector() const { return llvm::isa<mlir::VectorType>(value.getType()); }
};

/// The type that holds an element in a register: signless, f16 as i16.
mlir::Type registerType(mlir::Type elementType);

class Lanes {
public:
  Lanes(mlir::OpBuilder &builder, mlir::Location loc, const lane::Features &has)
      : b(builder), loc(loc), has(has) {}

  mlir::OpBuilder &b;
  mlir::Location loc;
  lane::Features has; ///< of the machine that code is made for
  /// Elements per vector; 1: no vectors.
  int64_t lanes = 1;

  LaneValue wrap(mlir::Value value, mlir::Type elementType) const;
  /// An integer below 32 bits as i32.
  mlir::Value wideOf(const LaneValue &value) const;
  LaneValue constant(mlir::TypedAttr attribute) const;
  LaneValue unary(pipe::UnaryKind kind, LaneValue a) const;
  LaneValue binary(pipe::BinaryKind kind, LaneValue lhs, LaneValue rhs) const;
  LaneValue compare(pipe::Predicate predicate, LaneValue lhs, LaneValue rhs) const;
  LaneValue select(LaneValue condition, LaneValue onTrue, LaneValue onFalse) const;
  LaneValue cast(pipe::CastMode mode, LaneValue value, mlir::Type to) const;
  /// NaN replaced by the canonical one of the type, as every store does.
  LaneValue canonical(LaneValue value) const;
  /// The smaller or larger one of two floats in one instruction: where `value` is a NaN, or both
  /// are zeros, `sofar`. Where that is a NaN, it stays one.
  LaneValue farther(bool wantMin, LaneValue sofar, LaneValue value) const;

  // LanePixels.cpp: bytes of pixels, where bytes can be permuted.
  /// table[index] of u8 lanes.
  LaneValue lookUp(const ByteTable &table, const LaneValue &index) const;
  /// An equal operation that stands earlier in the block, else `fresh`.
  mlir::Value shared(mlir::Value fresh) const;

  // Plain helpers on registers.
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
  /// The same as a vector of i32.
  mlir::Value laneNumbers() const;
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
  /// Returns whether what `holds` makes of the elements of `v`, a register at a time, is true of
  /// any.
  mlir::Value anyLane(mlir::Value v, llvm::function_ref<mlir::Value(mlir::Value)> holds) const;
  /// The type of `value` with another element type.
  mlir::Type like(mlir::Value value, mlir::Type element) const;
  /// Calls an LLVM intrinsic that keeps no state.
  mlir::Value intrinsic(llvm::StringRef name, mlir::Type result, mlir::ValueRange args) const;

  /// What `one` makes of the operands, register by register.
  mlir::Value perRegister(mlir::ValueRange operands,
                          llvm::function_ref<mlir::Value(mlir::ValueRange)> one) const;
  /// Returns whether `v` is whole registers of f32, and there are instructions for numbers in them.
  bool fillsRegisters(mlir::Value v) const;

  /// A constant that `value` is, if it is one.
  static std::optional<int64_t> constantOf(mlir::Value value);

  /// Returns whether all lanes are the constant +0 (or the integer 0).
  static bool isPositiveZero(mlir::Value value);

private:
  PixelSum pixelSum(pipe::BinaryKind kind, const LaneValue &a, const LaneValue &c) const;
  mlir::Value lowOf(const LaneValue &value) const;
  mlir::Value lowBinary(pipe::BinaryKind kind, const LaneValue &a, const LaneValue &c) const;
  mlir::Value dotProduct(const PixelSum &sum) const;
  mlir::Value numberOf(bool wantMin, mlir::Value x, mlir::Value y) const;
  mlir::Value wholeReal(mlir::Value v) const;
  LaneValue intBinary(pipe::BinaryKind kind, LaneValue a, LaneValue c) const;
  mlir::Value realBinary(pipe::BinaryKind kind, const LaneValue &a, const LaneValue &c,
                         Interval result) const;
  mlir::Value realOf(const LaneValue &value) const;
  LaneValue floatBinary(pipe::BinaryKind kind, LaneValue a, LaneValue c) const;
  mlir::Value scaledDown(mlir::Value x) const;
  mlir::Value quotient(const LaneValue &a, const LaneValue &c) const;
  LaneValue floatMinMax(bool wantMin, LaneValue a, LaneValue c) const;
  mlir::Value fmod(mlir::Value a, mlir::Value c) const;
  LaneValue widen(LaneValue storage) const;
  LaneValue narrowToHalf(LaneValue f32) const;
  LaneValue narrowToBfloat(LaneValue f32) const;
  /// f64 to f32 so that one more rounding to 16 bits rounds as if once.
  mlir::Value roundToOdd(mlir::Value f64) const;
  mlir::Value keepOdd(mlir::Value i64) const;
  LaneValue floatToInt(LaneValue value, mlir::Type to) const;
  LaneValue intToFloat(LaneValue value, mlir::Type to) const;
  LaneValue intToInt(pipe::CastMode mode, LaneValue value, mlir::Type to) const;
};

/// The bits of an f16 or bf16 from outside, where a NaN may have any; in registers it is canonical.
mlir::Value canonicalBits(const Lanes &l, mlir::Value bits, mlir::Type storage);

/// An index that is `by` further on than another one; neither is negative. Divisions by what `by`
/// is a multiple of go back to that one.
mlir::Value furtherIndex(const Lanes &l, mlir::Value index, int64_t by);

} // namespace penstock::conversion
