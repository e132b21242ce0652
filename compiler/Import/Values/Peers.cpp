// SPDX-License-Identifier: Apache-2.0
//
// The values of all samples of a batch.
//
// A value of the batch block is one sample's. What runs over `n` takes the values of
// all samples as a tensor with one more axis; its result is again a value that each
// sample has, the same for all.
#include "compiler/Import/Values/Tensors.h"

#include "mlir/Analysis/SliceAnalysis.h"

using namespace penstock::importer;

bool Tensors::isBatchAxis(const std::string &axis, const Val &value) {
  if (axis != "n" || !inBatch)
    return false;
  return !value.is(Kind::Tensor) || !find(dims(value.ir), axis);
}

Dim Tensors::batchDim(const std::string &name) {
  Dim result{{name, batchAxis.exact, batchAxis.bound, ""}, {}};
  if (result.axis.isStatic())
    result.axis.bound = -1;
  else
    result.size = batchAxis.count;
  return result;
}

Val Tensors::samplesOfBatch() {
  return number(batchAxis.exact >= 0 ? intConstant(batchAxis.exact) : batchAxis.count);
}

Val Tensors::boxed(const Val &value) {
  if (!value.is(Kind::Number) || isElementLocal(value.ir))
    return value;
  return tensor(buildMap({}, value.ir.getType(), [&](ElementRegion &) { return value.ir; }));
}

bool Tensors::isOfPeers(mlir::Value number) {
  llvm::SetVector<mlir::Operation *> makers;
  mlir::getBackwardSlice(number, &makers);
  if (mlir::Operation *op = number.getDefiningOp())
    makers.insert(op);
  return llvm::any_of(makers, llvm::IsaPred<pipe::PeerOp>);
}

Val Tensors::peersOf(const Val &value, const std::string &axis, dsl::SourceRange range) {
  const Val one = boxed(value);
  if (one.is(Kind::Poison))
    throw Abort{};
  if (one.is(Kind::Neighbours) || (one.is(Kind::Number) && isElementLocal(one.ir)))
    fail(range, "an element has no value in other samples",
         "the tensor that it is taken from has: `let all = mean(x over [n])` before the `map`, and "
         "`q in all` in it");
  if (!one.is(Kind::Tensor))
    fail(range, "what runs over the batch is a number or a tensor, and this is " + show(value),
         one.is(Kind::Record) ? "a field of it: `x." + value.names.front() + "`" : "");
  PlaceGuard guard(*this, range);
  std::vector<Dim> all = dims(one.ir);
  for (const Dim &dim : all)
    if (!dim.axis.isStatic()) {
      auto report =
          error(range, "what runs over the batch has the same extents in all samples, and axis " +
                           quote(dim.axis.name) + " differs from sample to sample");
      report.note(range, "it is " + show(one));
      report.hint("resize, crop or pad it; or reduce it over " + quote(dim.axis.name) + " first");
      throw Abort{};
    }
  if (find(all, axis))
    fail(range, "the value already has axis " + quote(axis) + ": it is " + show(one));
  all.insert(all.begin(), batchDim(axis));
  return tensor(base.create<pipe::PeersOp>(here, tensorOf(one.tensorType().getElementType(), all),
                                           one.ir, axis, sizesOf(all)));
}
