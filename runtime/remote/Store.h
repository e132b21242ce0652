// SPDX-License-Identifier: Apache-2.0
//
// Whoever keeps files under URLs of one kind.
#pragma once

#include "runtime/core/FileSystem.h"
#include "runtime/remote/HttpClient.h"

#include <functional>
#include <string>
#include <vector>

namespace penstock::runtime {

/// Reads files by URLs that are normalized. For any number of threads.
class Store {
public:
  virtual ~Store() = default;

  /// Returns whether URLs of this kind are the store's.
  virtual bool has(const std::string &url) const = 0;
  /// Returns whether a URL is a folder without anybody being asked, as a bucket is.
  virtual bool isTop(const std::string &url) const = 0;
  /// Returns which server is asked, where another one may have other files under the same URLs;
  /// else empty.
  virtual std::string endpoint() = 0;

  /// Asks for a file, `request` having all but its URL and who asks. As HttpClient::get().
  virtual Result<HttpResponse> get(const std::string &url, HttpRequest request, Buffer &out) = 0;
  /// Lists a folder by name: at most `most` entries; 0: all.
  virtual Result<std::vector<FolderEntry>> list(const std::string &url, int most = 0) = 0;
  /// Returns what an answer says that is not the file, and what to do.
  virtual Error refused(const std::string &url, const HttpResponse &answer) = 0;
};

/// Returns an answer that is not the file as an error: NotFound, Permission or Io. `said`: the
/// server's own words, or empty.
Error notTheFile(const std::string &url, const char *who, long status, const std::string &said);

/// What to ask the server of a URL with, beside what the request has.
using HeadersFor = std::function<std::vector<std::string>(const std::string &url)>;

/// Asks for what `request.url` points to, or what it says to point to, each server with the
/// headers that are for it (empty: all with the same). Leaves the last URL in `request`. As
/// HttpClient::get().
Result<HttpResponse> follow(HttpClient &client, HttpRequest &request, const HeadersFor &headersFor,
                            Buffer &out);

} // namespace penstock::runtime
