// SPDX-License-Identifier: Apache-2.0
//
// Which loops transpose what they store.
#include "compiler/Schedules/LoopPlan.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::schedules;

/// How far apart lanes are still taken out of registers.
static constexpr int64_t mostApart = 16;

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

/// Follows to memory, where a tensor lies along its last axis.
bool Squares::read(NamedTensorType type, ArrayRef<int64_t> axes) {
  const auto *place = llvm::find(axes, along);
  if (place == axes.end())
    return true; // the same in all lanes
  int64_t apart = 1;
  for (const Axis &axis : type.getAxes().drop_front(place - axes.begin() + 1))
    apart = axis.isStatic() ? apart * axis.extent : mostApart + 1;
  if (apart <= mostApart || axes.back() < 0 || (across >= 0 && across != axes.back()))
    return false;
  across = axes.back();
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
  const int64_t bytes = scalarBytes(type.getElementType());
  if (bytes != 4 && bytes != 8)
    return -1;
  Squares squares(along, stored);
  for (Value value : made)
    if (!squares.follow(value, llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()))))
      return -1;
  const auto isLong = [&](int64_t axis) {
    const Axis &a = type.getAxes()[axis];
    return !a.isStatic() || a.extent >= has.lanesOf(bytes);
  };
  return squares.across >= 0 && isLong(along) && isLong(squares.across) ? squares.across : -1;
}
