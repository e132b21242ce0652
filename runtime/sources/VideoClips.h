// SPDX-License-Identifier: Apache-2.0
//
// video_clips(root): clips of the videos in class folders.
#pragma once

#include "runtime/core/CacheFolder.h"
#include "runtime/core/FileSystem.h"
#include "runtime/sources/Source.h"

#include <memory>
#include <string>

namespace penstock::runtime {

struct VideoClipsOptions {
  /// The folder for indexes, which are kept between runs.
  CacheFolder cacheFolder;
  /// A clip has `length` frames, each `step` after the last, and the next clip
  /// begins `every` frames after it (0: length * step). A length of 0: one row for
  /// each file.
  int64_t length = 0, step = 1, every = 0;
};

/// Columns video: bytes (the file), start: i64 (the clip's first frame), frames: i64
/// (of the file), label: i64 (the class folder, by name), name: text (the path below
/// the root).
///
/// Files are indexed when they are first seen, or have changed. One that cannot be
/// read is a row of no frames that fails when it is fetched; one that is shorter than
/// a clip has no row. `files` must outlive the source. Errors say what is missing.
Result<std::unique_ptr<Source>> openVideoClips(FileSystem &files, std::string_view root,
                                               const VideoClipsOptions &options);

} // namespace penstock::runtime
