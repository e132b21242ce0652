// SPDX-License-Identifier: Apache-2.0
//
// Decodes any bytes with our entropy decoder and with libjpeg's, and compares: what
// tests and fuzz targets of the decoder call.
#pragma once

#include "runtime/media/jpeg/EntropyIndex.h"
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
                              const penstock::runtime::JpegDecoder::Options &options,
                              penstock::runtime::EntropyIndexes *indexes = nullptr) {
  using namespace penstock::runtime;
  JpegDecoder decoder(options);
  JpegOutcome result;
  const size_t stride = region.width * channelsOf(format);
  result.pixels.resize(stride * region.height);
  result.status = decoder.decodeRegion(file, format, region, result.pixels.data(), stride,
                                       result.stats, JpegDecoder::Beside::Kept, indexes);
  return result;
}

/// Returns the path of the only file that was decoded.
inline penstock::runtime::EntropyPath pathIn(const penstock::runtime::DecodeStats &stats) {
  size_t path = 0;
  while (path + 1 < penstock::runtime::entropyPathCount && stats.entropyPaths[path] == 0)
    ++path;
  return penstock::runtime::EntropyPath(path);
}

/// One index, for every file, or for its own only.
struct OneIndex final : penstock::runtime::EntropyIndexes {
  const penstock::runtime::EntropyIndex *given = nullptr;
  bool checks = true;
  bool find(std::span<const uint8_t> file, penstock::runtime::EntropyIndex &index) override {
    index = *given;
    return !checks || given->fits(file);
  }
};

/// Options of jpegDisagreement()'s decodes.
struct JpegWays {
  const penstock::runtime::EntropyKernels *kernels = penstock::runtime::entropyKernels().front();
  /// Both read everything: with restart markers a region may else be good where
  /// libjpeg, which reads what is above and beside it, finds damage there.
  bool wholeFile = false;
  penstock::runtime::EntropyIndexes *indexes = nullptr; ///< for ours
  uint64_t maxPixels = 1 << 22;
};

/// Returns the difference between our decoder and libjpeg's; empty if there is none. `stats` are
/// ours.
inline std::string jpegDisagreement(std::span<const uint8_t> file,
                                    const penstock::runtime::Region &region,
                                    penstock::runtime::PixelFormat format, const JpegWays &ways,
                                    penstock::runtime::DecodeStats *stats = nullptr) {
  using namespace penstock::runtime;
  JpegDecoder::Options options;
  options.limits.maxPixels = ways.maxPixels;
  options.wholeFile = ways.wholeFile;
  options.kernels = ways.kernels;
  const JpegOutcome own = decodeJpeg(file, region, format, options, ways.indexes);
  options.plain = true;
  const JpegOutcome plain = decodeJpeg(file, region, format, options);
  const bool taken = own.stats.entropyPaths[size_t(EntropyPath::Own)] > 0;
  if (stats)
    *stats = own.stats;
  const std::string where = std::string(ways.kernels->name) + (taken ? ", own" : ", libjpeg's");
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
    return hasRestarts && !ways.wholeFile && passesOver && !info->progressive
               ? ""
               : where + ": only libjpeg says: " + plain.status.error().message;
  }
  if (own.status.error().message != plain.status.error().message)
    return where + ": " + own.status.error().message + " / " + plain.status.error().message;
  return "";
}

/// For fuzzing: `choice` picks the region, the format and the instructions.
/// Nothing where the headers are refused.
inline std::string jpegDisagreement(std::span<const uint8_t> file, uint64_t choice,
                                    uint64_t maxPixels = 1 << 22) {
  using namespace penstock::runtime;
  ImageLimits limits;
  limits.maxPixels = maxPixels;
  const Result<JpegInfo> info = probeJpeg(file, limits);
  if (!info)
    return "";
  const auto take = [&](uint32_t below) {
    choice = choice * 6364136223846793005u + 1442695040888963407u;
    return uint32_t(choice >> 33) % below;
  };
  const auto kernels = entropyKernels();
  JpegWays ways{.kernels = kernels[take(uint32_t(kernels.size()))], .maxPixels = maxPixels};
  const PixelFormat format = take(4) ? PixelFormat::Rgb : PixelFormat::Gray;
  Region region{0, 0, info->height, info->width};
  const bool whole = take(2);
  if (!whole) {
    region.top = take(info->height);
    region.left = take(info->width);
    region.height = 1 + take(info->height - region.top);
    region.width = 1 + take(info->width - region.left);
  }
  ways.wholeFile = take(3) == 0;
  return jpegDisagreement(file, region, format, ways);
}
