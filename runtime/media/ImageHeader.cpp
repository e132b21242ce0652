// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/ImageHeader.h"

#include "runtime/media/bmp/Bmp.h"
#include "runtime/media/jpeg/JpegHeader.h"
#include "runtime/media/png/PngFile.h"
#include "runtime/media/pnm/Pnm.h"
#include "runtime/media/webp/WebP.h"

#include <string_view>

namespace penstock::runtime {

namespace {

bool hasAt(std::span<const uint8_t> bytes, size_t at, std::string_view magic) {
  return bytes.size() >= at + magic.size() &&
         std::string_view(reinterpret_cast<const char *>(bytes.data()) + at, magic.size()) == magic;
}

/// Returns the kind of a file that is no image but is found in data sets under the name of one
/// (or null), as words for a message.
const char *nameOfOtherFile(std::span<const uint8_t> bytes) {
  struct Known {
    std::string_view magic;
    const char *name;
  };
  using namespace std::string_view_literals;
  static constexpr Known known[] = {
      {"version https://git-lfs"sv, "a Git LFS pointer (`git lfs pull` gets the file)"},
      {"%PDF"sv, "a PDF file"},
      {"PK\3\4"sv, "a zip archive, as `.npz` files are,"},
      {"PK\5\6"sv, "an empty zip archive"},
      {"\x1F\x8B"sv, "a file compressed by gzip"},
      {"\xFD"
       "7zXZ\0"sv,
       "a file compressed by xz"},
      {"\x28\xB5\x2F\xFD"sv, "a file compressed by zstd"},
      {"\x93NUMPY"sv, "a NumPy file (`npy(path, ...)` of a `raw` table reads one)"},
      {"\x89HDF\r\n"sv, "an HDF5 file"},
      {"PAR1"sv, "a Parquet file"},
      {"8BPS"sv, "a Photoshop file"},
      {"NIST_1A"sv, "a SPHERE file (sound)"},
      {"OggS"sv, "an Ogg file (sound or video)"},
      {"fLaC"sv, "a FLAC file (sound)"},
      {"RIFF"sv, "a RIFF file, such as WAV or AVI,"},
      {"\x1A\x45\xDF\xA3"sv, "a Matroska or WebM file (video)"},
  };
  for (const Known &one : known)
    if (hasAt(bytes, 0, one.magic))
      return one.name;
  if (hasAt(bytes, 4, "ftyp"))
    return "an MP4 file (video)";
  if (hasAt(bytes, 128, "DICM"))
    return "a DICOM file";
  // Behind blanks, whatever its letters' case: what a server says in place of a picture.
  size_t at = 0;
  while (at < bytes.size() && (bytes[at] == ' ' || bytes[at] == '\n' || bytes[at] == '\r' ||
                               bytes[at] == '\t' || bytes[at] >= 0xBB))
    ++at;
  std::string begin;
  for (; at < bytes.size() && begin.size() < 14; ++at)
    begin.push_back(static_cast<char>(bytes[at] | (bytes[at] >= 'A' && bytes[at] <= 'Z' ? 32 : 0)));
  if (begin == "<!doctype html" || begin.starts_with("<html"))
    return "a page of HTML (what a server sent in place of the file?)";
  if (begin.starts_with("<svg"))
    return "an SVG file";
  return begin.starts_with("<?xml") ? "an XML file" : nullptr;
}

bool isPnm(std::span<const uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 'P' &&
         ((bytes[1] >= '1' && bytes[1] <= '6') || bytes[1] == 'F' || bytes[1] == 'f');
}

Error unknownFormat(std::span<const uint8_t> bytes) {
  if (bytes.empty())
    return {Code::Truncated, "not an image file: it is empty"};
  if (const char *name = nameOfFormat(bytes))
    return {Code::Unsupported,
            std::string(name) + " is not decoded (JPEG, PNG, WebP, BMP, PPM, PGM and PFM are)"};
  return {Code::Unsupported, "not an image file: its first bytes are no image format's"};
}

template <typename Info>
Result<ImageInfo> commonOf(ImageFormat format, const Result<Info> &info, uint8_t orientation,
                           uint8_t depth = 8) {
  if (!info)
    return info.error();
  return ImageInfo{format, info->width, info->height, orientation, depth};
}

} // namespace

const char *nameOfFormat(std::span<const uint8_t> bytes) {
  if (hasAt(bytes, 0, "\xFF\xD8\xFF"))
    return "a JPEG file";
  if (hasAt(bytes, 0, "\x89PNG"))
    return "a PNG file";
  if (hasAt(bytes, 0, "RIFF") && hasAt(bytes, 8, "WEBP"))
    return "a WebP file";
  if (hasAt(bytes, 0, "BM"))
    return "a BMP file";
  if (isPnm(bytes))
    return "a PNM file";
  if (hasAt(bytes, 0, "GIF8"))
    return "a GIF file";
  if (hasAt(bytes, 0, std::string_view("II*\0", 4)) ||
      hasAt(bytes, 0, std::string_view("MM\0*", 4)) ||
      hasAt(bytes, 0, std::string_view("II+\0", 4)) ||
      hasAt(bytes, 0, std::string_view("MM\0+", 4)))
    return "a TIFF file";
  if (hasAt(bytes, 4, "ftypavif") || hasAt(bytes, 4, "ftypavis"))
    return "an AVIF file";
  if (hasAt(bytes, 4, "ftyphei") || hasAt(bytes, 4, "ftypmif1"))
    return "a HEIF file";
  if (hasAt(bytes, 0, "\xFF\x0A") || hasAt(bytes, 4, "JXL "))
    return "a JPEG XL file";
  if (hasAt(bytes, 0, "\xFF\x4F\xFF\x51") || hasAt(bytes, 4, "jP  \r\n\x87\n"))
    return "a JPEG 2000 file";
  return nameOfOtherFile(bytes);
}

Result<ImageInfo> probeImage(std::span<const uint8_t> bytes, const ImageLimits &limits) {
  if (hasAt(bytes, 0, "\xFF\xD8\xFF")) {
    auto info = probeJpeg(bytes, limits);
    return commonOf(ImageFormat::Jpeg, info, info ? info->orientation : uint8_t(1));
  }
  if (hasAt(bytes, 0, "\x89PNG")) {
    auto info = probePng(bytes, limits);
    if (!info)
      return info.error();
    const bool hasIndices = (info->colour == 0 || info->colour == 3) && info->depth <= 8;
    return ImageInfo{ImageFormat::Png,  info->width, info->height,
                     info->orientation, info->depth, hasIndices};
  }
  if (hasAt(bytes, 0, "RIFF") && hasAt(bytes, 8, "WEBP")) {
    auto info = probeWebP(bytes, limits);
    return commonOf(ImageFormat::WebP, info, info ? info->orientation : uint8_t(1));
  }
  if (hasAt(bytes, 0, "BM")) {
    auto info = probeBmp(bytes, limits);
    auto common = commonOf(ImageFormat::Bmp, info, 1);
    if (common)
      common->hasIndices = info->bits <= 8;
    return common;
  }
  if (isPnm(bytes)) {
    auto info = probePnm(bytes, limits);
    return commonOf(ImageFormat::Pnm, info, 1, info ? info->depth() : uint8_t(8));
  }
  return unknownFormat(bytes);
}

Status checkImageSize(const std::string &format, uint64_t width, uint64_t height,
                      const ImageLimits &limits) {
  const std::string size =
      format + " of " + std::to_string(width) + " x " + std::to_string(height) + " pixels";
  if (width == 0 || height == 0)
    return Error{Code::Corrupt, "damaged " + size};
  // Sides are below 2^32, so the product cannot wrap.
  if (width * height > limits.maxPixels)
    return Error{Code::Limit,
                 size + ", the limit is " + std::to_string(limits.maxPixels) + " in all"};
  return {};
}

} // namespace penstock::runtime
