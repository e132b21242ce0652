// SPDX-License-Identifier: Apache-2.0
//
// Decodes images as told line by line, for comparison with other libraries.
//
//   decode-image
//
// A line is `rgb|gray|index|rgb16|gray16|rgb32|gray32 TOP LEFT HEIGHT WIDTH FILE`; a height of 0
// means the whole image. The answer is `ok HEIGHT WIDTH ORIENTATION` and the pixels, or `error
// MESSAGE`.
#include "runtime/media/ImageDecoder.h"
#include "runtime/media/ImageHeader.h"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

using namespace penstock::runtime;

static Status answer(ImageDecoder &decoder, const std::string &line) {
  std::istringstream words(line);
  std::string kind, path;
  Region region;
  words >> kind >> region.top >> region.left >> region.height >> region.width >> std::ws;
  std::getline(words, path);
  std::ifstream file(path, std::ios::binary);
  const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  auto info = probeImage(bytes);
  if (!info)
    return info.error();
  if (region.height == 0)
    region = {0, 0, info->height, info->width};
  const PixelFormat format = kind == "gray"     ? PixelFormat::Gray
                             : kind == "index"  ? PixelFormat::Index
                             : kind == "gray16" ? PixelFormat::Gray16
                             : kind == "rgb16"  ? PixelFormat::Rgb16
                             : kind == "gray32" ? PixelFormat::GrayFloat
                             : kind == "rgb32"  ? PixelFormat::RgbFloat
                                                : PixelFormat::Rgb;
  const size_t row = size_t(region.width) * pixelBytes(format);
  std::vector<uint8_t> pixels(row * region.height);
  DecodeStats stats;
  if (Status status = decoder.decodeRegion(bytes, format, region, pixels.data(), row, stats);
      !status)
    return status;
  if (Status status = decoder.checkEnd(bytes, stats); !status)
    return Error{status.error().code, "only checkEnd() finds: " + status.error().message};
  std::printf("ok %u %u %d\n", region.height, region.width, info->orientation);
  std::fwrite(pixels.data(), 1, pixels.size(), stdout);
  return {};
}

int main() {
  ImageDecoder decoder;
  for (std::string line; std::getline(std::cin, line);) {
    if (Status status = answer(decoder, line); !status)
      std::printf("error %s\n", status.error().message.c_str());
    std::fflush(stdout);
  }
}
