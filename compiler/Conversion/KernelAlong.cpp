//===- KernelAlong.cpp - scans and contractions ------------------------------===//

#include "compiler/Conversion/KernelEmitter.h"
#include "compiler/Conversion/Reduction.h"
#include "runtime/abi/scalar.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

LogicalResult KernelEmitter::emitScan(ScanOp op) {
  NamedTensorType type = typeOf(op.getResult());
  Type element = computeType(type.getElementType());
  auto buffer = bufferFor(op.getResult());
  if (failed(buffer))
    return failure();
  const int64_t axis = type.axisIndex(op.getAxis());
  SmallVector<Value> others;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (i != axis)
      others.push_back(extent(op.getValue(), i));
  LaneValue factor;
  if (op.getFactor())
    factor = l.cast(CastMode::value, scalar(op.getFactor()), element);
  const ReduceKind start = op.getKind() == ScanKind::max ? ReduceKind::max : ReduceKind::sum;
  carriedNest(b, l, others, {}, [&](ArrayRef<Value> where, ValueRange) {
    OpBuilder::InsertionGuard guard(b);
    auto loop = openLoop(b, l, l.i64(0), extent(op.getValue(), axis), 1, neutral(l, start, element).value);
    SmallVector<Index> at;
    for (int64_t i = 0, other = 0; i < type.getRank(); ++i)
      at.push_back(m.uniform(i == axis ? loop.getInductionVar() : where[other++]));
    LaneValue value = l.cast(CastMode::value, emit(op.getValue(), at), element);
    LaneValue sofar = l.wrap(loop.getRegionIterArg(0), element);
    if (op.getKind() == ScanKind::recurrence)
      value = l.binary(BinaryKind::add, value, l.binary(BinaryKind::mul, factor, sofar));
    else
      value = l.binary(op.getKind() == ScanKind::max ? BinaryKind::max : BinaryKind::add, sofar, value);
    m.store(*buffer, at, l.cast(CastMode::value, value, type.getElementType()));
    b.create<scf::YieldOp>(l.loc, value.value);
    return SmallVector<Value>{};
  });
  return success();
}

/// Lanes lie along the new axis, where a row of the matrix is a run of elements:
/// each of the 32 partial sums is a vector.
LogicalResult KernelEmitter::emitContract(ContractOp op) {
  NamedTensorType in = typeOf(op.getValue()), out = typeOf(op.getResult()), matrix = typeOf(op.getMatrix());
  Type element = out.getElementType();
  auto buffer = bufferFor(op.getResult());
  if (failed(buffer))
    return failure();
  const int64_t size = scalarBytes(element);
  const int64_t from = in.axisIndex(matrix.getAxes()[0].name), to = out.axisIndex(matrix.getAxes()[1].name);
  const Axis &columns = matrix.getAxes()[1];
  int64_t lanes = columns.isStatic() ? vectorBytes / size : 1;
  while (lanes > 1 && lanes > columns.extent)
    lanes /= 2;
  auto partial = scratchBytes(scalar::reductionLanes * lanes * size, {});
  if (failed(partial))
    return failure();
  SmallVector<Value> extents;
  for (int64_t axis = 0; axis < out.getRank(); ++axis)
    if (axis != to)
      extents.push_back(extent(op.getResult(), axis));
  Type vector = lanes > 1 ? Type(VectorType::get({lanes}, element)) : element;
  const int64_t step = lanes * size;
  /// The sums of `lanes` columns from `column` on.
  auto sums = [&](SmallVector<Index> at, Index column) -> Value {
    l.lanes = lanes;
    Value zero = l.splat(neutral(l, ReduceKind::sum, element).value);
    for (int64_t lane = 0; lane < scalar::reductionLanes; ++lane)
      m.storePlain(zero, m.address(*partial, l.i64(lane * step)));
    forLoop(l.i64(0), extent(op.getValue(), from), 1, [&](Value i) {
      at[from] = m.uniform(i);
      Value place = m.address(*partial, l.mul(l.andInt(i, l.i64(scalar::reductionLanes - 1)), l.i64(step)));
      LaneValue product =
          l.binary(BinaryKind::mul, emit(op.getValue(), at), emit(op.getMatrix(), {m.uniform(i), column}));
      LaneValue sum = l.binary(BinaryKind::add, l.wrap(m.loadPlain(vector, place), element), product);
      m.storePlain(l.splat(sum.value), place);
    });
    SmallVector<LaneValue> all;
    for (int64_t lane = 0; lane < scalar::reductionLanes; ++lane)
      all.push_back(l.wrap(m.loadPlain(vector, m.address(*partial, l.i64(lane * step))), element));
    for (size_t half = all.size() / 2; half >= 1; half /= 2)
      for (size_t lane = 0; lane < half; ++lane)
        all[lane] = l.binary(BinaryKind::add, all[lane], all[lane + half]);
    return all[0].value;
  };
  carriedNest(b, l, extents, {}, [&](ArrayRef<Value> where, ValueRange) {
    SmallVector<Index> result, at;
    for (Value index : where)
      result.push_back(m.uniform(index));
    // The result has the matrix's second axis where the value had its first.
    result.insert(result.begin() + to, Index{});
    at = result;
    Value width = extent(op.getResult(), to);
    forLoop(l.i64(0), width, lanes, [&](Value column) {
      // The last vector overlaps the one before it.
      if (lanes > 1 && columns.extent % lanes)
        column = l.minS(column, l.i64(columns.extent - lanes));
      const Index run = lanes > 1 ? Index{column, 1, {}, {}} : m.uniform(column);
      Value sum = sums(at, run);
      result[to] = run;
      m.store(*buffer, result, l.wrap(sum, element));
      l.lanes = 1;
    });
    return SmallVector<Value>{};
  });
  return success();
}
