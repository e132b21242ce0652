// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/video/VideoMedium.h"

#include "runtime/media/ImageMedium.h"

namespace penstock::runtime {

namespace {

pst_video_range rangeOf(const MediumRequest &request) {
  return {request.arguments[0], request.extents[0], request.arguments[1]};
}

} // namespace

Status VideoMedium::parts(const MediumInput &input, const MediumRequest &request,
                          std::vector<ByteRange> &parts) {
  if (input.video->reading() != VideoReading::Packets)
    return {};
  auto wanted = input.video->parts(rangeOf(request));
  if (!wanted)
    return wanted.error();
  parts.insert(parts.end(), wanted->begin(), wanted->end());
  return {};
}

Status VideoMedium::probe(const MediumInput &input, const ImageLimits &, media::Record &numbers) {
  const VideoInfo &known = input.video->info();
  numbers[media::pictureHeight] = known.height;
  numbers[media::pictureWidth] = known.width;
  numbers[media::pictureOrientation] = known.orientation;
  numbers[media::videoFrames] = known.frames;
  return {};
}

std::optional<MediumLayout> VideoMedium::layout(const MediumRequest &request) const {
  return pictureLayout(request, 1);
}

Status VideoMedium::decode(const MediumInput &input, const MediumRequest &request,
                           const MediumLayout &layout, uint8_t *out) {
  const Region region = pictureRegion(request, 1);
  const Orientation orientation(request.orient ? int(input.numbers[media::pictureOrientation]) : 1);
  out += region.top * layout.strides[1] + region.left * layout.strides[2];
  const VideoDecoder::Target target{
      pixelFormat(request),     region, orientation, out, size_t(layout.strides[0]),
      size_t(layout.strides[1])};
  return decoder.decode(*input.file, *input.video, rangeOf(request), target, host.mayHold,
                        host.videos);
}

} // namespace penstock::runtime
