// SPDX-License-Identifier: Apache-2.0
//
// The own entropy decoder of JPEG files against libjpeg's, which is the truth: the
// same files are refused, and all others give the same pixels, with each set of
// inner loops, with and without checkpoints.
#include "runtime/media/jpeg/EntropyIndex.h"
#include "runtime/media/jpeg/EntropyKernels.h"
#include "runtime/media/jpeg/JpegDecoder.h"
#include "test/fuzz/Fuzz.h"

using penstock::fuzz::Choices;
using penstock::fuzz::require;
using namespace penstock::runtime;

namespace {
struct OneIndex final : EntropyIndexes {
  const EntropyIndex *given = nullptr;
  bool find(std::span<const uint8_t> file, EntropyIndex &index) override {
    index = *given;
    return given->fits(file);
  }
};

struct Decoded {
  bool good;
  std::vector<uint8_t> pixels;
};
} // namespace

static Decoded decode(std::span<const uint8_t> file, const JpegDecoder::Options &options,
                      const Region &region, const EntropyIndex *index = nullptr) {
  JpegDecoder decoder(options);
  OneIndex one;
  one.given = index;
  DecodeStats stats;
  Decoded result{false, std::vector<uint8_t>(region.height * region.width * 3)};
  const Status status =
      decoder.decodeRegion(file, PixelFormat::Rgb, region, result.pixels.data(), region.width * 3,
                           stats, JpegDecoder::Beside::Kept, index ? &one : nullptr);
  require(status.ok() || !status.error().message.empty(), "a refusal has a reason");
  result.good = status.ok();
  return result;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  constexpr size_t chosen = 17;
  if (size < chosen)
    return 0;
  Choices choices(data + 1, chosen - 1);
  const std::vector<uint8_t> file(data + chosen, data + size);
  JpegDecoder::Options own;
  own.limits.maxPixels = 1 << 16;
  own.limits.maxWorkBytes = 32 << 20;
  own.limits.maxScans = 20;
  const Result<JpegInfo> info = probeJpeg(file, own.limits);
  if (!info)
    return 0;
  Region region;
  region.top = choices.below(info->height);
  region.left = choices.below(info->width);
  region.height = 1 + choices.below(info->height - region.top);
  region.width = 1 + choices.below(info->width - region.left);
  const auto all = entropyKernels();
  own.kernels = all[data[0] % all.size()];
  JpegDecoder::Options plain = own;
  plain.plain = true;

  // Restart markers let the own decoder pass over damage above the region.
  const Decoded right = decode(file, plain, region);
  if (right.good) {
    const Decoded found = decode(file, own, region);
    require(found.good, "what libjpeg decodes is decoded");
    require(found.pixels == right.pixels, "the pixels are libjpeg's");
    EntropyIndexer indexer;
    if (const auto index = indexer.build(file, own.limits)) {
      const Decoded indexed = decode(file, own, region, &*index);
      require(indexed.good && indexed.pixels == right.pixels,
              "the pixels with checkpoints are, too");
    }
  } else if (info->progressive) {
    require(!decode(file, own, region).good, "scans are read to their ends, whatever the region");
  }
  own.wholeFile = plain.wholeFile = true;
  const Region whole{0, 0, info->height, info->width};
  const Decoded wholeRight = decode(file, plain, whole), wholeFound = decode(file, own, whole);
  require(wholeFound.good == wholeRight.good, "the same files are refused");
  require(!wholeRight.good || wholeFound.pixels == wholeRight.pixels,
          "the whole has libjpeg's pixels");
  return 0;
}
