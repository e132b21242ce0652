// SPDX-License-Identifier: Apache-2.0
//
// Verifiers of sources, media and draws.
#include "compiler/Dialect/PipeDialect.h"
#include "runtime/abi/media.h"

using namespace mlir;
using namespace penstock::pipe;

LogicalResult SourceOp::verify() {
  if (getArgs().size() != getArgNames().size())
    return emitOpError() << "has " << getArgs().size() << " arguments and " << getArgNames().size()
                         << " names";
  for (NamedAttribute column : getColumns())
    if (!llvm::isa<TypeAttr>(column.getValue()))
      return emitOpError() << "column `" << column.getName().strref() << "` has no type";
  if (auto settings = (*this)->getAttrOfType<DictionaryAttr>("settings"))
    for (NamedAttribute setting : settings)
      if (!llvm::isa<StringAttr, IntegerAttr>(setting.getValue()))
        return emitOpError() << "setting `" << setting.getName().strref()
                             << "` is neither a text nor an integer";
  return success();
}

LogicalResult AdmitOp::verify() {
  if (!getCondition() && !getWeight() && !getLength()) // C1
    return emitOpError("says nothing about rows");
  return success();
}

static const penstock::media::Medium *mediumNamed(StringRef name) {
  const int number = penstock::media::find(std::string_view(name));
  return number < 0 ? nullptr : &penstock::media::all[number];
}

LogicalResult ProbeOp::verify() {
  const auto *medium = mediumNamed(getMedia()); // C1
  if (!medium)
    return emitOpError() << "knows no medium `" << getMedia() << "`";
  const int number = penstock::media::numberNamed(*medium, std::string_view(getNumber()));
  if (number < 0)
    return emitOpError() << "finds no `" << getNumber() << "` in a header of `" << getMedia()
                         << "`";
  const bool isReal = medium->numbers[static_cast<size_t>(number)].isReal;
  if (isReal ? !getType().isF64() : !getType().isSignlessInteger(64))
    return emitOpError() << "gives `" << getNumber() << "` as " << (isReal ? "f64" : "i64");
  return success();
}

LogicalResult FieldsOp::verify() {
  for (Value field : getFields())
    if (!field.getDefiningOp<FieldOp>()) // C1
      return emitOpError("has what is no field");
  return success();
}

LogicalResult FieldElementOp::verify() {
  auto type = llvm::dyn_cast<NamedTensorType>(getOf()); // C1
  if (!type || static_cast<int64_t>(getIndices().size()) != type.getRank())
    return emitOpError() << "has " << getIndices().size() << " indices for " << getOf();
  if (type.getElementType() != getType())
    return emitOpError() << "gives " << getType() << " of " << getOf();
  return success();
}

LogicalResult DecodeOp::verify() {
  const auto *medium = mediumNamed(getMedia()); // C1
  if (!medium)
    return emitOpError() << "knows no medium `" << getMedia() << "`";
  if (!penstock::media::knowsFormat(*medium, std::string_view(getFormat())))
    return emitOpError() << "knows no format `" << getFormat() << "` of `" << getMedia() << "`";
  if (getAsked().size() != medium->arguments.size())
    return emitOpError() << "is asked for " << getAsked().size() << " numbers, not "
                         << medium->arguments.size();
  auto type = llvm::cast<NamedTensorType>(getResult().getType());
  int64_t last = -1; // C2
  const size_t axes = getOver() ? getOver()->size() : 0;
  for (size_t i = 0; i < axes; ++i) {
    auto name = llvm::cast<StringAttr>((*getOver())[i]);
    const int64_t axis = type.axisIndex(name);
    if (axis <= last)
      return emitOpError() << "has a region along `" << name.strref()
                           << "`, which is no axis of it or stands too late";
    last = axis;
  }
  if (getRegion().size() != 2 * axes)
    return emitOpError() << "has a region of " << getRegion().size() << " numbers, not "
                         << 2 * axes;
  if (getMedia() == "video" && type.getAxes().size() != 4)
    return emitOpError("of a video gives the axes t, h, w and c");
  if (getPlanes() && !mayCrossAsPlanes()) // C3
    return emitOpError("has no planes: they are those of an image of any size in rgb of ui8");
  return success();
}

bool DecodeOp::mayCrossAsPlanes() {
  auto type = llvm::cast<NamedTensorType>(getResult().getType());
  return getMedia() == "image" && getFormat() == "rgb" && type.getAxes().size() == 3 &&
         !type.getAxes()[0].isStatic() && !type.getAxes()[1].isStatic() &&
         type.getElementType().isUnsignedInteger(8);
}

LogicalResult DrawOp::verify() {
  auto args = getArgs();
  auto all = [&](auto predicate) {
    return args.size() == 2 &&
           llvm::all_of(args, [&](Value arg) { return predicate(arg.getType()); });
  };
  bool fits = false;
  Type result = getType();
  switch (getKind()) { // C1
  case DrawKind::bits:
    fits = args.empty() && result.isSignlessInteger(64);
    break;
  case DrawKind::uniform:
    fits = all([](Type type) { return type.isF64(); }) && result.isF64();
    break;
  case DrawKind::integer:
  case DrawKind::permutation:
    fits =
        all([](Type type) { return type.isSignlessInteger(64); }) && result.isSignlessInteger(64);
    break;
  }
  if (!fits)
    return emitOpError() << "`" << stringifyDrawKind(getKind())
                         << "` has arguments or a result of other types";
  return success();
}
