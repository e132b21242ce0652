//===- KernelTaps.cpp - wide windows as loops over their neighbours --------===//
//
// Unrolled, the code of a window grows with its neighbours, and what LLVM takes for
// it with their square. Small ones are unrolled: that is a third faster.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/KernelEmitter.h"
#include "compiler/Conversion/Reduction.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

/// Neighbours that are unrolled.
static constexpr int64_t writtenOut = 49;
/// Loops, and ops and neighbours beside them, above which a body is no sum of many.
static constexpr size_t mostLoops = 8, mostBeside = 128;

/// The loops of a wide window; null where it is unrolled.
const TapLoops *KernelEmitter::tapLoopsOf(WindowOp op) {
  Block &body = op.getBody().front();
  const int64_t count = body.getNumArguments() - typeOf(op.getResult()).getRank();
  if (count <= writtenOut)
    return nullptr;
  auto [found, isNew] = tapLoops.try_emplace(op);
  TapLoops &loops = found->second;
  if (isNew)
    loops = findTapLoops(body, static_cast<unsigned>(count));
  const bool few = loops.loops.size() <= mostLoops && loops.rest.size() <= mostBeside &&
                   loops.neighbours.size() <= mostBeside;
  return few ? &loops : nullptr;
}

/// What `kind` leaves every number as it is with.
static Value tapStart(Lanes &l, BinaryKind kind, Type type) {
  if (llvm::isa<FloatType>(type)) {
    const double number = kind == BinaryKind::add   ? -0.0
                          : kind == BinaryKind::mul ? 1.0
                                                    : std::numeric_limits<double>::quiet_NaN();
    return l.constant(l.b.getFloatAttr(type, number)).value;
  }
  switch (kind) {
  case BinaryKind::min:
    return neutral(l, ReduceKind::min, type).value;
  case BinaryKind::max:
    return neutral(l, ReduceKind::max, type).value;
  default: {
    const int64_t number = kind == BinaryKind::mul ? 1 : kind == BinaryKind::bit_and ? -1 : 0;
    return l.b.create<arith::ConstantOp>(l.loc, l.b.getIntegerAttr(registerType(type), number));
  }
  }
}

/// The bytes of constants, one after the other; zeros where there is none.
static std::string bytesOf(const TapLoop::Hole &hole) {
  const int64_t size = scalarBytes(hole.type);
  std::string bytes;
  for (TypedAttr attribute : hole.constants) {
    uint64_t raw = 0;
    if (auto real = llvm::dyn_cast_if_present<FloatAttr>(attribute))
      raw = real.getValue().bitcastToAPInt().getZExtValue();
    else if (attribute)
      raw = llvm::cast<IntegerAttr>(attribute).getValue().getZExtValue();
    for (int64_t byte = 0; byte < size; ++byte)
      bytes.push_back(static_cast<char>(raw >> (8 * byte)));
  }
  return bytes;
}

/// The term of neighbour `tap`.
LaneValue KernelEmitter::emitTerm(const TapLoop &loop, Value tap,
                                  llvm::function_ref<LaneValue(Value)> neighbour) {
  // A copy of the term whose holes are arguments.
  auto block = std::make_unique<Block>();
  for (const TapLoop::Hole &hole : loop.holes) {
    Value argument = block->addArgument(hole.type, l.loc);
    if (hole.constants.empty()) {
      scalars[argument] = neighbour(l.add(tap, l.i64(hole.offset)));
      continue;
    }
    TypedAttr first = hole.constants.front();
    if (llvm::all_equal(hole.constants)) {
      scalars[argument] = l.constant(first);
      continue;
    }
    Value place = l.mul(l.sub(tap, l.i64(loop.first)), l.i64(scalarBytes(hole.type)));
    Value table = readOnlyData(bytesOf(hole));
    scalars[argument] =
        l.wrap(m.loadPlain(registerType(hole.type), m.address(table, place), true), hole.type);
  }
  LaneValue result = scalars[block->getArgument(0)];
  IRMapping mapping;
  OpBuilder copies(b.getContext());
  copies.setInsertionPointToEnd(block.get());
  for (Operation *op : loop.term) {
    Operation *copy = copies.clone(*op, mapping);
    for (OpOperand &operand : copy->getOpOperands())
      if (auto hole = loop.places.find({op, operand.getOperandNumber()}); hole != loop.places.end())
        operand.set(block->getArgument(static_cast<unsigned>(hole->second)));
    (void)emitScalarOp(*copy);
    result = scalar(copy->getResult(0));
  }
  for (Operation &op : *block)
    scalars.erase(op.getResult(0));
  for (BlockArgument argument : block->getArguments())
    scalars.erase(argument);
  return result;
}

void KernelEmitter::emitTapLoop(const TapLoop &loop, bool vector,
                                llvm::function_ref<LaneValue(Value)> neighbour) {
  Type element = loop.results.front().getType();
  auto shaped = [&](Value value) { return vector ? l.splat(value) : value; };
  Value start = shaped(tapStart(l, loop.kind, element));
  auto sum = [&](Value from) -> Value {
    OpBuilder::InsertionGuard guard(b);
    auto terms = openLoop(b, l, from, l.i64(loop.end), loop.step, {start});
    LaneValue term = emitTerm(loop, terms.getInductionVar(), neighbour);
    LaneValue all = l.binary(loop.kind, l.wrap(terms.getRegionIterArg(0), element), term);
    b.create<scf::YieldOp>(l.loc, shaped(all.value));
    return terms.getResult(0);
  };
  if (loop.results.size() == 1) {
    scalars[loop.results.front()] = l.wrap(sum(l.i64(loop.first)), element);
    return;
  }
  // Results of a loop around it go through memory.
  const auto count = static_cast<int64_t>(loop.results.size());
  const int64_t size = scalarBytes(element) * (vector ? l.lanes : 1);
  Value memory;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&function.getBody().front());
    memory = b.create<LLVM::AllocaOp>(l.loc, LLVM::LLVMPointerType::get(b.getContext()),
                                      b.getI8Type(), l.i64(count * size), 64);
  }
  auto place = [&](Value number) { return m.address(memory, l.mul(number, l.i64(size))); };
  forLoop(l.i64(0), l.i64(count), 1, [&](Value number) {
    m.storePlain(sum(l.add(number, l.i64(loop.first))), place(number));
  });
  for (auto [number, result] : llvm::enumerate(loop.results))
    scalars[result] =
        l.wrap(m.loadPlain(start.getType(), place(l.i64(static_cast<int64_t>(number)))), element);
}
