// SPDX-License-Identifier: Apache-2.0
//
// The Fourier transform.
//
// docs/rationale/fft.md defines every operation. A stage is a pass over all
// lines at once, from one array to the other; all its short transforms are
// independent.
#include "compiler/Conversion/Fourier.h"
#include "compiler/Conversion/KernelToGpu/GpuEmitter.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

namespace {
/// Arithmetic on complex numbers as the scalar ops of the dialect.
struct ComplexMath : ComplexArithmetic<ComplexMath> {
  ComplexMath(OpBuilder &b, Location loc, Type element) : b(b), loc(loc), element(element) {}

  OpBuilder &b;
  Location loc;
  Type element;

  Value binary(BinaryKind kind, Value x, Value y) { return b.create<BinaryOp>(loc, kind, x, y); }
  Value add(Value x, Value y) { return binary(BinaryKind::add, x, y); }
  Value sub(Value x, Value y) { return binary(BinaryKind::sub, x, y); }
  Value mul(Value x, Value y) { return binary(BinaryKind::mul, x, y); }
  using ComplexArithmetic::add;
  using ComplexArithmetic::mul;
  using ComplexArithmetic::sub;
  Value constant(double number) {
    return b.create<ConstantOp>(loc, element, b.getFloatAttr(element, number));
  }
};
} // namespace

/// cos and -sin of 2 pi j / n for j = 0 .. n: those of every stage are among them,
/// bit for bit, for a turn's fraction is divided out before anything is rounded.
static std::pair<DenseElementsAttr, DenseElementsAttr> turnsOf(int64_t n, Type element) {
  auto type = RankedTensorType::get({n}, element);
  auto tableOf = [&](auto numberOf) {
    SmallVector<Attribute> numbers;
    for (int64_t j = 0; j < n; ++j)
      numbers.push_back(FloatAttr::get(element, numberOf(penstock::scalar::turnOf(j, n))));
    return DenseElementsAttr::get(type, numbers);
  };
  return {tableOf([](auto turn) { return turn.cosine; }),
          tableOf([](auto turn) { return -turn.sine; })};
}

void GpuEmitter::fft(FftOp op, const Buffer &to, ArrayRef<Buffer> work) {
  NamedTensorType in = typeOf(op.getValue());
  Type element = in.getElementType();
  const int64_t along = in.axisIndex(op.getAxis()), n = in.getAxes()[along].extent;
  const bool even = n % 2 == 0;
  const int64_t length = even ? n / 2 : n;
  ComplexMath f{b, loc, element};
  const auto tables = turnsOf(n, element);
  const Buffer cosines{tableOf(tables.first, element), {x.constant(1)}},
      sines{tableOf(tables.second, element), {x.constant(1)}};
  auto turn = [&](Value j) { return Complex{load(cosines, j), load(sines, j)}; };

  // Lines run along the axis, and are numbered by all others.
  SmallVector<std::string> lineNames;
  SmallVector<Value> lines;
  for (int64_t axis = 0; axis < in.getRank(); ++axis) {
    if (axis == along)
      continue;
    lineNames.push_back(in.getAxes()[axis].name);
    lines.push_back(extent(op.getValue(), axis));
  }
  auto pass = [&](ArrayRef<std::string> names, ArrayRef<int64_t> extents,
                  llvm::function_ref<void(Indices line, Indices at)> body) {
    SmallVector<std::string> allNames(lineNames);
    allNames.append(names.begin(), names.end());
    SmallVector<Value> all(lines);
    for (int64_t size : extents)
      all.push_back(x.constant(size));
    nest(allNames, all, "threads",
         [&](Indices at) { body(at.take_front(lines.size()), at.drop_front(lines.size())); });
  };
  auto with = [](Indices line, Value place) {
    SmallVector<Value> at(line);
    at.push_back(place);
    return at;
  };
  auto read = [&](ArrayRef<Buffer> from, Indices line, Value place) {
    return Complex{load(from[0], with(line, place)), load(from[1], with(line, place))};
  };
  auto write = [&](Complex value, ArrayRef<Buffer> to, Indices line, Value place) {
    save(value.re, to[0], with(line, place));
    save(value.im, to[1], with(line, place));
  };
  auto input = [&](Indices line, Value place) {
    SmallVector<Value> at(line);
    at.insert(at.begin() + along, place);
    return this->element(op.getValue(), at);
  };

  ArrayRef<Buffer> from = work.take_front(2), next = work.drop_front(2);
  pass({"j"}, length, [&](Indices line, Indices at) {
    Value place = even ? x.mul(at[0], x.constant(2)) : at[0];
    write({input(line, place), even ? input(line, x.add(place, x.constant(1))) : f.constant(0.0)},
          from, line, at[0]);
  });
  barrier();
  int64_t done = 1;
  for (int64_t r : factorsOf(length)) {
    const int64_t count = length / (done * r), h = (r - 1) / 2, finest = n / (done * r);
    const bool isLong = r > largestUnrolled;
    SmallVector<std::string> names{"j", "k"};
    SmallVector<int64_t> extents{count, done};
    if (isLong) { // a thread for each pair of results
      names.push_back("p");
      extents.push_back(h + 1);
    }
    pass(names, extents, [&](Indices line, Indices at) {
      Value j = at[0], k = at[1];
      auto element = [&](Value q, bool isFirst) {
        Value place = x.add(x.mul(x.add(j, x.mul(q, x.constant(count))), x.constant(done)), k);
        const Complex value = read(from, line, place);
        return done > 1 && !isFirst ? f.mul(value, turn(x.mul(x.mul(q, k), x.constant(finest))))
                                    : value;
      };
      auto store = [&](Value p, Complex value) {
        Value place = x.add(x.add(x.mul(j, x.constant(done * r)), k), x.mul(p, x.constant(done)));
        write(value, next, line, place);
      };
      const Complex first = element(x.constant(0), true);
      if (!isLong) {
        SmallVector<Complex> t{first};
        for (int64_t q = 1; q < r; ++q)
          t.push_back(element(x.constant(q), false));
        for (auto [p, value] : llvm::enumerate(shortTransform(f, t)))
          store(x.constant(static_cast<int64_t>(p)), value);
        return;
      }
      /// The two products of term i.
      auto term = [&](Value i, Value p) {
        const Complex low = element(i, false), high = element(x.sub(x.constant(r), i), false);
        Value part = b.create<arith::RemUIOp>(loc, x.mul(i, p), x.constant(r));
        const Complex w = turn(x.mul(part, x.constant(n / r)));
        Value sine = b.create<UnaryOp>(loc, UnaryKind::neg, w.im);
        return std::pair(f.scale(w.re, f.add(low, high)), f.scale(sine, f.sub(low, high)));
      };
      const auto [a1, b1] = term(x.constant(1), at[2]);
      const Complex a0 = f.add(first, a1);
      auto sums =
          loop(x.constant(2), x.constant(h + 1), 1, {a0.re, a0.im, b1.re, b1.im},
               [&](Value i, ValueRange sofar) {
                 const auto [even, odd] = term(i, at[2]);
                 return SmallVector<Value>{f.add(sofar[0], even.re), f.add(sofar[1], even.im),
                                           f.add(sofar[2], odd.re), f.add(sofar[3], odd.im)};
               });
      const Complex a{sums[0], sums[1]}, c{sums[2], sums[3]};
      Value isFirst = x.compare(CmpIPredicate::eq, at[2], x.constant(0));
      when(isFirst, [&] { store(at[2], a); });
      when(x.compare(CmpIPredicate::sgt, at[2], x.constant(0)), [&] {
        store(at[2], {f.add(a.re, c.im), f.sub(a.im, c.re)});
        store(x.sub(x.constant(r), at[2]), {f.sub(a.re, c.im), f.add(a.im, c.re)});
      });
    });
    barrier();
    std::swap(from, next);
    done *= r;
  }
  pass({"freq"}, typeOf(op.getResult()).getAxes()[along].extent, [&](Indices line, Indices at) {
    Value k = at[0];
    Complex value;
    if (!even) {
      value = read(from, line, k);
    } else {
      auto around = [&](Value place) {
        return read(from, line, b.create<arith::RemUIOp>(loc, place, x.constant(length)));
      };
      Value half = f.constant(0.5);
      const Complex a = around(k), c = around(x.sub(x.constant(length), k));
      const Complex e{f.mul(f.add(a.re, c.re), half), f.mul(f.sub(a.im, c.im), half)};
      const Complex o{f.mul(f.add(a.im, c.im), half), f.mul(f.sub(c.re, a.re), half)};
      value = f.add(e, f.mul(o, turn(k)));
    }
    SmallVector<Value> place(line);
    place.insert(place.begin() + along, k);
    place.push_back(x.constant(0));
    save(value.re, to, place);
    place.back() = x.constant(1);
    save(value.im, to, place);
  });
}
