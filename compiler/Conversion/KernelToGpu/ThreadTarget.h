// SPDX-License-Identifier: Apache-2.0
//
// Elements of a thread.
#pragma once

#include "compiler/Conversion/Elements/Target.h"
#include "compiler/Conversion/KernelToGpu/GpuElements.h"

namespace penstock::conversion {

/// The ElementTarget of a GPU. A thread takes one side of a choice.
struct ThreadTarget {
  using Number = mlir::Value;
  using Place = mlir::Value;
  template <typename... A> using Make = llvm::function_ref<mlir::Value(A...)>;
  using Step = llvm::function_ref<llvm::SmallVector<Number>(Place, llvm::ArrayRef<Number>)>;

  const GpuSite &site;

  Number element(mlir::Value tensor, GpuIndices at) const;
  Number tabled(pipe::ConstantOp op, GpuIndices at) const;
  mlir::Value extent(mlir::Value tensor, int64_t axis) const;
  llvm::SmallVector<Number> valuesOf(mlir::Block &body, llvm::ArrayRef<Number> arguments,
                                     GpuIndices at) const;

  Number constant(mlir::TypedAttr value, mlir::Type type) const;
  Number real(double number) const { return site.s.real(number); }
  Number unary(pipe::UnaryKind kind, Number x) const { return site.s.unary(kind, x); }
  Number binary(pipe::BinaryKind kind, Number x, Number y) const;
  Number cast(Number x, mlir::Type type, pipe::CastMode mode) const;
  Number pillowSum() const { return conversion::pillowSum(site); }
  Number ofPillowSum(Number sum, mlir::Type type) const;

  Place place(int64_t number) const { return site.x.constant(number); }
  Place scalarPlace(mlir::Value scalar) const;
  Place placeOf(Number whole, bool hasNeighbours) const;
  std::optional<int64_t> known(Place place) const { return IndexMath::constantOf(place); }
  Place add(Place place, Place by) const { return site.x.add(place, by); }
  Place sub(Place place, Place by) const { return site.x.sub(place, by); }
  Place affine(mlir::AffineExpr expr, GpuIndices dims, GpuIndices symbols) const;
  Place bordered(Place place, mlir::Value extent, pipe::Border border, mlir::Value &inside) const;

  mlir::Value within(Number x, mlir::Value extent, mlir::Value inside) const;
  Number orFill(mlir::Value condition, Make<> element, mlir::Value fill) const;
  Number elementOr(mlir::Value inside, mlir::Value tensor, GpuIndices at, GpuIndices near,
                   Make<> other) const;
  Number split(Place place, mlir::Value extent, mlir::Type type, Make<Place> here,
               Make<Place> beyond) const;
  Number oneOf(mlir::Operation *op, llvm::function_ref<Place()> index, int64_t count,
               mlir::Type type, Make<int64_t> arm) const;
  llvm::SmallVector<Number> accumulate(mlir::Value tensor, int64_t axis,
                                       llvm::ArrayRef<Number> inits, Step step) const;
};

} // namespace penstock::conversion
