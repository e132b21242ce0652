// SPDX-License-Identifier: Apache-2.0
//
// Element types and the tensor type.
#include "compiler/Dialect/PipeDialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock::pipe;

#define GET_TYPEDEF_CLASSES
#include "compiler/Dialect/PipeTypes.cpp.inc"

void PipeDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/Dialect/PipeTypes.cpp.inc"
      >();
}

llvm::hash_code penstock::pipe::hash_value(const Axis &axis) {
  return llvm::hash_combine(axis.name, axis.extent, axis.bound, axis.metadata);
}

StringRef penstock::pipe::scalarName(Type type) {
  if (type.isUnsignedInteger(8))
    return "u8";
  if (type.isUnsignedInteger(16))
    return "u16";
  if (auto integer = llvm::dyn_cast<IntegerType>(type); integer && integer.isSignless())
    switch (integer.getWidth()) {
    case 1:
      return "bool";
    case 8:
      return "i8";
    case 16:
      return "i16";
    case 32:
      return "i32";
    case 64:
      return "i64";
    default:
      return {};
    }
  if (type.isF16())
    return "f16";
  if (type.isBF16())
    return "bf16";
  if (type.isF32())
    return "f32";
  if (type.isF64())
    return "f64";
  return {};
}

Type penstock::pipe::scalarType(MLIRContext *context, StringRef name) {
  Builder builder(context);
  if (name == "u8")
    return IntegerType::get(context, 8, IntegerType::Unsigned);
  if (name == "u16")
    return IntegerType::get(context, 16, IntegerType::Unsigned);
  if (name == "bool")
    return builder.getI1Type();
  if (name == "i8")
    return builder.getI8Type();
  if (name == "i16")
    return builder.getI16Type();
  if (name == "i32")
    return builder.getI32Type();
  if (name == "i64")
    return builder.getI64Type();
  if (name == "f16")
    return builder.getF16Type();
  if (name == "bf16")
    return builder.getBF16Type();
  if (name == "f32")
    return builder.getF32Type();
  if (name == "f64")
    return builder.getF64Type();
  return {};
}

bool penstock::pipe::isScalarType(Type type) { return !scalarName(type).empty(); }

int64_t penstock::pipe::scalarBytes(Type type) {
  return std::max<int64_t>(1, type.getIntOrFloatBitWidth() / 8);
}

//===--- the tensor type ----------------------------------------------------------===//

LogicalResult NamedTensorType::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                      Type elementType, ArrayRef<Axis> axes) {
  if (!isScalarType(elementType)) // C2
    return emitError() << "element type must be one of u8 i8 u16 i16 i32 i64 "
                          "f16 bf16 f32 f64 "
                          "bool, but it is "
                       << elementType;
  llvm::StringSet<> seen;
  for (const Axis &axis : axes)
    if (!seen.insert(axis.name).second) // C1
      return emitError() << "axis `" << axis.name << "` stands twice";
  return success();
}

int64_t NamedTensorType::axisIndex(StringRef name) const {
  for (auto [i, axis] : llvm::enumerate(getAxes()))
    if (axis.name == name)
      return static_cast<int64_t>(i);
  return -1;
}

NamedTensorType NamedTensorType::withElementType(Type elementType) const {
  return get(getContext(), elementType, getAxes());
}

NamedTensorType NamedTensorType::withAxes(ArrayRef<Axis> axes) const {
  return get(getContext(), getElementType(), axes);
}

bool NamedTensorType::isStatic() const {
  return llvm::all_of(getAxes(), [](const Axis &axis) { return axis.isStatic(); });
}

SmallVector<int64_t> NamedTensorType::dynamicAxes() const {
  SmallVector<int64_t> result;
  for (auto [i, axis] : llvm::enumerate(getAxes()))
    if (!axis.isStatic())
      result.push_back(static_cast<int64_t>(i));
  return result;
}

int64_t NamedTensorType::numElements() const {
  int64_t result = 1;
  for (const Axis &axis : getAxes())
    result *= axis.extent;
  return result;
}

// `u8[h=?, w=224, k=? max 200, c=3:rgb]`: inside `!pipe.tensor<...>` the printer
// and the lexer of MLIR need every `<` to be closed, so the language's `<=` has no
// place here.
Type NamedTensorType::parse(AsmParser &parser) {
  StringRef element;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&element))
    return {};
  Type elementType = scalarType(parser.getContext(), element);
  if (!elementType) {
    parser.emitError(loc) << "unknown element type `" << element << "`";
    return {};
  }
  SmallVector<Axis> axes;
  auto parseAxis = [&]() -> ParseResult {
    Axis axis;
    if (parser.parseKeywordOrString(&axis.name))
      return failure();
    if (parser.parseEqual())
      return failure();
    if (failed(parser.parseOptionalQuestion())) {
      if (parser.parseInteger(axis.extent))
        return failure();
    } else if (succeeded(parser.parseOptionalKeyword("max")) && parser.parseInteger(axis.bound)) {
      return failure();
    }
    if (succeeded(parser.parseOptionalColon()) && parser.parseKeywordOrString(&axis.metadata))
      return failure();
    axes.push_back(std::move(axis));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<NamedTensorType>(loc, parser.getContext(), elementType, axes);
}

void NamedTensorType::print(AsmPrinter &printer) const {
  printer << '<' << scalarName(getElementType()) << '[';
  llvm::interleaveComma(getAxes(), printer, [&](const Axis &axis) {
    printer.printKeywordOrString(axis.name);
    if (axis.isStatic())
      printer << '=' << axis.extent;
    else if (axis.bound >= 0)
      printer << "=? max " << axis.bound;
    else
      printer << "=?";
    if (!axis.metadata.empty()) {
      printer << ':';
      printer.printKeywordOrString(axis.metadata);
    }
  });
  printer << "]>";
}
