// SPDX-License-Identifier: Apache-2.0
//
// Files in memory, with faults on demand, for tests.
#pragma once

#include "runtime/core/FileSystem.h"

#include <condition_variable>
#include <map>
#include <mutex>

namespace penstock::runtime {

/// Behaves like RealFileSystem, except where a test told it to fail. Time
/// (`modifiedNs`) is a counter that each change moves on. A held path makes its
/// readers wait until it is released, so that slow disks need no sleeping.
class FakeFileSystem final : public FileSystem {
public:
  struct Faults {
    int openErrno = 0; ///< opening fails
    int readErrno = 0; ///< reading fails from byte `readErrnoAt` on
    uint64_t readErrnoAt = 0;
    size_t largestRead = SIZE_MAX; ///< no read gives more bytes than this
    int interruptions = 0;         ///< EINTR this often before each read
    int64_t statSizeError = 0;     ///< added to the size before reading
    int writeErrno = 0;            ///< writing fails; the old file stays
  };

  explicit FakeFileSystem(std::vector<std::string> roots = {"/"});
  ~FakeFileSystem() override;

  /// Makes the parent folders too.
  void addFile(std::string_view path, std::vector<uint8_t> bytes);
  void addFile(std::string_view path, std::string_view text);
  /// Overwrites a file in place: unlike after addFile(), readers that have it open see it.
  void overwriteFile(std::string_view path, std::string_view text);
  /// Sets the time of a file's last change.
  void setModified(std::string_view path, int64_t ns);
  void addFolder(std::string_view path);
  void addLink(std::string_view path, std::string_view target);
  /// Removes a file or a whole folder.
  void remove(std::string_view path);
  void setFaults(std::string_view path, Faults faults);
  /// Readers of `path` wait until release(path).
  void hold(std::string_view path);
  void release(std::string_view path);
  /// Waits until `count` readers are waiting at held paths.
  void waitForHeldReaders(int count);

  uint64_t filesRead() const;
  uint64_t foldersListed() const;

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

  using Bytes = std::shared_ptr<const std::vector<uint8_t>>;
  /// Contents of a file, shared by all names (hard links) that it has.
  struct Contents {
    std::mutex lock; // of both
    Bytes bytes;
    int64_t modifiedNs = 0;
  };

private:
  class FakeNewFile;
  struct Node {
    enum { File, Folder, Link } kind = Folder;
    std::shared_ptr<Contents> contents; // of a file
    std::string target;
    int64_t modifiedNs = 0; // of anything else

    Bytes bytes() const;
  };

  bool isWithinRoots(const std::string &name) const;
  /// Resolves links in a name; empty if they lead in a circle. Knows no roots.
  std::string withoutLinks(std::string name) const;
  /// Resolves links in a path and checks the roots. Call with the lock held.
  Result<std::string> resolve(std::string_view path, const char *action) const;
  Result<const Node *> find(std::string_view path, const char *action) const;
  Node &put(const std::string &path);
  /// Adds a file, in the place of an old one.
  void put(const std::string &path, std::vector<uint8_t> bytes);
  Status putFile(std::string_view path, const std::vector<uint8_t> &bytes);
  Faults faultsOf(const std::string &path) const;
  void waitWhileHeld(std::unique_lock<std::mutex> &guard, const std::string &name);

  std::vector<std::string> roots;
  mutable std::mutex lock;
  std::condition_variable changed;
  std::map<std::string, Node> nodes;
  std::map<std::string, Faults> faults;
  std::map<std::string, bool> held;
  int heldReaders = 0;
  int64_t now = 1;
  uint64_t fileReads = 0;
  uint64_t folderLists = 0;
};

} // namespace penstock::runtime
