// SPDX-License-Identifier: Apache-2.0
//
// Header numbers of a table's files, kept between runs.
#pragma once

#include "runtime/core/CacheFolder.h"
#include "runtime/core/FileSystem.h"
#include "runtime/sources/Source.h"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace penstock::runtime {

/// As many numbers for each row, found again by the names, sizes and times of its files alone: it
/// does not matter which rows the table has now, or in which order. Immutable between open() and
/// keep(): any number of threads may find().
class HeaderIndex {
public:
  static constexpr uint64_t mostKeptBytes = uint64_t(1) << 30;

  /// 128 bits of names, sizes and times. Zeros: the files cannot be recognized later, which the
  /// caller knows of files that have changed just now. \param library  version of the library that
  /// read them, if another one may find other numbers; 0: our own code did
  using Key = std::array<uint64_t, 2>;
  static Key keyOf(std::span<const MediaPlace> files, uint64_t library = 0);

  /// Reads the numbers kept below `folder`, if there are any. \param name  identifies the table and
  /// the numbers. \param width  numbers per row.
  HeaderIndex(FileSystem &files, const CacheFolder &folder, std::string_view name, size_t width);
  bool isEmpty() const { return count == 0; }
  /// Returns the numbers of a row; null if they are not known.
  const int64_t *find(const Key &key) const;
  /// Keeps these rows in place of all others, but for those without a key. `numbers`: `width` of
  /// each. All trouble is silent, as that of IndexCache.
  void keep(std::span<const Key> keys, std::span<const int64_t> numbers) const;

private:
  size_t rowWords() const { return std::tuple_size_v<Key> + width; }
  const uint64_t *row(size_t number) const;

  FileSystem &files;
  const CacheFolder folder;
  const std::string name;
  const size_t width;
  Buffer kept;
  size_t count = 0; ///< of rows in `kept`, by key
};

} // namespace penstock::runtime
