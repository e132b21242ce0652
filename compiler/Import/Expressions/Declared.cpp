// SPDX-License-Identifier: Apache-2.0
//
// Values against declared types.
#include "compiler/Import/Expressions/Expressions.h"
#include "dsl/AST/Numbers.h"
#include "dsl/AST/Printer.h"
#include "dsl/Diagnostics/Nearest.h"
#include <cmath>

using namespace penstock::importer;

bool Expressions::isInfiniteAs(const Val &value, const std::string &type) {
  if (!value.is(Kind::Number) || !value.untyped ||
      !llvm::isa_and_present<mlir::FloatType>(elementNamed(type)))
    return false;
  std::optional<double> number = constantF64(value.ir);
  if (std::optional<int64_t> whole = constantInt(value.ir))
    number = double(*whole);
  return number && std::isfinite(*number) && dsl::exceedsFloat(type, *number);
}

void Expressions::refuseInfinite(const Val &value, const std::string &type, dsl::SourceRange range,
                                 const std::string &what) {
  if (isInfiniteAs(value, type))
    fail(range, what + ", and this number does not fit " + dsl::describeEnd(type));
}

Val Expressions::conform(Val value, const dsl::TypeExpr &type, dsl::SourceRange range,
                         const std::string &what) {
  if (value.is(Kind::Poison))
    throw Abort{};
  auto mismatch = [&]() {
    auto report = error(range, what + " is declared as " + dsl::printType(type) + ", but is " +
                                   (value.untyped && llvm::isa_and_present<mlir::IntegerType>(
                                                         elementNamed(type.name.text))
                                        ? showNumber(value)
                                        : show(value)));
    report.note(type.range, "declared here");
    noteRiding(report);
    if (value.unit && elementNamed(type.name.text))
      report.hint(asNumber(*value.unit));
    if (value.is(Kind::Tensor) && type.kind == dsl::TypeExpr::Kind::Scalar &&
        value.tensorType().getRank() > 0 && elementType(value) == elementNamed(type.name.text))
      report.hint(quote(type.name.text + "[]") + " takes a tensor of any axes");
    throw Abort{};
  };
  if (type.kind == dsl::TypeExpr::Kind::Record) {
    if (!value.is(Kind::Record))
      mismatch();
    for (const dsl::FieldType &field : type.fields) {
      size_t at = 0;
      while (at < value.names.size() && value.names[at] != field.name.text)
        ++at;
      if (at == value.names.size()) {
        auto report = error(range, what + " lacks the field " + quote(field.name.text));
        report.note(field.range, "declared here");
        if (std::string near = dsl::nearest(field.name.text, value.names); !near.empty())
          report.hint(quote(near));
        throw Abort{};
      }
      value.parts[at] = conform(value.parts[at], field.type, range, what + "." + field.name.text);
    }
    return value;
  }
  if (type.kind == dsl::TypeExpr::Kind::Scalar) {
    const std::string &name = type.name.text;
    mlir::Type element = elementNamed(name);
    if (!element) {
      if (name == "range" && value.is(Kind::Range))
        return value;
      if (name == "rect" && value.is(Kind::Record))
        return value;
      if (name == "point" && value.is(Kind::Record))
        return value;
      if ((name == "text" || name == "path") && value.is(Kind::Text))
        return value;
      if (name == "bytes" && value.is(Kind::Bytes))
        return value;
      const std::optional<dsl::UnitKind> unit = dsl::unitKindOf(name);
      if (value.is(Kind::Number) && value.ir.getType().isF64() && (unit || name == "ratio") &&
          value.unit == unit)
        return value;
      mismatch();
    }
    if (value.unit)
      mismatch();
    if (value.is(Kind::Tensor) && value.tensorType().getRank() == 0 &&
        elementType(value) == element)
      return value;
    refuseInfinite(value, name, range, what + " is declared as " + name);
    const bool converts =
        value.is(Kind::Number) || (value.untyped && value.tensorType().getRank() == 0);
    std::optional<Val> converted = converts ? convert(value, element) : std::nullopt;
    if (!converted)
      mismatch();
    return *converted;
  }
  // Tensors.
  mlir::Type element = elementNamed(type.name.text);
  if (value.is(Kind::List))
    return listOf(value, type, range);
  if (value.is(Kind::Number)) {
    // A number is a tensor of rank 0; `E[]` takes it as it is.
    std::optional<Val> converted = convert(value, element);
    if (!type.axes.empty() || !converted || value.unit)
      mismatch();
    return *converted;
  }
  if (value.is(Kind::Tensor) && value.untyped) // made of literals
    if (std::optional<Val> converted = convert(value, element))
      value = *converted;
  const bool isSmall = value.is(Kind::Neighbours);
  if (isSmall && elementType(value) != element && value.untyped &&
      llvm::isa<mlir::FloatType>(element))
    value = castTo(pipe::CastMode::value, value, element, range);
  if (!(value.is(Kind::Tensor) || isSmall) || elementType(value) != element)
    mismatch();
  std::vector<Dim> axes = axesOf(value);
  bool relabel = false;
  for (const dsl::AxisType &axis : type.axes) {
    std::string name = axisNamed(axis.name.text);
    Dim *found = const_cast<Dim *>(find(axes, name));
    if (!found)
      mismatch();
    if (isSmall && axis.metadata)
      continue;
    const auto whole = axis.metadata ? extentOfFormat(axis.metadata->text) : std::nullopt;
    if (whole && found->axis.isStatic() && *whole != found->axis.extent)
      mismatch();
    if (axis.metadata && found->axis.metadata.empty()) {
      found->axis.metadata = axis.metadata->text;
      relabel = true;
    } else if (axis.metadata && found->axis.metadata != axis.metadata->text) {
      mismatch();
    }
    if (axis.extentKind == dsl::ExtentKind::Free)
      continue;
    if (!demandStatedExtent(axis, *found, range))
      mismatch();
    if (axis.extentKind == dsl::ExtentKind::AtMost || found->axis.isStatic())
      continue;
    Dim declared = dim(name, statedExtent(axis), found->axis.metadata, axis.range);
    if (declared.axis.isStatic()) {
      *found = declared;
      relabel = true;
    }
  }
  return relabel && !isSmall ? tensor(retype(value.ir, axes)) : value;
}

void Expressions::convertLiterals(Val &value, const std::string &element) {
  mlir::Type type = pipe::scalarType(&context, element); // null: it is open in the function
  if (literalsConvert && type && value.is(Kind::Tensor) && value.untyped)
    if (std::optional<Val> converted = convert(value, type))
      value = *converted;
}

/// Returns whether a value is one number, perhaps one that pixels decide.
static bool isOne(const Val &value) {
  return value.is(Kind::Number) || (value.is(Kind::Tensor) && value.tensorType().getRank() == 0);
}

/// The numbers of a nested list, row-major; the extents by depth.
static void numbersOf(const Val &list, size_t depth, std::vector<int64_t> &shape,
                      std::vector<Val> &numbers, bool &regular) {
  if (!list.is(Kind::List)) {
    regular &= depth == shape.size() && isOne(list);
    numbers.push_back(list);
    return;
  }
  const auto extent = static_cast<int64_t>(list.parts.size());
  if (shape.size() == depth && numbers.empty())
    shape.push_back(extent);
  regular &= depth < shape.size() && shape[depth] == extent;
  for (const Val &part : list.parts)
    numbersOf(part, depth + 1, shape, numbers, regular);
}

Val Expressions::listOf(const Val &list, const dsl::TypeExpr &type, dsl::SourceRange range,
                        llvm::StringRef without) {
  mlir::Type element = elementNamed(type.name.text);
  std::vector<const dsl::AxisType *> declared;
  for (const dsl::AxisType &axis : type.axes)
    if (axis.name.text != without)
      declared.push_back(&axis);
  std::vector<int64_t> shape;
  std::vector<Val> numbers;
  bool regular = true;
  numbersOf(list, 0, shape, numbers, regular);
  for (const Val &item : numbers)
    if ((item.is(Kind::Tensor) && !isOne(item)) || item.unit)
      fail(range, "an element of this list is " + show(item) + ", and no number",
           item.unit ? asNumber(*item.unit)
                     : "`stack([...], axis)` joins what is computed from tensors");
  if (!regular)
    fail(range, "this list is no regular array of numbers");
  if (shape.size() != declared.size()) {
    error(range, "this list is " + std::to_string(shape.size()) + " deep, and its type has " +
                     std::to_string(declared.size()) + " axes")
        .note(type.range, "the type is " + dsl::printType(type));
    throw Abort{};
  }
  std::vector<Dim> axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    const dsl::AxisType &axis = *declared[i];
    const int64_t wanted = axis.extentKind == dsl::ExtentKind::Free
                               ? shape[i]
                               : demandInt(eval(*axis.extent), axis.extent->range, "the extent");
    if (axis.extentKind == dsl::ExtentKind::AtMost ? shape[i] > wanted : shape[i] != wanted) {
      error(range, "this list has " + std::to_string(shape[i]) + " elements along axis " +
                       quote(axis.name.text))
          .note(axis.range, "declared otherwise here");
      throw Abort{};
    }
    axes.push_back(
        {{axisNamed(axis.name.text), shape[i], -1, axis.metadata ? axis.metadata->text : ""}, {}});
  }
  llvm::SmallVector<mlir::Attribute> constants;
  std::vector<mlir::Value> values;
  for (Val &item : numbers) {
    std::optional<Val> converted = convert(item, element);
    if (!converted) {
      const auto known = item.is(Kind::Tensor)                    ? std::nullopt
                         : item.ir.getType().isSignlessInteger(1) ? std::nullopt
                                                                  : constantInt(item.ir);
      fail(range, known ? std::to_string(*known) + " in this list is no " + show(element)
                        : "an element of this list is " + show(item) + ", and its type says " +
                              show(element));
    }
    values.push_back(converted->ir);
    mlir::Attribute attribute;
    if (auto op = converted->ir.getDefiningOp<pipe::ConstantOp>())
      attribute = op.getValue();
    constants.push_back(attribute);
  }
  if (llvm::any_of(values, [&](mlir::Value v) { return isElementLocal(v); })) {
    Val small; // of elements: no op of its own
    small.kind = Kind::Neighbours;
    for (const Dim &axis : axes)
      small.grid.push_back({axis.axis.name, 0, axis.axis.extent});
    for (mlir::Value value : values)
      small.parts.push_back(number(value));
    return small;
  }
  PlaceGuard guard(*this, range);
  auto shaped = mlir::RankedTensorType::get(shape, element);
  if (llvm::all_of(constants, [](mlir::Attribute a) { return static_cast<bool>(a); }))
    return tensor(base.create<pipe::ConstantOp>(here, tensorOf(element, axes),
                                                mlir::DenseElementsAttr::get(shaped, constants)));
  if (values.size() > 64)
    notYet(range, "a list of more than 64 computed numbers");
  auto numberOf = [&](mlir::Value value) {
    return pipe::isScalarType(value.getType()) ? value : elementHere(value, range);
  };
  return tensor(buildMap(axes, element, [&](ElementRegion &region) {
    mlir::Value index = intConstant(0);
    for (size_t i = 0; i < axes.size(); ++i)
      index = binary(pipe::BinaryKind::add,
                     binary(pipe::BinaryKind::mul, index, intConstant(axes[i].axis.extent)),
                     region.coordinates[i]);
    mlir::Value result = numberOf(values.back());
    for (size_t i = values.size() - 1; i-- > 0;)
      result = select(compare(pipe::Predicate::eq, index, intConstant(static_cast<int64_t>(i))),
                      numberOf(values[i]), result);
    return result;
  }));
}
