// SPDX-License-Identifier: Apache-2.0
//
// Types, axes and extents.
#include "compiler/Import/Values/Tensors.h"
#include "runtime/abi/kernel.h"
#include "runtime/abi/media.h"
#include "llvm/ADT/StringSet.h"

using namespace penstock::importer;
using penstock::pipe::Axis;
using penstock::pipe::NamedTensorType;

mlir::Type Tensors::elementNamed(const std::string &name) const {
  const Frame &current = frames.back();
  if (auto found = current.generics.find(name); found != current.generics.end())
    return found->second;
  if (name == "int")
    return mlir::IntegerType::get(&context, 64);
  return pipe::scalarType(&context, name);
}

std::string Tensors::axisNamed(const std::string &name) const {
  auto found = frames.back().axes.find(name);
  return found == frames.back().axes.end() ? name : found->second;
}

void Tensors::demandDistinct(llvm::ArrayRef<dsl::Name> axes) {
  for (size_t i = 0; i < axes.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (axes[j].text == axes[i].text) {
        auto report = error(axes[i].range, "axis " + quote(axes[i].text) + " is named twice");
        if (!calls.empty() && userRange(axes[i].range) == axes[i].range)
          report.note(userRange(calls.back().range), "in this call");
        throw Abort{};
      }
}

std::vector<penstock::dsl::Name> Tensors::axesNamed(const dsl::AxisList &list) {
  std::vector<dsl::Name> axes;
  for (const dsl::Name &axis : list.axes) {
    auto value = frames.back().values.find(axis.text);
    if (value == frames.back().values.end() || !value->second.is(Kind::List)) {
      axes.push_back({axisNamed(axis.text), axis.range});
      continue;
    }
    for (const Val &part : value->second.parts)
      axes.push_back({part.word, axis.range});
  }
  demandDistinct(axes);
  return axes;
}

std::vector<Dim> Tensors::dims(mlir::Value tensor) {
  if (auto found = carriedDims.find(tensor.getAsOpaquePointer()); found != carriedDims.end())
    return found->second;
  std::vector<Dim> result;
  auto type = llvm::cast<NamedTensorType>(tensor.getType());
  for (int64_t i = 0; i < type.getRank(); ++i) {
    Dim dim{type.getAxes()[static_cast<size_t>(i)], {}};
    if (!dim.axis.isStatic()) {
      if (auto peer = tensor.getDefiningOp<pipe::PeerOp>())
        return dims(peer.getValue());
      dim.size = llvm::dyn_cast_if_present<mlir::Value>(pipe::extentOf(tensor, i));
    }
    result.push_back(dim);
  }
  return result;
}

std::vector<Dim> Tensors::axesOf(const Val &value) {
  if (value.is(Kind::Tensor))
    return dims(value.ir);
  std::vector<Dim> axes;
  for (const Val::GridAxis &axis : value.grid)
    axes.push_back({{axis.name, axis.extent, -1, ""}, {}});
  return axes;
}

/// Refuses axes that no plan can hold, or the dialect would reject.
void Tensors::demandAxes(mlir::Type element, const std::vector<Dim> &dims) {
  llvm::StringSet<> names;
  auto written = [&]() {
    std::string text;
    for (const Dim &dim : dims)
      text += (text.empty() ? "" : ", ") + dim.axis.name +
              (dim.axis.isStatic() ? " = " + std::to_string(dim.axis.extent) : "");
    return quote(show(element) + "[" + text + "]");
  };
  int64_t bytes = pipe::scalarBytes(element);
  for (const Dim &dim : dims) {
    if (!names.insert(dim.axis.name).second)
      fail(hereRange, "axis " + quote(dim.axis.name) + " stands twice in " + written(),
           "`rename(x, a, b)` gives an axis another name");
    if (dim.axis.name == "n" && !inBatch)
      fail(hereRange, "`n` is the axis of the batch, and stands in " + written() + " of a sample",
           "another name for this axis");
    const int64_t extent = std::max<int64_t>({dim.axis.extent, dim.axis.bound, 1});
    if (extent > PST_MAX_TENSOR_BYTES / bytes)
      fail(hereRange, "a tensor " + written() + " takes more than " +
                          std::to_string(PST_MAX_TENSOR_BYTES >> 30) + " GiB");
    bytes *= extent;
  }
  if (dims.size() > PST_MAX_RANK)
    fail(hereRange, "a tensor has at most " + std::to_string(PST_MAX_RANK) + " axes, and " +
                        written() + " has " + std::to_string(dims.size()));
}

NamedTensorType Tensors::tensorOf(mlir::Type element, const std::vector<Dim> &dims) {
  demandAxes(element, dims);
  llvm::SmallVector<Axis> axes;
  for (const Dim &dim : dims) {
    axes.push_back(dim.axis);
    // Six channels, or one of three, are no colour any more.
    if (const auto whole = extentOfFormat(dim.axis.metadata);
        whole && dim.axis.isStatic() && *whole != dim.axis.extent)
      axes.back().metadata.clear();
  }
  return NamedTensorType::get(&context, element, axes);
}

llvm::SmallVector<mlir::Value> Tensors::sizesOf(const std::vector<Dim> &dims) {
  llvm::SmallVector<mlir::Value> sizes;
  for (const Dim &dim : dims)
    if (!dim.axis.isStatic())
      sizes.push_back(dim.size);
  return sizes;
}

const Dim *Tensors::find(const std::vector<Dim> &dims, const std::string &name) {
  for (const Dim &dim : dims)
    if (dim.axis.name == name)
      return &dim;
  return nullptr;
}

Dim Tensors::dim(const std::string &name, mlir::Value size, const std::string &metadata,
                 dsl::SourceRange range) {
  if (inBatch && batchAxis.count && size == batchAxis.count) {
    Dim all = batchDim(name);
    all.axis.metadata = metadata;
    return all;
  }
  Dim result{{name, -1, -1, metadata}, {}};
  if (std::optional<int64_t> extent = staticInt(size, "the extent of axis " + quote(name))) {
    if (*extent < 0)
      fail(range, "axis " + quote(name) + " would have " + std::to_string(*extent) + " elements");
    result.axis.extent = *extent;
  } else {
    if (isElementLocal(size))
      fail(range, "the extent of axis " + quote(name) + " would differ from element to element",
           "an extent comes from parameters, draws, headers and metadata");
    result.size = size;
  }
  return result;
}

mlir::Value Tensors::extent(const Dim &dim) {
  if (const Counted *counted = countedBy(dim))
    failCounted(hereRange, dim, *counted);
  return room(dim);
}

std::optional<int64_t> Tensors::extentOfFormat(llvm::StringRef format) {
  return llvm::StringSwitch<std::optional<int64_t>>(format)
      .Case("gray", 1)
      .Case("rgb", 3)
      .Cases("xyxy", "xywh", "cxcywh", "yxyx", 4)
      .Case("xyzlwhr", 7)
      .Default(std::nullopt);
}

int64_t Tensors::formatExtent(llvm::StringRef format, dsl::SourceRange range) {
  const std::optional<int64_t> extent = extentOfFormat(format);
  if (!extent)
    fail(range, "unknown format " + quote(format.str()), "rgb gray xyxy xywh cxcywh yxyx xyzlwhr");
  return *extent;
}

bool Tensors::sameExtent(const Dim &a, const Dim &b) {
  if (a.axis.isStatic() && b.axis.isStatic())
    return a.axis.extent == b.axis.extent;
  if (a.size == b.size)
    return true;
  const Counted *one = countedBy(a), *other = countedBy(b);
  if (one && other && isSame(one->count, other->count))
    return true;
  if (one && other)
    fail(hereRange,
         "axis " + quote(a.axis.name) +
             " has as many elements as one mask, key or place leaves on " +
             "one side, and as another one leaves on the other",
         "what goes together is taken by one mask: `compact(x, mask)`, `compact(y, mask)`");
  mlir::Value left = extent(a), right = extent(b);
  check(compare(pipe::Predicate::eq, left, right),
        "axis `" + a.axis.name + "` has {0} elements on one side and {1} on the other", left,
        right);
  return true;
}

void Tensors::demandElements(const Dim &dim, dsl::SourceRange range, const std::string &why,
                             llvm::ArrayRef<Dim> domain, const std::string &advice) {
  const std::string what = "axis " + quote(dim.axis.name) + " has no elements, and " + why;
  const mlir::Value size = room(dim);
  const std::optional<int64_t> known = constantInt(size);
  if (known && *known < 1)
    fail(range, what);
  // A header that says 0 is refused when it is read.
  auto probe = size.getDefiningOp<pipe::ProbeOp>();
  if (known || (probe && media::isPicture(std::string_view(probe.getMedia()))))
    return;
  PlaceGuard guard(*this, range);
  mlir::Value holds = compare(pipe::Predicate::gt, size, intConstant(0));
  for (const Dim &over : domain) {
    const mlir::Value elements = room(over);
    if (elements == size || constantInt(elements) == 0)
      return;
    if (!constantInt(elements))
      holds = binary(pipe::BinaryKind::bit_or, holds,
                     compare(pipe::Predicate::le, elements, intConstant(0)));
  }
  check(holds, what + advice, size, size);
}

Val Tensors::tensor(mlir::Value value) {
  Val result;
  result.kind = Kind::Tensor;
  result.ir = value;
  return result;
}
