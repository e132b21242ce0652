// SPDX-License-Identifier: Apache-2.0
//
// Everything is placed and packed (DevicePlacing.cpp), queued at once and waited for.
#include "runtime/sched/DeviceStage.h"

#include "runtime/abi/media.h"

#include <algorithm>
#include <cstring>

namespace penstock::runtime {

namespace {

using plan::BufferKind;

/// Returns the blocks of a launch: enough for any GPU's multiprocessors, few enough that each has
/// work.
uint32_t blocksFor(size_t samples, size_t most) {
  constexpr size_t wanted = 2048;
  return uint32_t(std::clamp<size_t>(wanted / std::max<size_t>(samples, 1), 1, most));
}
uint32_t blocksFor(const plan::DeviceKernelT &kernel, size_t samples) {
  if (kernel.one_block || kernel.blocks != 0) // each block has a tile of its own
    return kernel.one_block ? 1 : kernel.blocks;
  return blocksFor(samples, 64);
}

/// Returns the blocks of a sample that wait for each other: a quarter of those that a small GPU has
/// room for, as launches of other sessions and levels may wait beside, each for its last sample.
uint32_t blocksFor(const plan::JoinT &join, const DeviceKernel &kernel, size_t samples) {
  if (join.chains)
    return 1;
  return blocksFor(samples, std::clamp<size_t>(kernel.together / 4, 1, PST_MAX_JOINED_BLOCKS));
}

bool isOutermost(const OutputLayout &output) { return output.stored[0] == output.nAxis; }

} // namespace

bool runsAlone(const Layout &layout) {
  return !layout.joinsSamples() &&
         std::all_of(layout.buffers.begin(), layout.buffers.end(), [&](const BufferLayout &b) {
           return b.kind != BufferKind::output || b.stage != layout.deviceStage() ||
                  isOutermost(layout.outputs[size_t(b.output)]);
         });
}

//===--- what the stage touches --------------------------------------------------------===//

DeviceStage::DeviceStage(std::shared_ptr<const Program> wanted)
    : program(std::move(wanted)), layout(*program->layout), tree(program->tree()),
      shared(*program->device), stage(layout.deviceStage()), entries(layout.buffers.size(), -1),
      crosses(layout.buffers.size()), decodes(layout.buffers.size(), -1) {
  for (size_t i = 0; i < tree.decodes.size(); ++i)
    decodes[size_t(tree.decodes[i]->buffer)] = int(i);
  findBuffers();
  for (const OutputLayout &output : layout.outputs)
    copiesOutputs |= output.onDevice && (!output.madeOnDevice || output.raggedAxis >= 0);
}

void DeviceStage::findBuffers() {
  auto use = [&](int buffer) {
    if (entries[size_t(buffer)] < 0) {
      entries[size_t(buffer)] = int(used.size());
      used.push_back(buffer);
    }
  };
  for (const StepLayout &step : layout.steps) {
    if (!step.device)
      continue;
    for (int32_t output : step.outputs) {
      use(output);
      made.push_back(output);
    }
    for (const StepLayout::Input &access : step.inputs)
      findCrossing(access.buffer);
  }
  for (const OutputLayout &output : layout.outputs)
    for (const OutputLayout::Count &count : output.counts)
      if (layout.buffers[size_t(count.buffer)].stage == stage)
        findCounts(count.buffer);
  for (size_t buffer = 0; buffer < crosses.size(); ++buffer)
    if (crosses[buffer]) {
      use(int(buffer));
      crossing.push_back(int(buffer));
    }
}

/// A choice among buffers of the host crosses as what was chosen.
void DeviceStage::findCrossing(int number) {
  const BufferLayout &buffer = layout.buffers[size_t(number)];
  if (buffer.kind == BufferKind::constant || crosses[size_t(number)])
    return;
  if (buffer.stage < stage) {
    crosses[size_t(number)] = true;
    return;
  }
  for (int32_t choice : buffer.choices)
    findCrossing(choice);
}

/// Whatever may be the number of an output's elements.
void DeviceStage::findCounts(int number) {
  if (std::find(made.begin(), made.end(), number) != made.end() &&
      std::find(counts.begin(), counts.end(), number) == counts.end())
    counts.push_back(number);
  for (int32_t choice : layout.buffers[size_t(number)].choices)
    findCounts(choice);
}

/// The buffer that is meant, of a choice of which a device makes some.
int DeviceStage::resolve(int number, const int64_t *block) const {
  const BufferLayout &buffer = layout.buffers[size_t(number)];
  if (buffer.kind != BufferKind::alias || crosses[size_t(number)])
    return number;
  return resolve(buffer.chosen(block), block);
}

//===--- running -----------------------------------------------------------------------------===//

/// Clears those whose size is the sample's, or brings them back: of all samples at once, or one by
/// one.
Status DeviceStage::moveOutputs(Work &work, const std::vector<int64_t> &slots, bool back) {
  for (int number : made) {
    const BufferLayout &buffer = layout.buffers[size_t(number)];
    if (buffer.kind != BufferKind::output)
      continue;
    const size_t output = size_t(buffer.output);
    const OutputLayout &o = layout.outputs[output];
    // Clears before a run: the part that a smaller sample leaves unwritten must not be an older
    // one's.
    if (back ? o.onDevice : buffer.isStatic || o.raggedAxis >= 0)
      continue;
    auto move = [&](int64_t at, int64_t bytes) {
      uint8_t *there = outputAt(work, output) + at;
      return back ? shared.work->copyToHost(work.memory->output(output) + at, there, size_t(bytes))
                  : shared.work->clear(there, size_t(bytes));
    };
    if (int64_t(slots.size()) == work.count) {
      if (Status status = move(0, o.sampleBytes * work.count); !status)
        return status;
      continue;
    }
    for (int64_t slot : slots)
      if (Status status = move(slot * o.sampleBytes, o.sampleBytes); !status)
        return status;
  }
  return {};
}

/// Records of `width` bytes each. More samples than a grid has room for take several launches.
Status DeviceStage::launch(DeviceKernel kernel, uint32_t threads, uint32_t sharedBytes,
                           size_t count, int64_t records, size_t width,
                           const std::function<uint32_t(size_t)> &blocks) {
  auto *status = reinterpret_cast<pst_sample_status *>(base + states);
  for (size_t first = 0; first < count; first += PST_MAX_GRID_Y) {
    const size_t some = std::min<size_t>(count - first, PST_MAX_GRID_Y);
    if (Status result = shared.work->launch({kernel, blocks(some), uint32_t(some), threads,
                                             sharedBytes, base + records + first * width, status});
        !result)
      return result;
  }
  return {};
}

Status DeviceStage::queue(Work &work, const std::vector<int64_t> &slots) {
  std::lock_guard guard(shared.lock);
  DeviceStream &in = *shared.copies, &kernels = *shared.work;
  auto *status = reinterpret_cast<pst_sample_status *>(base + states);
  if (Status result = in.copyToDevice(base, slab.get(), size_t(slabBytes)); !result)
    return result;
  if (Status result = in.record(*copied); !result)
    return result;
  for (const auto &use : work.memory->takeUses())
    if (Status result = kernels.waitFor(*use); !result)
      return result;
  if (Status result = kernels.clear(status, size_t(stateBytes)); !result)
    return result;
  if (Status result = moveOutputs(work, slots, false); !result)
    return result;
  if (Status result = kernels.waitFor(*copied); !result)
    return result;
  if (planes)
    if (Status result = launch(shared.planes, layout.planes->threads, layout.planes->shared, planes,
                               planeRecords, layout.planes->record.size() * sizeof(int64_t),
                               [&](size_t some) { return blocksFor(*layout.planes, some); });
        !result)
      return result;
  auto together = joined.begin();
  for (size_t i = 0; i < steps.size(); ++i) {
    if (together != joined.end() && together->first == i) {
      const JoinLayout &join = layout.joins[size_t(together->number)];
      const plan::JoinT &all = *join.launch;
      const DeviceKernel &kernel = shared.joins[size_t(together->number)];
      if (Status result =
              launch(kernel, all.threads, all.shared, together->entries, together->records,
                     join.recordBytes(), [&](size_t some) { return blocksFor(all, kernel, some); });
          !result)
        return result;
      i = together++->end - 1;
      continue;
    }
    const Running &running = steps[i];
    const plan::DeviceKernelT &kernel = *layout.steps[running.step].device;
    if (Status result =
            launch(shared.kernels[running.step], kernel.threads, kernel.shared,
                   running.slots.size(), running.records, kernel.record.size() * sizeof(int64_t),
                   [&](size_t some) { return blocksFor(kernel, some); });
        !result)
      return result;
  }
  if (Status result = kernels.copyToHost(answer.get(), status, size_t(stateBytes)); !result)
    return result;
  if (Status result = moveOutputs(work, slots, true); !result)
    return result;
  return kernels.record(*done);
}

//===--- outputs that stay --------------------------------------------------------------------===//

/// Samples of a ragged output lie a bound's length apart, so values only ever move down, one behind
/// the other or the batch's longest apart. What would meet its own rest goes there by way of the
/// spare room.
Status DeviceStage::moveTogether(Work &work, size_t output, const std::vector<int64_t> &lengths) {
  const OutputLayout &o = layout.outputs[output];
  const auto &strides = work.memory->strides(output);
  const int64_t apart = o.sampleBytes, each = strides[size_t(o.raggedAxis)];
  uint8_t *const all = work.memory->deviceOutput(output);
  int64_t next = 0;
  for (int64_t slot = 0; slot < work.count; ++slot) {
    const int64_t from = slot * apart, bytes = lengths[size_t(slot)] * each, at = next;
    next += o.fill.empty() ? bytes : strides[size_t(o.nAxis)];
    if (at == from)
      continue;
    const bool meets = at + bytes > from;
    if (meets)
      if (Status status = shared.work->copy(base + spare, all + from, size_t(bytes)); !status)
        return status;
    if (Status status =
            shared.work->copy(all + at, meets ? base + spare : all + from, size_t(bytes));
        !status)
      return status;
  }
  return {};
}

/// Fills the gaps that moveTogether() has left between samples. As much of the fill as the shortest
/// sample lacks is made in the spare room, where every copy doubles it.
Status DeviceStage::fillUp(Work &work, size_t output, const std::vector<int64_t> &lengths) {
  const OutputLayout &o = layout.outputs[output];
  const auto &strides = work.memory->strides(output);
  const int64_t apart = strides[size_t(o.nAxis)], each = strides[size_t(o.raggedAxis)];
  const int64_t most = apart - *std::min_element(lengths.begin(), lengths.end()) * each;
  uint8_t *const run = base + spare;
  for (int64_t there = 0, more; there < most; there += more) {
    more = there ? std::min(there, most - there) : o.elementBytes;
    if (Status status =
            shared.work->copy(run + there, there ? run : base + fills[output], size_t(more));
        !status)
      return status;
  }
  for (int64_t slot = 0; slot < work.count; ++slot) {
    const int64_t values = lengths[size_t(slot)] * each;
    if (Status status = shared.work->copy(work.memory->deviceOutput(output) + slot * apart + values,
                                          run, size_t(apart - values));
        !status)
      return status;
  }
  return {};
}

/// When all samples are good: copies what the host has made, and moves ragged outputs together.
Status DeviceStage::finishOutputs(Work &work) {
  std::vector<std::vector<int64_t>> lengths(layout.outputs.size());
  for (size_t i = 0; i < lengths.size(); ++i)
    if (layout.outputs[i].raggedAxis >= 0)
      lengths[i].assign(work.memory->lengths(i), work.memory->lengths(i) + work.count);
  work.memory->compact(work.count);
  std::lock_guard guard(shared.lock);
  for (size_t i = 0; i < lengths.size(); ++i) {
    const OutputLayout &o = layout.outputs[i];
    if (!o.onDevice)
      continue;
    if (!o.madeOnDevice)
      if (Status status =
              shared.work->copyToDevice(work.memory->deviceOutput(i), work.memory->output(i),
                                        size_t(work.memory->deliveredBytes(i, work.count)));
          !status)
        return status;
    if (o.raggedAxis < 0)
      continue;
    if (o.madeOnDevice)
      if (Status status = moveTogether(work, i, lengths[i]); !status)
        return status;
    if (o.madeOnDevice && !o.fill.empty())
      if (Status status = fillUp(work, i, lengths[i]); !status)
        return status;
    if (!o.fill.empty()) // it has no offsets
      continue;
    if (Status status =
            shared.work->copyToDevice(work.memory->deviceLengths(i), work.memory->lengths(i),
                                      size_t(work.count + 1) * sizeof(int64_t));
        !status)
      return status;
  }
  return shared.work->record(*done);
}

/// Waits for what is queued. What was queued before something failed must not meet the next batch's
/// memory.
Status DeviceStage::waitOrFinish(Status status) {
  if (status)
    status = done->wait();
  if (!status) {
    std::lock_guard guard(shared.lock);
    (void)shared.copies->finish();
    (void)shared.work->finish();
  }
  return status;
}

//===--- what comes back ----------------------------------------------------------===//

/// A number of elements that kernels have found, the stage's or those of the host.
int64_t DeviceStage::countOf(Work &work, int64_t slot, int named) {
  const int number = resolve(named, work.block(slot));
  const BufferLayout &buffer = layout.buffers[size_t(number)];
  int64_t value;
  const void *at;
  if (buffer.kind == BufferKind::constant)
    at = layout.constants + buffer.constantOffset;
  else if (buffer.stage < stage)
    at = work.keptTensor(slot, buffer.kept).data;
  else
    at = static_cast<const uint8_t *>(answer.get()) +
         (reinterpret_cast<intptr_t>(tensor(slot, number).data) - states);
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// Checks that failed, and lengths against their limits.
void DeviceStage::readStates(Work &work, const std::vector<int64_t> &slots, Failed &failed) {
  const auto *status = static_cast<const pst_sample_status *>(answer.get());
  Failure failure;
  if (status[0].check) {
    failure = checkFailure(tree, status[0].check, status[0].values);
    failure.isOfBatch = true;
    failed.emplace_back(0, std::move(failure));
    return;
  }
  for (int64_t slot : slots)
    if (const pst_sample_status &state = status[1 + slot]; state.check)
      failed.emplace_back(slot, checkFailure(tree, state.check, state.values));
    else if (!storeLengths(
                 work, slot, stage, [&](int buffer) { return countOf(work, slot, buffer); },
                 failure))
      failed.emplace_back(slot, std::move(failure));
}

Status DeviceStage::run(Work &work, const std::vector<int64_t> &slots, Failed &failed) {
  for (auto *event : {&copied, &done})
    if (!*event) {
      auto made = shared.device->makeEvent();
      if (!made)
        return made.error();
      *event = std::move(*made);
    }
  tensors.assign(size_t(work.count) * used.size(), pst_tensor{});
  parts.clear();
  steps.clear();
  together.assign(used.size(), 0);
  planes = 0;
  totalBytes = lowest = highest = 0;
  for (int number : crossing) {
    placeTogether(work, number);
    if (layout.buffers[size_t(number)].once)
      placeCrossing(work, 0, number);
    else
      for (int64_t slot : slots)
        placeCrossing(work, slot, number);
  }
  std::vector<int64_t> good;
  for (int64_t slot : slots) {
    Failure failure;
    if (shapeMade(work, slot, failure))
      good.push_back(slot);
    else
      failed.emplace_back(slot, std::move(failure));
  }
  if (good.size() < slots.size() && !runsAlone(layout))
    return {}; // all run again
  if (Status status = placeSteps(work, good); !status)
    return status;
  placeFills();
  planeRecords =
      planes ? place(int64_t(planes * layout.planes->record.size() * sizeof(int64_t))) : 0;
  slabBytes = totalBytes;
  placePixels();
  placeOutputs(work);
  for (int number : made)
    placeTogether(work, number);
  for (int64_t slot : good)
    placeMade(work, slot);
  if (!allocate())
    return Error{Code::Limit, "the " + shared.device->name() + " has no " +
                                  std::to_string(totalBytes) + " bytes left for a batch of " +
                                  std::to_string(work.count) +
                                  " samples: lower the batch size or prefetch"};
  pack(work);
  if (Status status = waitOrFinish(queue(work, good)); !status)
    return status;
  readStates(work, good, failed);
  return failed.empty() && copiesOutputs ? waitOrFinish(finishOutputs(work)) : Status();
}

} // namespace penstock::runtime
