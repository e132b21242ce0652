// SPDX-License-Identifier: Apache-2.0
//
// A pipeline while it is being made.
#pragma once

#include "test/differential/Generator.h"
#include "test/differential/Rng.h"

namespace penstock::differential {

/// An axis of a result: a static extent, or a scalar that is at most `most`.
struct Dim {
  std::string name;
  mlir::Value size; // null: static
  int64_t most = 1; // the extent, where it is static
};
using Dims = std::vector<Dim>;

class Draft {
public:
  Draft(mlir::MLIRContext &context, const Recipe &recipe);

  const bool isChain;
  const bool empties; ///< every eighth case has extents of 0
  const uint64_t seed;

  mlir::OpBuilder builder;
  mlir::Location loc;
  Rng rng;
  std::vector<mlir::Value> tensors, scalars;
  /// Choices for what has this name, which change no others.
  Rng choicesFor(const std::string &name) const {
    return Rng(random::mix(seed, random::drawId(name)));
  }
  /// The key that draws use here.
  mlir::Value key;
  /// A number of elements of at most `most`.
  int64_t someOf(int64_t most) { return rng.between(empties || most == 0 ? 0 : 1, most); }

  //===--- building blocks --------------------------------------------------===//
  mlir::Value constant(int64_t value);
  mlir::Value real(double value);
  mlir::Value binary(pipe::BinaryKind kind, mlir::Value a, mlir::Value b);
  /// A drawn integer in low ..< end, or sometimes `low` itself.
  mlir::Value drawInteger(mlir::Value low, mlir::Value end);
  mlir::Value drawReal(double low, double high);
  mlir::Value coin();

  Dims dimsOf(mlir::Value tensor);
  /// Returns whether an axis has no element in some sample: what reads one does not fit there.
  bool mayBeEmpty(const Dim &dim) const { return dim.size ? empties : dim.most == 0; }
  /// The size of an axis as a scalar.
  mlir::Value sizeOf(const Dim &dim);
  pipe::NamedTensorType typeOf(mlir::Type element, const Dims &dims);
  std::vector<mlir::Value> sizesOf(const Dims &dims);
  /// Remembers how large the result of an op can be.
  mlir::Value remember(mlir::Value tensor, const Dims &dims);
  std::string freshAxis() { return "x" + std::to_string(axes++); }
  mlir::Type element(mlir::Value tensor) const {
    return llvm::cast<pipe::NamedTensorType>(tensor.getType()).getElementType();
  }
  mlir::Type anyElement();
  mlir::Value scalarOf(mlir::Type type);

  //===--- steps (null where one does not fit) ------------------------------===//
  // Views.cpp
  mlir::Value crop(mlir::Value x, bool fixed = false);
  mlir::Value flip(mlir::Value x);
  mlir::Value transpose(mlir::Value x);
  mlir::Value stride(mlir::Value x);
  /// The same elements, of which one axis has another name.
  mlir::Value rename(mlir::Value x);
  mlir::Value pickIndex(mlir::Value x);
  /// All elements at one place of the last axis.
  mlir::Value channel(mlir::Value x);
  mlir::Value frames(mlir::Value x);
  mlir::Value broadcast(mlir::Value x);
  mlir::Value pad(mlir::Value x);
  mlir::Value concat(mlir::Value x);
  mlir::Value stack(mlir::Value x);
  /// Two to four channels of the same image.
  mlir::Value pixels(mlir::Value x);
  mlir::Value place(mlir::Value x);
  /// The same values with every dynamic axis padded to its largest extent.
  mlir::Value padToStatic(mlir::Value x);
  // Regions.cpp
  mlir::Value map(mlir::Value x, bool sameType = false);
  mlir::Value anyTable();
  /// Constants along one of these axes, such as one for each channel; null: none is known.
  mlir::Value constantsAlong(const Dims &dims);
  /// Roots of roots, which take long.
  mlir::Value roots(mlir::Value x);
  mlir::Value window(mlir::Value x);
  mlir::Value gather(mlir::Value x);
  mlir::Value expression(std::vector<mlir::Value> leaves, mlir::Type wanted);
  mlir::Value mix(mlir::Value a, mlir::Value b);
  // Steps.cpp
  /// Returns how many elements it has at most.
  int64_t elements(mlir::Value tensor);
  mlir::Value cast(mlir::Value x);
  mlir::Value resample(mlir::Value x);
  mlir::Value reduce(mlir::Value x);
  /// Over the axes that `isOver` says; null where it says none.
  mlir::Value reduceOver(mlir::Value x, const std::vector<bool> &isOver);
  mlir::Value reduceBeside(mlir::Value x);
  mlir::Value reduceTiles(mlir::Value x);
  mlir::Value scan(mlir::Value x);
  mlir::Value histogram(mlir::Value x);
  mlir::Value contract(mlir::Value x);
  std::vector<int64_t> matrix(int64_t rows, int64_t columns, bool isBanded);
  mlir::Value repeated(mlir::Value x);
  mlir::Value sort(mlir::Value x);
  mlir::Value compact(mlir::Value x);
  mlir::Value group(mlir::Value x);
  mlir::Value fft(mlir::Value x);
  mlir::Value scatter(mlir::Value x);
  mlir::Value filter(mlir::Value x);
  mlir::Value codec(mlir::Value x);
  mlir::Value maskOver(const Dim &dim);
  mlir::Value choose(mlir::Value x);
  mlir::Value repeat(mlir::Value x);
  mlir::Value each(mlir::Value x);
  mlir::Value search();
  /// An op that keeps type and extents.
  mlir::Value sameShape(mlir::Value x);
  mlir::Value step();
  /// A step of one kind for each element: what long chains are made of. `rereads`: mostly those
  /// that read their input at several places.
  mlir::Value shortStep(bool rereads);
  mlir::Value reread(mlir::Value x);
  // Chains.cpp
  /// Step `number` of a chain, of the newest value: mostly a move, then a change of each element,
  /// then a read of several; or three at once of which schedules make one.
  mlir::Value chained(int64_t number);

private:
  mlir::Value viewOf(mlir::Value x, const Dims &dims, std::vector<mlir::AffineExpr> results,
                     std::vector<mlir::Value> symbols);
  mlir::Value armIndex(unsigned count);
  mlir::Value resampleAlong(mlir::Value x, size_t axis, pipe::Filter filter, bool antialias,
                            bool pillow);
  const bool codecs; ///< every eighth case has them: nobody's code is compared there
  int64_t draws = 0, axes = 0;
  int depth = 0; // of choices and loops around the builder's place
  llvm::DenseMap<mlir::Value, std::vector<int64_t>> most;
};

} // namespace penstock::differential
