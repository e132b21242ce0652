// SPDX-License-Identifier: Apache-2.0
//
// Tables among which neighbours take turns.
#include "compiler/Conversion/KernelToLoops/Whole/Turns.h"
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

FailureOr<Turns> Turns::of(const Site &site, Operation *op) {
  Turns turns(site, op->getResult(0));
  for (int64_t i = 0; i < turnsOf(op).getTables(); ++i) {
    auto table = i == 0 ? bufferFor(site, turns.result) : scratchBuffer(site, turns.result);
    if (failed(table))
      return failure();
    turns.tables.push_back(*table);
  }
  return turns;
}

/// Runs `body` for the elements of a table, as many at once as fit along its last axis.
void Turns::overElements(llvm::function_ref<void(const Site &, llvm::ArrayRef<Index>)> body) const {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType type = typeOf(result);
  const int64_t last = type.getRank() - 1;
  SmallVector<Value> rows;
  for (int64_t axis = 0; axis < last; ++axis)
    rows.push_back(extent(site, result, axis));
  const Axis &along = type.getAxes().back();
  const int64_t fitting = l.has.lanesOf(scalarBytes(type.getElementType()));
  const int64_t lanes = along.isStatic() && along.extent % fitting == 0 ? fitting : 1;
  carriedNest(b, l, rows, {}, [&](ArrayRef<Value> where, ValueRange) {
    forLoop(site, l.i64(0), extent(site, result, last), lanes, [&](Value place) {
      SmallVector<Index> at(llvm::map_range(where, [&](Value i) { return m.uniform(i); }));
      at.push_back({place, lanes > 1, {}, {}});
      body(site.withLanes(lanes), at);
    });
    return SmallVector<Value>{};
  });
}

void Turns::clear(size_t begin) const {
  if (begin < tables.size())
    overElements([&](const Site &lanes, ArrayRef<Index> at) {
      for (const Buffer &table : ArrayRef(tables).drop_front(begin))
        lanes.m.store(table, at,
                      neutral(lanes.m.l, ReduceKind::sum, typeOf(result).getElementType()));
    });
}

void Turns::forEach(Value first, Value size, int64_t known,
                    llvm::function_ref<void(Value, const Buffer &)> body) const {
  const Lanes &l = site.m.l;
  const int64_t each = static_cast<int64_t>(tables.size());
  Value turns = l.add(first, l.i64(each > 1 ? known / each * each : 0));
  if (each > 1)
    forLoop(site, first, turns, each, [&](Value number) {
      for (auto [i, table] : llvm::enumerate(tables))
        body(l.add(number, l.i64(static_cast<int64_t>(i))), table);
    });
  if (each > 1 && known % each == 0)
    return;
  forLoop(site, turns, l.add(first, size), 1, [&](Value number) { body(number, tables.front()); });
}

void Turns::addUp() const {
  if (tables.size() > 1)
    overElements([&](const Site &lanes, ArrayRef<Index> at) {
      const Memory &m = lanes.m;
      LaneValue sum = m.load(first(), at);
      for (const Buffer &table : ArrayRef(tables).drop_front())
        sum = m.l.binary(BinaryKind::add, sum, m.load(table, at));
      m.store(first(), at, sum);
    });
}
