// SPDX-License-Identifier: Apache-2.0
#include "runtime/remote/RemoteFileSystem.h"

#include "runtime/core/Clock.h"
#include "runtime/core/Memory.h"
#include "runtime/remote/AzureStorage.h"
#include "runtime/remote/GoogleStorage.h"
#include "runtime/remote/HttpStore.h"
#include "runtime/remote/HuggingFace.h"
#include "runtime/remote/S3.h"

#include <algorithm>
#include <cstring>
#include <ctime>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace penstock::runtime {

namespace {

/// What the first request for a file brings beside its size: all of small ones.
constexpr uint64_t headBytes = 64 << 10;
/// What is kept of it where that is little of the file: its header.
constexpr uint64_t keptBytes = 4 << 10, largeFile = 1 << 20;
/// The most that is read at once from servers that send whole files only, and of a file that
/// should be mapped.
constexpr uint64_t mostWhole = 64 << 20, mostMapped = uint64_t(1) << 30;

/// A URL whose escaped slashes, of either kind, are slashes.
std::string withSlashes(const std::string &url) {
  std::string text;
  for (size_t i = 0; i < url.size(); ++i) {
    const std::string_view code = std::string_view(url).substr(i, 3);
    const bool isSlash = code == "%2f" || code == "%2F" || code == "%5c" || code == "%5C";
    text += isSlash || url[i] == '\\' ? '/' : url[i];
    i += isSlash ? 2 : 0;
  }
  return text;
}

uint64_t hashOf(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

/// The time of `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110); 0 where it is none.
int64_t timeOf(const std::string &text) {
  std::tm time{};
  const char *end = strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &time);
  return end ? int64_t(timegm(&time)) * 1'000'000'000 : 0;
}

DiskCache::State stateOf(const HttpResponse &answer) {
  return {answer.version, answer.lastModified, answer.size};
}

FileInfo infoOf(const DiskCache::State &state, const std::string &url) {
  FileInfo info;
  info.kind = FileKind::File;
  info.size = state.size;
  // Servers say whole seconds; below them stands what tells versions of one second apart.
  info.modifiedNs = timeOf(state.lastModified);
  info.modifiedNs += int64_t(hashOf(state.version) % 1'000'000'000);
  info.changedNs = info.modifiedNs;
  info.device = hashOf("url");
  info.number = hashOf(url);
  return info;
}

Error readsOnly(std::string_view path) {
  return {Code::Permission, "cannot write " + std::string(path) + ": URLs are only read"};
}

Error noSize(const std::string &url) {
  return {Code::Unsupported,
          "cannot read parts of " + withoutSecrets(url) + ": the server does not say its size"};
}

} // namespace

/// A file whose beginning is kept. Each part that is read comes with the tag of the file's state,
/// so that nothing is asked to see that it is still the same.
class RemoteFileSystem::RemoteFile final : public OpenFile {
public:
  /// \param keepsParts  what is read is kept on the disk
  RemoteFile(RemoteFileSystem &files, std::string url, DiskCache::State state, bool keepsParts,
             Buffer bytes)
      : files(files), url(std::move(url)), state(std::move(state)), keepsParts(keepsParts),
        known(infoOf(this->state, this->url)), head(std::move(bytes)) {}

  FileInfo info() const override { return known; }
  Status checkUnchanged() const override { return {}; }
  uint64_t readCost() const override { return 1 << 20; }
  uint64_t bytesHeld() const override { return head.size(); }

  Status read(uint64_t offset, size_t bytes, Buffer &out) override {
    out.clear();
    const uint64_t count = offset < known.size ? std::min<uint64_t>(bytes, known.size - offset) : 0;
    if (count == 0)
      return {};
    const uint64_t here = offset < head.size() ? std::min(count, head.size() - offset) : 0;
    if (here < count)
      if (Status status = readRest(offset + here, count - here, out); !status)
        return status;
    if (here == 0)
      return {};
    const size_t fetched = out.size();
    if (!out.resize(size_t(count)))
      return noMemory("for " + std::to_string(count) + " bytes of " + withoutSecrets(url));
    std::memmove(out.data() + here, out.data(), fetched);
    std::memcpy(out.data(), head.data() + offset, size_t(here));
    return {};
  }

private:
  Status readRest(uint64_t offset, uint64_t count, Buffer &out) {
    const auto fromServer = [this](uint64_t offset, uint64_t count, Buffer &out) {
      return fetch(offset, count, out);
    };
    return keepsParts ? files.cache->read(files.keyOf(url), state, offset, count, out, fromServer)
                      : fetch(offset, count, out);
  }

  /// Reads `count` bytes from the server.
  Status fetch(uint64_t offset, uint64_t count, Buffer &out) {
    HttpRequest request;
    request.begin = offset;
    request.count = count;
    request.mostBytes = count;
    auto answer = files.get(url, std::move(request), out);
    if (!answer)
      return answer.error();
    const bool isSame = answer->isPart && answer->version == state.version && out.size() == count &&
                        (!answer->hasSize || answer->size == known.size);
    if (isSame)
      return {};
    if (keepsParts) // who opens it next finds the new one
      files.cache->forget(files.keyOf(url));
    return changedWhileRead();
  }

  RemoteFileSystem &files;
  std::string url;
  DiskCache::State state;
  bool keepsParts;
  FileInfo known;
  Buffer head;
};

RemoteFileSystem::RemoteFileSystem(std::unique_ptr<FileSystem> local,
                                   std::vector<std::string> given, std::unique_ptr<DiskCache> cache)
    : local(std::move(local)), cache(std::move(cache)) {
  stores.push_back(std::make_unique<HttpStore>(client));
  stores.push_back(std::make_unique<S3>(client));
  stores.push_back(std::make_unique<GoogleStorage>(client));
  stores.push_back(std::make_unique<AzureStorage>(client));
  stores.push_back(std::make_unique<HuggingFace>(client));
  for (const std::string &root : given)
    roots.push_back(absolutePath(root));
}

uint64_t RemoteFileSystem::rootsKey() const {
  uint64_t key = local->rootsKey();
  for (const std::string &root : roots)
    key = key * 31 + hashOf(root);
  return key;
}

Result<std::string> RemoteFileSystem::located(std::string_view path) const {
  if (path.find('\0') != std::string_view::npos)
    return Error{Code::InvalidArgument, "a URL holds a zero byte"};
  std::string url = absolutePath(path);
  // Servers take `%2f` for a slash, so that `..%2f` leads up.
  const std::string taken = url.starts_with("http") ? normalizePath(withSlashes(url), {}) : url;
  const auto below = [&](const std::string &root) {
    return liesWithin(url, root) && liesWithin(taken, root);
  };
  if (roots.empty() || std::any_of(roots.begin(), roots.end(), below))
    return url;
  const std::string shown = withoutSecrets(url);
  return Error{Code::OutsideRoot, shown +
                                      " lies outside of the URLs given to this pipeline; "
                                      "`--allow " +
                                      folderOf(shown) + "` opens it"};
}

Store &RemoteFileSystem::storeOf(const std::string &url) const {
  const auto has = [&](const auto &store) { return store->has(url); };
  return **std::find_if(stores.begin(), stores.end(), has);
}

Result<HttpResponse> RemoteFileSystem::get(const std::string &url, HttpRequest request,
                                           Buffer &out) {
  auto answer = storeOf(url).get(url, std::move(request), out);
  const bool isEmpty = answer && answer->status == 416 && answer->hasSize && answer->size == 0;
  if (!answer || answer->status == 200 || answer->status == 206 || isEmpty)
    return answer;
  return storeOf(url).refused(url, *answer);
}

std::string RemoteFileSystem::keyOf(const std::string &url) {
  const std::string endpoint = storeOf(url).endpoint();
  return endpoint.empty() ? url : endpoint + " " + url;
}

Status RemoteFileSystem::readFile(std::string_view path, Buffer &out, uint64_t maxBytes) {
  if (!isUrl(path))
    return local->readFile(path, out, maxBytes);
  auto url = located(path);
  if (!url)
    return url.error();
  const auto tooLarge = [&](const std::string &size) {
    return Error{Code::Limit, withoutSecrets(*url) + " has " + size + " bytes, the limit is " +
                                  std::to_string(maxBytes)};
  };
  if (cache && cache->find(keyOf(*url))) {
    auto file = openFile(path);
    if (!file)
      return file.error();
    const uint64_t size = (*file)->info().size;
    return size > maxBytes ? tooLarge(std::to_string(size)) : (*file)->read(0, size_t(size), out);
  }
  HttpRequest request;
  request.mostBytes = maxBytes;
  auto answer = get(*url, std::move(request), out);
  if (!answer)
    return answer.error();
  if (answer->isTooLarge)
    return tooLarge(answer->hasSize ? std::to_string(answer->size)
                                    : "more than " + std::to_string(maxBytes));
  answer->size = out.size();
  if (cache && cache->confirm(keyOf(*url), stateOf(*answer)))
    cache->keepHead(keyOf(*url), stateOf(*answer), out.span());
  return {};
}

Result<std::shared_ptr<OpenFile>> RemoteFileSystem::openFile(std::string_view path) {
  if (!isUrl(path))
    return local->openFile(path);
  auto url = located(path);
  if (!url)
    return url.error();
  const auto kept = cache ? cache->find(keyOf(*url)) : std::nullopt;
  if (kept && kept->isChecked)
    return std::shared_ptr<OpenFile>(
        std::make_shared<RemoteFile>(*this, *url, kept->state, true, Buffer()));
  HttpRequest request;
  request.begin = 0;
  request.count = kept ? 1 : headBytes; // one says whether it is still the same
  request.mostBytes = mostWhole;
  Buffer out;
  auto answer = get(*url, std::move(request), out);
  if (!answer)
    return answer.error();
  if (answer->status == 416 || (!answer->isPart && !answer->isTooLarge)) {
    // Nothing in it, or a server that sends whole files.
    if (answer->status == 416)
      out.clear();
    answer->size = out.size();
  } else if (answer->isTooLarge) {
    return Error{
        Code::Unsupported,
        "cannot read parts of " + withoutSecrets(*url) +
            ": the server sends whole files only (it takes no `Range`), and this one has " +
            (answer->hasSize ? std::to_string(answer->size) : "too many") + " bytes"};
  } else if (!answer->hasSize) {
    return noSize(*url);
  }
  const bool keepsParts = cache && answer->isPart && cache->confirm(keyOf(*url), stateOf(*answer));
  if (keepsParts && out.size() > 1)
    cache->keepHead(keyOf(*url), stateOf(*answer), out.span());
  if (answer->isPart && answer->size > largeFile) {
    Buffer first;
    if (!first.resize(std::min(out.size(), size_t(keptBytes))))
      return noMemory("for a part of " + withoutSecrets(*url));
    std::memcpy(first.data(), out.data(), first.size());
    out = std::move(first);
  }
  return std::shared_ptr<OpenFile>(
      std::make_shared<RemoteFile>(*this, *url, stateOf(*answer), keepsParts, std::move(out)));
}

Result<FileInfo> RemoteFileSystem::stat(std::string_view path) {
  if (!isUrl(path))
    return local->stat(path);
  auto url = located(path);
  if (!url)
    return url.error();
  FileInfo folder;
  folder.kind = FileKind::Folder;
  // Folders of buckets have no time: they are listed at each start.
  folder.modifiedNs = folder.changedNs = timeNow();
  folder.device = hashOf("url");
  folder.number = hashOf(*url);
  if (storeOf(*url).isTop(*url))
    return folder;
  HttpRequest request; // of one byte: there are URLs that are signed for GET, and not for HEAD
  request.begin = 0;
  request.count = 1;
  request.mostBytes = 1;
  Buffer out;
  auto answer = get(*url, std::move(request), out);
  if (answer) {
    if (!answer->hasSize)
      return noSize(*url);
    if (cache && answer->isPart)
      cache->confirm(keyOf(*url), stateOf(*answer));
    return infoOf(stateOf(*answer), *url);
  }
  if (answer.error().code != Code::NotFound && answer.error().code != Code::Permission)
    return answer.error();
  auto entries = storeOf(*url).list(*url, 1);
  if (entries && !entries->empty())
    return folder;
  return answer.error();
}

Result<std::vector<FolderEntry>> RemoteFileSystem::listFolder(std::string_view path) {
  if (!isUrl(path))
    return local->listFolder(path);
  auto url = located(path);
  if (!url)
    return url.error();
  return storeOf(*url).list(*url);
}

Result<Mapping> RemoteFileSystem::mapFile(std::string_view path) {
  if (!isUrl(path))
    return local->mapFile(path);
  auto bytes = std::make_shared<Buffer>();
  if (Status status = readFile(path, *bytes, mostMapped); !status)
    return status.error().code != Code::Limit
               ? status.error()
               : Error{Code::Limit, status.error().message +
                                        ", since it is read into memory; copy it to a disk"};
  return Mapping{bytes->span(), bytes};
}

Result<std::unique_ptr<NewFile>> RemoteFileSystem::createFile(std::string_view path) {
  return isUrl(path) ? readsOnly(path) : local->createFile(path);
}

Status RemoteFileSystem::removeFile(std::string_view path) {
  return isUrl(path) ? readsOnly(path) : local->removeFile(path);
}

Status RemoteFileSystem::touchFile(std::string_view path) {
  return isUrl(path) ? readsOnly(path) : local->touchFile(path);
}

Status RemoteFileSystem::makePrivateFolder(std::string_view path) {
  return isUrl(path) ? readsOnly(path) : local->makePrivateFolder(path);
}

} // namespace penstock::runtime
