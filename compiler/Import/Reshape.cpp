//===- Reshape.cpp - intrinsics that move and resample elements -----------===//

#include "compiler/Import/Places.h"
#include "mlir/IR/IRMapping.h"

using namespace penstock::importer;
using penstock::pipe::BinaryKind;

Val Importer::reverse(Args args, dsl::SourceRange range) {
  const Val &x = demandTensor(args[0], "reverse");
  std::string name = demandAxis(args[1], &x, "reverse");
  Dim axis = *find(dims(x.ir), name);
  mlir::Value last = binary(BinaryKind::sub, extent(axis), intConstant(1));
  return tensor(viewAxis(x.ir, name, last, -1, axis));
}

Val Importer::rename(Args args, dsl::SourceRange range) {
  const Val &x = demandTensor(args[0], "rename");
  std::string from = demandAxis(args[1], &x, "rename");
  std::string to = demandAxis(args[2], nullptr, "rename");
  std::vector<Dim> all = dims(x.ir);
  if (find(all, to))
    fail(args[2].range, "the value already has axis " + quote(to) + ": it is " + show(x));
  const_cast<Dim *>(find(all, from))->axis.name = to;
  return tensor(retype(x.ir, all));
}

mlir::Value Importer::fillValue(const Argument &arg, mlir::Type element) {
  if (arg.value.is(Kind::Poison))
    return constant(element, 0);
  std::optional<Val> converted =
      arg.value.is(Kind::Number) ? convert(arg.value, element) : std::nullopt;
  if (!converted)
    fail(arg.range, "the fill must be " + show(element) + ", and this is " + show(arg.value));
  return converted->ir;
}

Val Importer::extend(Args args, dsl::SourceRange range) {
  const Val &x = demandTensor(args[0], "extend");
  std::string name = demandAxis(args[1], &x, "extend");
  mlir::Value low = demandIndex(args[2].value, args[2].range, "an amount of padding");
  mlir::Value high = demandIndex(args[3].value, args[3].range, "an amount of padding");
  pipe::Border border = pipe::Border::constant;
  if (!args[4].value.is(Kind::Poison))
    border = borderNamed(args[4]);
  mlir::Type element = elementType(x);
  mlir::Value fill;
  if (border == pipe::Border::constant)
    fill = fillValue(args[5], element);
  std::vector<Dim> all = dims(x.ir);
  Dim *axis = const_cast<Dim *>(find(all, name));
  for (mlir::Value amount : {low, high}) {
    std::optional<int64_t> number = constantInt(amount);
    if (number && *number < 0)
      fail(args[amount == low ? 2 : 3].range,
           "an amount of padding is negative: " + std::to_string(*number),
           "a slice makes a tensor smaller: `x[h = 1 .. 9]`");
  }
  mlir::Value size = binary(BinaryKind::add, extent(*axis), binary(BinaryKind::add, low, high));
  *axis = dim(name, size, axis->axis.metadata, range);
  return tensor(base.create<pipe::PadOp>(here, tensorOf(element, all), border, x.ir,
                                         base.getStrArrayAttr({name}), mlir::ValueRange{low}, fill,
                                         sizesOf(all)));
}

Val Importer::resample(Args args, dsl::SourceRange range) {
  const Val &x = demandTensor(args[0], "resample");
  std::string name = demandAxis(args[1], &x, "resample");
  pipe::Filter filter = pipe::Filter::bilinear;
  if (!args[3].value.is(Kind::Poison))
    filter = *pipe::symbolizeFilter(
        demandWord(args[3], {"nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"}));
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
  weights.push_back({{"k", -1, -1, ""}, count});
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
mlir::Value Importer::inlineCoordinates(mlir::Value tensor) {
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

Val Importer::gather(const std::vector<Argument> &args, dsl::SourceRange range) {
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
      interpolation =
          *pipe::symbolizeInterpolation(demandWord(arg, {"nearest", "linear", "cubic"}));
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
        fail(arg.range, "a coordinate is a tensor of f64, and this is " + show(arg.value));
      demandKnown(domain, axis, arg.range);
      over.push_back(axis);
      coordinates.push_back(arg.value.ir);
      addDims(read, dims(arg.value.ir), arg.range);
    }
  }
  if (over.empty())
    fail(range, "`gather` needs a coordinate for at least one axis", "`gather(x, h = y, w = z)`");
  for (Dim &dim : domain)
    if (llvm::is_contained(over, dim.axis.name)) {
      const Dim *mine = find(read, dim.axis.name);
      if (!mine)
        fail(range, "no coordinate runs over axis " + quote(dim.axis.name));
      const std::string metadata = dim.axis.metadata;
      dim = *mine;
      dim.axis.metadata = metadata;
    }
  for (const Dim &dim : read)
    if (!find(domain, dim.axis.name))
      notYet(range, "a coordinate over axis " + quote(dim.axis.name) + ", which the input lacks");
  mlir::Value filled;
  if (border == pipe::Border::constant)
    filled = fillValue(fill, element);

  ElementRegion region;
  region.domain = domain;
  region.takesInputs = false;
  Val result;
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
    result = tensor(op);
  });
  return result;
}

Val Importer::frames_(Args args, dsl::SourceRange range) {
  const Val &x = demandTensor(args[0], "frames");
  std::string axis = demandAxis(args[1], &x, "frames");
  std::string into = demandAxis(args[2], nullptr, "frames");
  if (find(dims(x.ir), into))
    fail(args[2].range, "the value already has axis " + quote(into) + ": it is " + show(x));
  mlir::Value length = demandIndex(args[3].value, args[3].range, "the length of a frame");
  int64_t step = demandInt(args[4].value, args[4].range, "the step between frames");
  if (step < 1)
    fail(args[4].range, "the step between frames is " + std::to_string(step));
  std::vector<Dim> axes = dims(x.ir), result;
  llvm::SmallVector<mlir::AffineExpr> exprs;
  for (const Dim &old : axes) {
    auto place = [&]() {
      return mlir::getAffineDimExpr(static_cast<unsigned>(result.size()), &context);
    };
    mlir::AffineExpr expr = place();
    if (old.axis.name != axis) {
      result.push_back(old);
      exprs.push_back(expr);
      continue;
    }
    mlir::Value room = binary(BinaryKind::sub, extent(old), length);
    mlir::Value count =
        binary(BinaryKind::add, binary(BinaryKind::div, room, intConstant(step)), intConstant(1));
    std::optional<int64_t> known = constantInt(room);
    if (known && *known < 0)
      fail(range, "a frame is longer than axis " + quote(axis) + " of " + show(x));
    if (!known)
      check(compare(pipe::Predicate::ge, room, intConstant(0)),
            "axis `" + axis + "` has {0} elements, and a frame takes {1}", extent(old), length);
    result.push_back(dim(axis, count, old.axis.metadata, range));
    expr = expr * step + place();
    result.push_back(dim(into, length, "", args[3].range));
    exprs.push_back(expr);
  }
  return tensor(createView(x.ir, result, exprs, {}));
}

Val Importer::join(bool stack, Args args, dsl::SourceRange range) {
  const std::string what = stack ? "stack" : "concat";
  if (!args[0].value.is(Kind::List) || args[0].value.parts.empty())
    fail(args[0].range,
         quote(what) + " takes a list of tensors, and this is " + show(args[0].value));
  const std::vector<Val> &parts = args[0].value.parts;
  for (const Val &part : parts)
    if (!part.is(Kind::Tensor) || elementType(part) != elementType(parts[0]) ||
        part.tensorType().getRank() != parts[0].tensorType().getRank())
      fail(args[0].range,
           quote(what) + " joins tensors of one type: " + show(parts[0]) + " and " + show(part));
  std::string axis = demandAxis(args[1], stack ? nullptr : &parts[0], what);
  std::vector<Dim> all = dims(parts[0].ir);
  std::vector<std::string> order;
  for (const Dim &dim : all)
    order.push_back(dim.axis.name);
  if (stack && find(all, axis))
    fail(args[1].range, "the values already have axis " + quote(axis) + ": " + show(parts[0]));
  mlir::Value total;
  llvm::SmallVector<mlir::Value> inputs;
  for (const Val &part : parts) {
    for (const Dim &dim : dims(part.ir)) {
      const Dim *mine = find(all, dim.axis.name);
      if (!mine || (dim.axis.name != axis && !sameExtent(*mine, dim)))
        fail(args[0].range,
             quote(what) + " joins tensors of one type: " + show(parts[0]) + " and " + show(part));
    }
    inputs.push_back(permute(part.ir, order));
    if (stack) {
      inputs.back() = retype(inputs.back(), all);
    } else {
      mlir::Value mine = extent(*find(dims(part.ir), axis));
      total = total ? binary(BinaryKind::add, total, mine) : mine;
    }
  }
  if (stack) {
    all.insert(all.begin(), Dim{{axis, static_cast<int64_t>(parts.size()), -1, ""}, {}});
    return tensor(base.create<pipe::StackOp>(here, tensorOf(elementType(parts[0]), all), axis,
                                             inputs, sizesOf(all)));
  }
  Dim *joined = const_cast<Dim *>(find(all, axis));
  *joined = dim(axis, total, joined->axis.metadata, range);
  return tensor(base.create<pipe::ConcatOp>(here, tensorOf(elementType(parts[0]), all), axis,
                                            inputs, sizesOf(all)));
}

Val Importer::placeInto(const std::vector<Argument> &args, dsl::SourceRange range) {
  if (args.size() < 2)
    fail(range, "`place` takes a base, a patch and where to put it",
         "`place(base, patch, h = top, w = left)`");
  const Val &under = demandTensor(args[0], "place"), &patch = demandTensor(args[1], "place");
  std::vector<Dim> all = dims(under.ir);
  std::vector<std::string> order;
  for (const Dim &dim : all)
    order.push_back(dim.axis.name);
  if (elementType(under) != elementType(patch) ||
      under.tensorType().getRank() != patch.tensorType().getRank() ||
      llvm::any_of(dims(patch.ir), [&](const Dim &d) { return !find(all, d.axis.name); }))
    fail(args[1].range,
         "`place` needs tensors with the same axes: " + show(under) + " and " + show(patch));
  for (const Dim &dim : dims(patch.ir)) {
    demandKnown(all, dim.axis.name, args[0].range);
    demandKnown(dims(patch.ir), dim.axis.name, args[1].range);
  }
  llvm::SmallVector<llvm::StringRef> over;
  std::vector<std::string> names;
  llvm::SmallVector<mlir::Value> at;
  for (const Argument &arg : llvm::ArrayRef(args).drop_front(2)) {
    names.push_back(axisNamed(arg.name));
    if (!find(all, names.back()))
      failAxis(arg.range, "`place`", names.back(), under, args[0].origin());
    at.push_back(demandIndex(arg.value, arg.range, "a place"));
  }
  over.assign(names.begin(), names.end());
  return tensor(base.create<pipe::PlaceOp>(here, under.ir.getType(), permute(patch.ir, order),
                                           under.ir, base.getStrArrayAttr(over), at, sizesOf(all)));
}

Val Importer::contract(Args args, dsl::SourceRange range) {
  const Val &x = demandTensor(args[0], "contract"), &matrix = demandTensor(args[1], "contract");
  std::vector<Dim> all = dims(x.ir), two = dims(matrix.ir);
  mlir::Type element = elementType(x);
  if (two.size() != 2 || !find(all, two[0].axis.name) || elementType(matrix) != element ||
      !(element.isF32() || element.isF64() || element.isSignlessInteger(32) ||
        element.isSignlessInteger(64)))
    fail(args[1].range,
         "`contract` takes f32, f64, i32 or i64 and a matrix from an axis of it to a new one, not " +
             show(x) + " and " + show(matrix));
  Dim *axis = const_cast<Dim *>(find(all, two[0].axis.name));
  if (!sameExtent(*axis, two[0]))
    fail(args[1].range,
         "axis " + quote(two[0].axis.name) + " differs: " + show(x) + " and " + show(matrix));
  *axis = two[1];
  return tensor(
      base.create<pipe::ContractOp>(here, tensorOf(element, all), x.ir, matrix.ir, sizesOf(all)));
}
