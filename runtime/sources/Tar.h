// SPDX-License-Identifier: Apache-2.0
//
// Members of a tar file and the places of their contents.
#pragma once

#include "runtime/core/Status.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace penstock::runtime {

/// Headers and contents begin at multiples of it.
constexpr size_t tarBlock = 512;

/// A regular file in a tar file. `size` bytes from `offset` on are its contents.
struct TarMember {
  std::string name;
  uint64_t offset = 0;
  uint64_t size = 0;
};

/// Returns whether `block` is the header of a regular file of this size whose name begins with
/// `begin`. Of names that do not fit a header (100 bytes) or are no ASCII, which stand in an
/// extended one, nothing is compared.
bool isHeaderOf(std::span<const uint8_t> block, std::string_view begin, uint64_t size);

/// Gives `count` bytes from `at` on, fewer only where the file ends before. They
/// stay valid until the next call.
using TarRead = std::function<Result<std::span<const uint8_t>>(uint64_t at, size_t count)>;

/// Goes from header to header and reads nothing else: ustar, with the long names
/// of pax and GNU. Folders are left out. Safe on any bytes: offsets and sizes
/// lie within the file.
///
/// Errors: Unsupported, by name, for compressed files, sparse members, links and
/// devices; Truncated; Corrupt, for wrong checksums.
class TarReader {
public:
  TarReader(uint64_t fileSize, TarRead read) : fileSize(fileSize), read(std::move(read)) {}
  /// Reads a tar file in memory.
  explicit TarReader(std::span<const uint8_t> bytes);

  /// Reads the next member. False behind the last one: two blocks of zeros, or the end of the file.
  /// Unsupported where another tar file follows in the same record.
  Result<bool> next(TarMember &member);

private:
  friend bool isHeaderOf(std::span<const uint8_t> block, std::string_view begin, uint64_t size);
  struct Header;
  Status checkEnd();
  Status extended(const Header &header, uint64_t size);
  Result<std::string> contents(uint64_t offset, uint64_t size);

  uint64_t fileSize;
  TarRead read;
  uint64_t at = 0;
  // Fields of an extended header, for the member behind it.
  std::string longName;
  uint64_t longSize = 0;
  bool hasLongSize = false;
};

} // namespace penstock::runtime
