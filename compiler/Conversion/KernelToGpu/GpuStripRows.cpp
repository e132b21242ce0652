// SPDX-License-Identifier: Apache-2.0
//
// Rows of memory that a strip reads.
//
// A row that is read backwards, or ends at a padding, is loaded by functions of penstock.cuh that
// turn it round and fill it up: in registers it lies like any other. Of interleaved pixels all of a
// row is loaded, also where one channel of each is read.
#include "compiler/Analysis/ViewSteps.h"
#include "compiler/Conversion/KernelToGpu/GpuElements.h"
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "compiler/Conversion/KernelToGpu/GpuScalars.h"
#include "compiler/Conversion/KernelToGpu/GpuStrips.h"
#include "mlir/IR/AffineExpr.h"
#include <map>

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

namespace {
/// A row of memory: pixels, `step` pixels apart.
struct Row {
  Value input;
  SmallVector<Value> index;         ///< of the first element, by axis of the input
  int64_t axis = -1, channels = -1; ///< the input's: along the row, within a pixel if several
  int64_t channelStep = 1;
  Value step;     ///< null: 1
  Value fill;     ///< of paddings: what is no element of the row; null: there are none
  Value isInside; ///< whether there is a row at all; null: there is
  bool isPadded = false;
};

class StripRows {
public:
  explicit StripRows(const GpuSite &site) : site(site) {}
  void load(const StripReading &reading);
  /// The arrays, but for those of tensors that are also read elsewhere.
  GpuBuffers take();

private:
  std::optional<Row> rowOf(const StripReading &reading) const;
  bool lookThroughView(const StripReading &reading, ViewOp view, Row &row) const;
  bool lookThroughPad(PadOp pad, Row &row) const;
  std::optional<GpuBuffer> registersOf(const StripReading &reading);
  Value loaded(const Row &row, const GpuBuffer &memory, int64_t length, int64_t group);
  void stop(Value tensor);

  const GpuSite &site;
  GpuBuffers near;
  std::map<IndexMath::Key, Value> rows;
  llvm::DenseMap<Value, StripReading> seen;
  llvm::DenseSet<Value> apart; ///< read at other indices
};
} // namespace

/// A row that moves along `row.axis`, and pixels whose channels are at numbers that are known.
bool StripRows::lookThroughView(const StripReading &reading, ViewOp view, Row &row) const {
  auto [ctx, b, x, s] = site.parts();
  SmallVector<Value> symbols;
  for (Value symbol : view.getSymbols())
    symbols.push_back(asIndex(site, symbol));
  for (auto [axis, count] : llvm::enumerate(reading.counts)) {
    if (count == 1)
      continue;
    const auto found = penstock::analysis::stepAlong(view, static_cast<int64_t>(axis));
    if (!found || found->axis < 0 || !found->step.isSymbolicOrConstant())
      return false;
    if (static_cast<int64_t>(axis) == reading.along) {
      row.axis = found->axis;
      row.step = x.affine(found->step, reading.at, symbols);
      continue;
    }
    auto step = llvm::dyn_cast<AffineConstantExpr>(found->step);
    if (!step || row.channels >= 0)
      return false;
    row.channels = found->axis;
    row.channelStep = step.getValue();
  }
  for (AffineExpr expr : view.getMap().getResults())
    row.index.push_back(x.affine(expr, reading.at, symbols));
  row.input = view.getInput();
  return row.axis != row.channels;
}

/// Rows outside are not read; along the row, which one padding may make longer, the function that
/// loads it fills it up.
bool StripRows::lookThroughPad(PadOp pad, Row &row) const {
  auto [ctx, b, x, s] = site.parts();
  NamedTensorType type = typeOf(pad.getInput());
  Type element = type.getElementType();
  Value fill = scalarOf(site, pad.getFill());
  if (pad.getBorder() != Border::constant || element.isF16() || element.isBF16() ||
      (row.fill && row.fill != fill))
    return false;
  row.fill = fill;
  for (auto [name, amount] : llvm::zip(pad.getOver().getAsRange<StringAttr>(), pad.getLow())) {
    const int64_t axis = type.axisIndex(name);
    if (axis == row.channels || (axis == row.axis && std::exchange(row.isPadded, true)))
      return false;
    row.index[axis] = x.sub(row.index[axis], asIndex(site, amount));
    if (axis != row.axis)
      row.isInside =
          x.both(row.isInside, x.inside(row.index[axis], extent(site, pad.getInput(), axis)));
  }
  row.input = pad.getInput();
  return true;
}

std::optional<Row> StripRows::rowOf(const StripReading &reading) const {
  Row row;
  if (auto view = reading.tensor.getDefiningOp<ViewOp>()) {
    if (!lookThroughView(reading, view, row))
      return std::nullopt;
  } else {
    row.input = reading.tensor;
    row.index = reading.at;
    row.axis = reading.along;
    for (auto [axis, count] : llvm::enumerate(reading.counts)) {
      if (count == 1 || static_cast<int64_t>(axis) == reading.along)
        continue;
      if (row.channels >= 0)
        return std::nullopt;
      row.channels = static_cast<int64_t>(axis);
    }
  }
  while (auto pad = row.input.getDefiningOp<PadOp>())
    if (!lookThroughPad(pad, row))
      return std::nullopt;
  return row;
}

/// The array that the row is in; it is loaded once.
Value StripRows::loaded(const Row &row, const GpuBuffer &memory, int64_t length, int64_t group) {
  auto [ctx, b, x, s] = site.parts();
  SmallVector<Value> first(row.index);
  Value column = std::exchange(first[row.axis], x.constant(0));
  Value from = elementOffset(site, memory, first), step = row.step ? row.step : x.constant(1);
  const IndexMath::Key key{row.input.getAsOpaquePointer(),        from.getAsOpaquePointer(),
                           column.getAsOpaquePointer(),           step.getAsOpaquePointer(),
                           row.fill.getAsOpaquePointer(),         row.isInside.getAsOpaquePointer(),
                           x.constant(group).getAsOpaquePointer()};
  Value &array = rows[key];
  if (array)
    return array;
  Type element = typeOf(row.input).getElementType();
  auto made = b.create<memref::AllocaOp>(site.loc, MemRefType::get({length * group}, element));
  setInRegisters(made);
  array = made;
  const std::string groups = "<" + std::to_string(group) + ">";
  if (!row.fill) {
    Value place = x.add(from, x.mul(column, x.constant(group)));
    call(site, "pst_take_row" + groups, {}, {array, memory.memory, place, step});
    return array;
  }
  Value size = extent(site, row.input, row.axis);
  if (row.isInside)
    size = b.create<arith::SelectOp>(site.loc, row.isInside, size, x.constant(0));
  call(site, "pst_take_padded" + groups, {},
       {array, memory.memory, from, column, step, size, row.fill});
  return array;
}

/// Pixels of memory are neighbours, and so are their channels.
std::optional<GpuBuffer> StripRows::registersOf(const StripReading &reading) {
  auto [ctx, b, x, s] = site.parts();
  auto row = rowOf(reading);
  const GpuBuffer *memory = row ? site.bufferOf(row->input) : nullptr;
  if (!memory || !memory->hasSlack || !mayRun(typeOf(reading.tensor).getElementType()))
    return std::nullopt;
  NamedTensorType type = typeOf(row->input);
  const int64_t last = type.getRank() - 1;
  const int64_t group = row->axis == last ? 1 : type.getAxes()[last].extent;
  if (IndexMath::constantOf(memory->strides[row->axis]) != group ||
      (row->channels >= 0 && (row->axis == last || row->channels != last)))
    return std::nullopt;
  GpuBuffer registers;
  if (row->axis != last) {
    // A channel that is known is one of the pixel's; of another one the row begins there.
    const auto channel = IndexMath::constantOf(row->index[last]);
    if (channel)
      row->index[last] = x.constant(0);
    else if (row->channels >= 0)
      return std::nullopt;
    registers.before = channel.value_or(0);
  }
  registers.memory = loaded(*row, *memory, reading.counts[reading.along], group);
  registers.inRegisters = true;
  for (auto [axis, count] : llvm::enumerate(reading.counts)) {
    const bool isAlong = static_cast<int64_t>(axis) == reading.along;
    registers.strides.push_back(x.constant(isAlong ? group : count > 1 ? row->channelStep : 0));
    registers.origin.push_back(isAlong ? reading.at[axis] : Value());
  }
  return registers;
}

/// A tensor that is read at two places is in no array.
void StripRows::load(const StripReading &reading) {
  if (auto [first, isNew] = seen.try_emplace(reading.tensor, reading); !isNew) {
    if (first->second.at != reading.at || first->second.along != reading.along)
      stop(reading.tensor);
    return;
  }
  if (reading.along < 0) {
    elements(site, reading.tensor, reading.at, reading.counts);
    stop(reading.tensor);
    return;
  }
  if (auto registers = registersOf(reading)) {
    near[reading.tensor] = *registers;
    return;
  }
  auto inputs = readingsBehind(site, reading);
  if (!inputs)
    return stop(reading.tensor);
  if (auto map = reading.tensor.getDefiningOp<MapOp>()) // what it looks up it reads anywhere
    map.walk([&](LoadOp looked) { stop(looked.getTensor()); });
  for (const StripReading &inner : *inputs)
    load(inner);
}

/// The tensor, and what it is made of, is read at indices of its own.
void StripRows::stop(Value tensor) {
  SmallVector<Value> stopped{tensor};
  while (!stopped.empty()) {
    Value next = stopped.pop_back_val();
    if (!apart.insert(next).second)
      continue;
    if (Operation *op = next.getDefiningOp())
      op->walk([&](Operation *inner) {
        llvm::copy_if(inner->getOperands(), std::back_inserter(stopped), holdsGpuTensor);
      });
  }
}

GpuBuffers StripRows::take() {
  for (Value tensor : apart)
    near.erase(tensor);
  return std::move(near);
}

//===--- what is only computed ---------------------------------------------===//

/// The arm that is decided.
static StripReading readingOfArm(const StripReading &reading, Operation *op, int64_t arm) {
  StripReading inner = reading;
  if (auto stack = llvm::dyn_cast<StackOp>(op)) {
    inner.tensor = stack.getInputs()[arm];
    inner.at.erase(inner.at.begin());
    inner.counts.erase(inner.counts.begin());
    --inner.along;
    return inner;
  }
  Region &taken = llvm::cast<ChooseOp>(op).getArms()[static_cast<unsigned>(arm)];
  inner.tensor = taken.front().getTerminator()->getOperand(
      llvm::cast<OpResult>(reading.tensor).getResultNumber());
  return inner;
}

static SmallVector<StripReading> readingsOf(const StripReading &reading, MapOp map) {
  NamedTensorType domain = typeOf(map.getResult());
  SmallVector<StripReading> inputs;
  for (Value input : map.getInputs()) {
    StripReading inner{input, {}, {}, -1};
    for (const Axis &axis : typeOf(input).getAxes()) {
      const int64_t own = domain.axisIndex(axis.name);
      if (own == reading.along)
        inner.along = static_cast<int64_t>(inner.at.size());
      inner.at.push_back(reading.at[own]);
      inner.counts.push_back(reading.counts[own]);
    }
    inputs.push_back(std::move(inner));
  }
  return inputs;
}

/// Of a view that leaves the axes of the box as they are, in any order.
static std::optional<StripReading> readingOf(const GpuSite &site, const StripReading &reading,
                                             ViewOp view) {
  auto [ctx, b, x, s] = site.parts();
  SmallVector<Value> symbols;
  for (Value symbol : view.getSymbols())
    symbols.push_back(asIndex(site, symbol));
  StripReading inner{view.getInput(), {}, {}, -1};
  for (AffineExpr expr : view.getMap().getResults()) {
    int64_t count = 1;
    for (auto [axis, several] : llvm::enumerate(reading.counts)) {
      if (several == 1 || !expr.isFunctionOfDim(static_cast<unsigned>(axis)))
        continue;
      if (expr != b.getAffineDimExpr(static_cast<unsigned>(axis)))
        return std::nullopt;
      count = several;
      if (static_cast<int64_t>(axis) == reading.along)
        inner.along = static_cast<int64_t>(inner.at.size());
    }
    inner.at.push_back(x.affine(expr, reading.at, symbols));
    inner.counts.push_back(count);
  }
  return inner;
}

std::optional<SmallVector<StripReading>>
penstock::conversion::readingsBehind(const GpuSite &site, const StripReading &reading) {
  Operation *op = reading.tensor.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto decided = site.ctx.arms.find(op); decided != site.ctx.arms.end())
    return SmallVector<StripReading>{readingOfArm(reading, op, decided->second)};
  if (auto cast = llvm::dyn_cast<CastOp>(op))
    return SmallVector<StripReading>{{cast.getValue(), reading.at, reading.counts, reading.along}};
  if (auto map = llvm::dyn_cast<MapOp>(op))
    return readingsOf(reading, map);
  if (auto view = llvm::dyn_cast<ViewOp>(op))
    if (auto inner = readingOf(site, reading, view))
      return SmallVector<StripReading>{*inner};
  return std::nullopt;
}

GpuBuffers penstock::conversion::loadRows(const GpuSite &site, const StripReading &reading) {
  StripRows rows(site);
  rows.load(reading);
  return rows.take();
}
