// SPDX-License-Identifier: Apache-2.0
//
// Where everything of a batch lies on a device: offsets first, when all sizes are known; then
// memory, if what there is does not do; then the slab is filled.
#include "runtime/sched/DeviceStage.h"

#include "runtime/core/LaunchRecord.h"
#include "runtime/sched/SampleBuffers.h"
#include "runtime/sched/Setup.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

namespace penstock::runtime {

namespace {

using plan::BufferKind;

int64_t bytesOf(const pst_tensor &tensor, const BufferLayout &buffer) {
  int64_t bytes = buffer.elementBytes;
  for (int axis = 0; axis < buffer.rank; ++axis)
    bytes *= tensor.extent[axis];
  return bytes;
}

/// From its first element to behind its last one.
MemoryRange rangeOf(const pst_tensor &tensor, const BufferLayout &buffer) {
  const auto *begin = static_cast<const uint8_t *>(tensor.data);
  int64_t bytes = buffer.elementBytes;
  for (int axis = 0; axis < buffer.rank; ++axis) {
    if (tensor.extent[axis] == 0)
      return {begin, begin};
    bytes += (tensor.extent[axis] - 1) * tensor.stride[axis];
  }
  return {begin, begin + bytes};
}

/// Copies a tensor of any strides to where it is dense; returns the end.
uint8_t *copyDense(const pst_tensor &from, const BufferLayout &buffer, int axis,
                   const uint8_t *data, uint8_t *to) {
  int64_t run = buffer.elementBytes;
  bool isDense = true;
  for (int inner = buffer.rank; inner-- > axis;) {
    isDense = isDense && from.stride[inner] == run;
    run *= from.extent[inner];
  }
  if (isDense) {
    std::memcpy(to, data, size_t(run));
    return to + run;
  }
  for (int64_t i = 0; i < from.extent[axis]; ++i)
    to = copyDense(from, buffer, axis + 1, data + i * from.stride[axis], to);
  return to;
}

} // namespace

//===--- where everything lies -----------------------------------------------------------===//

int64_t DeviceStage::place(int64_t bytes) {
  const int64_t at = totalBytes;
  totalBytes += alignStorage(bytes + storageSlack);
  return at;
}

/// Places the buffers of all samples one behind the other if a kernel reads them together, also
/// where some samples have none.
void DeviceStage::placeTogether(Work &work, int number) {
  if (const BufferLayout &buffer = layout.buffers[size_t(number)]; buffer.readByAll)
    together[size_t(entries[size_t(number)])] = place(buffer.bytes * work.count);
}

/// Only the region of an image is copied. The tensor begins before it, so that
/// kernels find its elements by the image's rows and columns: what they read outside is some other
/// memory of the arena.
void DeviceStage::placeRegion(const pst_tensor &from, pst_tensor &to, Crossing &part,
                              const int64_t *block) {
  const plan::DecodeT &decode = *part.decode;
  const bool isVideo = tree.media[size_t(decode.media)]->media == "video";
  const int rows = isVideo ? 1 : 0, columns = rows + 1;
  Region &region = part.region;
  const AxisRange h = rangeOf(decode, rows, from.extent[rows], block);
  const AxisRange w = rangeOf(decode, columns, from.extent[columns], block);
  region = {h.low, w.low, h.high - h.low, w.high - w.low};
  constexpr int64_t wide = 16; // rows that a GPU loads 16 bytes at a time
  const int64_t pixel = from.stride[columns], frames = isVideo ? from.extent[0] : 1;
  const int64_t stride = (region.columns * pixel + wide - 1) / wide * wide,
                frame = stride * region.rows;
  to = from;
  if (isVideo)
    to.stride[0] = frame;
  to.stride[rows] = stride;
  if (part.planes) {
    ++planes;
    part.offset = place(int64_t(part.planes->bytes()));
    return; // pixels have their place behind what crosses
  }
  part.offset = place(frame * frames);
  pointAtRegion(to, part.offset, part);
}

/// Points the tensor at the picture's first element, if its region begins at `offset`.
void DeviceStage::pointAtRegion(pst_tensor &to, int64_t offset, const Crossing &part) {
  const bool isVideo = tree.media[size_t(part.decode->media)]->media == "video";
  const int rows = isVideo ? 1 : 0, columns = rows + 1;
  const int64_t stride = to.stride[rows], pixel = to.stride[columns];
  const int64_t before = part.region.top * stride + part.region.left * pixel;
  const int64_t frames = isVideo ? (to.extent[0] - 1) * to.stride[0] : 0;
  to.data = reinterpret_cast<void *>(offset - before);
  lowest = std::min(lowest, offset - before);
  highest = std::max(highest, offset - before + frames + (to.extent[rows] - 1) * stride +
                                  to.extent[columns] * pixel);
}

/// Places the needed rows along the first axis of other media, likewise.
void DeviceStage::placeRows(const pst_tensor &from, pst_tensor &to, Crossing &part,
                            const int64_t *block) {
  const AxisRange rows = rangeOf(*part.decode, 0, from.extent[0], block);
  const int64_t row = from.stride[0], before = rows.low * row;
  part.region = {rows.low, 0, rows.high - rows.low, 0};
  part.offset = place(part.region.rows * row);
  to = from;
  to.data = reinterpret_cast<void *>(part.offset - before);
  lowest = std::min(lowest, part.offset - before);
  highest = std::max(highest, part.offset - before + from.extent[0] * row);
}

/// Places the pixels that are made of planes.
void DeviceStage::placePixels() {
  for (Crossing &part : parts)
    if (part.planes) {
      pst_tensor &to = tensor(part.slot, part.number);
      part.pixels = place(to.stride[0] * part.region.rows);
      pointAtRegion(to, part.pixels, part);
    }
}

/// Places a buffer of the host that is copied to the device.
void DeviceStage::placeCrossing(Work &work, int64_t slot, int number) {
  const BufferLayout &buffer = layout.buffers[size_t(number)];
  const pst_tensor &from = work.keptTensor(slot, buffer.kept);
  pst_tensor &to = tensor(slot, number);
  if (!from.data) // a branch that did not run
    return;
  const int64_t *block = work.block(slot);
  int chosen = number;
  while (layout.buffers[size_t(chosen)].kind == BufferKind::alias)
    chosen = layout.buffers[size_t(chosen)].chosen(block);
  Crossing part{slot, number, &from, nullptr, false, {}, 0};
  if (const int decode = buffer.rank ? decodes[size_t(chosen)] : -1; decode >= 0) {
    part.decode = tree.decodes[size_t(decode)].get();
    part.isPicture = media::isPicture(tree.media[size_t(part.decode->media)]->media);
    if (const Planes &found = work.planesOf(slot, size_t(decode)); !found.isEmpty())
      part.planes = &found;
    part.isPicture ? placeRegion(from, to, part, block) : placeRows(from, to, part, block);
  } else {
    to = from;
    int64_t stride = buffer.elementBytes;
    for (int axis = buffer.rank; axis-- > 0;) {
      to.stride[axis] = stride;
      stride *= to.extent[axis];
    }
    part.offset = buffer.readByAll ? together[size_t(entries[size_t(number)])] + slot * buffer.bytes
                                   : place(stride);
    to.data = reinterpret_cast<void *>(part.offset);
  }
  parts.push_back(part);
}

/// Sets the extents of the buffers that the stage's kernels make for a sample. False if it is bad.
bool DeviceStage::shapeMade(Work &work, int64_t slot, Failure &failure) {
  for (int number : made) {
    const BufferLayout &buffer = layout.buffers[size_t(number)];
    pst_tensor &to = tensor(slot, number);
    to = buffer.shape;
    if (!buffer.isStatic && !shapeByBlock(layout, tree, number, work.block(slot), to, failure))
      return false;
  }
  return true;
}

/// Chooses the samples that each kernel runs for, and their scratch.
Status DeviceStage::placeSteps(Work &work, const std::vector<int64_t> &slots) {
  chains = 1;
  for (const JoinLayout &join : layout.joins)
    chains = std::max(chains, int(join.launch->chains));
  scratch.assign(size_t(work.count), 0);
  scratchEach.assign(size_t(work.count), 0);
  for (size_t i = layout.stageBegin[size_t(stage)]; i < layout.stageBegin[size_t(stage) + 1]; ++i) {
    const StepLayout &step = layout.steps[i];
    for (const StepLayout::Input &access : step.inputs)
      if (access.all && access.count >= 0 && access.count != work.count)
        return Error{Code::InvalidArgument, "the batch has " + std::to_string(work.count) +
                                                " samples instead of " +
                                                std::to_string(access.count)};
    Running running{i, {}, 0};
    for (int64_t slot : slots)
      if ((step.guard < 0 || work.block(slot)[step.guard]) && !(step.once && slot != 0)) {
        running.slots.push_back(slot);
        int64_t &most = scratch[size_t(slot)];
        most = std::max(most, scratchBytes(layout.scratch[size_t(step.kernel)], work.block(slot)));
      }
    if (running.slots.empty())
      continue;
    running.records = place(int64_t(running.slots.size() * size_t(std::max(step.parts, 1)) *
                                    step.device->record.size() * sizeof(int64_t)));
    steps.push_back(std::move(running));
  }
  placeJoined(slots);
  return {};
}

/// Chooses the steps that are one launch, and their samples.
void DeviceStage::placeJoined(const std::vector<int64_t> &slots) {
  joined.clear();
  auto joinOf = [&](size_t i) { return layout.steps[steps[i].step].join; };
  for (size_t first = 0, end; first < steps.size(); first = end) {
    end = first + 1;
    const int number = joinOf(first);
    if (number < 0)
      continue;
    std::vector<std::set<int>> runs(scratch.size()); // chains of each slot
    for (; end <= steps.size(); ++end) {
      const StepLayout &step = layout.steps[steps[end - 1].step];
      for (int64_t slot : steps[end - 1].slots) {
        runs[size_t(slot)].insert(std::max(step.chain, 0));
        for (int part = 0; part < step.parts; ++part)
          runs[size_t(slot)].insert(part);
      }
      if (end == steps.size() || joinOf(end) != number)
        break;
    }
    Joined &all = joined.emplace_back(Joined{number, first, end, {}});
    for (int64_t slot : slots)
      if (!runs[size_t(slot)].empty())
        all.slots.push_back(slot);
    const JoinLayout &join = layout.joins[size_t(number)];
    all.entries = all.slots.size();
    if (join.launch->chains)
      all.entries = std::accumulate(runs.begin(), runs.end(), size_t(0),
                                    [](size_t sum, const auto &some) { return sum + some.size(); });
    all.records = place(int64_t(all.entries * join.recordBytes()));
  }
}

/// Places the fill values of padded outputs that stay on the device; they are copied with the rest.
void DeviceStage::placeFills() {
  fills.assign(layout.outputs.size(), 0);
  for (size_t i = 0; i < fills.size(); ++i)
    if (const OutputLayout &o = layout.outputs[i]; o.onDevice && o.madeOnDevice && !o.fill.empty())
      fills[i] = place(o.elementBytes);
}

/// Returns the place of an output's first sample while the stage runs.
uint8_t *DeviceStage::outputAt(Work &work, size_t output) const {
  return layout.outputs[output].onDevice ? work.memory->deviceOutput(output)
                                         : base + outputs[output];
}

void DeviceStage::placeOutputs(Work &work) {
  outputs.assign(layout.outputs.size(), 0);
  int64_t largest = 0;
  for (size_t i = 0; i < layout.outputs.size(); ++i) {
    const OutputLayout &output = layout.outputs[i];
    if (output.madeOnDevice && !output.onDevice)
      outputs[i] = place(output.sampleBytes * work.count);
    else if (output.madeOnDevice && output.raggedAxis >= 0)
      largest = std::max(largest, output.sampleBytes);
  }
  spare = largest ? place(largest) : 0;
  const int64_t samples = (work.count + 1) * int64_t(sizeof(pst_sample_status));
  stateBytes = samples + int64_t(counts.size()) * work.count * int64_t(sizeof(int64_t));
  states = place(stateBytes);
  for (size_t i = 0; i < counts.size(); ++i)
    for (int64_t slot = 0; slot < work.count; ++slot)
      tensor(slot, counts[i]).data = reinterpret_cast<void *>(
          states + samples + (int64_t(i) * work.count + slot) * int64_t(sizeof(int64_t)));
}

void DeviceStage::placeMade(Work &work, int64_t slot) {
  std::vector<int64_t> places(layout.places.size(), 0); // bytes of each
  for (int number : made)
    if (const BufferLayout &buffer = layout.buffers[size_t(number)]; buffer.place >= 0)
      places[size_t(buffer.place)] =
          std::max(places[size_t(buffer.place)], bytesOf(tensor(slot, number), buffer) + 1);
  for (int64_t &bytes : places)
    bytes = bytes ? place(bytes) : 0;
  for (int number : made) {
    const BufferLayout &buffer = layout.buffers[size_t(number)];
    pst_tensor &to = tensor(slot, number);
    int64_t at;
    if (buffer.kind == BufferKind::output) { // from where the output begins
      work.memory->bind(size_t(buffer.output), slot, to);
      at = slot * work.memory->strides(
                      size_t(buffer.output))[size_t(layout.outputs[size_t(buffer.output)].nAxis)];
    } else if (std::find(counts.begin(), counts.end(), number) != counts.end()) {
      continue;
    } else if (buffer.readByAll) {
      at = together[size_t(entries[size_t(number)])] + slot * buffer.bytes;
    } else if (buffer.place >= 0) {
      at = places[size_t(buffer.place)];
    } else {
      at = buffer.once && slot != 0 ? 0 : place(bytesOf(to, buffer));
    }
    to.data = reinterpret_cast<void *>(at);
  }
  if (int64_t &bytes = scratch[size_t(slot)]) {
    scratchEach[size_t(slot)] = alignStorage(bytes);
    bytes = place(alignStorage(bytes) * chains);
  }
}

bool DeviceStage::allocate() {
  const int64_t before = std::max<int64_t>(0, -lowest) + storageSlack;
  const int64_t bytes = alignStorage(before) + std::max(totalBytes, highest) + storageSlack;
  auto grow = [](std::shared_ptr<void> &memory, int64_t &room, int64_t wanted, auto take) {
    if (wanted <= room)
      return true;
    memory.reset();
    room = 0;
    const int64_t roomy = wanted + wanted / 8; // batches differ a little
    memory = take(size_t(roomy));
    room = memory ? roomy : 0;
    return memory != nullptr;
  };
  auto host = [&](size_t size) { return shared.device->allocateHost(size); };
  auto device = [&](size_t size) { return shared.device->allocate(size); };
  if (!grow(slab, slabRoom, slabBytes, host) || !grow(answer, answerRoom, stateBytes, host) ||
      !grow(arena, arenaRoom, bytes, device))
    return false;
  base = static_cast<uint8_t *>(arena.get()) + alignStorage(before);
  return true;
}

//===--- filling the slab ---------------------------------------------------------------===//

void DeviceStage::pack(Work &work) {
  uint8_t *const to = static_cast<uint8_t *>(slab.get());
  for (const Crossing &part : parts) {
    const BufferLayout &buffer = layout.buffers[size_t(part.number)];
    const auto *from = static_cast<const uint8_t *>(part.from->data);
    if (!part.decode) {
      copyDense(*part.from, buffer, 0, from, to + part.offset);
      continue;
    }
    if (!part.isPicture) {
      const int64_t row = part.from->stride[0];
      std::memcpy(to + part.offset, from + part.region.top * row, size_t(part.region.rows * row));
      continue;
    }
    if (part.planes) {
      std::memcpy(to + part.offset, from, part.planes->bytes());
      continue;
    }
    const bool isVideo = tree.media[size_t(part.decode->media)]->media == "video";
    const int rows = isVideo ? 1 : 0;
    const pst_tensor &there = tensor(part.slot, part.number);
    const int64_t pixel = part.from->stride[rows + 1], stride = there.stride[rows];
    uint8_t *row = to + part.offset;
    for (int64_t frame = 0; frame < (isVideo ? part.from->extent[0] : 1); ++frame)
      for (int64_t i = 0; i < part.region.rows; ++i, row += stride)
        std::memcpy(row,
                    from + frame * (isVideo ? part.from->stride[0] : 0) +
                        (part.region.top + i) * part.from->stride[rows] + part.region.left * pixel,
                    size_t(part.region.columns * pixel));
  }
  for (size_t i = 0; i < fills.size(); ++i)
    if (fills[i])
      std::memcpy(to + fills[i], layout.outputs[i].fill.data(), layout.outputs[i].fill.size());
  packPlanes();
  packRecords(work);
}

/// Packs the records of the kernel that makes pixels of planes, in makePlanesKernel()'s order.
void DeviceStage::packPlanes() {
  int64_t at = planeRecords;
  for (const Crossing &part : parts) {
    if (!part.planes)
      continue;
    const Planes &from = *part.planes;
    pst_tensor tensors[4];
    for (size_t plane = 0; plane < 3; ++plane)
      tensors[plane] = {base + part.offset + from.offset(plane),
                        {from.part(plane).height, from.part(plane).width},
                        {int64_t(from.stride(plane)), 1}};
    tensors[3] = tensor(part.slot, part.number);
    tensors[3].data = base + part.pixels;
    tensors[3].extent[0] = part.region.rows;
    tensors[3].extent[1] = part.region.columns;
    const int64_t scalars[] = {from.rowPhase(), from.columnPhase(), from.halvesRows,
                               from.halvesColumns};
    packRecord(layout.planes->record, part.slot + 1, tensors, scalars, nullptr,
               reinterpret_cast<int64_t *>(static_cast<uint8_t *>(slab.get()) + at));
    at += int64_t(layout.planes->record.size() * sizeof(int64_t));
  }
}

/// Returns the address of a buffer in the arena, or in an output that the stage makes, which its
/// kernels may read, too.
void *DeviceStage::addressOf(Work &work, int64_t slot, int number) {
  const BufferLayout &buffer = layout.buffers[size_t(number)];
  const bool isOutput = buffer.kind == BufferKind::output && buffer.stage == stage;
  uint8_t *const from = isOutput ? outputAt(work, size_t(buffer.output)) : base;
  return from + reinterpret_cast<intptr_t>(tensor(slot, number).data);
}

/// Returns a step's input, of this sample, a peer or all samples, with its address on the device.
pst_tensor DeviceStage::input(Work &work, int64_t slot, const StepLayout::Input &access) {
  if (access.peerSlot >= 0)
    slot = std::clamp<int64_t>(work.block(slot)[access.peerSlot], 0, work.count - 1);
  if (access.all)
    slot = 0;
  const int number = resolve(access.buffer, work.block(slot));
  const BufferLayout &buffer = layout.buffers[size_t(number)];
  if (buffer.kind == BufferKind::constant) {
    pst_tensor constant = buffer.shape;
    constant.data = shared.constants + buffer.constantOffset;
    return constant;
  }
  slot = buffer.once ? 0 : slot;
  pst_tensor result = tensor(slot, number);
  result.data = addressOf(work, slot, number);
  return access.all ? buffer.ofAll(result, work.count) : result;
}

void DeviceStage::packRecords(Work &work) {
  auto together = joined.begin();
  for (size_t i = 0; i < steps.size(); ++i) {
    if (together == joined.end() || together->first != i) {
      packRecords(work, steps[i], {});
      continue;
    }
    layout.joins[size_t(together->number)].launch->chains ? packChains(work, *together)
                                                          : packJoined(work, *together);
    i = together++->end - 1;
  }
}

void DeviceStage::packJoined(Work &work, const Joined &all) {
  JoinedRecords records(all.slots, layout.joins[size_t(all.number)].steps,
                        static_cast<uint8_t *>(slab.get()) + all.records);
  for (size_t i = all.first; i < all.end; ++i) {
    const StepLayout &step = layout.steps[steps[i].step];
    packRecords(
        work, steps[i],
        [&](int64_t slot, int, const std::vector<pst_tensor> &arguments, const uint8_t *record) {
          TouchedMemory touched;
          for (size_t i = 0; i < arguments.size(); ++i)
            (i < step.inputs.size() ? touched.read : touched.written)
                .push_back(rangeOf(arguments[i], bufferOf(step, i)));
          const uint8_t *own = base + scratch[size_t(slot)];
          touched.written.push_back(
              {own, own + scratchBytes(layout.scratch[size_t(step.kernel)], work.block(slot))});
          records.add(slot, record, step.body, touched);
        });
  }
}

/// Which pictures of a step lie in its block's shared memory, its kernel says.
void DeviceStage::packChains(Work &work, const Joined &all) {
  ChainRecords records;
  for (size_t i = all.first; i < all.end; ++i) {
    const StepLayout &step = layout.steps[steps[i].step];
    const auto &held = step.device->held;
    packRecords(
        work, steps[i],
        [&](int64_t slot, int part, const std::vector<pst_tensor> &, const uint8_t *record) {
          ChainRecords::Step taken;
          taken.record = record;
          taken.body = step.body;
          for (size_t input = 0; input < step.inputs.size(); ++input) {
            const int number = resolve(step.inputs[input].buffer, work.block(slot));
            const auto place = std::find(held.begin(), held.end(), input);
            if (place == held.end())
              taken.inMemory.push_back(number);
            else if (step.parts == 0 || place - held.begin() == part)
              taken.reads = number;
          }
          if (!held.empty() && held.back() == step.inputs.size())
            taken.writes = step.outputs[0];
          records.add({slot, step.parts ? part : step.chain}, std::move(taken));
        });
  }
  const auto pictureOf = [&](int64_t slot, int number) -> ChainRecords::Picture {
    constexpr int64_t word = 16;
    const int64_t bytes = layout.buffers[size_t(number)].bytes;
    return {addressOf(work, slot, number), uint32_t(bytes / word)};
  };
  records.fill(layout.joins[size_t(all.number)].launch->room, pictureOf,
               static_cast<uint8_t *>(slab.get()) + all.records);
}

const BufferLayout &DeviceStage::bufferOf(const StepLayout &step, size_t tensor) const {
  const size_t inputs = step.inputs.size();
  return layout.buffers[size_t(tensor < inputs ? step.inputs[tensor].buffer
                                               : step.outputs[tensor - inputs])];
}

/// Packs a step's records of all samples and parts; `packed`, if there is one, learns where they
/// are.
void DeviceStage::packRecords(Work &work, const Running &running, const Pack &packed) {
  std::vector<pst_tensor> arguments;
  std::vector<int64_t> scalars;
  const StepLayout &step = layout.steps[running.step];
  const size_t width = step.device->record.size() * sizeof(int64_t);
  int64_t at = running.records;
  for (int64_t slot : running.slots) {
    arguments.clear();
    scalars.clear();
    for (const StepLayout::Input &access : step.inputs)
      arguments.push_back(input(work, slot, access));
    for (int32_t number : step.outputs) {
      arguments.push_back(tensor(slot, number));
      arguments.back().data = addressOf(work, slot, number);
    }
    for (int32_t number : step.scalars)
      scalars.push_back(work.block(slot)[number]);
    for (int part = 0; part < std::max(step.parts, 1); ++part) {
      const int64_t chain = step.parts ? part : std::max(step.chain, 0);
      const auto *own = base + scratch[size_t(slot)] + chain * scratchEach[size_t(slot)];
      packRecord(step.device->record, step.once ? 0 : slot + 1, arguments.data(), scalars.data(),
                 own, reinterpret_cast<int64_t *>(static_cast<uint8_t *>(slab.get()) + at), part);
      if (packed)
        packed(slot, part, arguments, base + at);
      at += int64_t(width);
    }
  }
}

} // namespace penstock::runtime
