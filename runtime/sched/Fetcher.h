// SPDX-License-Identifier: Apache-2.0
//
// Brings the bytes of samples' media.
#pragma once

#include "runtime/core/Clock.h"
#include "runtime/media/Image.h"
#include "runtime/media/Medium.h"
#include "runtime/sched/Program.h"
#include "runtime/sched/Work.h"

#include <cstdint>
#include <vector>

namespace penstock::runtime {

/// Asks callers for rows, and reads files: whole ones, or, of media that know where their bytes
/// lie, the parts that the sample needs. To find these it runs the sample's setup, as the sample's
/// thread will do once more. One object serves one thread, which must be in the default
/// floating-point mode.
class Fetcher {
public:
  Fetcher(std::shared_ptr<const Program> program, const ImageLimits &limits, const Clock &clock);

  /// Reads the bytes that one selected sample needs, from the places of its rows. Returns how
  /// many bytes are held. Blocks. Errors are stored in `work.media()`.
  int64_t fetch(Work &work, int64_t slot);
  /// Stores the numbers of a header of the first sample's file, of which it reads no more.
  Status readHeader(Work &work, size_t media, int64_t *block);
  /// The place of the bytes in a file.
  Result<MediaPlace> placeOf(Work &work, int64_t slot, size_t media) const;

private:
  Status open(Work &work, int64_t slot, size_t media);
  Status fetchWhole(Work &work, int64_t slot, size_t media);
  /// Reads all that a sample needs; what fails is in the statuses of rows and media.
  void readAll(Work &work, int64_t slot);
  /// The beginning of a file that is read in parts.
  Status openFile(Work &work, int64_t slot, size_t media);
  /// The index of a file of sound, where FFmpeg reads it. \param place  null: it has none
  Status openSound(Work &work, int64_t slot, size_t media, const MediaPlace *place);
  /// Everything but a clip's packets.
  Status openVideo(Work &work, int64_t slot, size_t media);
  Status readWhole(const MediaPlace &place, Encoded &encoded) const;
  Status fetchParts(Work &work, int64_t slot, size_t media);
  /// Runs the setup of the sample, which sets `block`; false where it fails,
  /// as it will again.
  bool plan(Work &work, int64_t slot);

  std::shared_ptr<const Program> program;
  const ImageLimits limits;
  const Clock &clock;
  std::vector<int64_t> block;
  std::vector<uint8_t> scratch;
  std::vector<pst_tensor> fields; ///< that setup has elements of
  std::vector<Buffer> fieldStorage;
  std::vector<const MediumEntry *> entries; // by media
};

} // namespace penstock::runtime
