// SPDX-License-Identifier: Apache-2.0
//
// Class R: compact, group, sort.
#include "stdlib/reference/Machine.h"
#include <cmath>
#include <map>

namespace penstock::reference {

/// Elements past the count are 0.
void runCompact(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::CompactOp>(self.op);
  const Tensor &value = machine.tensor(slot, op.getValue());
  const Tensor &mask = machine.tensor(slot, op.getMask());
  Tensor result = machine.blank(slot, op.getResult());
  Tensor count = machine.blank(slot, op.getCount());
  const auto axis = static_cast<size_t>(value.axis(op.getAxis().str()));
  if (mask.extents[0] != value.extents[axis])
    fault(op, "the mask has another extent than the value");
  for (size_t i = 0; i < value.extents.size(); ++i)
    if (i != axis && result.extents[i] != value.extents[i])
      fault(op, "the result has another extent along `" + value.axes[i] + "`");
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < mask.extents[0]; ++i)
    if (mask.load(i).integer)
      kept.push_back(i);
  if (static_cast<int64_t>(kept.size()) > result.extents[axis])
    fault(op, "keeps more elements than the result holds");
  int64_t element = 0;
  forEachIndex(result.extents, [&](const std::vector<int64_t> &index) {
    std::vector<int64_t> from = index;
    if (index[axis] < static_cast<int64_t>(kept.size())) {
      from[axis] = kept[static_cast<size_t>(index[axis])];
      result.store(element, value.load(value.offset(from)));
    }
    ++element;
  });
  count.store(0, intScalar(static_cast<int64_t>(kept.size())));
  machine.set(slot, op.getResult(), std::move(result));
  machine.set(slot, op.getCount(), std::move(count));
}

void runGroup(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::GroupOp>(self.op);
  const Tensor &key = machine.tensor(slot, op.getKey());
  const Tensor *mask = op.getMask() ? &machine.tensor(slot, op.getMask()) : nullptr;
  Tensor groupOf = machine.blank(slot, op.getSlot());
  Tensor first = machine.blank(slot, op.getFirst());
  Tensor count = machine.blank(slot, op.getCount());
  if (groupOf.extents.front() != key.extents.front() ||
      (mask && mask->extents.front() != key.extents.front()))
    fault(op, "the sizes differ from the input's extents");
  const int64_t width = key.extents.front() ? key.count() / key.extents.front() : 0;
  const auto limit = static_cast<int64_t>(op.getLimit());
  std::map<std::vector<int64_t>, int64_t> groups;
  for (int64_t i = 0; i < key.extents.front(); ++i) {
    groupOf.store(i, intScalar(-1));
    if (mask && !mask->load(i).integer)
      continue;
    std::vector<int64_t> tuple;
    for (int64_t j = 0; j < width; ++j)
      tuple.push_back(key.load(i * width + j).integer);
    const auto next = static_cast<int64_t>(groups.size());
    auto known = groups.find(tuple);
    if (known == groups.end() && next < limit) {
      known = groups.emplace(tuple, next).first;
      if (next >= first.extents.front())
        fault(op, "finds more groups than the result has room for");
      first.store(next, intScalar(i));
    }
    if (known != groups.end())
      groupOf.store(i, intScalar(known->second));
  }
  count.store(0, intScalar(static_cast<int64_t>(groups.size())));
  machine.set(slot, op.getSlot(), std::move(groupOf));
  machine.set(slot, op.getFirst(), std::move(first));
  machine.set(slot, op.getCount(), std::move(count));
}

void runSort(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::SortOp>(self.op);
  const Tensor &value = machine.tensor(slot, op.getValue());
  Tensor result = machine.blank(slot, op.getResult());
  if (result.extents != value.extents)
    fault(op, "the sizes differ from the input's extents");
  const auto axis = static_cast<size_t>(value.axis(op.getAxis().str()));
  std::vector<int64_t> starts = value.extents;
  starts[axis] = 1;
  forEachIndex(starts, [&](const std::vector<int64_t> &start) {
    std::vector<int64_t> index = start, order(static_cast<size_t>(value.extents[axis]));
    auto at = [&](int64_t i) {
      index[axis] = i;
      return value.load(value.offset(index));
    };
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = static_cast<int64_t>(i);
    auto before = [](const Scalar &a, const Scalar &b) {
      if (!isFloat(a.type))
        return a.integer < b.integer;
      if (a.real == 0 && b.real == 0)
        return std::signbit(a.real) && !std::signbit(b.real);
      return a.real < b.real || (a.real == a.real && b.real != b.real); // NaN last
    };
    std::sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
      const Scalar a = at(i), b = at(j);
      return before(a, b) || (!before(b, a) && i < j); // stable
    });
    for (size_t i = 0; i < order.size(); ++i) {
      index[axis] = static_cast<int64_t>(i);
      result.store(result.offset(index), intScalar(order[i]));
    }
  });
  machine.set(slot, op.getResult(), std::move(result));
}

} // namespace penstock::reference
