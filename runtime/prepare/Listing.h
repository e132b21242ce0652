// SPDX-License-Identifier: Apache-2.0
//
// The images of a data set, wherever they lie.
#pragma once

#include "runtime/core/FileSystem.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

/// Files that count as images by their names: all below a folder, members of tar
/// files among them; those of one tar file; or those that a list names. Takes 32
/// bytes and the name for each.
class Listing {
public:
  struct Options {
    std::string path = {};
    /// The folder of the files that a list names; empty: the list's own folder.
    std::string root = {};
    /// The column of file names of a table at `path`, by name or number; empty: a file name per
    /// line.
    std::string column = {};
    char separator = ',';
  };
  /// Lists images. Folders come in the order of their names, each before the folders in it.
  static Result<Listing> make(FileSystem &files, const Options &options);

  size_t count() const { return images.size(); }
  /// Returns the name below the folder, "cat/1.jpg", or "train-0.tar:cat/1.jpg".
  std::string name(size_t image) const;
  /// Returns the size and time of an image: of a tar file's member, or a file.
  Result<FileInfo> info(FileSystem &files, size_t image) const;
  Status read(FileSystem &files, size_t image, Buffer &out) const;
  /// Files that do not count as images.
  uint64_t others() const { return otherFiles; }
  /// Returns what to ask for instead where none of the images of a list can be read; empty: they
  /// are of no list.
  const std::string &advice() const { return hint; }

private:
  struct Image {
    uint64_t name;   // where it ends in the text
    uint64_t offset; // in the tar file
    uint64_t size;
    uint32_t shard; // 0: a file; else a tar file, counted from 1
  };
  std::string_view text(size_t image) const;
  std::string pathOf(std::string_view name) const;
  void add(std::string_view name, uint32_t shard, uint64_t offset, uint64_t size);
  Status addFile(FileSystem &files, const std::string &name, bool named);
  Status addTar(FileSystem &files, const std::string &name);
  Status addFolder(FileSystem &files, const std::string &name, std::vector<FileInfo> &above);
  Status addList(FileSystem &files, const Options &options);

  std::string root;
  std::string names;
  std::vector<Image> images;
  std::vector<std::string> shards; // below the root
  std::vector<FileInfo> shardInfos;
  uint64_t otherFiles = 0;
  std::string hint;
};

} // namespace penstock::runtime
