// SPDX-License-Identifier: Apache-2.0
//
// The stages of a Fourier transform: arrays of short transforms into such of longer ones.
#pragma once

#include "compiler/Conversion/Fourier.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"

namespace penstock::conversion {

/// Where the parts of an array begin.
using Parts = Complex;

/// Complex arithmetic on elements, or vectors of them, of one type.
class Transform : public ComplexArithmetic<Transform> {
public:
  Transform(const Site &site, mlir::Type element, int64_t n)
      : site(site), l(site.m.l), m(site.m), b(l.b), element(element),
        size(pipe::scalarBytes(element)), n(n) {}

  const Site &site;
  const Lanes &l;
  const Memory &m;
  mlir::OpBuilder &b;
  mlir::Type element;
  int64_t size, n;
  int64_t lanes = 1;  ///< elements that are read and written at once
  int64_t beside = 1; ///< transforms whose elements lie side by side; with more, `lanes` is 1

  void loop(mlir::Value low, mlir::Value high, llvm::function_ref<void(mlir::Value)> body) {
    forLoop(site, low, high, 1, body);
  }
  mlir::Value add(mlir::Value x, mlir::Value y) {
    return b.create<mlir::arith::AddFOp>(l.loc, x, y);
  }
  mlir::Value sub(mlir::Value x, mlir::Value y) {
    return b.create<mlir::arith::SubFOp>(l.loc, x, y);
  }
  mlir::Value mul(mlir::Value x, mlir::Value y) {
    return b.create<mlir::arith::MulFOp>(l.loc, x, y);
  }
  using ComplexArithmetic::add;
  using ComplexArithmetic::mul;
  using ComplexArithmetic::sub;
  mlir::Value constant(double number) {
    mlir::Value value = b.create<mlir::arith::ConstantOp>(l.loc, b.getFloatAttr(element, number));
    return splat(value);
  }
  mlir::Value splat(mlir::Value value) {
    return site.withLanes(std::max(lanes, beside)).m.l.splat(value);
  }

  /// Tables have each number once.
  mlir::Value read(mlir::Value array, mlir::Value index, bool isTable = false) {
    const int64_t apart = isTable ? 1 : beside, width = isTable ? lanes : std::max(lanes, beside);
    mlir::Type type = width > 1 ? mlir::Type(mlir::VectorType::get({width}, element)) : element;
    return splat(m.loadPlain(type, m.address(array, l.mul(index, l.i64(size * apart))), isTable));
  }
  Complex read(Parts parts, mlir::Value index) {
    return {read(parts.re, index), read(parts.im, index)};
  }
  void write(Parts parts, mlir::Value index, Complex value) {
    mlir::Value at = l.mul(index, l.i64(size * beside));
    m.storePlain(value.re, m.address(parts.re, at));
    m.storePlain(value.im, m.address(parts.im, at));
  }
  /// (cos, -sin) of 2 pi j / n as one array of each.
  Parts table(llvm::ArrayRef<int64_t> places, int64_t length);

  void stage(Parts from, Parts to, int64_t l, int64_t r, llvm::function_ref<Parts()> room);
  void longTransform(int64_t r, llvm::function_ref<Complex(mlir::Value)> t, Parts folded,
                     llvm::function_ref<void(mlir::Value, Complex)> store);
};

} // namespace penstock::conversion
