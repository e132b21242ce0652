// SPDX-License-Identifier: Apache-2.0
//
// The instructions of x86-64 for the lane dialect.
#include "compiler/Conversion/LaneToLLVM/LaneToLLVM.h"
#include "compiler/Lane/LaneDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;
using namespace penstock::lane;

static unsigned bitsOf(Type vector) {
  auto type = llvm::cast<VectorType>(vector);
  return static_cast<unsigned>(type.getNumElements()) * type.getElementTypeBitWidth();
}

/// The name for vectors of 128, 256 or 512 bits; empty for others, and where there is none.
static StringRef byWidth(Type vector, StringRef name128, StringRef name256, StringRef name512) {
  switch (bitsOf(vector)) {
  case 128:
    return name128;
  case 256:
    return name256;
  case 512:
    return name512;
  default:
    return {};
  }
}

static StringRef nameOf(DotPairsOp op) {
  return byWidth(op.getA().getType(), "llvm.x86.sse2.pmadd.wd", "llvm.x86.avx2.pmadd.wd",
                 "llvm.x86.avx512.pmaddw.d.512");
}

static StringRef nameOf(DotQuadsOp op) {
  return byWidth(op.getType(), {}, {}, "llvm.x86.avx512.vpdpbusd.512");
}

static StringRef nameOf(ShufflePartsOp op) {
  return byWidth(op.getType(), "llvm.x86.ssse3.pshuf.b.128", "llvm.x86.avx2.pshuf.b",
                 "llvm.x86.avx512.pshuf.b.512");
}

static StringRef nameOf(PermuteOp op) {
  return byWidth(op.getType(), "llvm.x86.avx512.permvar.qi.128", "llvm.x86.avx512.permvar.qi.256",
                 "llvm.x86.avx512.permvar.qi.512");
}

static StringRef nameOf(PermuteTwoOp op) {
  return byWidth(op.getType(), {}, {},
                 op.getType().getElementType().isInteger(8) ? "llvm.x86.avx512.vpermi2var.qi.512"
                                                            : "llvm.x86.avx512.vpermi2var.d.512");
}

static StringRef nameOf(PackOp op) {
  return op.getA().getType().getElementType().isInteger(32)
             ? byWidth(op.getA().getType(), "llvm.x86.sse41.packusdw", "llvm.x86.avx2.packusdw",
                       "llvm.x86.avx512.packusdw.512")
             : byWidth(op.getA().getType(), "llvm.x86.sse2.packuswb.128", "llvm.x86.avx2.packuswb",
                       "llvm.x86.avx512.packuswb.512");
}

static StringRef nameOf(SignMaskOp op) {
  return byWidth(op.getBytes().getType(), "llvm.x86.sse2.pmovmskb.128", "llvm.x86.avx2.pmovmskb",
                 {});
}

template <typename MinMaxOp> static StringRef nameOfRange(MinMaxOp op) {
  return byWidth(op.getType(), {}, {}, "llvm.x86.avx512.mask.range.ps.512");
}
static StringRef nameOf(MinNumberOp op) { return nameOfRange(op); }
static StringRef nameOf(MaxNumberOp op) { return nameOfRange(op); }

static StringRef nameOf(ReplaceNanOp op) {
  return byWidth(op.getType(), {}, {}, "llvm.x86.avx512.mask.fixupimm.ps.512");
}

static StringRef nameOf(ConvertUpOp op) {
  return byWidth(op.getType(), {}, {}, "llvm.x86.avx512.uitofp.round.v16f32.v16i32");
}

//===--- operands, where the instruction takes others -------------------------===//

namespace {
/// Makes constants where an op stands.
struct Constants {
  OpBuilder &b;
  Location loc;
  Value i32(int32_t number) const {
    return b.create<LLVM::ConstantOp>(loc, b.getI32Type(), b.getI32IntegerAttr(number));
  }
  Value everyLane() const {
    return b.create<LLVM::ConstantOp>(loc, b.getI16Type(), b.getI16IntegerAttr(-1));
  }
  Value lanes(Type vector, Attribute element) const {
    return b.create<LLVM::ConstantOp>(
        loc, vector, DenseElementsAttr::get(llvm::cast<ShapedType>(vector), element));
  }
};
} // namespace

static constexpr int32_t currentRounding = 4; // as MXCSR says
static constexpr int32_t upwards = 10;

template <typename LaneOp>
static SmallVector<Value> operandsOf(LaneOp, ValueRange operands, const Constants &) {
  return llvm::to_vector(operands);
}

static SmallVector<Value> operandsOf(PermuteTwoOp, ValueRange operands, const Constants &) {
  return {operands[0], operands[2], operands[1]};
}

/// vrangeps passes a signalling NaN on, so there must be none.
static SmallVector<Value> rangeOf(int32_t which, ValueRange operands, const Constants &make) {
  return {operands[0], operands[1],      make.i32(which),
          operands[0], make.everyLane(), make.i32(currentRounding)};
}
static constexpr int32_t signOfResult = 4, maximum = 1;
static SmallVector<Value> operandsOf(MinNumberOp, ValueRange operands, const Constants &make) {
  return rangeOf(signOfResult, operands, make);
}
static SmallVector<Value> operandsOf(MaxNumberOp, ValueRange operands, const Constants &make) {
  return rangeOf(signOfResult | maximum, operands, make);
}

/// The table of vfixupimmps has a digit for each kind of number, NaNs first: 0 the first operand,
/// 1 the number itself, 4 and 5 the infinities.
static SmallVector<Value> operandsOf(ReplaceNanOp op, ValueRange operands, const Constants &make) {
  Value value = operands[0];
  const bool isCanonical = op.getBy() == NanBecomes::canonical;
  const int32_t digits = isCanonical                          ? 0x11111100
                         : op.getBy() == NanBecomes::infinity ? 0x11111155
                                                              : 0x11111144;
  Type bits = op.getType().cloneWith(std::nullopt, make.b.getI32Type());
  Value table = make.lanes(bits, make.b.getI32IntegerAttr(digits));
  Value nan = isCanonical
                  ? make.lanes(op.getType(),
                               make.b.getF32FloatAttr(std::numeric_limits<float>::quiet_NaN()))
                  : value;
  return {nan, value, table, make.i32(0), make.everyLane(), make.i32(currentRounding)};
}

static SmallVector<Value> operandsOf(ConvertUpOp, ValueRange operands, const Constants &make) {
  return {operands[0], make.i32(upwards)};
}

namespace {
template <typename LaneOp> struct ToInstruction : OpConversionPattern<LaneOp> {
  using OpConversionPattern<LaneOp>::OpConversionPattern;
  LogicalResult matchAndRewrite(LaneOp op, typename LaneOp::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const StringRef name = nameOf(op);
    if (name.empty())
      return op.emitOpError("has no instruction on x86-64 for vectors of this width");
    auto operands = operandsOf(op, adaptor.getOperands(), Constants{rewriter, op.getLoc()});
    rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(op, op.getType(),
                                                       rewriter.getStringAttr(name), operands);
    return success();
  }
};
} // namespace

void penstock::conversion::populateX86Patterns(RewritePatternSet &patterns) {
  patterns.add<ToInstruction<DotPairsOp>, ToInstruction<DotQuadsOp>, ToInstruction<ShufflePartsOp>,
               ToInstruction<PermuteOp>, ToInstruction<PermuteTwoOp>, ToInstruction<PackOp>,
               ToInstruction<SignMaskOp>, ToInstruction<MinNumberOp>, ToInstruction<MaxNumberOp>,
               ToInstruction<ReplaceNanOp>, ToInstruction<ConvertUpOp>>(patterns.getContext());
}
