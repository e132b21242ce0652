// SPDX-License-Identifier: Apache-2.0
//
// Class R: ranks in groups, scatter, filters.
#include "stdlib/reference/Arithmetic.h"
#include "stdlib/reference/Machine.h"

namespace penstock::reference {

void runRankBy(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::RankByOp>(self.op);
  const Tensor &group = machine.tensor(slot, op.getGroup());
  Tensor result = machine.blank(slot, op.getResult());
  if (result.extents != group.extents)
    fault(op, "the sizes differ from the input's extents");
  std::vector<int64_t> counts(static_cast<size_t>(group.count()), 0);
  for (int64_t i = 0; i < group.count(); ++i) {
    const int64_t mine = group.load(i).integer;
    const bool isGroup = mine >= 0 && mine < group.count();
    result.store(i, intScalar(isGroup ? counts[static_cast<size_t>(mine)]++ : -1));
  }
  machine.set(slot, op.getResult(), std::move(result));
}

static Scalar combined(pipe::ScatterKind kind, const Scalar &sofar, const Scalar &value) {
  switch (kind) {
  case pipe::ScatterKind::sum:
    return binary(pipe::BinaryKind::add, sofar, value);
  case pipe::ScatterKind::min:
    return binary(pipe::BinaryKind::min, sofar, value);
  case pipe::ScatterKind::max:
    return binary(pipe::BinaryKind::max, sofar, value);
  case pipe::ScatterKind::first:
    break;
  }
  return value;
}

void runScatter(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::ScatterOp>(self.op);
  const Tensor &base = machine.tensor(slot, op.getBase());
  const Tensor &values = machine.tensor(slot, op.getValues());
  Tensor result = machine.blank(slot, op.getResult());
  if (result.extents != base.extents)
    fault(op, "the sizes differ from the base's extents");
  for (int64_t i = 0; i < base.count(); ++i)
    result.store(i, base.load(i));
  const auto along = static_cast<size_t>(values.axis(op.getAxis().str()));
  std::vector<const Tensor *> places;
  std::vector<size_t> over, kept;
  for (mlir::Value at : op.getAt()) {
    places.push_back(&machine.tensor(slot, at));
    if (places.back()->extents[0] != values.extents[along])
      fault(op, "there are other places than values");
  }
  for (auto name : op.getOver().getAsRange<mlir::StringAttr>())
    over.push_back(static_cast<size_t>(base.axis(name.str())));
  for (size_t i = 0; i < base.extents.size(); ++i)
    if (!llvm::is_contained(over, i))
      kept.push_back(i);
  std::vector<int64_t> rest = values.extents;
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(along));
  for (size_t i = 0; i < rest.size(); ++i)
    if (rest[i] != base.extents[kept[i]])
      fault(op, "the values have another extent than the base");
  std::vector<bool> taken(static_cast<size_t>(base.count()), false);
  for (int64_t i = 0; i < values.extents[along]; ++i) {
    std::vector<int64_t> at(base.extents.size());
    bool inside = true;
    for (size_t j = 0; j < over.size(); ++j) {
      at[over[j]] = places[j]->load(i).integer;
      inside &= at[over[j]] >= 0 && at[over[j]] < base.extents[over[j]];
    }
    if (!inside)
      continue;
    forEachIndex(rest, [&](const std::vector<int64_t> &index) {
      std::vector<int64_t> from = index;
      from.insert(from.begin() + static_cast<std::ptrdiff_t>(along), i);
      for (size_t j = 0; j < index.size(); ++j)
        at[kept[j]] = index[j];
      const int64_t to = result.offset(at);
      if (op.getKind() == pipe::ScatterKind::first && taken[static_cast<size_t>(to)])
        return;
      taken[static_cast<size_t>(to)] = true;
      result.store(to, combined(op.getKind(), result.load(to), values.load(values.offset(from))));
    });
  }
  machine.set(slot, op.getResult(), std::move(result));
}

void runFilter(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::FilterOp>(self.op);
  const Tensor &value = machine.tensor(slot, op.getValue());
  Tensor result = machine.blank(slot, op.getResult());
  if (result.extents != value.extents)
    fault(op, "the sizes differ from the input's extents");
  const Tensor &numerator = machine.tensor(slot, op.getNumerator());
  const Tensor &denominator = machine.tensor(slot, op.getDenominator());
  const auto count = static_cast<size_t>(std::max(numerator.count(), denominator.count()));
  auto divided = [&](const Tensor &side) {
    std::vector<double> numbers(count, 0.0);
    for (size_t j = 0; j < count; ++j) {
      if (static_cast<int64_t>(j) < side.count())
        numbers[j] = side.load(static_cast<int64_t>(j)).real;
      numbers[j] /= denominator.load(0).real;
    }
    return numbers;
  };
  const std::vector<double> b = divided(numerator), a = divided(denominator);
  const auto axis = static_cast<size_t>(value.axis(op.getAxis().str()));
  std::vector<int64_t> starts = value.extents;
  starts[axis] = std::min<int64_t>(starts[axis], 1);
  forEachIndex(starts, [&](const std::vector<int64_t> &start) {
    std::vector<int64_t> index = start;
    std::vector<double> z(count, 0.0); // the last one stays 0, and is not added
    for (index[axis] = 0; index[axis] < value.extents[axis]; ++index[axis]) {
      const int64_t at = value.offset(index);
      const double x = value.load(at).real;
      const double y = count > 1 ? z[0] + b[0] * x : x * b[0];
      for (size_t j = 1; j < count; ++j) {
        const double product = x * b[j];
        z[j - 1] = (j + 1 < count ? z[j] + product : product) - y * a[j];
      }
      result.store(at, cast(pipe::CastMode::value, realScalar(y), value.type));
    }
  });
  machine.set(slot, op.getResult(), std::move(result));
}

} // namespace penstock::reference
