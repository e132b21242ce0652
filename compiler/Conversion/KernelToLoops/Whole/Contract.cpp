// SPDX-License-Identifier: Apache-2.0
//
// Matrix products.
//
// `#schedule.contract` says along which axis lanes lie, and which results share what they read.
// The order of additions is that of a sum, so it does not depend on any of
// that. `ContractBands.cpp`: matrices that are 0 but near a diagonal.
#include "compiler/Conversion/KernelToLoops/Whole/Contract.h"
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "compiler/Conversion/KernelToLoops/Whole/Whole.h"
#include "compiler/Dialect/ScheduleDialect.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

static ContractShape contractShape(ContractOp op) {
  NamedTensorType out = typeOf(op.getResult());
  const ContractAttr contract = contractOf(op);
  auto axis = [&](StringAttr name) { return name ? out.axisIndex(name) : -1; };
  return {axis(contract.getAlong()), contract.getLanes(), axis(contract.getUnroll()),
          contract.getBeside()};
}

namespace {

/// Makes all of a result.
struct Contraction {
  LogicalResult emitAll();

private:
  void nest(int64_t axis);
  /// Places `low` to `high` of the axis of which several are made at a time.
  void rows(Value low, Value high);
  void inLanes(Value first);
  void results(const Site &site, Value first);
  void panels();
  void steps(int64_t axis, Value low, Value high, int64_t step,
             llvm::function_ref<void(Value)> body);

public:
  Contraction(const Site &site, ContractOp op, const Buffer &to)
      : site(site), summing(site), op(op), to(to), shape(contractShape(op)),
        at(typeOf(op.getResult()).getRank()) {}

private:
  const Site &site;
  Site summing; ///< with room for partial sums
  ContractOp op;
  const Buffer &to;
  ContractShape shape;
  std::optional<Bands> bands;
  SmallVector<Index> at; ///< of the result, as far as loops have said
};

} // namespace

/// The last ones overlap those before them, along lanes and among results that are made together.
void Contraction::steps(int64_t axis, Value low, Value high, int64_t step,
                        llvm::function_ref<void(Value)> body) {
  const Lanes &l = site.m.l;
  auto known = Lanes::constantOf(high);
  if (known == step && Lanes::constantOf(low) == 0)
    return body(low); // what does not change in a loop of one turn leaves it, and its registers
  forLoop(site, low, high, step, [&](Value first) {
    const bool overlaps = step > 1 && !(known && *known % step == 0);
    body(overlaps ? l.minS(first, l.sub(high, l.i64(step))) : first);
  });
}

void Contraction::results(const Site &site, Value first) {
  auto [ctx, b, l, m] = site.parts();
  SmallVector<SmallVector<Index>> places;
  for (int64_t i = 0; i < shape.blocks; ++i) {
    places.push_back(at);
    if (shape.block >= 0)
      places.back()[shape.block] = m.uniform(i ? l.add(first, l.i64(i)) : first);
  }
  ctx.elements.clear();
  for (auto [place, sum] : llvm::zip(places, contractAt(site, op, shape, places)))
    m.store(to, place, sum);
}

void Contraction::inLanes(Value first) {
  const Lanes &l = site.m.l;
  if (shape.lane < 0)
    return results(summing, first);
  steps(shape.lane, l.i64(0), extent(site, op.getResult(), shape.lane), shape.lanes,
        [&](Value column) {
          at[shape.lane] = {column, shape.lanes > 1, {}, {}};
          results(summing.withLanes(shape.lanes), first);
        });
}

void Contraction::rows(Value low, Value high) {
  steps(shape.block, low, high, shape.blocks, [&](Value first) { inLanes(first); });
}

/// With bands: as many rows as are transposed at a time, and what is left over.
void Contraction::panels() {
  auto [ctx, b, l, m] = site.parts();
  const int64_t together = bands->together();
  Value count = extent(site, op.getResult(), shape.block), whole = count;
  const bool isKnown = Lanes::constantOf(count).has_value();
  if (!isKnown)
    whole = l.sub(count, l.remS(count, l.i64(together)));
  steps(shape.block, l.i64(0), whole, together, [&](Value first) {
    Value last = l.add(first, l.i64(together)), fits = bands->read(site, at, first);
    auto choice = b.create<scf::IfOp>(l.loc, fits, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    bands->write(site, to, at, first);
    b.setInsertionPointToStart(choice.elseBlock());
    rows(first, last);
  });
  if (!isKnown)
    rows(whole, count);
}

void Contraction::nest(int64_t axis) {
  auto [ctx, b, l, m] = site.parts();
  if (axis == shape.lane || axis == shape.block)
    return nest(axis + 1);
  if (axis < static_cast<int64_t>(at.size()))
    return steps(axis, l.i64(0), extent(site, op.getResult(), axis), 1, [&](Value index) {
      at[axis] = m.uniform(index);
      nest(axis + 1);
    });
  if (bands)
    return panels();
  shape.block >= 0 ? rows(l.i64(0), extent(site, op.getResult(), shape.block)) : inLanes({});
}

LogicalResult Contraction::emitAll() {
  auto partial = scratchBytes(site,
                              partialSums * shape.lanes * shape.blocks *
                                  scalarBytes(typeOf(op.getResult()).getElementType()),
                              {});
  if (failed(partial))
    return failure();
  summing.partialSums = *partial;
  if (const int64_t lanes = contractOf(op).getBands())
    bands.emplace(op, shape, lanes);
  if (bands && failed(bands->find(site)))
    return failure();
  nest(0);
  site.ctx.elements.clear();
  return success();
}

static LogicalResult emitContract(const Site &site, ContractOp op) {
  auto buffer = bufferFor(site, op.getResult());
  return failed(buffer) ? failure() : Contraction(site, op, *buffer).emitAll();
}

namespace penstock::conversion {
void registerContract(WholeOps &all);
}
void penstock::conversion::registerContract(WholeOps &all) { all.add<ContractOp>(emitContract); }
