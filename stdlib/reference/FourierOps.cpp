// SPDX-License-Identifier: Apache-2.0
//
// Class R: fft.
//
// docs/rationale/fft.md, word by word.
#include "runtime/abi/fourier.h"
#include "stdlib/reference/Machine.h"

namespace penstock::reference {

namespace {
template <typename T> struct Complex {
  T re, im;
};
template <typename T> Complex<T> operator+(Complex<T> a, Complex<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <typename T> Complex<T> operator-(Complex<T> a, Complex<T> b) {
  return {a.re - b.re, a.im - b.im};
}
template <typename T> Complex<T> operator*(Complex<T> a, Complex<T> w) {
  return {a.re * w.re - a.im * w.im, a.re * w.im + a.im * w.re};
}
template <typename T> using Line = std::vector<Complex<T>>;
} // namespace

template <typename T> static Complex<T> w(int64_t j, int64_t n) {
  const scalar::Twiddle twiddle = scalar::twiddleOf(j, n);
  return {static_cast<T>(twiddle.cosine), static_cast<T>(-twiddle.sine)};
}

static std::vector<int64_t> factorsOf(int64_t n) {
  std::vector<int64_t> factors;
  for (int64_t factor = 4; n > 1; factor = factor == 4 ? 2 : factor == 2 ? 3 : factor + 2)
    for (; n % factor == 0; n /= factor)
      factors.push_back(factor);
  return factors;
}

template <typename T> static Line<T> shortTransform(const Line<T> &t) {
  const size_t r = t.size(), h = (r - 1) / 2;
  if (r == 2)
    return {t[0] + t[1], t[0] - t[1]};
  if (r == 4) {
    const Complex<T> a = t[0] + t[2], b = t[0] - t[2], c = t[1] + t[3], d = t[1] - t[3];
    return {a + c, {b.re + d.im, b.im - d.re}, a - c, {b.re - d.im, b.im + d.re}};
  }
  Line<T> u(r, t[0]);
  for (size_t i = 1; i <= h; ++i)
    u[0] = u[0] + (t[i] + t[r - i]);
  for (size_t p = 1; p <= h; ++p) {
    Complex<T> a = t[0], b{};
    for (size_t i = 1; i <= h; ++i) {
      const scalar::Twiddle twiddle =
          scalar::twiddleOf(static_cast<int64_t>(i * p % r), static_cast<int64_t>(r));
      const T cosine = static_cast<T>(twiddle.cosine), sine = static_cast<T>(twiddle.sine);
      const Complex<T> s = t[i] + t[r - i], d = t[i] - t[r - i];
      const Complex<T> scaled{sine * d.re, sine * d.im};
      a = a + Complex<T>{cosine * s.re, cosine * s.im};
      b = i == 1 ? scaled : b + scaled;
    }
    u[p] = {a.re + b.im, a.im - b.re};
    u[r - p] = {a.re - b.im, a.im + b.re};
  }
  return u;
}

template <typename T> static Line<T> transform(Line<T> from) {
  const auto n = static_cast<int64_t>(from.size());
  Line<T> to(from.size());
  int64_t l = 1;
  for (int64_t r : factorsOf(n)) {
    const int64_t s = n / (l * r);
    for (int64_t j = 0; j < s; ++j)
      for (int64_t k = 0; k < l; ++k) {
        Line<T> t;
        for (int64_t q = 0; q < r; ++q) {
          t.push_back(from[static_cast<size_t>((j + s * q) * l + k)]);
          if (l > 1 && q > 0)
            t.back() = t.back() * w<T>(q * k, l * r);
        }
        const Line<T> u = shortTransform(t);
        for (int64_t p = 0; p < r; ++p)
          to[static_cast<size_t>(j * l * r + k + l * p)] = u[static_cast<size_t>(p)];
      }
    std::swap(from, to);
    l *= r;
  }
  return from;
}

template <typename T> static Line<T> realTransform(const std::vector<T> &x) {
  const size_t n = x.size(), m = n / 2;
  Line<T> z;
  if (n % 2) {
    for (T value : x)
      z.push_back({value, 0});
    z = transform(z);
    z.resize(m + 1);
    return z;
  }
  for (size_t j = 0; j < m; ++j)
    z.push_back({x[2 * j], x[2 * j + 1]});
  z = transform(z);
  Line<T> result;
  for (size_t k = 0; k <= m; ++k) {
    const Complex<T> a = z[k % m], c = z[(m - k) % m];
    const T half = static_cast<T>(0.5);
    const Complex<T> e{(a.re + c.re) * half, (a.im - c.im) * half};
    const Complex<T> o{(a.im + c.im) * half, (c.re - a.re) * half};
    result.push_back(e + o * w<T>(static_cast<int64_t>(k), static_cast<int64_t>(n)));
  }
  return result;
}

template <typename T> static void transformAlong(const Tensor &value, Tensor &result, size_t axis) {
  std::vector<int64_t> starts = value.extents;
  starts[axis] = 1;
  forEachIndex(starts, [&](const std::vector<int64_t> &start) {
    std::vector<int64_t> index = start;
    std::vector<T> x;
    for (; index[axis] < value.extents[axis]; ++index[axis])
      x.push_back(static_cast<T>(value.load(value.offset(index)).real));
    const Line<T> row = realTransform(x);
    index.push_back(0);
    for (size_t k = 0; k < row.size(); ++k) {
      index[axis] = static_cast<int64_t>(k);
      const int64_t at = result.offset(index);
      result.store(at, realScalar(row[k].re, value.type));
      result.store(at + 1, realScalar(row[k].im, value.type));
    }
  });
}

void runFft(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::FftOp>(self.op);
  const Tensor &value = machine.tensor(slot, op.getValue());
  Tensor result = machine.blank(slot, op.getResult());
  const auto axis = static_cast<size_t>(value.axis(op.getAxis().str()));
  for (size_t i = 0; i < value.extents.size(); ++i)
    if (result.extents[i] != (i == axis ? value.extents[i] / 2 + 1 : value.extents[i]))
      fault(op, "the result has another extent along `" + result.axes[i] + "`");
  if (value.type == DType::f32)
    transformAlong<float>(value, result, axis);
  else
    transformAlong<double>(value, result, axis);
  machine.set(slot, op.getResult(), std::move(result));
}

} // namespace penstock::reference
