// SPDX-License-Identifier: Apache-2.0
//
// Elements that a thread makes together.
//
// A thread that makes a pixel's channels, or neighbours along a row, reads weights once for all of
// them, and memory in wide accesses. Which elements those are is the schedule's (`vector`).
#include "compiler/Conversion/KernelToGpu/GpuEmitter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

//===--- boxes of elements -------------------------------------------------===//

static int64_t product(ArrayRef<int64_t> counts) {
  int64_t all = 1;
  for (int64_t count : counts)
    all *= count;
  return all;
}

/// The places of a box, row-major.
static void forEachPlace(ArrayRef<int64_t> counts,
                         llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
  SmallVector<int64_t> place(counts.size(), 0);
  for (int64_t left = product(counts); left > 0; --left) {
    visit(place);
    for (size_t axis = counts.size(); axis-- > 0 && ++place[axis] == counts[axis];)
      place[axis] = 0;
  }
}

/// The number of a place in a box, row-major.
static size_t numberOf(ArrayRef<int64_t> place, ArrayRef<int64_t> counts) {
  int64_t number = 0;
  for (auto [at, count] : llvm::zip(place, counts))
    number = number * count + at;
  return static_cast<size_t>(number);
}

SmallVector<Value> GpuEmitter::moved(Indices at, ArrayRef<int64_t> place) {
  SmallVector<Value> there;
  for (auto [index, distance] : llvm::zip(at, place))
    there.push_back(x.add(index, x.constant(distance)));
  return there;
}

/// Whether every box that the schedule names divides what it is of.
LogicalResult GpuEmitter::checkVectors() {
  const auto found = kernel.walk([](Operation *op) {
    auto vector = op->getAttrOfType<DictionaryAttr>("vector");
    for (NamedAttribute entry : vector ? vector : DictionaryAttr::get(op->getContext())) {
      NamedTensorType type = typeOf(op->getResult(0));
      const int64_t axis = type.axisIndex(entry.getName());
      auto count = llvm::dyn_cast<IntegerAttr>(entry.getValue());
      if (axis >= 0 && count && count.getInt() > 0 && type.getAxes()[axis].isStatic() &&
          type.getAxes()[axis].extent % count.getInt() == 0)
        continue;
      op->emitOpError() << "has the schedule `vector`, whose `" << entry.getName().getValue()
                        << "` is to name an axis of known extent, and a number that divides it";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(found.wasInterrupted());
}

SmallVector<int64_t> GpuEmitter::vectorOf(Value tensor) {
  NamedTensorType type = typeOf(tensor);
  SmallVector<int64_t> counts(type.getRank(), 1);
  Operation *op = tensor.getDefiningOp();
  if (auto vector = op ? op->getAttrOfType<DictionaryAttr>("vector") : DictionaryAttr())
    for (int64_t axis = 0; axis < type.getRank(); ++axis)
      if (auto count = vector.getAs<IntegerAttr>(type.getAxes()[axis].name))
        counts[axis] = count.getInt();
  return counts;
}

//===--- in memory ---------------------------------------------------------===//

/// How many neighbours of a box lie side by side, from its last axis on.
static int64_t runLength(ArrayRef<Value> strides, ArrayRef<int64_t> counts) {
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

/// Numbers that are stored as they are computed, or rounded.
static bool mayRun(Type type) {
  return llvm::isa<IntegerType, FloatType>(type) && !type.isInteger(1);
}

int64_t GpuEmitter::alignmentOf(const Buffer &buffer, Indices at) {
  const int64_t bytes =
      scalarBytes(llvm::cast<MemRefType>(buffer.memory.getType()).getElementType());
  auto powerIn = [](int64_t number) { return number & -number; };
  int64_t alignment = buffer.alignment ? buffer.alignment : powerIn(bytes);
  for (auto [axis, index] : llvm::enumerate(at)) {
    auto known = IndexMath::constantOf(index), step = IndexMath::constantOf(buffer.strides[axis]);
    int64_t number = known ? *known : std::max<int64_t>(multiples.lookup(index), 1);
    if (!buffer.origin.empty() && buffer.origin[axis])
      number = 1;
    const int64_t distance = number * step.value_or(1) * bytes;
    if (distance != 0)
      alignment = std::min(alignment, powerIn(distance));
  }
  return alignment;
}

/// Where neighbours lie side by side, they are marked, so that one access may take them all
/// (`pipe.run`: place, length, a number, the alignment that is known).
SmallVector<Value> GpuEmitter::load(const Buffer &buffer, Indices at, ArrayRef<int64_t> counts) {
  Type type = llvm::cast<MemRefType>(buffer.memory.getType()).getElementType();
  int64_t run = mayRun(type) ? runLength(buffer.strides, counts) : 1;
  const int64_t bytes = run * scalarBytes(type), alignment = alignmentOf(buffer, at);
  const bool isWhole = bytes % 4 == 0 && alignment >= 4;
  if (!isWhole && !buffer.hasSlack && scalarBytes(type) < 4)
    run = 1;
  SmallVector<Value> values;
  Value first;
  forEachPlace(counts, [&](ArrayRef<int64_t> place) {
    const auto number = static_cast<int64_t>(values.size());
    if (number % run == 0)
      first = this->place(buffer, moved(at, place));
    auto loaded =
        b.create<memref::LoadOp>(loc, buffer.memory, x.add(first, x.constant(number % run)));
    if (run > 1)
      loaded->setAttr("pipe.run", b.getDenseI64ArrayAttr({number % run, run, runs + number / run,
                                                          isWhole ? alignment : 0}));
    values.push_back(loaded);
  });
  runs += static_cast<int64_t>(values.size()) / run;
  return values;
}

/// Neighbours are marked, and follow each other, so that they are one store (`pipe.run`: place,
/// length).
void GpuEmitter::save(ArrayRef<Value> values, const Buffer &buffer, Indices at,
                      ArrayRef<int64_t> counts) {
  const int64_t run = mayRun(values[0].getType()) ? runLength(buffer.strides, counts) : 1;
  int64_t number = 0;
  Value first;
  forEachPlace(counts, [&](ArrayRef<int64_t> place) {
    const int64_t inRun = number % run;
    if (inRun == 0)
      first = this->place(buffer, moved(at, place));
    auto stored = b.create<memref::StoreOp>(loc, values[static_cast<size_t>(number)], buffer.memory,
                                            x.add(first, x.constant(inRun)));
    if (run > 1)
      stored->setAttr("pipe.run", b.getDenseI64ArrayAttr({inRun, run}));
    ++number;
  });
}

//===--- elements ----------------------------------------------------------===//

SmallVector<Value> GpuEmitter::elements(Value tensor, Indices at, ArrayRef<int64_t> counts) {
  auto keyOf = [&](ArrayRef<int64_t> place) {
    IndexMath::Key key{tensor.getAsOpaquePointer(), this};
    for (Value index : moved(at, place))
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
  const Location around = loc;
  if (Operation *op = tensor.getDefiningOp())
    moveTo(op->getLoc());
  auto stored = buffers.find(tensor);
  if (product(counts) > 1)
    made = stored != buffers.end() ? load(stored->second, at, counts)
                                   : makeElements(tensor, at, counts);
  moveTo(around);
  if (made.empty()) {
    forEachPlace(counts, [&](ArrayRef<int64_t> place) {
      made.push_back(element(tensor, moved(at, place)));
    });
    return made;
  }
  forEachPlace(counts, [&](ArrayRef<int64_t> place) {
    x.remember(keyOf(place), made[numberOf(place, counts)]);
  });
  return made;
}

/// Nothing where each element is made by itself.
SmallVector<Value> GpuEmitter::makeElements(Value tensor, Indices at, ArrayRef<int64_t> counts) {
  Type type = typeOf(tensor).getElementType();
  return llvm::TypeSwitch<Operation *, SmallVector<Value>>(tensor.getDefiningOp())
      .Case([&](ViewOp op) { return viewed(op, at, counts); })
      .Case([&](CastOp op) {
        SmallVector<Value> values = elements(op.getValue(), at, counts);
        for (Value &value : values)
          if (value.getType() != type)
            value = b.create<CastOp>(loc, type, op.getMode(), value, ValueRange{});
        return values;
      })
      .Case([&](MapOp op) { return mapped(op, at, counts); })
      .Case([&](ResampleOp op) { return resampled(op, at, counts); })
      .Case([&](ChooseOp op) {
        const unsigned number = llvm::cast<OpResult>(tensor).getResultNumber();
        auto arm = [&](int64_t taken) {
          return elements(op.getArms()[taken].front().getTerminator()->getOperand(number), at,
                          counts);
        };
        return oneOf(asIndex(op.getIndex()), static_cast<int64_t>(op.getArms().size()),
                     SmallVector<Type>(static_cast<size_t>(product(counts)), type), arm);
      })
      .Default([](Operation *) { return SmallVector<Value>(); });
}

/// A box of a view is one of its input where every axis moves by one with at most one of the
/// view's.
SmallVector<Value> GpuEmitter::viewed(ViewOp op, Indices at, ArrayRef<int64_t> counts) {
  SmallVector<Value> symbols, inner, first(at);
  for (Value symbol : op.getSymbols())
    symbols.push_back(asIndex(symbol));
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
  SmallVector<Value> read = elements(op.getInput(), inner, source), made;
  forEachPlace(counts, [&](ArrayRef<int64_t> place) {
    SmallVector<int64_t> there;
    for (int64_t axis : from)
      there.push_back(axis < 0 ? 0 : isTurned[axis] ? counts[axis] - 1 - place[axis] : place[axis]);
    made.push_back(read[numberOf(there, source)]);
  });
  return made;
}

SmallVector<Value> GpuEmitter::mapped(MapOp op, Indices at, ArrayRef<int64_t> counts) {
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
    read.push_back(elements(input, inner, box));
    axes.push_back(std::move(own));
    boxes.push_back(std::move(box));
  }
  SmallVector<Value> made;
  forEachPlace(counts, [&](ArrayRef<int64_t> place) {
    SmallVector<Value> there = moved(at, place);
    for (auto [axis, argument] : llvm::enumerate(body.getArguments().drop_front(read.size())))
      if (!argument.use_empty())
        map.map(argument, x.toI64(there[axis]));
    for (auto [number, values] : llvm::enumerate(read)) {
      SmallVector<int64_t> inner;
      for (int64_t axis : axes[number])
        inner.push_back(place[axis]);
      map.map(body.getArgument(static_cast<unsigned>(number)),
              values[numberOf(inner, boxes[number])]);
    }
    made.push_back(results(body).front());
  });
  return made;
}

/// One loop over the taps of all of them; elements along the axis have taps of their own.
SmallVector<Value> GpuEmitter::resampled(ResampleOp op, Indices at, ArrayRef<int64_t> counts) {
  NamedTensorType type = typeOf(op.getResult());
  const int64_t axis = type.axisIndex(op.getAxis());
  if (counts[axis] > 1)
    return {};
  Type sumType = sumTypeOf(op);
  Value start = x.toIndex(cast(element(op.getStart(), at[axis]), b.getI64Type()));
  SmallVector<Value> sums =
      loop(x.constant(0), extent(op.getWeights(), 1), 1,
           SmallVector<Value>(static_cast<size_t>(product(counts)), zeroOf(sumType)),
           [&](Value k, ValueRange sofar) {
             SmallVector<Value> inner(at), next;
             inner[axis] = x.add(start, k);
             Value weight = element(op.getWeights(), {at[axis], k});
             for (auto [value, sum] : llvm::zip(elements(op.getInput(), inner, counts), sofar))
               next.push_back(binary(BinaryKind::add, sum,
                                     binary(BinaryKind::mul, weight, cast(value, sumType))));
             return next;
           });
  for (Value &sum : sums)
    sum = resampledFrom(op, sum);
  return sums;
}
