// SPDX-License-Identifier: Apache-2.0
//
// The Fourier transform.
//
// docs/rationale/fft.md defines every operation. Real and imaginary parts lie in
// arrays of their own. Lanes are transforms side by side, read and stored as they lie or by
// squares of elements that are transposed, or runs of elements of one transform, as the schedule
// says.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Vector/Transposed.h"
#include "compiler/Conversion/KernelToLoops/Whole/FftStages.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "compiler/Conversion/KernelToLoops/Whole/Whole.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

namespace {

struct Side {
  int64_t axis = -1, count = 1;
};

/// How an op is computed, at places of all axes but that of the transform.
class Emitter {
public:
  Emitter(const Site &site, FftOp op, const Buffer &to);
  LogicalResult emitAll();

private:
  void alone(SmallVector<Index> at);
  void together(SmallVector<Index> at, Value first);
  void readSquares(SmallVector<Index> at, Value first);
  void readAcross(SmallVector<Index> at, Value first);
  void storeSquares(Transform &f, Parts from, SmallVector<Index> at, Value first);
  void storeAcross(Transform &f, Parts from, SmallVector<Index> at, Value first);
  void storeParts(const Memory &m, SmallVector<Index> at, Complex value, int64_t laneAxis);
  Parts stages(Transform &f);
  Complex frequency(Transform &f, Parts from, Value k);
  void forEachSquare(int64_t count, llvm::function_ref<void(Value)> body);

  const Site &site;
  FftOp op;
  const Buffer &to;
  NamedTensorType in;
  Type element;
  int64_t axis, n, length, bins, size;
  bool even;
  Side side;
  Parts one, other, folded, twiddles;
  Value rows; ///< what is to be transformed, row by row
};

} // namespace

/// Transforms that are made at once, along an axis of the value.
static Side sideOf(FftOp op) {
  const FftAttr fft = fftOf(op);
  if (!fft.getAlong())
    return {};
  return {typeOf(op.getValue()).axisIndex(fft.getAlong()), fft.getLanes()};
}

Emitter::Emitter(const Site &site, FftOp op, const Buffer &to)
    : site(site), op(op), to(to), in(typeOf(op.getValue())), element(in.getElementType()),
      axis(in.axisIndex(op.getAxis())), n(in.getAxes()[axis].extent), bins(n / 2 + 1),
      size(scalarBytes(element)), even(n % 2 == 0), side(sideOf(op)) {
  length = even ? n / 2 : n;
  auto room = [&] { // of constant size, so it is always to be had
    const int64_t bytes = length * size * side.count;
    return Parts{*scratchBytes(site, bytes, {}), *scratchBytes(site, bytes, {})};
  };
  one = room();
  other = room();
  if (length > 1 && factorsOf(length).back() > largestUnrolled)
    folded = room();
  if (side.count > 1 && !fftOf(op).getAcross())
    rows = *scratchBytes(site, n * size * side.count, {});
}

/// From array `one`; returns the array where the result lies.
Parts Emitter::stages(Transform &f) {
  Parts from = one, next = other;
  int64_t done = 1;
  for (int64_t r : factorsOf(length)) {
    Transform wide = f;
    wide.lanes = f.beside > 1 ? 1 : fftOf(op).getLanes();
    wide.stage(from, next, done, r, [&] { return folded; });
    std::swap(from, next);
    done *= r;
  }
  if (even)
    twiddles = f.table(llvm::to_vector(llvm::seq<int64_t>(0, length + 1)), n);
  return from;
}

Complex Emitter::frequency(Transform &f, Parts from, Value k) {
  auto [ctx, b, l, m] = site.parts();
  if (!even)
    return f.read(from, k);
  Value half = f.constant(0.5);
  const Complex a = f.read(from, l.remS(k, l.i64(length)));
  const Complex c = f.read(from, l.remS(l.sub(l.i64(length), k), l.i64(length)));
  const Complex e{f.mul(f.add(a.re, c.re), half), f.mul(f.sub(a.im, c.im), half)};
  const Complex o{f.mul(f.add(a.im, c.im), half), f.mul(f.sub(c.re, a.re), half)};
  return f.add(e, f.mul(o, {f.read(twiddles.re, k, true), f.read(twiddles.im, k, true)}));
}

void Emitter::alone(SmallVector<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  ctx.elements.clear();
  Transform f(site, element, length);
  auto input = [&](Value place) {
    at[axis] = m.uniform(place);
    return emit(site, op.getValue(), at).value;
  };
  forLoop(site, l.i64(0), l.i64(length), 1, [&](Value j) {
    Value place = even ? l.shl(j, 1) : j;
    Value re = input(place);
    f.write(one, j, {re, even ? input(l.add(place, l.i64(1))) : f.constant(0.0)});
  });
  const Parts from = stages(f);
  forLoop(site, l.i64(0), l.i64(bins), 1, [&](Value k) {
    const Complex value = frequency(f, from, k);
    SmallVector<Index> result(at);
    result[axis] = m.uniform(k);
    result.push_back(m.constant(0));
    m.store(to, result, l.wrap(value.re, element));
    result.back() = m.constant(1);
    m.store(to, result, l.wrap(value.im, element));
  });
  ctx.elements.clear();
}

/// The last square overlaps those before it.
void Emitter::forEachSquare(int64_t count, llvm::function_ref<void(Value)> body) {
  auto [ctx, b, l, m] = site.parts();
  forLoop(site, l.i64(0), l.i64(count), side.count, [&](Value from) {
    body(count % side.count ? l.minS(from, l.i64(count - side.count)) : from);
  });
}

/// Into array `one`, as values lie.
void Emitter::readAcross(SmallVector<Index> at, Value first) {
  const Site wide = site.withLanes(side.count);
  auto [ctx, b, l, m] = wide.parts();
  Transform f(site, element, length);
  f.beside = side.count;
  at[side.axis] = {first, 1, {}, {}};
  auto input = [&](Value place) {
    at[axis] = m.uniform(place);
    return l.splat(emit(wide, op.getValue(), at).value);
  };
  forLoop(site, l.i64(0), l.i64(length), 1, [&](Value j) {
    ctx.elements.clear();
    Value place = even ? l.shl(j, 1) : j;
    Value re = input(place);
    f.write(one, j, {re, even ? input(l.add(place, l.i64(1))) : f.constant(0.0)});
  });
  ctx.elements.clear();
}

/// Into array `one`, transposed.
void Emitter::readSquares(SmallVector<Index> at, Value first) {
  auto [ctx, b, l, m] = site.parts();
  Type vector = VectorType::get({side.count}, element);
  auto rowAt = [&](Value number, Value place) {
    return m.address(rows, l.mul(l.add(l.mul(number, l.i64(n)), place), l.i64(size)));
  };
  forLoop(site, l.i64(0), l.i64(side.count), 1, [&](Value number) {
    at[side.axis] = m.uniform(l.add(first, number));
    forEachSquare(n, [&](Value from) {
      ctx.elements.clear();
      at[axis] = {from, 1, {}, {}};
      const Site wide = site.withLanes(side.count);
      Value value = wide.m.l.splat(emit(wide, op.getValue(), at).value);
      m.storePlain(value, rowAt(number, from));
    });
  });
  ctx.elements.clear();
  Transform f(site, element, length);
  f.beside = side.count;
  Value zero = f.constant(0.0);
  forEachSquare(n, [&](Value from) {
    SmallVector<Value> read;
    for (int64_t number = 0; number < side.count; ++number)
      read.push_back(m.loadPlain(vector, rowAt(l.i64(number), from)));
    SmallVector<Value> columns = transposed(m, read, size);
    Value begin = even ? l.divS(from, l.i64(2)) : from; // squares begin at even places then
    for (int64_t c = 0; c < side.count; c += even ? 2 : 1)
      f.write(one, l.add(begin, l.i64(even ? c / 2 : c)),
              {columns[c], even ? columns[c + 1] : zero});
  });
}

/// Both parts of as many elements as there are lanes, along `laneAxis`.
void Emitter::storeParts(const Memory &m, SmallVector<Index> at, Complex value, int64_t laneAxis) {
  const size_t part = at.size();
  const LaneValue both[] = {m.l.wrap(value.re, element), m.l.wrap(value.im, element)};
  at.push_back(m.constant(0));
  if (to.known[part] == size && to.known[laneAxis] == 2 * size)
    return m.storeInterleaved(to, at, both);
  m.store(to, at, both[0]);
  at[part] = m.constant(1);
  m.store(to, at, both[1]);
}

void Emitter::storeSquares(Transform &f, Parts from, SmallVector<Index> at, Value first) {
  auto [ctx, b, l, m] = site.parts();
  const Site wide = site.withLanes(side.count);
  forEachSquare(bins, [&](Value k) {
    SmallVector<Value> re, im;
    for (int64_t c = 0; c < side.count; ++c) {
      const Complex value = frequency(f, from, l.add(k, l.i64(c)));
      re.push_back(value.re);
      im.push_back(value.im);
    }
    re = transposed(m, re, size);
    im = transposed(m, im, size);
    at[axis] = {k, 1, {}, {}};
    for (int64_t number = 0; number < side.count; ++number) {
      at[side.axis] = m.uniform(l.add(first, l.i64(number)));
      storeParts(wide.m, at, {re[number], im[number]}, axis);
    }
  });
}

void Emitter::storeAcross(Transform &f, Parts from, SmallVector<Index> at, Value first) {
  const Site wide = site.withLanes(side.count);
  at[side.axis] = {first, 1, {}, {}};
  forLoop(site, site.m.l.i64(0), site.m.l.i64(bins), 1, [&](Value k) {
    at[axis] = wide.m.uniform(k);
    storeParts(wide.m, at, frequency(f, from, k), side.axis);
  });
}

void Emitter::together(SmallVector<Index> at, Value first) {
  const FftAttr fft = fftOf(op);
  if (fft.getAcross())
    readAcross(at, first);
  else
    readSquares(at, first);
  Transform f(site, element, length);
  f.beside = side.count;
  const Parts from = stages(f);
  if (storesAcross(op, fft))
    storeAcross(f, from, at, first);
  else
    storeSquares(f, from, at, first);
}

LogicalResult Emitter::emitAll() {
  auto [ctx, b, l, m] = site.parts();
  SmallVector<Value> others;
  SmallVector<int64_t> axes;
  for (int64_t i = 0; i < in.getRank(); ++i)
    if (i != axis && i != side.axis) {
      others.push_back(extent(site, op.getValue(), i));
      axes.push_back(i);
    }
  carriedNest(b, l, others, {}, [&](ArrayRef<Value> where, ValueRange) {
    SmallVector<Index> at(in.getRank());
    for (auto [i, index] : llvm::zip(axes, where))
      at[i] = m.uniform(index);
    if (side.axis < 0) {
      alone(at);
      return SmallVector<Value>{};
    }
    const Axis &along = in.getAxes()[side.axis];
    Value count = extent(site, op.getValue(), side.axis), squares = count;
    if (!along.isStatic()) // those that are left over go one by one
      squares = l.sub(count, l.andInt(count, l.i64(side.count - 1)));
    forLoop(site, l.i64(0), squares, side.count, [&](Value first) {
      const bool overlaps = along.isStatic() && along.extent % side.count;
      together(at, overlaps ? l.minS(first, l.i64(along.extent - side.count)) : first);
    });
    if (!along.isStatic())
      forLoop(site, squares, count, 1, [&](Value index) {
        at[side.axis] = m.uniform(index);
        alone(at);
      });
    return SmallVector<Value>{};
  });
  return success();
}

static LogicalResult emitFft(const Site &site, FftOp op) {
  auto buffer = bufferFor(site, op.getResult());
  return failed(buffer) ? failure() : Emitter(site, op, *buffer).emitAll();
}

namespace penstock::conversion {
void registerFft(WholeOps &all);
}
void penstock::conversion::registerFft(WholeOps &all) { all.add<FftOp>(emitFft); }
