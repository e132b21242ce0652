// SPDX-License-Identifier: Apache-2.0
//
// f16 and bf16, which are their bits in registers.
//
// Conversions between f32 and f16 round like scalar.h; without them integer operations give the
// same. bf16 never uses an instruction: those flush subnormals.
#include "compiler/Conversion/KernelToLoops/Vector/LaneHalves.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpFPredicate;
using arith::CmpIPredicate;

LaneValue penstock::conversion::widen(const Lanes &l, LaneValue storage) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  Value h = storage.value;
  Type f32 = l.like(h, b.getF32Type()), i32Type = l.like(h, b.getI32Type());
  if (storage.type.isBF16()) {
    Value wide = l.shl(b.create<arith::ExtUIOp>(loc, i32Type, h), 16);
    return {b.create<arith::BitcastOp>(loc, f32, wide), b.getF32Type(), {}};
  }
  if (l.has.convertsHalves) {
    // NaN are made canonical as numbers: LLVM compares what was a half as one, lane by lane.
    Value bits = canonicalBits(l, h, storage.type);
    Value half = b.create<arith::BitcastOp>(loc, l.like(h, b.getF16Type()), bits);
    LaneValue wide{b.create<arith::ExtFOp>(loc, f32, half), b.getF32Type(), {}};
    wide.range.quiet = true;
    wide.canonical = wide.value;
    return wide;
  }
  // Exponent and mantissa moved into place and scaled by 2^112: exact, also
  // for subnormal halves.
  Value wide = b.create<arith::ExtUIOp>(loc, i32Type, h);
  Value magnitude = l.andInt(wide, l.integerLike(wide, 0x7FFF));
  Value moved = b.create<arith::BitcastOp>(loc, f32, l.shl(magnitude, 13));
  Value scaled = b.create<arith::MulFOp>(loc, moved, l.floatLike(moved, 0x1p112));
  Value bits = b.create<arith::BitcastOp>(loc, i32Type, scaled);
  bits = l.pick(l.cmp(CmpIPredicate::ugt, magnitude, l.integerLike(wide, 0x7C00)),
                l.integerLike(wide, 0x7FC00000),
                l.pick(l.cmp(CmpIPredicate::eq, magnitude, l.integerLike(wide, 0x7C00)),
                       l.integerLike(wide, 0x7F800000), bits));
  Value sign = l.shl(l.andInt(wide, l.integerLike(wide, 0x8000)), 16);
  sign = l.pick(l.cmp(CmpIPredicate::ugt, magnitude, l.integerLike(wide, 0x7C00)),
                l.integerLike(wide, 0), sign);
  return {b.create<arith::BitcastOp>(loc, f32, l.orInt(bits, sign)), b.getF32Type(), {}};
}

Value penstock::conversion::canonicalBits(const Lanes &l, Value bits, Type storage) {
  const bool isHalf = storage.isF16();
  const int64_t canonical = isHalf ? 0x7E00 : 0x7FC0;
  llvm::APInt chosen;
  if (auto pick = bits.getDefiningOp<arith::SelectOp>();
      pick && matchPattern(pick.getTrueValue(), m_ConstantInt(&chosen)) && chosen == canonical)
    return bits; // it was here before
  Value magnitude = l.andInt(bits, l.integerLike(bits, 0x7FFF));
  Value isNan = l.cmp(CmpIPredicate::sgt, magnitude, l.integerLike(bits, isHalf ? 0x7C00 : 0x7F80));
  return l.pick(isNan, l.integerLike(bits, canonical), bits);
}

LaneValue penstock::conversion::narrowToHalf(const Lanes &l, LaneValue value) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  value = l.canonical(value);
  Value f = value.value;
  Type i16Type = l.like(f, b.getIntegerType(16)), i32Type = l.like(f, b.getI32Type());
  if (l.has.convertsHalves) {
    Value half = b.create<arith::TruncFOp>(loc, l.like(f, b.getF16Type()), f);
    return {b.create<arith::BitcastOp>(loc, i16Type, half), b.getF16Type(), value.range};
  }
  Value bits = b.create<arith::BitcastOp>(loc, i32Type, f);
  Value sign = l.andInt(l.shrU(bits, 16), l.integerLike(bits, 0x8000));
  Value magnitude = l.andInt(bits, l.integerLike(bits, 0x7FFFFFFF));
  // Below the smallest normal half, adding 0.5 rounds the mantissa in place.
  Value small = b.create<arith::AddFOp>(
      loc, b.create<arith::BitcastOp>(loc, f.getType(), magnitude), l.floatLike(f, 0.5));
  Value subnormal =
      l.sub(b.create<arith::BitcastOp>(loc, i32Type, small), l.integerLike(bits, 0x3F000000));
  Value odd = l.andInt(l.shrU(magnitude, 13), l.integerLike(bits, 1));
  Value rounded = b.create<arith::AddIOp>(
      loc, b.create<arith::AddIOp>(loc, magnitude, l.integerLike(bits, 0xFFF - 0x38000000)), odd);
  Value result = l.shrU(rounded, 13);
  result = l.pick(l.cmp(CmpIPredicate::ult, magnitude, l.integerLike(bits, 0x38800000)), subnormal,
                  result);
  result = l.pick(l.cmp(CmpIPredicate::uge, magnitude, l.integerLike(bits, 0x47800000)),
                  l.integerLike(bits, 0x7C00), result);
  result = l.pick(l.cmp(CmpIPredicate::ugt, magnitude, l.integerLike(bits, 0x7F800000)),
                  l.integerLike(bits, 0x7E00), result);
  return {b.create<arith::TruncIOp>(loc, i16Type, l.orInt(result, sign)), b.getF16Type(),
          value.range};
}

LaneValue penstock::conversion::narrowToBfloat(const Lanes &l, LaneValue value) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  value = l.canonical(value);
  Value f = value.value;
  Value bits = b.create<arith::BitcastOp>(loc, l.like(f, b.getI32Type()), f);
  Value odd = l.andInt(l.shrU(bits, 16), l.integerLike(bits, 1));
  Value rounded = b.create<arith::AddIOp>(
      loc, b.create<arith::AddIOp>(loc, bits, l.integerLike(bits, 0x7FFF)), odd);
  // The canonical NaN survives the addition: 0x7FC00000 + 0x7FFF stays below 0x7FC1.
  Value high = l.shrU(rounded, 16);
  return {b.create<arith::TruncIOp>(loc, l.like(f, b.getIntegerType(16)), high), b.getBF16Type(),
          value.range};
}

Value penstock::conversion::roundToOdd(const Lanes &l, Value wide) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  Type f32 = l.like(wide, b.getF32Type()), i32Type = l.like(wide, b.getI32Type());
  Value near = b.create<arith::TruncFOp>(loc, f32, wide);
  Value back = b.create<arith::ExtFOp>(loc, wide.getType(), near);
  Value bits = b.create<arith::BitcastOp>(loc, i32Type, near);
  Value exact = b.create<arith::CmpFOp>(loc, CmpFPredicate::UEQ, back, wide);
  Value above = b.create<arith::CmpFOp>(loc, CmpFPredicate::OGT, b.create<LLVM::FAbsOp>(loc, back),
                                        b.create<LLVM::FAbsOp>(loc, wide));
  Value down = l.pick(above, l.sub(bits, l.integerLike(bits, 1)), bits);
  Value odd = l.pick(exact, bits, l.orInt(down, l.integerLike(bits, 1)));
  return b.create<arith::BitcastOp>(loc, f32, odd);
}

Value penstock::conversion::keepOdd(const Lanes &l, Value v) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  Value zero = l.integerLike(v, 0);
  Value negative = l.cmp(CmpIPredicate::slt, v, zero);
  Value magnitude = l.pick(negative, b.create<arith::SubIOp>(loc, zero, v), v);
  // 64 - 53 - leading zeros, at least 0: how many bits are cut off.
  Value leading =
      intrinsic(l,
                llvm::isa<VectorType>(v.getType()) ? "llvm.ctlz.v" + std::to_string(l.lanes) + "i64"
                                                   : "llvm.ctlz.i64",
                v.getType(), {magnitude, b.create<arith::ConstantIntOp>(loc, 0, 1)});
  Value excess = l.maxS(b.create<arith::SubIOp>(loc, l.integerLike(v, 11), leading), zero);
  Value one = l.integerLike(v, 1);
  Value unit = b.create<arith::ShLIOp>(loc, one, excess);
  Value cut = b.create<arith::SubIOp>(loc, unit, one);
  Value rest = l.andInt(magnitude, cut);
  Value kept = b.create<arith::SubIOp>(loc, magnitude, rest);
  kept = l.orInt(kept, l.pick(l.cmp(CmpIPredicate::ne, rest, zero), unit, zero));
  return l.pick(negative, b.create<arith::SubIOp>(loc, zero, kept), kept);
}
