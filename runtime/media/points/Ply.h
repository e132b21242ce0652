// SPDX-License-Identifier: Apache-2.0
//
// PLY, as scanners and programs for meshes write points.
#pragma once

#include "runtime/media/points/PointFile.h"

namespace penstock::runtime {

/// The element `vertex` of a file of version 1.0: text, or binary in either order of bytes.
/// Elements in front of it are passed over, those behind it not looked at. What it accepts is
/// whole: behind the header are as many bytes as the points have.
///
/// Errors: Unsupported, by name, for points with lists; Truncated; Corrupt; Limit.
Result<PointHeader> readPlyHeader(MediaBytes &file);

class PlyFile final : public PointFile {
public:
  using PointFile::PointFile;
  Status open() { return PointFile::open(readPlyHeader(*file)); }
};

using Ply = ArrayMedium<PlyFile>;

} // namespace penstock::runtime
