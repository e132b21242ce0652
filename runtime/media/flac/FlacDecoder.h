// SPDX-License-Identifier: Apache-2.0
//
// Samples of FLAC files.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/media/flac/FlacFile.h"
#include "runtime/media/wave/SoundTarget.h"

#include <memory>

namespace penstock::runtime {

/// Decodes with libFLAC. One object serves one thread.
///
/// Errors: Truncated; Corrupt; Limit; those of reading.
class FlacDecoder {
public:
  FlacDecoder();
  ~FlacDecoder();

  /// Decodes the frames that hold what is wanted, whose checksums must be right, and the last
  /// one of the file, so that one that is cut off is found whatever is wanted.
  Status decode(FlacFile &file, MediaBytes &bytes, const SoundTarget &target);
  /// Checks the last frame alone.
  Status checkEnd(FlacFile &file, MediaBytes &bytes);

private:
  struct Library;
  struct Run;
  /// Decodes from the frame that holds `sample` until `end`.
  Status decodeFrom(int64_t sample, int64_t end, FlacFile &file, MediaBytes &bytes,
                    const SoundTarget *target);
  Status run(Run &run);

  std::unique_ptr<Library> library;
};

} // namespace penstock::runtime
