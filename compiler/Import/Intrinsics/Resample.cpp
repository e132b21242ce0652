// SPDX-License-Identifier: Apache-2.0
//
// Intrinsics that read elements at new places.
#include "compiler/Import/Intrinsics/Intrinsics.h"
#include "mlir/IR/IRMapping.h"

using namespace penstock::importer;

Val Intrinsics::resample(Args args, dsl::SourceRange range) {
  const Val &x = demandTensor(args[0], "resample");
  std::string name = demandAxis(args[1], &x, "resample");
  pipe::Filter filter = pipe::Filter::bilinear;
  if (!args[3].value.is(Kind::Poison))
    filter = *pipe::symbolizeFilter(demandWord(args[3], wordsOf("filter")));
  bool antialias = true;
  if (!args[4].value.is(Kind::Poison)) {
    mlir::Value flag = demandBool(args[4].value, args[4].range, "`antialias`");
    settle(flag, "whether a resize has `antialias`");
    auto op = flag.getDefiningOp<pipe::ConstantOp>();
    if (!op)
      fail(args[4].range, "`antialias` must be known when compiling");
    antialias = !llvm::cast<mlir::IntegerAttr>(op.getValue()).getValue().isZero();
  }
  mlir::Type element = elementType(x);
  if (element.isSignlessInteger(1))
    fail(args[0].range, "truth values cannot be resampled", "`u8(...)` converts");
  std::vector<Dim> all = dims(x.ir);
  Dim *axis = const_cast<Dim *>(find(all, name));
  mlir::Value in = extent(*axis);
  demandElements(*axis, args[0].range, "`resample` weighs some");
  Dim wanted = dim(name, demandIndex(args[2].value, args[2].range, "an extent"),
                   axis->axis.metadata, args[2].range);
  if (wanted.axis.isStatic() && wanted.axis.extent < 1)
    fail(args[2].range, "axis " + quote(name) + " would have no elements");
  mlir::Value out = extent(wanted);
  *axis = wanted;

  const bool pillow = numerics == "pillow" && element.isUnsignedInteger(8);
  auto taps = base.create<pipe::TapsOp>(here, base.getI64Type(), filter, in, out, antialias);
  mlir::Value count = taps;
  std::vector<Dim> start{{{name, wanted.axis.extent, -1, ""}, wanted.size}};
  std::vector<Dim> weights = start;
  weights.push_back({{name == "k" ? "tap" : "k", -1, -1, ""}, count});
  llvm::SmallVector<mlir::Value> sizes = sizesOf(weights);
  llvm::append_range(sizes, sizesOf(start));
  mlir::Type weight = pillow ? mlir::Type(base.getI32Type()) : mlir::Type(base.getF64Type());
  auto table = base.create<pipe::WeightsOp>(here, tensorOf(weight, weights),
                                            tensorOf(base.getI32Type(), start), filter, in, out,
                                            antialias, sizes);
  return tensor(base.create<pipe::ResampleOp>(
      here, tensorOf(element, all), pillow ? pipe::Numerics::pillow : pipe::Numerics::exact, x.ir,
      name, table.getWeights(), table.getStart(), sizesOf(all)));
}

/// Clones the region of a map of coordinates alone into the innermost region;
/// null if it reads anything else.
mlir::Value Intrinsics::inlineCoordinates(mlir::Value tensor) {
  auto map = tensor.getDefiningOp<pipe::MapOp>();
  if (!map || !map.getInputs().empty())
    return {};
  ElementRegion &region = *regions.back();
  mlir::IRMapping mapping;
  std::vector<Dim> axes = dims(tensor);
  for (size_t i = 0; i < axes.size(); ++i)
    for (size_t k = 0; k < region.domain.size(); ++k)
      if (region.domain[k].axis.name == axes[i].axis.name)
        mapping.map(map.getBody().getArgument(static_cast<unsigned>(i)), region.coordinates[k]);
  mlir::OpBuilder builder = endOf(region.block);
  mlir::Block &body = map.getBody().front();
  for (mlir::Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  return mapping.lookupOrDefault(body.getTerminator()->getOperand(0));
}

Val Intrinsics::gather(const std::vector<Argument> &args, dsl::SourceRange range) {
  if (args.empty())
    fail(range, "`gather` lacks its argument `x`");
  const Val &x = demandTensor(args[0], "gather");
  mlir::Type element = elementType(x);
  pipe::Interpolation interpolation = pipe::Interpolation::nearest;
  pipe::Border border = pipe::Border::edge;
  Argument fill;
  std::vector<std::string> over;
  std::vector<mlir::Value> coordinates;
  std::vector<Dim> domain = dims(x.ir);
  std::vector<Dim> read;
  for (const Argument &arg : llvm::ArrayRef(args).drop_front()) {
    if (arg.name == "interpolation") {
      interpolation = *pipe::symbolizeInterpolation(demandWord(arg, wordsOf("interpolation")));
    } else if (arg.name == "border") {
      border = borderNamed(arg);
    } else if (arg.name == "fill") {
      fill = arg;
      border = pipe::Border::constant;
    } else {
      std::string axis = axisNamed(arg.name);
      if (arg.name.empty() || !find(domain, axis))
        failAxis(arg.range, "`gather`", axis, x, args[0].origin());
      if (!arg.value.is(Kind::Tensor) || !elementType(arg.value).isF64())
        fail(arg.range, "a coordinate is a tensor of f64, and this is " + show(arg.value),
             arg.value.is(Kind::Tensor) ? quote(arg.name + " = f64(...)") : "");
      demandKnown(domain, axis, arg.range);
      over.push_back(axis);
      coordinates.push_back(arg.value.ir);
      addDims(read, dims(arg.value.ir), arg.range);
    }
  }
  if (over.empty())
    fail(range, "`gather` needs a coordinate for at least one axis", "`gather(x, h = y, w = z)`");
  // Axes over which coordinates alone run come first; one that is read goes where no
  // coordinate runs over it.
  std::vector<Dim> result;
  for (const Dim &dim : read)
    if (!find(domain, dim.axis.name))
      result.push_back(dim);
  for (const Dim &dim : domain) {
    const Dim *mine = find(read, dim.axis.name);
    if (llvm::is_contained(over, dim.axis.name) && !mine)
      continue;
    result.push_back(llvm::is_contained(over, dim.axis.name) ? *mine : dim);
    result.back().axis.metadata = dim.axis.metadata;
    if (mine && !llvm::is_contained(over, dim.axis.name) && !sameExtent(dim, *mine))
      fail(range, "axis " + quote(dim.axis.name) + " of a coordinate has " +
                      std::to_string(mine->axis.extent) + " elements, and that of the input " +
                      std::to_string(dim.axis.extent));
  }
  domain = std::move(result);
  mlir::Value filled;
  if (border == pipe::Border::constant)
    filled = fillValue(fill, element);
  else
    for (const Dim &dim : dims(x.ir))
      if (llvm::is_contained(over, dim.axis.name))
        demandElements(dim, range, "`gather` reads one");

  ElementRegion region;
  region.domain = domain;
  region.takesInputs = false;
  Val sampled;
  auto body = [&]() {
    std::vector<mlir::Value> values;
    for (mlir::Value coordinate : coordinates) {
      mlir::Value inlined = inlineCoordinates(coordinate);
      values.push_back(inlined ? inlined : elementHere(coordinate, range));
    }
    return values;
  };
  inRegion(region, {}, body, [&](mlir::Block *block) {
    llvm::SmallVector<llvm::StringRef> names(over.begin(), over.end());
    auto op =
        base.create<pipe::GatherOp>(here, tensorOf(element, domain), interpolation, border, x.ir,
                                    base.getStrArrayAttr(names), filled, sizesOf(domain));
    op.getBody().push_back(block);
    sampled = tensor(op);
  });
  return sampled;
}
