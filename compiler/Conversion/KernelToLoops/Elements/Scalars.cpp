// SPDX-License-Identifier: Apache-2.0
//
// Scalar ops, keys, draws and checks.
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Conversion/KernelToLoops/Elements/Branches.h"
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/PlanNotes.h"
#include "compiler/Dialect/Filters.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/abi/kernel.h"
#include "runtime/abi/scalar.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

static void emitTaps(const Site &site, TapsOp op);
static void emitCheck(const Site &site, CheckOp op);

/// How many values a coordinate of an op has, if that is known.
static std::optional<int64_t> countOf(BlockArgument coordinate) {
  Block *body = coordinate.getOwner();
  NamedTensorType domain = typeOf(body->getParentOp()->getResult(0));
  const int64_t axis = domain.getRank() - (body->getNumArguments() - coordinate.getArgNumber());
  const Axis &a = domain.getAxes()[axis];
  return a.isStatic() ? std::optional(a.extent) : std::nullopt;
}

std::optional<LaneValue> penstock::conversion::boundScalar(const Site &site, Value value) {
  for (const auto &[number, known] : llvm::reverse(site.facts))
    if (number == value)
      return known;
  auto known = site.ctx.scalars.find(value);
  return known == site.ctx.scalars.end() ? std::nullopt : std::optional(known->second);
}

LaneValue penstock::conversion::scalarOf(const Site &site, Value value) {
  auto [ctx, b, l, m] = site.parts();
  if (auto known = boundScalar(site, value))
    return *known;
  auto coordinate = ctx.coordinates.find(value);
  assert(coordinate != ctx.coordinates.end() && "a scalar without a definition");
  const Index &index = coordinate->second;
  LaneValue number = l.wrap(m.numbers(index), b.getI64Type());
  if (index.affine() && number.isVector()) {
    number.first = index.base;
    number.step = index.stride;
  }
  const std::optional<int64_t> count = countOf(llvm::cast<BlockArgument>(value));
  if (!m.live) // lanes that do not exist stand beside the axis
    number.range =
        Interval::of(0, count ? static_cast<double>(std::max<int64_t>(*count - 1, 0)) : 0x1p63);
  if (count && *count <= 1 << 24) // whole f32
    number.real = m.realNumbers(index);
  return number;
}

static KeyValue key(const Site &site, Value value) {
  auto [ctx, b, l, m] = site.parts();
  return ctx.keys.lookup(value);
}

/// The operations of a body in an order that keeps few values alive: each where the first that
/// reads it wants it, and right behind it those that need nothing more and end a value. So of two
/// sums over the same neighbours, both go from one neighbour to the next.
static SmallVector<Operation *> inOrderOfNeed(Block &block) {
  constexpr size_t registers = 16; // fewer operations have room in any order
  SmallVector<Operation *> all;
  bool isPlain = true;
  for (Operation &op : block.without_terminator()) {
    all.push_back(&op);
    isPlain &= op.getNumRegions() == 0 && isPure(&op) && op.getNumResults() == 1;
  }
  if (all.size() <= registers || !isPlain)
    return all;
  SmallVector<Operation *> order;
  DenseSet<Operation *> done;
  DenseMap<Value, size_t> left; // readers to come
  for (Operation *op : all)
    for (Value operand : op->getOperands())
      ++left[operand];
  auto isMade = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return !op || op->getBlock() != &block || done.contains(op);
  };
  std::function<void(Operation *)> place = [&](Operation *op) {
    if (!done.insert(op).second)
      return;
    order.push_back(op);
    for (Value operand : op->getOperands())
      --left[operand];
    for (Operation *reader : op->getUsers())
      if (reader->getBlock() == &block && !reader->hasTrait<OpTrait::IsTerminator>() &&
          !done.contains(reader) && llvm::all_of(reader->getOperands(), isMade) &&
          llvm::any_of(reader->getOperands(), [&](Value operand) {
            return operand.getDefiningOp() && operand.getDefiningOp()->getBlock() == &block &&
                   left[operand] == 1 && !llvm::isa<ConstantOp>(operand.getDefiningOp());
          }))
        place(reader);
  };
  std::function<void(Value)> want = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (isMade(value))
      return;
    for (Value operand : op->getOperands())
      want(operand);
    place(op);
  };
  for (Value value : block.getTerminator()->getOperands())
    want(value);
  for (Operation *op : all) // what nobody reads
    want(op->getResult(0));
  return order;
}

void penstock::conversion::emitBlock(const Site &site, Block &block) {
  for (Operation *op : inOrderOfNeed(block))
    (void)emitScalarOp(site, *op); // the verifier of kernels admits scalar ops only
}

/// Keys, and what is drawn by them.
static LogicalResult emitRandomOp(const Site &site, Operation &op) {
  auto [ctx, b, l, m] = site.parts();
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](KeyOp k) -> LogicalResult {
        // Pixel kernels see their own scalars only.
        if (ctx.kernel.getKind() == "pixels")
          return op.emitError("a key of the sample in a pixel kernel; pipe.key_of makes it from "
                              "arguments there");
        auto slot = [&](int64_t number) {
          return m.loadPlain(b.getI64Type(), slotAddress(site, number));
        };
        const bool sample = k.getScope() == KeyScope::sample;
        ctx.keys[k] = {slot(PST_ENTRY_SEED),
                       slot(sample ? PST_ENTRY_POSITION : PST_ENTRY_BATCH_POSITION),
                       slot(PST_ENTRY_EPOCH), l.i64(0)};
        return success();
      })
      .Case([&](KeyViewOp k) {
        ctx.keys[k] = Random(l).withView(key(site, k.getKey()), scalarOf(site, k.getView()).value);
        return success();
      })
      .Case([&](KeyNumbersOp k) {
        const KeyValue parts = key(site, k.getKey());
        const Value numbers[] = {parts.state, parts.position, parts.epoch, parts.view};
        for (auto [result, number] : llvm::zip(k.getResults(), numbers))
          ctx.scalars[result] = l.wrap(number, b.getI64Type());
        return success();
      })
      .Case([&](KeyOfOp k) {
        ctx.keys[k] = {scalarOf(site, k.getState()).value, scalarOf(site, k.getPosition()).value,
                       scalarOf(site, k.getEpoch()).value, scalarOf(site, k.getView()).value};
        return success();
      })
      .Case([&](KeyMixOp k) {
        ctx.keys[k] = Random(l).mixed(key(site, k.getKey()), scalarOf(site, k.getIndex()).value);
        return success();
      })
      .Case([&](DrawOp d) {
        SmallVector<LaneValue> values;
        for (Value argument : d.getArgs())
          values.push_back(scalarOf(site, argument));
        Value element = d.getElement() ? scalarOf(site, d.getElement()).value : Value();
        ctx.scalars[d] = Random(l).draw(d.getKind(), key(site, d.getKey()),
                                        static_cast<int64_t>(d.getId()), values, element);
        return success();
      })
      .Default([&](Operation *) { return op.emitError("has no lowering to CPU code"); });
}

LogicalResult penstock::conversion::emitScalarOp(const Site &site, Operation &op) {
  auto [ctx, b, l, m] = site.parts();
  auto set = [&](Value result, LaneValue value) {
    ctx.scalars[result] = value;
    return success();
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](ConstantOp c) { return set(c, l.constant(llvm::cast<TypedAttr>(c.getValue()))); })
      .Case([&](UnaryOp u) { return set(u, l.unary(u.getKind(), scalarOf(site, u.getValue()))); })
      .Case([&](BinaryOp o) {
        return set(o,
                   l.binary(o.getKind(), scalarOf(site, o.getLhs()), scalarOf(site, o.getRhs())));
      })
      .Case([&](CompareOp c) {
        return set(
            c, l.compare(c.getPredicate(), scalarOf(site, c.getLhs()), scalarOf(site, c.getRhs())));
      })
      .Case([&](SelectOp s) {
        return set(s, l.select(scalarOf(site, s.getCondition()), scalarOf(site, s.getOnTrue()),
                               scalarOf(site, s.getOnFalse())));
      })
      .Case([&](CastOp c) {
        return set(c, l.cast(c.getMode(), scalarOf(site, c.getValue()), c.getType()));
      })
      .Case([&](LoadOp load) { return set(load, emitLoad(site, load)); })
      .Case([&](EntryOp slot) {
        return set(slot, scalarFromSlot(site, slotAddress(site, slot.getIndex()), slot.getType()));
      })
      .Case([&](SetEntryOp slot) {
        LaneValue value = scalarOf(site, slot.getValue());
        const bool isFloat = llvm::isa<FloatType>(value.type);
        value = l.cast(CastMode::value, value, isFloat ? Type(b.getF64Type()) : b.getI64Type());
        m.storePlain(value.value, slotAddress(site, slot.getIndex()));
        return success();
      })
      .Case([&](ExtentOp e) {
        return set(
            e,
            l.wrap(
                extent(site, e.getTensor(),
                       llvm::cast<NamedTensorType>(e.getTensor().getType()).axisIndex(e.getAxis())),
                b.getI64Type()));
      })
      .Case([&](ContextOp c) {
        const int64_t slot = c.getKind() == ContextKind::slot ? PST_ENTRY_SLOT : PST_ENTRY_COUNT;
        return set(c, l.wrap(m.loadPlain(b.getI64Type(), slotAddress(site, slot)), b.getI64Type()));
      })
      .Case<KeyOp, KeyViewOp, KeyNumbersOp, KeyOfOp, KeyMixOp, DrawOp>(
          [&](auto) { return emitRandomOp(site, op); })
      .Case([&](TapsOp t) {
        emitTaps(site, t);
        return success();
      })
      .Case([&](CheckOp c) {
        emitCheck(site, c);
        return success();
      })
      .Case([&](ChooseOp c) {
        emitChoose(site, c);
        return success();
      })
      .Case([&](RepeatOp r) {
        emitRepeat(site, r);
        return success();
      })
      .Case([&](SearchOp s) {
        emitSearch(site, s);
        return success();
      })
      .Default([&](Operation *) { return op.emitError("has no lowering to CPU code"); });
}

/// min(in, ceil(2 support max(in / out, 1) + slack)), in the order of stdlib/reference
static void emitTaps(const Site &site, TapsOp op) {
  auto [ctx, b, l, m] = site.parts();
  Value in = scalarOf(site, op.getIn()).value, out = scalarOf(site, op.getOut()).value;
  if (op.getFilter() == Filter::nearest) {
    ctx.scalars[op] = l.wrap(l.i64(1), b.getI64Type());
    return;
  }
  Value scale = l.f64(1.0);
  if (op.getAntialias()) {
    Value ratio =
        b.create<arith::DivFOp>(l.loc, b.create<arith::SIToFPOp>(l.loc, b.getF64Type(), in),
                                b.create<arith::SIToFPOp>(l.loc, b.getF64Type(), out));
    scale = l.pick(b.create<arith::CmpFOp>(l.loc, arith::CmpFPredicate::OGT, ratio, scale), ratio,
                   scale);
  }
  Value support = b.create<arith::MulFOp>(l.loc, l.f64(filterSupport(op.getFilter())), scale);
  Value width = b.create<arith::AddFOp>(l.loc, support, support);
  Value slack = b.create<arith::MulFOp>(
      l.loc, b.create<arith::SIToFPOp>(l.loc, b.getF64Type(), l.add(in, l.i64(1))),
      l.f64(penstock::scalar::tapSlack));
  LaneValue ceiling =
      l.unary(UnaryKind::ceil,
              l.wrap(b.create<arith::AddFOp>(l.loc, width, slack).getResult(), b.getF64Type()));
  Value taps = l.cast(CastMode::value, ceiling, b.getI64Type()).value;
  ctx.scalars[op] = l.wrap(l.minS(in, taps), b.getI64Type());
}

/// At the top of a kernel a failed check returns at once. Inside a branch it is
/// remembered, and the first one is returned when the branch is left: nothing
/// there can go wrong in the meantime, everything is total.
static void emitCheck(const Site &site, CheckOp op) {
  auto [ctx, b, l, m] = site.parts();
  const int64_t id = ctx.nextCheck++;
  ctx.checks.push_back(keptCheck(op));
  Value holds = scalarOf(site, op.getCondition()).value;
  Value first = scalarOf(site, op.getFirst()).value, second = scalarOf(site, op.getSecond()).value;
  Block *here = b.getInsertionBlock();
  if (here->getParentOp() == ctx.function) {
    Block *next = ctx.function.addBlock();
    b.create<cf::CondBranchOp>(l.loc, holds, next, ValueRange{}, ctx.exit,
                               ValueRange{l.i32(static_cast<int32_t>(id)), first, second});
    b.setInsertionPointToStart(next);
    return;
  }
  if (!ctx.failureState) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&ctx.function.getBody().front());
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    ctx.failureState = b.create<LLVM::AllocaOp>(l.loc, pointer, b.getI64Type(), l.i64(3), 8);
    m.storePlain(l.i64(0), ctx.failureState);
  }
  Value none = l.cmp(CmpIPredicate::eq, m.loadPlain(b.getI64Type(), ctx.failureState), l.i64(0));
  Value failed = l.xorInt(holds, l.integerLike(holds, 1));
  auto branchOp = b.create<scf::IfOp>(l.loc, l.andInt(none, failed), false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branchOp.thenBlock());
  m.storePlain(l.i64(id), ctx.failureState);
  m.storePlain(first, m.address(ctx.failureState, l.i64(8)));
  m.storePlain(second, m.address(ctx.failureState, l.i64(16)));
}
