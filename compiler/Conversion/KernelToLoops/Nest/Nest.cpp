// SPDX-License-Identifier: Apache-2.0
//
// Loops over a tensor that is stored.
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Analysis/OuterAxes.h"
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

static void storeArm(const Site &site, ArrayRef<Stored> all, LoopShape shape, Value low,
                     Value high);
static void storeEitherWay(const Site &site, ArrayRef<Stored> all, LoopShape shape, Value low,
                           Value high);
static void storeNest(const Site &site, ArrayRef<Stored> all, LoopShape shape, Value low,
                      Value high);
static bool storeRun(const Site &site, ArrayRef<Stored> all, LoopShape shape, Value low,
                     Value high);

/// Of the size of numbers that loops are written for: no product of a few of them overflows.
static constexpr double factorBound = 65536;

//===--- nests of loops, for each case of what is decided once -----------------------===//

/// A parameter may be any number, so whatever it is a factor of may be NaN, which is looked for
/// wherever it is stored. The loops are written for bounded numbers, and again for the others.
static void storeWithBoundedFactors(const Site &site, ArrayRef<Stored> all, LoopShape shape,
                                    Value low, Value high) {
  auto [ctx, b, l, m] = site.parts();
  llvm::SetVector<Value> open;
  Seen seen;
  auto areScalars = [&](const Stored &stored) {
    return unboundedScalars(site, stored.tensor, open, seen);
  };
  if (!shape.bounded || shape.lanes == 1 || !llvm::all_of(all, areScalars) || open.empty())
    return storeArm(site, all, shape, low, high);
  Site bounded = site;
  Value allBounded;
  for (Value number : open) {
    LaneValue value = scalarOf(site, number);
    Value size = b.create<LLVM::FAbsOp>(l.loc, value.value);
    Value inside = b.create<arith::CmpFOp>(l.loc, arith::CmpFPredicate::OLE, size,
                                           l.floatLike(size, factorBound));
    allBounded = allBounded ? l.andInt(allBounded, inside) : inside;
    value.range = Interval::of(-factorBound, factorBound);
    bounded.facts.push_back({number, value});
  }
  auto choice = b.create<scf::IfOp>(l.loc, allBounded, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  storeArm(bounded, all, shape, low, high);
  b.setInsertionPointToStart(choice.elseBlock());
  storeArm(site, all, shape, low, high);
}

void penstock::conversion::storeTensor(const Site &site, Value tensor, const Buffer &to,
                                       LoopShape shape, Value low, Value high) {
  storeTogether(site, Stored{tensor, to}, shape, low, high);
}

/// A choice is made once and not for each vector: the loops are written for each
/// arm, as long as that makes few of them.
void penstock::conversion::storeTogether(const Site &site, ArrayRef<Stored> all, LoopShape shape,
                                         Value low, Value high) {
  auto [ctx, b, l, m] = site.parts();
  const bool areSeveral = all.size() > 1;
  auto areRows = [&](const Stored &stored) { return site.ctx.reducedRows.contains(stored.tensor); };
  if (areSeveral && llvm::any_of(all, areRows)) { // each has its own
    for (const Stored &stored : all)
      storeTogether(site, stored, shape, low, high);
    return;
  }
  if (shape.laneAxis < 0) {
    const Site one = site.withLanes(1);
    for (const Stored &stored : all)
      one.m.store(stored.to, {}, emit(one, stored.tensor, {}));
    return;
  }
  if (!areSeveral && shape.lanes > 1 && storeInParts(site, all.front(), low, high))
    return;
  llvm::SetVector<Operation *> choices;
  Seen seen;
  for (const Stored &stored : all)
    unresolvedBranches(site, stored.tensor, choices, seen);
  int64_t variants = 1;
  for (auto [choose, arm] : site.specialized)
    variants *= llvm::cast<ChooseOp>(choose).getArms().size();
  auto fits = [&](Operation *choose) {
    return variants * static_cast<int64_t>(llvm::cast<ChooseOp>(choose).getArms().size()) <=
           shape.arms;
  };
  auto found = llvm::find_if(choices, fits);
  if (found == choices.end())
    return storeWithBoundedFactors(site, all, shape, low, high);
  auto choose = llvm::cast<ChooseOp>(*found);
  Value index = scalarOf(site, choose.getIndex()).value;
  const int64_t count = static_cast<int64_t>(choose.getArms().size());
  OpBuilder::InsertionGuard guard(b);
  for (int64_t arm = 0; arm < count; ++arm) {
    Site inArm = site;
    inArm.specialized.push_back({choose, arm});
    if (arm + 1 < count) {
      auto branchOp =
          b.create<scf::IfOp>(l.loc, l.cmp(CmpIPredicate::sle, index, l.i64(arm)), true);
      b.setInsertionPointToStart(branchOp.thenBlock());
      storeTogether(inArm, all, shape, low, high);
      b.setInsertionPointToStart(branchOp.elseBlock());
    } else {
      storeTogether(inArm, all, shape, low, high);
    }
  }
}

/// Lanes along the outermost axis of an input are as far apart as the runtime says: as far as in a
/// dense tensor, but for decoded regions and planes of others. The loops are written for that,
/// where such lanes are taken out of registers, and element by element for the rest.
static void storeArm(const Site &site, ArrayRef<Stored> all, LoopShape shape, Value low,
                     Value high) {
  auto [ctx, b, l, m] = site.parts();
  if (!shape.strides || shape.lanes == 1)
    return storeEitherWay(site, all, shape, low, high);
  const Site wide = site.withLanes(shape.lanes);
  LocalBuffers dense{{}, site.local};
  Value allDense;
  llvm::SetVector<Value> inputs;
  for (const Stored &stored : all)
    for (Value input :
         penstock::analysis::inputsAlongOuterAxis(stored.tensor, shape.laneAxis, [&](Value value) {
           return site.buffer(value) != nullptr;
         }))
      inputs.insert(input);
  for (Value input : inputs) {
    Buffer buffer = *site.buffer(input);
    const int64_t size = scalarBytes(buffer.element);
    const auto step = penstock::analysis::denseOuterStep(typeOf(input));
    if (buffer.known[0] || !step || *step < 2 || (*step > 4 && !wide.m.takesApart(size, *step)))
      continue;
    Value isDense = l.cmp(CmpIPredicate::eq, buffer.strides[0], l.i64(*step * size));
    allDense = allDense ? l.andInt(allDense, isDense) : isDense;
    buffer.known[0] = *step * size;
    buffer.strides[0] = l.i64(*step * size);
    dense.buffers.push_back({input, buffer});
  }
  if (!allDense)
    return storeEitherWay(site, all, shape, low, high);
  auto choice = b.create<scf::IfOp>(l.loc, allDense, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  Site inDense = site;
  inDense.local = &dense;
  storeEitherWay(inDense, all, shape, low, high);
  b.setInsertionPointToStart(choice.elseBlock());
  shape.lanes = 1;
  storeNest(site, all, shape, low, high);
}

/// A distance between lanes that is known when running only is almost always 1 or -1
/// (a flip): the loops are written once for each, and element by element
/// for the rest.
static void storeEitherWay(const Site &site, ArrayRef<Stored> all, LoopShape shape, Value low,
                           Value high) {
  auto [ctx, b, l, m] = site.parts();
  SmallVector<bool> withLanes(all.front().axes().getRank(), false);
  withLanes[shape.laneAxis] = true;
  llvm::SetVector<Value> strides;
  Seen seen;
  if (shape.strides && shape.lanes > 1)
    for (const Stored &stored : all)
      laneStrides(site, stored.tensor, withLanes, strides, seen);
  if (strides.size() != 1 || Lanes::constantOf(scalarOf(site, strides[0]).value))
    return storeNest(site, all, shape, low, high);
  const LaneValue runtime = scalarOf(site, strides[0]);
  std::function<void(ArrayRef<int64_t>)> among = [&](ArrayRef<int64_t> known) {
    if (known.empty()) {
      shape.lanes = 1;
      return storeNest(site, all, shape, low, high);
    }
    Value same = l.cmp(CmpIPredicate::eq, runtime.value, l.i64(known.front()));
    auto choice = b.create<scf::IfOp>(l.loc, same, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    Site fixed = site;
    fixed.facts.push_back({strides[0], l.constant(b.getI64IntegerAttr(known.front()))});
    storeNest(fixed, all, shape, low, high);
    b.setInsertionPointToStart(choice.elseBlock());
    among(known.drop_front());
  };
  among({1, -1});
}

static void storeNest(const Site &site, ArrayRef<Stored> all, LoopShape shape, Value low,
                      Value high) {
  auto [ctx, b, l, m] = site.parts();
  Value tensor = all.front().tensor;
  const int64_t rank = typeOf(tensor).getRank();
  if (shape.acrossAxis >= 0 && shape.lanes > 1 && all.size() == 1 &&
      !ctx.reducedRows.contains(tensor)) {
    LoopShape rows = shape;
    rows.acrossAxis = -1;
    if (storeSquares(site, tensor, all.front().to, shape, low, high,
                     [&] { storeNest(site, all, rows, low, high); }))
      return;
  }
  if (ctx.reducedRows.contains(tensor))
    shape.unrollAxis =
        shape.unrollAxis > shape.laneAxis ? shape.unrollAxis : -1; // planes have rows of their own
  else if (storeRun(site, all, shape, low, high))
    return;
  SmallVector<Index> at(rank);
  auto inLoop = [&](int64_t axis) { return axis != shape.laneAxis && axis != shape.unrollAxis; };
  int64_t lastLoop = rank - 1;
  while (lastLoop >= 0 && !inLoop(lastLoop))
    --lastLoop;
  const int64_t rowsAhead = ctx.reducedRows.contains(tensor) ? reducedRowsAhead(site, tensor) : 1;
  LocalBuffers rows = reducedRowsOf(site, tensor);
  Site reading = site;
  reading.local = &rows;
  // From the outermost axis inwards, lanes last.
  std::function<void(int64_t)> nest = [&](int64_t axis) {
    if (axis == rank) {
      storeReducedRows(site, tensor, at, rows);
      return storeRow(reading, all, shape, at, low, high);
    }
    if (!inLoop(axis)) {
      nest(axis + 1);
      return;
    }
    Value from = axis == 0 ? low : l.i64(0), end = axis == 0 ? high : extent(site, tensor, axis);
    if (axis == lastLoop && rowsAhead > 1) {
      forLoop(site, from, end, rowsAhead, [&](Value first) {
        auto eachRow = [&](llvm::function_ref<void()> body) {
          forLoop(site, first, l.minS(l.add(first, l.i64(rowsAhead)), end), 1, [&](Value i) {
            at[axis] = m.uniform(i);
            moveToReducedRows(site, tensor, l.sub(i, first), rows);
            body();
          });
        };
        eachRow([&] { storeReducedRows(site, tensor, at, rows); });
        eachRow([&] { storeRow(reading, all, shape, at, low, high); });
      });
      return;
    }
    forLoop(site, from, end, 1, [&](Value i) {
      at[axis] = m.uniform(i);
      nest(axis + 1);
    });
  };
  nest(0);
}

/// Rows that follow each other wherever they are read, such as the channels of pixels, are one long
/// one, of whose vectors only the last two overlap. False where they do not, or are whole vectors
/// anyway.
static bool storeRun(const Site &site, ArrayRef<Stored> all, LoopShape shape, Value low,
                     Value high) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType type = all.front().axes();
  const int64_t rank = type.getRank();
  if (shape.lanes == 1 || all.front().to.streaming || rank < 2 || !type.getAxes().back().isStatic())
    return false;
  // Planes that are made side by side share what they read.
  const int64_t last = type.getAxes().back().extent;
  if (last >= shape.lanes && (last % shape.lanes == 0 || shape.unrollAxis >= 0))
    return false;
  int64_t inRun = rank;
  for (const auto &[tensor, to] : all)
    inRun = std::min({inRun, axesInRun(site, tensor), axesInRun(typeOf(tensor), to)});
  // The outermost axis is the caller's to cut into bands: of whole rows.
  const bool isAll = inRun == rank && inRun > 0;
  int64_t size = 1;
  for (const Axis &axis : type.getAxes().drop_front(isAll ? 1 : rank - inRun))
    size *= axis.extent;
  if (!isAll && (inRun < 2 || size < shape.lanes))
    return false;
  SmallVector<Index> at(rank, m.constant(0));
  auto along = [&](Value from, Value end) {
    overLanes(
        site, from, end, shape.lanes,
        [&](const Site &lanes, Index index) {
          at.back() = index;
          storeLanes(lanes, all, {rank - 1, -1, shape.lanes}, at);
        },
        isAll ? Tail::overlap : shape.tail);
  };
  std::function<void(int64_t)> nest = [&](int64_t axis) {
    if (axis == rank - inRun)
      return along(l.i64(0), l.i64(size));
    forLoop(site, axis == 0 ? low : l.i64(0),
            axis == 0 ? high : extent(site, all.front().tensor, axis), 1, [&](Value i) {
              at[axis] = m.uniform(i);
              nest(axis + 1);
            });
  };
  if (isAll)
    along(l.mul(low, l.i64(size)), l.mul(high, l.i64(size)));
  else
    nest(0);
  return true;
}
