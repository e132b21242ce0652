// SPDX-License-Identifier: Apache-2.0
//
// Lanes that lie further apart in memory.
//
// Lanes `step` apart come from `step` registers that follow each other, at whatever place of
// those they begin: all places share the registers and most of what tells them apart.
#include "compiler/Conversion/KernelToLoops/Vector/Access.h"
#include "compiler/Conversion/KernelToLoops/Vector/Transposed.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <map>
#include <numeric>

using namespace mlir;
using namespace penstock::conversion;

bool Memory::takesApart(int64_t size, int64_t step) const {
  return step > 4 && step <= mostApart && l.has.selects(size) && l.lanes % l.has.lanesOf(size) == 0;
}

/// Elements `place`, `place` + step and so on of a run in so many registers. Halves are parted by
/// permutations of two registers. Then step is odd, and at each place of a register only one of all
/// has an element that is wanted: which one turns by a fixed number from place to place, so that
/// selections between registers 1, 2, 4 .. apart, which all `place`s share, collect those,
/// and one permutation puts them in order.
static Value takenApart(const Memory &m, ArrayRef<Value> registers, int64_t place) {
  const int64_t lanes = llvm::cast<VectorType>(registers[0].getType()).getNumElements();
  SmallVector<Value> run(registers);
  for (; run.size() % 2 == 0; place /= 2) {
    SmallVector<int64_t> order;
    for (int64_t lane = 0; lane < lanes; ++lane)
      order.push_back(2 * lane + place % 2);
    SmallVector<Value> half;
    for (size_t i = 0; i < run.size(); i += 2)
      half.push_back(m.shuffle(run[i], run[i + 1], order));
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
    return value = m.shuffle(here, there, order);
  };
  Value all = selected(static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(step))),
                       turn * place % step);
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < lanes; ++lane)
    order.push_back((lane * step + place) % lanes);
  return m.shuffle(all, all, order);
}

static Value joined(const Memory &m, Value first, Value second) {
  auto sizeOf = [](Value v) { return llvm::cast<VectorType>(v.getType()).getNumElements(); };
  SmallVector<int64_t> both(sizeOf(first) + sizeOf(second));
  std::iota(both.begin(), both.end(), 0);
  return m.shuffle(first, second, both);
}

/// Returns whether rows of `step` elements, one for each lane, are transposed: where no instruction
/// selects from two registers, parting halves takes two of them for each.
static bool areTransposed(const Memory &m, int64_t size, int64_t step) {
  return !m.l.has.permuteInts && step >= m.l.has.lanesOf(size);
}

/// The elements `place` of as many rows as fit a register, which lie `step` elements apart: a
/// column of a square. All columns of a square share what makes it.
static Value columnOfSquare(const Memory &m, Type type, int64_t size, Value address, int64_t step,
                            int64_t place, bool constant) {
  const int64_t side = m.l.has.lanesOf(size),
                left = std::min(place / side * side, step - side); // the last ones overlap
  SmallVector<Value> rows;
  for (int64_t row = 0; row < side; ++row)
    rows.push_back(m.loadPlain(VectorType::get({side}, type),
                               m.address(address, m.l.i64(size * (row * step + left))), constant));
  return transposed(m, rows, size)[place - left];
}

/// Lanes that begin `phase` elements behind `address`. Unless there is room behind the last one,
/// `phase` is 0 and nothing is read there.
static Value loadApart(const Memory &m, Type type, int64_t size, Value address, int64_t step,
                       int64_t phase, bool constant, bool roomy) {
  const Lanes &l = m.l;
  const int64_t fitting = l.has.lanesOf(size);
  Value all;
  for (int64_t first = 0; first < l.lanes; first += fitting) {
    SmallVector<Value> registers;
    if (roomy && areTransposed(m, size, step)) {
      Value rows = m.address(address, l.i64(size * first * step));
      Value part = columnOfSquare(m, type, size, rows, step, phase, constant);
      all = all ? joined(m, all, part) : part;
      continue;
    }
    for (int64_t number = 0; number < step; ++number) {
      const int64_t begin = number * fitting, left = (fitting - 1) * step + 1 - begin;
      const bool isLast = first + fitting == l.lanes && !roomy;
      if (isLast && left <= 0) { // has none of them
        registers.push_back(registers[0]);
        continue;
      }
      const int64_t count = isLast ? std::min(fitting, left) : fitting;
      Value next = m.loadPlain(VectorType::get({count}, type),
                               m.address(address, l.i64(size * (first * step + begin))), constant);
      SmallVector<int64_t> filled;
      for (int64_t lane = 0; lane < fitting; ++lane)
        filled.push_back(lane % count);
      registers.push_back(count < fitting ? m.shuffle(next, next, filled) : next);
    }
    Value part = takenApart(m, registers, phase);
    all = all ? joined(m, all, part) : part;
  }
  return all;
}

/// Lanes at `bytes` apart, 1 to 4 elements forwards or backwards; null for
/// others. `address` is that of lane 0, less `phase` bytes. With `onlyLanes` nothing is read
/// behind the last lane, or little if the buffer is `roomy`: what lies between two lanes may not
/// exist there.
Value Memory::loadStrided(Type type, int64_t size, Value address, int64_t bytes, int64_t phase,
                          bool constant, bool onlyLanes, bool roomy) const {
  if (bytes % size != 0 || phase % size != 0)
    return {};
  const int64_t step = bytes / size, magnitude = std::abs(step), lanes = l.lanes;
  int64_t first = phase / size;
  if (takesApart(size, step)) {
    const bool shares = (roomy || constant) && first < step;
    return shares ? loadApart(*this, type, size, address, step, first, constant, true)
                  : loadApart(*this, type, size, this->address(address, l.i64(phase)), step, 0,
                              constant, false);
  }
  if (magnitude < 1 || magnitude > 4)
    return {};
  if (first >= magnitude || onlyLanes) { // not an interleaved axis after all
    address = this->address(address, l.i64(phase));
    first = 0;
  }
  if (step < 0)
    address = this->address(address, l.i64((lanes - 1) * bytes));
  const int64_t read = onlyLanes && !roomy ? (lanes - 1) * magnitude + 1 : lanes * magnitude;
  Value whole = loadPlain(VectorType::get({read}, type), address, constant);
  if (step == 1)
    return whole;
  SmallVector<int64_t> mask(lanes);
  for (int64_t lane = 0; lane < lanes; ++lane)
    mask[lane] = (step < 0 ? lanes - 1 - lane : lane) * magnitude + first;
  return shuffle(whole, whole, mask);
}

/// Of runs `turns` bytes apart, which lanes take turns among, those from `first` on that are `by`
/// runs apart.
static Value inTurns(const Memory &m, Type type, Value address, int64_t period, Value turns,
                     int64_t first, int64_t by, bool constant) {
  if (by == period)
    return m.loadPlain(VectorType::get({m.l.lanes / by}, type),
                       m.address(address, m.l.mul(turns, m.l.i64(first))), constant);
  Value even = inTurns(m, type, address, period, turns, first, 2 * by, constant),
        odd = inTurns(m, type, address, period, turns, first + by, 2 * by, constant);
  const int64_t count = m.l.lanes / (2 * by);
  SmallVector<int64_t> order;
  for (int64_t i = 0; i < count; ++i)
    order.append({i, count + i});
  return m.shuffle(even, odd, order);
}

/// Runs of elements, one after the other or in turns, or elements that are repeated.
Value Memory::loadPieces(Type type, Value address, const Index &apart, Value turns,
                         bool constant) const {
  const int64_t size = std::max<int64_t>(type.getIntOrFloatBitWidth() / 8, 1),
                pieces = l.lanes / apart.period;
  SmallVector<int64_t> order(l.lanes);
  if (apart.inner == 0 && apart.stride == size && !turns) {
    for (int64_t lane = 0; lane < l.lanes; ++lane)
      order[lane] = lane / apart.period;
    Value each = loadPlain(VectorType::get({pieces}, type), address, constant);
    return shuffle(each, each, order);
  }
  if (areRuns(l, apart, size))
    return inTurns(*this, type, address, apart.period, turns ? turns : l.i64(apart.inner), 0, 1,
                   constant);
  if (apart.inner != size || apart.period < 4) {
    Value all =
        l.b.create<arith::ConstantOp>(l.loc, l.b.getZeroAttr(VectorType::get({l.lanes}, type)));
    for (int64_t lane = 0; lane < l.lanes; ++lane)
      all = l.b.create<vector::InsertOp>(
          l.loc, loadPlain(type, this->address(address, l.i64(offsetOf(apart, lane))), constant),
          all, lane);
    return all;
  }
  Value all;
  for (int64_t piece = 0; piece < pieces; ++piece) {
    Value next = loadPlain(VectorType::get({apart.period}, type),
                           this->address(address, l.i64(piece * apart.stride)), constant);
    order.assign((piece + 1) * apart.period, 0);
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = static_cast<int64_t>(i);
    all = all ? shuffle(all, next, order) : next;
  }
  return all;
}
