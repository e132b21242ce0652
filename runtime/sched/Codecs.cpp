// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/Codecs.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace penstock::runtime {

namespace {

/// The rows of an image, dense but for what may stand between them; rank 2 is
/// gray.
Result<Picture> pictureOf(const pst_tensor &tensor, int rank) {
  const int64_t channels = rank == 3 ? tensor.extent[2] : 1;
  const int64_t height = tensor.extent[0], width = tensor.extent[1];
  const bool fits = (channels == 1 || channels == 3) && height >= 0 && width >= 0 &&
                    height <= UINT32_MAX && width <= UINT32_MAX;
  if (!fits)
    return Error{Code::Corrupt, "damaged plan: a codec reads " + std::to_string(height) + " x " +
                                    std::to_string(width) + " x " + std::to_string(channels)};
  return Picture{static_cast<const uint8_t *>(tensor.data), size_t(tensor.stride[0]),
                 uint32_t(height), uint32_t(width),
                 channels == 3 ? PixelFormat::Rgb : PixelFormat::Gray};
}

} // namespace

Status Codecs::run(plan::Codec codec, const pst_tensor &input, int rank,
                   std::span<const pst_tensor> outputs, int64_t quality, Scratch &scratch) {
  auto picture = pictureOf(input, rank);
  if (!picture)
    return picture.error();
  if (codec == plan::Codec::recompress)
    return std::equal(input.extent, input.extent + rank, outputs[0].extent)
               ? recompress(*picture, quality, outputs[0], scratch)
               : Status(Error{Code::Corrupt, "damaged plan: a codec changes the size of an image"});
  auto *bytes = static_cast<uint8_t *>(outputs[0].data);
  const size_t room = size_t(outputs[0].extent[0]);
  auto size = write(codec, *picture, quality, {bytes, room});
  if (!size)
    return size.error();
  std::memset(bytes + *size, 0, room - *size);
  const auto count = int64_t(*size);
  std::memcpy(outputs[1].data, &count, sizeof count);
  return {};
}

Result<size_t> Codecs::write(plan::Codec codec, const Picture &picture, int64_t quality,
                             std::span<uint8_t> out) {
  return codec == plan::Codec::png ? png.encode(picture, out) : jpeg.encode(picture, quality, out);
}

Status Codecs::recompress(const Picture &picture, int64_t quality, const pst_tensor &output,
                          Scratch &scratch) {
  const uint64_t room = JpegEncoder::room(picture);
  const Scratch::Mark mark = scratch.mark();
  uint8_t *file = scratch.allocate(int64_t(room));
  if (!file)
    return scratch.refusal("compressing", int64_t(room));
  auto size = jpeg.encode(picture, quality, {file, room});
  Status status;
  DecodeStats unused; // statistics count files only
  if (!size)
    status = size.error();
  else
    status =
        decoder.decodeRegion({file, *size}, picture.format, {0, 0, picture.height, picture.width},
                             static_cast<uint8_t *>(output.data), size_t(output.stride[0]), unused);
  scratch.rewind(mark);
  return status;
}

} // namespace penstock::runtime
