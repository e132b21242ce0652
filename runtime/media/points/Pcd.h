// SPDX-License-Identifier: Apache-2.0
//
// PCD, the files of the Point Cloud Library.
#pragma once

#include "runtime/media/points/PointFile.h"

namespace penstock::runtime {

/// Version 0.7: text, binary, or packed by LZF. Fields `_` are fillers. Where there is a field
/// `rgb` or `rgba` of four bytes, its parts are fields, too: `red`, `green`, `blue` and, of the
/// latter, `alpha`. What it accepts is whole: behind the header are as many bytes as it says.
///
/// Errors: Unsupported, by name; Truncated; Corrupt; Limit.
Result<PointHeader> readPcdHeader(MediaBytes &file);

class PcdFile final : public PointFile {
public:
  using PointFile::PointFile;
  Status open() { return PointFile::open(readPcdHeader(*file)); }
};

using Pcd = ArrayMedium<PcdFile>;

} // namespace penstock::runtime
