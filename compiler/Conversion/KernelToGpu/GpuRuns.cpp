// SPDX-License-Identifier: Apache-2.0
//
// Boxes of elements in memory.
#include "compiler/Conversion/KernelToGpu/GpuBoxes.h"
#include "compiler/Conversion/KernelToGpu/GpuElements.h"
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

int64_t penstock::conversion::runLength(ArrayRef<Value> strides, ArrayRef<int64_t> counts) {
  int64_t run = 1;
  for (size_t axis = counts.size(); axis-- > 0;) {
    if (counts[axis] == 1)
      continue;
    if (IndexMath::constantOf(strides[axis]) != run)
      break;
    run *= counts[axis];
  }
  return run;
}

bool penstock::conversion::mayRun(Type type) {
  return llvm::isa<IntegerType, FloatType>(type) && !type.isInteger(1);
}

int64_t penstock::conversion::alignmentOf(const GpuSite &site, const GpuBuffer &buffer,
                                          GpuIndices at) {
  auto [ctx, b, x, s] = site.parts();
  const int64_t bytes =
      scalarBytes(llvm::cast<MemRefType>(buffer.memory.getType()).getElementType());
  auto powerIn = [](int64_t number) { return number & -number; };
  int64_t alignment = buffer.alignment ? buffer.alignment : powerIn(bytes);
  for (auto [axis, index] : llvm::enumerate(at)) {
    auto known = IndexMath::constantOf(index), step = IndexMath::constantOf(buffer.strides[axis]);
    int64_t number = known ? *known : std::max<int64_t>(ctx.multiples.lookup(index), 1);
    if (!buffer.origin.empty() && buffer.origin[axis])
      number = buffer.origin[axis] == index ? 0 : 1;
    const int64_t distance = number * step.value_or(1) * bytes;
    if (distance != 0)
      alignment = std::min(alignment, powerIn(distance));
  }
  return alignment;
}

/// Where neighbours lie side by side, they are marked, so that one access may take them all
/// (`pipe.run`: place, length, a number, the alignment that is known).
SmallVector<Value> penstock::conversion::load(const GpuSite &site, const GpuBuffer &buffer,
                                              GpuIndices at, ArrayRef<int64_t> counts) {
  auto [ctx, b, x, s] = site.parts();
  Type type = llvm::cast<MemRefType>(buffer.memory.getType()).getElementType();
  int64_t run = mayRun(type) && !buffer.inRegisters ? runLength(buffer.strides, counts) : 1;
  const int64_t bytes = run * scalarBytes(type), alignment = alignmentOf(site, buffer, at);
  const bool isWhole = bytes % 4 == 0 && alignment >= 4;
  if (!isWhole && (!buffer.hasSlack || buffer.isStoredOver) && scalarBytes(type) < 4)
    run = 1; // words around would be read
  SmallVector<Value> values;
  Value first;
  forEachPlace(counts, [&](ArrayRef<int64_t> place) {
    const auto number = static_cast<int64_t>(values.size());
    if (number % run == 0)
      first = elementOffset(site, buffer, moved(site, at, place));
    auto loaded =
        b.create<memref::LoadOp>(site.loc, buffer.memory, x.add(first, x.constant(number % run)));
    if (run > 1)
      setRun(loaded, {number % run, run, ctx.runs + number / run, isWhole ? alignment : 0});
    values.push_back(loaded);
  });
  ctx.runs += static_cast<int64_t>(values.size()) / run;
  return values;
}

/// Neighbours are marked, and follow each other, so that they are one store (`pipe.run`: place,
/// length).
void penstock::conversion::save(const GpuSite &site, ArrayRef<Value> values,
                                const GpuBuffer &buffer, GpuIndices at, ArrayRef<int64_t> counts) {
  auto [ctx, b, x, s] = site.parts();
  const int64_t run =
      mayRun(values[0].getType()) && !buffer.inRegisters ? runLength(buffer.strides, counts) : 1;
  int64_t number = 0;
  Value first;
  forEachPlace(counts, [&](ArrayRef<int64_t> place) {
    const int64_t inRun = number % run;
    if (inRun == 0)
      first = elementOffset(site, buffer, moved(site, at, place));
    auto stored = b.create<memref::StoreOp>(site.loc, values[static_cast<size_t>(number)],
                                            buffer.memory, x.add(first, x.constant(inRun)));
    if (run > 1)
      setRun(stored, {inRun, run});
    ++number;
  });
}
