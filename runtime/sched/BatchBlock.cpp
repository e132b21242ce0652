// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/BatchBlock.h"

#include "runtime/abi/kernel.h"

// The state lies on the stack.
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace penstock::runtime {

namespace {

struct Offsets {
  std::vector<int64_t> outputs, lengths, kept, keptBytes, deviceOutputs, deviceLengths;
  int64_t total = 0, deviceTotal = 0;

  static int64_t place(int64_t bytes, int64_t &total) {
    const int64_t at = total;
    total += alignStorage(bytes + storageSlack);
    return at;
  }
  int64_t place(int64_t bytes) { return place(bytes, total); }
  Offsets(const Layout &layout, int64_t count) {
    // Kernels may read what lies before an output, too; the first keeps its alignment.
    constexpr int64_t before = 256;
    static_assert(before >= PST_DEVICE_SLACK);
    for (const OutputLayout &output : layout.outputs)
      if (output.onDevice)
        deviceTotal = before;
    for (const OutputLayout &output : layout.outputs) {
      const int64_t bytes = output.sampleBytes * count;
      const int64_t lengthBytes =
          output.raggedAxis < 0 ? 0 : (count + 1) * int64_t(sizeof(int64_t));
      outputs.push_back(output.onDevice && output.madeOnDevice ? 0 : place(bytes));
      lengths.push_back(lengthBytes ? place(lengthBytes) : 0);
      deviceOutputs.push_back(output.onDevice ? place(bytes, deviceTotal) : 0);
      const bool hasOffsets = lengthBytes && output.fill.empty();
      deviceLengths.push_back(output.onDevice && hasOffsets ? place(lengthBytes, deviceTotal) : 0);
    }
    for (int number : layout.kept) {
      const BufferLayout &buffer = layout.buffers[number];
      // Media of unknown size have storage of their own (Work::keptBuffers).
      const bool here = buffer.kind == plan::BufferKind::temporary && buffer.bytes > 0;
      keptBytes.push_back(!here              ? 0
                          : buffer.readByAll ? buffer.bytes
                                             : alignStorage(buffer.bytes + storageSlack));
      kept.push_back(here ? place(keptBytes.back() * (buffer.once ? 1 : count)) : 0);
    }
  }
};

/// Far above what any machine has.
constexpr uint64_t tooManyBytes = UINT64_MAX / 4;

bool isTooLarge(const Layout &layout, int64_t count) {
  // Far below overflow of what Offsets adds up.
  double estimate = 0;
  for (const OutputLayout &output : layout.outputs)
    estimate += double(output.sampleBytes + 8) * double(count);
  for (int number : layout.kept)
    estimate +=
        double(std::max<int64_t>(layout.buffers[size_t(number)].bytes, 0) + 128) * double(count);
  return estimate > 0x1p60;
}

} // namespace

uint64_t BatchBlock::bytesFor(const Layout &layout, int64_t count) {
  return isTooLarge(layout, count) ? tooManyBytes : uint64_t(Offsets(layout, count).total);
}

uint64_t BatchBlock::deviceBytesFor(const Layout &layout, int64_t count) {
  return isTooLarge(layout, count) ? tooManyBytes : uint64_t(Offsets(layout, count).deviceTotal);
}

BatchBlock::~BatchBlock() {
  for (const auto &use : uses)
    (void)use->wait();
}

std::unique_ptr<BatchBlock> BatchBlock::make(std::shared_ptr<const Layout> layout, int64_t count,
                                             std::shared_ptr<Device> device) {
  Offsets offsets(*layout, count);
  std::unique_ptr<BatchBlock> block(new BatchBlock());
  block->memory = device->allocateHost(size_t(offsets.total));
  if (!block->memory)
    return nullptr;
  block->base = static_cast<uint8_t *>(block->memory.get());
  if (offsets.deviceTotal) {
    block->deviceMemory = device->allocate(size_t(offsets.deviceTotal));
    if (!block->deviceMemory)
      return nullptr;
    block->deviceBase = static_cast<uint8_t *>(block->deviceMemory.get());
  }
  block->device = std::move(device);
  block->deviceOffsets = std::move(offsets.deviceOutputs);
  block->deviceLengthOffsets = std::move(offsets.deviceLengths);
  block->plan = std::move(layout);
  block->samples = count;
  block->outputOffsets = std::move(offsets.outputs);
  block->lengthOffsets = std::move(offsets.lengths);
  block->keptOffsets = std::move(offsets.kept);
  block->keptBytes = std::move(offsets.keptBytes);
  block->begin(count);
  return block;
}

void BatchBlock::begin(int64_t count) {
  isCompact = false;
  copies.clear();
  outputStrides.clear();
  for (const OutputLayout &output : plan->outputs)
    outputStrides.push_back(output.strides(count));
}

void BatchBlock::bind(size_t number, int64_t slot, pst_tensor &tensor) const {
  size_t axis = 0;
  for (int stored : plan->outputs[number].stored)
    if (stored != nAxis(number))
      tensor.stride[axis++] = outputStrides[number][size_t(stored)];
  tensor.data = output(number, slot);
}

namespace {

/// Writes one element again and again.
void fillUp(uint8_t *to, int64_t bytes, const std::vector<uint8_t> &element) {
  int64_t done = std::min(bytes, int64_t(element.size()));
  if (done)
    std::memcpy(to, element.data(), size_t(done));
  for (int64_t more; done < bytes; done += more)
    std::memcpy(to + done, to, size_t(more = std::min(done, bytes - done)));
}

} // namespace

void BatchBlock::fillOutput(size_t number, int64_t count) {
  const OutputLayout &o = plan->outputs[number];
  const int64_t sampleStride = outputStrides[number][o.nAxis];
  const int64_t valueBytes = outputStrides[number][o.raggedAxis];
  const int64_t *all = lengths(number);
  const int64_t longest = count ? *std::max_element(all, all + count) : 0;
  lengths(number)[count] = longest;
  outputStrides[number][o.nAxis] = longest * valueBytes;
  if (o.onDevice && o.madeOnDevice)
    return;
  // Samples lie a bound's length apart, so values only ever move down, and what is filled up ends
  // before the next sample begins.
  for (int64_t slot = 0; slot < count; ++slot) {
    uint8_t *to = output(number) + slot * longest * valueBytes;
    const int64_t bytes = all[slot] * valueBytes;
    std::memmove(to, output(number) + slot * sampleStride, size_t(bytes));
    fillUp(to + bytes, longest * valueBytes - bytes, o.fill);
  }
}

void BatchBlock::compact(int64_t count) {
  if (std::exchange(isCompact, true))
    return;
  for (size_t i = 0; i < plan->outputs.size(); ++i) {
    const OutputLayout &o = plan->outputs[i];
    if (o.raggedAxis < 0)
      continue;
    if (!o.fill.empty()) {
      fillOutput(i, count);
      continue;
    }
    // Samples lie a bound's length apart, so values only ever move down.
    const int64_t sampleStride = outputStrides[i][o.nAxis];
    const int64_t valueBytes = outputStrides[i][o.raggedAxis];
    const bool isHere = !(o.onDevice && o.madeOnDevice);
    int64_t *ends = lengths(i);
    int64_t at = 0;
    for (int64_t slot = 0; slot < count; ++slot) {
      const int64_t length = ends[slot];
      ends[slot] = at;
      if (isHere)
        std::memmove(output(i) + at * valueBytes, output(i) + slot * sampleStride,
                     size_t(length * valueBytes));
      at += length;
    }
    ends[count] = at;
  }
}

int64_t BatchBlock::deliveredBytes(size_t number, int64_t count) const {
  const OutputLayout &o = plan->outputs[number];
  if (o.raggedAxis < 0)
    return o.sampleBytes * count;
  return o.fill.empty() ? lengths(number)[count] * outputStrides[number][o.raggedAxis]
                        : count * outputStrides[number][o.nAxis];
}

std::vector<OutputView> BatchBlock::views(int64_t count) const {
  std::vector<OutputView> result;
  for (size_t i = 0; i < plan->outputs.size(); ++i) {
    const OutputLayout &o = plan->outputs[i];
    OutputView view;
    view.name = o.name;
    view.type = o.type;
    view.data = o.onDevice ? deviceOutput(i) : output(i);
    view.device = o.onDevice ? device->number() : -1;
    const bool isFilled = !o.fill.empty();
    if (o.raggedAxis >= 0 && !isFilled)
      view.offsets = lengths(i);
    if (o.raggedAxis >= 0 && !isFilled && o.onDevice)
      view.deviceOffsets = reinterpret_cast<const int64_t *>(deviceLengths(i));
    for (size_t axis = 0; axis < o.axes.size(); ++axis) {
      if (o.raggedAxis >= 0 && !isFilled && int(axis) == o.nAxis)
        continue;
      const bool ragged = int(axis) == o.raggedAxis;
      view.axes.push_back(ragged && !isFilled ? "n" : o.axes[axis]);
      view.shape.push_back(ragged                 ? lengths(i)[count]
                           : int(axis) == o.nAxis ? count
                                                  : o.extents[axis]);
      view.strides.push_back(outputStrides[i][axis]);
    }
    result.push_back(std::move(view));
  }
  return result;
}

namespace {

/// The bytes of one sample in memory order, in runs as long as they lie together.
void hashSample(XXH64_state_t *state, const OutputLayout &o, const std::vector<int64_t> &strides,
                const uint8_t *data, size_t level, int64_t run) {
  while (level < o.stored.size() && o.stored[level] == o.nAxis)
    ++level;
  if (level == o.stored.size()) {
    XXH64_update(state, data, size_t(run));
    return;
  }
  const int axis = o.stored[level];
  // Without n inside, the rest of the sample is one run.
  bool together = true;
  for (size_t inner = level + 1; inner < o.stored.size(); ++inner)
    together &= o.stored[inner] != o.nAxis;
  if (together) {
    XXH64_update(state, data, size_t(o.extents[axis] * strides[axis]));
    return;
  }
  for (int64_t i = 0; i < o.extents[axis]; ++i)
    hashSample(state, o, strides, data + i * strides[axis], level + 1, run);
}

} // namespace

const uint8_t *BatchBlock::onHost(size_t number, int64_t count) const {
  const OutputLayout &o = plan->outputs[number];
  if (!o.onDevice)
    return output(number);
  std::lock_guard guard(lock);
  copies.resize(plan->outputs.size());
  if (std::shared_ptr<void> &copy = copies[number]; !copy) {
    const size_t bytes = size_t(deliveredBytes(number, count));
    auto stream = device->makeStream();
    std::shared_ptr<void> memory = device->allocateHost(bytes);
    if (!stream || !memory || !(*stream)->copyToHost(memory.get(), deviceOutput(number), bytes) ||
        !(*stream)->finish())
      return nullptr;
    copy = std::move(memory);
  }
  return static_cast<const uint8_t *>(copies[number].get());
}

void BatchBlock::usedOn(void *stream) {
  if (!deviceMemory)
    return;
  auto event = device->eventAfter(stream);
  std::lock_guard guard(lock);
  isUsed = true;
  if (event)
    uses.push_back(std::move(event));
}

bool BatchBlock::isOrdered() const {
  std::lock_guard guard(lock);
  return isUsed || !deviceMemory;
}

std::vector<std::unique_ptr<DeviceEvent>> BatchBlock::takeUses() {
  std::lock_guard guard(lock);
  isUsed = false;
  return std::exchange(uses, {});
}

uint64_t BatchBlock::contentHash(int64_t slot, int64_t count) const {
  XXH64_state_t state;
  XXH64_reset(&state, 0);
  for (size_t i = 0; i < plan->outputs.size(); ++i) {
    const OutputLayout &o = plan->outputs[i];
    const uint8_t *values = onHost(i, count);
    if (!values)
      return 0;
    if (o.raggedAxis < 0) {
      hashSample(&state, o, outputStrides[i], values + slot * outputStrides[i][o.nAxis], 0,
                 o.elementBytes);
      continue;
    }
    const int64_t *ends = lengths(i), bytes = outputStrides[i][o.raggedAxis];
    const int64_t begin = o.fill.empty() ? ends[slot] : slot * ends[count];
    const int64_t length = o.fill.empty() ? ends[slot + 1] - ends[slot] : ends[slot];
    XXH64_update(&state, &length, sizeof length);
    XXH64_update(&state, values + begin * bytes, size_t(length * bytes));
  }
  return XXH64_digest(&state);
}

Result<std::shared_ptr<BlockPool>> BlockPool::make(std::shared_ptr<const Layout> layout,
                                                   int64_t samples, int blocks, int64_t most,
                                                   std::shared_ptr<Device> device) {
  auto pool = std::make_shared<BlockPool>();
  pool->layout = layout;
  pool->device = device;
  pool->samples = samples;
  pool->making = blocks / 2;
  pool->count = blocks;
  pool->most = std::max<int64_t>(most, blocks);
  for (int i = 0; i < blocks; ++i) {
    pool->blocks.push_back(BatchBlock::make(layout, samples, device));
    if (!pool->blocks.back()) {
      const uint64_t there = BatchBlock::deviceBytesFor(*layout, samples);
      return Error{
          Code::Limit,
          "no memory for " + std::to_string(blocks) + " batches of " +
              std::to_string(BatchBlock::bytesFor(*layout, samples)) + " bytes" +
              (there ? " here and " + std::to_string(there) + " on the " + device->name() : "")};
    }
  }
  return pool;
}

std::unique_ptr<BatchBlock> BlockPool::take() {
  std::lock_guard guard(lock);
  // Not for those of dropped batches: they come back soon.
  if (blocks.empty() && count < most && count < delivered + making) {
    auto block = BatchBlock::make(layout, samples, device);
    if (block)
      ++count;
    else
      most = count;
    return block;
  }
  if (blocks.empty())
    return nullptr;
  auto block = std::move(blocks.back());
  blocks.pop_back();
  return block;
}

void BlockPool::giveBack(std::unique_ptr<BatchBlock> block) {
  {
    std::lock_guard guard(lock);
    blocks.push_back(std::move(block));
  }
  std::lock_guard guard(callbackLock);
  if (callback)
    callback();
}

bool BlockPool::allDelivered() const {
  std::lock_guard guard(lock);
  return delivered == count && count == most;
}

int64_t BlockPool::size() const {
  std::lock_guard guard(lock);
  return count;
}

void BlockPool::giveBackDelivered(std::unique_ptr<BatchBlock> block) {
  --delivered;
  giveBack(std::move(block));
}

void BlockPool::whenReturned(std::function<void()> wanted) {
  std::lock_guard guard(callbackLock);
  callback = std::move(wanted);
}

} // namespace penstock::runtime
