// SPDX-License-Identifier: Apache-2.0
//
// Types and values in the user's words.
#include "compiler/Import/Values/Places.h"

using namespace penstock::importer;
using penstock::pipe::Axis;
using penstock::pipe::NamedTensorType;

std::string Places::show(mlir::Type type) const {
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

std::string Places::show(const std::vector<Dim> &dims, mlir::Type element) const {
  std::string text = pipe::scalarName(element).str();
  if (dims.empty())
    return text;
  text += "[";
  for (const Dim &dim : dims) {
    const Axis &axis = dim.axis;
    const llvm::StringRef name = llvm::StringRef(axis.name).rtrim('\''); // as its caller calls it
    text += (&dim == &dims.front() ? "" : ", ") + name.str();
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

std::string Places::show(const Val &value) const {
  switch (value.kind) {
  case Kind::Number:
    if (value.unit)
      return unitName(*value.unit);
    if (value.untyped && value.ir.getType().isF64())
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
  case Kind::Type:
    return "a type";
  case Kind::Poison:
    break;
  }
  return "unknown";
}
