// SPDX-License-Identifier: Apache-2.0
//
// Affine expressions over boxes.
//
// Ends are kept as sums until the end, so that the box of a crop reads
// `top + rows` and not `top + (rows - 1) + 1`.
#include "compiler/Dialect/Boxes.h"

using namespace mlir;

namespace penstock::pipe {

namespace {

/// A sum of scalars and a number.
struct Sum {
  SmallVector<Value> terms;
  int64_t number = 0;

  Value emit(ScalarBuilder &scalars, int64_t more = 0) const {
    Value result;
    for (Value term : terms)
      result = result ? scalars.add(result, term) : term;
    if (!result)
      return scalars.constant(number + more);
    return number + more == 0 ? result : scalars.add(result, scalars.constant(number + more));
  }
  void add(const Sum &other) {
    llvm::append_range(terms, other.terms);
    number += other.number;
  }
  void scale(int64_t factor, ScalarBuilder &scalars) {
    number *= factor;
    if (factor != 1)
      for (Value &term : terms)
        term = scalars.mul(term, scalars.constant(factor));
  }
};

/// Both ends are part of the range.
struct Range {
  Sum low, high;
};

class Evaluator {
public:
  Evaluator(ArrayRef<AxisRange> dims, ValueRange symbols, ScalarBuilder &scalars)
      : dims(dims), symbols(symbols), scalars(scalars) {}

  Range range(AffineExpr expr) {
    if (auto number = llvm::dyn_cast<AffineConstantExpr>(expr))
      return {{{}, number.getValue()}, {{}, number.getValue()}};
    if (expr.isSymbolicOrConstant()) {
      Value value = scalars.apply(expr, {}, symbols);
      return {{{value}, 0}, {{value}, 0}};
    }
    if (auto dim = llvm::dyn_cast<AffineDimExpr>(expr)) {
      const AxisRange &wanted = dims[dim.getPosition()];
      return {sum(wanted.low, 0), sum(wanted.high, -1)};
    }
    auto pair = llvm::cast<AffineBinaryOpExpr>(expr);
    Range a = range(pair.getLHS());
    if (expr.getKind() == AffineExprKind::Add) {
      Range b = range(pair.getRHS());
      a.low.add(b.low);
      a.high.add(b.high);
      return a;
    }
    if (auto number = llvm::dyn_cast<AffineConstantExpr>(pair.getRHS()))
      return byNumber(expr.getKind(), a, number.getValue());
    Value low = a.low.emit(scalars), high = a.high.emit(scalars);
    Range b = range(pair.getRHS());
    Value bLow = b.low.emit(scalars), bHigh = b.high.emit(scalars);
    if (expr.getKind() != AffineExprKind::Mul) // divided by a scalar
      return {{{scalars.min(low, scalars.constant(0))}, 0}, {{scalars.max(high, bHigh)}, 0}};
    Value products[] = {scalars.mul(low, bLow), scalars.mul(high, bHigh), scalars.mul(low, bHigh),
                        scalars.mul(high, bLow)};
    Value least = products[0], most = products[0];
    for (Value product : ArrayRef(products).take_front(bLow == bHigh ? 2 : 4)) {
      least = scalars.min(least, product);
      most = scalars.max(most, product);
    }
    return {{{least}, 0}, {{most}, 0}};
  }

private:
  Sum sum(Value value, int64_t more) {
    if (auto known = constantOf(value))
      return {{}, *known + more};
    return {{value}, more};
  }

  Range byNumber(AffineExprKind kind, Range a, int64_t number) {
    if (kind == AffineExprKind::Mul) {
      a.low.scale(number, scalars);
      a.high.scale(number, scalars);
      if (number < 0)
        std::swap(a.low, a.high);
      return a;
    }
    if (kind == AffineExprKind::Mod)
      return {{{}, 0}, {{}, number - 1}};
    MLIRContext *context = scalars.constant(0).getContext();
    AffineExpr symbol = getAffineSymbolExpr(0, context);
    AffineExpr divided =
        kind == AffineExprKind::FloorDiv ? symbol.floorDiv(number) : symbol.ceilDiv(number);
    return {sum(scalars.apply(divided, {}, a.low.emit(scalars)), 0),
            sum(scalars.apply(divided, {}, a.high.emit(scalars)), 0)};
  }

  ArrayRef<AxisRange> dims;
  ValueRange symbols;
  ScalarBuilder &scalars;
};

} // namespace

AxisRange numbersOf(Value tensor, int64_t axis, AxisRange range, ScalarBuilder &scalars) {
  if (!range.isWhole())
    return range;
  return {scalars.constant(0), scalars.extent(tensor, axis)};
}

AxisRange rangeOf(AffineExpr expr, ArrayRef<AxisRange> dims, ValueRange symbols,
                  ScalarBuilder &scalars) {
  Range range = Evaluator(dims, symbols, scalars).range(expr);
  return {range.low.emit(scalars), range.high.emit(scalars, 1)};
}

} // namespace penstock::pipe
