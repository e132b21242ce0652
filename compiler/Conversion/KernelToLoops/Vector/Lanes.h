// SPDX-License-Identifier: Apache-2.0
//
// Scalar semantics on several elements at once.
//
// Emits arithmetic whose meaning is runtime/abi/scalar.h, on one element or on
// a vector of them. Every value carries the interval it lies in: that
// is what makes clamps, NaN tests and saturation disappear where they cannot
// happen. LaneIntegers.h, LaneFloats.h, LaneCasts.h, LaneHalves.h and LanePixels.h have the steps.
#pragma once

#include "compiler/Analysis/Interval.h"
#include "compiler/Conversion/KernelToLoops/Vector/Registers.h"
#include "compiler/Dialect/PipeDialect.h"
#include <array>

namespace penstock::conversion {

using analysis::Interval, analysis::rangeOfType, analysis::whole;

/// constant + weights[c] * channel c of the pixel in each lane, modulo 2^32.
/// `pixels` holds the pixels of three bytes as i32 with the middle byte twice
/// (c0 c1 c1 c2), so that half its weight goes to each; null: no such sum.
struct PixelSum {
  mlir::Value pixels;
  std::array<int64_t, 3> weights{};
  int64_t constant = 0;
};

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
  mlir::Value asI16 = {};     ///< an i32 as i16: it began as a byte, and all numbers fit
  mlir::Value canonical = {}; ///< a float whose NaN is the canonical one

  bool isVector() const { return llvm::isa<mlir::VectorType>(value.getType()); }
};

class Lanes : public Registers {
public:
  using Registers::Registers;

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
};

} // namespace penstock::conversion
