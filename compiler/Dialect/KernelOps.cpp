// SPDX-License-Identifier: Apache-2.0
//
// Verifiers of kernels.
#include "compiler/Dialect/CheapOps.h"
#include "compiler/Dialect/OutputsTogether.h"
#include "compiler/Dialect/RowStreams.h"
#include "compiler/Dialect/Rows.h"
#include "compiler/Dialect/ScheduleDialect.h"
#include "compiler/Dialect/SmallReduction.h"
#include "runtime/abi/level.h"
#include "runtime/abi/scalar.h"

using namespace mlir;
using namespace penstock::pipe;

std::optional<int64_t> penstock::pipe::reducedElements(ReduceOp op) {
  auto type = llvm::cast<NamedTensorType>(op.getValue().getType());
  int64_t count = 1;
  for (auto name : op.getOver().getAsRange<StringAttr>()) {
    const Axis &axis = type.getAxes()[type.axisIndex(name)];
    if (!axis.isStatic())
      return std::nullopt;
    count *= axis.extent;
  }
  return count;
}

bool penstock::pipe::isSmallReduction(Operation *op) {
  auto reduce = llvm::dyn_cast<ReduceOp>(op);
  const auto count = reduce ? reducedElements(reduce) : std::nullopt;
  return count && *count >= 1 && *count <= scalar::reductionLanes && !reduce.getOver().empty();
}

/// Operations of a map that cost less than storing its elements and reading them.
static constexpr int64_t fewOperations = 4;

bool penstock::pipe::isCheap(Operation *op) {
  if (llvm::isa<CastOp>(op))
    return true;
  auto map = llvm::dyn_cast<MapOp>(op);
  if (!map)
    return false;
  int64_t operations = 0;
  for (Operation &inner : map.getBody().front().without_terminator()) {
    if (llvm::isa<ConstantOp>(inner))
      continue;
    auto binary = llvm::dyn_cast<BinaryOp>(inner);
    const bool isSimple =
        binary && !llvm::is_contained({BinaryKind::div, BinaryKind::rem}, binary.getKind());
    if (!isSimple && !llvm::isa<CastOp, SelectOp, CompareOp>(inner))
      return false;
    ++operations;
  }
  return operations <= fewOperations;
}

Operation *penstock::pipe::codecOf(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  if (body.getOperations().size() != 2)
    return nullptr;
  Operation *op = &body.front();
  return classOf(op) == OpClass::codec && llvm::equal(op->getResults(), body.back().getOperands())
             ? op
             : nullptr;
}

bool penstock::pipe::isOfHost(KernelOp kernel) {
  return kernel->getAttr("place") == StringAttr::get(kernel.getContext(), "cpu");
}
bool penstock::pipe::isOfGpu(KernelOp kernel) {
  return kernel->getAttr("place") == StringAttr::get(kernel.getContext(), "gpu");
}

/// Of inputs that a block copies: room in bytes, and their numbers among the kernel's tensors.
static bool mayBeCopied(KernelOp kernel, Attribute value) {
  auto copied = llvm::dyn_cast<DictionaryAttr>(value);
  if (!copied || copied.size() != 2)
    return false;
  auto bytes = copied.getAs<IntegerAttr>("bytes");
  auto inputs = copied.getAs<DenseI64ArrayAttr>("inputs");
  const int64_t tensors = inputsOf(kernel);
  if (!bytes || !bytes.getType().isSignlessInteger(64) || bytes.getInt() < 16 ||
      bytes.getInt() > 1 << 20 || bytes.getInt() % 16 != 0 || !inputs || inputs.empty())
    return false;
  for (auto [place, number] : llvm::enumerate(inputs.asArrayRef()))
    if (number < 0 || number >= tensors || (place > 0 && number <= inputs[place - 1]))
      return false;
  return true;
}

int64_t penstock::pipe::inputsOf(KernelOp kernel) {
  return llvm::count_if(kernel.getBody().getArgumentTypes(),
                        [](Type type) { return llvm::isa<NamedTensorType>(type); });
}

bool penstock::pipe::isDense(KernelOp kernel, int64_t number) {
  auto schedule = kernel.getSchedule();
  auto dense = schedule ? schedule->getAs<DenseI64ArrayAttr>("dense") : DenseI64ArrayAttr();
  return dense && llvm::is_contained(dense.asArrayRef(), number);
}

SmallVector<int64_t> penstock::pipe::heldBy(KernelOp kernel) {
  auto schedule = kernel.getSchedule();
  auto held = schedule ? schedule->getAs<DictionaryAttr>("held") : DictionaryAttr();
  return held ? SmallVector<int64_t>(held.getAs<DenseI64ArrayAttr>("tensors").asArrayRef())
              : SmallVector<int64_t>();
}

std::optional<int64_t> penstock::pipe::denseBytesOf(NamedTensorType type) {
  if (!type.isStatic())
    return std::nullopt;
  int64_t bytes = scalarBytes(type.getElementType());
  for (const Axis &axis : type.getAxes())
    bytes *= axis.extent;
  return bytes;
}

/// Returns whether `value` names tensors that may lie in shared memory, and where.
static bool mayBeHeld(KernelOp kernel, Attribute value) {
  auto held = llvm::dyn_cast<DictionaryAttr>(value);
  auto at = held ? held.getAs<IntegerAttr>("at") : IntegerAttr();
  auto numbers = held ? held.getAs<DenseI64ArrayAttr>("tensors") : DenseI64ArrayAttr();
  constexpr int64_t most = 1 << 20, word = 16;
  if (!at || !at.getType().isSignlessInteger(64) || at.getInt() < 0 || at.getInt() > most ||
      at.getInt() % word != 0 || held.size() != 2 || !numbers || numbers.empty())
    return false;
  auto inputs = kernel.getBody().getArgumentTypes();
  SmallVector<Type> types(inputs.begin(), inputs.begin() + inputsOf(kernel));
  auto results = kernel.getBody().front().getTerminator()->getOperandTypes();
  llvm::append_range(types, results);
  int64_t last = -1;
  for (int64_t number : numbers.asArrayRef()) {
    if (number <= last || number >= static_cast<int64_t>(types.size()) ||
        (number >= inputsOf(kernel) && results.size() != 1))
      return false;
    last = number;
    const auto bytes =
        denseBytesOf(llvm::cast<NamedTensorType>(types[static_cast<size_t>(number)]));
    if (!bytes || *bytes == 0 || *bytes > most || *bytes % word != 0)
      return false;
  }
  return true;
}

/// Returns whether `value` names tensors of several axes, all of known extents but the first.
static bool mayBeDense(KernelOp kernel, Attribute value) {
  auto numbers = llvm::dyn_cast<DenseI64ArrayAttr>(value);
  if (!numbers || numbers.empty())
    return false;
  auto inputs = kernel.getBody().getArgumentTypes();
  SmallVector<Type> types(inputs.begin(), inputs.begin() + inputsOf(kernel));
  llvm::append_range(types, kernel.getBody().front().getTerminator()->getOperandTypes());
  int64_t last = -1;
  for (int64_t number : numbers.asArrayRef()) {
    if (number <= last || number >= static_cast<int64_t>(types.size()))
      return false;
    last = number;
    auto axes = llvm::cast<NamedTensorType>(types[static_cast<size_t>(number)]).getAxes();
    if (axes.size() < 2 ||
        !llvm::all_of(axes.drop_front(), [](const Axis &axis) { return axis.isStatic(); }))
      return false;
  }
  return true;
}

/// Verifies a schedule, so that whoever reads it need not ask again.
static LogicalResult verifySchedule(KernelOp kernel, DictionaryAttr schedule) {
  auto number = [](Attribute value, int64_t low, int64_t high, int64_t step) {
    auto integer = llvm::dyn_cast<IntegerAttr>(value);
    return integer && integer.getType().isSignlessInteger(64) && integer.getInt() >= low &&
           integer.getInt() <= high && integer.getInt() % step == 0;
  };
  for (NamedAttribute entry : schedule) {
    StringRef name = entry.getName();
    Attribute value = entry.getValue();
    auto refuse = [&](StringRef wanted) {
      return kernel.emitOpError() << "has the schedule `" << name << " = " << value << "`; "
                                  << wanted;
    };
    if (name == "level") { // C1
      auto integer = llvm::dyn_cast<IntegerAttr>(value);
      if (!integer || !integer.getType().isSignlessInteger(64) ||
          !penstock::level::numbered(integer.getInt()))
        return refuse("a level is 2, 3, 4, 5 or 64, as i64");
    } else if (name == "streaming" || name == "reciprocals") {
      if (!llvm::isa<UnitAttr>(value))
        return refuse("`" + name.str() + "` stands alone");
    } else if (name == "threads") { // C2
      if (!number(value, 32, 1024, 32))
        return refuse("a block has 32 to 1024 threads, a multiple of 32, as i64");
    } else if (name == "resident") {
      if (!number(value, 1, 32, 1))
        return refuse("1 to 32 blocks are on a multiprocessor at once, as i64");
    } else if (name == "mapping") {
      auto mapping = llvm::dyn_cast<StringAttr>(value);
      if (!mapping || !llvm::is_contained({"grid", "block", "tile"}, mapping.getValue()))
        return refuse("a mapping is \"grid\", \"block\" or \"tile\"");
    } else if (name == "tile") { // C5
      auto tile = llvm::dyn_cast<DictionaryAttr>(value);
      const auto several =
          tile ? llvm::count_if(
                     tile, [&](NamedAttribute axis) { return number(axis.getValue(), 2, 1024, 1); })
               : 0;
      const auto single =
          tile ? llvm::count_if(
                     tile, [&](NamedAttribute axis) { return number(axis.getValue(), 1, 1, 1); })
               : 0;
      if (several != 1 || several + single != static_cast<int64_t>(tile.size()))
        return refuse("a tile has 2 to 1024 rows of one axis, and one place of others, as i64");
    } else if (name == "rows") {
      if (!number(value, 1, 1 << 20, 1))
        return refuse("so many rows are stored, one or more, as i64");
    } else if (name == "copied") { // C9
      if (!mayBeCopied(kernel, value))
        return refuse("it has `bytes`, a multiple of 16, as i64, and `inputs`, ascending numbers "
                      "of the kernel's tensors, as array<i64>");
    } else if (name == "held") { // C30
      if (!mayBeHeld(kernel, value))
        return refuse("it has `at`, a multiple of 16, as i64, and `tensors` of known extents and a "
                      "multiple of 16 bytes: their numbers, inputs before the only output, "
                      "ascending, as array<i64>");
    } else if (name == "part") { // C31
      if (!llvm::isa<UnitAttr>(value))
        return refuse("`part` stands alone");
    } else if (name == "row_tile") { // C4
      const auto rows = rowsOf(kernel);
      if (!rows || !number(value, 1, rows->extent - 1, 1))
        return refuse("a tile has fewer rows than the kernel goes through, whose ops treat each "
                      "row alone, as i64");
    } else if (name == "dense") { // C28
      if (!mayBeDense(kernel, value))
        return refuse("it has tensors of several axes, all but the first of known extents: their "
                      "numbers, inputs before outputs, ascending, as array<i64>");
    } else if (name == "together") { // C27
      if (!areGroups(kernel, value))
        return refuse("it has groups of two or more outputs that are computed there, with the same "
                      "axes, of known extents, and the same loops: their numbers, ascending, as "
                      "array<i64>");
    } else {
      return kernel.emitOpError() << "has a schedule with `" << name
                                  << "`; known are `level`, `streaming`, `reciprocals`, "
                                     "`row_tile`, `dense`, `together`, `mapping`, "
                                     "`threads`, `resident`, `tile`, `rows`, `copied`, `held` and "
                                     "`part`";
    }
  }
  if (schedule.contains("mapping") != schedule.contains("threads")) // C2
    return kernel.emitOpError(
        "has a schedule with one of `mapping` and `threads`; they stand together");
  if (schedule.contains("resident") && !schedule.contains("mapping"))
    return kernel.emitOpError("has a schedule with `resident`, which needs a `mapping`");
  const bool isTile = schedule.get("mapping") == StringAttr::get(kernel.getContext(), "tile");
  if (isTile != schedule.contains("tile") || isTile != schedule.contains("rows")) // C5
    return kernel.emitOpError(
        "has a schedule with some of the mapping \"tile\", `tile` and `rows`; they stand together");
  if (!isTile && schedule.contains("copied")) // C9
    return kernel.emitOpError("has a schedule with `copied`, which needs the mapping \"tile\"");
  if (schedule.contains("held") && !schedule.contains("mapping")) // C30
    return kernel.emitOpError("has a schedule with `held`, which needs a `mapping`");
  if (schedule.contains("part")) { // C31
    auto results = kernel.getBody().front().getTerminator()->getOperands();
    if (schedule.get("mapping") != StringAttr::get(kernel.getContext(), "grid") ||
        results.size() != 1 || llvm::cast<NamedTensorType>(results[0].getType()).getAxes().empty())
      return kernel.emitOpError("has a schedule with `part`, which needs the mapping \"grid\" and "
                                "one output with axes");
  }
  return success();
}

/// Where values of a kernel live is said by `schedule` on their ops.
static LogicalResult verifyStored(KernelOp kernel) {
  const auto found = kernel.getBody().walk([](Operation *op) {
    Attribute where = op->getAttr("schedule");
    if (!where)
      return WalkResult::advance();
    auto text = llvm::dyn_cast<StringAttr>(where);
    const bool isReduce = llvm::isa<ReduceOp>(op);
    auto kernel = op->getParentOfType<KernelOp>();
    const bool isTiled = kernel.getSchedule() && kernel.getSchedule()->contains("tile");
    const bool fits =
        text && (text == "scratch" || (text == "shared" && isTiled) ||
                 (text == "ring" && llvm::isa<ResampleOp, ReduceOp>(op)) ||
                 (isReduce && llvm::is_contained({"warps", "threads", "block"}, text.getValue())) ||
                 (text == "inline" && isSmallReduction(op)));
    if (auto resample = llvm::dyn_cast<ResampleOp>(op);
        resample && text == "ring" && !canStreamRows(resample)) { // C8
      op->emitOpError("has the schedule \"ring\"; that takes Pillow's numerics along columns whose "
                      "number is known, of up to four bytes side by side in memory");
      return WalkResult::interrupt();
    }
    if (auto reduce = llvm::dyn_cast<ReduceOp>(op);
        reduce && text == "ring" && !canMakeRows(reduce)) { // C14
      op->emitOpError(
          "has the schedule \"ring\"; that takes lanes along the rows of its result, and "
          "one reader that stores what it makes of them row by row, with lanes along "
          "these");
      return WalkResult::interrupt();
    }
    auto rows = op->getAttrOfType<IntegerAttr>("rows");
    if (op->hasAttr("rows") && (text != "shared" || !rows || rows.getInt() < 1)) { // C5
      op->emitOpError("has `rows`; so many are stored of what is \"shared\", one or more, as i64");
      return WalkResult::interrupt();
    }
    if (fits)
      return WalkResult::advance();
    op->emitOpError()
        << "has the schedule " << where // C3
        << "; known are \"scratch\", \"shared\" in a tile, \"ring\" of a resample or "
           "reduce, \"warps\", "
           "\"threads\" and \"block\" of a reduce, and \"inline\" of one of at most 32 elements";
    return WalkResult::interrupt();
  });
  return failure(found.wasInterrupted());
}

LogicalResult KernelOp::verify() {
  if (!llvm::is_contained({"pixels", "codec", "rows", "select", "setup"}, getKind()))
    return emitOpError() << "has the unknown kind \"" << getKind() << "\"";
  if (getKind() == "select" && getBody().getNumArguments() != 0)
    return emitOpError() << "of kind \"" << getKind() << "\" takes no arguments";
  bool scalars = false;
  for (Type type : getBody().getArgumentTypes()) {
    if (scalars && llvm::isa<NamedTensorType>(type))
      return emitOpError("has a tensor argument after a scalar one");
    scalars |= isScalarType(type);
  }
  if (scalars && (getKind() == "setup" || getKind() == "rows"))
    return emitOpError() << "of kind \"" << getKind() << "\" takes no scalar arguments";
  if (getBody().front().empty() || !llvm::isa<ReturnOp>(getBody().front().back()))
    return emitOpError("does not end in pipe.return");
  if (getKind() == "codec" && !codecOf(*this))
    return emitOpError("of kind \"codec\" is not one codec whose results it returns");
  if (auto schedule = getSchedule(); schedule && failed(verifySchedule(*this, *schedule)))
    return failure();
  auto outside = (*this)->getAttrOfType<DenseI64ArrayAttr>("outside_n");
  const size_t results = getBody().front().back().getNumOperands();
  if ((*this)->hasAttr("outside_n") &&
      (!outside || outside.size() != static_cast<int64_t>(results)))
    return emitOpError() << "has `outside_n` for other than its " << results << " results";
  return success(succeeded(verifyLoops(*this)) && succeeded(verifyWhole(*this)) &&
                 succeeded(verifyTurns(*this)) && succeeded(verifyStored(*this)));
}

LogicalResult LaunchOp::verify() {
  if (getChain() && (!getGroup() || static_cast<int64_t>(*getChain()) < 0)) // C4
    return emitOpError("has a chain, and no group, or a negative one");
  if (!getGroup())
    return success();
  if (getOnce())
    return emitOpError("has a group, and runs once for a batch");
  return static_cast<int64_t>(*getGroup()) < 0 ? emitOpError("has a negative group") : success();
}
