// SPDX-License-Identifier: Apache-2.0
//
// The Fourier transform.
//
// docs/rationale/fft.md defines every operation. A stage is a pass over all
// lines at once, from one array to the other; all its short transforms are
// independent.
#include "compiler/Conversion/Fourier.h"
#include "compiler/Conversion/KernelToGpu/GpuElements.h"
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "compiler/Conversion/KernelToGpu/Whole/GpuWhole.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

namespace {
/// Arithmetic on complex numbers as the scalar ops of the dialect.
struct ComplexMath : ComplexArithmetic<ComplexMath> {
  ComplexMath(const ScalarMath &s, Type element) : s(s), element(element) {}

  ScalarMath s;
  Type element;

  Value add(Value x, Value y) { return s.binary(BinaryKind::add, x, y); }
  Value sub(Value x, Value y) { return s.binary(BinaryKind::sub, x, y); }
  Value mul(Value x, Value y) { return s.binary(BinaryKind::mul, x, y); }
  using ComplexArithmetic::add;
  using ComplexArithmetic::mul;
  using ComplexArithmetic::sub;
  Value constant(double number) { return s.constant(s.b.getFloatAttr(element, number), element); }
};

/// All lines of a transform, at a site.
struct Transform {
  Transform(const GpuSite &site, FftOp op);

  const GpuSite &site;
  FftOp op;
  ComplexMath f;
  int64_t along, n;
  bool isEven;    ///< pairs of elements are complex numbers
  int64_t length; ///< in complex numbers
  GpuBuffer cosines, sines;
  // Lines run along the axis, and are numbered by all others.
  SmallVector<std::string> lineNames;
  SmallVector<Value> lines;

  using Body = llvm::function_ref<void(GpuIndices line, GpuIndices at)>;
  using Parts = ArrayRef<GpuBuffer>; ///< real and imaginary ones

  Complex twiddle(Value j) const { return {load(site, cosines, j), load(site, sines, j)}; }
  /// A thread for each place of each line.
  void pass(ArrayRef<std::string> names, ArrayRef<int64_t> extents, Body body) const;
  Complex read(Parts from, GpuIndices line, Value place) const;
  void write(Complex value, Parts to, GpuIndices line, Value place) const;

  void takeIn(Parts to);
  void stage(Parts from, Parts to, int64_t done, int64_t r);
  void longTransform(GpuIndices at, int64_t r, llvm::function_ref<Complex(Value, bool)> element,
                     llvm::function_ref<void(Value, Complex)> store);
  void giveOut(Parts from, const GpuBuffer &to);
};
} // namespace

/// cos and -sin of 2 pi j / n for j = 0 .. n: those of every stage are among them,
/// bit for bit, for a twiddle's fraction is divided out before anything is rounded.
static std::pair<DenseElementsAttr, DenseElementsAttr> twiddlesOf(int64_t n, Type element) {
  auto type = RankedTensorType::get({n}, element);
  auto tableOf = [&](auto numberOf) {
    SmallVector<Attribute> numbers;
    for (int64_t j = 0; j < n; ++j)
      numbers.push_back(FloatAttr::get(element, numberOf(penstock::scalar::twiddleOf(j, n))));
    return DenseElementsAttr::get(type, numbers);
  };
  return {tableOf([](auto twiddle) { return twiddle.cosine; }),
          tableOf([](auto twiddle) { return -twiddle.sine; })};
}

Transform::Transform(const GpuSite &site, FftOp op)
    : site(site), op(op), f(site.s, typeOf(op.getValue()).getElementType()) {
  NamedTensorType in = typeOf(op.getValue());
  Type element = in.getElementType();
  along = in.axisIndex(op.getAxis());
  n = in.getAxes()[along].extent;
  isEven = n % 2 == 0;
  length = isEven ? n / 2 : n;
  const auto tables = twiddlesOf(n, element);
  cosines = {tableOf(site, tables.first, element), {site.x.constant(1)}};
  sines = {tableOf(site, tables.second, element), {site.x.constant(1)}};
  for (int64_t axis = 0; axis < in.getRank(); ++axis) {
    if (axis == along)
      continue;
    lineNames.push_back(in.getAxes()[axis].name);
    lines.push_back(extent(site, op.getValue(), axis));
  }
}

void Transform::pass(ArrayRef<std::string> names, ArrayRef<int64_t> extents, Body body) const {
  SmallVector<std::string> allNames(lineNames);
  allNames.append(names.begin(), names.end());
  SmallVector<Value> all(lines);
  for (int64_t size : extents)
    all.push_back(site.x.constant(size));
  nest(site, allNames, all, "threads",
       [&](GpuIndices at) { body(at.take_front(lines.size()), at.drop_front(lines.size())); });
}

static SmallVector<Value> with(GpuIndices line, Value place) {
  SmallVector<Value> at(line);
  at.push_back(place);
  return at;
}

Complex Transform::read(Parts from, GpuIndices line, Value place) const {
  return {load(site, from[0], with(line, place)), load(site, from[1], with(line, place))};
}

void Transform::write(Complex value, Parts to, GpuIndices line, Value place) const {
  save(site, value.re, to[0], with(line, place));
  save(site, value.im, to[1], with(line, place));
}

void Transform::takeIn(Parts to) {
  const IndexMath &x = site.x;
  auto input = [&](GpuIndices line, Value place) {
    SmallVector<Value> at(line);
    at.insert(at.begin() + along, place);
    return element(site, op.getValue(), at);
  };
  pass({"j"}, length, [&](GpuIndices line, GpuIndices at) {
    Value place = isEven ? x.mul(at[0], x.constant(2)) : at[0];
    Value re = input(line, place);
    Value im = isEven ? input(line, x.add(place, x.constant(1))) : f.constant(0.0);
    write({re, im}, to, line, at[0]);
  });
}

/// Transforms of r numbers each, after `done` numbers have met.
void Transform::stage(Parts from, Parts to, int64_t done, int64_t r) {
  const IndexMath &x = site.x;
  const int64_t count = length / (done * r), finest = n / (done * r);
  const bool isLong = r > largestUnrolled;
  SmallVector<std::string> names{"j", "k"};
  SmallVector<int64_t> extents{count, done};
  if (isLong) { // a thread for each pair of results
    names.push_back("p");
    extents.push_back((r - 1) / 2 + 1);
  }
  pass(names, extents, [&](GpuIndices line, GpuIndices at) {
    Value j = at[0], k = at[1];
    auto element = [&](Value q, bool isFirst) {
      Value place = x.add(x.mul(x.add(j, x.mul(q, x.constant(count))), x.constant(done)), k);
      const Complex value = read(from, line, place);
      return done > 1 && !isFirst ? f.mul(value, twiddle(x.mul(x.mul(q, k), x.constant(finest))))
                                  : value;
    };
    auto store = [&](Value p, Complex value) {
      Value place = x.add(x.add(x.mul(j, x.constant(done * r)), k), x.mul(p, x.constant(done)));
      write(value, to, line, place);
    };
    if (isLong)
      return longTransform(at, r, element, store);
    SmallVector<Complex> t{element(x.constant(0), true)};
    for (int64_t q = 1; q < r; ++q)
      t.push_back(element(x.constant(q), false));
    for (auto [p, value] : llvm::enumerate(shortTransform(f, t)))
      store(x.constant(static_cast<int64_t>(p)), value);
  });
}

/// Two results, p and r - p, of one transform of r numbers.
void Transform::longTransform(GpuIndices at, int64_t r,
                              llvm::function_ref<Complex(Value, bool)> element,
                              llvm::function_ref<void(Value, Complex)> store) {
  auto [ctx, b, x, s] = site.parts();
  Value p = at[2];
  const Complex first = element(x.constant(0), true);
  /// The two products of term i.
  auto term = [&](Value i) {
    const Complex low = element(i, false), high = element(x.sub(x.constant(r), i), false);
    Value part = b.create<arith::RemUIOp>(site.loc, x.mul(i, p), x.constant(r));
    const Complex w = twiddle(x.mul(part, x.constant(n / r)));
    Value sine = s.unary(UnaryKind::neg, w.im);
    return std::pair(f.scale(w.re, f.add(low, high)), f.scale(sine, f.sub(low, high)));
  };
  const auto [a1, b1] = term(x.constant(1));
  const Complex a0 = f.add(first, a1);
  auto sums = loop(site, x.constant(2), x.constant((r - 1) / 2 + 1), 1,
                   {a0.re, a0.im, b1.re, b1.im}, [&](Value i, ValueRange sofar) {
                     const auto [even, odd] = term(i);
                     return SmallVector<Value>{f.add(sofar[0], even.re), f.add(sofar[1], even.im),
                                               f.add(sofar[2], odd.re), f.add(sofar[3], odd.im)};
                   });
  const Complex a{sums[0], sums[1]}, c{sums[2], sums[3]};
  when(site, x.compare(CmpIPredicate::eq, p, x.constant(0)), [&] { store(p, a); });
  when(site, x.compare(CmpIPredicate::sgt, p, x.constant(0)), [&] {
    store(p, {f.add(a.re, c.im), f.sub(a.im, c.re)});
    store(x.sub(x.constant(r), p), {f.sub(a.re, c.im), f.add(a.im, c.re)});
  });
}

void Transform::giveOut(Parts from, const GpuBuffer &to) {
  auto [ctx, b, x, s] = site.parts();
  pass({"freq"}, typeOf(op.getResult()).getAxes()[along].extent,
       [&](GpuIndices line, GpuIndices at) {
         Value k = at[0];
         Complex value;
         if (!isEven) {
           value = read(from, line, k);
         } else {
           auto around = [&](Value place) {
             return read(from, line, b.create<arith::RemUIOp>(site.loc, place, x.constant(length)));
           };
           Value half = f.constant(0.5);
           const Complex a = around(k), c = around(x.sub(x.constant(length), k));
           const Complex e{f.mul(f.add(a.re, c.re), half), f.mul(f.sub(a.im, c.im), half)};
           const Complex o{f.mul(f.add(a.im, c.im), half), f.mul(f.sub(c.re, a.re), half)};
           value = f.add(e, f.mul(o, twiddle(k)));
         }
         SmallVector<Value> place(line);
         place.insert(place.begin() + along, k);
         place.push_back(x.constant(0));
         save(site, value.re, to, place);
         place.back() = x.constant(1);
         save(site, value.im, to, place);
       });
}

/// Two arrays of complex numbers.
static LogicalResult workOfFft(const GpuSite &site, FftOp op, SmallVector<GpuBuffer> &arrays) {
  NamedTensorType type = typeOf(op.getValue());
  const int64_t n = type.getAxes()[type.axisIndex(op.getAxis())].extent;
  GpuWork work(site, arrays);
  for (int part = 0; part < 4; ++part)
    work.add(type.getElementType(), GpuWork::axesOf(op.getValue(), op.getAxis()),
             n % 2 ? n : n / 2);
  return work.done();
}

static void fft(const GpuSite &site, FftOp op, ArrayRef<GpuBuffer> to, ArrayRef<GpuBuffer> work) {
  Transform transform(site, op);
  ArrayRef<GpuBuffer> from = work.take_front(2), next = work.drop_front(2);
  transform.takeIn(from);
  barrier(site);
  int64_t done = 1;
  for (int64_t r : factorsOf(transform.length)) {
    transform.stage(from, next, done, r);
    barrier(site);
    std::swap(from, next);
    done *= r;
  }
  transform.giveOut(from, to[0]);
}

namespace penstock::conversion {
void registerFft(GpuWholeOps &all) { all.add<FftOp>(workOfFft, fft); }
} // namespace penstock::conversion
