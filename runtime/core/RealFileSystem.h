// SPDX-License-Identifier: Apache-2.0
//
// The machine's files.
#pragma once

#include "runtime/core/FileSystem.h"

namespace penstock::runtime {

/// Opens files with the kernel's own check that a path stays below its root
/// (openat2), and walks the resolved path link by link where that is missing
/// or an absolute link is met. A link may lead from one root into another.
class RealFileSystem final : public FileSystem {
public:
  struct Root {
    std::string path;
    bool writable = false;
  };

  /// Fails when a root is missing or no folder. A root may be a link itself.
  static Result<std::unique_ptr<RealFileSystem>> create(std::vector<Root> roots);
  ~RealFileSystem() override;

  uint64_t rootsKey() const override;

  Status readFile(std::string_view path, Buffer &out, uint64_t maxBytes = defaultMaxBytes) override;
  Result<std::shared_ptr<OpenFile>> openFile(std::string_view path) override;
  Result<FileInfo> stat(std::string_view path) override;
  Result<std::vector<FolderEntry>> listFolder(std::string_view path) override;
  Result<Mapping> mapFile(std::string_view path) override;
  Result<std::unique_ptr<NewFile>> createFile(std::string_view path) override;
  Status removeFile(std::string_view path) override;
  Status touchFile(std::string_view path) override;
  Status makePrivateFolder(std::string_view path) override;

private:
  struct OpenRoot {
    std::string path;     // as given, normalized
    std::string resolved; // without links
    int folder = -1;
    bool writable = false;
  };
  struct Place {
    const OpenRoot *root;
    std::string below; // relative to the root; "." for the root itself
  };

  RealFileSystem() = default;
  Result<Place> locate(std::string_view path) const;
  /// A file descriptor, or the error in the words of `action`.
  Result<int> open(std::string_view path, int flags, const char *action) const;
  int openBelow(const Place &place, int flags) const;
  int openResolved(const std::string &path, int flags) const;
  bool isWithinRoots(const std::string &resolved) const;
  void follow(const std::string &path, FolderEntry &entry);
  /// Returns the error of errno value `number`, for a path that lies in a root by its text.
  Error openError(int number, const char *action, std::string_view path) const;
  /// The open folder that holds `path`, for writing, and the last name.
  Result<int> openParent(std::string_view path, std::string &name, const char *action) const;

  std::vector<OpenRoot> roots;
};

/// As RealFileSystem::readFile(), of any file of the machine: for one that the caller names, and no
/// pipeline.
Status readNamedFile(const std::string &path, Buffer &out,
                     uint64_t maxBytes = FileSystem::defaultMaxBytes);

} // namespace penstock::runtime
