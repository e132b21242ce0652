// SPDX-License-Identifier: Apache-2.0
//
// A batch in the making.
#pragma once

#include "runtime/core/Buffer.h"
#include "runtime/core/Clock.h"
#include "runtime/media/Image.h"
#include "runtime/media/Planes.h"
#include "runtime/media/video/SoundTrack.h"
#include "runtime/media/video/Video.h"
#include "runtime/sched/BatchBlock.h"
#include "runtime/sched/Program.h"
#include "runtime/sched/Report.h"

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace penstock::runtime {

/// The bytes of one media field of one sample.
struct Encoded {
  Buffer bytes; ///< the whole file; of media that are read in parts only where it is read so
  Status status;
  std::unique_ptr<MediaBytes> file; ///< of media that are read in parts
  /// The index of a video, or of sound that FFmpeg reads.
  std::shared_ptr<const Video> video;
  std::shared_ptr<const SoundTrack> sound;
  VideoReading reading = VideoReading::Packets;
  bool isIndexFound = false; ///< its index was there before

  /// Returns the file if it is read in parts; else null.
  const MediaFile *parts() const {
    return file && reading == VideoReading::Packets ? static_cast<const MediaFile *>(file.get())
                                                    : nullptr;
  }
  uint64_t bytesHeld() const { return parts() ? parts()->bytesHeld() : bytes.size(); }
  uint64_t bytesRead() const { return parts() ? parts()->bytesRead() : bytes.size(); }
};

/// Costs of a batch; added to the session's when it is delivered, so that the
/// counts do not depend on how far work ran ahead.
struct Costs {
  std::array<Statistics::Entry, stageCount> stages;
  std::vector<Statistics::Entry> steps; ///< of the layout; empty until one was timed
  DecodeStats decoded;
  uint64_t fetchedBytes = 0;
  VideoCounts videos;

  void add(Stage stage, int64_t ns, uint64_t count = 1) {
    stages[static_cast<size_t>(stage)].count += count;
    stages[static_cast<size_t>(stage)].busyNs += ns;
  }
  void add(const Costs &other);
};

/// A run of slots of one batch, its samples in arrays by slot. Distinct slots
/// may be worked on by distinct threads. Reused from batch to batch.
struct Work {
  std::shared_ptr<const Program> program;
  uint32_t epoch = 0;
  int64_t count = 0;
  /// The place in the rank's batch: slot 0 here is `firstIndex` of `batchCount`.
  int64_t firstIndex = 0;
  int64_t batchCount = 0;
  int64_t batchPosition = 0;

  std::vector<int64_t> positions;    ///< by slot
  std::vector<int64_t> given;        ///< by slot: rows from the caller; else empty
  std::vector<int64_t> rows;         ///< by slot, then row of the plan
  std::vector<uint8_t> attempts;     ///< likewise: substitutes tried
  std::vector<int64_t> blocks;       ///< by slot: the parameter block
  std::vector<Encoded> encoded;      ///< by slot, then media
  std::vector<ExternalRow> external; ///< by slot, then row of the plan; empty without any
  std::vector<pst_tensor> kept;      ///< by slot, then kept buffer
  std::vector<Buffer> keptBuffers;   ///< storage of those that are media or fields
  std::vector<Planes> planes;        ///< by slot, then decode: of those that have planes for pixels
  std::unique_ptr<BatchBlock> memory;
  /// Kernels poll this flag for a stop; their results then are of no use.
  const volatile uint8_t *stop = &neverStops;

  std::mutex lock;            ///< guards the members below
  std::vector<BadSample> bad; ///< by position, then in the order of the attempts
  std::string fatal;          ///< why there can be no batch
  int64_t fatalSlot = 0;
  Costs costs;

  /// Makes room for `count` samples and forgets the last batch.
  void begin(std::shared_ptr<const Program> program, int64_t count);

  int64_t *block(int64_t slot) { return blocks.data() + size_t(slot) * program->slots(); }
  int64_t &row(int64_t slot, size_t row) { return rows[size_t(slot) * program->rowCount() + row]; }
  uint8_t &attempt(int64_t slot, size_t row) {
    return attempts[size_t(slot) * program->rowCount() + row];
  }
  Encoded &media(int64_t slot, size_t media) {
    return encoded[size_t(slot) * program->mediaCount() + media];
  }
  /// Empty where the decode has pixels.
  Planes &planesOf(int64_t slot, size_t decode) {
    return planes[size_t(slot) * program->tree().decodes.size() + decode];
  }
  /// Returns a row of a table of the caller's.
  ExternalRow &externalRow(int64_t slot, size_t row) {
    return external[size_t(slot) * program->rowCount() + row];
  }
  /// Returns the row's name in messages.
  std::string name(int64_t slot, size_t row);
  Buffer &keptBuffer(int64_t slot, int number) {
    return keptBuffers[size_t(slot) * program->layout->kept.size() + size_t(number)];
  }
  pst_tensor &keptTensor(int64_t slot, int kept) {
    return this->kept[size_t(slot) * program->layout->kept.size() + size_t(kept)];
  }
};

/// Empties its media and rows of callers, when the sample is done, and gives back buffers
/// that grew beyond `limit`. Returns how many bytes there were.
int64_t freeFiles(Work &work, int64_t slot, size_t limit);

/// The reason that a sample cannot be used.
struct Failure {
  size_t row = 0; ///< of the plan: whose data are to blame
  std::string reason;
  bool isOfBatch = false; ///< no sample is to blame: there can be no batch
};

/// Returns the failure of reading a row's data. If the system has no more files or memory for it,
/// no sample is to blame, and others would be no better.
Failure failureOf(size_t row, const Error &error);
/// Returns the message of a failed check, by its number and the values it stored.
Failure checkFailure(const plan::PlanT &tree, int32_t id, const int64_t values[2]);

/// Stores the lengths that steps of a stage have found for a sample; `valueOf` reads the number in
/// a buffer. False where one is over its limit.
template <typename ValueOf>
bool storeLengths(Work &work, int64_t slot, int stage, ValueOf valueOf, Failure &failure) {
  const Layout &layout = *work.program->layout;
  for (size_t i = 0; i < layout.outputs.size(); ++i)
    for (const OutputLayout::Count &count : layout.outputs[i].counts) {
      if (layout.buffers[size_t(count.buffer)].stage != stage)
        continue;
      const int64_t values[2] = {valueOf(count.buffer), count.limit};
      if (values[0] > count.limit) {
        failure = checkFailure(work.program->tree(), count.check, values);
        return false;
      }
      if (count.isLength)
        work.memory->lengths(i)[slot] = values[0];
    }
  return true;
}

/// Notes a bad sample and chooses the next row to try. False where there is
/// none, none is allowed, or no other row would help: `work.fatal` then says so.
bool substitute(Work &work, int64_t slot, const Failure &failure);

} // namespace penstock::runtime
