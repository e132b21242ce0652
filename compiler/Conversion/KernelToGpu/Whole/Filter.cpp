// SPDX-License-Identifier: Apache-2.0
//
// Rational transfer functions along an axis, one row a thread.
#include "compiler/Conversion/KernelToGpu/GpuElements.h"
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "compiler/Conversion/KernelToGpu/Whole/GpuWhole.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

static void filter(const GpuSite &site, FilterOp op, const GpuBuffer &to) {
  auto [ctx, b, x, s] = site.parts();
  NamedTensorType type = typeOf(op.getValue());
  const int64_t along = type.axisIndex(op.getAxis());
  const int64_t count = std::max(typeOf(op.getNumerator()).getAxes()[0].extent,
                                 typeOf(op.getDenominator()).getAxes()[0].extent);
  Type f64 = b.getF64Type();
  SmallVector<std::string> names;
  SmallVector<Value> extents;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    if (axis != along) {
      names.push_back(type.getAxes()[axis].name);
      extents.push_back(extent(site, op.getValue(), axis));
    }
  nest(site, names, extents, "threads", [&](ArrayRef<Value> outer) {
    Value by = element(site, op.getDenominator(), x.constant(0));
    auto coefficients = [&](Value side) {
      SmallVector<Value> numbers;
      for (int64_t j = 0; j < count; ++j)
        numbers.push_back(s.binary(
            BinaryKind::div,
            j < typeOf(side).getAxes()[0].extent ? element(site, side, x.constant(j)) : s.zero(f64),
            by));
      return numbers;
    };
    const SmallVector<Value> above = coefficients(op.getNumerator()),
                             below = coefficients(op.getDenominator());
    auto add = [&](Value p, Value q) { return s.binary(BinaryKind::add, p, q); };
    auto mul = [&](Value p, Value q) { return s.binary(BinaryKind::mul, p, q); };
    SmallVector<Value> silence(count - 1, s.zero(f64));
    loop(site, x.constant(0), extent(site, op.getValue(), along), 1, silence,
         [&](Value i, ValueRange state) {
           SmallVector<Value> at(outer);
           at.insert(at.begin() + along, i);
           Value input = s.cast(element(site, op.getValue(), at), f64);
           Value y = count > 1 ? add(state[0], mul(above[0], input)) : mul(input, above[0]);
           SmallVector<Value> next;
           for (int64_t j = 1; j < count; ++j) {
             Value sum = mul(input, above[j]);
             if (j + 1 < count)
               sum = add(state[j], sum);
             next.push_back(s.binary(BinaryKind::sub, sum, mul(y, below[j])));
           }
           save(site, s.cast(y, type.getElementType()), to, at);
           return next;
         });
  });
}

namespace penstock::conversion {
void registerFilter(GpuWholeOps &all) { all.add<FilterOp>(filter); }
} // namespace penstock::conversion
