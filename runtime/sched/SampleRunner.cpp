// The inner loop: no allocation, no lock and no clock per sample, except for
// what decodes or was asked to be timed.
#include "runtime/sched/SampleRunner.h"

#include "runtime/abi/scalar.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace penstock::runtime {

namespace {

using plan::BufferKind;
using plan::DType;

/// A slot's value as one element of an output.
void storeScalar(DType type, int64_t bits, uint8_t *out) {
  auto put = [out](auto value) { std::memcpy(out, &value, sizeof value); };
  const double number = std::bit_cast<double>(bits);
  switch (type) {
  case DType::u8:
  case DType::i8:
  case DType::boolean:
    return put(uint8_t(bits));
  case DType::u16:
  case DType::i16:
    return put(uint16_t(bits));
  case DType::i32:
    return put(uint32_t(bits));
  case DType::i64:
    return put(bits);
  case DType::f64:
    return put(number != number ? scalar::canonicalNan<double>() : number);
  case DType::f32: {
    const float narrow = float(number);
    return put(narrow != narrow ? scalar::canonicalNan<float>() : narrow);
  }
  // The block holds such values widened, so that both steps are exact.
  case DType::f16:
    return put(scalar::toHalf(float(number)));
  case DType::bf16:
    return put(scalar::toBfloat(float(number)));
  case DType::none:
  case DType::bytes:
  case DType::text:
    return;
  }
}

std::string fill(std::string message, const int64_t values[2]) {
  for (int i = 0; i < 2; ++i) {
    const std::string mark = "{" + std::to_string(i) + "}";
    for (size_t at; (at = message.find(mark)) != std::string::npos;)
      message.replace(at, mark.size(), std::to_string(values[i]));
  }
  return message;
}

} // namespace

SampleRunner::SampleRunner(std::shared_ptr<const Program> shared, ScratchLimits &limits,
                           const Clock &clock)
    : program(std::move(shared)), layout(*program->layout), tree(program->tree()), clock(clock),
      scratch(limits, layout.staticScratch + (int64_t(1) << 16)), images(imageLimits(limits)),
      decoder(images), codecs(images), headers(tree.media.size()), fieldStorage(layout.buffers.size()),
      places(layout.places.size()) {
  size_t widest = 0, mostScalars = 0;
  for (const StepLayout &step : layout.steps) {
    widest = std::max(widest, step.inputs.size() + step.outputs.size());
    mostScalars = std::max(mostScalars, step.scalars.size());
  }
  arguments.resize(widest);
  scalars.resize(mostScalars + 1);
  for (const BufferLayout &buffer : layout.buffers) {
    tensors.push_back(buffer.shape);
    if (buffer.kind == BufferKind::constant)
      tensors.back().data = const_cast<uint8_t *>(layout.constants + buffer.constantOffset);
  }
}

void SampleRunner::select(Work &work, int64_t slot) {
  block = work.block(slot);
  std::memcpy(block, program->block.data(), program->slots() * sizeof(int64_t));
  const int64_t position = work.positions[size_t(slot)];
  block[PST_SLOT_EPOCH] = work.epoch;
  block[PST_SLOT_POSITION] = position;
  block[PST_SLOT_BATCH_POSITION] = work.batchPosition;
  block[PST_SLOT_INDEX] = work.firstIndex + slot;
  block[PST_SLOT_COUNT] = work.batchCount;
  if (layout.select) {
    pst_kernel_args args{};
    args.scalars = block;
    args.scratch = scratch.allocate(scratchBytes(tree.select));
    layout.select(&args); // a select kernel has no checks
    scratch.reset();
  }
  for (size_t i = 0; i < tree.rows.size(); ++i) {
    const int32_t number = tree.rows[i]->slot;
    const int64_t wanted = number >= 0 ? block[number] : 0;
    const int64_t row = program->rowFor(work.epoch, position, i, work.attempt(slot, i), wanted);
    work.row(slot, i) = row;
    if (number >= 0)
      block[number] = row;
  }
}

void SampleRunner::expect(Work &work, int64_t slot) const {
  auto hint = [&](size_t row, int column) {
    program->tables->expect(tree.rows[row]->source, work.row(slot, row), column);
  };
  for (const auto &field : tree.fields)
    if (field->axis < 0)
      hint(size_t(field->row), field->column);
  for (const BufferLayout &buffer : layout.buffers)
    if (buffer.kind == BufferKind::field)
      hint(size_t(buffer.row), buffer.column);
}

bool SampleRunner::firstStage(Work &work, int64_t slot, Failure &failure) {
  block = work.block(slot);
  for (size_t i = 0; i < tensors.size(); ++i)
    if (layout.buffers[i].kind != BufferKind::constant)
      tensors[i].data = nullptr;
  const bool good = fields(work, slot, failure) && probe(work, slot, failure) &&
                    runSetup(failure) && decode(work, slot, failure) &&
                    runStage(work, slot, 0, failure);
  if (good)
    storeScalars(work, slot);
  giveBack();
  return good;
}

bool SampleRunner::laterStage(Work &work, int64_t slot, int stage, Failure &failure) {
  block = work.block(slot);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const BufferLayout &buffer = layout.buffers[i];
    if (buffer.kind == BufferKind::constant)
      continue;
    tensors[i].data = nullptr;
    if (buffer.kept >= 0 && buffer.stage < stage)
      tensors[i] = work.keptTensor(slot, buffer.kept);
  }
  const bool good = runStage(work, slot, stage, failure);
  giveBack();
  return good;
}

void SampleRunner::giveBack() {
  scratch.reset();
  std::fill(places.begin(), places.end(), Place());
}

bool SampleRunner::fields(Work &work, int64_t slot, Failure &failure) {
  if (!storeFields(work, slot, block, failure))
    return false;
  for (size_t i = 0; i < layout.buffers.size(); ++i) {
    const BufferLayout &buffer = layout.buffers[i];
    if (buffer.kind != BufferKind::field)
      continue;
    const size_t row = size_t(buffer.row);
    Buffer &storage = buffer.kept >= 0 ? work.keptBuffer(slot, buffer.kept) : fieldStorage[i];
    if (Status status = program->tables->tensor(tree.rows[row]->source, work.row(slot, row),
                                                buffer.column, storage, tensors[i]);
        !status) {
      failure = {row, status.error().message};
      return false;
    }
  }
  return true;
}

bool SampleRunner::probe(Work &work, int64_t slot, Failure &failure) {
  if (tree.media.empty())
    return true;
  const int64_t begin = clock.nowNs();
  for (size_t i = 0; i < tree.media.size(); ++i) {
    const plan::MediaT &media = *tree.media[i];
    const Encoded &encoded = work.media(slot, i);
    if (!encoded.status) {
      failure = {size_t(media.row), encoded.status.error().message};
      return false;
    }
    auto info = headerOf(media, encoded, images);
    if (!info) {
      failure = {size_t(media.row), info.error().message};
      return false;
    }
    headers[i] = *info;
    storeHeader(media, *info, block);
  }
  costs.add(Stage::Probe, clock.nowNs() - begin, tree.media.size());
  return true;
}

bool SampleRunner::runSetup(Failure &failure) {
  if (!layout.setup)
    return true;
  const int64_t begin = timed ? clock.nowNs() : 0;
  const Scratch::Mark mark = scratch.mark();
  pst_kernel_args args{};
  args.scalars = block;
  args.scratch = scratch.allocate(scratchBytes(tree.setup));
  if (!args.scratch) {
    failure = {0, "the setup needs more memory than a sample may take"};
    return false;
  }
  const int32_t id = layout.setup(&args);
  scratch.rewind(mark);
  costs.add(Stage::Setup, timed ? (clock.nowNs() - begin) * timed : 0);
  if (id == 0)
    return true;
  failure = checkFailure(id, args.failure);
  return false;
}

bool SampleRunner::decode(Work &work, int64_t slot, Failure &failure) {
  if (tree.decodes.empty())
    return true;
  const int64_t begin = clock.nowNs();
  uint64_t count = 0;
  bool good = true;
  untouched.assign(tree.media.size(), false);
  for (const auto &decode : tree.decodes)
    untouched[size_t(decode->media)] = !isVideo(*decode); // an index has seen the end
  for (const auto &decode : tree.decodes) {
    const bool wanted = decode->top < 0 || (block[decode->top] < block[decode->bottom] &&
                                            block[decode->left] < block[decode->right]);
    count += wanted;
    good = good && decodeOne(work, slot, *decode, failure);
  }
  // How much of an image is needed depends on passes; that its file is cut off
  // must not.
  for (size_t i = 0; good && i < untouched.size(); ++i)
    if (untouched[i])
      if (Status status = decoder.checkEnd(work.media(slot, i).bytes.span(), costs.decoded);
          !status) {
        failure = {size_t(tree.media[i]->row), status.error().message};
        good = false;
      }
  costs.add(Stage::Decode, clock.nowNs() - begin, count);
  return good;
}

Status SampleRunner::readPixels(std::span<const uint8_t> bytes, PixelFormat format,
                                const Region &region, const Orientation &orientation,
                                const ImageInfo &info, uint8_t *out, size_t rowStride,
                                EntropyIndexes *indexes) {
  if (orientation.isUpright())
    return decoder.decodeRegion(bytes, format, region, out, rowStride, costs.decoded,
                                ImageDecoder::Beside::Free, indexes);
  const Region stored = orientation.stored(region, info.height, info.width);
  const size_t pitch = size_t(stored.width) * channelsOf(format);
  const Scratch::Mark mark = scratch.mark();
  uint8_t *pixels = scratch.allocate(int64_t(pitch * stored.height));
  if (!pixels)
    return Error{Code::Limit, "turning the image needs more memory than a sample may take"};
  Status status = decoder.decodeRegion(bytes, format, stored, pixels, pitch, costs.decoded,
                                       ImageDecoder::Beside::Kept, indexes);
  if (status)
    orientation.copy(pixels, region, channelsOf(format), out, rowStride);
  scratch.rewind(mark);
  return status;
}

Status SampleRunner::readClip(Encoded &encoded, const plan::DecodeT &decode,
                              const VideoDecoder::Target &target, int64_t count) {
  const pst_video_range range{block[decode.first], count, block[decode.step]};
  const auto mayHold = [this](uint64_t bytes) {
    return bytes <= uint64_t(INT64_MAX) && scratch.count(int64_t(bytes));
  };
  pst_video_costs spent{};
  const uint64_t before = encoded.bytesRead();
  const Scratch::Mark mark = scratch.mark();
  Status status = videos.decode(*encoded.file, *encoded.video, range, target, mayHold, spent);
  scratch.rewind(mark);
  const uint64_t late = encoded.bytesRead() - before;
  costs.fetchedBytes += late;
  VideoCounts counts{spent.packets, spent.restarts, encoded.isIndexFound, late, {}, 0, 0};
  counts.readings[size_t(encoded.reading)] = 1;
  costs.videos.add(counts);
  return status;
}

bool SampleRunner::decodeOne(Work &work, int64_t slot, const plan::DecodeT &decode,
                             Failure &failure) {
  const ImageInfo &info = headers[size_t(decode.media)];
  const size_t row = size_t(tree.media[size_t(decode.media)]->row);
  const Orientation orientation(decode.orient ? info.orientation : 1);
  const int64_t height = orientation.isTransposed() ? info.width : info.height;
  const int64_t width = orientation.isTransposed() ? info.height : info.width;
  int64_t top = 0, left = 0, bottom = height, right = width;
  if (decode.top >= 0) {
    top = block[decode.top];
    left = block[decode.left];
    bottom = block[decode.bottom];
    right = block[decode.right];
  }
  if (top < 0 || left < 0 || bottom > height || right > width || top > bottom || left > right) {
    failure = {row, "rows " + std::to_string(top) + " to " + std::to_string(bottom) +
                        " and columns " + std::to_string(left) + " to " + std::to_string(right) +
                        " are needed, but the image has " + std::to_string(height) + " rows and " +
                        std::to_string(width) + " columns"};
    return false;
  }
  if (!shape(decode.buffer, failure))
    return false;
  const PixelFormat format = decode.format == "gray" ? PixelFormat::Gray : PixelFormat::Rgb;
  const int64_t pixel = channelsOf(format);
  // Room for the whole image, of which only the region and a few columns more are
  // written (and only their pages are touched): a kernel that stores an
  // intermediate result as a whole reads pixels that no output needs, and may
  // find anything there. So an image of which nothing is needed has room too.
  constexpr int64_t line = 64;
  const int64_t stride = (width * pixel + line - 1) / line * line;
  pst_tensor &tensor = tensors[size_t(decode.buffer)];
  const int64_t count = isVideo(decode) ? tensor.extent[0] : 1;
  int64_t bytes = stride * height;
  if (__builtin_mul_overflow(bytes, count, &bytes) || __builtin_add_overflow(bytes, line, &bytes)) {
    failure = {row, "decoding needs more bytes than there are numbers for"};
    return false;
  }

  uint8_t *storage = storageFor(work, slot, layout.buffers[size_t(decode.buffer)], bytes);
  if (!storage) {
    failure = {row,
               "decoding needs " + std::to_string(bytes) + " bytes, more than a sample may take"};
    return false;
  }
  // No row that libjpeg writes begins at a multiple of 16 bytes: to such rows it
  // writes past the cache, and the kernel would read them from memory.
  storage += 4;
  const Region region{uint32_t(top), uint32_t(left), uint32_t(bottom - top),
                      uint32_t(right - left)};
  if (top < bottom && left < right) {
    untouched[size_t(decode.media)] = false;
    Encoded &encoded = work.media(slot, size_t(decode.media));
    uint8_t *out = storage + top * stride + left * pixel;
    const VideoDecoder::Target clip{
        format, region, orientation, out, size_t(stride * height), size_t(stride)};
    Status status = isVideo(decode) ? readClip(encoded, decode, clip, count)
                                    : readPixels(encoded.bytes.span(), format, region, orientation,
                                                 info, out, size_t(stride),
                                                 program->tables->checkpoints(tree.rows[row]->source));
    if (!status) {
      failure = {row, status.error().message};
      return false;
    }
  }
  int64_t *strides = tensor.stride;
  if (isVideo(decode))
    *strides++ = stride * height;
  strides[0] = stride;
  strides[1] = pixel;
  strides[2] = 1;
  tensor.data = storage;
  return true;
}

bool SampleRunner::shape(int number, Failure &failure) {
  const BufferLayout &buffer = layout.buffers[size_t(number)];
  if (buffer.isStatic)
    return true;
  pst_tensor &tensor = tensors[size_t(number)];
  const bool isOutput = buffer.kind == BufferKind::output;
  int64_t bytes = buffer.elementBytes;
  for (int axis = buffer.rank; axis-- > 0;) {
    const SlotExtent &dim = buffer.extents[size_t(axis)];
    const int64_t extent = dim.of(block);
    int64_t product;
    if (extent < 0 || (dim.bound >= 0 && extent > dim.bound) ||
        __builtin_mul_overflow(bytes, extent, &product)) {
      const auto &axes = tree.buffers[size_t(number)]->axes;
      const std::string name =
          size_t(axis) < axes.size() ? axes[size_t(axis)] : std::to_string(axis);
      failure = {0, "axis `" + name + "` has " + std::to_string(extent) + " elements" +
                        (dim.bound >= 0 ? ", its bound is " + std::to_string(dim.bound) : "")};
      return false;
    }
    tensor.extent[axis] = extent;
    if (!isOutput)
      tensor.stride[axis] = bytes;
    bytes = product;
  }
  return true;
}

void SampleRunner::bindOutputs(Work &work, int64_t slot, int stage) {
  for (size_t i = 0; i < layout.buffers.size(); ++i) {
    const BufferLayout &buffer = layout.buffers[i];
    if (buffer.kind != BufferKind::output || buffer.stage != stage)
      continue;
    const size_t number = size_t(buffer.output);
    const OutputLayout &output = layout.outputs[number];
    pst_tensor &tensor = tensors[i];
    tensor.data = work.memory->output(number, slot);
    const auto &strides = work.memory->strides(number);
    size_t axis = 0;
    for (int stored : output.stored) // the kernel's axes stand in memory order
      if (stored != output.nAxis)
        tensor.stride[axis++] = strides[size_t(stored)];
    // What a smaller sample leaves unwritten must not be another one's rest.
    if (!buffer.isStatic && output.raggedAxis < 0)
      std::memset(tensor.data, 0, size_t(output.sampleBytes));
  }
}

bool SampleRunner::runStage(Work &work, int64_t slot, int stage, Failure &failure) {
  bindOutputs(work, slot, stage);
  const int64_t begin = timed ? clock.nowNs() : 0;
  uint64_t count = 0;
  for (size_t i = layout.stageBegin[size_t(stage)]; i < layout.stageBegin[size_t(stage) + 1]; ++i) {
    const StepLayout &step = layout.steps[i];
    if (step.guard >= 0 && !block[step.guard])
      continue;
    ++count;
    if (!runStep(work, slot, step, failure))
      return false;
  }
  costs.add(Stage::Kernels, timed ? (clock.nowNs() - begin) * timed : 0, count);
  keep(work, slot, stage);
  return readCounts(work, slot, stage, failure);
}

bool SampleRunner::readCounts(Work &work, int64_t slot, int stage, Failure &failure) {
  for (size_t i = 0; i < layout.outputs.size(); ++i)
    for (const OutputLayout::Count &count : layout.outputs[i].counts) {
      if (layout.buffers[size_t(count.buffer)].stage != stage)
        continue;
      int64_t values[2] = {0, count.limit};
      std::memcpy(values, own(count.buffer).data, sizeof values[0]);
      if (values[0] > count.limit) {
        failure = checkFailure(count.check, values);
        return false;
      }
      if (count.isLength)
        work.memory->lengths(i)[slot] = values[0];
    }
  return true;
}

bool SampleRunner::runStep(Work &work, int64_t slot, const StepLayout &step, Failure &failure) {
  pst_tensor *next = arguments.data();
  for (const StepLayout::Input &access : step.inputs) {
    const pst_tensor *tensor = input(work, access);
    if (!tensor->data) {
      failure = {0, "internal error: buffer " + std::to_string(access.buffer) +
                        " is read before it is made"};
      return false;
    }
    *next++ = *tensor;
  }
  for (int32_t number : step.outputs) {
    const BufferLayout &buffer = layout.buffers[size_t(number)];
    pst_tensor &tensor = tensors[size_t(number)];
    if (!shape(number, failure))
      return false;
    if (buffer.kind == BufferKind::temporary && !tensor.data) {
      const int64_t bytes =
          buffer.rank == 0 ? buffer.elementBytes : tensor.extent[0] * tensor.stride[0];
      tensor.data = storageFor(work, slot, buffer, bytes);
      if (!tensor.data) {
        failure = {0, "a temporary needs " + std::to_string(bytes) +
                          " bytes, more than a sample may take"};
        return false;
      }
    }
    *next++ = tensor;
  }
  for (size_t i = 0; i < step.scalars.size(); ++i)
    scalars[i] = block[step.scalars[i]];
  return step.codec == plan::Codec::none ? runCode(step, failure) : runCodec(step, failure);
}

bool SampleRunner::runCodec(const StepLayout &step, Failure &failure) {
  const int rank = layout.buffers[size_t(step.inputs[0].buffer)].rank;
  Status status = codecs.run(step.codec, arguments[0], rank,
                             std::span(arguments).subspan(1, step.outputs.size()), scalars[0],
                             scratch);
  if (!status)
    failure = {0, status.error().message};
  return bool(status);
}

bool SampleRunner::runCode(const StepLayout &step, Failure &failure) {
  const Scratch::Mark mark = scratch.mark();
  pst_kernel_args args{};
  args.tensors = arguments.data();
  args.scalars = scalars.data();
  const int64_t bytes = scratchBytes(step.kernel);
  args.scratch = scratch.allocate(bytes);
  if (!args.scratch) {
    failure = {0,
               "a kernel needs " + std::to_string(bytes) + " bytes, more than a sample may take"};
    return false;
  }
  args.band[1] = INT64_MAX;
  const int32_t id = step.code(&args);
  scratch.rewind(mark);
  if (id == 0)
    return true;
  failure = checkFailure(id, args.failure);
  return false;
}

uint8_t *SampleRunner::storageFor(Work &work, int64_t slot, const BufferLayout &buffer,
                                  int64_t bytes) {
  if (buffer.kept < 0 && buffer.place < 0)
    return scratch.allocate(bytes);
  if (buffer.kept < 0) {
    Place &place = places[size_t(buffer.place)];
    if (place.bytes < bytes) {
      place.bytes = std::max(bytes, layout.places[size_t(buffer.place)]);
      place.data = scratch.allocate(place.bytes);
    }
    return place.data;
  }
  if (buffer.kind == BufferKind::temporary && buffer.bytes > 0)
    return work.memory->keptStorage(buffer.kept, slot);
  Buffer &own = work.keptBuffer(slot, buffer.kept);
  return own.resize(size_t(bytes) + 1) ? own.data() : nullptr;
}

const pst_tensor &SampleRunner::own(int number) const {
  const BufferLayout &buffer = layout.buffers[size_t(number)];
  if (buffer.kind != BufferKind::alias)
    return tensors[size_t(number)];
  const int64_t last = int64_t(buffer.choices.size()) - 1;
  return own(buffer.choices[size_t(std::clamp<int64_t>(block[buffer.indexSlot], 0, last))]);
}

const pst_tensor *SampleRunner::input(Work &work, const StepLayout::Input &access) {
  const BufferLayout &buffer = layout.buffers[size_t(access.buffer)];
  if (access.peerSlot < 0) {
    // An alias that was kept stands for itself: its choices may be gone.
    const pst_tensor &tensor = tensors[size_t(access.buffer)];
    return tensor.data ? &tensor : &own(access.buffer);
  }
  if (buffer.kind == BufferKind::constant)
    return &tensors[size_t(access.buffer)];
  const int64_t peer = std::clamp<int64_t>(block[access.peerSlot], 0, work.count - 1);
  return &work.keptTensor(peer, buffer.kept);
}

void SampleRunner::keep(Work &work, int64_t slot, int stage) {
  for (size_t i = 0; i < layout.kept.size(); ++i) {
    const int number = layout.kept[i];
    if (layout.buffers[size_t(number)].stage == stage)
      work.keptTensor(slot, int(i)) = own(number);
  }
}

void SampleRunner::storeScalars(Work &work, int64_t slot) {
  for (size_t i = 0; i < layout.outputs.size(); ++i) {
    const OutputLayout &output = layout.outputs[i];
    if (output.scalarSlot >= 0)
      storeScalar(output.type, block[output.scalarSlot], work.memory->output(i, slot));
    const bool counted = std::any_of(output.counts.begin(), output.counts.end(),
                                     [](const auto &count) { return count.isLength; });
    if (output.raggedAxis >= 0 && !counted)
      work.memory->lengths(i)[slot] = std::clamp<int64_t>(
          block[output.lengthSlot], 0, output.extents[size_t(output.raggedAxis)]);
  }
}

Failure SampleRunner::checkFailure(int32_t id, const int64_t values[2]) const {
  for (const auto &check : tree.checks)
    if (check->id == id)
      return {0, fill(check->message, values) + " (" + check->file + ":" +
                     std::to_string(check->line) + ":" + std::to_string(check->column) + ")"};
  return {0, "check " + std::to_string(id) + " failed"};
}

Costs SampleRunner::takeCosts() {
  Costs taken = costs;
  costs = Costs();
  return taken;
}

} // namespace penstock::runtime
