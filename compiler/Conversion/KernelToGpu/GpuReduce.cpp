// SPDX-License-Identifier: Apache-2.0
//
// Reductions, scans, counts, matrix products, orders.
//
// Float sums have one order: element i belongs to lane i mod 32, and the 32
// partial sums meet in a tree. A warp has 32 lanes and does it as it stands;
// where there is little to add, one thread keeps the 32 sums.
#include "compiler/Conversion/KernelToGpu/GpuEmitter.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
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

namespace {
/// The axes of a value that are reduced and those that stay, by position.
struct Split {
  SmallVector<int64_t> over, stay;
  Split(NamedTensorType type, ArrayAttr names) {
    for (int64_t axis = 0; axis < type.getRank(); ++axis) {
      const bool reduced = llvm::any_of(names.getAsRange<StringAttr>(), [&](StringAttr name) {
        return name.strref() == type.getAxes()[axis].name;
      });
      (reduced ? over : stay).push_back(axis);
    }
  }
};
} // namespace

//===--- one run of elements -----------------------------------------------===//

Value GpuEmitter::combined(ReduceKind kind, Value a, Value c) {
  switch (kind) {
  case ReduceKind::min:
    return binary(BinaryKind::min, a, c);
  case ReduceKind::max:
    return binary(BinaryKind::max, a, c);
  case ReduceKind::any:
    return binary(BinaryKind::bit_or, a, c);
  case ReduceKind::all:
    return binary(BinaryKind::bit_and, a, c);
  default:
    return binary(BinaryKind::add, a, c);
  }
}

Value GpuEmitter::startOf(ReduceKind kind, Type type) {
  if (kind == ReduceKind::min || kind == ReduceKind::max)
    return constant(identity(type, kind == ReduceKind::min), type);
  if (kind == ReduceKind::all)
    return constant(IntegerAttr::get(type, APInt(1, 1)), type);
  return zeroOf(type);
}

Value GpuEmitter::shuffled(Value value, int64_t distance) {
  return call("pst_shuffle_down", value.getType(),
              {value, b.create<arith::ConstantIntOp>(loc, distance, 32)});
}

/// 32 interleaved partial sums by one thread.
Value GpuEmitter::laneSum(Type type, Value count, llvm::function_ref<Value(Value)> at) {
  Buffer lanes{b.create<memref::AllocaOp>(loc, MemRefType::get({warpLanes}, type)),
               {x.constant(1)}};
  loop(x.constant(0), x.constant(warpLanes), 1, {}, [&](Value lane, ValueRange) {
    save(zeroOf(type), lanes, lane);
    return SmallVector<Value>();
  });
  loop(x.constant(0), count, 1, {}, [&](Value i, ValueRange) {
    Value lane = b.create<arith::RemUIOp>(loc, i, x.constant(warpLanes));
    save(binary(BinaryKind::add, load(lanes, lane), at(i)), lanes, lane);
    return SmallVector<Value>();
  });
  return call("pst_tree", type, lanes.memory);
}

/// The best element's number from `first` on, or -1, and the element.
std::pair<Value, Value> GpuEmitter::bestOf(ReduceKind kind, Type type, Value first, Value count,
                                           int64_t step, llvm::function_ref<Value(Value)> at) {
  Value none = constant(b.getI64IntegerAttr(-1), b.getI64Type());
  auto found = loop(first, count, step, {none, zeroOf(type)}, [&](Value i, ValueRange sofar) {
    Value value = at(i);
    Value isFirst = b.create<CompareOp>(loc, Predicate::lt, sofar[0], zeroOf(b.getI64Type()));
    Value better = kind == ReduceKind::argmin ? call("pst_less", b.getI1Type(), {value, sofar[1]})
                                              : call("pst_less", b.getI1Type(), {sofar[1], value});
    Value take = binary(BinaryKind::bit_or, isFirst, better);
    Value isNumber = b.create<CompareOp>(loc, Predicate::eq, value, value);
    take = binary(BinaryKind::bit_and, take, isNumber);
    return SmallVector<Value>{b.create<SelectOp>(loc, take, x.toI64(i), sofar[0]),
                              b.create<SelectOp>(loc, take, value, sofar[1])};
  });
  return {found[0], found[1]};
}

/// Of equal elements the one with the lower number.
std::pair<Value, Value> GpuEmitter::better(ReduceKind kind, std::pair<Value, Value> a,
                                           std::pair<Value, Value> c) {
  const bool smallest = kind == ReduceKind::argmin;
  auto less = [&](Value p, Value q) {
    return call("pst_less", b.getI1Type(), {smallest ? p : q, smallest ? q : p});
  };
  auto compare = [&](Predicate predicate, Value p, Value q) {
    return b.create<CompareOp>(loc, predicate, p, q).getResult();
  };
  Value none = zeroOf(b.getI64Type());
  Value tied = binary(BinaryKind::bit_and,
                      b.create<UnaryOp>(loc, UnaryKind::bit_not, less(a.second, c.second)),
                      compare(Predicate::lt, c.first, a.first));
  Value take = binary(BinaryKind::bit_or, compare(Predicate::lt, a.first, none),
                      binary(BinaryKind::bit_or, less(c.second, a.second), tied));
  take = binary(BinaryKind::bit_and, compare(Predicate::ge, c.first, none), take);
  return {b.create<SelectOp>(loc, take, c.first, a.first),
          b.create<SelectOp>(loc, take, c.second, a.second)};
}

//===--- reduce ------------------------------------------------------------===//

static bool takesWarp(ReduceOp op) {
  return op->getAttr("schedule") == StringAttr::get(op->getContext(), "warps");
}

Value GpuEmitter::reduced(ReduceOp op, Indices outer) {
  NamedTensorType type = typeOf(op.getValue()), result = typeOf(op.getResult());
  const ReduceKind kind = op.getKind();
  const bool isArgument = kind == ReduceKind::argmin || kind == ReduceKind::argmax;
  const bool byWarp = takesWarp(op);
  const Split axes(type, op.getOver());
  SmallVector<Value> reduced;
  Value count = x.constant(1);
  for (int64_t axis : axes.over) {
    reduced.push_back(extent(op.getValue(), axis));
    count = x.mul(count, reduced.back());
  }
  Type computing =
      kind == ReduceKind::count ? Type(b.getI64Type()) : computeType(type.getElementType());
  // Element i of the run, row-major over the reduced axes.
  auto at = [&](Value i) {
    SmallVector<Value> index(type.getRank());
    for (auto [place, axis] : llvm::enumerate(axes.stay))
      index[axis] = outer[place];
    Value rest = i;
    for (size_t k = axes.over.size(); k-- > 0;) {
      index[axes.over[k]] =
          k == 0 ? rest : b.create<arith::RemUIOp>(loc, rest, reduced[k]).getResult();
      if (k > 0)
        rest = b.create<arith::DivUIOp>(loc, rest, reduced[k]);
    }
    return cast(element(op.getValue(), index), computing);
  };
  Value lane = byWarp ? b.create<gpu::LaneIdOp>(loc, IntegerAttr()).getResult() : x.constant(0);
  const int64_t step = byWarp ? warpLanes : 1;
  Value whole;
  if (isArgument) {
    auto best = bestOf(kind, computing, lane, count, step, at);
    for (int64_t distance = warpLanes / 2; byWarp && distance > 0; distance /= 2)
      best = better(kind, best, {shuffled(best.first, distance), shuffled(best.second, distance)});
    whole = binary(BinaryKind::max, best.first, zeroOf(b.getI64Type()));
  } else if (!byWarp && kind == ReduceKind::sum && llvm::isa<FloatType>(computing)) {
    whole = laneSum(computing, count, at);
  } else {
    whole = loop(lane, count, step, startOf(kind, computing), [&](Value i, ValueRange sofar) {
      return SmallVector<Value>{combined(kind, sofar[0], at(i))};
    })[0];
    for (int64_t distance = warpLanes / 2; byWarp && distance > 0; distance /= 2)
      whole = combined(kind, whole, shuffled(whole, distance));
  }
  return cast(whole, result.getElementType());
}

void GpuEmitter::reduce(ReduceOp op, const Buffer &to) {
  NamedTensorType type = typeOf(op.getValue());
  if (op.getOver().empty() && type.getElementType() == typeOf(op.getResult()).getElementType()) {
    buffers[op.getResult()] = to;
    return over(op.getValue(), [&](Indices at) { save(element(op.getValue(), at), to, at); });
  }
  const Split axes(type, op.getOver());
  SmallVector<Value> stay;
  SmallVector<std::string> names;
  for (int64_t axis : axes.stay) {
    stay.push_back(extent(op.getValue(), axis));
    names.push_back(type.getAxes()[axis].name);
  }
  nest(names, stay, takesWarp(op) ? "warps" : "threads", [&](Indices outer) {
    Value whole = reduced(op, outer);
    if (!takesWarp(op))
      return save(whole, to, outer);
    Value lane = b.create<gpu::LaneIdOp>(loc, IntegerAttr());
    when(x.compare(CmpIPredicate::eq, lane, x.constant(0)), [&] { save(whole, to, outer); });
  });
}

//===--- along an axis -----------------------------------------------------===//

void GpuEmitter::scan(ScanOp op, const Buffer &to) {
  NamedTensorType type = typeOf(op.getValue());
  const int64_t along = type.axisIndex(op.getAxis());
  Type computing = computeType(type.getElementType());
  SmallVector<std::string> names;
  SmallVector<Value> extents;
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    if (axis == along)
      continue;
    names.push_back(type.getAxes()[axis].name);
    extents.push_back(extent(op.getValue(), axis));
  }
  nest(names, extents, "threads", [&](Indices outer) {
    const bool isMax = op.getKind() == ScanKind::max;
    Value start = startOf(isMax ? ReduceKind::max : ReduceKind::sum, computing);
    Value factor;
    if (op.getKind() == ScanKind::recurrence)
      factor = cast(number(op.getFactor()), computing);
    loop(x.constant(0), extent(op.getValue(), along), 1, start, [&](Value i, ValueRange sofar) {
      SmallVector<Value> at(outer);
      at.insert(at.begin() + along, i);
      Value next = cast(element(op.getValue(), at), computing);
      Value sum = factor ? binary(BinaryKind::add, next, binary(BinaryKind::mul, factor, sofar[0]))
                         : combined(isMax ? ReduceKind::max : ReduceKind::sum, sofar[0], next);
      save(cast(sum, type.getElementType()), to, at);
      return SmallVector<Value>{sum};
    });
  });
}

void GpuEmitter::histogram(HistogramOp op, const Buffer &to) {
  NamedTensorType type = typeOf(op.getValue()), result = typeOf(op.getResult());
  const Split axes(type, op.getOver());
  Value bins = extent(op.getResult(), result.getRank() - 1);
  over(op.getResult(), [&](Indices at) { save(zeroOf(b.getI32Type()), to, at); });
  barrier();
  over(op.getValue(), [&](Indices at) {
    Value key = x.toIndex(cast(element(op.getValue(), at), b.getI64Type()));
    SmallVector<Value> bin;
    for (int64_t axis : axes.stay)
      bin.push_back(at[axis]);
    bin.push_back(key);
    when(x.inside(key, bins), [&] {
      b.create<memref::AtomicRMWOp>(loc, arith::AtomicRMWKind::addi,
                                    b.create<arith::ConstantIntOp>(loc, 1, 32), to.memory,
                                    place(to, bin));
    });
  });
}

void GpuEmitter::contract(ContractOp op, const Buffer &to) {
  NamedTensorType type = typeOf(op.getValue()), matrix = typeOf(op.getMatrix());
  const int64_t along = type.axisIndex(matrix.getAxes()[0].name);
  over(op.getResult(), [&](Indices at) {
    auto product = [&](Value i) {
      SmallVector<Value> from(at);
      from[along] = i;
      return binary(BinaryKind::mul, element(op.getValue(), from),
                    element(op.getMatrix(), {i, at[along]}));
    };
    save(laneSum(type.getElementType(), extent(op.getMatrix(), 0), product), to, at);
  });
}

/// Every element counts those that come before it: no thread waits for another.
void GpuEmitter::sort(SortOp op, const Buffer &to) {
  NamedTensorType type = typeOf(op.getValue());
  const int64_t along = type.axisIndex(op.getAxis());
  Type computing = computeType(type.getElementType());
  over(op.getValue(), [&](Indices at) {
    Value mine = cast(element(op.getValue(), at), computing);
    Value rank = loop(x.constant(0), extent(op.getValue(), along), 1, zeroOf(b.getI64Type()),
                      [&](Value i, ValueRange sofar) {
                        SmallVector<Value> from(at);
                        from[along] = i;
                        Value other = cast(element(op.getValue(), from), computing);
                        Value isEarlier = x.compare(CmpIPredicate::slt, i, at[along]);
                        Value before = call("pst_before", b.getI1Type(), {other, mine, isEarlier});
                        return SmallVector<Value>{
                            binary(BinaryKind::add, sofar[0], cast(before, b.getI64Type()))};
                      })[0];
    SmallVector<Value> place(at);
    place[along] = x.toIndex(rank);
    save(x.toI64(at[along]), to, place);
  });
}
