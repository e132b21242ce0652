// SPDX-License-Identifier: Apache-2.0
//
// Servers of HTTP, which have files and no folders.
#pragma once

#include "runtime/remote/Store.h"

#include <mutex>
#include <string_view>

namespace penstock::runtime {

/// A header that requests below a URL have.
struct HeaderRule {
  std::string url;    ///< without a trailing slash
  std::string header; ///< such as `Authorization: Bearer abc`
};

/// Reads lines of a URL, blanks, and a header; empty lines and those that begin with `#` are left
/// out. InvalidArgument, with the number of the line, where one is something else.
Result<std::vector<HeaderRule>> readHeaderRules(std::string_view text);

/// `http://` and `https://`. Users and passwords are those of `~/.netrc`; headers, such as tokens,
/// those of the file that `PENSTOCK_HTTP_HEADERS` names, which is read again where a server says
/// 401, once a second at most.
class HttpStore final : public Store {
public:
  explicit HttpStore(HttpClient &client) : client(client) {}

  bool has(const std::string &url) const override;
  bool isTop(const std::string &) const override { return false; }
  std::string endpoint() override { return {}; }
  Result<HttpResponse> get(const std::string &url, HttpRequest request, Buffer &out) override;
  Result<std::vector<FolderEntry>> list(const std::string &url, int most) override;
  Error refused(const std::string &url, const HttpResponse &answer) override;

private:
  /// Reads the file of headers, where that was not done, or `again`.
  Status readRules(bool again);
  std::vector<std::string> headersFor(const std::string &url);

  HttpClient &client;
  std::mutex lock;
  bool isRead = false;
  std::vector<HeaderRule> rules;
};

} // namespace penstock::runtime
