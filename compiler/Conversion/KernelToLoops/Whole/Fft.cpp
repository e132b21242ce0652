//===- Fft.cpp - the Fourier transform ------------------------------===//
//
// docs/rationale/fft.md defines every operation. Real and imaginary parts lie in
// arrays of their own, so that lanes are runs of elements.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/Fourier.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Conversion/KernelToLoops/Whole/Whole.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

namespace {

/// Where the parts of an array begin.
using Parts = Complex;

/// Complex arithmetic on elements, or vectors of them, of one type.
class Transform : public ComplexArithmetic<Transform> {
public:
  Transform(Lanes &l, Memory &m, Type element, int64_t n)
      : l(l), m(m), b(l.b), element(element), size(scalarBytes(element)), n(n) {}

  Lanes &l;
  Memory &m;
  OpBuilder &b;
  Type element;
  int64_t size, n;
  int64_t lanes = 1; ///< elements that are read and written at once
  /// Read-only data of the image.
  llvm::function_ref<Value(std::string)> data;
  llvm::function_ref<void(Value, Value, llvm::function_ref<void(Value)>)> loop;

  Value add(Value x, Value y) { return b.create<arith::AddFOp>(l.loc, x, y); }
  Value sub(Value x, Value y) { return b.create<arith::SubFOp>(l.loc, x, y); }
  Value mul(Value x, Value y) { return b.create<arith::MulFOp>(l.loc, x, y); }
  using ComplexArithmetic::add;
  using ComplexArithmetic::sub;
  using ComplexArithmetic::mul;
  Value constant(double number) {
    Value value = b.create<arith::ConstantOp>(l.loc, b.getFloatAttr(element, number));
    l.lanes = lanes;
    value = l.splat(value);
    l.lanes = 1;
    return value;
  }

  Value read(Value array, Value index, bool isConstant = false) {
    Type type = lanes > 1 ? Type(VectorType::get({lanes}, element)) : element;
    return m.loadPlain(type, m.address(array, l.mul(index, l.i64(size))), isConstant);
  }
  Complex read(Parts parts, Value index) { return {read(parts.re, index), read(parts.im, index)}; }
  void write(Parts parts, Value index, Complex value) {
    Value at = l.mul(index, l.i64(size));
    m.storePlain(value.re, m.address(parts.re, at));
    m.storePlain(value.im, m.address(parts.im, at));
  }
  /// (cos, -sin) of 2 pi j / n as one array of each.
  Parts table(ArrayRef<int64_t> places, int64_t turn);

  void stage(Parts from, Parts to, int64_t l, int64_t r, llvm::function_ref<Parts()> room);
  void longTransform(int64_t r, llvm::function_ref<Complex(Value)> t, Parts folded,
                     llvm::function_ref<void(Value, Complex)> store);
};

} // namespace

static void append(std::string &bytes, double number, bool isSingle) {
  const auto single = static_cast<float>(number);
  bytes.append(isSingle ? reinterpret_cast<const char *>(&single)
                        : reinterpret_cast<const char *>(&number),
               isSingle ? sizeof single : sizeof number);
}

Parts Transform::table(ArrayRef<int64_t> places, int64_t turn) {
  std::string re, im;
  for (int64_t j : places) {
    const auto [cosine, sine] = penstock::scalar::turnOf(j, turn);
    append(re, cosine, element.isF32());
    append(im, -sine, element.isF32());
  }
  return {data(re), data(im)};
}

/// A short transform with loops. `folded` has room for r - 1 elements: s, then d.
void Transform::longTransform(int64_t r, llvm::function_ref<Complex(Value)> t, Parts folded,
                              llvm::function_ref<void(Value, Complex)> store) {
  const int64_t h = (r - 1) / 2;
  SmallVector<int64_t> places;
  for (int64_t j = 0; j < r; ++j)
    places.push_back(j);
  const Parts turns = table(places, r);
  const Complex first = t(l.i64(0));
  auto sums = [&](ValueRange inits, llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body, int64_t from) {
    OpBuilder::InsertionGuard guard(b);
    auto op = openLoop(b, l, l.i64(from), l.i64(h + 1), 1, inits);
    b.create<scf::YieldOp>(l.loc, body(op.getInductionVar(), op.getRegionIterArgs()));
    return SmallVector<Value>(op.getResults());
  };
  auto sum = sums({first.re, first.im}, [&](Value i, ValueRange state) {
    const Complex low = t(i), high = t(l.sub(l.i64(r), i)), s = add(low, high);
    Value at = l.sub(i, l.i64(1));
    write(folded, at, s);
    write(folded, l.add(at, l.i64(h)), sub(low, high));
    return SmallVector<Value>{add(state[0], s.re), add(state[1], s.im)};
  }, 1);
  store(l.i64(0), {sum[0], sum[1]});
  loop(l.i64(1), l.i64(h + 1), [&](Value p) {
    /// The two products of term i.
    auto term = [&](Value i) -> std::pair<Complex, Complex> {
      Value at = l.sub(i, l.i64(1)), place = l.remS(l.mul(i, p), l.i64(r));
      Value cosine = read(turns.re, place, true);
      Value sine = b.create<arith::NegFOp>(l.loc, read(turns.im, place, true));
      return {scale(cosine, read(folded, at)), scale(sine, read(folded, l.add(at, l.i64(h))))};
    };
    const auto [a1, b1] = term(l.i64(1));
    const Complex a0 = add(first, a1);
    auto all = sums({a0.re, a0.im, b1.re, b1.im}, [&](Value i, ValueRange state) {
      const auto [even, odd] = term(i);
      return SmallVector<Value>{add(state[0], even.re), add(state[1], even.im), add(state[2], odd.re),
                                add(state[3], odd.im)};
    }, 2);
    store(p, {add(all[0], all[3]), sub(all[1], all[2])});
    store(l.sub(l.i64(r), p), {sub(all[0], all[3]), add(all[1], all[2])});
  });
}

/// From arrays of transforms of length `done` to such of length `done` * r.
void Transform::stage(Parts from, Parts to, int64_t done, int64_t r, llvm::function_ref<Parts()> room) {
  const int64_t s = n / (done * r), width = lanes;
  if (done % lanes || r > largestUnrolled)
    lanes = 1;
  SmallVector<int64_t> places;
  for (int64_t q = 1; q < r; ++q)
    for (int64_t k = 0; k < done; ++k)
      places.push_back(q * k);
  const Parts turns = done > 1 ? table(places, done * r) : Parts{};
  const Parts folded = r > largestUnrolled ? room() : Parts{};
  loop(l.i64(0), l.i64(s), [&](Value j) {
    loop(l.i64(0), l.i64(done / lanes), [&](Value run) {
      Value k = l.mul(run, l.i64(lanes));
      auto input = [&](Value q) {
        return read(from, l.add(l.mul(l.add(j, l.mul(q, l.i64(s))), l.i64(done)), k));
      };
      auto turned = [&](Value q) {
        Value at = l.add(l.mul(l.sub(q, l.i64(1)), l.i64(done)), k);
        return mul(input(q), {read(turns.re, at, true), read(turns.im, at, true)});
      };
      auto store = [&](Value p, Complex value) {
        write(to, l.add(l.add(l.mul(j, l.i64(done * r)), k), l.mul(p, l.i64(done))), value);
      };
      if (r > largestUnrolled) {
        // Element 0 is asked for by number, the others in loops.
        auto element = [&](Value q) {
          return done > 1 && Lanes::constantOf(q) != 0 ? turned(q) : input(q);
        };
        return longTransform(r, element, folded, store);
      }
      SmallVector<Complex> t;
      for (int64_t q = 0; q < r; ++q)
        t.push_back(done > 1 && q > 0 ? turned(l.i64(q)) : input(l.i64(q)));
      for (auto [p, value] : llvm::enumerate(shortTransform(*this, t)))
        store(l.i64(static_cast<int64_t>(p)), value);
    });
  });
  lanes = width;
}

static LogicalResult emitFft(const Site &site, FftOp op) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType in = typeOf(op.getValue()), out = typeOf(op.getResult());
  Type element = in.getElementType();
  const int64_t axis = in.axisIndex(op.getAxis()), n = in.getAxes()[axis].extent;
  const bool even = n % 2 == 0;
  const int64_t length = even ? n / 2 : n;
  auto buffer = bufferFor(site, op.getResult());
  if (failed(buffer))
    return failure();
  Transform f(l, m, element, length);
  auto data = [&](std::string bytes) { return readOnlyData(site, std::move(bytes)); };
  auto loop = [&](Value low, Value high, llvm::function_ref<void(Value)> body) { forLoop(site, low, high, 1, body); };
  f.data = data;
  f.loop = loop;
  auto room = [&]() -> Parts {
    // Of constant size, so it is always to be had.
    return {*scratchBytes(site, length * f.size, {}), *scratchBytes(site, length * f.size, {})};
  };
  Parts one = room(), other = room(), folded = room();
  const Parts turns = even ? f.table(llvm::to_vector(llvm::seq<int64_t>(0, length + 1)), n) : Parts{};

  SmallVector<Value> others;
  for (int64_t i = 0; i < in.getRank(); ++i)
    if (i != axis)
      others.push_back(extent(site, op.getValue(), i));
  carriedNest(b, l, others, {}, [&](ArrayRef<Value> where, ValueRange) {
    SmallVector<Index> at;
    for (Value index : where)
      at.push_back(m.uniform(index));
    at.insert(at.begin() + axis, Index{});
    auto input = [&](Value place) {
      at[axis] = m.uniform(place);
      return emit(site, op.getValue(), at).value;
    };
    forLoop(site, l.i64(0), l.i64(length), 1, [&](Value j) {
      Value place = even ? l.shl(j, 1) : j;
      Value re = input(place);
      f.write(one, j, {re, even ? input(l.add(place, l.i64(1))) : f.constant(0.0)});
    });
    Parts from = one, to = other;
    int64_t done = 1;
    for (int64_t r : factorsOf(length)) {
      f.lanes = l.has.lanesOf(f.size);
      f.stage(from, to, done, r, [&] { return folded; });
      std::swap(from, to);
      done *= r;
    }
    f.lanes = 1;
    auto store = [&](Value k, Complex value) {
      SmallVector<Index> result(at);
      result[axis] = m.uniform(k);
      result.push_back(m.constant(0));
      m.store(*buffer, result, l.wrap(value.re, element));
      result.back() = m.constant(1);
      m.store(*buffer, result, l.wrap(value.im, element));
    };
    forLoop(site, l.i64(0), l.i64(out.getAxes()[axis].extent), 1, [&](Value k) {
      if (!even)
        return store(k, f.read(from, k));
      Value half = f.constant(0.5);
      const Complex a = f.read(from, l.remS(k, l.i64(length)));
      const Complex c = f.read(from, l.remS(l.sub(l.i64(length), k), l.i64(length)));
      const Complex e{f.mul(f.add(a.re, c.re), half), f.mul(f.sub(a.im, c.im), half)};
      const Complex o{f.mul(f.add(a.im, c.im), half), f.mul(f.sub(c.re, a.re), half)};
      store(k, f.add(e, f.mul(o, {f.read(turns.re, k, true), f.read(turns.im, k, true)})));
    });
    return SmallVector<Value>{};
  });
  return success();
}

namespace penstock::conversion {
void registerFft(WholeOps &all);
}
void penstock::conversion::registerFft(WholeOps &all) { all.add<FftOp>(emitFft); }
