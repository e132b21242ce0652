// SPDX-License-Identifier: Apache-2.0
//
// The inner loop: no allocation, no lock and no clock per sample, except for
// decodes and for steps that are timed.
#include "runtime/sched/SampleRunner.h"

#include "runtime/abi/scalar.h"
#include "runtime/core/Memory.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

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

} // namespace

SampleRunner::SampleRunner(std::shared_ptr<const Program> shared, ScratchLimits &limits,
                           const Clock &clock)
    : program(std::move(shared)), layout(*program->layout), tree(program->tree()), clock(clock),
      scratch(limits, layout.staticScratch + (int64_t(1) << 16)), buffers(*program, scratch),
      constants(layout, buffers),
      media(*program, imageLimits(limits), buffers, scratch, clock, costs),
      codecs(imageLimits(limits)), fieldStorage(layout.buffers.size()) {
  size_t widest = tree.setup_fields.size(), mostScalars = 0;
  for (const StepLayout &step : layout.steps) {
    widest = std::max(widest, step.inputs.size() + step.outputs.size());
    mostScalars = std::max(mostScalars, step.scalars.size());
  }
  arguments.resize(widest);
  scalars.resize(mostScalars + 1);
}

bool SampleRunner::select(Work &work, int64_t slot) {
  int64_t *const block = work.block(slot);
  std::memcpy(block, program->block.data(), program->slots() * sizeof(int64_t));
  const int64_t position = work.positions[size_t(slot)];
  block[PST_ENTRY_EPOCH] = work.epoch;
  block[PST_ENTRY_POSITION] = position;
  block[PST_ENTRY_BATCH_POSITION] = work.batchPosition;
  block[PST_ENTRY_SLOT] = work.firstIndex + slot;
  block[PST_ENTRY_COUNT] = work.batchCount;
  const bool isGiven = work.attempt(slot, 0) == 0 && !work.given.empty();
  const int64_t own = isGiven ? work.given[size_t(slot)]
                              : program->rowFor(work.epoch, position, work.attempt(slot, 0));
  work.row(slot, 0) = own;
  if (const int32_t number = tree.rows[0]->slot; number >= 0)
    block[number] = own;
  if (layout.select) {
    pst_kernel_args args{};
    args.scalars = block;
    args.scratch = scratch.allocate(scratchBytes(tree.select, block));
    args.stop = work.stop;
    const int32_t id = layout.select(&args); // a select kernel has no checks
    scratch.reset();
    if (id == PST_KERNEL_STOPPED)
      return false;
  }
  for (size_t i = 1; i < tree.rows.size(); ++i) { // whose slots go on saying what was asked for
    const int64_t row =
        program->pickedRow(work.epoch, tree.rows[i]->of_batch ? work.batchPosition : position, i,
                           work.attempt(slot, i), block[tree.rows[i]->slot]);
    work.row(slot, i) = row;
    if (tree.rows[i]->place >= 0)
      block[tree.rows[i]->place] = row;
  }
  return true;
}

void SampleRunner::prefetch(Work &work, int64_t slot) const {
  auto hint = [&](size_t row, int column) {
    if (program->external(row))
      return;
    program->tables->prefetch(tree.rows[row]->source, work.row(slot, row), column);
  };
  for (const auto &field : tree.fields)
    if (field->axis < 0 && !field->of_rows)
      hint(size_t(field->row), field->column);
  for (const BufferLayout &buffer : layout.buffers)
    if (buffer.kind == BufferKind::field)
      hint(size_t(buffer.row), buffer.column);
}

bool SampleRunner::firstStage(Work &work, int64_t slot, Failure &failure) {
  buffers.begin(work, slot, 0);
  bool good = false;
  try {
    good = fields(work, slot, failure) && media.probe(work, slot, failure) &&
           runSetup(work, failure) && media.decode(work, slot, failure) &&
           runStage(work, slot, 0, failure);
  } catch (const std::bad_alloc &) {
    failure = failureOf(0, noMemory("for a sample"));
  }
  if (good)
    storeScalars(work, slot);
  buffers.end();
  return good;
}

bool SampleRunner::laterStage(Work &work, int64_t slot, int stage, Failure &failure) {
  buffers.begin(work, slot, stage);
  bool good = false;
  try {
    good = runStage(work, slot, stage, failure);
  } catch (const std::bad_alloc &) {
    failure = failureOf(0, noMemory("for a sample"));
  }
  buffers.end();
  return good;
}

bool SampleRunner::fields(Work &work, int64_t slot, Failure &failure) {
  if (!storeFields(work, slot, buffers.block, failure))
    return false;
  for (size_t i = 0; i < layout.buffers.size(); ++i) {
    const BufferLayout &buffer = layout.buffers[i];
    if (buffer.kind != BufferKind::field)
      continue;
    Buffer &storage = buffer.kept >= 0 ? work.keptBuffer(slot, buffer.kept) : fieldStorage[i];
    if (!bindField(work, slot, buffer, storage, buffers[int32_t(i)], failure))
      return false;
  }
  return true;
}

bool SampleRunner::runSetup(const Work &work, Failure &failure) {
  if (!layout.setup)
    return true;
  const int64_t begin = timed ? clock.nowNs() : 0;
  const Scratch::Mark mark = scratch.mark();
  pst_kernel_args args{};
  args.scalars = buffers.block;
  args.tensors = arguments.data();
  for (size_t i = 0; i < tree.setup_fields.size(); ++i)
    arguments[i] = buffers[tree.setup_fields[i]];
  const int64_t bytes = scratchBytes(tree.setup, buffers.block);
  args.scratch = scratch.allocate(bytes);
  if (!args.scratch) {
    failure = failureOf(0, scratch.refusal("the setup", bytes));
    return false;
  }
  args.stop = work.stop;
  const int32_t id = layout.setup(&args);
  scratch.rewind(mark);
  costs.add(Stage::Setup, timed ? (clock.nowNs() - begin) * timed : 0);
  if (id == 0)
    return true;
  failure = checkFailure(tree, id, args.failure);
  return false;
}

bool SampleRunner::runStage(Work &work, int64_t slot, int stage, Failure &failure) {
  buffers.bindOutputs(work, slot, stage);
  const int64_t begin = timed ? clock.nowNs() : 0;
  uint64_t count = 0;
  int64_t last = begin;
  if (timed)
    costs.steps.resize(layout.steps.size());
  for (size_t i = layout.stageBegin[size_t(stage)]; i < layout.stageBegin[size_t(stage) + 1]; ++i) {
    const StepLayout &step = layout.steps[i];
    if (step.guard >= 0 && !buffers.block[step.guard])
      continue;
    if (step.once && slot != 0)
      continue;
    ++count;
    if (!runStep(work, slot, step, failure)) {
      failure.isOfBatch |= step.once;
      return false;
    }
    if (!timed)
      continue;
    const int64_t now = clock.nowNs();
    costs.steps[i].count += uint64_t(timed);
    costs.steps[i].busyNs += (now - last) * timed;
    last = now;
  }
  costs.add(Stage::Kernels, (last - begin) * timed, count);
  buffers.keep(work, slot, stage);
  auto valueOf = [&](int buffer) {
    int64_t value;
    std::memcpy(&value, buffers.own(buffer).data, sizeof value);
    return value;
  };
  return storeLengths(work, slot, stage, valueOf, failure);
}

bool SampleRunner::runStep(Work &work, int64_t slot, const StepLayout &step, Failure &failure) {
  pst_tensor *next = arguments.data();
  for (const StepLayout::Input &access : step.inputs) {
    if (access.all && access.count >= 0 && access.count != work.count) {
      failure = {0, "the batch has " + std::to_string(work.count) + " samples instead of " +
                        std::to_string(access.count)};
      return false;
    }
    const pst_tensor *tensor = buffers.input(work, access);
    if (!tensor->data) {
      failure = {0, "internal error: buffer " + std::to_string(access.buffer) +
                        " is read before it is made"};
      return false;
    }
    *next++ = *tensor;
  }
  for (int32_t number : step.outputs) {
    const BufferLayout &buffer = layout.buffers[size_t(number)];
    pst_tensor &tensor = buffers[number];
    if (!buffers.shape(number, failure))
      return false;
    if (buffer.kind == BufferKind::temporary && !tensor.data) {
      const int64_t bytes =
          buffer.rank == 0 ? buffer.elementBytes : tensor.extent[0] * tensor.stride[0];
      tensor.data = buffers.storageFor(work, slot, buffer, bytes);
      if (!tensor.data) {
        failure = failureOf(0, buffers.refusal(buffer, "a temporary", bytes));
        return false;
      }
    }
    *next++ = tensor;
  }
  for (size_t i = 0; i < step.scalars.size(); ++i)
    scalars[i] = buffers.block[step.scalars[i]];
  if (step.codec != plan::Codec::none)
    return runCodec(step, failure);
  const size_t number = size_t(&step - layout.steps.data());
  const bool isMade =
      step.isConstant &&
      constants.find(number, std::span(scalars).first(step.scalars.size()),
                     std::span(arguments).subspan(step.inputs.size(), step.outputs.size()));
  if (!runCode(work, step, isMade, failure))
    return false;
  if (step.isConstant)
    constants.keep(number);
  return true;
}

bool SampleRunner::runCodec(const StepLayout &step, Failure &failure) {
  const int rank = layout.buffers[size_t(step.inputs[0].buffer)].rank;
  Status status =
      codecs.run(step.codec, arguments[0], rank,
                 std::span(arguments).subspan(1, step.outputs.size()), scalars[0], scratch);
  if (!status)
    failure = failureOf(0, status.error());
  return bool(status);
}

bool SampleRunner::runCode(const Work &work, const StepLayout &step, bool isMade,
                           Failure &failure) {
  const Scratch::Mark mark = scratch.mark();
  pst_kernel_args args{};
  args.tensors = arguments.data();
  args.scalars = scalars.data();
  const int64_t bytes = scratchBytes(step.kernel, buffers.block);
  args.scratch = scratch.allocate(bytes);
  if (!args.scratch) {
    failure = failureOf(0, scratch.refusal("a kernel", bytes));
    return false;
  }
  args.band[1] = INT64_MAX;
  args.stop = work.stop;
  const int32_t id = isMade ? 0 : step.code(&args);
  scratch.rewind(mark);
  if (id == 0)
    return true;
  failure = checkFailure(tree, id, args.failure);
  return false;
}

void SampleRunner::storeScalars(Work &work, int64_t slot) {
  for (size_t i = 0; i < layout.outputs.size(); ++i) {
    const OutputLayout &output = layout.outputs[i];
    if (output.scalarSlot >= 0)
      storeScalar(output.type, buffers.block[output.scalarSlot], work.memory->output(i, slot));
    const bool counted = std::any_of(output.counts.begin(), output.counts.end(),
                                     [](const auto &count) { return count.isLength; });
    if (output.raggedAxis >= 0 && !counted)
      work.memory->lengths(i)[slot] = std::clamp<int64_t>(
          buffers.block[output.lengthSlot], 0, output.extents[size_t(output.raggedAxis)]);
  }
}

Costs SampleRunner::takeCosts() { return std::exchange(costs, Costs()); }

} // namespace penstock::runtime
