// SPDX-License-Identifier: Apache-2.0
//
// Headers of image files: sizes within the limits, or a reason.
#include "runtime/media/ImageHeader.h"
#include "runtime/media/jpeg/JpegHeader.h"
#include "test/fuzz/Fuzz.h"

using penstock::fuzz::require;
using namespace penstock::runtime;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  const ImageLimits limits;
  nameOfFormat(bytes);
  const Result<ImageInfo> info = probeImage(bytes, limits);
  if (!info) {
    require(!info.error().message.empty(), "a refusal has a reason");
    return 0;
  }
  require(info->width > 0 && info->height > 0 &&
              uint64_t(info->width) * info->height <= limits.maxPixels,
          "sizes are within the limits");
  require(info->orientation >= 1 && info->orientation <= 8, "an orientation is one of eight");
  if (info->format == ImageFormat::Jpeg) {
    const Result<JpegInfo> jpeg = probeJpeg(bytes, limits);
    require(jpeg.ok() && jpeg->scanOffset <= size, "the scan begins in the file");
    hasEndOfImage(bytes, *jpeg);
  }
  return 0;
}
