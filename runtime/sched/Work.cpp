// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/Work.h"

#include "runtime/abi/message.h"
#include "runtime/abi/random.h"

#include <algorithm>
#include <cmath>

namespace penstock::runtime {

void Costs::add(const Costs &other) {
  for (size_t i = 0; i < stages.size(); ++i) {
    stages[i].count += other.stages[i].count;
    stages[i].busyNs += other.stages[i].busyNs;
  }
  steps.resize(std::max(steps.size(), other.steps.size()));
  for (size_t i = 0; i < other.steps.size(); ++i) {
    steps[i].count += other.steps[i].count;
    steps[i].busyNs += other.steps[i].busyNs;
  }
  decoded.blocksTransformed += other.decoded.blocksTransformed;
  decoded.rowsDecoded += other.decoded.rowsDecoded;
  decoded.images += other.decoded.images;
  decoded.indexUses += other.decoded.indexUses;
  decoded.indexMisses += other.decoded.indexMisses;
  for (size_t i = 0; i < entropyPathCount; ++i)
    decoded.entropyPaths[i] += other.decoded.entropyPaths[i];
  fetchedBytes += other.fetchedBytes;
  videos.add(other.videos);
}

void Work::begin(std::shared_ptr<const Program> wanted, int64_t samples) {
  program = std::move(wanted);
  count = samples;
  const size_t n = size_t(samples);
  const size_t keptCount = program->layout->kept.size();
  positions.resize(n);
  given.clear();
  rows.resize(n * program->rowCount());
  attempts.assign(n * program->rowCount(), 0);
  blocks.resize(n * program->slots());
  encoded.resize(std::max(encoded.size(), n * program->mediaCount()));
  if (program->hasExternal)
    external.resize(std::max(external.size(), n * program->rowCount()));
  kept.assign(n * keptCount, pst_tensor{});
  planes.assign(n * program->tree().decodes.size(), Planes());
  if (keptBuffers.size() < n * keptCount)
    keptBuffers.resize(n * keptCount);
  bad.clear();
  fatal.clear();
  fatalSlot = 0;
  costs = Costs();
}

std::string Work::name(int64_t slot, size_t number) {
  if (program->external(number) && !externalRow(slot, number).name.empty())
    return externalRow(slot, number).name;
  return program->tables->name(program->tree().rows[number]->source, row(slot, number));
}

int64_t freeFiles(Work &work, int64_t slot, size_t limit) {
  int64_t total = 0;
  for (size_t i = 0; i < work.program->mediaCount(); ++i) {
    Encoded &encoded = work.media(slot, i);
    total += int64_t(encoded.bytesHeld());
    encoded.file.reset();
    encoded.video.reset();
    encoded.sound.reset();
    Buffer &bytes = encoded.bytes;
    bytes.clear();
    if (bytes.capacity() > limit)
      bytes.release();
  }
  for (size_t i = 0; i < work.program->rowCount(); ++i)
    if (work.program->external(i))
      total += work.externalRow(slot, i).clear(limit);
  return total;
}

Failure checkFailure(const plan::PlanT &tree, int32_t id, const int64_t values[2]) {
  if (id == PST_KERNEL_STOPPED)
    return {0, "the sample was given up"};
  for (const auto &check : tree.checks)
    if (check->id == id)
      return {0, fillMessage(check->message, values) + " (" + check->file + ":" +
                     std::to_string(check->line) + ":" + std::to_string(check->column) + ")"};
  return {0, "check " + std::to_string(id) + " failed"};
}

Failure failureOf(size_t row, const Error &error) {
  return {row, error.message, error.code == Code::Exhausted || error.code == Code::Unreachable};
}

bool substitute(Work &work, int64_t slot, const Failure &failure) {
  const Program &program = *work.program;
  const plan::PlanT &tree = program.tree();
  // What goes with the table's own row is replaced with it.
  const size_t replaced = tree.rows[failure.row]->of_row ? 0 : failure.row;
  const plan::RowT &picked = *tree.rows[replaced];
  const int64_t row = work.row(slot, replaced);
  const int64_t position = work.positions[size_t(slot)];
  BadSample bad{work.epoch, position, row, work.name(slot, failure.row), failure.reason, -1};

  std::string fatal;
  uint8_t &attempt = work.attempt(slot, replaced);
  if (failure.isOfBatch) {
    fatal = "the batch from position " + std::to_string(work.batchPosition) +
            " cannot be made: " + failure.reason;
  } else if (program.substitute < 0) {
    fatal =
        "bad sample at position " + std::to_string(position) + ": " + bad.name + ": " + bad.reason;
  } else if (attempt == Order::maxSubstitutes) {
    fatal = "bad sample at position " + std::to_string(position) + ", and so are " +
            std::to_string(Order::maxSubstitutes) + " substitutes; the last is " + bad.name + ": " +
            bad.reason;
  } else {
    ++attempt;
    for (size_t i = 1; i < tree.rows.size(); ++i)
      if (i != replaced && !tree.rows[i]->of_row && tree.rows[i]->group == picked.group)
        work.attempt(slot, i) = attempt;
    bad.substitute =
        replaced == 0
            ? program.rowFor(work.epoch, position, attempt)
            : program.pickedRow(work.epoch, picked.of_batch ? work.batchPosition : position,
                                replaced, attempt, work.block(slot)[picked.slot]);
  }

  std::lock_guard guard(work.lock);
  // The first sample of a batch speaks for all that a row of theirs is bad.
  const bool isToldByFirst = replaced > 0 && picked.of_batch && work.firstIndex + slot > 0;
  if (!failure.isOfBatch && !isToldByFirst)
    work.bad.insert(
        std::upper_bound(work.bad.begin(), work.bad.end(), position,
                         [](int64_t at, const BadSample &other) { return at < other.position; }),
        std::move(bad));
  if (fatal.empty())
    return true;
  // The error of the first slot counts, whichever thread came first.
  if (work.fatal.empty() || slot < work.fatalSlot) {
    work.fatal = std::move(fatal);
    work.fatalSlot = slot;
  }
  return false;
}

} // namespace penstock::runtime
