// Computes samples on one thread.
#pragma once

#include "runtime/core/Clock.h"
#include "runtime/media/ImageDecoder.h"
#include "runtime/media/ImageHeader.h"
#include "runtime/media/Orientation.h"
#include "runtime/media/video/VideoDecoder.h"
#include "runtime/sched/Codecs.h"
#include "runtime/sched/Program.h"
#include "runtime/sched/Scratch.h"
#include "runtime/sched/Setup.h"
#include "runtime/sched/Work.h"

#include <vector>

namespace penstock::runtime {

/// The state that one thread needs beside the batch: shapes of the sample at
/// hand, scratch, decoders. The thread must be in the default floating-point
/// mode (FloatMode).
class SampleRunner {
public:
  SampleRunner(std::shared_ptr<const Program> program, ScratchLimits &limits, const Clock &clock);

  /// Position to rows: fills the block, runs the select kernel, and sets the
  /// rows that the sample needs (substitutes where attempts say so).
  void select(Work &work, int64_t slot);
  /// A hint: firstStage() of this selected slot comes next.
  void expect(Work &work, int64_t slot) const;
  /// Fields, headers, setup, decoding and the steps of stage 0, from bytes that
  /// are in `work.media()`. Everything goes to the slot's place in the batch.
  [[nodiscard]] bool firstStage(Work &work, int64_t slot, Failure &failure);
  /// The steps of a stage >= 1; every sample of `work` has passed the last one.
  [[nodiscard]] bool laterStage(Work &work, int64_t slot, int stage, Failure &failure);

  /// Times and counts since the last call.
  Costs takeCosts();
  /// For how many samples the times of the next one stand; 0: it is not timed.
  void setTimed(int64_t samples) { timed = samples; }

private:
  bool fields(Work &work, int64_t slot, Failure &failure);
  bool probe(Work &work, int64_t slot, Failure &failure);
  bool runSetup(Failure &failure);
  bool decode(Work &work, int64_t slot, Failure &failure);
  bool decodeOne(Work &work, int64_t slot, const plan::DecodeT &decode, Failure &failure);
  Status readPixels(std::span<const uint8_t> bytes, PixelFormat format, const Region &region,
                    const Orientation &orientation, const ImageInfo &info, uint8_t *out,
                    size_t rowStride, EntropyIndexes *indexes);
  Status readClip(Encoded &encoded, const plan::DecodeT &decode, const VideoDecoder::Target &target,
                  int64_t count);
  bool isVideo(const plan::DecodeT &decode) const {
    return tree.media[size_t(decode.media)]->media == "video";
  }
  bool runStage(Work &work, int64_t slot, int stage, Failure &failure);
  /// Lengths that kernels of the stage have found, against their limits.
  bool readCounts(Work &work, int64_t slot, int stage, Failure &failure);
  bool runStep(Work &work, int64_t slot, const StepLayout &step, Failure &failure);
  /// Of a step whose tensors and scalars are bound.
  bool runCode(const StepLayout &step, Failure &failure);
  bool runCodec(const StepLayout &step, Failure &failure);
  void bindOutputs(Work &work, int64_t slot, int stage);
  void keep(Work &work, int64_t slot, int stage);
  void storeScalars(Work &work, int64_t slot);
  bool shape(int buffer, Failure &failure);
  /// Ends a sample: its scratch is free.
  void giveBack();
  /// Room for a temporary or a decoded region; null where there is none.
  uint8_t *storageFor(Work &work, int64_t slot, const BufferLayout &buffer, int64_t bytes);
  const pst_tensor *input(Work &work, const StepLayout::Input &input);
  const pst_tensor &own(int buffer) const;
  int64_t scratchBytes(int kernel) const {
    return runtime::scratchBytes(layout.scratch[size_t(kernel)], block);
  }
  Failure checkFailure(int32_t id, const int64_t values[2]) const;

  std::shared_ptr<const Program> program;
  const Layout &layout;
  const plan::PlanT &tree;
  const Clock &clock;
  Scratch scratch;
  ImageLimits images;
  ImageDecoder decoder;
  VideoDecoder videos;
  Codecs codecs;
  std::vector<ImageInfo> headers;   // by media
  std::vector<bool> untouched;      // by media: to be decoded, and not yet
  std::vector<Buffer> fieldStorage; // by buffer
  std::vector<pst_tensor> tensors;  // by buffer; data is null where not made
  struct Place {
    uint8_t *data = nullptr;
    int64_t bytes = -1;
  };
  std::vector<Place> places; // memory that buffers share, of the sample at hand
  std::vector<pst_tensor> arguments;
  std::vector<int64_t> scalars;
  int64_t *block = nullptr; // of the sample at hand
  Costs costs;
  int64_t timed = 1;
};

} // namespace penstock::runtime
