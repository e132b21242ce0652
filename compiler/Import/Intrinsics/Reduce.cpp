// SPDX-License-Identifier: Apache-2.0
//
// Reductions of tensors and of groups.
#include "compiler/Import/Intrinsics/Intrinsics.h"

using namespace penstock::importer;
using penstock::pipe::BinaryKind;
using penstock::pipe::CastMode;
using penstock::pipe::Predicate;
using penstock::pipe::ReduceKind;

/// Returns the neutral element of a reduction: a number that changes no result.
static mlir::Value withoutEffect(mlir::OpBuilder &b, mlir::Location loc, ReduceKind kind,
                                 mlir::Type type) {
  mlir::Attribute value = b.getZeroAttr(type);
  const bool smallest = kind == ReduceKind::min || kind == ReduceKind::argmin;
  const bool largest = kind == ReduceKind::max || kind == ReduceKind::argmax;
  if (auto real = llvm::dyn_cast<mlir::FloatType>(type)) {
    const auto &format = real.getFloatSemantics();
    if (smallest || largest)
      value = b.getFloatAttr(type, llvm::APFloat::getNaN(format)); // gives way to every number
  } else if (smallest || largest || kind == ReduceKind::all) {
    const unsigned width = type.getIntOrFloatBitWidth();
    const bool isUnsigned = type.isUnsignedInteger() || width == 1;
    llvm::APInt end =
        smallest || kind == ReduceKind::all
            ? (isUnsigned ? llvm::APInt::getMaxValue(width) : llvm::APInt::getSignedMaxValue(width))
            : (isUnsigned ? llvm::APInt::getMinValue(width)
                          : llvm::APInt::getSignedMinValue(width));
    value = b.getIntegerAttr(type, end);
  }
  return b.create<penstock::pipe::ConstantOp>(loc, type, llvm::cast<mlir::TypedAttr>(value));
}

static bool isStored(mlir::Type element) { return element.isF16() || element.isBF16(); }

/// Returns whether a number is 0 or 1, as those of a mask are.
static bool isZeroOrOne(mlir::Value value) {
  if (auto select = value.getDefiningOp<penstock::pipe::SelectOp>())
    return isZeroOrOne(select.getOnTrue()) && isZeroOrOne(select.getOnFalse());
  if (auto cast = value.getDefiningOp<penstock::pipe::CastOp>())
    return cast->getOperand(0).getType().isInteger(1) || isZeroOrOne(cast->getOperand(0));
  const std::optional<int64_t> known = Scalars::constantInt(value);
  return known && (*known == 0 || *known == 1);
}

static bool isMask(const Val &value) {
  if (!value.is(Kind::Tensor))
    return llvm::all_of(value.parts, [](const Val &part) { return isZeroOrOne(part.ir); });
  auto map = value.ir.getDefiningOp<penstock::pipe::MapOp>();
  return map && isZeroOrOne(map.getBody().front().getTerminator()->getOperand(0));
}

/// Pixels and samples of sound that are added up as they are; elements of a mask may be counted.
void Intrinsics::warnOfWrapping(const Val &value, dsl::SourceRange range) {
  auto integer = llvm::dyn_cast<mlir::IntegerType>(elementType(value));
  if (!integer || integer.getWidth() == 1 || integer.getWidth() > 16 || isMask(value))
    return;
  const unsigned bits = integer.getWidth() - (integer.isUnsigned() ? 0 : 1);
  diagnostics
      .warning(range, "a sum of " + show(integer) + " is one itself, and wraps beyond " +
                          std::to_string((int64_t(1) << bits) - 1))
      .hint("`sum(i32(x) over [...])` has room for it");
}

Val Intrinsics::reduce(const dsl::Name &name, const std::vector<Argument> &args,
                       const std::vector<dsl::Name> &over, dsl::SourceRange range) {
  const bool histogram = name.text == "histogram";
  constexpr llvm::StringRef alongAxis[] = {"sort", "scan_sum", "scan_max", "fft", "reverse"};
  if (llvm::is_contained(alongAxis, name.text))
    fail(name.range, quote(name.text) + " reduces no axis, and takes the one that it goes along",
         "`" + name.text + "(x, " + over.front().text + ")`");
  if (!histogram && !pipe::symbolizeReduceKind(name.text))
    fail(name.range, quote(name.text) + " is no reduction",
         "sum min max any all count argmin argmax");
  if (args.size() != 1)
    fail(args[1].range, quote(name.text) + " takes one value, and the axes after `over`");
  Argument arg = args.front();
  std::vector<std::string> axes;
  for (const dsl::Name &axis : over) {
    axes.push_back(axis.text);
    if (isBatchAxis(axis.text, arg.value))
      arg.value = peersOf(arg.value, axis.text, arg.range);
  }
  if (arg.value.is(Kind::Grouped) && !histogram)
    return reduceGroups(*pipe::symbolizeReduceKind(name.text), arg, axes, range);
  if (!arg.value.is(Kind::Tensor) && !arg.value.is(Kind::Neighbours))
    fail(arg.range, quote(name.text) + " reduces a tensor, and this is " + show(arg.value));
  auto lacks = [&](const std::string &axis) {
    if (arg.value.is(Kind::Tensor))
      return !find(dims(arg.value.ir), axis);
    return llvm::none_of(arg.value.grid, [&](const Val::GridAxis &a) { return a.name == axis; });
  };
  for (size_t i = 0; i < axes.size(); ++i)
    if (lacks(axes[i]))
      failAxis(over[i].range, quote(name.text), axes[i], arg.value, arg.origin());
  mlir::Type element = elementType(arg.value);
  if (name.text == "sum" && range.file == program.main->id)
    warnOfWrapping(arg.value, range);
  if (histogram) {
    if (arg.value.is(Kind::Neighbours))
      fail(arg.range,
           "`histogram` counts what is in a tensor, and this is " + show(arg.value) +
               ", the neighbours of an element",
           "`count(v == 3 over [h, w])` counts how many of them have one value");
    if (!arg.value.is(Kind::Tensor) || !element.isUnsignedInteger(8))
      fail(arg.range, "`histogram` counts bytes, and this is " + show(arg.value),
           "`scatter(base, ones, bin = x, combine = sum)` counts other whole numbers");
    std::vector<Dim> kept;
    for (const Dim &dim : dims(arg.value.ir))
      if (!llvm::is_contained(axes, dim.axis.name))
        kept.push_back(dim);
    kept.push_back({{"bin", 256, -1, ""}, {}});
    llvm::SmallVector<llvm::StringRef> names(axes.begin(), axes.end());
    mlir::Value keys = arg.value.ir;
    if (anyCounted(keys, axes)) {
      keys = castTo(CastMode::value, tensor(keys), base.getI32Type(), arg.range).ir;
      keys = onlyExisting(keys, axes, constant(base.getI32Type(), -1));
    }
    return tensor(base.create<pipe::HistogramOp>(here, tensorOf(base.getI32Type(), kept), keys,
                                                 base.getStrArrayAttr(names), sizesOf(kept)));
  }
  ReduceKind kind = *pipe::symbolizeReduceKind(name.text);
  const bool logical =
      kind == ReduceKind::any || kind == ReduceKind::all || kind == ReduceKind::count;
  const std::string along = " over [" + llvm::join(axes, ", ") + "])`";
  if (logical != element.isSignlessInteger(1))
    fail(arg.range,
         quote(name.text) + (logical ? " takes truth values" : " takes numbers") +
             ", and this is " + show(arg.value),
         logical                   ? "compare first: `" + name.text + "(x > 0" + along
         : kind == ReduceKind::max ? "`any` is true where one of them is"
         : kind == ReduceKind::min ? "`all` is true where each of them is"
         : kind == ReduceKind::argmax || kind == ReduceKind::argmin
             ? "`" + name.text + "(u8(x)" + along + " is the first that is " +
                   (kind == ReduceKind::argmax ? "true" : "false")
             : "`count` counts truth values");
  Val value = arg.value;
  const mlir::Type given = element;
  if (isStored(element)) {
    element = base.getF32Type();
    value = castTo(CastMode::value, value, element, arg.range);
  }
  if ((kind == ReduceKind::argmin || kind == ReduceKind::argmax) && axes.size() > 1)
    value = inOrderOf(value, axes);
  if (value.is(Kind::Neighbours))
    return asGiven(kind, reduceNeighbours(kind, value, axes, range), given, range);
  PlaceGuard guard(*this, range);
  const std::vector<Dim> all = dims(value.ir);
  if (anyCounted(value.ir, axes))
    value.ir = onlyExisting(value.ir, axes, withoutEffect(base, here, kind, element));
  if (kind == ReduceKind::count || kind == ReduceKind::argmin || kind == ReduceKind::argmax)
    element = base.getI64Type();
  std::vector<Dim> kept;
  for (const Dim &dim : dims(value.ir))
    if (!llvm::is_contained(axes, dim.axis.name))
      kept.push_back(dim);
  llvm::SmallVector<llvm::StringRef> names(axes.begin(), axes.end());
  mlir::Value result = base.create<pipe::ReduceOp>(here, tensorOf(element, kept), kind, value.ir,
                                                   base.getStrArrayAttr(names), sizesOf(kept));
  if (kind == ReduceKind::min || kind == ReduceKind::max)
    result = ofNothing(kind, result, all, axes);
  if (kind == ReduceKind::argmin || kind == ReduceKind::argmax)
    result = amongExisting(result, all, axes);
  return asGiven(kind, tensor(result), given, range);
}

/// The same with some axes in this order among themselves, by which places are numbered.
Val Intrinsics::inOrderOf(const Val &value, llvm::ArrayRef<std::string> axes) {
  const std::string *next = axes.begin();
  auto ordered = [&](const std::string &name) {
    return llvm::is_contained(axes, name) ? *next++ : name;
  };
  Val result = value;
  if (value.is(Kind::Tensor)) {
    std::vector<std::string> order;
    for (const Dim &dim : dims(value.ir))
      order.push_back(ordered(dim.axis.name));
    result.ir = permute(value.ir, order);
    return result;
  }
  for (Val::GridAxis &axis : result.grid) {
    const std::string wanted = ordered(axis.name);
    axis = *llvm::find_if(value.grid, [&](const auto &own) { return own.name == wanted; });
  }
  result.parts.clear();
  forEachPlace(result.grid, [&](llvm::ArrayRef<int64_t> at) {
    std::vector<int64_t> own;
    for (const Val::GridAxis &axis : value.grid)
      for (size_t i = 0; i < result.grid.size(); ++i)
        if (result.grid[i].name == axis.name)
          own.push_back(at[i]);
    result.parts.push_back(value.parts[placeIn(value.grid, own)]);
  });
  return result;
}

/// f16 and bf16 are reduced as f32. What is one of the elements has their type again: no bit of it
/// is lost.
Val Intrinsics::asGiven(ReduceKind kind, const Val &result, mlir::Type given,
                        dsl::SourceRange range) {
  if (!isStored(given) || (kind != ReduceKind::min && kind != ReduceKind::max))
    return result;
  return castTo(CastMode::value, result, given, range);
}

/// Gives a minimum or maximum of no elements its value. Absent elements of floats are NaN, as all
/// present ones may be, so the numbers of elements decide.
mlir::Value Intrinsics::ofNothing(ReduceKind kind, mlir::Value result, const std::vector<Dim> &all,
                                  llvm::ArrayRef<std::string> axes) {
  std::vector<mlir::Value> counts;
  for (const Dim &dim : all)
    if (const Counted *counted = countedBy(dim); counted && llvm::is_contained(axes, dim.axis.name))
      counts.push_back(counted->count);
  mlir::Type element = elementType(tensor(result));
  auto real = llvm::dyn_cast<mlir::FloatType>(element);
  if (counts.empty() || !real)
    return result;
  const auto end = llvm::APFloat::getInf(real.getFloatSemantics(), kind == ReduceKind::max);
  mlir::Value nothing =
      base.create<pipe::ConstantOp>(here, element, base.getFloatAttr(element, end));
  return buildMap(dims(result), element, [&](ElementRegion &) {
    mlir::Value value = elementHere(result, hereRange);
    for (mlir::Value count : counts)
      value = select(compare(Predicate::gt, elementHere(count, hereRange), intConstant(0)), value,
                     nothing);
    return value;
  });
}

/// Counts places among the elements that exist, where a place among all that there is room for was
/// found: rows of which pixels decide the length are shorter than their room.
mlir::Value Intrinsics::amongExisting(mlir::Value place, const std::vector<Dim> &all,
                                      llvm::ArrayRef<std::string> axes) {
  std::vector<Dim> over;
  for (const Dim &dim : all)
    if (llvm::is_contained(axes, dim.axis.name))
      over.push_back(dim);
  if (llvm::none_of(llvm::drop_begin(over), [&](const Dim &dim) { return countedBy(dim); }))
    return place;
  return buildMap(dims(place), base.getI64Type(), [&](ElementRegion &) {
    mlir::Value rest = elementHere(place, hereRange), result, inside;
    for (size_t i = over.size(); i-- > 0;) {
      const Counted *counted = countedBy(over[i]);
      mlir::Value own = i == 0 ? rest : binary(BinaryKind::rem, rest, room(over[i]));
      if (i > 0)
        rest = binary(BinaryKind::div, rest, room(over[i]));
      result = result ? binary(BinaryKind::add, result, binary(BinaryKind::mul, own, inside)) : own;
      mlir::Value extent = counted ? elementHere(counted->count, hereRange) : room(over[i]);
      inside = inside ? binary(BinaryKind::mul, inside, extent) : extent;
    }
    return result;
  });
}

Val Intrinsics::reduceGroups(ReduceKind kind, const Argument &arg,
                             const std::vector<std::string> &over, dsl::SourceRange range) {
  Val value = arg.value.parts[0];
  mlir::Value slot = arg.value.parts[1].ir;
  const Dim along = dims(slot)[0], groups = dims(arg.value.parts[2].ir)[0];
  const std::string name = pipe::stringifyReduceKind(kind).str();
  if (over.size() != 1 || over[0] != along.axis.name)
    fail(range,
         "elements in groups are reduced over the axis that was grouped, " +
             quote(along.axis.name) + " alone",
         quote(name + "(x over [" + along.axis.name + "])"));
  mlir::Type element = elementType(value);
  const bool logical =
      kind == ReduceKind::any || kind == ReduceKind::all || kind == ReduceKind::count;
  if (logical != element.isSignlessInteger(1))
    fail(arg.range, quote(name) + (logical ? " takes truth values" : " takes numbers") +
                        ", and this is " + show(arg.value));
  PlaceGuard guard(*this, range);
  const mlir::Type given = element;
  if (isStored(element))
    value = castTo(pipe::CastMode::value, value, element = base.getF32Type(), arg.range);
  if (kind == ReduceKind::count || kind == ReduceKind::argmin || kind == ReduceKind::argmax)
    element = base.getI64Type();
  std::vector<Dim> all = dims(value.ir);
  *const_cast<Dim *>(find(all, along.axis.name)) = groups;
  const Val result = tensor(base.create<pipe::ReduceByOp>(
      here, tensorOf(element, all), kind, value.ir, along.axis.name, slot, sizesOf(all)));
  return asGiven(kind, result, given, range);
}
