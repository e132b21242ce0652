// SPDX-License-Identifier: Apache-2.0
//
// Parameters, rows, media, keys and draws.
#include "runtime/abi/random.h"
#include "stdlib/reference/Arithmetic.h"
#include "stdlib/reference/Machine.h"

#include <bit>

namespace penstock::reference {

static void fail(Slot &slot, const std::string &message, int64_t first = 0, int64_t second = 0) {
  slot.result.failure = Failure{message, first, second};
}

/// A field as a register's value; scalars take the type of the IR.
static Value valueOf(const Field &field, mlir::Type type) {
  if (const auto *number = std::get_if<Scalar>(&field))
    return pipe::isScalarType(type) ? Value(cast(pipe::CastMode::value, *number, dtypeOf(type)))
                                    : Value(*number);
  if (const auto *tensor = std::get_if<TensorRef>(&field))
    return *tensor;
  if (const auto *bytes = std::get_if<Bytes>(&field))
    return *bytes;
  return std::get<std::string>(field);
}

//===--- parameters and tables ---------------------------------------------===//

void runParam(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::ParamOp>(self.op);
  Value &result = slot.values[self.results[0]];
  const auto given = machine.inputs.params.find(op.getName().str());
  if (given != machine.inputs.params.end()) {
    result = valueOf(given->second, op.getType());
    return;
  }
  mlir::Attribute value = op.getDefaultValueAttr();
  if (auto real = llvm::dyn_cast_or_null<mlir::FloatAttr>(value))
    result = valueOf(realScalar(real.getValueAsDouble()), op.getType());
  else if (auto integer = llvm::dyn_cast_or_null<mlir::IntegerAttr>(value))
    result = valueOf(intScalar(integer.getType().isInteger(1) ? integer.getValue().getZExtValue()
                                                              : integer.getInt()),
                     op.getType());
  else if (auto text = llvm::dyn_cast_or_null<mlir::StringAttr>(value))
    result = text.getValue().str();
  else
    fault(op, "parameter `" + op.getName().str() + "` needs a value");
}

void runSource(Machine &machine, llvm::ArrayRef<Slot *> active, const Instruction &self) {
  auto op = llvm::cast<pipe::SourceOp>(self.op);
  if (active.empty())
    return;
  std::map<std::string, Field> args;
  for (auto [name, arg] : llvm::zip(op.getArgNames(), op.getArgs())) {
    const Value &value = machine.value(*active.front(), arg);
    Field &field = args[llvm::cast<mlir::StringAttr>(name).str()];
    if (const auto *number = std::get_if<Scalar>(&value))
      field = *number;
    else if (const auto *tensor = std::get_if<TensorRef>(&value))
      field = *tensor;
    else if (const auto *text = std::get_if<std::string>(&value))
      field = *text;
  }
  std::shared_ptr<Table> table =
      machine.inputs.open ? machine.inputs.open(op.getKind().str(), args) : nullptr;
  if (!table)
    fault(op, "no such table");
  for (Slot *slot : active)
    slot->values[self.results[0]] = table;
}

static const std::shared_ptr<Table> &tableIn(const Slot &slot, unsigned number) {
  return std::get<std::shared_ptr<Table>>(slot.values[number]);
}

void runLength(Machine &, Slot &slot, const Instruction &self) {
  slot.values[self.results[0]] = intScalar(tableIn(slot, self.operands[0])->length());
}

void runPick(Machine &, Slot &slot, const Instruction &self) {
  const auto &table = tableIn(slot, self.operands[0]);
  const int64_t index = scalarIn(slot, self.operands[1]).integer;
  if (table->length() == 0)
    fault(self.op, "picks from an empty table");
  slot.values[self.results[0]] = Row{table, std::clamp<int64_t>(index, 0, table->length() - 1)};
}

/// A tensor with every NaN canonical: memory that nobody of ours stored.
static TensorRef canonical(const Tensor &tensor) {
  auto result = std::make_shared<Tensor>(tensor.type, tensor.axes, tensor.extents);
  for (int64_t i = 0; i < result->count(); ++i)
    result->store(i, tensor.load(i));
  return result;
}

void runField(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::FieldOp>(self.op);
  const Row &row = std::get<Row>(slot.values[self.operands[0]]);
  Value value = valueOf(row.table->field(row.number, op.getName().str()), op.getType());
  if (auto type = llvm::dyn_cast<pipe::NamedTensorType>(op.getType())) {
    const Tensor wanted = machine.blank(slot, op.getResult());
    const auto *tensor = std::get_if<TensorRef>(&value);
    if (!tensor || (*tensor)->type != wanted.type || (*tensor)->axes != wanted.axes ||
        (*tensor)->extents != wanted.extents)
      fault(op, "field `" + op.getName().str() + "` has another type or other extents");
    value = canonical(**tensor);
  }
  slot.values[self.results[0]] = std::move(value);
}

void runFieldExtent(Machine &, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::FieldExtentOp>(self.op);
  const Row &row = std::get<Row>(slot.values[self.operands[0]]);
  const Field field = row.table->field(row.number, op.getName().str());
  const auto *tensor = std::get_if<TensorRef>(&field);
  const int64_t axis = tensor ? (*tensor)->axis(op.getAxis().str()) : -1;
  if (axis < 0)
    fault(op, "field `" + op.getName().str() + "` has no such axis");
  slot.values[self.results[0]] = intScalar((*tensor)->extents[static_cast<size_t>(axis)]);
}

void runFieldElement(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::FieldElementOp>(self.op);
  const Row &row = std::get<Row>(slot.values[self.operands[0]]);
  const Field field = row.table->field(row.number, op.getName().str());
  const auto *tensor = std::get_if<TensorRef>(&field);
  if (!tensor || (*tensor)->type != self.type ||
      (*tensor)->rank() != static_cast<int64_t>(op.getIndices().size()))
    fault(op, "field `" + op.getName().str() + "` has another type");
  slot.values[self.results[0]] = loadedAt(*canonical(**tensor), [&](size_t axis) {
    return scalarIn(slot, self.operands[axis + 1]).integer;
  });
}

/// Kernels read them (runEarlyKernel).
void runFields(Machine &, Slot &, const Instruction &) {}

//===--- media -------------------------------------------------------------===//

static const Media &mediaOf(Machine &machine, mlir::Operation *op) {
  if (!machine.inputs.media)
    fault(op, "nobody can read media here");
  return *machine.inputs.media;
}

void runProbe(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::ProbeOp>(self.op);
  if (op.getMedia() == "numbers") {
    const auto size = std::get<Bytes>(slot.values[self.operands[0]])->size();
    slot.values[self.results[0]] = intScalar(static_cast<int64_t>(size));
    return;
  }
  const auto header =
      mediaOf(machine, op)
          .probe(op.getMedia().str(), std::get<Bytes>(slot.values[self.operands[0]]));
  if (!header)
    return fail(slot, "the header cannot be read");
  const media::Medium &medium = media::all[media::find(op.getMedia().str())];
  const auto number = static_cast<size_t>(media::numberNamed(medium, op.getNumber().str()));
  const int64_t value = (*header)[number];
  slot.values[self.results[0]] =
      medium.numbers[number].isReal ? realScalar(std::bit_cast<double>(value)) : intScalar(value);
}

/// The upright image, for an EXIF orientation of 1 ... 8; `h` is its axis of rows.
static Tensor upright(const Tensor &stored, int64_t orientation, size_t h) {
  const int64_t height = stored.extents[h], width = stored.extents[h + 1];
  const bool turned = orientation >= 5;
  std::vector<int64_t> extents = stored.extents;
  if (turned)
    std::swap(extents[h], extents[h + 1]);
  Tensor result(stored.type, stored.axes, extents);
  forEachIndex(extents, [&](const std::vector<int64_t> &index) {
    std::vector<int64_t> from = index;
    if (turned)
      std::swap(from[h], from[h + 1]);
    if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7)
      from[h] = height - 1 - from[h];
    if (orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8)
      from[h + 1] = width - 1 - from[h + 1];
    result.store(result.offset(index), stored.load(stored.offset(from)));
  });
  return result;
}

/// Elements outside low ..< high along an axis become a pattern, so that a pass
/// which asks for too little shows.
static void spoilOutside(Tensor &tensor, size_t axis, int64_t low, int64_t high) {
  const int64_t bytes =
      static_cast<int64_t>(tensor.bytes.size()) / std::max<int64_t>(tensor.count(), 1);
  forEachIndex(tensor.extents, [&](const std::vector<int64_t> &i) {
    if (i[axis] < low || i[axis] >= high)
      std::fill_n(tensor.bytes.begin() + tensor.offset(i) * bytes, bytes, uint8_t{0xA5});
  });
}

/// Stores the result, with the elements outside of the region spoilt.
static void deliver(Machine &machine, Slot &slot, pipe::DecodeOp op, Tensor result) {
  const size_t axes = op.getRegion().size() / 2;
  for (size_t i = 0; i < axes; ++i) {
    const int64_t axis = result.axis(llvm::cast<mlir::StringAttr>((*op.getOver())[i]).str());
    spoilOutside(result, static_cast<size_t>(axis), machine.integer(slot, op.getRegion()[i]),
                 machine.integer(slot, op.getRegion()[axes + i]));
  }
  machine.set(slot, op.getResult(), std::move(result));
}

/// Elements one behind the other, the last axis fastest. Nothing where there are
/// too few bytes.
static std::optional<Tensor> numbersOf(const std::vector<uint8_t> &file, int64_t skip, bool isBig,
                                       Tensor wanted) {
  const auto size = static_cast<int64_t>(file.size());
  if (skip < 0 || skip > size || static_cast<int64_t>(wanted.bytes.size()) > size - skip)
    return std::nullopt;
  std::copy_n(file.begin() + skip, wanted.bytes.size(), wanted.bytes.begin());
  if (wanted.count() == 0)
    return wanted;
  const auto element = static_cast<int64_t>(wanted.bytes.size()) / wanted.count();
  for (auto at = wanted.bytes.begin(); isBig && at != wanted.bytes.end(); at += element)
    std::reverse(at, at + element);
  for (uint8_t &byte : wanted.bytes)
    if (wanted.type == DType::boolean)
      byte = byte != 0;
  return *canonical(wanted);
}

/// Behind the name of a format of pixels.
static const char *depthOf(DType type) {
  return type == DType::u16 ? "16" : type == DType::f32 ? "32" : "";
}

void runDecode(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::DecodeOp>(self.op);
  const Bytes &data = std::get<Bytes>(machine.value(slot, op.getData()));
  const Tensor wanted = machine.blank(slot, op.getResult());
  if (op.getMedia() == "numbers") {
    auto numbers =
        numbersOf(*data, machine.integer(slot, op.getAsked()[0]), op.getFormat() == "big", wanted);
    if (!numbers)
      return fail(slot, "the file has too few bytes");
    return deliver(machine, slot, op, std::move(*numbers));
  }
  const Media &media = mediaOf(machine, op);
  if (media::isOfNumbers(std::string_view(op.getMedia()))) {
    auto array = media.decodeArray(op.getMedia().str(), data, op.getOrient(), wanted);
    return array ? deliver(machine, slot, op, std::move(*array))
                 : fail(slot, "the media cannot be decoded");
  }
  const bool isClip = op.getMedia() == "video";
  const auto asked = op.getAsked();
  const bool isPicture = op.getMedia() == "image";
  auto image =
      isClip ? media.decodeClip(op.getFormat().str(), data, machine.integer(slot, asked[0]),
                                wanted.extents[0], machine.integer(slot, asked[1]))
             : media.decode(op.getMedia().str(),
                            op.getFormat().str() + (isPicture ? depthOf(wanted.type) : ""), data);
  if (!image)
    return fail(slot, "the media cannot be decoded");
  if (op.getOrient())
    if (const auto header = media.probe(op.getMedia().str(), data))
      image = upright(*image, (*header)[media::pictureOrientation], isClip);
  if (image->extents.size() + 1 == wanted.extents.size() && wanted.extents.back() == 1)
    image->extents.push_back(1); // gray with an axis of channels
  if (image->type != wanted.type || image->extents != wanted.extents)
    fault(op, "the decoded tensor has another type or other extents");
  image->axes = wanted.axes;
  deliver(machine, slot, op, std::move(*image));
}

/// The file's bytes, or nothing with the sample failed.
static std::optional<Bytes> fileOf(Machine &machine, Slot &slot, mlir::Operation *op,
                                   const std::string &format, mlir::Value image,
                                   mlir::Value quality) {
  const int64_t number = quality ? machine.integer(slot, quality) : 0;
  auto bytes = mediaOf(machine, op).encode(format, machine.tensor(slot, image), number);
  if (!bytes)
    fail(slot, "the image cannot be encoded");
  return bytes;
}

/// Elements past the count are 0.
void runEncode(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::EncodeOp>(self.op);
  const auto file = fileOf(machine, slot, op, pipe::stringifyCodec(op.getFormat()).str(),
                           op.getValue(), op.getQuality());
  if (!file)
    return;
  Tensor bytes = machine.blank(slot, op.getBytes());
  if ((*file)->size() > bytes.bytes.size())
    fault(op, "the file is longer than its room");
  std::copy((*file)->begin(), (*file)->end(), bytes.bytes.begin());
  Tensor count = machine.blank(slot, op.getCount());
  count.store(0, intScalar(static_cast<int64_t>((*file)->size())));
  machine.set(slot, op.getBytes(), std::move(bytes));
  machine.set(slot, op.getCount(), std::move(count));
}

/// By its definition: the file is written and read.
void runRecompress(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::RecompressOp>(self.op);
  const auto file = fileOf(machine, slot, op, "jpeg", op.getValue(), op.getQuality());
  if (!file)
    return;
  const Tensor &value = machine.tensor(slot, op.getValue());
  const bool rgb = value.extents.size() == 3 && value.extents[2] == 3;
  auto image = mediaOf(machine, op).decode("image", rgb ? "rgb" : "gray", *file);
  if (!image)
    return fail(slot, "the image cannot be decoded again");
  Tensor result = machine.blank(slot, op.getResult());
  if (image->bytes.size() != result.bytes.size())
    fault(op, "the decoded tensor has other extents");
  result.bytes = image->bytes;
  machine.set(slot, op.getResult(), std::move(result));
}

//===--- keys and draws ----------------------------------------------------===//

void runKey(Machine &machine, Slot &slot, const Instruction &self) {
  const bool batch = llvm::cast<pipe::KeyOp>(self.op).getScope() == pipe::KeyScope::batch;
  slot.values[self.results[0]] =
      random::Key{machine.inputs.seed, batch ? machine.inputs.batchPosition : slot.position,
                  machine.inputs.epoch, 0};
}

static const random::Key &keyIn(const Slot &slot, unsigned number) {
  return std::get<random::Key>(slot.values[number]);
}

void runKeyView(Machine &, Slot &slot, const Instruction &self) {
  slot.values[self.results[0]] =
      keyIn(slot, self.operands[0])
          .withView(static_cast<uint64_t>(scalarIn(slot, self.operands[1]).integer));
}

void runKeyMix(Machine &, Slot &slot, const Instruction &self) {
  slot.values[self.results[0]] =
      keyIn(slot, self.operands[0])
          .mixed(static_cast<uint64_t>(scalarIn(slot, self.operands[1]).integer));
}

void runDraw(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::DrawOp>(self.op);
  const int64_t element = op.getElement() ? machine.integer(slot, op.getElement()) : 0;
  const uint64_t bits =
      random::bits(keyIn(slot, self.operands[0]), static_cast<uint64_t>(op.getId()),
                   static_cast<uint64_t>(element));
  Scalar a, b;
  if (!op.getArgs().empty()) {
    a = scalarIn(slot, self.operands[1]);
    b = scalarIn(slot, self.operands[2]);
  }
  Value &result = slot.values[self.results[0]];
  switch (op.getKind()) {
  case pipe::DrawKind::bits:
    result = intScalar(static_cast<int64_t>(bits));
    return;
  case pipe::DrawKind::uniform:
    result = realScalar(random::uniform(bits, a.real, b.real));
    return;
  case pipe::DrawKind::integer:
    result = intScalar(random::integer(bits, a.integer, b.integer));
    return;
  case pipe::DrawKind::permutation:
    result = intScalar(static_cast<int64_t>(
        random::permute(bits, static_cast<uint64_t>(a.integer), static_cast<uint64_t>(b.integer))));
    return;
  }
}

//===--- the running batch, checks -----------------------------------------===//

void runContext(Machine &machine, Slot &slot, const Instruction &self) {
  const bool number = llvm::cast<pipe::ContextOp>(self.op).getKind() == pipe::ContextKind::slot;
  slot.values[self.results[0]] = intScalar(number ? slot.number : machine.sampleCount());
}

void runCheck(Machine &, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::CheckOp>(self.op);
  if (!scalarIn(slot, self.operands[0]).integer)
    fail(slot, op.getMessage().str(), scalarIn(slot, self.operands[1]).integer,
         scalarIn(slot, self.operands[2]).integer);
}

} // namespace penstock::reference
