// SPDX-License-Identifier: Apache-2.0
//
// Files that URLs point to, beside the machine's.
#pragma once

#include "runtime/core/FileSystem.h"
#include "runtime/remote/DiskCache.h"
#include "runtime/remote/Store.h"

namespace penstock::runtime {

/// Reads URLs below roots that are URLs, each from the store that has its kind, and hands all other
/// paths to another file system. Nothing is written.
///
/// Where a server does not answer, Code::Unreachable. Files are told from their earlier states by
/// entity tag, else by size and time of change.
class RemoteFileSystem final : public FileSystem {
public:
  /// \param roots  URLs; empty: any URL may be read
  /// \param cache  where what is read is kept; null: nowhere
  RemoteFileSystem(std::unique_ptr<FileSystem> local, std::vector<std::string> roots,
                   std::unique_ptr<DiskCache> cache = nullptr);

  int readers() const override { return 64; }
  void cancel() override { client.cancel(); }
  uint64_t rootsKey() const override;

  Status readFile(std::string_view path, Buffer &out, uint64_t maxBytes = defaultMaxBytes) override;
  Result<std::shared_ptr<OpenFile>> openFile(std::string_view path) override;
  Result<FileInfo> stat(std::string_view path) override;
  Result<std::vector<FolderEntry>> listFolder(std::string_view path) override;
  /// Reads the whole of a URL's file into memory, up to 1 GiB.
  Result<Mapping> mapFile(std::string_view path) override;
  Result<std::unique_ptr<NewFile>> createFile(std::string_view path) override;
  Status removeFile(std::string_view path) override;
  Status touchFile(std::string_view path) override;
  Status makePrivateFolder(std::string_view path) override;

private:
  class RemoteFile;
  /// Checks that a URL lies in a root. Returns it, normalized.
  Result<std::string> located(std::string_view path) const;
  Store &storeOf(const std::string &url) const;
  /// Sends a request for what a URL points to. Any answer but the file (200, 206), or that it has
  /// no such part (416), is an error.
  Result<HttpResponse> get(const std::string &url, HttpRequest request, Buffer &out);
  /// The name of a URL in the cache: the same one is another's at another store.
  std::string keyOf(const std::string &url);

  std::unique_ptr<FileSystem> local;
  std::vector<std::string> roots;
  HttpClient client;
  std::vector<std::unique_ptr<Store>> stores;
  std::unique_ptr<DiskCache> cache;
};

} // namespace penstock::runtime
