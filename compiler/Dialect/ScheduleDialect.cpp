// SPDX-License-Identifier: Apache-2.0
//
// Schedule attributes of loops.
#include "compiler/Dialect/ScheduleDialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock::pipe;

#include "compiler/Dialect/ScheduleDialect.cpp.inc"
#include "compiler/Dialect/ScheduleEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/Dialect/ScheduleAttrs.cpp.inc"

void ScheduleDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/Dialect/ScheduleAttrs.cpp.inc"
      >();
}

static constexpr int64_t mostArms = 16;

LogicalResult LoopsAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                StringAttr along, int64_t lanes, StringAttr unroll,
                                StringAttr across, int64_t arms, ArrayAttr versions, Tail) {
  if (!isPowerUpTo(lanes, lanesAtMost))
    return emitError() << "C1: " << lanes << " lanes; known are powers of two up to "
                       << lanesAtMost;
  if (arms < 1 || arms > mostArms)
    return emitError() << "C2: loops for " << arms
                       << " combinations of arms; they are written for 1 to " << mostArms;
  SmallVector<Attribute> found;
  for (Attribute version : versions ? versions.getValue() : ArrayRef<Attribute>()) {
    auto name = llvm::dyn_cast<StringAttr>(version);
    if (!name || !llvm::is_contained({"bounded", "strides", "rows"}, name.getValue()) ||
        llvm::is_contained(found, version))
      return emitError() << "C3: the version " << version
                         << "; known are \"bounded\", \"strides\" and \"rows\", once each";
    found.push_back(version);
  }
  if ((along && along == unroll) || (lanes > 1 && !along))
    return emitError() << "C4: " << lanes << " lanes along " << (along ? along : Attribute())
                       << ", and `unroll = " << (unroll ? unroll : Attribute())
                       << "`; lanes have an axis of their own";
  if (across && (across == along || unroll || lanes == 1))
    return emitError() << "C4: `across = " << across << "` beside " << lanes << " lanes along "
                       << (along ? along : Attribute())
                       << "; squares have two axes, and none is unrolled";
  return success();
}

bool LoopsAttr::hasVersion(StringRef name) const {
  return getVersions() && llvm::is_contained(getVersions().getAsValueRange<StringAttr>(), name);
}

//===--- on ops -----------------------------------------------------------------------===//

/// Returns the loops that attribute `name` of `op` states for number `number`.
static LoopsAttr one(Operation *op, StringRef name, unsigned number) {
  Attribute stated = op->getAttr(name);
  if (auto several = llvm::dyn_cast_if_present<ArrayAttr>(stated))
    return number < several.size() ? llvm::dyn_cast<LoopsAttr>(several[number]) : LoopsAttr();
  return number == 0 ? llvm::dyn_cast_if_present<LoopsAttr>(stated) : LoopsAttr();
}

LoopsAttr penstock::pipe::loopsOf(OpResult result) {
  return one(result.getOwner(), "loops", result.getResultNumber());
}

LoopsAttr penstock::pipe::copyLoopsOf(OpOperand &operand) {
  return one(operand.getOwner(), "copies", operand.getOperandNumber());
}

bool penstock::pipe::storesParts(Operation *op) {
  if (!llvm::isa<ConcatOp, StackOp>(op))
    return false;
  LoopsAttr loops = loopsOf(op->getOpResult(0));
  if (!loops || loops.getLanes() == 1)
    return false;
  if (auto stack = llvm::dyn_cast<StackOp>(op))
    return loops.getUnroll() != stack.getAxisAttr() && loops.getAlong() != stack.getAxisAttr();
  return loops.getUnroll() != llvm::cast<ConcatOp>(op).getAxisAttr();
}

void penstock::pipe::setLoops(Operation *op, StringRef name, ArrayRef<Attribute> loops) {
  Builder builder(op->getContext());
  SmallVector<Attribute> all(llvm::map_range(
      loops, [&](Attribute loop) { return loop ? loop : Attribute(builder.getUnitAttr()); }));
  if (llvm::all_of(loops, [](Attribute loop) { return !loop; }))
    return;
  op->setAttr(name, all.size() == 1 ? all.front() : builder.getArrayAttr(all));
}

/// Returns whether the axes of `loops` are some of `value`.
static LogicalResult verifyAxes(Operation *op, StringRef name, LoopsAttr loops, Value value) {
  auto type = llvm::dyn_cast<NamedTensorType>(value.getType());
  auto isAxis = [&](StringAttr axis) { return !axis || (type && type.axisIndex(axis) >= 0); };
  if (!isAxis(loops.getAlong()) || !isAxis(loops.getUnroll()) || !isAxis(loops.getAcross()))
    return op->emitOpError() << "has `" << name << " = " << loops
                             << "` (C6); axes of it are those of " << value.getType();
  if (StringAttr unroll = loops.getUnroll()) {
    const Axis &axis = type.getAxes()[type.axisIndex(unroll)];
    if (!axis.isStatic() || axis.extent > mostSideBySide)
      return op->emitOpError() << "has `" << name << " = " << loops
                               << "` (C7); `unroll` names an axis of at most " << mostSideBySide
                               << " elements, known when compiling";
  }
  return success();
}

static LogicalResult verifyLoops(Operation *op, StringRef name, ValueRange values) {
  Attribute stated = op->getAttr(name);
  if (!stated)
    return success();
  auto several = llvm::dyn_cast<ArrayAttr>(stated);
  const size_t count = several ? several.size() : 1;
  const bool known =
      several ? llvm::all_of(several,
                             [](Attribute each) { return llvm::isa<LoopsAttr, UnitAttr>(each); })
              : llvm::isa<LoopsAttr>(stated);
  if (!known || count != values.size())
    return op->emitOpError() << "has `" << name << " = " << stated << "` (C6); it is one "
                             << "`#schedule.loops`, or `unit`, for each of " << values.size();
  for (auto [number, value] : llvm::enumerate(values))
    if (LoopsAttr loops = one(op, name, static_cast<unsigned>(number));
        loops && failed(verifyAxes(op, name, loops, value)))
      return failure();
  return success();
}

LogicalResult penstock::pipe::verifyLoops(KernelOp kernel) {
  const auto found = kernel.getBody().walk([](Operation *op) {
    return failed(::verifyLoops(op, "loops", op->getResults())) ||
                   failed(::verifyLoops(op, "copies", op->getOperands()))
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return failure(found.wasInterrupted());
}
