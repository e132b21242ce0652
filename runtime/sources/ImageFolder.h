// SPDX-License-Identifier: Apache-2.0
//
// image_folder(root) and audio_folder(root): one folder per class, as torchvision's ImageFolder.
#pragma once

#include "runtime/core/CacheFolder.h"
#include "runtime/core/FileSystem.h"
#include "runtime/sources/FolderIndex.h"
#include "runtime/sources/Source.h"

#include <memory>

namespace penstock::runtime {

/// Columns data: bytes, label: i64, name: text (the path below the root).
///
/// Classes are the folders in `root` by name, and number the labels; files are
/// those below a class folder, at any depth, whose names end as images' (sounds') do, in
/// torchvision's order. Rows of files that cannot be read exist, and fail when
/// they are fetched.
class ImageFolder final : public Source {
public:
  struct Options {
    /// The folder for the index, which is kept between runs. A root of `files` that is writable;
    /// made private to this user.
    CacheFolder cacheFolder;
    FolderContents contents = FolderContents::Images;
    uint64_t maxFileBytes = uint64_t(1) << 30;
  };
  enum Columns : int { Data = 0, Label = 1, Name = 2 };

  /// `files` must outlive the source. Errors say what is missing: the root,
  /// class folders, or files. Trouble with the cache is no error.
  static Result<std::unique_ptr<ImageFolder>> open(FileSystem &files, std::string_view root,
                                                   const Options &options);
  static Result<std::unique_ptr<ImageFolder>> open(FileSystem &files, std::string_view root) {
    return open(files, root, Options());
  }

  std::string rowName(int64_t row) const override;
  Result<int64_t> scalar(int64_t row, int column) const override;
  Result<std::string> text(int64_t row, int column) const override;
  Status fetch(int64_t row, int column, Buffer &out) const override;
  Result<MediaPlace> place(int64_t row, int column) const override;
  std::vector<std::string> classNames() const override;

  const FolderIndex &index() const { return list; }
  /// Returns whether the index came from the cache.
  bool wasCached() const { return cached; }

private:
  ImageFolder(FileSystem &files, FolderIndex index, bool cached, const Options &options);

  std::string path(int64_t row) const;

  FileSystem &files;
  FolderIndex list;
  bool cached;
  Options options;
};

} // namespace penstock::runtime
