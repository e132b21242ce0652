// SPDX-License-Identifier: Apache-2.0
//
// raw(...): columns that are plain memory, mapped from files or handed over.
#pragma once

#include "runtime/core/FileSystem.h"
#include "runtime/sources/Source.h"

#include <memory>
#include <span>

namespace penstock::runtime {

/// Rows one after the other in the machine's byte order (little endian) and C
/// order, without a header or behind that of a .npy file.
struct RawColumn {
  std::string name;
  plan::DType type = plan::DType::none; ///< neither bytes nor text
  std::vector<int64_t> dims;            ///< of one row; empty for scalars
  /// A file to map, or else memory.
  std::string path;
  std::span<const uint8_t> memory;
  std::shared_ptr<const void> owner; ///< keeps `memory` alive; may be empty
  /// Set for a .npy file; its header must agree with `type` and `dims`.
  bool npy = false;
};

/// Opens all columns; `files` may be null where none has a path. No data are
/// copied or read.
///
/// Errors: InvalidArgument where a size is no multiple of the row's, where
/// columns differ in length, and for types and extents that cannot be.
Result<std::unique_ptr<Source>> openRaw(std::vector<RawColumn> columns, FileSystem *files);

} // namespace penstock::runtime
