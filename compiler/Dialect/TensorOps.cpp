// SPDX-License-Identifier: Apache-2.0
//
// Verifiers of the tensor ops.
#include "compiler/Dialect/PipeDialect.h"
#include "compiler/Dialect/ScheduleDialect.h"

using namespace mlir;
using namespace penstock::pipe;

//===--- shared constraints -------------------------------------------------------===//

static LogicalResult verifyAxes(Operation *op, ArrayAttr names, NamedTensorType type) {
  for (auto name : names.getAsRange<StringAttr>())
    if (type.axisIndex(name) < 0)
      return op->emitOpError() << "speaks of axis `" << name.strref() << "`, which " << type
                               << " does not have";
  return success();
}

static LogicalResult verifySameElements(Operation *op, NamedTensorType a, NamedTensorType b) {
  if (a.getElementType() != b.getElementType())
    return op->emitOpError() << "changes the element type from " << scalarName(a.getElementType())
                             << " to " << scalarName(b.getElementType());
  return success();
}

static bool sameAxisNames(NamedTensorType a, NamedTensorType b) {
  return llvm::equal(a.getAxes(), b.getAxes(),
                     [](const Axis &x, const Axis &y) { return x.name == y.name; });
}

/// `fill` stands exactly for the constant border, and has the element type.
static LogicalResult verifyFill(Operation *op, Border border, Value fill, NamedTensorType input) {
  if ((border == Border::constant) != static_cast<bool>(fill))
    return op->emitOpError("has a fill value exactly when the border is constant");
  if (fill && fill.getType() != input.getElementType())
    return op->emitOpError() << "fills " << input << " with " << scalarName(fill.getType());
  return success();
}

/// The region's arguments are `elements`, then one i64 per axis of `domain`; it
/// yields `yields`.
static LogicalResult verifyRegion(Operation *op, Region &region, ArrayRef<Type> elements,
                                  NamedTensorType domain, ArrayRef<Type> yields) {
  SmallVector<Type> wanted(elements);
  wanted.append(static_cast<size_t>(domain.getRank()), IntegerType::get(op->getContext(), 64));
  if (!llvm::equal(region.getArgumentTypes(), wanted))
    return op->emitOpError() << "has a region whose arguments are not the elements, then one i64 "
                                "per axis of the result";
  Operation *terminator = region.front().getTerminator();
  if (!llvm::equal(terminator->getOperandTypes(), yields))
    return op->emitOpError("yields other types than its result asks for");
  return success();
}

//===--- class I ------------------------------------------------------------------===//

LogicalResult ViewOp::verify() {
  AffineMap map = getMap();
  NamedTensorType input = tensorOf(getInput()), result = tensorOf(getResult());
  if (map.getNumDims() != result.getRank() || map.getNumResults() != input.getRank() ||
      map.getNumSymbols() != getSymbols().size()) // C1
    return emitOpError() << "has a map of " << map.getNumDims() << " dimensions, "
                         << map.getNumSymbols() << " symbols and " << map.getNumResults()
                         << " results for " << result.getRank() << " result axes, "
                         << getSymbols().size() << " symbols and " << input.getRank()
                         << " input axes";
  return verifySameElements(*this, input, result); // C2
}

LogicalResult PadOp::verify() {
  NamedTensorType input = tensorOf(getInput()), result = tensorOf(getResult());
  if (getLow().size() != getOver().size()) // C1
    return emitOpError() << "has " << getLow().size() << " amounts for " << getOver().size()
                         << " axes";
  if (failed(verifyAxes(*this, getOver(), input)) ||
      failed(verifyFill(*this, getBorder(), getFill(), input)) || // C2
      failed(verifySameElements(*this, input, result)))
    return failure();
  if (!sameAxisNames(input, result)) // C3
    return emitOpError("changes the axes");
  return success();
}

LogicalResult ConcatOp::verify() {
  NamedTensorType result = tensorOf(getResult());
  if (getInputs().empty())
    return emitOpError("has no input");
  for (Value input : getInputs()) // C1
    if (!sameAxisNames(tensorOf(input), result) ||
        tensorOf(input).getElementType() != result.getElementType())
      return emitOpError() << "joins " << tensorOf(input) << " into " << result;
  if (result.axisIndex(getAxis()) < 0)
    return emitOpError() << "speaks of axis `" << getAxis() << "`, which " << result
                         << " does not have";
  return success();
}

LogicalResult StackOp::verify() {
  NamedTensorType result = tensorOf(getResult());
  if (getInputs().empty())
    return emitOpError("has no input");
  for (Value input : getInputs()) { // C1
    NamedTensorType type = tensorOf(input);
    if (type != tensorOf(getInputs().front()) || result.getElementType() != type.getElementType() ||
        result.getAxes().drop_front() != type.getAxes())
      return emitOpError() << "stacks " << type << " into " << result;
  }
  const Axis &axis = result.getAxes().front();
  if (axis.name != getAxis() || axis.extent != static_cast<int64_t>(getInputs().size()))
    return emitOpError() << "adds axis `" << getAxis() << "` of " << getInputs().size()
                         << " to get " << result;
  return success();
}

LogicalResult PlaceOp::verify() {
  NamedTensorType patch = tensorOf(getPatch()), base = tensorOf(getBase()),
                  result = tensorOf(getResult());
  if (!sameAxisNames(patch, base) || base != result ||
      patch.getElementType() != base.getElementType()) // C1
    return emitOpError() << "writes " << patch << " into " << base << " to get " << result;
  if (getAt().size() != getOver().size()) // C2
    return emitOpError() << "has " << getAt().size() << " offsets for " << getOver().size()
                         << " axes";
  return verifyAxes(*this, getOver(), base);
}

//===--- classes P, H, G ----------------------------------------------------------===//

LogicalResult MapOp::verify() {
  NamedTensorType result = tensorOf(getResult());
  SmallVector<Type> elements;
  for (Value input : getInputs()) {
    NamedTensorType type = tensorOf(input);
    elements.push_back(type.getElementType());
    for (const Axis &axis : type.getAxes()) { // C1
      const int64_t at = result.axisIndex(axis.name);
      if (at < 0)
        return emitOpError() << "has an input with axis `" << axis.name << "`, which " << result
                             << " does not have";
      const Axis &other = result.getAxes()[at];
      if (axis.isStatic() && other.isStatic() && axis.extent != other.extent)
        return emitOpError() << "has an input with extent " << axis.extent << " along `"
                             << axis.name << "`, where the result has " << other.extent;
    }
  }
  if (failed(verifyRegion(*this, getBody(), elements, result, {result.getElementType()}))) // C2, C3
    return failure();
  return success();
}

LogicalResult WindowOp::verify() {
  NamedTensorType input = tensorOf(getInput()), result = tensorOf(getResult());
  const size_t axes = getOver().size();
  if (getLow().size() != axes || getHigh().size() != axes) // C1
    return emitOpError("has no pair of offsets for each axis");
  int64_t neighbours = 1;
  for (size_t i = 0; i < axes; ++i) {
    if (getLow()[i] > getHigh()[i])
      return emitOpError() << "has an empty neighbourhood along `"
                           << llvm::cast<StringAttr>(getOver()[i]).strref() << "`";
    // Before anything of that size is made; a product that overflows is no number.
    int64_t last = 0, span = 0;
    if (llvm::SubOverflow(getHigh()[i], getLow()[i], last) ||
        llvm::AddOverflow<int64_t>(last, 1, span) ||
        llvm::MulOverflow(neighbours, span, neighbours) ||
        neighbours > static_cast<int64_t>(getBody().getNumArguments()))
      return emitOpError("has a neighbourhood that its region has no arguments for"); // C4
  }
  if (failed(verifyAxes(*this, getOver(), input)))
    return failure();
  if (input.getAxes() != result.getAxes()) // C2
    return emitOpError() << "maps " << input << " to other axes " << result;
  if (failed(verifyFill(*this, getBorder(), getFill(), input))) // C3
    return failure();
  SmallVector<Type> elements(static_cast<size_t>(neighbours), input.getElementType());
  if (failed(verifyRegion(*this, getBody(), elements, result, {result.getElementType()}))) // C4
    return failure();
  return success();
}

SmallVector<int64_t> GatherOp::readAt() {
  SmallVector<int64_t> axes;
  for (const Axis &axis : tensorOf(getInput()).getAxes())
    axes.push_back(llvm::is_contained(getOver().getAsValueRange<StringAttr>(), axis.name)
                       ? -1
                       : tensorOf(getResult()).axisIndex(axis.name));
  return axes;
}

LogicalResult GatherOp::verify() {
  NamedTensorType input = tensorOf(getInput()), result = tensorOf(getResult());
  if (failed(verifyAxes(*this, getOver(), input)))
    return failure();
  for (const Axis &axis : input.getAxes()) // C1
    if (!llvm::is_contained(getOver().getAsValueRange<StringAttr>(), axis.name) &&
        result.axisIndex(axis.name) < 0)
      return emitOpError() << "reads " << input << " along axis `" << axis.name << "`, which "
                           << result << " does not have";
  if (failed(verifySameElements(*this, input, result)) ||
      failed(verifyFill(*this, getBorder(), getFill(), input))) // C2
    return failure();
  SmallVector<Type> coordinates(getOver().size(), Float64Type::get(getContext()));
  if (failed(verifyRegion(*this, getBody(), {}, result, coordinates))) // C3
    return failure();
  return success();
}

//===--- resampling ---------------------------------------------------------------===//

LogicalResult WeightsOp::verify() {
  NamedTensorType weights = tensorOf(getWeights()), start = tensorOf(getStart());
  Type element = weights.getElementType();
  const bool fits = weights.getRank() == 2 && start.getRank() == 1 &&
                    weights.getAxes()[0].name == start.getAxes()[0].name &&
                    weights.getAxes()[1].name != start.getAxes()[0].name &&
                    start.getElementType().isInteger(32) &&
                    (element.isSignlessInteger(32) || element.isF64());
  if (!fits) // C1
    return emitOpError() << "has results " << weights << " and " << start;
  return success();
}

LogicalResult ResampleOp::verify() {
  NamedTensorType input = tensorOf(getInput()), weights = tensorOf(getWeights()),
                  start = tensorOf(getStart()), result = tensorOf(getResult());
  if (input.axisIndex(getAxis()) < 0 || weights.getRank() != 2 ||
      weights.getAxes()[0].name != getAxis() || start.getRank() != 1 ||
      start.getAxes()[0].name != getAxis()) // C1
    return emitOpError() << "has weights " << weights << " and starts " << start << " along `"
                         << getAxis() << "` of " << input;
  Type weight = weights.getElementType();
  if (getNumerics() == Numerics::pillow
          ? !(input.getElementType().isUnsignedInteger(8) && weight.isSignlessInteger(32))
          : !weight.isF64()) // C2
    return emitOpError() << "cannot use weights of " << scalarName(weight) << " on "
                         << scalarName(input.getElementType()) << " in `"
                         << stringifyNumerics(getNumerics()) << "` numerics";
  if (!sameAxisNames(input, result)) // C3
    return emitOpError("changes the axes");
  return verifySameElements(*this, input, result);
}

//===--- class R ------------------------------------------------------------------===//

LogicalResult ReduceOp::verify() {
  NamedTensorType value = tensorOf(getValue()), result = tensorOf(getResult());
  if (failed(verifyAxes(*this, getOver(), value))) // C1
    return failure();
  SmallVector<Axis> kept;
  for (const Axis &axis : value.getAxes())
    if (!llvm::is_contained(getOver(), StringAttr::get(getContext(), axis.name)))
      kept.push_back(axis);
  if (result.getAxes() != ArrayRef<Axis>(kept))
    return emitOpError() << "reduces " << value << " to " << result;
  const bool index =
      llvm::is_contained({ReduceKind::count, ReduceKind::argmin, ReduceKind::argmax}, getKind());
  Type wanted = index ? IntegerType::get(getContext(), 64) : value.getElementType();
  if (result.getElementType() != wanted) // C2
    return emitOpError() << "gives " << scalarName(wanted) << ", not "
                         << scalarName(result.getElementType());
  const bool logical =
      llvm::is_contained({ReduceKind::any, ReduceKind::all, ReduceKind::count}, getKind());
  if (logical != value.getElementType().isSignlessInteger(1))
    return emitOpError() << "cannot combine " << scalarName(value.getElementType());
  return success();
}

LogicalResult ScanOp::verify() {
  NamedTensorType value = tensorOf(getValue()), result = tensorOf(getResult());
  if (value.axisIndex(getAxis()) < 0 || value != result) // C1
    return emitOpError() << "accumulates " << value << " along `" << getAxis() << "` into "
                         << result;
  if ((getKind() == ScanKind::recurrence) != (getFactor() || getFactors()) ||
      (getFactor() && getFactors())) // C2
    return emitOpError("has a factor, or factors, exactly when it is a recurrence");
  if (getFactors()) { // C2
    NamedTensorType factors = tensorOf(getFactors());
    auto isAlike = [](const Axis &a, const Axis &b) {
      return a.name == b.name && a.extent == b.extent;
    };
    if (factors.getElementType() != computedIn(value.getElementType()) ||
        !llvm::equal(factors.getAxes(), value.getAxes(), isAlike))
      return emitOpError() << "has factors " << factors << " for " << value;
  }
  return success();
}

LogicalResult HistogramOp::verify() {
  NamedTensorType value = tensorOf(getValue()), result = tensorOf(getResult());
  if (!llvm::isa<IntegerType>(value.getElementType()) ||
      failed(verifyAxes(*this, getOver(), value))) // C1
    return emitOpError("needs integer keys and axes of its value");
  if (result.getRank() == 0 || result.getAxes().back().name != "bin" ||
      !result.getElementType().isSignlessInteger(32))
    return emitOpError() << "counts into " << result;
  return success();
}

LogicalResult ContractOp::verify() {
  NamedTensorType value = tensorOf(getValue()), matrix = tensorOf(getMatrix()),
                  result = tensorOf(getResult());
  const bool fits =
      matrix.getRank() == 2 && value.axisIndex(matrix.getAxes()[0].name) >= 0 &&
      result.getRank() == value.getRank() &&
      result.axisIndex(matrix.getAxes()[1].name) == value.axisIndex(matrix.getAxes()[0].name) &&
      value.getElementType() == matrix.getElementType() &&
      value.getElementType() == result.getElementType() &&
      (value.getElementType().isF32() || value.getElementType().isF64() ||
       value.getElementType().isSignlessInteger(32) ||
       value.getElementType().isSignlessInteger(64));
  if (!fits) // C1
    return emitOpError() << "multiplies " << value << " by " << matrix << " to get " << result;
  return success();
}

LogicalResult FftOp::verify() {
  NamedTensorType value = tensorOf(getValue()), result = tensorOf(getResult());
  const int64_t at = value.axisIndex(getAxis());
  if (at < 0 || !value.getAxes()[at].isStatic() || value.getAxes()[at].extent < 1 ||
      !(value.getElementType().isF32() || value.getElementType().isF64())) // C1
    return emitOpError() << "cannot transform " << value << " along `" << getAxis() << "`";
  bool fits =
      result.getRank() == value.getRank() + 1 && result.getElementType() == value.getElementType();
  for (int64_t i = 0; fits && i < value.getRank(); ++i)
    if (i != at)
      fits = result.getAxes()[i].name == value.getAxes()[i].name;
  if (fits) {
    const Axis &freq = result.getAxes()[at], &part = result.getAxes().back();
    fits = freq.name == "freq" && part.name == "part" && part.extent == 2 &&
           freq.extent == value.getAxes()[at].extent / 2 + 1;
  }
  if (!fits) // C2
    return emitOpError() << "transforms " << value << " into " << result;
  return success();
}

/// One axis `name` alone, of elements for which `fits` holds.
static bool isAlong(Value tensor, StringRef name, llvm::function_ref<bool(Type)> fits) {
  NamedTensorType type = tensorOf(tensor);
  return type.getRank() == 1 && type.getAxes()[0].name == name && fits(type.getElementType());
}
static bool isI64(Type type) { return type.isSignlessInteger(64); }
static bool isCount(Value tensor) {
  return tensorOf(tensor).getRank() == 0 && isI64(tensorOf(tensor).getElementType());
}

LogicalResult CompactOp::verify() {
  NamedTensorType value = tensorOf(getValue()), result = tensorOf(getResult());
  if (!isAlong(getMask(), getAxis(), isBool) || value.axisIndex(getAxis()) < 0) // C1
    return emitOpError() << "selects along `" << getAxis() << "` with a mask of "
                         << tensorOf(getMask());
  if (!sameAxisNames(value, result) || !isCount(getCount()) ||
      value.getElementType() != result.getElementType()) // C2
    return emitOpError() << "keeps elements of " << value << " in " << result;
  return success();
}

LogicalResult GroupOp::verify() {
  NamedTensorType key = tensorOf(getKey());
  if (key.getRank() == 0 || key.getAxes()[0].name != getAxis() ||
      !llvm::isa<IntegerType>(key.getElementType())) // C1
    return emitOpError() << "groups along `" << getAxis() << "` by " << key;
  if (getMask() && !isAlong(getMask(), getAxis(), isBool)) // C2
    return emitOpError() << "groups along `" << getAxis() << "` with a mask of "
                         << tensorOf(getMask());
  NamedTensorType first = tensorOf(getFirst());
  if (!isAlong(getSlot(), getAxis(), isI64) || first.getRank() != 1 ||
      first.getAxes()[0].name == getAxis() || !isI64(first.getElementType()) ||
      !isCount(getCount())) // C3
    return emitOpError() << "has results " << tensorOf(getSlot()) << ", " << first << " and "
                         << tensorOf(getCount());
  if (getLimit() < 1)
    return emitOpError("has no room for a group");
  return success();
}

LogicalResult ReduceByOp::verify() {
  NamedTensorType value = tensorOf(getValue()), result = tensorOf(getResult());
  if (!isAlong(getGroup(), getAxis(), isI64)) // C1
    return emitOpError() << "groups along `" << getAxis() << "` by " << tensorOf(getGroup());
  const int64_t axis = value.axisIndex(getAxis());
  bool fits = axis >= 0 && value.getRank() == result.getRank();
  for (int64_t i = 0; fits && i < value.getRank(); ++i)
    fits = (i == axis) == (value.axisIndex(result.getAxes()[i].name) < 0) &&
           (i == axis || value.getAxes()[i].name == result.getAxes()[i].name);
  if (!fits) // C2
    return emitOpError() << "reduces " << value << " along `" << getAxis() << "` to " << result;
  Type wanted =
      llvm::is_contained({ReduceKind::count, ReduceKind::argmin, ReduceKind::argmax}, getKind())
          ? Type(IntegerType::get(getContext(), 64))
          : value.getElementType();
  const bool logical =
      llvm::is_contained({ReduceKind::any, ReduceKind::all, ReduceKind::count}, getKind());
  if (logical != isBool(value.getElementType()) || result.getElementType() != wanted) // C3
    return emitOpError() << "cannot combine " << value << " into " << result;
  return success();
}

LogicalResult SortOp::verify() {
  NamedTensorType value = tensorOf(getValue()), result = tensorOf(getResult());
  if (value.axisIndex(getAxis()) < 0 || value.getAxes() != result.getAxes() ||
      !result.getElementType().isSignlessInteger(64)) // C1
    return emitOpError() << "sorts " << value << " along `" << getAxis() << "` into " << result;
  return success();
}

LogicalResult RankByOp::verify() {
  if (!isAlong(getGroup(), getAxis(), isI64) || !isAlong(getResult(), getAxis(), isI64)) // C1
    return emitOpError() << "numbers along `" << getAxis() << "` by " << tensorOf(getGroup())
                         << " into " << tensorOf(getResult());
  return success();
}

LogicalResult ScatterOp::verify() {
  NamedTensorType base = tensorOf(getBase()), values = tensorOf(getValues()),
                  result = tensorOf(getResult());
  if (failed(verifyAxes(*this, getOver(), base))) // C1
    return failure();
  if (getAt().empty() || getAt().size() != getOver().size())
    return emitOpError() << "has " << getAt().size() << " places for " << getOver().size()
                         << " axes";
  for (Value at : getAt())
    if (!isAlong(at, getAxis(), isI64))
      return emitOpError() << "has places of " << tensorOf(at) << " along `" << getAxis() << "`";
  SmallVector<StringRef> kept, given;
  for (const Axis &axis : base.getAxes())
    if (!llvm::is_contained(getOver(), StringAttr::get(getContext(), axis.name)))
      kept.push_back(axis.name);
  for (const Axis &axis : values.getAxes())
    if (axis.name != getAxis())
      given.push_back(axis.name);
  if (values.axisIndex(getAxis()) < 0 || base.axisIndex(getAxis()) >= 0 || kept != given) // C2
    return emitOpError() << "moves " << values << " along `" << getAxis() << "` into " << base;
  if (!sameAxisNames(base, result) || base.getElementType() != values.getElementType() ||
      base.getElementType() != result.getElementType()) // C3
    return emitOpError() << "combines " << base << " and " << values << " into " << result;
  Type element = base.getElementType();
  if (getKind() != ScatterKind::first &&
      (isBool(element) || element.isF16() || element.isBF16())) // C4
    return emitOpError() << "cannot combine " << scalarName(element);
  return success();
}

LogicalResult FilterOp::verify() {
  NamedTensorType value = tensorOf(getValue()), result = tensorOf(getResult());
  if (value.axisIndex(getAxis()) < 0 || value != result ||
      !(value.getElementType().isF32() || value.getElementType().isF64())) // C1
    return emitOpError() << "filters " << value << " along `" << getAxis() << "` into " << result;
  for (Value side : {getNumerator(), getDenominator()}) {
    NamedTensorType type = tensorOf(side);
    if (type.getRank() != 1 || !type.getElementType().isF64() || !type.isStatic() ||
        type.getAxes()[0].extent < 1 || type.getAxes()[0].extent > 64) // C2
      return emitOpError() << "filters by " << type;
  }
  return success();
}

/// The axes h and w, and c where there are several channels, or one.
static bool isImage(NamedTensorType type) {
  ArrayRef<Axis> axes = type.getAxes();
  const bool named = (axes.size() == 2 || axes.size() == 3) && axes[0].name == "h" &&
                     axes[1].name == "w" && type.getElementType().isUnsignedInteger(8);
  return named && (axes.size() == 2 ||
                   (axes[2].name == "c" && (axes[2].extent == 1 || axes[2].extent == 3)));
}

LogicalResult EncodeOp::verify() {
  NamedTensorType value = tensorOf(getValue()), bytes = tensorOf(getBytes());
  if (!isImage(value)) // C1
    return emitOpError() << "makes an image of " << value;
  if (bytes.getRank() != 1 || !bytes.getElementType().isUnsignedInteger(8) ||
      !isCount(getCount())) // C2
    return emitOpError() << "has results " << bytes << " and " << tensorOf(getCount());
  if ((getFormat() == Codec::jpeg) != static_cast<bool>(getQuality())) // C3
    return emitOpError("has a quality exactly when it makes a JPEG file");
  return success();
}

LogicalResult RecompressOp::verify() {
  NamedTensorType value = tensorOf(getValue()), result = tensorOf(getResult());
  if (!isImage(value) || value != result) // C1
    return emitOpError() << "makes an image of " << value << ", and gives " << result;
  return success();
}
