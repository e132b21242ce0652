// SPDX-License-Identifier: Apache-2.0
//
// The operations of a transform, in order.
#pragma once

#include "mlir/IR/Value.h"
#include "runtime/abi/fourier.h"
#include "llvm/ADT/SmallVector.h"

namespace penstock::conversion {

struct Complex {
  mlir::Value re, im;
};

/// Complex numbers over a `Math` that adds, subtracts and multiplies real ones.
template <typename Math> class ComplexArithmetic {
public:
  Complex add(Complex x, Complex y) { return {m().add(x.re, y.re), m().add(x.im, y.im)}; }
  Complex sub(Complex x, Complex y) { return {m().sub(x.re, y.re), m().sub(x.im, y.im)}; }
  Complex mul(Complex x, Complex w) {
    return {m().sub(m().mul(x.re, w.re), m().mul(x.im, w.im)),
            m().add(m().mul(x.re, w.im), m().mul(x.im, w.re))};
  }
  Complex scale(mlir::Value by, Complex x) { return {m().mul(by, x.re), m().mul(by, x.im)}; }

private:
  Math &m() { return static_cast<Math &>(*this); }
};

/// The largest factor whose short transform is unrolled.
inline constexpr int64_t largestUnrolled = 13;

/// The factors of a length, in the order of the stages.
inline llvm::SmallVector<int64_t> factorsOf(int64_t n) {
  llvm::SmallVector<int64_t> factors;
  for (int64_t factor = 4; n > 1; factor = factor == 4 ? 2 : factor == 2 ? 3 : factor + 2)
    for (; n % factor == 0; n /= factor)
      factors.push_back(factor);
  return factors;
}

/// A short transform as docs/rationale/fft.md has it. `f` has add, sub, scale and
/// constant, for numbers and for complex ones.
template <typename Arithmetic>
llvm::SmallVector<Complex> shortTransform(Arithmetic &f, llvm::ArrayRef<Complex> t) {
  const size_t r = t.size(), h = (r - 1) / 2;
  if (r == 2)
    return {f.add(t[0], t[1]), f.sub(t[0], t[1])};
  if (r == 4) {
    const Complex a = f.add(t[0], t[2]), b = f.sub(t[0], t[2]), c = f.add(t[1], t[3]),
                  d = f.sub(t[1], t[3]);
    return {f.add(a, c),
            {f.add(b.re, d.im), f.sub(b.im, d.re)},
            f.sub(a, c),
            {f.sub(b.re, d.im), f.add(b.im, d.re)}};
  }
  llvm::SmallVector<Complex> s(h + 1), d(h + 1), u(r, t[0]);
  for (size_t i = 1; i <= h; ++i) {
    s[i] = f.add(t[i], t[r - i]);
    d[i] = f.sub(t[i], t[r - i]);
    u[0] = f.add(u[0], s[i]);
  }
  for (size_t p = 1; p <= h; ++p) {
    Complex a = t[0], b{};
    for (size_t i = 1; i <= h; ++i) {
      const auto twiddle =
          scalar::twiddleOf(static_cast<int64_t>(i * p % r), static_cast<int64_t>(r));
      a = f.add(a, f.scale(f.constant(twiddle.cosine), s[i]));
      const Complex scaled = f.scale(f.constant(twiddle.sine), d[i]);
      b = i == 1 ? scaled : f.add(b, scaled);
    }
    u[p] = {f.add(a.re, b.im), f.sub(a.im, b.re)};
    u[r - p] = {f.sub(a.re, b.im), f.add(a.im, b.re)};
  }
  return u;
}

} // namespace penstock::conversion
