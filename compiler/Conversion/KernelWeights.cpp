//===- KernelWeights.cpp - tap tables of resampling filters ----------------===//
//
// In f64, step by step as Pillow's precompute_coeffs: another order of the same
// operations gives other bits.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/Helpers.h"
#include "compiler/Conversion/KernelEmitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/abi/scalar.h"
#include <numbers>

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpFPredicate;
using arith::CmpIPredicate;

namespace {
/// f64 arithmetic, spelled short.
struct Doubles {
  Lanes &l;
  OpBuilder &b = l.b;
  Value add(Value x, Value y) { return b.create<arith::AddFOp>(l.loc, x, y); }
  Value sub(Value x, Value y) { return b.create<arith::SubFOp>(l.loc, x, y); }
  Value mul(Value x, Value y) { return b.create<arith::MulFOp>(l.loc, x, y); }
  Value div(Value x, Value y) { return b.create<arith::DivFOp>(l.loc, x, y); }
  Value of(Value integer) { return b.create<arith::SIToFPOp>(l.loc, b.getF64Type(), integer); }
  Value whole(Value x) { // truncates, saturates
    return l.cast(CastMode::value, l.wrap(x, b.getF64Type()), b.getI64Type()).value;
  }
  Value sine(Value x, int64_t turn) {
    return b.create<func::CallOp>(l.loc, sineHelper(b, l.loc), ValueRange{x, l.i64(turn)}).getResult(0);
  }
  Value abs(Value x) { return b.create<LLVM::FAbsOp>(l.loc, x); }
  Value less(Value x, Value y) { return b.create<arith::CmpFOp>(l.loc, CmpFPredicate::OLT, x, y); }
  Value number(double x) { return l.f64(x); }
};
} // namespace

/// sin(pi x) / (pi x)
static Value sinc(Doubles d, Value x) {
  Lanes &l = d.l;
  Value angle = d.mul(x, d.number(std::numbers::pi));
  Value ratio = d.div(d.sine(angle, 0), angle);
  Value isZero = d.b.create<arith::CmpFOp>(l.loc, CmpFPredicate::OEQ, x, d.number(0.0));
  return l.pick(isZero, d.number(1.0), ratio);
}

static Value filterValue(Doubles d, Filter filter, Value x) {
  Lanes &l = d.l;
  Value zero = d.number(0.0), one = d.number(1.0), two = d.number(2.0);
  if (filter == Filter::box) {
    Value inside = l.andInt(d.b.create<arith::CmpFOp>(l.loc, CmpFPredicate::OGT, x, d.number(-0.5)),
                            d.b.create<arith::CmpFOp>(l.loc, CmpFPredicate::OLE, x, d.number(0.5)));
    return l.pick(inside, one, zero);
  }
  if (filter == Filter::lanczos) {
    Value inside = l.andInt(d.b.create<arith::CmpFOp>(l.loc, CmpFPredicate::OGE, x, d.number(-3.0)),
                            d.less(x, d.number(3.0)));
    return l.pick(inside, d.mul(sinc(d, x), sinc(d, d.div(x, d.number(3.0)))), zero);
  }
  Value a = d.abs(x);
  if (filter == Filter::hamming) {
    // Pillow's constants are f32.
    Value cosine = d.sine(d.mul(a, d.number(std::numbers::pi)), 1);
    Value window = d.add(d.number(0.54f), d.mul(d.number(0.46f), cosine));
    Value isZero = d.b.create<arith::CmpFOp>(l.loc, CmpFPredicate::OEQ, a, zero);
    return l.pick(d.less(a, one), l.pick(isZero, one, d.mul(sinc(d, a), window)), zero);
  }
  if (filter == Filter::bilinear)
    return l.pick(d.less(a, one), d.sub(one, a), zero);
  // Bicubic with a = -0.5, in Pillow's association.
  const double k = -0.5;
  Value inner = d.add(d.mul(d.mul(d.sub(d.mul(d.number(k + 2.0), a), d.number(k + 3.0)), a), a), one);
  Value outer = d.mul(
      d.sub(d.mul(d.add(d.mul(d.sub(a, d.number(5.0)), a), d.number(8.0)), a), d.number(4.0)),
      d.number(k));
  return l.pick(d.less(a, one), inner, l.pick(d.less(a, two), outer, zero));
}

LogicalResult KernelEmitter::emitWeights(WeightsOp op) {
  const Filter filter = op.getFilter();
  auto weights = bufferFor(op.getWeights());
  auto starts = bufferFor(op.getStart());
  if (failed(weights) || failed(starts))
    return failure();
  Doubles d{l};
  Type element = llvm::cast<NamedTensorType>(op.getWeights().getType()).getElementType();
  Value in = scalar(op.getIn()).value, out = scalar(op.getOut()).value;
  Value taps = extent(op.getWeights(), 1);
  // The f64 weights of one output element.
  auto line = scratchBytes(8, TensorAxis{op.getWeights(), 1});
  if (failed(line))
    return failure();

  Value ratio = d.div(d.of(in), d.of(out));
  Value scale = d.number(1.0);
  if (op.getAntialias())
    scale = l.pick(d.less(ratio, scale), scale, ratio);
  Value support = d.mul(d.number(filterSupport(filter)), scale);
  Value inverse = d.div(d.number(1.0), scale);
  auto store = [&](Value o, Value k, LaneValue value) {
    if (element.isSignlessInteger(32)) {
      Value scaled = d.mul(value.value, d.number(1 << scalar::weightBits));
      Value negative = d.less(value.value, d.number(0.0));
      Value rounded = d.add(l.pick(negative, d.number(-0.5), d.number(0.5)), scaled);
      value = l.cast(CastMode::value, l.wrap(rounded, b.getF64Type()), b.getI32Type());
    }
    m.store(*weights, {m.uniform(o), m.uniform(k)}, value);
  };
  auto storeStart = [&](Value o, Value start) {
    m.store(*starts, {m.uniform(o)}, l.cast(CastMode::value, l.wrap(start, b.getI64Type()), b.getI32Type()));
  };
  auto at = [&](Value k) { return m.address(*line, l.mul(k, l.i64(8))); };
  Value zero = l.i64(0);
  forLoop(zero, extent(op.getStart(), 0), 1, [&](Value o) {
    Value center = d.mul(d.add(d.of(o), d.number(0.5)), ratio);
    if (filter == Filter::nearest) {
      Value start = d.whole(center);
      storeStart(o, l.maxS(l.minS(start, l.sub(in, taps)), zero));
      forLoop(zero, taps, 1, [&](Value k) {
        Value here = l.cmp(CmpIPredicate::eq, k, zero);
        store(o, k, l.wrap(l.pick(here, d.number(1.0), d.number(0.0)), b.getF64Type()));
      });
      return;
    }
    Value first = l.maxS(d.whole(d.add(d.sub(center, support), d.number(0.5))), zero);
    Value end = l.minS(d.whole(d.add(d.add(center, support), d.number(0.5))), in);
    // A window never has more elements than the table has room for.
    Value count = l.minS(l.sub(end, first), taps);
    Value total = carryLoop(zero, count, d.number(0.0), [&](Value k, ValueRange carried) {
      Value x = d.add(d.sub(d.of(l.add(k, first)), center), d.number(0.5));
      Value w = filterValue(d, filter, d.mul(x, inverse));
      m.storePlain(w, at(k));
      return SmallVector<Value>{d.add(carried[0], w)};
    })[0];
    Value start = l.maxS(l.minS(first, l.sub(in, taps)), zero);
    Value shift = l.sub(first, start);
    storeStart(o, start);
    forLoop(zero, taps, 1, [&](Value k) {
      Value from = l.sub(k, shift);
      Value inside = l.andInt(l.cmp(CmpIPredicate::sge, from, zero), l.cmp(CmpIPredicate::slt, from, count));
      Value clamped = l.maxS(l.minS(from, l.sub(count, l.i64(1))), zero);
      Value w = m.loadPlain(b.getF64Type(), at(clamped));
      Value divided = l.pick(b.create<arith::CmpFOp>(l.loc, CmpFPredicate::UNE, total, d.number(0.0)),
                             d.div(w, total), w);
      store(o, k, l.wrap(l.pick(inside, divided, d.number(0.0)), b.getF64Type()));
    });
  });
  return success();
}
