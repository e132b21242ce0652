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

/// The terms of neighbour `tap`, one for each sum. `neighbour`: one so many places further on.
static SmallVector<LaneValue> emitTerms(const Site &site, const TapLoop &loop, Value tap,
                                        llvm::function_ref<LaneValue(int64_t)> neighbour) {
  auto [ctx, b, l, m] = site.parts();
  // A copy of the terms whose holes are arguments.
  auto block = std::make_unique<Block>();
  for (const TapLoop::Hole &hole : loop.holes) {
    Value argument = block->addArgument(hole.type, l.loc);
    if (hole.constants.empty()) {
      ctx.scalars[argument] = neighbour(hole.offset);
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

namespace {
/// One loop's results, each of which is a sum of terms.
class TapSums {
public:
  TapSums(const Site &site, const TapLoop &loop, bool vector, int64_t rows, int64_t columns,
          llvm::function_ref<LaneValue(TapPlace)> neighbour)
      : site(site), loop(loop), vector(vector), rows(rows), columns(columns), neighbour(neighbour) {
    for (auto [number, sum] : llvm::enumerate(loop.sums))
      starts.push_back(shaped(sum.start ? scalarOf(site, sum.start).value
                                        : tapStart(site.m.l, sum.kind, typeOf(number))));
  }
  void emitOne();
  void emitSeveral(int64_t count);

private:
  Type typeOf(size_t number) const { return loop.sums[number].results.front().getType(); }
  Value shaped(Value value) const { return vector ? site.m.l.splat(value) : value; }
  TapPlace placeOf(Value number) const;
  SmallVector<Value> sums(Value from, Value to, ValueRange sofar, Value row);
  SmallVector<Value> sumsOfRows();

  const Site &site;
  const TapLoop &loop;
  bool vector;
  int64_t rows, columns;
  llvm::function_ref<LaneValue(TapPlace)> neighbour;
  SmallVector<Value> starts;
};
} // namespace

TapPlace TapSums::placeOf(Value number) const {
  auto [ctx, b, l, m] = site.parts();
  if (rows == 1)
    return {l.i64(0), number};
  return {b.create<arith::DivUIOp>(l.loc, number, l.i64(columns)),
          b.create<arith::RemUIOp>(l.loc, number, l.i64(columns))};
}

/// Adds terms whose first neighbours have numbers from `from` to `to`, of a row where there is one.
SmallVector<Value> TapSums::sums(Value from, Value to, ValueRange sofar, Value row) {
  auto [ctx, b, l, m] = site.parts();
  OpBuilder::InsertionGuard guard(b);
  auto terms = openLoop(b, l, from, to, loop.step, sofar);
  Value number = terms.getInductionVar();
  Value tap = row ? l.add(l.mul(row, l.i64(columns)), number) : number;
  auto further = [&, &l = l](int64_t offset) {
    return neighbour(row && offset == 0 ? TapPlace{row, number}
                                        : placeOf(l.add(tap, l.i64(offset))));
  };
  SmallVector<Value> next;
  for (auto [sum, term] : llvm::enumerate(emitTerms(site, loop, tap, further))) {
    LaneValue before = l.wrap(terms.getRegionIterArg(static_cast<unsigned>(sum)), typeOf(sum));
    next.push_back(shaped(l.binary(loop.sums[sum].kind, before, term).value));
  }
  b.create<scf::YieldOp>(l.loc, next);
  return terms.getResults();
}

/// Row by row, so that nobody divides for each neighbour.
SmallVector<Value> TapSums::sumsOfRows() {
  auto [ctx, b, l, m] = site.parts();
  if (rows == 1 || loop.step > 1)
    return sums(l.i64(loop.first), l.i64(loop.end), starts, {});
  OpBuilder::InsertionGuard guard(b);
  const int64_t firstRow = loop.first / columns, lastRow = (loop.end - 1) / columns;
  auto all = openLoop(b, l, l.i64(firstRow), l.i64(lastRow + 1), 1, starts);
  Value row = all.getInductionVar(), before = l.mul(row, l.i64(columns));
  Value from = l.i64(0), to = l.i64(columns);
  if (loop.first % columns)
    from = l.maxS(l.sub(l.i64(loop.first), before), from);
  if (loop.end % columns)
    to = l.minS(l.sub(l.i64(loop.end), before), to);
  b.create<scf::YieldOp>(l.loc, sums(from, to, all.getRegionIterArgs(), row));
  return all.getResults();
}

void TapSums::emitOne() {
  for (auto [number, value] : llvm::enumerate(sumsOfRows()))
    site.ctx.scalars[loop.sums[number].results.front()] = site.m.l.wrap(value, typeOf(number));
}

/// Results of a loop around it go through memory, one sum's after the other's.
void TapSums::emitSeveral(int64_t count) {
  auto [ctx, b, l, m] = site.parts();
  SmallVector<int64_t> sizes, begins;
  int64_t bytes = 0;
  for (size_t number = 0; number < loop.sums.size(); ++number) {
    sizes.push_back(scalarBytes(typeOf(number)) * (vector ? l.lanes : 1));
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
  auto place = [&, &l = l, &m = m](size_t number, Value result) {
    return m.address(memory, l.add(l.mul(result, l.i64(sizes[number])), l.i64(begins[number])));
  };
  forLoop(site, l.i64(0), l.i64(count), 1, [&, &l = l, &m = m](Value result) {
    for (auto [number, value] :
         llvm::enumerate(sums(l.add(result, l.i64(loop.first)), l.i64(loop.end), starts, {})))
      m.storePlain(value, place(number, result));
  });
  for (auto [number, sum] : llvm::enumerate(loop.sums))
    for (auto [k, result] : llvm::enumerate(sum.results))
      ctx.scalars[result] = l.wrap(
          m.loadPlain(starts[number].getType(), place(number, l.i64(static_cast<int64_t>(k)))),
          typeOf(number));
}

void penstock::conversion::emitTapLoop(const Site &site, const TapLoop &loop, bool vector,
                                       int64_t rows, int64_t columns,
                                       llvm::function_ref<LaneValue(TapPlace)> neighbour) {
  TapSums sums(site, loop, vector, rows, columns, neighbour);
  const auto count = static_cast<int64_t>(loop.sums.front().results.size());
  if (count == 1)
    sums.emitOne();
  else
    sums.emitSeveral(count);
}
