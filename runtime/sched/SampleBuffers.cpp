// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/SampleBuffers.h"

#include "runtime/core/Memory.h"

#include <algorithm>
#include <cstring>

namespace penstock::runtime {

using plan::BufferKind;

SampleBuffers::SampleBuffers(const Program &program, Scratch &scratch)
    : layout(*program.layout), tree(program.tree()), scratch(scratch),
      places(layout.places.size()) {
  for (const BufferLayout &buffer : layout.buffers) {
    tensors.push_back(buffer.shape);
    if (buffer.kind == BufferKind::constant)
      tensors.back().data = const_cast<uint8_t *>(layout.constants + buffer.constantOffset);
  }
}

void SampleBuffers::begin(Work &work, int64_t slot, int stage) {
  block = work.block(slot);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const BufferLayout &buffer = layout.buffers[i];
    if (buffer.kind == BufferKind::constant)
      continue;
    tensors[i].data = nullptr;
    if (buffer.kept >= 0 && buffer.stage < stage)
      tensors[i] = work.keptTensor(buffer.once ? 0 : slot, buffer.kept);
  }
}

void SampleBuffers::end() {
  scratch.reset();
  std::fill(places.begin(), places.end(), Place());
}

bool shapeByBlock(const Layout &layout, const plan::PlanT &tree, int number, const int64_t *block,
                  pst_tensor &tensor, Failure &failure) {
  const BufferLayout &buffer = layout.buffers[size_t(number)];
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

void SampleBuffers::bindOutputs(Work &work, int64_t slot, int stage) {
  for (size_t i = 0; i < layout.buffers.size(); ++i) {
    const BufferLayout &buffer = layout.buffers[i];
    if (buffer.kind != BufferKind::output || buffer.stage != stage)
      continue;
    const size_t number = size_t(buffer.output);
    const OutputLayout &output = layout.outputs[number];
    pst_tensor &tensor = tensors[i];
    work.memory->bind(number, slot, tensor);
    // The part that a smaller sample leaves unwritten must not be an older one's.
    if (!buffer.isStatic && output.raggedAxis < 0)
      std::memset(tensor.data, 0, size_t(output.sampleBytes));
  }
}

uint8_t *SampleBuffers::storageFor(Work &work, int64_t slot, const BufferLayout &buffer,
                                   int64_t bytes) {
  if (buffer.kept < 0 && buffer.place < 0)
    return scratch.allocate(bytes);
  if (buffer.kept < 0) {
    Place &place = places[size_t(buffer.place)];
    if (!place.data || place.bytes < bytes) {
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

Error SampleBuffers::refusal(const BufferLayout &buffer, std::string_view what,
                             int64_t bytes) const {
  if (buffer.kept < 0)
    return scratch.refusal(what, bytes);
  return noMemory("for the " + std::to_string(bytes) + " bytes that " + std::string(what) +
                  " needs");
}

const pst_tensor &SampleBuffers::own(int number) const {
  const BufferLayout &buffer = layout.buffers[size_t(number)];
  if (buffer.kind != BufferKind::alias)
    return tensors[size_t(number)];
  return own(buffer.chosen(block));
}

const pst_tensor *SampleBuffers::ofPeer(Work &work, const StepLayout::Input &input) {
  const BufferLayout &buffer = layout.buffers[size_t(input.buffer)];
  if (buffer.kind == BufferKind::constant)
    return &tensors[size_t(input.buffer)];
  const int64_t peer = std::clamp<int64_t>(block[input.peerSlot], 0, work.count - 1);
  return &work.keptTensor(peer, buffer.kept);
}

const pst_tensor *SampleBuffers::ofAll(Work &work, const StepLayout::Input &input) {
  const BufferLayout &buffer = layout.buffers[size_t(input.buffer)];
  everySample = buffer.ofAll(work.keptTensor(0, buffer.kept), work.count);
  return &everySample;
}

void SampleBuffers::keep(Work &work, int64_t slot, int stage) {
  for (size_t i = 0; i < layout.kept.size(); ++i) {
    const int number = layout.kept[i];
    const BufferLayout &buffer = layout.buffers[size_t(number)];
    if (buffer.stage == stage && !(buffer.once && slot != 0))
      work.keptTensor(slot, int(i)) = own(number);
  }
}

} // namespace penstock::runtime
