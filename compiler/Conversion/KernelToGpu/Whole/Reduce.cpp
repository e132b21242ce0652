// SPDX-License-Identifier: Apache-2.0
//
// Reductions.
//
// Float sums have one order: element i belongs to lane i mod 32, and the 32
// partial sums meet in a tree. A warp has 32 lanes and does it as it stands;
// where there is little to add, one thread keeps the 32 sums. What has no order
// and many elements is done by a block, whose warps meet in shared memory.
#include "compiler/Conversion/KernelToGpu/GpuElements.h"
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "compiler/Conversion/KernelToGpu/GpuScalars.h"
#include "compiler/Conversion/KernelToGpu/Whole/GpuReduce.h"
#include "compiler/Conversion/KernelToGpu/Whole/GpuWhole.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

/// The end of the range that `min` (or `max`) of nothing gives.
static TypedAttr identity(Type type, bool ofMin) {
  if (auto real = llvm::dyn_cast<FloatType>(type))
    return FloatAttr::get(type, APFloat::getInf(real.getFloatSemantics(), /*Negative=*/!ofMin));
  const unsigned width = type.getIntOrFloatBitWidth();
  if (isUnsigned(type))
    return IntegerAttr::get(type, ofMin ? APInt::getMaxValue(width) : APInt::getMinValue(width));
  return IntegerAttr::get(type, ofMin ? APInt::getSignedMaxValue(width)
                                      : APInt::getSignedMinValue(width));
}

//===--- one run of elements -----------------------------------------------===//

Value penstock::conversion::combined(const GpuSite &site, ReduceKind kind, Value a, Value c) {
  auto [ctx, b, x, s] = site.parts();
  switch (kind) {
  case ReduceKind::min:
    return s.binary(BinaryKind::min, a, c);
  case ReduceKind::max:
    return s.binary(BinaryKind::max, a, c);
  case ReduceKind::any:
    return s.binary(BinaryKind::bit_or, a, c);
  case ReduceKind::all:
    return s.binary(BinaryKind::bit_and, a, c);
  default:
    return s.binary(BinaryKind::add, a, c);
  }
}

Value penstock::conversion::startOf(const GpuSite &site, ReduceKind kind, Type type) {
  auto [ctx, b, x, s] = site.parts();
  if (kind == ReduceKind::min || kind == ReduceKind::max)
    return s.constant(identity(type, kind == ReduceKind::min), type);
  if (kind == ReduceKind::all)
    return s.constant(IntegerAttr::get(type, APInt(1, 1)), type);
  return s.zero(type);
}

/// Returns the start of a minimum or maximum of `count` elements: any number replaces a NaN.
Value penstock::conversion::startOf(const GpuSite &site, ReduceKind kind, Type type, Value count) {
  auto [ctx, b, x, s] = site.parts();
  Value start = startOf(site, kind, type);
  if ((kind != ReduceKind::min && kind != ReduceKind::max) || !llvm::isa<FloatType>(type))
    return start;
  Value nan = s.constant(
      FloatAttr::get(type, APFloat::getNaN(llvm::cast<FloatType>(type).getFloatSemantics())), type);
  return s.select(x.compare(CmpIPredicate::sgt, count, x.constant(0)), nan, start);
}

static Value shuffled(const GpuSite &site, Value value, int64_t distance) {
  auto [ctx, b, x, s] = site.parts();
  return call(site, "pst_shuffle_down", value.getType(),
              {value, b.create<arith::ConstantIntOp>(site.loc, distance, 32)});
}

Value penstock::conversion::laneSum(const GpuSite &site, Type type, Value count,
                                    llvm::function_ref<Value(Value)> at) {
  auto [ctx, b, x, s] = site.parts();
  GpuBuffer lanes{b.create<memref::AllocaOp>(site.loc, MemRefType::get({warpLanes}, type)),
                  {x.constant(1)}};
  loop(site, x.constant(0), x.constant(warpLanes), 1, {}, [&](Value lane, ValueRange) {
    save(site, s.zero(type), lanes, lane);
    return SmallVector<Value>();
  });
  loop(site, x.constant(0), count, 1, {}, [&](Value i, ValueRange) {
    Value lane = b.create<arith::RemUIOp>(site.loc, i, x.constant(warpLanes));
    save(site, s.binary(BinaryKind::add, load(site, lanes, lane), at(i)), lanes, lane);
    return SmallVector<Value>();
  });
  return call(site, "pst_tree", type, lanes.memory);
}

std::pair<Value, Value> penstock::conversion::bestOf(const GpuSite &site, ReduceKind kind,
                                                     Type type, Value first, Value count,
                                                     int64_t step,
                                                     llvm::function_ref<Value(Value)> at) {
  auto [ctx, b, x, s] = site.parts();
  Value none = s.constant(b.getI64IntegerAttr(-1), b.getI64Type());
  auto found = loop(site, first, count, step, {none, s.zero(type)}, [&](Value i, ValueRange sofar) {
    Value value = at(i);
    Value isFirst = s.compare(Predicate::lt, sofar[0], s.zero(b.getI64Type()));
    Value better = kind == ReduceKind::argmin
                       ? call(site, "pst_less", b.getI1Type(), {value, sofar[1]})
                       : call(site, "pst_less", b.getI1Type(), {sofar[1], value});
    Value take = s.binary(BinaryKind::bit_or, isFirst, better);
    Value isNumber = s.compare(Predicate::eq, value, value);
    take = s.binary(BinaryKind::bit_and, take, isNumber);
    return SmallVector<Value>{s.select(take, x.toI64(i), sofar[0]),
                              s.select(take, value, sofar[1])};
  });
  return {found[0], found[1]};
}

/// Of equal elements the one with the lower number.
static std::pair<Value, Value> better(const GpuSite &site, ReduceKind kind,
                                      std::pair<Value, Value> a, std::pair<Value, Value> c) {
  auto [ctx, b, x, s] = site.parts();
  const bool smallest = kind == ReduceKind::argmin;
  auto less = [&](Value p, Value q) {
    return call(site, "pst_less", b.getI1Type(), {smallest ? p : q, smallest ? q : p});
  };
  auto compare = [&](Predicate predicate, Value p, Value q) { return s.compare(predicate, p, q); };
  Value none = s.zero(b.getI64Type());
  Value tied = s.binary(BinaryKind::bit_and, s.unary(UnaryKind::bit_not, less(a.second, c.second)),
                        compare(Predicate::lt, c.first, a.first));
  Value take = s.binary(BinaryKind::bit_or, compare(Predicate::lt, a.first, none),
                        s.binary(BinaryKind::bit_or, less(c.second, a.second), tied));
  take = s.binary(BinaryKind::bit_and, compare(Predicate::ge, c.first, none), take);
  return {s.select(take, c.first, a.first), s.select(take, c.second, a.second)};
}

//===--- reduce ------------------------------------------------------------===//

/// "threads", "warps" or "block"; nothing where it is computed where it is read.
static StringRef workersOf(ReduceOp op) {
  auto schedule = op->getAttrOfType<StringAttr>("schedule");
  return schedule ? schedule.getValue() : StringRef();
}

/// Turns of a loop whose loads are on their way together.
static constexpr int64_t turnsTogether = 4;

/// Combines what the warps of a block have found, for its first thread: nothing for others.
static Value metInBlock(const GpuSite &site, ReduceKind kind, Value whole, Value thread) {
  auto [ctx, b, x, s] = site.parts();
  const int64_t warps = ctx.launch.threads / warpLanes, bytes = scalarBytes(whole.getType());
  constexpr int64_t alignment = 16;
  const int64_t at = llvm::alignTo(ctx.launch.shared.value_or(0), alignment);
  ctx.launch.shared = at + warps * bytes;
  auto space = gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  auto memory = [&](Type type) {
    return MemRefType::get({ShapedType::kDynamic}, type, MemRefLayoutAttrInterface(), space);
  };
  Value shared = b.create<gpu::DynamicSharedMemoryOp>(site.loc, memory(b.getI8Type()));
  GpuBuffer partial{b.create<memref::ViewOp>(site.loc, memory(whole.getType()), shared,
                                             x.constant(at), x.constant(warps)),
                    {x.constant(1)}};
  auto quotient = [&](int64_t by) {
    return b.createOrFold<arith::DivUIOp>(site.loc, thread, x.constant(by));
  };
  Value lane = b.createOrFold<arith::RemUIOp>(site.loc, thread, x.constant(warpLanes));
  when(site, x.compare(CmpIPredicate::eq, lane, x.constant(0)),
       [&] { save(site, whole, partial, quotient(warpLanes)); });
  barrier(site); // for the first thread, which reads them
  Value isFirst = x.compare(CmpIPredicate::eq, thread, x.constant(0));
  Value met = branch(
      site, isFirst, whole.getType(),
      [&] {
        return loop(site, x.constant(1), x.constant(warps), 1, load(site, partial, x.constant(0)),
                    [&](Value warp, ValueRange sofar) {
                      return SmallVector<Value>{
                          combined(site, kind, sofar[0], load(site, partial, warp))};
                    })[0];
      },
      [&] { return whole; });
  barrier(site); // the next result's go there, too
  return met;
}

Value penstock::conversion::reduced(const GpuSite &site, ReduceOp op, GpuIndices outer) {
  auto [ctx, b, x, s] = site.parts();
  NamedTensorType type = typeOf(op.getValue()), result = typeOf(op.getResult());
  const ReduceKind kind = op.getKind();
  const bool isArgument = kind == ReduceKind::argmin || kind == ReduceKind::argmax;
  const bool byBlock = workersOf(op) == "block", byWarp = byBlock || workersOf(op) == "warps";
  const ReducedAxes axes(op);
  SmallVector<Value> reduced;
  Value count = x.constant(1);
  for (int64_t axis : axes.over) {
    reduced.push_back(extent(site, op.getValue(), axis));
    count = x.mul(count, reduced.back());
  }
  Type computing =
      kind == ReduceKind::count ? Type(b.getI64Type()) : computeType(type.getElementType());
  // Element i of the run, row-major over the reduced axes.
  auto at = [&](Value i) {
    SmallVector<Value> index(type.getRank());
    for (auto [place, axis] : llvm::enumerate(axes.kept))
      index[axis] = outer[place];
    Value rest = i;
    for (size_t k = axes.over.size(); k-- > 0;) {
      index[axes.over[k]] =
          k == 0 ? rest : b.create<arith::RemUIOp>(site.loc, rest, reduced[k]).getResult();
      if (k > 0)
        rest = b.create<arith::DivUIOp>(site.loc, rest, reduced[k]);
    }
    return s.cast(element(site, op.getValue(), index), computing);
  };
  Value lane = byBlock  ? b.create<gpu::ThreadIdOp>(site.loc, gpu::Dimension::x).getResult()
               : byWarp ? b.create<gpu::LaneIdOp>(site.loc, IntegerAttr()).getResult()
                        : x.constant(0);
  const int64_t step = byBlock ? ctx.launch.threads : byWarp ? warpLanes : 1;
  Value whole;
  if (isArgument) {
    auto best = bestOf(site, kind, computing, lane, count, step, at);
    for (int64_t distance = warpLanes / 2; byWarp && distance > 0; distance /= 2)
      best = better(site, kind, best,
                    {shuffled(site, best.first, distance), shuffled(site, best.second, distance)});
    whole = s.binary(BinaryKind::max, best.first, s.zero(b.getI64Type()));
  } else if (!byWarp && kind == ReduceKind::sum && llvm::isa<FloatType>(computing)) {
    whole = laneSum(site, computing, count, at);
  } else {
    whole = loop(site, lane, count, step, startOf(site, kind, computing, count),
                 [&](Value i, ValueRange sofar) {
                   return SmallVector<Value>{combined(site, kind, sofar[0], at(i))};
                 })[0];
    if (byWarp)
      setUnrolled(whole.getDefiningOp<scf::ForOp>(), turnsTogether);
    for (int64_t distance = warpLanes / 2; byWarp && distance > 0; distance /= 2)
      whole = combined(site, kind, whole, shuffled(site, whole, distance));
    if (byBlock)
      whole = metInBlock(site, kind, whole, lane);
  }
  return s.cast(whole, result.getElementType());
}

static void reduce(const GpuSite &site, ReduceOp op, const GpuBuffer &to) {
  auto [ctx, b, x, s] = site.parts();
  NamedTensorType type = typeOf(op.getValue());
  if (op.getOver().empty() && type.getElementType() == typeOf(op.getResult()).getElementType()) {
    ctx.buffers[op.getResult()] = to;
    return over(site, op.getValue(),
                [&](GpuIndices at) { save(site, element(site, op.getValue(), at), to, at); });
  }
  const ReducedAxes axes(op);
  SmallVector<Value> stay;
  SmallVector<std::string> names;
  for (int64_t axis : axes.kept) {
    stay.push_back(extent(site, op.getValue(), axis));
    names.push_back(type.getAxes()[axis].name);
  }
  const bool byBlock = workersOf(op) == "block", byWarp = workersOf(op) == "warps";
  nest(site, names, stay,
       byBlock  ? "blocks"
       : byWarp ? "warps"
                : "threads",
       [&](GpuIndices outer) {
         Value whole = reduced(site, op, outer);
         if (!byBlock && !byWarp)
           return save(site, whole, to, outer);
         Value lane = byBlock ? b.create<gpu::ThreadIdOp>(site.loc, gpu::Dimension::x).getResult()
                              : b.create<gpu::LaneIdOp>(site.loc, IntegerAttr()).getResult();
         when(site, x.compare(CmpIPredicate::eq, lane, x.constant(0)),
              [&] { save(site, whole, to, outer); });
       });
}

namespace penstock::conversion {
void registerReduce(GpuWholeOps &all) { all.add<ReduceOp>(reduce); }
} // namespace penstock::conversion
