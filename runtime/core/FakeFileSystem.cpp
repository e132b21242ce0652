// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/FakeFileSystem.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace penstock::runtime {

namespace {

std::string clean(std::string_view path) { return normalizePath(path, "/"); }

std::string parentOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

} // namespace

FakeFileSystem::FakeFileSystem(std::vector<std::string> given) : roots(std::move(given)) {
  nodes["/"];
  for (std::string &root : roots) {
    root = clean(root);
    addFolder(root);
  }
}

FakeFileSystem::~FakeFileSystem() = default;

FakeFileSystem::Node &FakeFileSystem::put(const std::string &path) {
  if (path != "/" && !nodes.count(path)) {
    Node &parent = put(parentOf(path));
    parent.modifiedNs = ++now;
  }
  Node &node = nodes[path];
  node.modifiedNs = ++now;
  return node;
}

void FakeFileSystem::put(const std::string &path, std::vector<uint8_t> bytes) {
  Node &node = put(path);
  node.kind = Node::File;
  node.contents = std::make_shared<Contents>();
  node.contents->bytes = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  node.contents->modifiedNs = node.modifiedNs;
}

FakeFileSystem::Bytes FakeFileSystem::Node::bytes() const {
  std::lock_guard guard(contents->lock);
  return contents->bytes;
}

void FakeFileSystem::addFile(std::string_view path, std::vector<uint8_t> bytes) {
  std::lock_guard guard(lock);
  put(clean(path), std::move(bytes));
}

void FakeFileSystem::overwriteFile(std::string_view path, std::string_view text) {
  std::lock_guard guard(lock);
  Contents &contents = *nodes.at(clean(path)).contents;
  std::lock_guard inner(contents.lock);
  contents.bytes = std::make_shared<const std::vector<uint8_t>>(text.begin(), text.end());
  contents.modifiedNs = ++now;
}

void FakeFileSystem::setModified(std::string_view path, int64_t ns) {
  std::lock_guard guard(lock);
  Contents &contents = *nodes.at(clean(path)).contents;
  std::lock_guard inner(contents.lock);
  contents.modifiedNs = ns;
}

void FakeFileSystem::addFile(std::string_view path, std::string_view text) {
  addFile(path, std::vector<uint8_t>(text.begin(), text.end()));
}

void FakeFileSystem::addFolder(std::string_view path) {
  std::lock_guard guard(lock);
  put(clean(path)).kind = Node::Folder;
}

void FakeFileSystem::addLink(std::string_view path, std::string_view target) {
  std::lock_guard guard(lock);
  std::string name = clean(path);
  Node &node = put(name);
  node.kind = Node::Link;
  node.target = normalizePath(target, parentOf(name));
}

void FakeFileSystem::remove(std::string_view path) {
  std::lock_guard guard(lock);
  std::string name = clean(path);
  std::erase_if(nodes, [&](const auto &entry) { return liesWithin(entry.first, name); });
  put(parentOf(name));
}

void FakeFileSystem::setFaults(std::string_view path, Faults wanted) {
  std::lock_guard guard(lock);
  faults[clean(path)] = wanted;
}

void FakeFileSystem::hold(std::string_view path) {
  std::lock_guard guard(lock);
  held[clean(path)] = true;
}

void FakeFileSystem::release(std::string_view path) {
  {
    std::lock_guard guard(lock);
    held.erase(clean(path));
  }
  changed.notify_all();
}

void FakeFileSystem::waitForHeldReaders(int count) {
  std::unique_lock guard(lock);
  changed.wait(guard, [&] { return heldReaders >= count; });
}

uint64_t FakeFileSystem::filesRead() const {
  std::lock_guard guard(lock);
  return fileReads;
}

uint64_t FakeFileSystem::foldersListed() const {
  std::lock_guard guard(lock);
  return folderLists;
}

FakeFileSystem::Faults FakeFileSystem::faultsOf(const std::string &path) const {
  auto found = faults.find(path);
  return found == faults.end() ? Faults{} : found->second;
}

uint64_t FakeFileSystem::rootsKey() const {
  std::string all;
  for (const std::string &root : roots)
    all += root + '\n';
  return std::hash<std::string>()(all);
}

bool FakeFileSystem::isWithinRoots(const std::string &name) const {
  return std::any_of(roots.begin(), roots.end(),
                     [&](const std::string &root) { return liesWithin(name, root); });
}

std::string FakeFileSystem::withoutLinks(std::string name) const {
  for (int links = 0; links < 16; ++links) {
    size_t at = 0;
    bool followed = false;
    while (!followed && at != std::string::npos) {
      at = name.find('/', at + 1);
      auto found = nodes.find(name.substr(0, at));
      if (found != nodes.end() && found->second.kind == Node::Link) {
        name = found->second.target + (at == std::string::npos ? "" : name.substr(at));
        followed = true;
      }
    }
    if (!followed)
      return name;
  }
  return {};
}

Result<std::string> FakeFileSystem::resolve(std::string_view path, const char *action) const {
  const Error outside{Code::OutsideRoot,
                      std::string(path) + " leads out of the folders given to this pipeline"};
  const std::string whole = clean(path);
  if (!isWithinRoots(whole))
    return outside;
  const std::string name = withoutLinks(whole);
  if (name.empty())
    return systemError(ELOOP, action, path);
  if (isWithinRoots(name))
    return name;
  if (!nodes.count(name))
    return systemError(ENOENT, action, path);
  for (size_t end = 0; end < whole.size();) {
    end = std::min(whole.find('/', end + 1), whole.size());
    const std::string link = whole.substr(0, end), target = withoutLinks(link);
    if (isWithinRoots(link) && !isWithinRoots(target))
      return linkLeavesRoots(link, target, nodes.at(target).kind == Node::Folder);
  }
  return outside;
}

Result<const FakeFileSystem::Node *> FakeFileSystem::find(std::string_view path,
                                                          const char *action) const {
  Result<std::string> name = resolve(path, action);
  if (!name)
    return name.error();
  if (int number = faultsOf(*name).openErrno)
    return systemError(number, action, path);
  auto found = nodes.find(*name);
  if (found == nodes.end())
    return systemError(ENOENT, action, path);
  return &found->second;
}

namespace {

/// Reads from `position` on, with the faults that were asked for.
RawRead readerOf(std::shared_ptr<const std::vector<uint8_t>> bytes, FakeFileSystem::Faults fault,
                 uint64_t position) {
  return [=, interruptions = 0](uint8_t *to, size_t size) mutable -> int64_t {
    if (interruptions++ < fault.interruptions)
      return -EINTR;
    interruptions = 0;
    uint64_t end = bytes->size();
    if (fault.readErrno) {
      if (position >= fault.readErrnoAt)
        return -fault.readErrno;
      end = std::min(end, fault.readErrnoAt);
    }
    if (position >= end)
      return 0;
    const size_t count = std::min({size, size_t(end - position), fault.largestRead});
    std::memcpy(to, bytes->data() + position, count);
    position += count;
    return static_cast<int64_t>(count);
  };
}

class FakeOpenFile final : public OpenFile {
public:
  FakeOpenFile(std::shared_ptr<FakeFileSystem::Contents> contents, FakeFileSystem::Faults fault,
               FileInfo info, std::string_view path)
      : contents(std::move(contents)), fault(fault), known(info), path(path) {}

  FileInfo info() const override { return known; }
  Status checkUnchanged() const override {
    std::lock_guard guard(contents->lock);
    if (contents->bytes->size() != known.size || contents->modifiedNs != known.modifiedNs)
      return changedWhileRead();
    return {};
  }
  Status read(uint64_t offset, size_t size, Buffer &out) override {
    FakeFileSystem::Bytes bytes;
    {
      std::lock_guard guard(contents->lock);
      bytes = contents->bytes;
    }
    return readUpTo(readerOf(std::move(bytes), fault, offset), size, path, out);
  }

private:
  std::shared_ptr<FakeFileSystem::Contents> contents;
  FakeFileSystem::Faults fault;
  FileInfo known;
  std::string path;
};

} // namespace

void FakeFileSystem::waitWhileHeld(std::unique_lock<std::mutex> &guard, const std::string &name) {
  if (!held.count(name))
    return;
  ++heldReaders;
  changed.notify_all();
  changed.wait(guard, [&] { return !held.count(name); });
  --heldReaders;
}

Status FakeFileSystem::readFile(std::string_view path, Buffer &out, uint64_t maxBytes) {
  std::unique_lock guard(lock);
  ++fileReads;
  const std::string name = clean(path);
  waitWhileHeld(guard, name);
  Result<const Node *> node = find(path, "read");
  if (!node)
    return node.error();
  if ((*node)->kind != Node::File)
    return Error{Code::Io, "cannot read " + std::string(path) + ": it is not a regular file"};
  auto bytes = (*node)->bytes();
  const Faults fault = faultsOf(name);
  guard.unlock();
  return readToEnd(readerOf(bytes, fault, 0), bytes->size() + uint64_t(fault.statSizeError),
                   maxBytes, path, out);
}

Result<std::shared_ptr<OpenFile>> FakeFileSystem::openFile(std::string_view path) {
  auto info = stat(path);
  if (!info)
    return Error{info.error().code, "cannot open" + info.error().message.substr(11)};
  std::unique_lock guard(lock);
  const std::string name = clean(path);
  waitWhileHeld(guard, name);
  Result<const Node *> node = find(path, "open");
  if (!node)
    return node.error();
  if ((*node)->kind != Node::File)
    return Error{Code::Io, "cannot open " + std::string(path) + ": it is not a regular file"};
  return std::shared_ptr<OpenFile>(
      std::make_shared<FakeOpenFile>((*node)->contents, faultsOf(name), *info, path));
}

Result<FileInfo> FakeFileSystem::stat(std::string_view path) {
  std::lock_guard guard(lock);
  Result<const Node *> node = find(path, "stat");
  if (!node)
    return node.error();
  FileInfo info;
  info.kind = (*node)->kind == Node::File ? FileKind::File : FileKind::Folder;
  info.modifiedNs = (*node)->modifiedNs;
  if (const auto &contents = (*node)->contents) {
    std::lock_guard inner(contents->lock);
    info.size = contents->bytes->size();
    info.modifiedNs = contents->modifiedNs;
  }
  info.number = reinterpret_cast<uintptr_t>(*node);
  return info;
}

Result<std::vector<FolderEntry>> FakeFileSystem::listFolder(std::string_view path) {
  std::lock_guard guard(lock);
  ++folderLists;
  Result<const Node *> node = find(path, "list");
  if (!node)
    return node.error();
  if ((*node)->kind != Node::Folder)
    return systemError(ENOTDIR, "list", path);
  std::string prefix = *resolve(path, "list");
  if (prefix != "/")
    prefix += '/';
  std::vector<FolderEntry> entries;
  for (auto entry = nodes.upper_bound(prefix);
       entry != nodes.end() && entry->first.starts_with(prefix); ++entry) {
    std::string name = entry->first.substr(prefix.size());
    if (name.find('/') != std::string::npos)
      continue;
    FolderEntry found{std::move(name)};
    const Result<const Node *> target = find(entry->first, "stat");
    if (target)
      found.kind = (*target)->kind == Node::File ? FileKind::File : FileKind::Folder;
    if (entry->second.kind == Node::Link)
      found.link = target                                     ? Link::Followed
                   : target.error().code == Code::OutsideRoot ? Link::Outside
                                                              : Link::Broken;
    if (found.link == Link::Outside)
      found.kind = nodes.at(withoutLinks(entry->first)).kind == Node::File ? FileKind::File
                                                                           : FileKind::Folder;
    entries.push_back(std::move(found));
  }
  return entries;
}

Result<Mapping> FakeFileSystem::mapFile(std::string_view path) {
  std::lock_guard guard(lock);
  Result<const Node *> node = find(path, "map");
  if (!node)
    return node.error();
  if ((*node)->kind != Node::File)
    return Error{Code::Io, "cannot map " + std::string(path) + ": it is not a regular file"};
  auto bytes = (*node)->bytes();
  return Mapping{{bytes->data(), bytes->size()}, bytes};
}

Status FakeFileSystem::putFile(std::string_view path, const std::vector<uint8_t> &bytes) {
  std::lock_guard guard(lock);
  Result<std::string> name = resolve(path, "write");
  if (!name)
    return name.error();
  if (int number = faultsOf(*name).writeErrno)
    return systemError(number, "write", path);
  if (!nodes.count(parentOf(*name)))
    return systemError(ENOENT, "write", path);
  put(parentOf(*name));
  put(*name, bytes);
  return {};
}

class FakeFileSystem::FakeNewFile final : public NewFile {
public:
  FakeNewFile(FakeFileSystem &files, std::string_view path) : files(files), path(path) {}
  Status append(std::span<const uint8_t> more) override {
    bytes.insert(bytes.end(), more.begin(), more.end());
    return {};
  }
  Status finish() override { return files.putFile(path, bytes); }

private:
  FakeFileSystem &files;
  std::string path;
  std::vector<uint8_t> bytes;
};

Result<std::unique_ptr<NewFile>> FakeFileSystem::createFile(std::string_view path) {
  return std::unique_ptr<NewFile>(std::make_unique<FakeNewFile>(*this, path));
}

Status FakeFileSystem::removeFile(std::string_view path) {
  std::lock_guard guard(lock);
  Result<const Node *> node = find(path, "remove");
  if (!node)
    return node.error();
  std::string name = *resolve(path, "remove");
  nodes.erase(name);
  put(parentOf(name));
  return {};
}

Status FakeFileSystem::touchFile(std::string_view path) {
  std::lock_guard guard(lock);
  Result<const Node *> node = find(path, "touch");
  if (!node)
    return node.error();
  if (int number = faultsOf(*resolve(path, "touch")).writeErrno)
    return systemError(number, "touch", path);
  std::lock_guard inner((*node)->contents->lock);
  (*node)->contents->modifiedNs = ++now;
  return {};
}

Status FakeFileSystem::makePrivateFolder(std::string_view path) {
  std::lock_guard guard(lock);
  Result<std::string> name = resolve(path, "make folder");
  if (!name)
    return name.error();
  if (int number = faultsOf(*name).writeErrno)
    return systemError(number, "make folder", path);
  if (!nodes.count(*name))
    put(*name).kind = Node::Folder;
  return {};
}

} // namespace penstock::runtime
