//===- Types.cpp - types, axes and extents --------------------------------===//

#include "compiler/Import/Places.h"
#include "dsl/AST/Printer.h"
#include "dsl/Diagnostics/Nearest.h"

using namespace penstock::importer;
using penstock::pipe::Axis;
using penstock::pipe::NamedTensorType;

//===--- in the user's words ----------------------------------------------===//

std::string Importer::show(mlir::Type type) const {
  if (auto tensor = llvm::dyn_cast<NamedTensorType>(type)) {
    std::vector<Dim> axes;
    for (const Axis &axis : tensor.getAxes())
      axes.push_back({axis, {}});
    return show(axes, tensor.getElementType());
  }
  if (pipe::isScalarType(type))
    return pipe::scalarName(type).str();
  if (llvm::isa<pipe::BytesType>(type))
    return "bytes";
  if (llvm::isa<pipe::TextType>(type))
    return "text";
  if (llvm::isa<pipe::RowType>(type))
    return "a row";
  return "a table";
}

std::string Importer::show(const std::vector<Dim> &dims, mlir::Type element) const {
  std::string text = pipe::scalarName(element).str();
  if (dims.empty())
    return text;
  text += "[";
  for (const Dim &dim : dims) {
    const Axis &axis = dim.axis;
    text += (&dim == &dims.front() ? "" : ", ") + axis.name;
    if (!axis.metadata.empty())
      text += ": " + axis.metadata;
    else if (axis.isStatic())
      text += "=" + std::to_string(axis.extent);
    else if (axis.bound >= 0)
      text += "<=" + std::to_string(axis.bound);
  }
  return text + "]";
}

static std::string unitName(penstock::dsl::UnitKind unit) {
  switch (unit) {
  case penstock::dsl::UnitKind::Duration:
    return "a duration";
  case penstock::dsl::UnitKind::Frequency:
    return "a frequency";
  case penstock::dsl::UnitKind::Angle:
    return "an angle";
  case penstock::dsl::UnitKind::Length:
    return "a length";
  default:
    return "a fraction";
  }
}

std::string Importer::show(const Val &value) const {
  switch (value.kind) {
  case Kind::Number:
    if (value.unit)
      return unitName(*value.unit);
    if (value.loose && value.ir.getType().isF64())
      return "a fraction";
    return value.ir.getType().isSignlessInteger(64) ? "int" : show(value.ir.getType());
  case Kind::Tensor:
    return show(value.ir.getType());
  case Kind::Neighbours: {
    std::string text = show(elementType(value)) + "[";
    for (const Val::GridAxis &axis : value.grid)
      text += (&axis == &value.grid.front() ? "" : ", ") + axis.name + "=" +
              std::to_string(axis.low) + " ..= " + std::to_string(axis.low + axis.extent - 1);
    return text + "]";
  }
  case Kind::Grouped:
    return show(value.parts[0]) + " in groups";
  case Kind::Record: {
    std::string text = "{ ";
    for (size_t i = 0; i < value.names.size(); ++i)
      text += (i ? ", " : "") + value.names[i] + ": " + show(value.parts[i]);
    return text + " }";
  }
  case Kind::Range:
    return "a range";
  case Kind::List:
    return "a list of " + std::to_string(value.parts.size());
  case Kind::Word:
    return "the word " + quote(value.word);
  case Kind::Text:
    return "text";
  case Kind::Bytes:
    return "bytes";
  case Kind::Table:
    return "a table";
  case Kind::Row:
    return "a row";
  case Kind::Poison:
    break;
  }
  return "unknown";
}

//===--- elements and axes ------------------------------------------------===//

mlir::Type Importer::elementType(const Val &value) const {
  if (value.is(Kind::Number))
    return value.ir.getType();
  if (value.is(Kind::Tensor))
    return value.tensorType().getElementType();
  if (value.is(Kind::Neighbours))
    return elementType(value.parts.front());
  return {};
}

mlir::Type Importer::elementNamed(const std::string &name) const {
  const Frame &current = frames.back();
  if (auto found = current.generics.find(name); found != current.generics.end())
    return found->second;
  if (name == "int")
    return mlir::IntegerType::get(&context, 64);
  return pipe::scalarType(&context, name);
}

std::string Importer::axisNamed(const std::string &name) const {
  auto found = frames.back().axes.find(name);
  return found == frames.back().axes.end() ? name : found->second;
}

std::vector<Dim> Importer::dims(mlir::Value tensor) {
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

NamedTensorType Importer::tensorOf(mlir::Type element, const std::vector<Dim> &dims) const {
  llvm::SmallVector<Axis> axes;
  for (const Dim &dim : dims)
    axes.push_back(dim.axis);
  return NamedTensorType::get(&context, element, axes);
}

llvm::SmallVector<mlir::Value> Importer::sizesOf(const std::vector<Dim> &dims) {
  llvm::SmallVector<mlir::Value> sizes;
  for (const Dim &dim : dims)
    if (!dim.axis.isStatic())
      sizes.push_back(dim.size);
  return sizes;
}

const Dim *Importer::find(const std::vector<Dim> &dims, const std::string &name) {
  for (const Dim &dim : dims)
    if (dim.axis.name == name)
      return &dim;
  return nullptr;
}

Dim Importer::dim(const std::string &name, mlir::Value size, const std::string &metadata,
                  dsl::SourceRange range) {
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

mlir::Value Importer::extent(const Dim &dim) {
  if (const Counted *counted = countedBy(dim))
    failCounted(hereRange, dim, *counted);
  return room(dim);
}

bool Importer::sameExtent(const Dim &a, const Dim &b) {
  if (a.axis.isStatic() && b.axis.isStatic())
    return a.axis.extent == b.axis.extent;
  if (a.size == b.size)
    return true;
  mlir::Value left = extent(a), right = extent(b);
  check(compare(pipe::Predicate::eq, left, right),
        "axis `" + a.axis.name + "` has {0} elements on one side and {1} on the other", left,
        right);
  return true;
}

//===--- declared types ---------------------------------------------------===//

Val Importer::conform(Val value, const dsl::TypeExpr &type, dsl::SourceRange range,
                      const std::string &what) {
  if (value.is(Kind::Poison))
    throw Abort{};
  auto mismatch = [&]() {
    error(range, what + " is declared as " + dsl::printType(type) + ", but is " + show(value))
        .note(type.range, "declared here");
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
      if (value.is(Kind::Number) && value.ir.getType().isF64())
        return value; // a quantity; its unit was checked where it was written
      mismatch();
    }
    if (value.is(Kind::Tensor) && value.tensorType().getRank() == 0 &&
        elementType(value) == element)
      return value;
    std::optional<Val> converted = value.is(Kind::Number) ? convert(value, element) : std::nullopt;
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
    if (!type.axes.empty() || !converted)
      mismatch();
    return *converted;
  }
  if (!value.is(Kind::Tensor) || elementType(value) != element)
    mismatch();
  std::vector<Dim> axes = dims(value.ir);
  bool relabel = false;
  for (const dsl::AxisType &axis : type.axes) {
    std::string name = axisNamed(axis.name.text);
    Dim *found = const_cast<Dim *>(find(axes, name));
    if (!found)
      mismatch();
    if (axis.metadata && found->axis.metadata.empty()) {
      found->axis.metadata = axis.metadata->text;
      relabel = true;
    } else if (axis.metadata && found->axis.metadata != axis.metadata->text) {
      mismatch();
    }
    if (axis.extentKind == dsl::ExtentKind::Exact) {
      Dim declared = dim(name, demandIndex(eval(*axis.extent), axis.extent->range, "an extent"),
                         found->axis.metadata, axis.range);
      if (!sameExtent(*found, declared))
        mismatch();
      if (declared.axis.isStatic() && !found->axis.isStatic()) {
        *found = declared;
        relabel = true;
      }
    }
  }
  return relabel ? tensor(retype(value.ir, axes)) : value;
}

/// The numbers of a nested list, row-major; the extents by depth.
static void numbersOf(const Val &list, size_t depth, std::vector<int64_t> &shape,
                      std::vector<Val> &numbers, bool &regular) {
  if (!list.is(Kind::List)) {
    regular &= depth == shape.size() && list.is(Kind::Number);
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

Val Importer::listOf(const Val &list, const dsl::TypeExpr &type, dsl::SourceRange range) {
  mlir::Type element = elementNamed(type.name.text);
  std::vector<int64_t> shape;
  std::vector<Val> numbers;
  bool regular = true;
  numbersOf(list, 0, shape, numbers, regular);
  if (!regular)
    fail(range, "this list is no regular array of numbers");
  if (shape.size() != type.axes.size()) {
    error(range, "this list is " + std::to_string(shape.size()) + " deep, and its type has " +
                     std::to_string(type.axes.size()) + " axes")
        .note(type.range, "the type is " + dsl::printType(type));
    throw Abort{};
  }
  std::vector<Dim> axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    const dsl::AxisType &axis = type.axes[i];
    if (axis.extentKind == dsl::ExtentKind::Exact &&
        demandInt(eval(*axis.extent), axis.extent->range, "the extent") != shape[i]) {
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
    if (!converted)
      fail(range,
           "an element of this list is " + show(item) + ", and its type says " + show(element));
    values.push_back(converted->ir);
    mlir::Attribute attribute;
    if (auto op = converted->ir.getDefiningOp<pipe::ConstantOp>())
      attribute = op.getValue();
    constants.push_back(attribute);
  }
  auto shaped = mlir::RankedTensorType::get(shape, element);
  if (llvm::all_of(constants, [](mlir::Attribute a) { return static_cast<bool>(a); }))
    return tensor(base.create<pipe::ConstantOp>(here, tensorOf(element, axes),
                                                mlir::DenseElementsAttr::get(shaped, constants)));
  if (values.size() > 64)
    notYet(range, "a list of more than 64 computed numbers");
  return tensor(buildMap(axes, element, [&](ElementRegion &region) {
    mlir::Value index = intConstant(0);
    for (size_t i = 0; i < axes.size(); ++i)
      index = binary(pipe::BinaryKind::add,
                     binary(pipe::BinaryKind::mul, index, intConstant(axes[i].axis.extent)),
                     region.coordinates[i]);
    mlir::Value result = values.back();
    for (size_t i = values.size() - 1; i-- > 0;)
      result = select(compare(pipe::Predicate::eq, index, intConstant(static_cast<int64_t>(i))),
                      values[i], result);
    return result;
  }));
}
