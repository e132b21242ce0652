//===- SampleOps.cpp - verifiers of sources, media and draws
//---------------===//

#include "compiler/Dialect/PipeDialect.h"

using namespace mlir;
using namespace penstock::pipe;

LogicalResult SourceOp::verify() {
  if (getArgs().size() != getArgNames().size())
    return emitOpError() << "has " << getArgs().size() << " arguments and "
                         << getArgNames().size() << " names";
  for (NamedAttribute column : getColumns())
    if (!llvm::isa<TypeAttr>(column.getValue()))
      return emitOpError() << "column `" << column.getName().strref()
                           << "` has no type";
  if (auto settings = (*this)->getAttrOfType<DictionaryAttr>("settings"))
    for (NamedAttribute setting : settings)
      if (!llvm::isa<StringAttr, IntegerAttr>(setting.getValue()))
        return emitOpError() << "setting `" << setting.getName().strref()
                             << "` is neither a text nor an integer";
  return success();
}

LogicalResult AdmitOp::verify() {
  if (!getCondition() && !getWeight()) // C1
    return emitOpError("says nothing about rows");
  return success();
}

LogicalResult DecodeOp::verify() {
  const bool isVideo = getMedia() == "video";
  const size_t frames = isVideo ? 2 : 0; // first and step
  const size_t numbers = getRegion().size();
  if (numbers != frames && numbers != frames + 4)
    return emitOpError() << "has a region of " << numbers << " numbers, not " << frames + 4;
  if (isVideo && llvm::cast<NamedTensorType>(getResult().getType()).getAxes().size() != 4)
    return emitOpError("of a video gives the axes t, h, w and c");
  return success();
}

LogicalResult DrawOp::verify() {
  auto args = getArgs();
  auto all = [&](auto predicate) {
    return args.size() == 2 && llvm::all_of(args, [&](Value arg) {
             return predicate(arg.getType());
           });
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
    fits = all([](Type type) { return type.isSignlessInteger(64); }) &&
           result.isSignlessInteger(64);
    break;
  }
  if (!fits)
    return emitOpError() << "`" << stringifyDrawKind(getKind())
                         << "` has arguments or a result of other types";
  return success();
}
