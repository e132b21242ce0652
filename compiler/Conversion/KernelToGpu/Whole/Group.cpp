// SPDX-License-Identifier: Apache-2.0
//
// Groups by key.
//
// Passes of one block. What threads do in any order, claiming places of a table
// and of lists, is put into the one order that counts before it is read: of a
// group's elements the least leads it, and lists of members are sorted.
#include "compiler/Conversion/KernelToGpu/GpuElements.h"
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "compiler/Conversion/KernelToGpu/Whole/GpuReduce.h"
#include "compiler/Conversion/KernelToGpu/Whole/GpuWhole.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

static LogicalResult workOfGroup(const GpuSite &site, GroupOp op, SmallVector<GpuBuffer> &arrays) {
  Type i64 = site.ctx.b.getI64Type();
  GpuWork work(site, arrays);
  const GpuAxis along{op.getKey(), 0};
  work.add(i64, {}, site.ctx.launch.threads);
  work.add(i64, GpuWork::axesOf(op.getKey()));
  work.add(i64, along, 2); // a search for a free place always ends
  work.add(i64, along);
  work.add(i64, along);
  return work.done();
}

/// Every element claims a place of a table for its key. The least element of a
/// place leads the group; leaders are numbered in their order.
static void group(const GpuSite &site, GroupOp op, ArrayRef<GpuBuffer> to,
                  ArrayRef<GpuBuffer> work) {
  auto [ctx, b, x, s] = site.parts();
  const GpuBuffer &keys = work[1], &places = work[3], &numbers = work[4];
  const GpuBuffer table{work[2].memory, {x.constant(1)}};
  const GpuBuffer &slots = to[0], &firsts = to[1], &count = to[2];
  NamedTensorType type = typeOf(op.getKey());
  const std::string &name = type.getAxes()[0].name;
  Value size = extent(site, op.getKey(), 0), room = extent(site, op.getFirst(), 0);
  Value size2 = x.mul(size, x.constant(2)), width = x.constant(1);
  SmallVector<std::string> names;
  SmallVector<Value> extents;
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    names.push_back(type.getAxes()[axis].name);
    extents.push_back(extent(site, op.getKey(), axis));
    width = axis ? x.mul(width, extents.back()) : width;
  }
  nest(site, names, extents, "threads", [&](GpuIndices at) {
    save(site, s.cast(element(site, op.getKey(), at), b.getI64Type()), keys, at);
  });
  nest(site, {"place"}, size2, "threads", [&](GpuIndices at) { save(site, s.i64(-1), table, at); });
  nest(site, {"m"}, room, "threads", [&](GpuIndices at) { save(site, s.i64(0), firsts, at); });
  barrier(site);
  nest(site, {name}, size, "threads", [&](GpuIndices at) {
    auto claim = [&] {
      return call(site, "pst_claim", b.getI64Type(),
                  {table.memory, size2, keys.memory, width, at[0]});
    };
    Value mine = op.getMask() ? branch(site, element(site, op.getMask(), at), b.getI64Type(), claim,
                                       [&] { return s.i64(-1); })
                              : claim();
    save(site, mine, places, at);
  });
  barrier(site);
  /// The number of the element that leads i's group, or -1.
  auto leader = [&](Value i) {
    Value place = x.toIndex(load(site, places, i));
    Value grouped = x.compare(CmpIPredicate::sge, place, x.constant(0));
    return branch(
        site, grouped, b.getI64Type(), [&] { return load(site, table, place); },
        [&] { return s.i64(-1); });
  };
  Value limit = s.i64(static_cast<int64_t>(op.getLimit()));
  limit = s.binary(BinaryKind::min, limit, x.toI64(room));
  running(
      site, size, work[0],
      [&](Value i) {
        return s.cast(s.compare(Predicate::eq, leader(i), x.toI64(i)), b.getI64Type());
      },
      [&](Value i, Value before, Value leads) {
        when(site, s.isTrue(leads), [&] {
          Value fits = s.compare(Predicate::lt, before, limit);
          save(site, s.select(fits, before, s.i64(-1)), numbers, i);
          when(site, fits, [&] { save(site, x.toI64(i), firsts, x.toIndex(before)); });
        });
      },
      [&](Value whole) { save(site, s.binary(BinaryKind::min, whole, limit), count, {}); });
  nest(site, {name}, size, "threads", [&](GpuIndices at) {
    Value first = x.toIndex(leader(at[0]));
    Value number = branch(
        site, x.compare(CmpIPredicate::sge, first, x.constant(0)), b.getI64Type(),
        [&] { return load(site, numbers, first); }, [&] { return s.i64(-1); });
    save(site, number, slots, at);
  });
}

namespace penstock::conversion {
void registerGroup(GpuWholeOps &all) { all.add<GroupOp>(workOfGroup, group); }
} // namespace penstock::conversion
