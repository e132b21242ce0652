// SPDX-License-Identifier: Apache-2.0
//
// Memory for one sample at a time, per thread.
#pragma once

#include "runtime/media/Image.h"

#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

namespace penstock::runtime {

/// Limits on the scratch of all threads of a session: a thread keeps up to `share`; a sample that
/// needs more waits until it is the only such one, and gets at most `cap`. So at most threads *
/// share + cap is ever held. A photo of 44 megapixels fits the share; with larger ones among small
/// ones, the most is reached by the first of them, not when each thread has had one.
struct ScratchLimits {
  int64_t share = int64_t(128) << 20;
  int64_t cap = int64_t(1) << 30;
  std::mutex large;
};

/// Limits of a decoder that works in this scratch.
ImageLimits imageLimits(const ScratchLimits &scratch);

/// A stack of 64-byte aligned pieces, emptied after each sample. Keeps its
/// memory from sample to sample, so that the same addresses stay in the cache.
/// One thread at a time.
class Scratch {
public:
  /// `initial` bytes are taken at the first use.
  Scratch(ScratchLimits &limits, int64_t initial) : limits(limits), initial(initial) {}
  ~Scratch() {
    reset();
    freeAll();
  }
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;

  /// `bytes` and 64 more that may be read; null where the sample would exceed
  /// the cap or there is no memory, as refusal() tells. What the sample has allocated and counted
  /// decides, not what is kept from others: a sample that is bad is bad on every
  /// thread. May wait for another thread's large sample.
  uint8_t *allocate(int64_t bytes);

  /// Returns why allocate() gave nothing for `what`: the limit, or that there is no memory.
  Error refusal(std::string_view what, int64_t bytes) const;

  /// Counts memory that somebody else holds for this sample. False
  /// where the sample would exceed the cap with it. May wait likewise.
  [[nodiscard]] bool count(int64_t bytes);

  struct Mark {
    size_t block;
    int64_t used, taken, counted;
  };
  Mark mark() const {
    return {current, current < blocks.size() ? blocks[current].used : 0, taken, counted};
  }
  /// Gives back all that was allocated and counted since.
  void rewind(Mark to);
  /// Gives everything back.
  void reset();

private:
  struct Block {
    uint8_t *bytes;
    int64_t size;
    int64_t used;
  };
  void free(Block &block);
  void freeAll();
  bool grow(int64_t bytes);
  void waitForRoom(int64_t bytes);

  ScratchLimits &limits;
  int64_t initial;
  std::vector<Block> blocks;
  size_t current = 0;  // block in use; those behind it are empty
  int64_t held = 0;    // over all blocks
  int64_t taken = 0;   // allocated for the sample at hand
  int64_t counted = 0; // held elsewhere for it
  bool isLarge = false;
  int64_t notGiven = 0; // bytes that there were not for what was asked last
};

} // namespace penstock::runtime
