// SPDX-License-Identifier: Apache-2.0
//
// Tap tables of resampling filters.
//
// In f64, step by step as Pillow's precompute_coeffs: another order of the same
// operations gives other bits.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Vector/Helpers.h"
#include "compiler/Conversion/KernelToLoops/Whole/Whole.h"
#include "compiler/Dialect/Filters.h"
#include "compiler/Dialect/ScheduleDialect.h"
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
/// f64 arithmetic on all lanes, spelled short.
struct Doubles {
  const Lanes &l;
  OpBuilder &b = l.b;
  template <typename Op> Value make(Value x, Value y) {
    l.match(x, y);
    return b.create<Op>(l.loc, x, y);
  }
  Value add(Value x, Value y) { return make<arith::AddFOp>(x, y); }
  Value sub(Value x, Value y) { return make<arith::SubFOp>(x, y); }
  Value mul(Value x, Value y) { return make<arith::MulFOp>(x, y); }
  Value div(Value x, Value y) { return make<arith::DivFOp>(x, y); }
  Value of(Value integer) {
    return b.create<arith::SIToFPOp>(l.loc, l.like(integer, b.getF64Type()), integer);
  }
  Value whole(Value x) { // truncates, saturates
    return l.cast(CastMode::value, l.wrap(x, b.getF64Type()), b.getI32Type()).value;
  }
  Value sine(Value x, int64_t turn) {
    return b.create<func::CallOp>(l.loc, sineHelper(b, l.loc), ValueRange{x, l.i64(turn)})
        .getResult(0);
  }
  Value abs(Value x) { return b.create<LLVM::FAbsOp>(l.loc, x); }
  Value compare(CmpFPredicate predicate, Value x, Value y) {
    l.match(x, y);
    return b.create<arith::CmpFOp>(l.loc, predicate, x, y);
  }
  Value less(Value x, Value y) { return compare(CmpFPredicate::OLT, x, y); }
  Value number(double x) { return l.f64(x); }
};
} // namespace

/// sin(pi x) / (pi x)
static Value sinc(Doubles d, Value x) {
  const Lanes &l = d.l;
  Value angle = d.mul(x, d.number(std::numbers::pi));
  Value ratio = d.div(d.sine(angle, 0), angle);
  Value isZero = d.b.create<arith::CmpFOp>(l.loc, CmpFPredicate::OEQ, x, d.number(0.0));
  return l.pick(isZero, d.number(1.0), ratio);
}

static Value filterValue(Doubles d, Filter filter, Value x) {
  const Lanes &l = d.l;
  Value zero = d.number(0.0), one = d.number(1.0), two = d.number(2.0);
  if (filter == Filter::box) {
    Value inside = l.andInt(d.compare(CmpFPredicate::OGT, x, d.number(-0.5)),
                            d.compare(CmpFPredicate::OLE, x, d.number(0.5)));
    return l.pick(inside, one, zero);
  }
  if (filter == Filter::lanczos) {
    Value inside =
        l.andInt(d.compare(CmpFPredicate::OGE, x, d.number(-3.0)), d.less(x, d.number(3.0)));
    return l.pick(inside, d.mul(sinc(d, x), sinc(d, d.div(x, d.number(3.0)))), zero);
  }
  Value a = d.abs(x);
  if (filter == Filter::hamming) {
    // Pillow's constants are f32.
    Value cosine = d.sine(d.mul(a, d.number(std::numbers::pi)), 1);
    Value window = d.add(d.number(0.54f), d.mul(d.number(0.46f), cosine));
    Value isZero = d.compare(CmpFPredicate::OEQ, a, zero);
    return l.pick(d.less(a, one), l.pick(isZero, one, d.mul(sinc(d, a), window)), zero);
  }
  if (filter == Filter::bilinear)
    return l.pick(d.less(a, one), d.sub(one, a), zero);
  // Bicubic with a = -0.5, in Pillow's association.
  const double k = -0.5;
  Value inner =
      d.add(d.mul(d.mul(d.sub(d.mul(d.number(k + 2.0), a), d.number(k + 3.0)), a), a), one);
  Value outer =
      d.mul(d.sub(d.mul(d.add(d.mul(d.sub(a, d.number(5.0)), a), d.number(8.0)), a), d.number(4.0)),
            d.number(k));
  return l.pick(d.less(a, one), inner, l.pick(d.less(a, two), outer, zero));
}

/// A weight in units of the integers that pixels are multiplied with.
static LaneValue asInteger(Doubles d, Value weight, bool isConvex) {
  const Lanes &l = d.l;
  LaneValue value = l.wrap(weight, l.b.getF64Type());
  Value half = d.number(0.5);
  if (!isConvex)
    half = l.pick(d.less(weight, d.number(0.0)), d.number(-0.5), half);
  const double one = 1 << penstock::scalar::weightBits;
  value.value = d.add(half, d.mul(weight, d.number(one)));
  if (isConvex)
    value.range = Interval::of(0, one + 1);
  return l.cast(CastMode::value, value, l.b.getI32Type());
}

/// Extents beyond i32 have no table.
static Value narrow(const Lanes &l, Value x) {
  Value most = l.minS(x, l.i64(std::numeric_limits<int32_t>::max()));
  return l.b.create<arith::TruncIOp>(l.loc, l.b.getI32Type(), most);
}

namespace {
/// Properties of the windows of all outputs: these lie `ratio` apart, and reach `support` to either
/// side, of which a filter's unit is one part in `1 / inverse`.
struct Windows {
  Value tapsLong, in, taps, zero;
  Value ratio, support, inverse;
};
} // namespace

static Windows windowsOf(const Site &site, WeightsOp op) {
  auto [ctx, b, l, m] = site.parts();
  Doubles d{l};
  Windows windows;
  Value inLong = scalarOf(site, op.getIn()).value;
  windows.tapsLong = extent(site, op.getWeights(), 1);
  windows.in = narrow(l, inLong);
  windows.taps = narrow(l, windows.tapsLong);
  windows.zero = l.i32(0);
  windows.ratio = d.div(d.of(inLong), d.of(scalarOf(site, op.getOut()).value));
  Value scale = d.number(1.0);
  if (op.getAntialias())
    scale = l.pick(d.less(windows.ratio, scale), scale, windows.ratio);
  windows.support = d.mul(d.number(filterSupport(op.getFilter())), scale);
  windows.inverse = d.div(d.number(1.0), scale);
  return windows;
}

static LogicalResult emitWeights(const Site &site, WeightsOp op) {
  auto [ctx, b, l, m] = site.parts();
  const Filter filter = op.getFilter();
  auto weights = bufferFor(site, op.getWeights()), starts = bufferFor(site, op.getStart());
  auto type = llvm::cast<NamedTensorType>(op.getWeights().getType());
  const bool scaled = type.getElementType().isSignlessInteger(32);
  const int64_t lanes = weightsOf(op).getLanes(); // outputs
  // No weight is negative, so none exceeds their sum; and none is NaN.
  const bool isConvex =
      llvm::is_contained({Filter::nearest, Filter::box, Filter::bilinear}, filter);
  auto line =
      scratchBytes(site, 8 * lanes, TensorAxis{op.getWeights(), 1}); // before they are divided
  if (failed(weights) || failed(starts) || failed(line))
    return failure();
  const Windows windows = windowsOf(site, op);
  Value tapsLong = windows.tapsLong, taps = windows.taps, in = windows.in, zero = windows.zero;
  Value count = extent(site, op.getStart(), 0);
  const Site wide = site.withLanes(lanes);
  forLoop(site, l.i64(0), count, lanes, [&](Value o) {
    auto [ctx, b, l, m] = wide.parts();
    Doubles d{l};
    // The last vector overlaps the one before it.
    const Index at{
        lanes == 1 ? o : l.minS(o, l.sub(count, l.i64(lanes))), lanes == 1 ? 0 : 1, {}, {}};
    Value number = l.add(
        narrow(l, at.base),
        lanes == 1
            ? zero
            : b.create<arith::TruncIOp>(l.loc, VectorType::get({lanes}, b.getI32Type()), l.iota())
                  .getResult());
    auto store = [&](Value k, Value weight) {
      m.store(*weights, {at, m.uniform(k)},
              scaled ? asInteger(d, weight, isConvex) : l.wrap(weight, b.getF64Type()));
    };
    auto clamped = [&](Value first) { return l.maxS(l.minS(first, l.sub(in, taps)), zero); };
    auto storeStart = [&](Value start) { m.store(*starts, {at}, l.wrap(start, b.getI32Type())); };
    Value center = d.mul(d.add(d.of(number), d.number(0.5)), windows.ratio);
    if (filter == Filter::nearest) {
      storeStart(clamped(d.whole(center)));
      forLoop(wide, l.i64(0), tapsLong, 1, [&](Value k) {
        Value here = l.cmp(CmpIPredicate::eq, k, l.i64(0));
        store(k, l.splat(l.pick(here, d.number(1.0), d.number(0.0))));
      });
      return;
    }
    Value first = l.maxS(d.whole(d.add(d.sub(center, windows.support), d.number(0.5))), zero);
    Value end = l.minS(d.whole(d.add(d.add(center, windows.support), d.number(0.5))), in);
    // A window never has more elements than the table has room for.
    end = l.minS(end, l.add(first, taps));
    Value start = clamped(first);
    storeStart(start);
    auto position = [&](Value k) { return l.add(start, narrow(l, k)); };
    auto inside = [&](Value k) {
      Value here = position(k);
      return l.andInt(l.cmp(CmpIPredicate::sge, here, first), l.cmp(CmpIPredicate::slt, here, end));
    };
    auto place = [&](Value k) { return m.address(*line, l.mul(k, l.i64(8 * lanes))); };
    Value total = carryLoop(
        wide, l.i64(0), tapsLong, l.splat(d.number(0.0)), [&](Value k, ValueRange carried) {
          Value x = d.mul(d.add(d.sub(d.of(position(k)), center), d.number(0.5)), windows.inverse);
          Value weight = l.pick(inside(k), filterValue(d, filter, x), d.number(0.0));
          m.storePlain(weight, place(k));
          return SmallVector<Value>{d.add(carried[0], weight)};
        })[0];
    // Without a sum, weights stay as they are: x / 1 is x.
    Value isZero = d.compare(CmpFPredicate::OEQ, total, d.number(0.0));
    Value divisor = l.pick(isZero, d.number(1.0), total);
    forLoop(wide, l.i64(0), tapsLong, 1, [&](Value k) {
      Value weight = d.div(m.loadPlain(total.getType(), place(k)), divisor);
      if (!scaled) // outside, 0 by a negative sum is -0, which integers do not have
        weight = l.pick(inside(k), weight, d.number(0.0));
      store(k, weight);
    });
  });
  return success();
}

namespace penstock::conversion {
void registerWeights(WholeOps &all);
}
void penstock::conversion::registerWeights(WholeOps &all) { all.add<WeightsOp>(emitWeights); }
