// Headers and pixels of the media that one sample reads.
#pragma once

#include "runtime/core/Clock.h"
#include "runtime/media/ImageDecoder.h"
#include "runtime/media/ImageHeader.h"
#include "runtime/media/Orientation.h"
#include "runtime/media/video/VideoDecoder.h"
#include "runtime/sched/SampleBuffers.h"

#include <vector>

namespace penstock::runtime {

/// Reads what is in `work.media()`: numbers of headers into the block of the
/// sample at hand, then the regions that setup has asked for into its buffers.
class SampleMedia {
public:
  SampleMedia(const Program &program, const ImageLimits &images, SampleBuffers &buffers,
              Scratch &scratch, const Clock &clock, Costs &costs);

  bool probe(Work &work, int64_t slot, Failure &failure);
  bool decode(Work &work, int64_t slot, Failure &failure);

private:
  bool decodeOne(Work &work, int64_t slot, const plan::DecodeT &decode, Failure &failure);
  Status readPixels(std::span<const uint8_t> bytes, PixelFormat format, const Region &region,
                    const Orientation &orientation, const ImageInfo &info, uint8_t *out,
                    size_t rowStride, EntropyIndexes *indexes);
  Status readClip(Encoded &encoded, const plan::DecodeT &decode, const VideoDecoder::Target &target,
                  int64_t count);
  bool isVideo(const plan::DecodeT &decode) const {
    return tree.media[size_t(decode.media)]->media == "video";
  }

  const Program &program;
  const Layout &layout;
  const plan::PlanT &tree;
  const ImageLimits images;
  SampleBuffers &buffers;
  Scratch &scratch;
  const Clock &clock;
  Costs &costs;
  ImageDecoder decoder;
  VideoDecoder videos;
  std::vector<ImageInfo> headers; // by media
  std::vector<bool> untouched;    // by media: to be decoded, and not yet
};

} // namespace penstock::runtime
