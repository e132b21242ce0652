// SPDX-License-Identifier: Apache-2.0
//
// Long loops look whether they shall stop.
//
// Work is counted in instructions of about 32 bytes. Loops that certainly end soon
// keep their form, and those of long iterations look at the flag in each of them;
// others run in pieces, so that short iterations cost what they did. The points
// stand at the ends of bodies: what a body does in any case stays certain there, and
// what does not change may still be hoisted out of the loop.
#include "compiler/Conversion/KernelContract.h"
#include "compiler/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

namespace penstock::conversion {
#define GEN_PASS_DEF_ADDCANCELLATIONPOINTS
#include "compiler/Conversion/Passes.h.inc"
} // namespace penstock::conversion

using namespace mlir;
using penstock::conversion::stopFlagOf;

/// Work that may be done without looking: well below a millisecond.
static constexpr int64_t mostWork = int64_t(1) << 20;
/// Iterations from so much work on look each: that is less than a hundredth.
static constexpr int64_t longIteration = 512;
/// Work of a piece of a loop whose iterations are shorter.
static constexpr int64_t pieceWork = int64_t(1) << 14;
/// Of a function that cannot look, or a loop that is left as it is, where it is not known.
static constexpr int64_t unknownWork = 2048;

/// Of products and sums that would not fit.
static constexpr int64_t endless = int64_t(1) << 40;

namespace {
class PointPlacer {
public:
  /// Adds the points of all functions of `module`.
  void run(ModuleOp module) {
    for (auto function : module.getOps<func::FuncOp>())
      workOf(function);
  }

private:
  int64_t workOf(func::FuncOp function);
  int64_t workOf(Region &region);
  int64_t workOf(Operation &op);
  int64_t workOfLoop(scf::ForOp loop);
  void addPoint(OpBuilder &builder, Location loc) {
    builder.create<penstock::pipe::CancellationPointOp>(loc, flag);
  }
  void split(scf::ForOp loop, int64_t iterations);

  llvm::DenseMap<Operation *, int64_t> known; ///< functions
  Value flag;                                 ///< of the function at hand; null: it cannot stop
};
} // namespace

static std::optional<int64_t> constantOf(Value value) {
  IntegerAttr number;
  if (matchPattern(value, m_Constant(&number)))
    return number.getInt();
  return std::nullopt;
}

/// Above what `value` never is.
static std::optional<int64_t> upperBound(Value value) {
  if (auto number = constantOf(value))
    return number;
  Operation *op = value.getDefiningOp();
  if (auto smaller = llvm::dyn_cast_or_null<arith::MinSIOp>(op)) {
    auto a = upperBound(smaller.getLhs()), b = upperBound(smaller.getRhs());
    return a && b ? std::min(*a, *b) : a ? a : b;
  }
  if (auto either = llvm::dyn_cast_or_null<arith::SelectOp>(op)) {
    auto a = upperBound(either.getTrueValue()), b = upperBound(either.getFalseValue());
    return a && b ? std::optional(std::max(*a, *b)) : std::nullopt;
  }
  return std::nullopt;
}

/// Most iterations of a loop. Ranges begin at 0 or later.
static std::optional<int64_t> mostIterations(scf::ForOp loop) {
  auto last = upperBound(loop.getUpperBound()), step = constantOf(loop.getStep());
  if (!last || !step || *step < 1)
    return std::nullopt;
  const int64_t first = constantOf(loop.getLowerBound()).value_or(0);
  return *last <= first ? 0 : (*last - first + *step - 1) / *step;
}

/// One instruction for each vector register, more of those that take longer.
static int64_t workOfSimple(Operation &op) {
  if (op.hasTrait<OpTrait::ConstantLike>() || op.hasTrait<OpTrait::IsTerminator>())
    return 0;
  int64_t registers = 1;
  auto count = [&](Type type) {
    if (auto vector = llvm::dyn_cast<VectorType>(type))
      registers = std::max<int64_t>(registers, vector.getNumElements() *
                                                   vector.getElementTypeBitWidth() / 256);
  };
  llvm::for_each(op.getResultTypes(), count);
  llvm::for_each(op.getOperandTypes(), count);
  const bool slow = llvm::isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
                              arith::DivFOp, LLVM::SqrtOp>(op);
  return registers * (slow ? 8 : 1);
}

int64_t PointPlacer::workOf(Operation &op) {
  if (auto loop = llvm::dyn_cast<scf::ForOp>(op))
    return workOfLoop(loop);
  if (auto loop = llvm::dyn_cast<scf::WhileOp>(op)) {
    const int64_t body = workOf(loop.getBefore()) + workOf(loop.getAfter());
    if (!flag || loop->hasAttr("pipe.short"))
      return std::max(body, unknownWork);
    OpBuilder builder(loop.getAfterBody()->getTerminator());
    addPoint(builder, loop.getLoc());
    return body;
  }
  if (auto call = llvm::dyn_cast<func::CallOp>(op))
    return workOf(op.getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>(call.getCallee()));
  int64_t most = 0; // of an op with branches, one runs
  for (Region &region : op.getRegions())
    most = std::max(most, workOf(region));
  return op.getNumRegions() ? most + 1 : workOfSimple(op);
}

/// The most that is done in `region` without looking.
int64_t PointPlacer::workOf(Region &region) {
  int64_t sum = 0;
  for (Block &block : region)
    for (Operation &op : llvm::make_early_inc_range(block)) {
      sum = std::min(sum + workOf(op), endless);
      if (sum <= mostWork || !flag || op.hasTrait<OpTrait::IsTerminator>())
        continue;
      OpBuilder builder(&op);
      builder.setInsertionPointAfter(&op);
      addPoint(builder, op.getLoc());
      sum = 0;
    }
  return sum;
}

int64_t PointPlacer::workOfLoop(scf::ForOp loop) {
  const int64_t body = std::max<int64_t>(workOf(loop.getRegion()), 1);
  const auto count = mostIterations(loop);
  const int64_t all = count ? std::min(*count, endless / body) * body : endless;
  if (all <= mostWork || !flag)
    return count ? all : std::max(body, unknownWork);
  if (loop->hasAttr("pipe.short"))
    return std::max(body, unknownWork);
  if (body < longIteration) {
    split(loop, pieceWork / body);
    return pieceWork;
  }
  OpBuilder builder(loop.getBody()->getTerminator());
  addPoint(builder, loop.getLoc());
  return body;
}

/// In pieces of so many iterations, with a look between two of them.
void PointPlacer::split(scf::ForOp loop, int64_t iterations) {
  auto step = constantOf(loop.getStep());
  const Location loc = loop.getLoc();
  OpBuilder builder(loop);
  Value low = loop.getLowerBound(), high = loop.getUpperBound();
  Type type = low.getType();
  auto number = [&](int64_t value) -> Value {
    return builder.create<arith::ConstantOp>(loc, builder.getIntegerAttr(type, value));
  };
  Value pieces = step ? number(*step * iterations)
                      : builder.create<arith::MulIOp>(loc, loop.getStep(), number(iterations));
  auto outer = builder.create<scf::ForOp>(loc, low, high, pieces, loop.getInitArgs());
  if (!outer.getBody()->empty())
    outer.getBody()->back().erase();
  builder.setInsertionPointToEnd(outer.getBody());
  Value next = builder.create<arith::AddIOp>(loc, outer.getInductionVar(), pieces);
  Value end = builder.create<arith::MinSIOp>(loc, next, high);
  auto inner = builder.create<scf::ForOp>(loc, outer.getInductionVar(), end, loop.getStep(),
                                          outer.getRegionIterArgs());
  inner->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  inner.getRegion().takeBody(loop.getRegion());
  Value more = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, next, high);
  auto look = builder.create<scf::IfOp>(loc, more, false);
  builder.create<scf::YieldOp>(loc, inner.getResults());
  builder.setInsertionPointToStart(look.thenBlock());
  addPoint(builder, loc);
  loop.replaceAllUsesWith(outer.getResults());
  loop.erase();
}

int64_t PointPlacer::workOf(func::FuncOp function) {
  if (auto found = known.find(function); found != known.end())
    return found->second;
  if (!function || function.isExternal())
    return 0;
  known[function] = unknownWork; // no function calls itself
  Value outer = std::exchange(flag, Value());
  LLVM::LoadOp load;
  if (const auto offset = stopFlagOf(function)) {
    auto builder = OpBuilder::atBlockBegin(&function.front());
    auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
    Value place = builder.create<LLVM::GEPOp>(
        function.getLoc(), pointer, builder.getI8Type(), function.getArgument(0),
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(*offset)});
    load = builder.create<LLVM::LoadOp>(function.getLoc(), pointer, place);
    flag = load;
  }
  const int64_t work = workOf(function.getBody());
  if (load && load->use_empty()) {
    Operation *place = load.getAddr().getDefiningOp();
    load.erase();
    place->erase();
  }
  flag = outer;
  return known[function] = work;
}

namespace {
struct AddCancellationPointsPass
    : penstock::conversion::impl::AddCancellationPointsBase<AddCancellationPointsPass> {
  void runOnOperation() override { PointPlacer().run(getOperation()); }
};
} // namespace
