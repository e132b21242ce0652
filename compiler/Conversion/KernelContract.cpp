// SPDX-License-Identifier: Apache-2.0
//
// The contract of codegen with a function that was a kernel, as attributes.
#include "compiler/Conversion/KernelContract.h"
#include "compiler/Conversion/DeviceBodies.h"

using namespace mlir;
using namespace penstock::conversion;

// The attributes of functions. Only verifyContracts() meets one that has another form.
static constexpr StringLiteral kindName = "pipe.kind", stopName = "pipe.stop",
                               fixedName = "pipe.scratch_fixed", termsName = "pipe.scratch",
                               drawsName = "pipe.draws", checksName = "pipe.checks",
                               codecName = "pipe.codec", qualityName = "pipe.quality",
                               argumentsName = "pipe.arguments", threadsName = "pipe.threads",
                               mappingName = "pipe.mapping", inputsName = "pipe.inputs",
                               sharedName = "pipe.shared", blocksName = "pipe.blocks",
                               residentName = "pipe.resident", heldName = "pipe.held",
                               heldAtName = "pipe.held_at";

static std::optional<int64_t> numberOf(Attribute attribute) {
  auto number = llvm::dyn_cast_if_present<IntegerAttr>(attribute);
  return number && number.getType().isSignlessInteger(64) ? std::optional(number.getInt())
                                                          : std::nullopt;
}

static void setNumber(Operation *function, StringRef name, std::optional<int64_t> number) {
  if (number)
    function->setAttr(name, Builder(function->getContext()).getI64IntegerAttr(*number));
  else
    function->removeAttr(name);
}

namespace {
/// A dictionary in the making, without what is not there.
class Entry {
public:
  explicit Entry(MLIRContext *context) : b(context) {}
  Entry &add(StringRef name, Attribute value) {
    if (value)
      all.push_back(b.getNamedAttr(name, value));
    return *this;
  }
  Entry &add(StringRef name, std::optional<int64_t> number) {
    return add(name, number ? b.getI64IntegerAttr(*number) : IntegerAttr());
  }
  operator Attribute() { return b.getDictionaryAttr(all); }

private:
  Builder b;
  SmallVector<NamedAttribute> all;
};
} // namespace

/// The dictionaries of a list, or none.
static auto entriesOf(Operation *function, StringRef name) {
  auto list = function->getAttrOfType<ArrayAttr>(name);
  return (list ? list : ArrayAttr::get(function->getContext(), {})).getAsRange<DictionaryAttr>();
}

template <typename T>
static void setEntries(Operation *function, StringRef name, ArrayRef<T> all,
                       llvm::function_ref<Attribute(const T &)> entry) {
  function->setAttr(name, ArrayAttr::get(function->getContext(), llvm::map_to_vector(all, entry)));
}

StringAttr penstock::conversion::kindOf(Operation *function) {
  return function->getAttrOfType<StringAttr>(kindName);
}
void penstock::conversion::setKind(Operation *function, StringAttr kind) {
  function->setAttr(kindName, kind);
}

std::optional<int64_t> penstock::conversion::stopFlagOf(Operation *function) {
  return numberOf(function->getAttr(stopName));
}
void penstock::conversion::setStopFlag(Operation *function, int64_t offset) {
  setNumber(function, stopName, offset);
}

//===--- scratch memory ------------------------------------------------------===//

ScratchNeed penstock::conversion::scratchOf(Operation *function) {
  ScratchNeed need{numberOf(function->getAttr(fixedName)).value_or(0), {}};
  for (auto entry : entriesOf(function, termsName)) {
    ScratchTerm term{*numberOf(entry.get("bytes")), {}};
    for (auto place : entry.getAs<ArrayAttr>("dims").getAsRange<DenseI64ArrayAttr>())
      term.extents.push_back(
          {static_cast<ArgumentExtent::Kind>(place[0]), place[1], place.size() > 2 ? place[2] : 0});
    need.terms.push_back(std::move(term));
  }
  return need;
}

void penstock::conversion::setScratch(Operation *function, const ScratchNeed &need) {
  Builder b(function->getContext());
  auto place = [&](const ArgumentExtent &extent) -> Attribute {
    SmallVector<int64_t, 3> numbers{static_cast<int64_t>(extent.kind), extent.value};
    if (extent.kind == ArgumentExtent::Kind::tensor)
      numbers.push_back(extent.axis);
    return b.getDenseI64ArrayAttr(numbers);
  };
  setNumber(function, fixedName, need.fixed);
  setEntries<ScratchTerm>(function, termsName, need.terms, [&](const ScratchTerm &term) {
    return Entry(b.getContext())
        .add("bytes", term.bytes)
        .add("dims", b.getArrayAttr(llvm::map_to_vector(term.extents, place)));
  });
}

static bool isScratchTerm(DictionaryAttr entry) {
  auto places = entry.getAs<ArrayAttr>("dims");
  return numberOf(entry.get("bytes")) && places && llvm::all_of(places, [](Attribute place) {
           auto numbers = llvm::dyn_cast<DenseI64ArrayAttr>(place);
           return numbers && numbers.size() >= 2 && numbers[0] >= 0 && numbers[0] <= 2 &&
                  numbers.size() == (numbers[0] == 1 ? 3 : 2);
         });
}

//===--- draws and checks ----------------------------------------------------===//

SmallVector<KeptDraw> penstock::conversion::drawsOf(Operation *function) {
  return llvm::map_to_vector(entriesOf(function, drawsName), [](DictionaryAttr entry) {
    return KeptDraw{entry.getAs<StringAttr>("path"), *numberOf(entry.get("slot")),
                    entry.getAs<TypeAttr>("type").getValue()};
  });
}

void penstock::conversion::setDraws(Operation *function, ArrayRef<KeptDraw> draws) {
  setEntries<KeptDraw>(function, drawsName, draws, [&](const KeptDraw &draw) {
    return Entry(function->getContext())
        .add("path", draw.path)
        .add("slot", draw.slot)
        .add("type", TypeAttr::get(draw.type));
  });
}

SmallVector<KeptCheck> penstock::conversion::checksOf(Operation *function) {
  return llvm::map_to_vector(entriesOf(function, checksName), [](DictionaryAttr entry) {
    return KeptCheck{entry.getAs<StringAttr>("message"), entry.getAs<StringAttr>("file"),
                     *numberOf(entry.get("line")), *numberOf(entry.get("column"))};
  });
}

void penstock::conversion::setChecks(Operation *function, ArrayRef<KeptCheck> checks) {
  setEntries<KeptCheck>(function, checksName, checks, [&](const KeptCheck &check) {
    return Entry(function->getContext())
        .add("message", check.message)
        .add("file", check.file)
        .add("line", check.line)
        .add("column", check.column);
  });
}

int64_t penstock::conversion::checkCount(Operation *function) {
  auto checks = function->getAttrOfType<ArrayAttr>(checksName);
  return checks ? static_cast<int64_t>(checks.size()) : 0;
}

static bool isDraw(DictionaryAttr entry) {
  return entry.getAs<StringAttr>("path") && numberOf(entry.get("slot")) &&
         entry.getAs<TypeAttr>("type");
}

static bool isCheck(DictionaryAttr entry) {
  return entry.getAs<StringAttr>("message") && entry.getAs<StringAttr>("file") &&
         numberOf(entry.get("line")) && numberOf(entry.get("column"));
}

//===--- codecs --------------------------------------------------------------===//

std::optional<CodecCall> penstock::conversion::codecCallOf(Operation *function) {
  if (auto codec = function->getAttrOfType<StringAttr>(codecName))
    return CodecCall{codec, numberOf(function->getAttr(qualityName))};
  return std::nullopt;
}

void penstock::conversion::setCodecCall(Operation *function, const CodecCall &call) {
  function->setAttr(codecName, call.codec);
  setNumber(function, qualityName, call.quality);
}

//===--- functions for a GPU -------------------------------------------------===//

static constexpr StringLiteral sources[] = {"data",   "extent",  "stride",
                                            "scalar", "scratch", "part"};

SmallVector<KernelArgument> penstock::conversion::argumentsOf(Operation *function) {
  return llvm::map_to_vector(entriesOf(function, argumentsName), [](DictionaryAttr entry) {
    const auto source = llvm::find(sources, entry.getAs<StringAttr>("pipe.from").getValue());
    return KernelArgument{entry.getAs<StringAttr>("pipe.name"),
                          static_cast<ArgumentSource>(source - std::begin(sources)),
                          numberOf(entry.get("pipe.number")), numberOf(entry.get("pipe.axis")),
                          numberOf(entry.get("pipe.bytes"))};
  });
}

void penstock::conversion::setArguments(Operation *function, ArrayRef<KernelArgument> arguments) {
  setEntries<KernelArgument>(function, argumentsName, arguments, [&](const KernelArgument &a) {
    auto source = StringAttr::get(function->getContext(), sources[static_cast<size_t>(a.source)]);
    return Entry(function->getContext())
        .add("pipe.name", a.name)
        .add("pipe.from", source)
        .add("pipe.number", a.number)
        .add("pipe.axis", a.axis)
        .add("pipe.bytes", a.bytes);
  });
}

static bool isArgument(DictionaryAttr entry) {
  auto source = entry.getAs<StringAttr>("pipe.from");
  if (!entry.getAs<StringAttr>("pipe.name") || !source || !llvm::is_contained(sources, source))
    return false;
  const bool isWhole = source == "scratch" || source == "part"; // of no tensor, nor an axis
  const bool hasAxis = source == "extent" || source == "stride";
  return isWhole != static_cast<bool>(numberOf(entry.get("pipe.number"))) &&
         hasAxis == static_cast<bool>(numberOf(entry.get("pipe.axis")));
}

std::optional<DeviceLaunch> penstock::conversion::launchOf(Operation *function) {
  const auto threads = numberOf(function->getAttr(threadsName));
  if (!threads)
    return std::nullopt;
  auto number = [&](StringRef name) { return numberOf(function->getAttr(name)); };
  DeviceLaunch launch{*threads,           function->getAttrOfType<StringAttr>(mappingName),
                      number(inputsName), number(sharedName),
                      number(blocksName), number(residentName)};
  if (auto held = function->getAttrOfType<DenseI64ArrayAttr>(heldName))
    llvm::append_range(launch.held, held.asArrayRef());
  launch.heldAt = number(heldAtName);
  return launch;
}

void penstock::conversion::setLaunch(Operation *function, const DeviceLaunch &launch) {
  setNumber(function, threadsName, launch.threads);
  function->setAttr(mappingName, launch.mapping);
  setNumber(function, inputsName, launch.inputs);
  setNumber(function, sharedName, launch.shared);
  setNumber(function, blocksName, launch.blocks);
  setNumber(function, residentName, launch.resident);
  if (!launch.held.empty())
    function->setAttr(heldName, DenseI64ArrayAttr::get(function->getContext(), launch.held));
  setNumber(function, heldAtName, launch.heldAt);
}

//===--- from a text ---------------------------------------------------------===//

static LogicalResult verifyList(func::FuncOp function, StringRef name,
                                bool (*fits)(DictionaryAttr)) {
  Attribute list = function->getAttr(name);
  auto entries = llvm::dyn_cast_if_present<ArrayAttr>(list);
  const bool isList = entries && llvm::all_of(entries, [&](Attribute entry) {
                        auto dictionary = llvm::dyn_cast<DictionaryAttr>(entry);
                        return dictionary && fits(dictionary);
                      });
  return !list || isList ? success()
                         : function.emitError() << "has `" << name << "` of another form";
}

static LogicalResult verifyContract(func::FuncOp function) {
  auto refuse = [&](StringRef name) {
    return function.emitError() << "has `" << name << "` of another form";
  };
  for (StringRef name : {StringRef(kindName), StringRef(codecName), StringRef(mappingName)})
    if (function->hasAttr(name) && !function->getAttrOfType<StringAttr>(name))
      return refuse(name);
  for (StringRef name : {StringRef(stopName), StringRef(fixedName), StringRef(qualityName),
                         StringRef(threadsName), StringRef(inputsName), StringRef(sharedName),
                         StringRef(blocksName), StringRef(residentName), StringRef(heldAtName)})
    if (Attribute number = function->getAttr(name); number && numberOf(number).value_or(-1) < 0)
      return refuse(name);
  if (function->hasAttr(heldName) && !function->getAttrOfType<DenseI64ArrayAttr>(heldName))
    return refuse(heldName);
  if (failed(verifyList(function, termsName, isScratchTerm)) ||
      failed(verifyList(function, drawsName, isDraw)) ||
      failed(verifyList(function, checksName, isCheck)) ||
      failed(verifyList(function, argumentsName, isArgument)))
    return failure();
  if (!launchOf(function))
    return success();
  if (!function->hasAttr(mappingName) || !function->hasAttr(inputsName) ||
      !function->hasAttr(argumentsName))
    return function.emitError("is for a GPU, and does not say its mapping, inputs and arguments");
  if (function.isExternal()) // the text of the kernel has left the module
    return success();
  if (argumentsOf(function).size() != function.getNumArguments())
    return function.emitError() << "says where " << argumentsOf(function).size() << " of "
                                << function.getNumArguments() << " arguments come from";
  return verifyDeviceBody(function);
}

LogicalResult penstock::conversion::verifyContracts(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(verifyContract(function)))
      return failure();
  for (auto table : module.getOps<memref::GlobalOp>())
    if (!elementsOf(table))
      return table.emitError("is a table without elements");
  return success();
}
