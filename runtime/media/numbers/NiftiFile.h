// SPDX-License-Identifier: Apache-2.0
//
// Headers of NIfTI files, as scans of MRI and CT come.
#pragma once

#include "runtime/media/numbers/StoredArray.h"

#include <array>
#include <optional>

namespace penstock::runtime {

/// The axes of a file are x, y, z, t, u, v and w; x is the fastest.
struct NiftiHeader {
  Stored type = Stored::u8;
  bool isBigEndian = false;
  uint64_t offset = 0;               ///< of the first voxel
  std::array<int64_t, 7> extents{};  ///< 1 for axes that the file does not have
  std::array<double, 4> distances{}; ///< of x, y, z in millimetres, of t in seconds
  double slope = 1, inter = 0;       ///< what numbers stand for
  /// Of the axes that go right, forward and up: which stored axis it is, and whether the other way
  /// round. Nothing where the affine does not tell them apart.
  struct Axis {
    size_t stored = 0;
    bool isBack = false;
  };
  std::optional<std::array<Axis, 3>> upright;

  uint64_t bytes() const; ///< of all voxels
};

/// NIfTI-1 and NIfTI-2 in one file, in either order of bytes. What it accepts lies within the size
/// of `file`, which of a packed one is only the most that it can become. Affine and scaling are
/// chosen as nibabel chooses them: the sform, else the qform, else distances with x to the left; a
/// slope of 0 scales nothing.
///
/// Errors: Unsupported, by name, for pairs of files, ANALYZE, and voxels that are no single
/// numbers; Truncated; Corrupt.
Result<NiftiHeader> readNiftiHeader(MediaBytes &file);

} // namespace penstock::runtime
