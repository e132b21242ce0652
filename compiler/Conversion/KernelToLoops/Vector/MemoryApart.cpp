//===- MemoryApart.cpp - lanes that lie further apart in memory ------------===//
//
// Lanes `step` apart come from `step` registers that follow each other, at whatever place of
// those they begin: all places share the registers and most of what tells them apart.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/KernelToLoops/Vector/Memory.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <map>

using namespace mlir;
using namespace penstock::conversion;

bool Memory::takesApart(int64_t size, int64_t step) {
  return step > 4 && step <= mostApart && l.has.selects(size) && l.lanes % l.has.lanesOf(size) == 0;
}

/// Elements `place`, `place` + step and so on of a run in so many registers. Halves are parted by
/// permutations of two registers. Then step is odd, and at each place of a register only one of all has
/// an element that is wanted: which one turns by a fixed number from place to place, so that
/// selections between registers 1, 2, 4 .. apart, which all `place`s share, collect those,
/// and one permutation puts them in order.
Value Memory::takenApart(ArrayRef<Value> registers, int64_t place) {
  const int64_t lanes = llvm::cast<VectorType>(registers[0].getType()).getNumElements();
  SmallVector<Value> run(registers);
  for (; run.size() % 2 == 0; place /= 2) {
    SmallVector<int64_t> order;
    for (int64_t lane = 0; lane < lanes; ++lane)
      order.push_back(2 * lane + place % 2);
    SmallVector<Value> half;
    for (size_t i = 0; i < run.size(); i += 2)
      half.push_back(shuffle(run[i], run[i + 1], order));
    run = half;
  }
  const auto step = static_cast<int64_t>(run.size());
  if (step == 1)
    return run[0];
  int64_t turn = 1; // lanes * turn is 1 modulo step
  while (lanes * turn % step != 1)
    ++turn;
  // After selections by 1, 2 .. `by` / 2: what registers `number`, `number` - 1 .. have.
  std::map<std::pair<int64_t, int64_t>, Value> made;
  std::function<Value(int64_t, int64_t)> selected = [&](int64_t by, int64_t number) {
    if (by == 1)
      return run[number];
    Value &value = made[{by, number}];
    if (value)
      return value;
    const int64_t apart = by / 2;
    Value here = selected(apart, number), there = selected(apart, (number + step - apart) % step);
    SmallVector<int64_t> order;
    for (int64_t lane = 0; lane < lanes; ++lane)
      order.push_back(turn * lane % step & apart ? lanes + lane : lane);
    return value = shuffle(here, there, order);
  };
  Value all = selected(static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(step))), turn * place % step);
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < lanes; ++lane)
    order.push_back((lane * step + place) % lanes);
  return shuffle(all, all, order);
}

/// Lanes that begin `phase` elements behind `address`. Unless there is room behind the last one, `phase` is 0
/// and nothing is read there.
Value Memory::loadApart(Type type, int64_t size, Value address, int64_t step, int64_t phase, bool constant, bool roomy) {
  const int64_t fitting = l.has.lanesOf(size);
  Value all;
  for (int64_t first = 0; first < l.lanes; first += fitting) {
    SmallVector<Value> registers;
    for (int64_t number = 0; number < step; ++number) {
      const int64_t begin = number * fitting, left = (fitting - 1) * step + 1 - begin;
      const bool isLast = first + fitting == l.lanes && !roomy;
      if (isLast && left <= 0) { // has none of them
        registers.push_back(registers[0]);
        continue;
      }
      const int64_t count = isLast ? std::min(fitting, left) : fitting;
      Value next = loadPlain(VectorType::get({count}, type), this->address(address, l.i64(size * (first * step + begin))), constant);
      SmallVector<int64_t> filled;
      for (int64_t lane = 0; lane < fitting; ++lane)
        filled.push_back(lane % count);
      registers.push_back(count < fitting ? shuffle(next, next, filled) : next);
    }
    Value part = takenApart(registers, phase);
    SmallVector<int64_t> both(first + fitting);
    for (size_t i = 0; i < both.size(); ++i)
      both[i] = static_cast<int64_t>(i);
    all = all ? shuffle(all, part, both) : part;
  }
  return all;
}
