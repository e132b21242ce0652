// SPDX-License-Identifier: Apache-2.0
//
// Wide windows as loops over their neighbours.
//
// Unrolled, the code of a window grows with its neighbours, and what LLVM takes for
// it with their square. Small ones are unrolled: that is a third faster.
#include "compiler/Analysis/WindowMargins.h"
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

/// Loops, and ops and neighbours beside them, above which a body is no sum of many.
static constexpr size_t mostLoops = 8, mostBeside = 256;

/// The loops of a wide window; null where it is unrolled.
const TapLoops *penstock::conversion::tapLoopsOf(const Site &site, WindowOp op) {
  auto [ctx, b, l, m] = site.parts();
  Block &body = op.getBody().front();
  if (!penstock::analysis::isWide(op))
    return nullptr;
  const int64_t count = body.getNumArguments() - typeOf(op.getResult()).getRank();
  auto [found, isNew] = ctx.tapLoops.try_emplace(op);
  TapLoops &loops = found->second;
  if (isNew)
    loops = findTapLoops(body, static_cast<unsigned>(count));
  const bool few = loops.loops.size() <= mostLoops && loops.rest.size() <= mostBeside &&
                   loops.neighbours.size() <= mostBeside;
  return few ? &loops : nullptr;
}

/// Returns the neutral element of `kind`.
static Value tapStart(const Lanes &l, BinaryKind kind, Type type) {
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

/// The terms of neighbour `tap`, one for each sum.
static SmallVector<LaneValue> emitTerms(const Site &site, const TapLoop &loop, Value tap,
                                        llvm::function_ref<LaneValue(Value)> neighbour) {
  auto [ctx, b, l, m] = site.parts();
  // A copy of the terms whose holes are arguments.
  auto block = std::make_unique<Block>();
  for (const TapLoop::Hole &hole : loop.holes) {
    Value argument = block->addArgument(hole.type, l.loc);
    if (hole.constants.empty()) {
      ctx.scalars[argument] = neighbour(l.add(tap, l.i64(hole.offset)));
      continue;
    }
    TypedAttr first = hole.constants.front();
    if (llvm::all_equal(hole.constants)) {
      ctx.scalars[argument] = l.constant(first);
      continue;
    }
    Value place = l.mul(l.sub(tap, l.i64(loop.first)), l.i64(scalarBytes(hole.type)));
    Value table = readOnlyData(site, bytesOf(hole));
    ctx.scalars[argument] =
        l.wrap(m.loadPlain(registerType(hole.type), m.address(table, place), true), hole.type);
  }
  IRMapping mapping;
  OpBuilder copies(b.getContext());
  copies.setInsertionPointToEnd(block.get());
  for (Operation *op : loop.term) {
    Operation *copy = copies.clone(*op, mapping);
    for (OpOperand &operand : copy->getOpOperands())
      if (auto hole = loop.places.find({op, operand.getOperandNumber()}); hole != loop.places.end())
        operand.set(block->getArgument(static_cast<unsigned>(hole->second)));
    (void)emitScalarOp(site, *copy);
  }
  SmallVector<LaneValue> results;
  for (auto [number, sum] : llvm::enumerate(loop.sums))
    results.push_back(
        scalarOf(site, sum.term ? mapping.lookup(sum.term->getResult(0))
                                : block->getArgument(static_cast<unsigned>(
                                      loop.places.at({nullptr, static_cast<unsigned>(number)})))));
  for (Operation &op : *block)
    ctx.scalars.erase(op.getResult(0));
  for (BlockArgument argument : block->getArguments())
    ctx.scalars.erase(argument);
  return results;
}

void penstock::conversion::emitTapLoop(const Site &site, const TapLoop &loop, bool vector,
                                       llvm::function_ref<LaneValue(Value)> neighbour) {
  auto [ctx, b, l, m] = site.parts();
  auto typeOfSum = [&](size_t number) { return loop.sums[number].results.front().getType(); };
  auto shaped = [&](Value value) { return vector ? l.splat(value) : value; };
  SmallVector<Value> starts;
  for (auto [number, sum] : llvm::enumerate(loop.sums))
    starts.push_back(shaped(sum.start ? scalarOf(site, sum.start).value
                                      : tapStart(l, sum.kind, typeOfSum(number))));
  auto sums = [&](Value from) {
    OpBuilder::InsertionGuard guard(b);
    auto terms = openLoop(b, l, from, l.i64(loop.end), loop.step, starts);
    SmallVector<Value> next;
    for (auto [number, term] :
         llvm::enumerate(emitTerms(site, loop, terms.getInductionVar(), neighbour))) {
      LaneValue sofar =
          l.wrap(terms.getRegionIterArg(static_cast<unsigned>(number)), typeOfSum(number));
      next.push_back(shaped(l.binary(loop.sums[number].kind, sofar, term).value));
    }
    b.create<scf::YieldOp>(l.loc, next);
    return SmallVector<Value>(terms.getResults());
  };
  const auto count = static_cast<int64_t>(loop.sums.front().results.size());
  if (count == 1) {
    for (auto [number, value] : llvm::enumerate(sums(l.i64(loop.first))))
      ctx.scalars[loop.sums[number].results.front()] = l.wrap(value, typeOfSum(number));
    return;
  }
  // Results of a loop around it go through memory, one sum's after the other's.
  SmallVector<int64_t> sizes, begins;
  int64_t bytes = 0;
  for (size_t number = 0; number < loop.sums.size(); ++number) {
    sizes.push_back(scalarBytes(typeOfSum(number)) * (vector ? l.lanes : 1));
    begins.push_back(bytes);
    bytes += static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(count * sizes.back()), 64));
  }
  Value memory;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&ctx.function.getBody().front());
    memory = b.create<LLVM::AllocaOp>(l.loc, LLVM::LLVMPointerType::get(b.getContext()),
                                      b.getI8Type(), l.i64(bytes), 64);
  }
  auto place = [&](size_t number, Value result) {
    return m.address(memory, l.add(l.mul(result, l.i64(sizes[number])), l.i64(begins[number])));
  };
  forLoop(site, l.i64(0), l.i64(count), 1, [&](Value result) {
    for (auto [number, value] : llvm::enumerate(sums(l.add(result, l.i64(loop.first)))))
      m.storePlain(value, place(number, result));
  });
  for (auto [number, sum] : llvm::enumerate(loop.sums))
    for (auto [k, result] : llvm::enumerate(sum.results))
      ctx.scalars[result] = l.wrap(
          m.loadPlain(starts[number].getType(), place(number, l.i64(static_cast<int64_t>(k)))),
          typeOfSum(number));
}
