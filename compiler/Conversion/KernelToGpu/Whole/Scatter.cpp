// SPDX-License-Identifier: Apache-2.0
//
// Elements into a tensor, at computed places.
//
// Elements that meet at one place are combined in their order, which no thread may decide: each
// place belongs to one thread, and every thread goes through all elements and takes its own.
#include "compiler/Conversion/KernelToGpu/GpuElements.h"
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "compiler/Conversion/KernelToGpu/Whole/GpuWhole.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

static void scatter(const GpuSite &site, ScatterOp op, const GpuBuffer &to) {
  auto [ctx, b, x, s] = site.parts();
  NamedTensorType base = typeOf(op.getBase()), values = typeOf(op.getValues());
  const int64_t along = values.axisIndex(op.getAxis());
  const ScatterKind kind = op.getKind();
  Value count = extent(site, op.getValues(), along);
  over(site, op.getBase(),
       [&](ArrayRef<Value> at) { save(site, element(site, op.getBase(), at), to, at); });
  barrier(site);
  SmallVector<Value> at(base.getRank()), from(values.getRank());
  /// Goes through the axes that values and base share, from `axis` of the base on.
  std::function<void(int64_t)> combine = [&](int64_t axis) {
    if (axis == base.getRank()) {
      Value value = element(site, op.getValues(), from);
      if (kind != ScatterKind::first)
        value = s.binary(kind == ScatterKind::sum   ? BinaryKind::add
                         : kind == ScatterKind::min ? BinaryKind::min
                                                    : BinaryKind::max,
                         load(site, to, at), value);
      return save(site, value, to, at);
    }
    const int64_t own = values.axisIndex(base.getAxes()[axis].name);
    if (own < 0)
      return combine(axis + 1);
    loop(site, x.constant(0), extent(site, op.getResult(), axis), 1, {},
         [&](Value index, ValueRange) {
           at[axis] = from[own] = index;
           combine(axis + 1);
           return SmallVector<Value>{};
         });
  };
  nest(site, {"run"}, x.constant(ctx.launch.threads), "threads", [&](ArrayRef<Value> run) {
    loop(site, x.constant(0), count, 1, {}, [&](Value number, ValueRange) {
      // Of `first` the last one to be stored is the first one.
      Value i = kind == ScatterKind::first ? x.sub(x.sub(count, x.constant(1)), number) : number;
      from[along] = i;
      Value inside, place = x.constant(0);
      for (auto [name, places] : llvm::zip(op.getOver().getAsRange<StringAttr>(), op.getAt())) {
        const int64_t axis = base.axisIndex(name);
        Value size = extent(site, op.getResult(), axis);
        at[axis] = x.toIndex(element(site, places, i));
        Value fits = x.inside(at[axis], size);
        inside = inside ? x.both(inside, fits) : fits;
        place = x.add(x.mul(place, size), at[axis]);
      }
      when(site, x.both(inside, isOwn(site, place, run[0])), [&] { combine(0); });
      return SmallVector<Value>{};
    });
  });
}

namespace penstock::conversion {
void registerScatter(GpuWholeOps &all) { all.add<ScatterOp>(scatter); }
} // namespace penstock::conversion
