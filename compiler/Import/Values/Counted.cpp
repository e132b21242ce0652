// SPDX-License-Identifier: Apache-2.0
//
// Axes whose number of elements pixels decide.
//
// `compact` and `group` know how many elements there are when pixels are there:
// too late for an extent, which setup needs. Such an axis has room for all that
// there could be, and a count: a tensor without axes, computed where the pixels
// are. What works element by element goes over the room and need not know.
// Where elements meet, those that do not exist are replaced by what changes
// nothing; what needs a number before pixels is refused. Delivery reads the
// count.
#include "compiler/Import/Values/Tensors.h"

using namespace penstock::importer;
using penstock::pipe::BinaryKind;
using penstock::pipe::Predicate;

const Tensors::Counted *Tensors::countedBy(const Dim &dim) const {
  auto found = countedAxes.find(dim.size.getAsOpaquePointer());
  return dim.size && found != countedAxes.end() ? &found->second : nullptr;
}

mlir::Value Tensors::room(const Dim &dim) {
  return dim.axis.isStatic() ? intConstant(dim.axis.extent) : dim.size;
}

void Tensors::setCount(const Dim &dim, mlir::Value count, std::string once) {
  countedAxes[dim.size.getAsOpaquePointer()] = {count, std::move(once)};
}

void Tensors::failCounted(dsl::SourceRange range, const Dim &dim, const Counted &counted) {
  fail(range,
       "how many elements axis " + quote(dim.axis.name) + " has is known once " + counted.once +
           ", and this needs the number before",
       "`fit_length(x, " + dim.axis.name +
           ", ...)` makes an axis of known length of it; `map`, reductions, scans and `sort` take "
           "it as it is, and outputs with `pad` or `ragged`");
}

void Tensors::demandKnown(const std::vector<Dim> &all, const std::string &axis,
                          dsl::SourceRange range) {
  const Dim *dim = find(all, axis);
  if (const Counted *counted = dim ? countedBy(*dim) : nullptr)
    failCounted(range, *dim, *counted);
}

namespace {
/// What was written twice, such as `max(at, 1)`, is one place.
class SameValues {
public:
  bool operator()(mlir::Value a, mlir::Value b) {
    if (a == b || known.lookup(a) == b)
      return true;
    mlir::Operation *one = a.getDefiningOp(), *other = b.getDefiningOp();
    const bool same =
        one && other && one->getNumResults() == 1 && mlir::isPure(one) &&
        mlir::OperationEquivalence::isEquivalentTo(
            one, other,
            [this](mlir::Value x, mlir::Value y) { return mlir::success((*this)(x, y)); },
            [this](mlir::Value x, mlir::Value y) { known[x] = y; },
            mlir::OperationEquivalence::IgnoreLocations);
    if (same)
      known[a] = b;
    return same;
  }

private:
  llvm::DenseMap<mlir::Value, mlir::Value> known; ///< to what a value is equal
};
} // namespace

bool Tensors::isSame(mlir::Value a, mlir::Value b) { return a && b ? SameValues()(a, b) : a == b; }

Dim Tensors::roomFor(const std::string &name, mlir::Value most, const std::string &metadata) {
  // An op of its own, never folded into another: the axis is known by it.
  mlir::Value size =
      base.create<pipe::BinaryOp>(here, base.getI64Type(), BinaryKind::add, most, intConstant(0));
  return {{name, -1, constantInt(most).value_or(-1), metadata}, size};
}

mlir::Value Tensors::existing(const Dim &dim) {
  mlir::Value count = countedBy(dim)->count;
  return buildMap({dim}, base.getI1Type(), [&](ElementRegion &region) {
    return compare(Predicate::lt, region.coordinates[0], elementHere(count, hereRange));
  });
}

bool Tensors::anyCounted(mlir::Value tensor, llvm::ArrayRef<std::string> axes) {
  return llvm::any_of(dims(tensor), [&](const Dim &dim) {
    return countedBy(dim) && llvm::is_contained(axes, dim.axis.name);
  });
}

mlir::Value Tensors::onlyExisting(mlir::Value tensor, llvm::ArrayRef<std::string> axes,
                                  mlir::Value other) {
  std::vector<Dim> all = dims(tensor);
  return buildMap(all, other.getType(), [&](ElementRegion &region) {
    mlir::Value result = elementHere(tensor, hereRange);
    for (size_t i = 0; i < all.size(); ++i) {
      const Counted *counted = countedBy(all[i]);
      if (!counted || !llvm::is_contained(axes, all[i].axis.name))
        continue;
      mlir::Value exists =
          compare(Predicate::lt, region.coordinates[i], elementHere(counted->count, hereRange));
      result = select(exists, result, other);
    }
    return result;
  });
}
