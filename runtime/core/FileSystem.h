// SPDX-License-Identifier: Apache-2.0
//
// Files, behind an interface: RealFileSystem for work, FakeFileSystem for tests.
#pragma once

#include "runtime/core/Buffer.h"
#include "runtime/core/Path.h"
#include "runtime/core/Status.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

enum class FileKind : uint8_t { File, Folder, Other };

struct FileInfo {
  FileKind kind = FileKind::Other;
  uint64_t size = 0;
  /// Last change, in nanoseconds since 1970.
  int64_t modifiedNs = 0;
  /// Last change of the contents or the metadata, which no program sets: unpacking an archive gives
  /// old times to `modifiedNs` alone.
  int64_t changedNs = 0;
  /// Identify a file: together the same under all its names.
  uint64_t device = 0;
  uint64_t number = 0;
};

/// Kinds of links, by their targets.
enum class Link : uint8_t {
  None,
  Followed,
  Outside, ///< out of the roots; stat() says where to
  Broken,  ///< it cannot be followed: to nothing, or in a circle; stat() says why
};

struct FolderEntry {
  std::string name;
  /// The kind of the entry, or of the target if it is a link.
  FileKind kind = FileKind::Other;
  Link link = Link::None;
};

/// Read-only bytes that stay valid until the last copy is gone.
///
/// A mapped file that another program shortens takes its tail away: touching
/// it then ends the process (SIGBUS), as with every memory-mapped file.
struct Mapping {
  std::span<const uint8_t> bytes;
  std::shared_ptr<const void> owner;
};

/// A file that is open for reading at any place, from any thread.
class OpenFile {
public:
  virtual ~OpenFile();
  /// Returns the file's properties at the time when it was opened.
  virtual FileInfo info() const = 0;
  /// Fails with Code::Io if size or time are no longer those of info(): what was read from
  /// it may be partly of before and partly of after.
  virtual Status checkUnchanged() const = 0;
  /// Reads `bytes` bytes from `offset` on into `out`; sets its size, to less
  /// where the file ends before. Blocks.
  virtual Status read(uint64_t offset, size_t bytes, Buffer &out) = 0;
  /// Bytes of the file that it keeps in memory.
  virtual uint64_t bytesHeld() const { return 0; }
  /// How many bytes more take about as long to read as another read().
  virtual uint64_t readCost() const { return uint64_t(16) << 10; }
};

/// A file in the making. Nobody sees it before finish(); without that it is left
/// out. One thread at a time.
class NewFile {
public:
  virtual ~NewFile();
  virtual Status append(std::span<const uint8_t> bytes) = 0;
  /// Puts the file in its place, durably: readers see the old file or the whole new one.
  virtual Status finish() = 0;
};

/// Access to files below given roots, and nowhere else.
///
/// Every path must lie in a root. One that leads out of all roots, by `..` or
/// through a symbolic link, is refused with Code::OutsideRoot; where it is a link,
/// the message has the link's name and how its target is opened. Relative paths
/// start at the current folder. All members may be called from any thread.
class FileSystem {
public:
  virtual ~FileSystem();

  /// How many reads at a time are worth their threads.
  virtual int readers() const { return 8; }
  /// Ends reads that wait, and all that come, with Code::Cancelled, where they may wait for long.
  virtual void cancel() {}

  /// Returns a key of the set of roots: results found through links depend on it.
  virtual uint64_t rootsKey() const = 0;

  /// Reads a whole file into `out` and sets its size. A file of more than
  /// `maxBytes` gives Code::Limit before memory is taken for it. Blocks.
  virtual Status readFile(std::string_view path, Buffer &out,
                          uint64_t maxBytes = defaultMaxBytes) = 0;
  virtual Result<std::shared_ptr<OpenFile>> openFile(std::string_view path) = 0;
  virtual Result<FileInfo> stat(std::string_view path) = 0;
  /// Sorted by name (bytewise), without `.` and `..`. Links out of the roots have
  /// the kind of their targets, of which nothing else can be had; those
  /// that lead nowhere are FileKind::Other.
  virtual Result<std::vector<FolderEntry>> listFolder(std::string_view path) = 0;
  virtual Result<Mapping> mapFile(std::string_view path) = 0;
  /// Replaces or makes a file piece by piece: readers see the old or the new one,
  /// whole. The root must be writable, and the folder must exist. What a killed
  /// process left is overwritten; while another writes to the same place, Code::Io.
  virtual Result<std::unique_ptr<NewFile>> createFile(std::string_view path) = 0;
  /// As createFile(), with all bytes at once.
  Status writeFileAtomically(std::string_view path, std::span<const uint8_t> bytes);
  virtual Status removeFile(std::string_view path) = 0;
  /// Sets the time of a file's last change to now. Its root must be writable.
  virtual Status touchFile(std::string_view path) = 0;
  /// Makes a folder and its parents inside a writable root, for this user
  /// only. An existing folder must belong to this user and be writable by
  /// nobody else, else Code::Permission.
  virtual Status makePrivateFolder(std::string_view path) = 0;

  static constexpr uint64_t defaultMaxBytes = uint64_t(4) << 30;
};

/// Reads up to `size` bytes: the count, 0 at the end, or -errno.
using RawRead = std::function<int64_t(uint8_t *out, size_t size)>;

/// Reads to the end into `out`: repeats short and interrupted reads, and copes
/// with a size that differs from `expectedSize`. `path` is for messages.
Status readToEnd(const RawRead &read, uint64_t expectedSize, uint64_t maxBytes,
                 std::string_view path, Buffer &out);

/// Reads `size` bytes into `out`, fewer where the file ends before; repeats short
/// and interrupted reads.
Status readUpTo(const RawRead &read, size_t size, std::string_view path, Buffer &out);

/// Returns the error of a link out of the roots, to `target`.
Error linkLeavesRoots(std::string_view link, std::string_view target, bool isFolder);

/// Returns the error of a file that has changed since it was opened.
Error changedWhileRead();

/// The bytes of a list that is read again and again. Up to 64 MiB they are copied, so that it does
/// not matter who writes to the file; larger ones are mapped.
Result<Mapping> readList(FileSystem &files, std::string_view path);

/// An Error for `errno` value `number`: "cannot <action> <path>: <reason>".
Error systemError(int number, std::string_view action, std::string_view path);

} // namespace penstock::runtime
