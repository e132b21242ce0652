// SPDX-License-Identifier: Apache-2.0
//
// The interface of a medium: reads numbers from headers, and decodes boxes of elements.
#pragma once

#include "runtime/abi/kernel.h"
#include "runtime/abi/media.h"
#include "runtime/core/Status.h"
#include "runtime/media/Image.h"
#include "runtime/media/MediaBytes.h"
#include "runtime/media/Planes.h"
#include "runtime/media/video/VideoModule.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace penstock::runtime {

class EntropyIndexes;
class SoundTrack;
class Video;

/// The encoded bytes of one field of one sample, and the numbers of their header.
struct MediumInput {
  std::span<const uint8_t> bytes;        ///< empty where the file is read in parts
  media::Record numbers{};               ///< of the header, in the order of runtime/abi/media.h
  MediaBytes *file = nullptr;            ///< where it is
  const Video *video = nullptr;          ///< its index
  EntropyIndexes *checkpoints = nullptr; ///< of JPEG files; may be null
  const SoundTrack *sound = nullptr;     ///< as `video`, of sound
};

/// The file of an input, which may lie in memory as a whole.
class OpenedMedia {
public:
  explicit OpenedMedia(const MediumInput &input)
      : whole(input.bytes), bytes(input.file ? *input.file : whole) {}
  OpenedMedia(const OpenedMedia &) = delete;
  OpenedMedia &operator=(const OpenedMedia &) = delete;
  MediaBytes &operator*() { return bytes; }

private:
  MediaSpan whole;
  MediaBytes &bytes;
};

/// The elements low ..< high along an axis of the result.
struct AxisRange {
  int64_t low = 0, high = 0;
};

/// A decode request: a box of a tensor of these extents.
struct MediumRequest {
  plan::DType type = plan::DType::u8;
  std::string_view format;            ///< a word of the medium's
  bool orient = false;                ///< the result is upright
  std::span<const int64_t> extents;   ///< of the whole result
  std::span<const AxisRange> box;     ///< by axis; inside of the extents
  std::span<const int64_t> arguments; ///< in the order of runtime/abi/media.h
  const Planes *planes = nullptr;     ///< these, in place of the box; of Medium::planesFor()

  size_t rank() const { return extents.size(); }
};

/// The layout of the whole result: element (i, j, ...) lies at i * strides[0] + j * strides[1] +
/// ..., in bytes, behind the first `offset` of `bytes`.
struct MediumLayout {
  int64_t strides[PST_MAX_RANK] = {};
  int64_t bytes = 0, offset = 0;
};

/// The elements one behind the other; nothing where 64 bits are too few. There are those outside of
/// the box, too: a kernel may load them with others, and nobody writes them.
std::optional<MediumLayout> denseLayout(const MediumRequest &request);

/// Limits, counters and memory of the thread and the sample that a medium decodes for.
struct MediumHost {
  ImageLimits limits;
  DecodeStats &stats;
  pst_video_costs &videos;
  /// Memory until the decode ends, and whether somebody else may hold so much
  /// meanwhile; null and false where the sample may have no more.
  std::function<uint8_t *(int64_t bytes)> take;
  std::function<bool(uint64_t bytes)> mayHold;
  /// Returns why `take` gave null for `what`.
  std::function<Error(std::string_view what, int64_t bytes)> refusal = nullptr;
};

/// Decodes one kind of media. One object serves one thread, and keeps its memory
/// from sample to sample.
class Medium {
public:
  virtual ~Medium() = default;

  /// Returns the layout of a request's result; nothing if 64 bits are too few. Kernels rely on the
  /// dense one for all media but images and videos (ScheduleCpu.cpp).
  virtual std::optional<MediumLayout> layout(const MediumRequest &request) const {
    return denseLayout(request);
  }
  /// Planes that would make the box's elements, where the input has them.
  virtual std::optional<Planes> planesFor(const MediumInput &, const MediumRequest &) const {
    return std::nullopt;
  }
  /// Writes the elements of the box, which is not empty; `out` is where the first
  /// element of the whole result would lie. Never writes outside of the box. Of planes,
  /// `out` is where they begin.
  virtual Status decode(const MediumInput &input, const MediumRequest &request,
                        const MediumLayout &layout, uint8_t *out) = 0;
  /// Returns the error that decode() would have for a request of any box, of what the header says;
  /// for a box that is empty.
  virtual Status accepts(const MediumInput &, const MediumRequest &) { return {}; }
  /// Checks an input of which no element is needed: returns the error that decode() would find
  /// in it as a whole.
  virtual Status checkEnd(const MediumInput &) { return {}; }
};

/// The registration of a medium, in runtime/media/Media.cpp.
struct MediumEntry {
  /// Reads the header, whatever the bytes hold.
  Status (*probe)(const MediumInput &input, const ImageLimits &limits, media::Record &numbers);
  std::unique_ptr<Medium> (*make)(MediumHost &host);
  /// Adds where the bytes lie that decode() will read of `input.file`, beside those that probe()
  /// reads; may read others to find them. Null for media that are read as a whole. Errors are
  /// those of decode(), which will say the same.
  Status (*parts)(const MediumInput &input, const MediumRequest &request,
                  std::vector<ByteRange> &parts);
};

/// Returns the entry of a medium, by its number in runtime/abi/media.h's list.
const MediumEntry &mediumEntry(size_t number);

} // namespace penstock::runtime
