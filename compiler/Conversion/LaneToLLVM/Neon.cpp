// SPDX-License-Identifier: Apache-2.0
//
// Neon's instructions for the lane dialect.
//
// All 64-bit ARM has them. Where several stand for an op, they are those that one core after the
// other has fast: no divisions, no tables of more than two registers.
#include "compiler/Conversion/LaneToLLVM/LaneToLLVM.h"
#include "compiler/Lane/LaneDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;
using namespace penstock::lane;

namespace {
/// Makes LLVM's ops where an op of ours stands.
struct Code {
  OpBuilder &b;
  Location loc;

  static VectorType typeOf(Value v) { return llvm::cast<VectorType>(v.getType()); }
  static VectorType half(VectorType type) {
    return VectorType::get({type.getNumElements() / 2}, type.getElementType());
  }
  VectorType ints(int64_t count, unsigned bits) const {
    return VectorType::get({count}, b.getIntegerType(bits));
  }
  Value call(StringRef name, Type result, ValueRange operands) const {
    return b.create<LLVM::CallIntrinsicOp>(loc, result, b.getStringAttr(name), operands)
        .getResult(0);
  }
  Value splat(VectorType type, int64_t number) const {
    const APInt bits(type.getElementTypeBitWidth(), static_cast<uint64_t>(number),
                     /*isSigned=*/true);
    return b.create<LLVM::ConstantOp>(loc, type, DenseElementsAttr::get(type, bits));
  }
  /// Elements `first` .. of both vectors, one behind the other, and again from the beginning.
  Value part(Value low, Value high, int64_t first, int64_t count) const {
    const int64_t both = 2 * typeOf(low).getNumElements();
    SmallVector<int32_t> order(count);
    for (int64_t i = 0; i < count; ++i)
      order[i] = static_cast<int32_t>((first + i) % both);
    return b.create<LLVM::ShuffleVectorOp>(loc, low, high, order);
  }
  Value half(Value v, bool upper) const {
    const int64_t count = typeOf(v).getNumElements() / 2;
    return part(v, v, upper ? count : 0, count);
  }
  Value join(Value low, Value high) const {
    return part(low, high, 0, 2 * typeOf(low).getNumElements());
  }
  Value as(Type type, Value v) const {
    return type == v.getType() ? v : b.create<LLVM::BitcastOp>(loc, type, v).getResult();
  }
  /// The bits of `places` that `mask` has: instructions give 0 for a place behind the last.
  Value within(Value places, int64_t mask) const {
    return b.create<LLVM::AndOp>(loc, places, splat(typeOf(places), mask));
  }
};
} // namespace

/// Null for what has no instruction.
static Value emit(DotPairsOp, ValueRange operands, Type result, const Code &code) {
  auto products = [&](bool upper) {
    return code.call("llvm.aarch64.neon.smull.v4i32", result,
                     {code.half(operands[0], upper), code.half(operands[1], upper)});
  };
  return code.call("llvm.aarch64.neon.addp.v4i32", result, {products(false), products(true)});
}

static Value emit(ShufflePartsOp, ValueRange operands, Type result, const Code &code) {
  return code.call("llvm.aarch64.neon.tbl1.v16i8", result,
                   {operands[0], code.within(operands[1], 0x8F)});
}

/// Of a part of a register, too.
static Value emit(PermuteOp, ValueRange operands, Type, const Code &code) {
  const int64_t count = Code::typeOf(operands[0]).getNumElements();
  auto whole = [&](Value v) { return count == 16 ? v : code.part(v, v, 0, 16); };
  Value taken = code.call("llvm.aarch64.neon.tbl1.v16i8", code.ints(16, 8),
                          {whole(operands[0]), whole(code.within(operands[1], count - 1))});
  return count == 16 ? taken : code.part(taken, taken, 0, count);
}

static Value emit(PermuteTwoOp, ValueRange operands, Type result, const Code &code) {
  const VectorType bytes = code.ints(16, 8);
  Value places = operands[2];
  if (Code::typeOf(places).getElementTypeBitWidth() == 8) {
    places = code.within(places, 31);
  } else { // each number becomes those of four bytes
    places = code.b.create<LLVM::MulOp>(code.loc, code.within(places, 7),
                                        code.splat(Code::typeOf(places), 0x04040404));
    places =
        code.b.create<LLVM::AddOp>(code.loc, places, code.splat(Code::typeOf(places), 0x03020100));
    places = code.as(bytes, places);
  }
  return code.as(result,
                 code.call("llvm.aarch64.neon.tbl2.v16i8", bytes,
                           {code.as(bytes, operands[0]), code.as(bytes, operands[1]), places}));
}

static Value emit(PackOp, ValueRange operands, Type result, const Code &code) {
  const VectorType whole = llvm::cast<VectorType>(result);
  const StringRef name = whole.getElementTypeBitWidth() == 8 ? "llvm.aarch64.neon.sqxtun.v8i8"
                                                             : "llvm.aarch64.neon.sqxtun.v4i16";
  return code.join(code.call(name, Code::half(whole), operands[0]),
                   code.call(name, Code::half(whole), operands[1]));
}

static Value emit(MinNumberOp, ValueRange operands, Type result, const Code &code) {
  return code.call("llvm.aarch64.neon.fminnm.v4f32", result, operands);
}
static Value emit(MaxNumberOp, ValueRange operands, Type result, const Code &code) {
  return code.call("llvm.aarch64.neon.fmaxnm.v4f32", result, operands);
}

static Value emit(ReplaceNanOp op, ValueRange operands, Type result, const Code &code) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float by = op.getBy() == NanBecomes::canonical  ? std::numeric_limits<float>::quiet_NaN()
                   : op.getBy() == NanBecomes::infinity ? infinity
                                                        : -infinity;
  const VectorType type = llvm::cast<VectorType>(result);
  Value isNan =
      code.b.create<LLVM::FCmpOp>(code.loc, LLVM::FCmpPredicate::uno, operands[0], operands[0]);
  Value other = code.b.create<LLVM::ConstantOp>(
      code.loc, type, DenseElementsAttr::get(type, Attribute(code.b.getF32FloatAttr(by))));
  return code.b.create<LLVM::SelectOp>(code.loc, isNan, other, operands[0]);
}

static Value emit(DotQuadsOp, ValueRange, Type, const Code &) { return {}; }
static Value emit(SignMaskOp, ValueRange, Type, const Code &) { return {}; }
static Value emit(ConvertUpOp, ValueRange, Type, const Code &) { return {}; }

template <typename LaneOp> static bool hasWidth(LaneOp op) {
  const VectorType first = Code::typeOf(op->getOperand(0));
  return first.getNumElements() * first.getElementTypeBitWidth() == 128;
}
static bool hasWidth(PermuteOp op) {
  const int64_t count = op.getType().getNumElements();
  return count <= 16 && 16 % count == 0;
}

namespace {
template <typename LaneOp> struct ToNeon : OpConversionPattern<LaneOp> {
  using OpConversionPattern<LaneOp>::OpConversionPattern;
  LogicalResult matchAndRewrite(LaneOp op, typename LaneOp::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!hasWidth(op))
      return op.emitOpError("has no instruction on 64-bit ARM for vectors of this width");
    Value result =
        emit(op, adaptor.getOperands(), op->getResult(0).getType(), Code{rewriter, op.getLoc()});
    if (!result)
      return op.emitOpError("has no instruction on 64-bit ARM");
    rewriter.replaceOp(op, result);
    return success();
  }
};
} // namespace

void penstock::conversion::populateNeonPatterns(RewritePatternSet &patterns) {
  patterns.add<ToNeon<DotPairsOp>, ToNeon<DotQuadsOp>, ToNeon<ShufflePartsOp>, ToNeon<PermuteOp>,
               ToNeon<PermuteTwoOp>, ToNeon<PackOp>, ToNeon<SignMaskOp>, ToNeon<MinNumberOp>,
               ToNeon<MaxNumberOp>, ToNeon<ReplaceNanOp>, ToNeon<ConvertUpOp>>(
      patterns.getContext());
}
