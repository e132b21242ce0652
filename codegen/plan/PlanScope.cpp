// SPDX-License-Identifier: Apache-2.0
//
// Values of the pipeline, as entries of the plan.
#include "codegen/plan/PlanScope.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::codegen;

plan::DType codegen::planType(Type type) {
  StringRef name = pipe::scalarName(type);
  for (plan::DType candidate :
       {plan::DType::u8, plan::DType::i8, plan::DType::u16, plan::DType::i16, plan::DType::i32,
        plan::DType::i64, plan::DType::f16, plan::DType::bf16, plan::DType::f32, plan::DType::f64})
    if (name == plan::EnumNameDType(candidate))
      return candidate;
  if (name == "bool")
    return plan::DType::boolean;
  if (llvm::isa<pipe::BytesType>(type))
    return plan::DType::bytes;
  if (llvm::isa<pipe::TextType>(type))
    return plan::DType::text;
  if (auto tensor = llvm::dyn_cast<pipe::NamedTensorType>(type))
    return planType(tensor.getElementType());
  return plan::DType::none;
}

Literal codegen::literalOf(Attribute attribute) {
  Literal literal;
  if (auto text = llvm::dyn_cast_or_null<StringAttr>(attribute)) {
    literal.type = plan::DType::text;
    literal.text = text.str();
  } else if (auto number = llvm::dyn_cast_or_null<FloatAttr>(attribute)) {
    literal.type = planType(number.getType());
    literal.number = number.getValueAsDouble();
  } else if (auto integer = llvm::dyn_cast_or_null<IntegerAttr>(attribute)) {
    literal.type = planType(integer.getType());
    const APInt &value = integer.getValue();
    const bool isUnsigned = value.getBitWidth() == 1 || pipe::isUnsigned(integer.getType());
    literal.integer =
        isUnsigned ? static_cast<int64_t>(value.getZExtValue()) : value.getSExtValue();
  }
  return literal;
}

FailureOr<int> PlanScope::slotOf(Value scalar) {
  auto slot = scalar.getDefiningOp<pipe::EntryOp>();
  if (slot)
    return static_cast<int>(slot.getIndex());
  emitError(scalar.getLoc()) << "a scalar of the pipeline is not in the parameter block; the "
                                "split has not run, or left it behind";
  return failure();
}

FailureOr<std::vector<std::unique_ptr<plan::DimT>>> PlanScope::dimsOf(Value tensor) {
  auto type = llvm::cast<pipe::NamedTensorType>(tensor.getType());
  std::vector<std::unique_ptr<plan::DimT>> dims;
  for (auto [i, axis] : llvm::enumerate(type.getAxes())) {
    auto dim = std::make_unique<plan::DimT>();
    dim->extent = axis.extent;
    dim->bound = axis.bound;
    if (!axis.isStatic()) {
      OpFoldResult extent = pipe::extentOf(tensor, static_cast<int64_t>(i));
      auto value = llvm::dyn_cast_if_present<Value>(extent);
      if (!value) {
        emitError(tensor.getLoc()) << "the extent of axis `" << axis.name << "` is not known";
        return failure();
      }
      if (auto constant = value.getDefiningOp<pipe::ConstantOp>()) {
        dim->extent = literalOf(constant.getValue()).integer;
      } else {
        FailureOr<int> slot = slotOf(value);
        if (failed(slot))
          return failure();
        dim->slot = *slot;
      }
    }
    dims.push_back(std::move(dim));
  }
  return dims;
}

FailureOr<int> PlanScope::addBuffer(Value tensor, plan::BufferKind kind) {
  auto dims = dimsOf(tensor);
  if (failed(dims))
    return failure();
  auto type = llvm::cast<pipe::NamedTensorType>(tensor.getType());
  auto buffer = std::make_unique<plan::BufferT>();
  buffer->kind = kind;
  buffer->type = planType(type.getElementType());
  buffer->dims = std::move(*dims);
  for (const pipe::Axis &axis : type.getAxes())
    buffer->axes.push_back(axis.name);
  const int number = static_cast<int>(plan.buffers.size());
  plan.buffers.push_back(std::move(buffer));
  buffers[tensor] = number;
  return number;
}

FailureOr<int> PlanScope::bufferOf(Value tensor) {
  if (auto known = buffers.find(tensor); known != buffers.end())
    return known->second;
  Operation *op = tensor.getDefiningOp();
  if (auto field = llvm::dyn_cast_or_null<pipe::FieldOp>(op)) {
    FailureOr<int> number = addBuffer(tensor, plan::BufferKind::field);
    if (failed(number))
      return failure();
    plan.buffers[*number]->row = rowOf(field.getRow());
    plan.buffers[*number]->column = columnOf(field.getRow(), field.getName());
    return number;
  }
  if (auto constant = llvm::dyn_cast_or_null<pipe::ConstantOp>(op)) {
    FailureOr<int> number = addBuffer(tensor, plan::BufferKind::constant);
    if (failed(number))
      return failure();
    auto elements = llvm::cast<DenseElementsAttr>(constant.getValue());
    const int64_t width =
        pipe::scalarBytes(llvm::cast<pipe::NamedTensorType>(tensor.getType()).getElementType());
    std::vector<uint8_t> &data = plan.buffers[*number]->data;
    auto append = [&](const APInt &bits) {
      const uint64_t word = bits.getZExtValue();
      for (int64_t i = 0; i < width; ++i)
        data.push_back(static_cast<uint8_t>(word >> (8 * i)));
    };
    if (llvm::isa<FloatType>(elements.getElementType()))
      for (const APFloat &value : elements.getValues<APFloat>())
        append(value.bitcastToAPInt());
    else
      for (const APInt &value : elements.getValues<APInt>())
        append(value);
    return number;
  }
  if (auto chosen = llvm::dyn_cast_or_null<pipe::SwitchOp>(op)) {
    FailureOr<int> index = slotOf(chosen.getIndex());
    if (failed(index))
      return failure();
    std::vector<int> choices;
    for (Value input : chosen.getInputs()) {
      FailureOr<int> choice = bufferOf(input);
      if (failed(choice))
        return failure();
      choices.push_back(*choice);
    }
    FailureOr<int> number = addBuffer(tensor, plan::BufferKind::alias);
    if (failed(number))
      return failure();
    plan.buffers[*number]->choices = choices;
    plan.buffers[*number]->index_slot = *index;
    return number;
  }
  emitError(tensor.getLoc()) << "no buffer holds this tensor when the plan is made";
  return failure();
}

FailureOr<std::unique_ptr<plan::AccessT>> PlanScope::accessOf(Value tensor) {
  auto access = std::make_unique<plan::AccessT>();
  auto peer = tensor.getDefiningOp<pipe::PeerOp>();
  auto peers = tensor.getDefiningOp<pipe::PeersOp>();
  FailureOr<int> buffer = bufferOf(peer ? peer.getValue() : peers ? peers.getValue() : tensor);
  if (failed(buffer))
    return failure();
  access->buffer = *buffer;
  plan.buffers[*buffer]->peer |= peer || peers;
  if (peer) {
    FailureOr<int> slot = slotOf(peer.getSlot());
    if (failed(slot))
      return failure();
    access->peer_slot = *slot;
  }
  if (peers) {
    access->all = true;
    access->count = llvm::cast<pipe::NamedTensorType>(tensor.getType()).getAxes()[0].extent;
  }
  return access;
}

int PlanScope::stageOf(Value tensor, bool once) {
  Operation *op = tensor.getDefiningOp();
  if (llvm::isa_and_nonnull<pipe::PeerOp, pipe::PeersOp>(op))
    return stageOf(op->getOperand(0)) + 1;
  if (auto known = choices.find({tensor, int(once)}); known != choices.end())
    return known->second;
  if (auto chosen = llvm::dyn_cast_or_null<pipe::SwitchOp>(op)) {
    int stage = 0;
    for (Value input : chosen.getInputs())
      stage = std::max(stage, stageOf(input, once));
    return choices[{tensor, int(once)}] =
               stage; // choices of choices share most of what they stand for
  }
  auto known = stages.find(tensor);
  const int made = known == stages.end() ? 0 : known->second;
  return made + (madeOnce.contains(tensor) && !once ? 1 : 0);
}

int PlanScope::rowOf(Value row) { return rows.at(row); }

int PlanScope::columnOf(Value row, StringRef name) {
  Value table = llvm::isa<pipe::RowOp>(row.getDefiningOp())
                    ? llvm::cast<pipe::RowOp>(row.getDefiningOp()).getTable()
                    : llvm::cast<pipe::PickOp>(row.getDefiningOp()).getTable();
  const auto &columns = plan.sources[static_cast<size_t>(sources.lookup(table))]->columns;
  for (auto [i, column] : llvm::enumerate(columns))
    if (column->name == name)
      return static_cast<int>(i);
  return -1;
}

int PlanScope::mediaOf(Value bytes, StringRef kind) {
  auto field = bytes.getDefiningOp<pipe::FieldOp>();
  const int row = rowOf(field.getRow());
  const int column = columnOf(field.getRow(), field.getName());
  for (auto [i, known] : llvm::enumerate(plan.media))
    if (known->row == row && known->column == column && known->media == kind)
      return static_cast<int>(i);
  auto entry = std::make_unique<plan::MediaT>();
  entry->row = row;
  entry->column = column;
  entry->media = kind.str();
  plan.media.push_back(std::move(entry));
  return static_cast<int>(plan.media.size()) - 1;
}
