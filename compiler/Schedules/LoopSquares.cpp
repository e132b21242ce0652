// SPDX-License-Identifier: Apache-2.0
//
// Which loops transpose what they store.
#include "compiler/Schedules/LoopPlan.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::schedules;

/// How far apart lanes are still taken out of registers.
static constexpr int64_t mostApart = 16;
/// How far apart those are that go in squares.
static constexpr int64_t mostBetween = 4;

namespace {
/// Follows what a tensor is computed of to memory, with the axis of the result that each axis
/// there is; -1: none.
class Squares {
public:
  Squares(int64_t along, const StoredValues &stored) : along(along), stored(stored) {}
  bool follow(Value tensor, ArrayRef<int64_t> axes);
  int64_t across = -1;

private:
  bool followView(ViewOp view, ArrayRef<int64_t> axes);
  bool read(NamedTensorType type, ArrayRef<int64_t> axes);

  int64_t along;
  const StoredValues &stored;
};
} // namespace

/// Follows to memory, where a tensor lies along the last axis whose index is not the same
/// everywhere.
bool Squares::read(NamedTensorType type, ArrayRef<int64_t> axes) {
  const auto *place = llvm::find(axes, along);
  if (place == axes.end())
    return true; // the same in all lanes
  const auto apart = [&](const int64_t *from) {
    int64_t elements = 1;
    for (const Axis &axis : type.getAxes().drop_front(from - axes.begin() + 1))
      elements = axis.isStatic() ? elements * axis.extent : mostApart + 1;
    return elements;
  };
  // An element may be one of a few, as one part of a complex number.
  const auto *last = axes.end();
  while (last != axes.begin() && *(last - 1) < 0)
    --last;
  const int64_t found = *--last;
  if (apart(place) <= mostApart || apart(last) > mostBetween || (across >= 0 && across != found))
    return false;
  across = found;
  return true;
}

/// Returns the dimension that `place` is, but for an offset; null for anything else.
static std::optional<unsigned> dimOf(AffineExpr place) {
  if (auto sum = llvm::dyn_cast<AffineBinaryOpExpr>(place);
      sum && sum.getKind() == AffineExprKind::Add && sum.getRHS().isSymbolicOrConstant())
    place = sum.getLHS();
  auto dim = llvm::dyn_cast<AffineDimExpr>(place);
  return dim ? std::optional(dim.getPosition()) : std::nullopt;
}

bool Squares::followView(ViewOp view, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> inner;
  for (AffineExpr place : view.getMap().getResults()) {
    const auto dim = dimOf(place);
    if (!dim && !place.isSymbolicOrConstant())
      return false;
    inner.push_back(dim ? axes[*dim] : -1);
  }
  return follow(view.getInput(), inner);
}

bool Squares::follow(Value tensor, ArrayRef<int64_t> axes) {
  auto type = llvm::cast<NamedTensorType>(tensor.getType());
  if (stored.rows.contains(tensor))
    return false;
  Operation *op = tensor.getDefiningOp();
  if (stored.inMemory.contains(tensor) || !op)
    return read(type, axes);
  if (auto view = llvm::dyn_cast<ViewOp>(op))
    return followView(view, axes);
  if (llvm::isa<ConstantOp>(op))
    return true;
  if (auto map = llvm::dyn_cast<MapOp>(op);
      map ? map.getBody().walk([](LoadOp) { return WalkResult::interrupt(); }).wasInterrupted()
          : !llvm::isa<CastOp>(op))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    auto inner = llvm::dyn_cast<NamedTensorType>(operand.getType());
    if (!inner)
      return true;
    SmallVector<int64_t> places;
    for (const Axis &axis : inner.getAxes()) {
      const int64_t place = type.axisIndex(axis.name);
      places.push_back(place < 0 ? -1 : axes[place]);
    }
    return follow(operand, places);
  });
}

int64_t penstock::schedules::squareAxis(ValueRange made, int64_t along, const StoredValues &stored,
                                        const penstock::lane::Features &has) {
  auto type = llvm::cast<NamedTensorType>(made.front().getType());
  const int64_t rows = has.rowsOfSquare(scalarBytes(type.getElementType()));
  Squares squares(along, stored);
  for (Value value : made)
    if (!squares.follow(value, llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()))))
      return -1;
  const auto isLong = [&](int64_t axis) {
    const Axis &a = type.getAxes()[axis];
    return !a.isStatic() || a.extent >= rows;
  };
  return squares.across >= 0 && isLong(along) && isLong(squares.across) ? squares.across : -1;
}
