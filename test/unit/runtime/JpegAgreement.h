// Decodes any bytes with our entropy decoder and with libjpeg's, and compares: what
// tests and fuzz targets of the decoder call.
#pragma once

#include "runtime/media/jpeg/EntropyKernels.h"
#include "runtime/media/jpeg/JpegDecoder.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

struct JpegOutcome {
  penstock::runtime::Status status;
  std::vector<uint8_t> pixels;
  penstock::runtime::DecodeStats stats;
};

inline JpegOutcome decodeJpeg(std::span<const uint8_t> file,
                              const penstock::runtime::Region &region,
                              penstock::runtime::PixelFormat format,
                              const penstock::runtime::JpegDecoder::Options &options) {
  using namespace penstock::runtime;
  JpegDecoder decoder(options);
  JpegOutcome result;
  const size_t stride = region.width * channelsOf(format);
  result.pixels.resize(stride * region.height);
  result.status =
      decoder.decodeRegion(file, format, region, result.pixels.data(), stride, result.stats);
  return result;
}

/// What is different between the two ways, or nothing. With restart markers a
/// region may be good where libjpeg, which reads what is above and beside it,
/// finds damage there; `wholeFile` makes both read everything.
inline std::string jpegDisagreement(std::span<const uint8_t> file,
                                    const penstock::runtime::Region &region,
                                    penstock::runtime::PixelFormat format, bool wholeFile,
                                    const penstock::runtime::EntropyKernels &kernels,
                                    penstock::runtime::EntropyPath *path = nullptr) {
  using namespace penstock::runtime;
  JpegDecoder::Options options;
  options.limits.maxPixels = 1 << 22;
  options.wholeFile = wholeFile;
  options.kernels = &kernels;
  const JpegOutcome own = decodeJpeg(file, region, format, options);
  options.plain = true;
  const JpegOutcome plain = decodeJpeg(file, region, format, options);
  const bool taken = own.stats.entropyPaths[size_t(EntropyPath::Own)] > 0;
  if (path)
    for (size_t i = 0; i < entropyPathCount; ++i)
      if (own.stats.entropyPaths[i])
        *path = EntropyPath(i);
  const std::string where = std::string(kernels.name) + (taken ? ", own" : ", libjpeg's");
  if (own.status.ok() && plain.status.ok())
    return own.pixels == plain.pixels ? "" : where + ": other pixels";
  if (plain.status.ok())
    return where + ": refused only by us: " + own.status.error().message;
  if (own.status.ok()) {
    const std::array<uint8_t, 2> define{0xFF, 0xDD};
    const bool hasRestarts =
        std::search(file.begin(), file.end(), define.begin(), define.end()) != file.end();
    const auto info = probeJpeg(file, options.limits);
    const bool passesOver = region.top > 0 || region.width < info->width;
    return hasRestarts && !wholeFile && passesOver
               ? ""
               : where + ": only libjpeg says: " + plain.status.error().message;
  }
  if (own.status.error().message != plain.status.error().message)
    return where + ": " + own.status.error().message + " / " + plain.status.error().message;
  return "";
}

/// For fuzzing: `choice` picks the region, the format and the instructions.
/// Nothing where the headers are refused.
inline std::string jpegDisagreement(std::span<const uint8_t> file, uint64_t choice) {
  using namespace penstock::runtime;
  ImageLimits limits;
  limits.maxPixels = 1 << 22;
  const Result<JpegInfo> info = probeJpeg(file, limits);
  if (!info)
    return "";
  const auto take = [&](uint32_t below) {
    choice = choice * 6364136223846793005u + 1442695040888963407u;
    return uint32_t(choice >> 33) % below;
  };
  const auto kernels = entropyKernels();
  const EntropyKernels &chosen = *kernels[take(uint32_t(kernels.size()))];
  const PixelFormat format = take(4) ? PixelFormat::Rgb : PixelFormat::Gray;
  Region region{0, 0, info->height, info->width};
  const bool whole = take(2);
  if (!whole) {
    region.top = take(info->height);
    region.left = take(info->width);
    region.height = 1 + take(info->height - region.top);
    region.width = 1 + take(info->width - region.left);
  }
  return jpegDisagreement(file, region, format, take(3) == 0, chosen);
}
