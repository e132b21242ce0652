// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/RealFileSystem.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace penstock::runtime {

namespace {

/// Closes on every way out.
class Descriptor {
public:
  explicit Descriptor(int number) : number(number) {}
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  ~Descriptor() {
    if (number >= 0)
      ::close(number);
  }
  int get() const { return number; }

private:
  int number;
};

FileInfo infoOf(const struct stat &found) {
  FileInfo info;
  info.kind = S_ISREG(found.st_mode)   ? FileKind::File
              : S_ISDIR(found.st_mode) ? FileKind::Folder
                                       : FileKind::Other;
  info.size = static_cast<uint64_t>(found.st_size);
  info.modifiedNs = found.st_mtim.tv_sec * 1000000000LL + found.st_mtim.tv_nsec;
  info.changedNs = found.st_ctim.tv_sec * 1000000000LL + found.st_ctim.tv_nsec;
  info.device = found.st_dev;
  info.number = found.st_ino;
  return info;
}

/// The path without any link, or empty.
std::string resolveLinks(const std::string &path) {
  char text[PATH_MAX];
  return ::realpath(path.c_str(), text) ? text : std::string();
}

Error leavesRoots(std::string_view path) {
  return {Code::OutsideRoot, std::string(path) +
                                 " leads out of the folders given to this pipeline; where it may, "
                                 "`--allow` (allowed_folders) opens its folder"};
}

/// Fails if somebody has written to a file since `before`, as far as its times tell.
Status checkUnchanged(int file, const FileInfo &before, std::string_view path) {
  struct stat found;
  if (::fstat(file, &found) != 0)
    return systemError(errno, "stat", path);
  const FileInfo now = infoOf(found);
  if (now.size != before.size || now.modifiedNs != before.modifiedNs)
    return changedWhileRead();
  return {};
}

} // namespace

Result<std::unique_ptr<RealFileSystem>> RealFileSystem::create(std::vector<Root> roots) {
  std::unique_ptr<RealFileSystem> files(new RealFileSystem);
  for (const Root &root : roots) {
    OpenRoot opened;
    opened.path = absolutePath(root.path);
    opened.writable = root.writable;
    opened.resolved = resolveLinks(opened.path);
    if (opened.resolved.empty())
      return systemError(errno, "open folder", root.path);
    opened.folder = ::open(opened.resolved.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (opened.folder < 0)
      return systemError(errno, "open folder", root.path);
    files->roots.push_back(std::move(opened));
  }
  // The innermost root answers, so that its `writable` holds.
  std::sort(files->roots.begin(), files->roots.end(), [](const OpenRoot &a, const OpenRoot &b) {
    if (a.path.size() != b.path.size())
      return a.path.size() > b.path.size();
    return a.writable > b.writable;
  });
  return files;
}

RealFileSystem::~RealFileSystem() {
  for (const OpenRoot &root : roots)
    ::close(root.folder);
}

uint64_t RealFileSystem::rootsKey() const {
  std::string all;
  for (const OpenRoot &root : roots)
    all.append(root.path).push_back('\n');
  return XXH3_64bits(all.data(), all.size());
}

bool RealFileSystem::isWithinRoots(const std::string &resolved) const {
  return std::any_of(roots.begin(), roots.end(),
                     [&](const OpenRoot &root) { return liesWithin(resolved, root.resolved); });
}

Error RealFileSystem::openError(int number, const char *action, std::string_view path) const {
  if (number != EXDEV)
    return systemError(number, action, path);
  // The first part of the path that leaves is the link.
  const std::string whole = absolutePath(path);
  for (size_t end = 0; end < whole.size();) {
    end = std::min(whole.find('/', end + 1), whole.size());
    const std::string link = whole.substr(0, end);
    const auto below = [&](const OpenRoot &root) { return liesWithin(link, root.path); };
    if (std::none_of(roots.begin(), roots.end(), below))
      continue;
    const std::string target = resolveLinks(link);
    struct stat found;
    if (!target.empty() && !isWithinRoots(target) && ::stat(target.c_str(), &found) == 0)
      return linkLeavesRoots(link, target, S_ISDIR(found.st_mode));
  }
  return leavesRoots(path);
}

Result<RealFileSystem::Place> RealFileSystem::locate(std::string_view path) const {
  if (path.find('\0') != std::string_view::npos)
    return Error{Code::InvalidArgument, "a path holds a zero byte"};
  std::string clean = absolutePath(path);
  for (const OpenRoot &root : roots) {
    if (!liesWithin(clean, root.path))
      continue;
    size_t cut = root.path == "/" ? 1 : root.path.size() + 1;
    std::string below = clean.size() > cut ? clean.substr(cut) : ".";
    return Place{&root, std::move(below)};
  }
  return leavesRoots(path);
}

int RealFileSystem::openBelow(const Place &place, int flags) const {
  struct open_how how = {};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  for (int tries = 0; tries < 16; ++tries) {
    long opened = ::syscall(SYS_openat2, place.root->folder, place.below.c_str(), &how, sizeof how);
    if (opened >= 0)
      return static_cast<int>(opened);
    // The kernel gives up with EAGAIN when something is renamed meanwhile.
    if (errno != EAGAIN && errno != EINTR)
      break;
  }
  if (errno != EXDEV && errno != ENOSYS && errno != EPERM && errno != EAGAIN)
    return -1;
  // An absolute link, a link into another root, or a kernel without openat2.
  std::string path = place.root->resolved == "/" ? "" : place.root->resolved;
  (path += '/') += place.below;
  std::string resolved = resolveLinks(path);
  return resolved.empty() ? -1 : openResolved(resolved, flags);
}

int RealFileSystem::openResolved(const std::string &path, int flags) const {
  for (const OpenRoot &root : roots) {
    if (!liesWithin(path, root.resolved))
      continue;
    // No component may be a link by now: one that is has been swapped in.
    int folder = ::fcntl(root.folder, F_DUPFD_CLOEXEC, 0);
    size_t at = root.resolved == "/" ? 1 : root.resolved.size() + 1;
    while (folder >= 0 && at < path.size()) {
      size_t end = std::min(path.find('/', at), path.size());
      bool last = end == path.size();
      Descriptor parent(folder);
      folder = ::openat(parent.get(), path.substr(at, end - at).c_str(),
                        (last ? flags : O_PATH | O_DIRECTORY) | O_NOFOLLOW | O_CLOEXEC);
      at = end + 1;
      if (last)
        return folder;
    }
    if (folder < 0)
      return -1;
    Descriptor parent(folder);
    return ::openat(parent.get(), ".", flags | O_CLOEXEC);
  }
  errno = EXDEV;
  return -1;
}

Result<int> RealFileSystem::open(std::string_view path, int flags, const char *action) const {
  Result<Place> place = locate(path);
  if (!place)
    return place.error();
  int opened = openBelow(*place, flags);
  if (opened < 0)
    return openError(errno, action, path);
  return opened;
}

namespace {

/// Reads all of a file that was opened without blocking.
Status readOpened(const Descriptor &file, std::string_view path, Buffer &out, uint64_t maxBytes) {
  struct stat found;
  if (::fstat(file.get(), &found) != 0)
    return systemError(errno, "read", path);
  if (!S_ISREG(found.st_mode))
    return Error{Code::Io, "cannot read " + std::string(path) + ": it is not a regular file"};
  const auto read = [&](Buffer &to) {
    off_t at = 0;
    return readToEnd(
        [&](uint8_t *next, size_t size) -> int64_t {
          const ssize_t got = ::pread(file.get(), next, size, at);
          at += got < 0 ? 0 : got;
          return got < 0 ? -errno : got;
        },
        static_cast<uint64_t>(found.st_size), maxBytes, path, to);
  };
  if (Status status = read(out); !status)
    return status;
  const Status changed = checkUnchanged(file.get(), infoOf(found), path);
  if (changed)
    return {};
  // Somebody may have set its time alone, as noteUse() does: then it says the same again.
  Buffer again;
  const bool isSame = read(again) && again.size() == out.size() &&
                      std::memcmp(again.data(), out.data(), out.size()) == 0;
  return isSame ? Status() : changed;
}

// Without O_NONBLOCK a pipe among the files would hang its reader for ever.
constexpr int forReading = O_RDONLY | O_NONBLOCK | O_CLOEXEC;

} // namespace

Status RealFileSystem::readFile(std::string_view path, Buffer &out, uint64_t maxBytes) {
  Result<int> opened = open(path, forReading, "read");
  if (!opened)
    return opened.error();
  return readOpened(Descriptor(*opened), path, out, maxBytes);
}

Status readNamedFile(const std::string &path, Buffer &out, uint64_t maxBytes) {
  const Descriptor file(::open(path.c_str(), forReading));
  if (file.get() < 0)
    return systemError(errno, "read", path);
  return readOpened(file, path, out, maxBytes);
}

namespace {

class RealOpenFile final : public OpenFile {
public:
  RealOpenFile(int descriptor, const struct stat &found, std::string_view path)
      : file(descriptor), known(infoOf(found)), path(path) {}

  FileInfo info() const override { return known; }
  Status checkUnchanged() const override {
    return runtime::checkUnchanged(file.get(), known, path);
  }
  Status read(uint64_t offset, size_t bytes, Buffer &out) override {
    auto next = [&, at = off_t(offset)](uint8_t *to, size_t size) mutable -> int64_t {
      const ssize_t got = ::pread(file.get(), to, size, at);
      if (got < 0)
        return -errno;
      at += got;
      return got;
    };
    return readUpTo(next, bytes, path, out);
  }

private:
  Descriptor file;
  FileInfo known;
  std::string path;
};

} // namespace

Result<std::shared_ptr<OpenFile>> RealFileSystem::openFile(std::string_view path) {
  Result<int> opened = open(path, O_RDONLY | O_NONBLOCK, "open");
  if (!opened)
    return opened.error();
  struct stat found;
  if (::fstat(*opened, &found) != 0 || !S_ISREG(found.st_mode)) {
    ::close(*opened);
    return Error{Code::Io, "cannot open " + std::string(path) + ": it is not a regular file"};
  }
  return std::shared_ptr<OpenFile>(std::make_shared<RealOpenFile>(*opened, found, path));
}

Result<FileInfo> RealFileSystem::stat(std::string_view path) {
  Result<int> opened = open(path, O_PATH, "stat");
  if (!opened)
    return opened.error();
  Descriptor file(*opened);
  struct stat found;
  if (::fstat(file.get(), &found) != 0)
    return systemError(errno, "stat", path);
  return infoOf(found);
}

/// Sets the kind of an entry that may be a link.
void RealFileSystem::follow(const std::string &path, FolderEntry &entry) {
  struct stat found;
  const bool isLink = ::lstat(path.c_str(), &found) == 0 && S_ISLNK(found.st_mode);
  const Result<FileInfo> info = stat(path);
  if (info)
    entry.kind = info->kind;
  if (!isLink)
    return;
  entry.link = info                                     ? Link::Followed
               : info.error().code == Code::OutsideRoot ? Link::Outside
                                                        : Link::Broken;
  if (entry.link == Link::Outside && ::stat(path.c_str(), &found) == 0)
    entry.kind = infoOf(found).kind;
}

Result<std::vector<FolderEntry>> RealFileSystem::listFolder(std::string_view path) {
  Result<int> opened = open(path, O_RDONLY | O_DIRECTORY, "list");
  if (!opened)
    return opened.error();
  DIR *folder = ::fdopendir(*opened);
  if (!folder) {
    int number = errno;
    ::close(*opened);
    return systemError(number, "list", path);
  }
  std::vector<FolderEntry> entries;
  std::vector<size_t> unknown;
  int number = 0;
  for (;;) {
    errno = 0;
    const dirent *entry = ::readdir(folder);
    if (!entry) {
      number = errno;
      break;
    }
    std::string_view name = entry->d_name;
    if (name == "." || name == "..")
      continue;
    FileKind kind = entry->d_type == DT_REG   ? FileKind::File
                    : entry->d_type == DT_DIR ? FileKind::Folder
                                              : FileKind::Other;
    if (entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN)
      unknown.push_back(entries.size());
    entries.push_back({std::string(name), kind});
  }
  ::closedir(folder);
  if (number)
    return systemError(number, "list", path);
  for (size_t index : unknown)
    follow(std::string(path) + "/" + entries[index].name, entries[index]);
  std::sort(entries.begin(), entries.end(),
            [](const FolderEntry &a, const FolderEntry &b) { return comesBefore(a.name, b.name); });
  return entries;
}

Result<Mapping> RealFileSystem::mapFile(std::string_view path) {
  Result<int> opened = open(path, O_RDONLY | O_NONBLOCK, "map");
  if (!opened)
    return opened.error();
  Descriptor file(*opened);
  struct stat found;
  if (::fstat(file.get(), &found) != 0)
    return systemError(errno, "map", path);
  if (!S_ISREG(found.st_mode))
    return Error{Code::Io, "cannot map " + std::string(path) + ": it is not a regular file"};
  size_t size = static_cast<size_t>(found.st_size);
  if (size == 0)
    return Mapping{};
  void *address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (address == MAP_FAILED)
    return systemError(errno, "map", path);
  std::shared_ptr<const void> owner(
      address, [size](const void *mapped) { ::munmap(const_cast<void *>(mapped), size); });
  return Mapping{{static_cast<const uint8_t *>(address), size}, std::move(owner)};
}

Result<int> RealFileSystem::openParent(std::string_view path, std::string &name,
                                       const char *action) const {
  Result<Place> place = locate(path);
  if (!place)
    return place.error();
  if (!place->root->writable)
    return Error{Code::Permission, "cannot " + std::string(action) + " " + std::string(path) +
                                       ": its folder was given for reading only"};
  if (place->below == ".")
    return Error{Code::InvalidArgument,
                 "cannot " + std::string(action) + " " + std::string(path) + ": it is a folder"};
  size_t slash = place->below.rfind('/');
  name = place->below.substr(slash == std::string::npos ? 0 : slash + 1);
  place->below = slash == std::string::npos ? "." : place->below.substr(0, slash);
  int parent = openBelow(*place, O_RDONLY | O_DIRECTORY);
  if (parent < 0)
    return openError(errno, action, path);
  return parent;
}

namespace {

class RealNewFile final : public NewFile {
public:
  RealNewFile(int folder, std::string name, std::string_view path)
      : folder(folder), name(std::move(name)), temporary("." + this->name.substr(0, 180) + ".part"),
        path(path) {}
  ~RealNewFile() override {
    if (file >= 0 && !finished)
      ::unlinkat(folder.get(), temporary.c_str(), 0);
    if (file >= 0)
      ::close(file);
  }

  /// The name is always the same, so that what a killed process left is used
  /// again; the lock is what a process that lives has.
  Status open() {
    for (int tries = 0; tries < 16; ++tries) {
      const int opened = ::openat(folder.get(), temporary.c_str(),
                                  O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
      if (opened < 0)
        return systemError(errno, "write", path);
      if (::flock(opened, LOCK_EX | LOCK_NB) != 0) {
        ::close(opened);
        return Error{Code::Io, "cannot write " + path + ": another process is writing it"};
      }
      // The one that had the lock may have put its file in its place meanwhile.
      struct stat mine, there;
      if (::fstat(opened, &mine) == 0 &&
          ::fstatat(folder.get(), temporary.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
          mine.st_ino == there.st_ino && ::ftruncate(opened, 0) == 0) {
        file = opened;
        return {};
      }
      ::close(opened);
    }
    return Error{Code::Io, "cannot write " + path + ": other processes are writing it"};
  }

  Status append(std::span<const uint8_t> bytes) override {
    while (!bytes.empty()) {
      const ssize_t wrote = ::write(file, bytes.data(), bytes.size());
      if (wrote < 0 && errno != EINTR)
        return systemError(errno, "write", path);
      bytes = bytes.subspan(size_t(std::max<ssize_t>(wrote, 0)));
    }
    return {};
  }

  Status finish() override {
    struct stat there;
    if (::fstatat(folder.get(), name.c_str(), &there, 0) == 0 && !S_ISREG(there.st_mode))
      return Error{Code::InvalidArgument,
                   "cannot write " + path + ": it is there, and is no regular file"};
    if (::fsync(file) != 0 ||
        ::renameat(folder.get(), temporary.c_str(), folder.get(), name.c_str()) != 0)
      return systemError(errno, "write", path);
    finished = true;
    return {};
  }

private:
  Descriptor folder;
  std::string name, temporary, path;
  int file = -1;
  bool finished = false;
};

} // namespace

Result<std::unique_ptr<NewFile>> RealFileSystem::createFile(std::string_view path) {
  std::string name;
  Result<int> parent = openParent(path, name, "write");
  if (!parent)
    return parent.error();
  auto file = std::make_unique<RealNewFile>(*parent, std::move(name), path);
  if (Status status = file->open(); !status)
    return status.error();
  return std::unique_ptr<NewFile>(std::move(file));
}

Status RealFileSystem::removeFile(std::string_view path) {
  std::string name;
  Result<int> parent = openParent(path, name, "remove");
  if (!parent)
    return parent.error();
  Descriptor folder(*parent);
  if (::unlinkat(folder.get(), name.c_str(), 0) != 0)
    return systemError(errno, "remove", path);
  return {};
}

Status RealFileSystem::touchFile(std::string_view path) {
  std::string name;
  Result<int> parent = openParent(path, name, "touch");
  if (!parent)
    return parent.error();
  Descriptor folder(*parent);
  if (::utimensat(folder.get(), name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW) != 0)
    return systemError(errno, "touch", path);
  return {};
}

Status RealFileSystem::makePrivateFolder(std::string_view path) {
  Result<Place> place = locate(path);
  if (!place)
    return place.error();
  if (!place->root->writable)
    return Error{Code::Permission, "cannot make folder " + std::string(path) +
                                       ": its root was given for reading only"};
  Place step{place->root, ""};
  std::string_view rest = place->below;
  // Each level is opened below the root before the next is made in it.
  while (rest != "." && !rest.empty()) {
    size_t end = std::min(rest.find('/'), rest.size());
    std::string name(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    Place above{step.root, step.below.empty() ? "." : step.below};
    Descriptor parent(openBelow(above, O_RDONLY | O_DIRECTORY));
    if (parent.get() < 0)
      return openError(errno, "make folder", path);
    if (::mkdirat(parent.get(), name.c_str(), 0700) != 0 && errno != EEXIST)
      return systemError(errno, "make folder", path);
    step.below += (step.below.empty() ? "" : "/") + name;
  }
  Descriptor folder(openBelow(*place, O_RDONLY | O_DIRECTORY));
  struct stat found;
  if (folder.get() < 0 || ::fstat(folder.get(), &found) != 0)
    return openError(errno, "make folder", path);
  if (found.st_uid != ::geteuid())
    return Error{Code::Permission, "folder " + std::string(path) + " belongs to another user"};
  if (found.st_mode & (S_IWGRP | S_IWOTH))
    return Error{Code::Permission, "folder " + std::string(path) + " can be written by others"};
  return {};
}

} // namespace penstock::runtime
