// SPDX-License-Identifier: Apache-2.0
//
// Statistics, bad samples and memory of a session.
#pragma once

#include "runtime/media/Image.h"
#include "runtime/media/video/Video.h"
#include "runtime/sched/Batch.h"

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace penstock::runtime {

enum class Stage : uint8_t { Select, Fetch, Probe, Setup, Decode, Kernels, Wait };
inline constexpr int stageCount = 7;
/// "select", "fetch" ...
const char *nameOf(Stage stage);

/// Costs of decoding clips of videos.
struct VideoCounts {
  uint64_t packets = 0;   ///< that decoders were given
  uint64_t restarts = 0;  ///< decodes from the start of a file, where a seek was no good
  uint64_t indexUses = 0; ///< samples whose file had an index
  uint64_t lateBytes = 0; ///< read while decoding: of restarts
  std::array<uint64_t, videoReadingCount> readings{}; ///< samples by VideoReading
  /// Indexes made by the session, whether their batches were delivered or not.
  uint64_t indexesMade = 0;
  uint64_t indexBytes = 0; ///< that were read for them

  void add(const VideoCounts &other);
};

/// Sums since the session was opened. `Fetch` is time spent by fetching
/// threads, `Wait` time that next() waited for a batch, the others are time of
/// computing threads.
struct Statistics {
  struct Entry {
    uint64_t count = 0;
    int64_t busyNs = 0;
  };
  std::array<Entry, stageCount> stages;
  struct Kernel {
    std::string name; ///< `k0`, `weights0`, `codec0`: as `explain` calls it
    Entry entry;
  };
  std::vector<Kernel> kernels; ///< each once, in the order in which they first run
  uint64_t samples = 0;        ///< delivered
  uint64_t batches = 0;
  uint64_t badSamples = 0;
  uint64_t fetchedBytes = 0;
  uint64_t fetchedBytesHeld = 0; ///< most that waited to be decoded at any time
  uint64_t deliveredBytes = 0;
  uint64_t decodedBlocks = 0; ///< 8x8 blocks that went through the inverse DCT
  uint64_t decodedRows = 0;
  std::array<uint64_t, entropyPathCount> entropyPaths{}; ///< JPEG decodes by EntropyPath
  uint64_t indexUses = 0, indexMisses = 0;               ///< as in DecodeStats
  VideoCounts videos;
  int64_t elapsedNs = 0; ///< since the first call of next()
  /// Part of `Wait`: time that next() waited for a delivered batch.
  int64_t lastWaitNs = 0, longestWaitNs = 0;
  uint64_t lateBatches = 0; ///< that were not ready when they were asked for
  int64_t blocks = 0;       ///< batches that there is memory for
  int threads = 0;

  const Entry &operator[](Stage stage) const { return stages[static_cast<size_t>(stage)]; }
  /// Returns the stage that limits the rate, or "consumer" where next() hardly waits.
  const char *limit() const;
};

/// A sample that could not be used.
struct BadSample {
  uint32_t epoch = 0;
  int64_t position = 0;
  int64_t row = 0;
  std::string name; ///< of the row: usually the file
  std::string reason;
  int64_t substitute = -1; ///< the row that stands in its place
};

/// The host memory that a session takes, in bytes.
struct MemoryReport {
  std::vector<std::pair<std::string, uint64_t>> parts; ///< the fixed part, by use
  uint64_t fixed = 0;                                  ///< their sum
  uint64_t perSampleLimit = 0;                         ///< most for one sample's own buffers
  uint64_t fetchLimit = 0; ///< fetched bytes that may wait, beside one batch's
};

/// One sample, recomputed alone.
struct SampleReport {
  int64_t row = 0;
  std::string name;
  /// The sample's outputs without the axis `n`; the data lives in `block`.
  std::vector<OutputView> outputs;
  struct Draw {
    std::string path;
    plan::DType type = plan::DType::none;
    int64_t bits = 0; ///< as in the parameter block
    double number() const;
  };
  std::vector<Draw> draws;
  std::vector<BadSample> bad; ///< empty unless a substitute stands here
  uint64_t contentHash = 0;
  std::shared_ptr<const void> block;
};

} // namespace penstock::runtime
