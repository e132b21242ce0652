// SPDX-License-Identifier: Apache-2.0
//
// Axes, views and the regions of elements.
#pragma once

#include "compiler/Import/Values/Scalars.h"

#include <functional>

namespace penstock::importer {

class Tensors : public Scalars {
public:
  using Scalars::Scalars;

  // --- Types, axes and extents (Types.cpp)
  static Val tensor(mlir::Value value);
  mlir::Type elementNamed(const std::string &name) const;
  std::string axisNamed(const std::string &name) const;
  /// The axes of a list, each of them once: a parameter of type `axes` stands for all of its own.
  std::vector<dsl::Name> axesNamed(const dsl::AxisList &list);
  /// Reports an axis that is there twice: two parameters may stand for one.
  void demandDistinct(llvm::ArrayRef<dsl::Name> axes);
  std::vector<Dim> dims(mlir::Value tensor);
  /// Returns the axes of a Tensor or of Neighbours.
  std::vector<Dim> axesOf(const Val &value);
  /// Reports at `hereRange` where there is no such type.
  pipe::NamedTensorType tensorOf(mlir::Type element, const std::vector<Dim> &dims);
  static llvm::SmallVector<mlir::Value> sizesOf(const std::vector<Dim> &dims);
  static const Dim *find(const std::vector<Dim> &dims, const std::string &name);
  /// An axis whose extent is `size`; static if possible.
  Dim dim(const std::string &name, mlir::Value size, const std::string &metadata,
          dsl::SourceRange range);
  /// Reports where pixels decide how many elements there are.
  mlir::Value extent(const Dim &dim);
  /// Returns the extent that an axis's format fixes: `c = rgb`, `box = xyxy`.
  /// Of how many numbers elements of this format are, such as `rgb` or `xyxy`; nothing if there is
  /// none.
  static std::optional<int64_t> extentOfFormat(llvm::StringRef format);
  int64_t formatExtent(llvm::StringRef format, dsl::SourceRange range);
  /// Returns whether extents are equal: false for static ones that differ; others are checked per
  /// sample.
  bool sameExtent(const Dim &a, const Dim &b);
  /// Extents of the values that a repeat carries, which no op defines.
  std::map<void *, std::vector<Dim>> carriedDims;

  /// Refuses an axis without elements where `why` needs one: here, or per sample, with `advice`
  /// behind it.
  void demandElements(const Dim &dim, dsl::SourceRange range, const std::string &why,
                      llvm::ArrayRef<Dim> domain = {}, const std::string &advice = "");

  // --- Axes whose number of elements pixels decide (Counted.cpp)
  /// An axis with room for as many elements as there may be, and their number beside it.
  struct Counted {
    mlir::Value count; ///< i64, a tensor without axes
    std::string once;  ///< when it is known, for messages: "`compact` has looked at the values"
  };
  const Counted *countedBy(const Dim &dim) const;
  /// Returns whether both are computed in the same way of the same values.
  static bool isSame(mlir::Value a, mlir::Value b);
  llvm::DenseMap<mlir::Value, Dim> keptByMask; ///< axes of results of `compact` by a mask
  /// As extent(), but of a counted axis its room.
  mlir::Value room(const Dim &dim);
  /// An axis with room for as many as `most`; its count is still to be given.
  Dim roomFor(const std::string &name, mlir::Value most, const std::string &metadata);
  void setCount(const Dim &dim, mlir::Value count, std::string once);
  [[noreturn]] void failCounted(dsl::SourceRange range, const Dim &dim, const Counted &counted);
  /// Refuses such an axis.
  void demandKnown(const std::vector<Dim> &all, const std::string &axis, dsl::SourceRange range);
  bool anyCounted(mlir::Value tensor, llvm::ArrayRef<std::string> axes);
  /// Returns whether each element along the axis exists: bool over it.
  mlir::Value existing(const Dim &dim);
  /// Returns the tensor with `other` in place of absent elements along some axes.
  mlir::Value onlyExisting(mlir::Value tensor, llvm::ArrayRef<std::string> axes, mlir::Value other);

  // --- The values of all samples of a batch (Peers.cpp)
  struct BatchAxis {
    mlir::Value count;  ///< of the samples of this rank's batch
    int64_t exact = -1; ///< where every batch has so many; else -1
    int64_t bound = -1;
  };
  BatchAxis batchAxis; ///< in the batch block
  /// Returns whether `axis` is that of the batch, which no value has by itself.
  bool isBatchAxis(const std::string &axis, const Val &value);
  Dim batchDim(const std::string &name);
  Val samplesOfBatch();
  /// Returns a number as a tensor without axes; any other value as it is.
  Val boxed(const Val &value);
  /// Returns whether a number is made of another sample's, which is known as late as pixels are.
  static bool isOfPeers(mlir::Value number);
  /// The value of every sample, along a new outermost axis.
  Val peersOf(const Val &value, const std::string &axis, dsl::SourceRange range);

  // --- Regions of elements (Regions.cpp)
  /// Builds a region: `body` gives what it yields, `create` makes the op that
  /// takes the block. Throws OuterElement if the body uses an outer region's.
  void inRegion(ElementRegion &region, llvm::ArrayRef<mlir::Type> elements,
                const std::function<std::vector<mlir::Value>()> &body,
                const std::function<void(mlir::Block *)> &create);
  /// A map over `domain` whose body gets the coordinates.
  mlir::Value buildMap(const std::vector<Dim> &domain, mlir::Type element,
                       const std::function<mlir::Value(ElementRegion &)> &body);
  mlir::Value iota(const Dim &dim);
  /// A number, or a tensor without axes, as an i64 tensor without axes.
  mlir::Value tensorOfScalar(const Val &value, dsl::SourceRange range);
  /// The element of a tensor at the innermost region's place.
  mlir::Value elementHere(mlir::Value tensor, dsl::SourceRange range);
  mlir::Value loadHere(mlir::Value tensor, const std::map<std::string, mlir::Value> &at,
                       dsl::SourceRange range);
  static std::string axisList(const std::vector<Dim> &dims);
  /// Axes of all binders together.
  void addDims(std::vector<Dim> &domain, const std::vector<Dim> &more, dsl::SourceRange range);

  // --- Views (Views.cpp)
  /// The check that a draw's range is not empty, by draw.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> checkedDraws;
  void checkInside(mlir::Value first, mlir::Value count, const Dim &axis, dsl::SourceRange range);
  /// One axis of a view in the making.
  mlir::Value viewAxis(mlir::Value tensor, const std::string &axis, mlir::Value first, int64_t step,
                       const Dim &result);
  mlir::Value pickAxis(mlir::Value tensor, const std::string &axis, mlir::Value index);
  /// Where `tensor`, which has no axes, is an element of a field of a row or of constants: that
  /// number, which is known before pixels; else null.
  mlir::Value elementBeforePixels(mlir::Value tensor);
  mlir::Value elementOfConstant(pipe::ConstantOp constant, mlir::ValueRange place);
  mlir::Value permute(mlir::Value tensor, llvm::ArrayRef<std::string> order);
  mlir::Value retype(mlir::Value tensor, const std::vector<Dim> &dims);
  mlir::Value createView(mlir::Value tensor, const std::vector<Dim> &dims,
                         llvm::ArrayRef<mlir::AffineExpr> exprs, mlir::ValueRange symbols);

private:
  void demandAxes(mlir::Type element, const std::vector<Dim> &dims);
  mlir::AffineExpr affine(mlir::Value value, llvm::SmallVector<mlir::Value> &symbols);
  mlir::Value scalarOf(mlir::AffineExpr expr, mlir::ValueRange dims, mlir::ValueRange symbols);

  /// By the axis' room, a scalar that no other axis has.
  std::map<void *, Counted> countedAxes;
};

} // namespace penstock::importer
