// SPDX-License-Identifier: Apache-2.0
//
// Elements that a thread makes together.
//
// A thread that makes a pixel's channels, or neighbours along a row, reads weights once for all of
// them, and memory in wide accesses. Which elements those are is the schedule's (`vector`).
#include "compiler/Conversion/Elements/Resample.h"
#include "compiler/Conversion/KernelToGpu/GpuBoxes.h"
#include "compiler/Conversion/KernelToGpu/GpuElements.h"
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "compiler/Conversion/KernelToGpu/GpuRowTaps.h"
#include "compiler/Conversion/KernelToGpu/GpuScalars.h"
#include "compiler/Conversion/KernelToGpu/ThreadTarget.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

LogicalResult penstock::conversion::checkVectors(KernelOp kernel) {
  const bool isTiled =
      kernel.getSchedule()->get("mapping") == StringAttr::get(kernel.getContext(), "tile");
  const auto found = kernel.walk([&](Operation *op) {
    auto vector = op->getAttrOfType<DictionaryAttr>("vector");
    auto along = op->getAttrOfType<StringAttr>("along");
    if (along && (!vector || !vector.contains(along) || isTiled)) {
      op->emitOpError()
          << "has the schedule `along`, which is to name an axis of its `vector`, in a "
             "kernel that makes no tiles";
      return WalkResult::interrupt();
    }
    auto unrolled = op->getAttrOfType<IntegerAttr>("unrolled");
    auto count = along && vector ? vector.getAs<IntegerAttr>(along) : IntegerAttr();
    constexpr int64_t ofWords = 4; // of any type
    if (unrolled && (!count || unrolled.getInt() <= 0 || unrolled.getInt() % ofWords != 0 ||
                     count.getInt() % unrolled.getInt() != 0)) {
      op->emitOpError() << "has the schedule `unrolled`, which is to be a multiple of " << ofWords
                        << " that divides the number of elements along its strip";
      return WalkResult::interrupt();
    }
    for (NamedAttribute entry : vector ? vector : DictionaryAttr::get(op->getContext())) {
      NamedTensorType type = typeOf(op->getResult(0));
      const int64_t axis = type.axisIndex(entry.getName());
      auto count = llvm::dyn_cast<IntegerAttr>(entry.getValue());
      if (axis >= 0 && count && count.getInt() > 0 &&
          (entry.getName() == along ||
           (type.getAxes()[axis].isStatic() && type.getAxes()[axis].extent % count.getInt() == 0)))
        continue;
      op->emitOpError() << "has the schedule `vector`, whose `" << entry.getName().getValue()
                        << "` is to name an axis of known extent, and a number that divides it";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(found.wasInterrupted());
}

SmallVector<int64_t> penstock::conversion::vectorOf(Value tensor) {
  NamedTensorType type = typeOf(tensor);
  SmallVector<int64_t> counts(type.getRank(), 1);
  Operation *op = tensor.getDefiningOp();
  if (auto vector = op ? op->getAttrOfType<DictionaryAttr>("vector") : DictionaryAttr())
    for (int64_t axis = 0; axis < type.getRank(); ++axis)
      if (auto count = vector.getAs<IntegerAttr>(type.getAxes()[axis].name))
        counts[axis] = count.getInt();
  return counts;
}

//===--- elements ----------------------------------------------------------===//

static SmallVector<Value> makeElements(const GpuSite &site, Value tensor, GpuIndices at,
                                       ArrayRef<int64_t> counts);

SmallVector<Value> penstock::conversion::elements(const GpuSite &site, Value tensor, GpuIndices at,
                                                  ArrayRef<int64_t> counts) {
  auto [ctx, b, x, s] = site.parts();
  auto keyOf = [&](ArrayRef<int64_t> place) {
    IndexMath::Key key{tensor.getAsOpaquePointer(), &ctx};
    for (Value index : moved(site, at, place))
      key.push_back(index.getAsOpaquePointer());
    return key;
  };
  SmallVector<Value> made;
  forEachPlace(counts, [&](ArrayRef<int64_t> place) {
    if (Value known = x.find(keyOf(place)))
      made.push_back(known);
  });
  if (made.size() == static_cast<size_t>(product(counts)))
    return made;
  made.clear();
  const GpuSite there = site.of(tensor);
  const GpuBuffer *stored = site.bufferOf(tensor);
  if (product(counts) > 1)
    made = stored ? load(there, *stored, at, counts) : makeElements(there, tensor, at, counts);
  if (made.empty()) {
    forEachPlace(counts, [&](ArrayRef<int64_t> place) {
      made.push_back(element(site, tensor, moved(site, at, place)));
    });
    return made;
  }
  forEachPlace(counts, [&](ArrayRef<int64_t> place) {
    x.remember(keyOf(place), made[numberOf(place, counts)]);
  });
  return made;
}

/// A box of a view is one of its input where every axis moves by one with at most one of the
/// view's.
static SmallVector<Value> viewed(const GpuSite &site, ViewOp op, GpuIndices at,
                                 ArrayRef<int64_t> counts) {
  auto [ctx, b, x, s] = site.parts();
  SmallVector<Value> symbols, inner, first(at);
  for (Value symbol : op.getSymbols())
    symbols.push_back(asIndex(site, symbol));
  SmallVector<int64_t> from, source; // by axis of the input: the view's, or -1; its elements
  SmallVector<bool> isTurned(counts.size(), false), isRead(counts.size(), false);
  for (AffineExpr expr : op.getMap().getResults()) {
    int64_t along = -1;
    for (auto [axis, count] : llvm::enumerate(counts)) {
      if (count == 1 || !expr.isFunctionOfDim(static_cast<unsigned>(axis)))
        continue;
      AffineExpr dim = b.getAffineDimExpr(static_cast<unsigned>(axis));
      auto step = llvm::dyn_cast<AffineConstantExpr>(
          simplifyAffineExpr(expr.replace(dim, dim + 1) - expr, op.getMap().getNumDims(),
                             op.getMap().getNumSymbols()));
      if (along >= 0 || isRead[axis] || !step || std::abs(step.getValue()) != 1)
        return {};
      along = static_cast<int64_t>(axis);
      isRead[axis] = true;
      isTurned[axis] = step.getValue() < 0;
      if (isTurned[axis])
        first[axis] = x.add(at[axis], x.constant(count - 1));
    }
    from.push_back(along);
    source.push_back(along < 0 ? 1 : counts[along]);
  }
  for (AffineExpr expr : op.getMap().getResults())
    inner.push_back(x.affine(expr, first, symbols));
  SmallVector<Value> read = elements(site, op.getInput(), inner, source), made;
  forEachPlace(counts, [&](ArrayRef<int64_t> place) {
    SmallVector<int64_t> there;
    for (int64_t axis : from)
      there.push_back(axis < 0 ? 0 : isTurned[axis] ? counts[axis] - 1 - place[axis] : place[axis]);
    made.push_back(read[numberOf(there, source)]);
  });
  return made;
}

static SmallVector<Value> mapped(const GpuSite &site, MapOp op, GpuIndices at,
                                 ArrayRef<int64_t> counts) {
  auto [ctx, b, x, s] = site.parts();
  NamedTensorType domain = typeOf(op.getResult());
  Block &body = op.getBody().front();
  SmallVector<SmallVector<int64_t>> axes, boxes;
  SmallVector<SmallVector<Value>> read;
  for (Value input : op.getInputs()) {
    SmallVector<Value> inner;
    SmallVector<int64_t> own, box;
    for (const Axis &axis : typeOf(input).getAxes()) {
      own.push_back(domain.axisIndex(axis.name));
      box.push_back(counts[own.back()]);
      inner.push_back(at[own.back()]);
    }
    read.push_back(elements(site, input, inner, box));
    axes.push_back(std::move(own));
    boxes.push_back(std::move(box));
  }
  SmallVector<Value> made;
  forEachPlace(counts, [&](ArrayRef<int64_t> place) {
    SmallVector<Value> there = moved(site, at, place);
    for (auto [axis, argument] : llvm::enumerate(body.getArguments().drop_front(read.size())))
      if (!argument.use_empty())
        ctx.scalars.map(argument, x.toI64(there[axis]));
    for (auto [number, values] : llvm::enumerate(read)) {
      SmallVector<int64_t> inner;
      for (int64_t axis : axes[number])
        inner.push_back(place[axis]);
      ctx.scalars.map(body.getArgument(static_cast<unsigned>(number)),
                      values[numberOf(inner, boxes[number])]);
    }
    made.push_back(results(site, body).front());
  });
  return made;
}

/// One loop over the taps of all of them; elements along the axis have taps of their own.
static SmallVector<Value> resampled(const GpuSite &site, ResampleOp op, GpuIndices at,
                                    ArrayRef<int64_t> counts) {
  if (counts[typeOf(op.getResult()).axisIndex(op.getAxis())] > 1)
    return {};
  if (site.rowTaps)
    if (auto taps = site.rowTaps->find(op); taps != site.rowTaps->end())
      if (SmallVector<Value> made = sumRows(site, op, taps->second, at, counts); !made.empty())
        return made;
  return elementsOf(ThreadTarget{site}, op, at, static_cast<size_t>(product(counts)),
                    [&](GpuIndices inner) { return elements(site, op.getInput(), inner, counts); });
}

/// Nothing where each element is made by itself.
static SmallVector<Value> makeElements(const GpuSite &site, Value tensor, GpuIndices at,
                                       ArrayRef<int64_t> counts) {
  auto [ctx, b, x, s] = site.parts();
  Type type = typeOf(tensor).getElementType();
  return llvm::TypeSwitch<Operation *, SmallVector<Value>>(tensor.getDefiningOp())
      .Case([&](ViewOp op) { return viewed(site, op, at, counts); })
      .Case([&](CastOp op) {
        SmallVector<Value> values = elements(site, op.getValue(), at, counts);
        for (Value &value : values)
          if (value.getType() != type)
            value = b.create<CastOp>(site.loc, type, op.getMode(), value, ValueRange{});
        return values;
      })
      .Case([&](MapOp op) { return mapped(site, op, at, counts); })
      .Case([&](ResampleOp op) { return resampled(site, op, at, counts); })
      .Case([&](StackOp op) {
        auto arm = [&](int64_t taken) {
          return elements(site, op.getInputs()[taken], at.drop_front(), counts.drop_front());
        };
        return counts[0] > 1
                   ? SmallVector<Value>()
                   : oneOf(site, armOf(site, op, [&] { return at[0]; }),
                           static_cast<int64_t>(op.getInputs().size()),
                           SmallVector<Type>(static_cast<size_t>(product(counts)), type), arm);
      })
      .Case([&](ChooseOp op) {
        const unsigned number = llvm::cast<OpResult>(tensor).getResultNumber();
        auto arm = [&](int64_t taken) {
          return elements(site, op.getArms()[taken].front().getTerminator()->getOperand(number), at,
                          counts);
        };
        return oneOf(site, armOf(site, op, [&] { return asIndex(site, op.getIndex()); }),
                     static_cast<int64_t>(op.getArms().size()),
                     SmallVector<Type>(static_cast<size_t>(product(counts)), type), arm);
      })
      .Default([](Operation *) { return SmallVector<Value>(); });
}
