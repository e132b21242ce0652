// SPDX-License-Identifier: Apache-2.0
//
// The stages of a Fourier transform. docs/rationale/fft.md defines every operation.
#include "compiler/Conversion/KernelToLoops/Whole/FftStages.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

static void append(std::string &bytes, double number, bool isSingle) {
  const auto single = static_cast<float>(number);
  bytes.append(isSingle ? reinterpret_cast<const char *>(&single)
                        : reinterpret_cast<const char *>(&number),
               isSingle ? sizeof single : sizeof number);
}

Parts Transform::table(ArrayRef<int64_t> places, int64_t length) {
  std::string re, im;
  for (int64_t j : places) {
    const auto [cosine, sine] = penstock::scalar::twiddleOf(j, length);
    append(re, cosine, element.isF32());
    append(im, -sine, element.isF32());
  }
  return {readOnlyData(site, std::move(re)), readOnlyData(site, std::move(im))};
}

/// A short transform with loops. `folded` has room for r - 1 elements: s, then d.
void Transform::longTransform(int64_t r, llvm::function_ref<Complex(Value)> t, Parts folded,
                              llvm::function_ref<void(Value, Complex)> store) {
  const int64_t h = (r - 1) / 2;
  SmallVector<int64_t> places;
  for (int64_t j = 0; j < r; ++j)
    places.push_back(j);
  const Parts twiddles = table(places, r);
  const Complex first = t(l.i64(0));
  auto sums = [&](ValueRange inits, llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body,
                  int64_t from) {
    OpBuilder::InsertionGuard guard(b);
    auto op = openLoop(b, l, l.i64(from), l.i64(h + 1), 1, inits);
    b.create<scf::YieldOp>(l.loc, body(op.getInductionVar(), op.getRegionIterArgs()));
    return SmallVector<Value>(op.getResults());
  };
  auto sum = sums(
      {first.re, first.im},
      [&](Value i, ValueRange state) {
        const Complex low = t(i), high = t(l.sub(l.i64(r), i)), s = add(low, high);
        Value at = l.sub(i, l.i64(1));
        write(folded, at, s);
        write(folded, l.add(at, l.i64(h)), sub(low, high));
        return SmallVector<Value>{add(state[0], s.re), add(state[1], s.im)};
      },
      1);
  store(l.i64(0), {sum[0], sum[1]});
  loop(l.i64(1), l.i64(h + 1), [&](Value p) {
    /// The two products of term i.
    auto term = [&](Value i) -> std::pair<Complex, Complex> {
      Value at = l.sub(i, l.i64(1)), place = l.remS(l.mul(i, p), l.i64(r));
      Value cosine = read(twiddles.re, place, true);
      Value sine = b.create<arith::NegFOp>(l.loc, read(twiddles.im, place, true));
      return {scale(cosine, read(folded, at)), scale(sine, read(folded, l.add(at, l.i64(h))))};
    };
    const auto [a1, b1] = term(l.i64(1));
    const Complex a0 = add(first, a1);
    auto all = sums(
        {a0.re, a0.im, b1.re, b1.im},
        [&](Value i, ValueRange state) {
          const auto [even, odd] = term(i);
          return SmallVector<Value>{add(state[0], even.re), add(state[1], even.im),
                                    add(state[2], odd.re), add(state[3], odd.im)};
        },
        2);
    store(p, {add(all[0], all[3]), sub(all[1], all[2])});
    store(l.sub(l.i64(r), p), {sub(all[0], all[3]), add(all[1], all[2])});
  });
}

/// From arrays of transforms of length `done` to such of length `done` * r.
void Transform::stage(Parts from, Parts to, int64_t done, int64_t r,
                      llvm::function_ref<Parts()> room) {
  const int64_t s = n / (done * r), width = lanes;
  if (beside > 1 || done % lanes || r > largestUnrolled)
    lanes = 1;
  SmallVector<int64_t> places;
  for (int64_t q = 1; q < r; ++q)
    for (int64_t k = 0; k < done; ++k)
      places.push_back(q * k);
  const Parts twiddles = done > 1 ? table(places, done * r) : Parts{};
  const Parts folded = r > largestUnrolled ? room() : Parts{};
  loop(l.i64(0), l.i64(s), [&](Value j) {
    loop(l.i64(0), l.i64(done / lanes), [&](Value run) {
      Value k = l.mul(run, l.i64(lanes));
      auto input = [&](Value q) {
        return read(from, l.add(l.mul(l.add(j, l.mul(q, l.i64(s))), l.i64(done)), k));
      };
      auto turned = [&](Value q) {
        Value at = l.add(l.mul(l.sub(q, l.i64(1)), l.i64(done)), k);
        return mul(input(q), {read(twiddles.re, at, true), read(twiddles.im, at, true)});
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
