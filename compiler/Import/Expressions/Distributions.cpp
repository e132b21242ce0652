// SPDX-License-Identifier: Apache-2.0
//
// `draw`.
#include "compiler/Import/Expressions/Expressions.h"
#include <cmath>
#include <limits>

using namespace penstock::importer;
using penstock::pipe::BinaryKind;
using penstock::pipe::DrawKind;
using penstock::pipe::Predicate;

//===--- ranges that a sample makes ---------------------------------------------===//

/// Returns whether a check may stand here: behind a search, which holds none, nobody knows what was
/// checked in a loop inside of it.
bool Expressions::checksHere() const {
  return !draws.beforeSearch.isSet() ||
         draws.keySteps.size() == draws.stepsBefore + draws.attempts.size();
}

/// Returns whether `value` is the same in all tries of the searches around. A number of one try may
/// make no sense, and the try not be accepted for that.
bool Expressions::isSameInTries(mlir::Value value) const {
  llvm::DenseSet<mlir::Operation *> seen;
  llvm::SmallVector<mlir::Value> open{value};
  while (!draws.attempts.empty() && !open.empty()) {
    mlir::Value next = open.pop_back_val();
    if (llvm::is_contained(draws.attempts, next))
      return false;
    mlir::Operation *op = next.getDefiningOp();
    if (op && !op->getBlock()->getParent() && seen.insert(op).second) // else made before
      op->walk([&](mlir::Operation *inner) {
        open.append(inner->operand_begin(), inner->operand_end());
      });
  }
  return true;
}

bool Expressions::canFail(mlir::Value condition) const {
  return !draws.inPrelude() && !isElementLocal(condition) && checksHere() &&
         isSameInTries(condition);
}

/// A range whose ends only the sample has: where nothing can be drawn from it, a bad sample. What
/// is drawn in the tries of a search is checked before them, if its range is there by then; what
/// the library makes for itself is its own business.
mlir::Operation *Expressions::checkRange(const dsl::Expr &given, const Val &ends,
                                         const Holds &holds, const std::string &message) {
  if (draws.inPrelude() || userPlaces(given).empty())
    return nullptr;
  mlir::OpBuilder::InsertionGuard guard(base);
  std::array<mlir::Value, 2> values = {ends.parts[0].ir, ends.parts[1].ir};
  // What pixels decide is known when it is too late for a check.
  if (!llvm::all_of(values, [&](mlir::Value value) {
        return isSameInTries(value) && !llvm::isa<pipe::NamedTensorType>(value.getType());
      }))
    return nullptr;
  mlir::Block *here = base.getInsertionBlock();
  const bool isBefore =
      here == draws.tries && llvm::all_of(values, [&](mlir::Value value) {
        return value.getParentBlock() != here || value.getDefiningOp<pipe::ConstantOp>();
      });
  if (!isBefore && !checksHere())
    return nullptr;
  if (isBefore) {
    base.restoreInsertionPoint(draws.beforeSearch);
    for (mlir::Value &value : values)
      if (value.getParentBlock() == here)
        value = base.clone(*value.getDefiningOp())->getResult(0);
  }
  const bool isReal = llvm::isa<mlir::FloatType>(values[0].getType()) ||
                      llvm::isa<mlir::FloatType>(values[1].getType());
  for (mlir::Value &value : values)
    value = cast(pipe::CastMode::value, value,
                 isReal ? mlir::Type(base.getF64Type()) : mlir::Type(base.getI64Type()));
  mlir::Value condition = holds(values[0], values[1]);
  if (isElementLocal(condition))
    return nullptr;
  if (isReal)
    for (mlir::Value &value : values)
      value = cast(pipe::CastMode::bits, value, base.getI64Type());
  const std::string kind = isReal ? ":f64" : "", dots = ends.closed ? " ..= " : " .. ";
  return check(condition, message + "{0" + kind + "}" + dots + "{1" + kind + "}", values[0],
               values[1]);
}

Val Expressions::drawOnce(const dsl::DrawExpr &draw, const std::vector<Argument> &args) {
  const std::string &name = draw.distribution.text;
  const dsl::SourceRange range = draw.distribution.range;
  auto rangeOf = [&]() -> const Val & {
    if (args.size() != 1 || !args[0].value.is(Kind::Range))
      fail(args.empty() ? range : args[0].range,
           "`draw " + name + "` takes a range such as `" + name + "(0 .. 10)`");
    return args[0].value;
  };
  if (name == "bits" && args.empty())
    return draws.draw(DrawKind::bits, name, {}, base.getI64Type());
  if (name == "uniform") {
    const Val &ends = rangeOf();
    mlir::Value low = demandF64(ends.parts[0], args[0].range, "the start of the range");
    mlir::Value high = demandF64(ends.parts[1], args[0].range, "the end of the range");
    const std::optional<double> first = constantF64(low), last = constantF64(high);
    if (first && last && !(*first <= *last))
      fail(args[0].range, "this range ends before it starts", "the lower number stands first");
    if (first && last && !std::isfinite(*last - *first))
      fail(args[0].range, "this range is wider than the largest f64",
           "a range of half the width, and the number times 2");
    const dsl::Expr &given = *draw.args->args[0].value;
    if (!(first && last)) {
      checkRange(
          given, ends, [&](mlir::Value a, mlir::Value c) { return compare(Predicate::le, a, c); },
          "this range ends before it starts: ");
      checkRange(
          given, ends,
          [&](mlir::Value a, mlir::Value c) {
            return compare(Predicate::lt, binary(BinaryKind::sub, c, a),
                           constant(base.getF64Type(), std::numeric_limits<double>::infinity()));
          },
          "this range is wider than the largest f64: ");
    }
    Val result = draws.draw(DrawKind::uniform, name, {low, high}, base.getF64Type());
    result.unit = ends.parts[0].unit;
    return result;
  }
  if (name == "int") {
    const Val &ends = rangeOf();
    auto [low, high] =
        demandEnds(ends, args[0].range, "the start of the range", "the end of the range");
    const std::optional<int64_t> first = constantInt(low), last = constantInt(high);
    if (ends.closed && last == INT64_MAX)
      fail(args[0].range, "`draw int` gives numbers below " + std::to_string(INT64_MAX),
           "`..` in place of `..=`");
    if (first && last && *first >= *last + (ends.closed ? 1 : 0))
      fail(args[0].range,
           "there is no whole number in " +
               quote(std::to_string(*first) + (ends.closed ? " ..= " : " .. ") +
                     std::to_string(*last)),
           *first == *last ? "`a ..= b` includes b" : "the lower number stands first");
    mlir::Operation *checked = nullptr;
    if (!(first && last))
      checked = checkRange(
          *draw.args->args[0].value, ends,
          [&](mlir::Value a, mlir::Value c) {
            return compare(ends.closed ? Predicate::le : Predicate::lt, a, c);
          },
          "there is no whole number in ");
    if (ends.closed)
      high = binary(BinaryKind::add, high, intConstant(1));
    Val result = draws.draw(DrawKind::integer, name, {low, high}, base.getI64Type());
    if (checked)
      checkedDraws[result.ir.getDefiningOp()] = checked;
    return result;
  }
  if (name == "permutation") {
    if (!inBatch || draws.perSample || args.size() != 1)
      fail(range, "`draw permutation(n)` stands in the `batch` block, over its samples");
    mlir::Value count = demandIndex(args[0].value, args[0].range, "the size of a permutation");
    auto size = count.getDefiningOp<pipe::ContextOp>();
    if (!size || size.getKind() != pipe::ContextKind::count)
      fail(args[0].range, "a permutation is of all samples of the batch",
           "`draw permutation(n)`; the last batch may have fewer samples than others");
    mlir::Value slot =
        base.create<pipe::ContextOp>(here, base.getI64Type(), pipe::ContextKind::slot);
    return draws.draw(DrawKind::permutation, name, {count, slot}, base.getI64Type());
  }
  Val result = callNamed(draw.distribution, args, draw.range);
  result.untyped = result.is(Kind::Number) && result.ir.getType().isF64();
  return result;
}

Val Expressions::evalDraw(const dsl::DrawExpr &draw) {
  std::vector<Argument> args = evalArgs(draw.args ? &*draw.args : nullptr);
  PlaceGuard guard(*this, draw.range);
  if (!draw.per) {
    const bool isSmall = !smallTensors.empty() && smallTensors.back().depth == regions.size();
    Restore once(draws.once, draws.once || isSmall);
    return drawOnce(draw, args);
  }
  Restore once(draws.once, false);
  std::vector<std::string> axes;
  std::vector<dsl::SourceRange> places;
  const std::vector<dsl::Name> named = axesNamed(*draw.per);
  for (const dsl::Name &axis : named) {
    if (inBatch && axis.text == "n")
      continue;
    if (axis.text == "n")
      fail(axis.range, "the batch axis `n` exists in the `batch` block only",
           "without `per [n]`, each sample draws its own value");
    axes.push_back(axis.text);
    places.push_back(axis.range);
  }
  Restore<bool> scope(draws.perSample, draws.perSample || axes.size() < named.size());
  if (axes.empty())
    return drawOnce(draw, args);
  // A small tensor is made element by element, each with draws of its own: its axes are named with
  // those of the elements around.
  for (const SmallTensor &small : smallTensors)
    for (const Val::GridAxis &axis : small.grid) {
      if (small.depth != regions.size() || regions.empty())
        continue;
      auto own = llvm::find(axes, axis.name);
      if (own == axes.end())
        fail(draw.range,
             "`per` leaves out axis " + quote(axis.name) + ", over which the inner `map` runs",
             "name it, or draw outside of the inner `map`: `let d = draw ...`");
      if (find(regions.back()->domain, axis.name))
        continue; // a window's, whose neighbours are named like the elements
      places.erase(places.begin() + (own - axes.begin()));
      axes.erase(own);
    }
  if (axes.empty())
    return drawOnce(draw, args);

  // One draw per element, numbered by its logical place.
  auto linear = [&](ElementRegion &region) {
    mlir::Value index;
    for (size_t i = 0; i < axes.size(); ++i) {
      size_t k = 0;
      while (k < region.domain.size() && region.domain[k].axis.name != axes[i])
        ++k;
      const bool isOuter =
          llvm::any_of(llvm::ArrayRef(regions).drop_back(), [&](ElementRegion *outer) {
            return find(outer->domain, axes[i]) != nullptr;
          });
      if (k == region.domain.size() && isOuter)
        throw OuterElement();
      if (k == region.domain.size())
        fail(places[i], "`per` names axis " + quote(axes[i]) + ", over which nothing runs here",
             "the elements run over " + axisList(region.domain));
      mlir::Value at = region.coordinates[k];
      index = index ? binary(BinaryKind::add,
                             binary(BinaryKind::mul, index, extent(region.domain[k])), at)
                    : at;
    }
    return index;
  };
  auto element = [&](ElementRegion &region) {
    Restore<mlir::Value> at(draws.element, linear(region));
    Val value = drawOnce(draw, args);
    if (!value.is(Kind::Number))
      fail(draw.range, "a draw per element must be a number");
    return value;
  };
  if (!regions.empty())
    return element(*regions.back());
  std::vector<Dim> domain;
  for (size_t i = 0; i < axes.size(); ++i) {
    auto found = frame().values.find(axes[i]);
    if (found == frame().values.end() || !found->second.is(Kind::Number))
      fail(places[i], "the extent of axis " + quote(axes[i]) + " is not known here",
           "draw inside a `map` over a tensor that has the axis");
    domain.push_back(
        dim(axes[i], demandIndex(found->second, places[i], "an extent"), "", places[i]));
  }
  return tensor(buildMap(domain, {}, [&](ElementRegion &region) { return element(region).ir; }));
}
