// SPDX-License-Identifier: Apache-2.0
//
// Strips: neighbours along a row that a thread makes one after the other.
//
// Their inputs in memory are loaded first, together, and their results are stored together at the
// end: both in accesses of 16 bytes. In between each is made in a turn of one loop, so that code
// and text do not grow with the strip. Strips begin where a row of the output has a boundary of 16
// bytes; what is before the first and behind the last is made element by element, in a nest of its
// own.
#include "compiler/Conversion/KernelToGpu/GpuStrips.h"
#include "compiler/Conversion/KernelToGpu/GpuBoxes.h"
#include "compiler/Conversion/KernelToGpu/GpuElements.h"
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "compiler/Conversion/KernelToGpu/GpuScalars.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

int64_t penstock::conversion::stripAxisOf(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  auto along = op ? op->getAttrOfType<StringAttr>("along") : StringAttr();
  return along ? typeOf(tensor).axisIndex(along) : -1;
}

/// Of how many elements along a strip of `count` there is code.
static int64_t unrolledOf(Value tensor, int64_t count) {
  auto few = tensor.getDefiningOp()->getAttrOfType<IntegerAttr>("unrolled");
  return few ? few.getInt() : count;
}

//===--- choices -----------------------------------------------------------===//

Value penstock::conversion::armOf(const GpuSite &site, Operation *op,
                                  llvm::function_ref<Value()> index) {
  auto decided = site.ctx.arms.find(op);
  return decided == site.ctx.arms.end() ? index() : site.x.constant(decided->second);
}

namespace {
struct Choice {
  Operation *op = nullptr;
  Value index;
  int64_t count = 0;
};
} // namespace

/// A choice or stack that is read and not decided yet, and is the same for all of the strip.
static Choice openChoice(const GpuSite &site, const StripReading &reading) {
  Operation *op = reading.tensor.getDefiningOp();
  if (op && reading.along >= 0 && !site.ctx.arms.contains(op)) {
    if (auto choose = llvm::dyn_cast<ChooseOp>(op))
      return {op, asIndex(site, choose.getIndex()), static_cast<int64_t>(choose.getArms().size())};
    if (auto stack = llvm::dyn_cast<StackOp>(op);
        stack && reading.along > 0 && reading.counts[0] == 1)
      return {op, reading.at[0], static_cast<int64_t>(stack.getInputs().size())};
  }
  for (const StripReading &inner :
       readingsBehind(site, reading).value_or(SmallVector<StripReading>()))
    if (Choice found = openChoice(site, inner); found.op)
      return found;
  return {};
}

//===--- a strip -----------------------------------------------------------===//

/// An array in registers for the elements of a box.
static GpuBuffer arrayOf(const GpuSite &site, Value tensor, GpuIndices at,
                         ArrayRef<int64_t> counts) {
  auto [ctx, b, x, s] = site.parts();
  Type type = typeOf(tensor).getElementType();
  auto array = b.create<memref::AllocaOp>(site.loc, MemRefType::get({product(counts)}, type));
  setInRegisters(array);
  GpuBuffer made;
  made.memory = array;
  made.inRegisters = true;
  made.origin.assign(at.begin(), at.end());
  made.strides.resize(counts.size());
  int64_t stride = 1;
  for (size_t axis = counts.size(); axis-- > 0; stride *= counts[axis])
    made.strides[axis] = x.constant(stride);
  return made;
}

/// Makes the box from `at` on of rows in registers, one element along the strip after the other:
/// there is code for all.
static void makeElements(const GpuSite &site, Value tensor, const GpuBuffers &rows,
                         const GpuBuffer &made, GpuIndices at, ArrayRef<int64_t> counts,
                         int64_t along) {
  auto [ctx, b, x, s] = site.parts();
  GpuSite inLoop = site;
  inLoop.tile = &rows;
  SmallVector<int64_t> one(counts);
  one[along] = 1;
  auto turns =
      b.create<scf::ForOp>(site.loc, x.constant(0), x.constant(counts[along]), x.constant(1));
  setUnrolled(turns);
  OpBuilder::InsertionGuard guard(b);
  IndexMath::Scope scope(x);
  b.setInsertionPoint(turns.getBody()->getTerminator());
  SmallVector<Value> there(at);
  there[along] = x.add(at[along], turns.getInductionVar());
  save(inLoop, elements(inLoop, tensor, there, one), made, there, one);
}

/// Calls `body` in `turns` turns of a loop, each for the next `unrolled` elements along the strip,
/// from `begin` on: those are always the first ones of `rows`, and become the last ones of `made`,
/// so that places in registers are known.
static void
inTurns(const GpuSite &site, const GpuBuffers &rows, GpuBuffer made, Value begin, int64_t turns,
        int64_t along, int64_t unrolled,
        llvm::function_ref<void(const GpuBuffers &from, const GpuBuffer &into, Value begin)> body) {
  auto [ctx, b, x, s] = site.parts();
  llvm::MapVector<Value, int64_t> arrays; // elements of a turn
  for (auto array : b.getInsertionBlock()->getOps<memref::AllocaOp>())
    for (const auto &[tensor, row] : rows)
      if (row.memory == array.getResult())
        for (auto [stride, origin] : llvm::zip(row.strides, row.origin))
          if (origin)
            arrays[array] = unrolled * *IndexMath::constantOf(stride);
  auto next = [&](Value array, int64_t many) {
    call(site, "pst_next<" + std::to_string(many) + ">", {}, {array});
  };
  auto loop = b.create<scf::ForOp>(site.loc, x.constant(0), x.constant(turns), x.constant(1));
  setUnrolled(loop, 1);
  OpBuilder::InsertionGuard guard(b);
  IndexMath::Scope scope(x);
  b.setInsertionPoint(loop.getBody()->getTerminator());
  Value there = x.add(begin, x.mul(loop.getInductionVar(), x.constant(unrolled)));
  GpuBuffers from = rows;
  for (auto &[tensor, row] : from)
    for (Value &origin : row.origin)
      origin = origin ? there : origin;
  made.origin[along] = there;
  const int64_t stride = *IndexMath::constantOf(made.strides[along]);
  made.before = (turns - 1) * unrolled * stride;
  next(made.memory, unrolled * stride);
  body(from, made, there);
  for (auto [array, many] : arrays)
    next(array, many);
}

/// Makes the box from `at` on, in registers, and stores it. Code for each arm of what is chosen.
static void makeStrip(const GpuSite &site, Value tensor, const GpuBuffer &to, GpuIndices at,
                      ArrayRef<int64_t> counts, int64_t along) {
  auto [ctx, b, x, s] = site.parts();
  const StripReading reading{tensor, SmallVector<Value>(at), SmallVector<int64_t>(counts), along};
  if (Choice choice = openChoice(site, reading); choice.op) {
    GpuContext &context = ctx;
    oneOf(site, choice.index, choice.count, {}, [&](int64_t arm) {
      context.arms[choice.op] = arm;
      makeStrip(site, tensor, to, at, counts, along);
      context.arms.erase(choice.op);
      return SmallVector<Value>();
    });
    return;
  }
  GpuBuffers rows = loadRows(site, reading);
  GpuBuffer made = arrayOf(site, tensor, at, counts);
  const int64_t unrolled = unrolledOf(tensor, counts[along]);
  if (unrolled == counts[along])
    makeElements(site, tensor, rows, made, at, counts, along);
  else
    inTurns(site, rows, made, at[along], counts[along] / unrolled, along, unrolled,
            [&](const GpuBuffers &from, const GpuBuffer &into, Value begin) {
              SmallVector<Value> there(at);
              SmallVector<int64_t> few(counts);
              there[along] = begin;
              few[along] = unrolled;
              makeElements(site, tensor, from, into, there, few, along);
            });
  const int64_t run = runLength(to.strides, counts);
  int64_t number = 0;
  forEachPlace(counts, [&](ArrayRef<int64_t> place) {
    if (number % run == 0)
      call(site, "pst_put_row<" + std::to_string(run) + ">", {},
           {to.memory, elementOffset(site, to, moved(site, at, place)), made.memory,
            x.constant(number)});
    ++number;
  });
}

//===--- all strips of a value ---------------------------------------------===//

namespace {
/// A value that is made in strips.
struct Strips {
  Value tensor;
  const GpuBuffer &to;
  int64_t along;
  SmallVector<int64_t> counts;
  std::string unit; ///< template arguments: elements of a pixel, pixels of a strip
};
} // namespace

/// A nest over all axes but those whose elements a thread makes all of; `along` has `count` turns.
static void overStrips(const GpuSite &site, const Strips &strips, ArrayRef<int64_t> counts,
                       Value count, llvm::function_ref<void(SmallVector<Value>)> body) {
  auto [ctx, b, x, s] = site.parts();
  NamedTensorType type = typeOf(strips.tensor);
  SmallVector<std::string> names;
  SmallVector<Value> extents;
  SmallVector<int64_t> axes;
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    const Axis &a = type.getAxes()[axis];
    if ((axis == 0 && ctx.part) ||
        (axis != strips.along && counts[axis] > 1 && a.extent == counts[axis]))
      continue;
    axes.push_back(axis);
    names.push_back(a.name);
    extents.push_back(axis == strips.along ? count
                      : counts[axis] == 1  ? extent(site, strips.tensor, axis)
                                           : x.constant(a.extent / counts[axis]));
  }
  const IndexMath &math = x;
  nest(site, names, extents, "threads", [&](GpuIndices numbers) {
    SmallVector<Value> at(type.getRank(), math.constant(0));
    if (ctx.part)
      at[0] = ctx.part;
    for (auto [axis, number] : llvm::zip(axes, numbers))
      at[axis] = axis == strips.along ? number : math.mul(number, math.constant(counts[axis]));
    body(std::move(at));
  });
}

/// Where the first strip of a row begins: at a boundary of 16 bytes. Rows that a strip makes
/// together have it at the same place.
static Value headOf(const GpuSite &site, const Strips &strips, GpuIndices at) {
  auto [ctx, b, x, s] = site.parts();
  SmallVector<Value> row(at);
  for (auto [axis, count] : llvm::enumerate(strips.counts))
    if (count > 1)
      row[axis] = x.constant(0);
  return call(site, "pst_head" + strips.unit, b.getIndexType(),
              {strips.to.memory, elementOffset(site, strips.to, row)});
}

/// Returns whether all rows lie words apart: what holds of the first one's boundaries holds of all.
static bool areAlike(const Strips &strips) {
  const int64_t bytes = scalarBytes(typeOf(strips.tensor).getElementType());
  return llvm::all_of(llvm::enumerate(strips.counts), [&](auto axis) {
    const auto stride = IndexMath::constantOf(strips.to.strides[axis.index()]);
    return axis.value() > 1 || (stride && *stride * bytes % 16 == 0);
  });
}

bool penstock::conversion::fillStrips(const GpuSite &site, Value tensor, const GpuBuffer &to) {
  auto [ctx, b, x, s] = site.parts();
  const int64_t along = stripAxisOf(tensor);
  if (along < 0)
    return false;
  const int64_t rank = typeOf(tensor).getRank();
  Strips strips{tensor, to, along, vectorOf(tensor), {}};
  const int64_t length = strips.counts[along];
  int64_t group = 1;
  for (int64_t axis = along + 1; axis < rank; ++axis)
    group *= strips.counts[axis];
  if (IndexMath::constantOf(to.strides[along]) != group)
    return false;
  strips.unit = "<" + std::to_string(group) + ", " + std::to_string(length) + ">";
  const std::string unit = "<" + std::to_string(length) + ">";
  Value size = extent(site, tensor, along), head, ends = x.constant(2 * (length - 1));
  if (areAlike(strips)) {
    head = headOf(site, strips, SmallVector<Value>(rank, x.constant(0)));
    ends = call(site, "pst_ends" + unit, b.getIndexType(), {head, size});
  }
  const IndexMath &math = x;
  overStrips(site, strips, strips.counts, x.floorDiv(size, x.constant(length)),
             [&](SmallVector<Value> at) {
               Value begin = math.add(head ? head : headOf(site, strips, at),
                                      math.mul(at[along], math.constant(length)));
               Value end = math.add(begin, math.constant(length));
               when(site, math.compare(arith::CmpIPredicate::sle, end, size), [&] {
                 at[along] = begin;
                 makeStrip(site, tensor, to, at, strips.counts, along);
               });
             });
  const SmallVector<int64_t> single(rank, 1);
  overStrips(site, strips, single, ends, [&](SmallVector<Value> at) {
    at[along] = call(site, "pst_loose" + unit, site.ctx.b.getIndexType(),
                     {at[along], head ? head : headOf(site, strips, at), size});
    when(site, math.compare(arith::CmpIPredicate::slt, at[along], size),
         [&] { save(site, element(site, tensor, at), to, at); });
  });
  return true;
}
