// SPDX-License-Identifier: Apache-2.0
//
// Regions of JPEG files, bit-identical to the same region of a full decode.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/media/Image.h"
#include "runtime/media/Planes.h"
#include "runtime/media/jpeg/EntropyIndex.h"
#include "runtime/media/jpeg/JpegHeader.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace penstock::runtime {

struct EntropyKernels;

/// Decodes with libjpeg-turbo: accurate integer DCT, fancy upsampling. Only the
/// blocks that the region needs are transformed, and nothing behind its last
/// row is read where there is one scan; of several, all are read. Huffman codes
/// are read by a faster decoder of our own, with the same result, but in files
/// that are damaged or rare; `DecodeStats` says which.
///
/// Formats. Rgb: Y'CbCr and RGB files; gray files repeat their value; CMYK and
/// YCCK files are taken as Adobe writes them (inverted) and converted as Pillow
/// does. Gray: the Y plane of the file, as libjpeg's JCS_GRAYSCALE (which is
/// not what Pillow's convert("L") gives, for that starts from RGB); of RGB and
/// CMYK files, (19595 R + 38470 G + 7471 B + 32768) >> 16.
///
/// Damage. A file is refused when, up to the last row that the region needs,
/// libjpeg meets a bad Huffman or arithmetic code, data that end early, or a
/// lost restart marker. Pillow ignores the first and the last of these and
/// trains on what comes out; we do not. As with Pillow, stray bytes between
/// segments, odd SOS parameters and a missing end-of-image marker are no
/// damage; but a file without that marker is decoded to its end, whatever the
/// region, so that truncation never depends on the region. Damage behind the
/// region is found with `Options::wholeFile` only, and so is damage above it
/// that restart markers allow to pass over.
///
/// One object serves one thread and keeps its memory from image to image.
class JpegDecoder {
public:
  struct Options {
    ImageLimits limits;
    /// Decode all rows, so that damage anywhere refuses the file.
    bool wholeFile = false;
    /// All by libjpeg, as for irregular files.
    bool plain = false;
    /// Loops for the own entropy decoder; null: the best for this CPU.
    const EntropyKernels *kernels = nullptr;
  };

  JpegDecoder() : JpegDecoder(Options()) {}
  explicit JpegDecoder(const Options &options);
  JpegDecoder(JpegDecoder &&) noexcept;
  JpegDecoder &operator=(JpegDecoder &&) noexcept;
  ~JpegDecoder();

  /// Memory beside the region in `out`: `Kept` belongs to the caller; `Free` is room for the rest
  /// of the image's rows, some of which may be overwritten.
  enum class Beside { Kept, Free };

  /// Writes the region's pixels to `out`: row y begins at `out + y * rowStride`
  /// and has `region.width * channelsOf(format)` bytes. On failure, `out` may
  /// be partly written. `stats` is added to. Of `indexes`, that of this very file
  /// saves reading the rest of the image.
  Status decodeRegion(std::span<const uint8_t> bytes, PixelFormat format, const Region &region,
                      uint8_t *out, size_t rowStride, DecodeStats &stats,
                      Beside beside = Beside::Kept, EntropyIndexes *indexes = nullptr);

  /// Returns the planes that decodePlanes() writes for a region inside the image; nothing where the
  /// file has pixels alone, or is none that decodeRegion() reads.
  std::optional<Planes> planesFor(std::span<const uint8_t> bytes, const Region &region) const;
  /// Writes them to `out`, which has room for `planes.bytes()`. Reads, and finds damaged, what
  /// decodeRegion() does for the same region.
  Status decodePlanes(std::span<const uint8_t> bytes, const Planes &planes, uint8_t *out,
                      DecodeStats &stats, EntropyIndexes *indexes = nullptr);

  /// Checks a file of which no pixel is needed: returns the failure of decodeRegion() if
  /// it has no end-of-image marker and its data end early.
  Status checkEnd(std::span<const uint8_t> bytes, DecodeStats &stats);

  /// Returns whether our entropy decoder works with this libjpeg's internals, found by
  /// decoding a small image. If not, all is done as if by `Options::plain`,
  /// and counted as EntropyPath::OtherLibrary.
  static bool entropyFits(const EntropyKernels &kernels);

  /// Working memory that is held at present.
  uint64_t heldBytes() const;

private:
  struct Impl;
  explicit JpegDecoder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace penstock::runtime
