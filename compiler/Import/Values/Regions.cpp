// SPDX-License-Identifier: Apache-2.0
//
// `map`, and the regions of elements.
#include "compiler/Import/Values/Tensors.h"

using namespace penstock::importer;

namespace {
/// A region on the stack.
struct OpenRegion {
  OpenRegion(std::vector<ElementRegion *> &stack, ElementRegion &region)
      : stack(stack), block(region.block) {
    stack.push_back(&region);
  }
  ~OpenRegion() { stack.pop_back(); }
  std::vector<ElementRegion *> &stack;
  OwnedBlock block;
};
} // namespace

void Tensors::inRegion(ElementRegion &region, llvm::ArrayRef<mlir::Type> elements,
                       const std::function<std::vector<mlir::Value>()> &body,
                       const std::function<void(mlir::Block *)> &create) {
  region.block = new mlir::Block();
  for (mlir::Type type : elements)
    region.block->addArgument(type, here);
  for (size_t i = 0; i < region.domain.size(); ++i)
    region.coordinates.push_back(region.block->addArgument(base.getI64Type(), here));
  OpenRegion open(regions, region);
  std::vector<mlir::Value> results = body();
  endOf(region.block).create<pipe::YieldOp>(here, results);
  // Nor may an op of the sample use an element.
  for (mlir::Operation &op : *region.block)
    for (mlir::Operation *user : op.getUsers())
      if (user->getBlock() != region.block)
        throw OuterElement{};
  for (mlir::BlockArgument argument : region.block->getArguments())
    for (mlir::Operation *user : argument.getUsers())
      if (user->getBlock() != region.block)
        throw OuterElement{};
  // An outer element would be out of reach: this op stands outside its region.
  for (mlir::Operation &op : *region.block)
    for (mlir::Value operand : op.getOperands())
      for (ElementRegion *outer : llvm::ArrayRef(regions).drop_back())
        if (operand.getParentBlock() == outer->block)
          throw OuterElement{};
  create(open.block.release());
}

mlir::Value Tensors::buildMap(const std::vector<Dim> &domain, mlir::Type element,
                              const std::function<mlir::Value(ElementRegion &)> &body) {
  ElementRegion region;
  region.domain = domain;
  mlir::Value result;
  inRegion(
      region, {},
      [&]() {
        mlir::Value value = body(region);
        if (!element)
          element = value.getType();
        return std::vector<mlir::Value>{value};
      },
      [&](mlir::Block *block) {
        // A binder that only gives the domain is no input.
        for (size_t i = region.inputs.size(); i-- > 0;)
          if (block->getArgument(static_cast<unsigned>(i)).use_empty()) {
            block->eraseArgument(static_cast<unsigned>(i));
            region.inputs.erase(region.inputs.begin() + static_cast<std::ptrdiff_t>(i));
          }
        auto map = base.create<pipe::MapOp>(here, tensorOf(element, domain), region.inputs,
                                            sizesOf(domain));
        map.getBody().push_back(block);
        result = map;
      });
  return result;
}

mlir::Value Tensors::iota(const Dim &axis) {
  return buildMap({axis}, base.getI64Type(), [&](ElementRegion &r) { return r.coordinates[0]; });
}

mlir::Value Tensors::tensorOfScalar(const Val &value, dsl::SourceRange range) {
  return buildMap({}, base.getI64Type(), [&](ElementRegion &) {
    mlir::Value scalar = value.is(Kind::Tensor) ? elementHere(value.ir, range) : value.ir;
    return cast(pipe::CastMode::value, scalar, base.getI64Type());
  });
}

/// The axis whose coordinate a tensor holds: the result of `iota`.
static bool isIota(mlir::Value tensor) {
  auto map = tensor.getDefiningOp<penstock::pipe::MapOp>();
  if (!map || !map.getInputs().empty() || map.getBody().getNumArguments() != 1)
    return false;
  mlir::Block &block = map.getBody().front();
  return block.getTerminator()->getOperand(0) == block.getArgument(0);
}

mlir::Value Tensors::loadHere(mlir::Value tensor, const std::map<std::string, mlir::Value> &at,
                              dsl::SourceRange range) {
  ElementRegion &region = *regions.back();
  llvm::SmallVector<mlir::Value> indices;
  for (const Dim &axis : dims(tensor)) {
    if (auto given = at.find(axis.axis.name); given != at.end()) {
      indices.push_back(given->second);
      continue;
    }
    size_t k = 0;
    while (k < region.domain.size() && region.domain[k].axis.name != axis.axis.name)
      ++k;
    if (k == region.domain.size()) {
      auto report = error(range, "this tensor has axis " + quote(axis.axis.name) +
                                     ", over which nothing runs here");
      report.note(range,
                  "it is " + show(tensor.getType()) + ", and the elements run over " +
                      (region.domain.empty() ? std::string("nothing") : axisList(region.domain)));
      report.hint("bind it: `map (..., q in x)`");
      throw Abort{};
    }
    if (!sameExtent(region.domain[k], axis))
      fail(range, "axis " + quote(axis.axis.name) + " has " +
                      std::to_string(region.domain[k].axis.extent) + " elements here, and " +
                      std::to_string(axis.axis.extent) + " in a tensor that is read there");
    indices.push_back(region.coordinates[k]);
  }
  for (const Dim &axis : dims(tensor))
    if (at.contains(axis.axis.name) && !countedBy(axis)) // past what was counted lie zeros
      demandElements(axis, range, "it is read at a place that is computed", region.domain,
                     "; `if extent(x, " + axis.axis.name +
                         ") > 0 then map ... else map ...` gives such a sample another value");
  mlir::Type element = llvm::cast<pipe::NamedTensorType>(tensor.getType()).getElementType();
  return endOf(region.block).create<pipe::LoadOp>(here, element, tensor, indices);
}

mlir::Value Tensors::elementHere(mlir::Value tensor, dsl::SourceRange range) {
  if (regions.empty())
    fail(range, "a value that depends on pixels cannot be used here");
  ElementRegion &region = *regions.back();
  std::vector<Dim> axes = dims(tensor);
  const bool aligned = llvm::all_of(
      axes, [&](const Dim &axis) { return find(region.domain, axis.axis.name) != nullptr; });
  if (aligned && isIota(tensor))
    for (size_t k = 0; k < region.domain.size(); ++k)
      if (region.domain[k].axis.name == axes[0].axis.name)
        return region.coordinates[k];
  if (!aligned || !region.takesInputs)
    return loadHere(tensor, {}, range);
  for (size_t i = 0; i < region.inputs.size(); ++i)
    if (region.inputs[i] == tensor)
      return region.block->getArgument(static_cast<unsigned>(i));
  for (const Dim &axis : axes) {
    const Dim *mine = find(region.domain, axis.axis.name);
    if (!sameExtent(*mine, axis))
      fail(range, "axis " + quote(axis.axis.name) + " has " + std::to_string(mine->axis.extent) +
                      " elements on one side and " + std::to_string(axis.axis.extent) +
                      " on the other");
  }
  region.inputs.push_back(tensor);
  mlir::Type element = llvm::cast<pipe::NamedTensorType>(tensor.getType()).getElementType();
  return region.block->insertArgument(static_cast<unsigned>(region.inputs.size() - 1), element,
                                      here);
}

std::string Tensors::axisList(const std::vector<Dim> &dims) {
  std::string text;
  for (const Dim &dim : dims)
    text += (text.empty() ? "" : ", ") + dim.axis.name;
  return "[" + text + "]";
}

void Tensors::addDims(std::vector<Dim> &domain, const std::vector<Dim> &more,
                      dsl::SourceRange range) {
  for (const Dim &dim : more) {
    Dim *mine = const_cast<Dim *>(find(domain, dim.axis.name));
    if (!mine) {
      domain.push_back(dim);
      continue;
    }
    if (!sameExtent(*mine, dim))
      fail(range, "axis " + quote(dim.axis.name) + " has " + std::to_string(dim.axis.extent) +
                      " elements here, and " + std::to_string(mine->axis.extent) +
                      " in a binder before");
    if (dim.axis.isStatic() && !mine->axis.isStatic())
      *mine = dim;
    if (mine->axis.metadata.empty())
      mine->axis.metadata = dim.axis.metadata;
  }
}
