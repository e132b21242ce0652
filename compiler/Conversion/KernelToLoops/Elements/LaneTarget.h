// SPDX-License-Identifier: Apache-2.0
//
// Elements in the lanes of a CPU.
#pragma once

#include "compiler/Conversion/Elements/Target.h"
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"

namespace penstock::conversion {

/// The ElementTarget of a CPU. Lanes that differ take both sides of a choice: places are moved
/// inside, and what is not wanted is dropped.
struct LaneTarget {
  using Number = LaneValue;
  using Place = Index;
  using Places = llvm::ArrayRef<Index>;
  template <typename... A> using Make = llvm::function_ref<LaneValue(A...)>;
  using Step = llvm::function_ref<llvm::SmallVector<Number>(Index, llvm::ArrayRef<Number>)>;

  const Site &site;
  bool isVector; ///< elements differ between lanes

  Number element(mlir::Value tensor, Places at) const { return emit(site, tensor, at); }
  Number tabled(pipe::ConstantOp op, Places at) const;
  mlir::Value extent(mlir::Value tensor, int64_t axis) const;
  llvm::SmallVector<Number> valuesOf(mlir::Block &body, llvm::ArrayRef<Number> arguments,
                                     Places at) const;

  Number constant(mlir::TypedAttr value, mlir::Type) const { return site.m.l.constant(value); }
  Number real(double number) const;
  Number unary(pipe::UnaryKind kind, Number x) const { return site.m.l.unary(kind, x); }
  Number binary(pipe::BinaryKind kind, Number x, Number y) const;
  Number cast(Number x, mlir::Type type, pipe::CastMode mode) const;
  Number pillowSum() const;
  Number ofPillowSum(Number sum, mlir::Type type) const;

  Index place(int64_t number) const { return site.m.constant(number); }
  Index scalarPlace(mlir::Value scalar) const;
  Index placeOf(Number whole, bool hasNeighbours) const;
  std::optional<int64_t> known(const Index &place) const;
  Index add(const Index &place, const Index &by) const { return site.m.add(place, by); }
  Index sub(const Index &place, const Index &by) const;
  Index affine(mlir::AffineExpr expr, Places dims, Places symbols) const;
  Index bordered(const Index &place, mlir::Value extent, pipe::Border border,
                 mlir::Value &inside) const;

  mlir::Value within(Number x, mlir::Value extent, mlir::Value inside) const;
  Number orFill(mlir::Value condition, Make<> element, mlir::Value fill) const;
  Number elementOr(mlir::Value inside, mlir::Value tensor, Places at, Places near,
                   Make<> other) const;
  Number split(const Index &place, mlir::Value extent, mlir::Type type, Make<Index> here,
               Make<Index> beyond) const;
  Number oneOf(mlir::Operation *op, llvm::function_ref<Index()> index, int64_t count,
               mlir::Type type, Make<int64_t> arm) const;
  llvm::SmallVector<Number> accumulate(mlir::Value tensor, int64_t axis,
                                       llvm::ArrayRef<Number> inits, Step step) const;
};

} // namespace penstock::conversion
