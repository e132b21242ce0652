// SPDX-License-Identifier: Apache-2.0
//
// Repositories of the Hugging Face Hub.
#pragma once

#include "runtime/remote/Store.h"

#include <map>
#include <mutex>
#include <string_view>

namespace penstock::runtime {

/// A file or folder of a repository.
struct HubPath {
  std::string kind;     ///< `datasets`, `spaces` or `models`
  std::string name;     ///< `OWNER/REPOSITORY`
  std::string revision; ///< a branch, tag or commit, with its slashes
  std::string path;     ///< empty: the repository's top
};
/// Reads `hf://datasets/OWNER/REPOSITORY@REVISION/PATH`, `hf://spaces/..` and, of models,
/// `hf://OWNER/..`, as `huggingface_hub` has them. InvalidArgument for anything else.
Result<HubPath> readHubUrl(std::string_view url);

/// Returns the entries of an answer to `/api/../tree/..`, behind the `folder` that was asked for.
/// Corrupt where it is none.
Result<std::vector<FolderEntry>> readHubTree(std::string_view text, std::string_view folder);

/// Returns the URL that a `Link` header calls the next answer's (RFC 8288), or empty.
std::string nextLink(std::string_view header);

/// `hf://`. Large files lie on other servers, at URLs that the Hub signs: such a URL is asked for
/// once, and again when it ends. Who asks is said by `HF_TOKEN`, or by the file where
/// `hf auth login` leaves a token; `HF_ENDPOINT` names another Hub.
class HuggingFace final : public Store {
public:
  explicit HuggingFace(HttpClient &client) : client(client) {}

  bool has(const std::string &url) const override { return url.starts_with("hf://"); }
  bool isTop(const std::string &url) const override;
  std::string endpoint() override { return settings().endpoint; }
  Result<HttpResponse> get(const std::string &url, HttpRequest request, Buffer &out) override;
  Result<std::vector<FolderEntry>> list(const std::string &url, int most) override;
  Error refused(const std::string &url, const HttpResponse &answer) override;

private:
  struct Settings {
    std::string endpoint, token;
  };
  /// Where a file lies that the Hub does not send itself.
  struct Location {
    std::string url, tag;
    int64_t knownAt = 0; ///< in seconds
  };
  Settings settings();
  HeadersFor headers();

  HttpClient &client;
  std::mutex lock;
  bool isRead = false;
  Settings known;
  std::map<std::string, Location> locations; ///< by the Hub's URL
};

} // namespace penstock::runtime
