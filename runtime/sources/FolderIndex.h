// SPDX-License-Identifier: Apache-2.0
//
// The list of a folder's images, sounds or videos, compact, and its file in the cache.
#pragma once

#include "runtime/core/CacheFolder.h"
#include "runtime/core/FileSystem.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

/// The files of a folder that count, by the endings of their names.
enum class FolderContents : uint8_t { Images, Sounds, Videos };

/// Returns whether a file counts as an image by its name.
bool isImageName(std::string_view name);

/// Images, sounds or videos of a folder of class folders, in torchvision's order, with about 25
/// bytes a file: names without their folders, in one block of memory that is
/// also the cache file's contents, so that a cached index is mapped, not read.
///
/// Layout, little endian: Header; FolderEntry[folders]; u64[files + 1] ends of
/// names in `text`; text (root, then folder paths and names in order).
class FolderIndex {
public:
  /// Walks `root`, several class folders at a time. Errors name what was found
  /// instead of images. Folders that have not changed since `earlier` are not
  /// listed again. `keep` gets what there is from time to time: an index of the
  /// classes that are done, good as `earlier` and for nothing else.
  static Result<FolderIndex> scan(
      FileSystem &files, std::string_view root, const FolderIndex *earlier = nullptr,
      const std::function<void(const FolderIndex &)> &keep = [](const FolderIndex &) {},
      FolderContents contents = FolderContents::Images);
  /// Opens the index that an earlier run has kept, if it is current, and else makes and keeps a new
  /// one. Trouble with the cache is no error.
  static Result<FolderIndex> open(FileSystem &files, std::string_view path,
                                  const CacheFolder &cacheFolder, FolderContents contents,
                                  bool *wasCached = nullptr);
  /// Takes the bytes of a cache file, if they are whole and of `root`.
  static Result<FolderIndex> parse(Mapping mapping, std::string_view root);

  /// Returns false if a folder has been changed since the scan, or cannot be read, or the scan was
  /// not finished.
  bool isCurrent(FileSystem &files) const;
  /// The latest change of any folder, by the file system's times.
  int64_t lastChangeNs() const;

  uint64_t fileCount() const;
  uint32_t classCount() const;
  std::string_view className(uint32_t label) const;
  std::vector<std::string> classNames() const;
  uint32_t label(uint64_t file) const;
  /// Returns the path below the root: "cat/sub/1.jpg".
  std::string relativePath(uint64_t file) const;
  std::string_view root() const;

  std::span<const uint8_t> bytes() const { return mapping.bytes; }

private:
  struct Header;
  struct Folder;
  struct Found;
  class Known;
  struct Builder;

  explicit FolderIndex(Mapping mapping) : mapping(std::move(mapping)) {}
  const Header &header() const;
  std::span<const Folder> folders() const;
  const uint64_t *nameEnds() const;
  const char *text() const;
  std::string_view folderPath(const Folder &folder) const;
  const Folder &folderOf(uint64_t file) const;
  std::string_view fileName(uint64_t file) const;

  Mapping mapping;
};

} // namespace penstock::runtime
