// SPDX-License-Identifier: Apache-2.0
//
// The index of a folder of videos, and its file in the cache.
#pragma once

#include "runtime/core/FileSystem.h"
#include "runtime/sources/FolderIndex.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace penstock::runtime {

/// The index of each file of a folder (runtime/media/video/Video.h), or why
/// there is none. In the order of the folder.
///
/// Layout, little endian: Header; Entry[videos]; indexes; text (paths below the
/// root, and why files cannot be read).
class VideoIndex {
public:
  /// Reads what is not in `earlier`, or has changed since, several files at a
  /// time; `keep` gets what there is from time to time, good as `earlier`.
  static Result<VideoIndex> make(FileSystem &files, const FolderIndex &folder,
                                 const VideoIndex *earlier,
                                 const std::function<void(const VideoIndex &)> &keep);
  /// Takes the bytes of a cache file, if they are whole.
  static Result<VideoIndex> parse(Mapping mapping);

  uint64_t size() const;
  std::string_view path(uint64_t video) const;
  /// Returns the reason that a file is a bad sample; empty if it is none.
  std::string_view problem(uint64_t video) const;
  int64_t frames(uint64_t video) const;
  std::span<const uint8_t> index(uint64_t video) const;
  /// Returns whether the index is of the file as it is now.
  bool isOf(uint64_t video, const FileInfo &info) const;
  /// Returns the number of indexes that make() did not find in the earlier one.
  uint64_t made() const { return fresh; }
  /// The latest change of any file.
  int64_t lastChangeNs() const;

  std::span<const uint8_t> bytes() const { return mapping.bytes; }

private:
  struct Header;
  struct Entry;
  struct Found;

  explicit VideoIndex(Mapping mapping) : mapping(std::move(mapping)) {}
  static VideoIndex join(std::span<const Found> found);
  static Found read(FileSystem &files, const std::string &full, std::string path);
  std::span<const Entry> entries() const;
  std::string_view text() const;

  Mapping mapping;
  uint64_t fresh = 0;
};

} // namespace penstock::runtime
