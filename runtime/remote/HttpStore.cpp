// SPDX-License-Identifier: Apache-2.0
#include "runtime/remote/HttpStore.h"

#include "runtime/core/RealFileSystem.h"
#include "runtime/core/TextValue.h"
#include "runtime/remote/Environment.h"

#include <algorithm>
#include <map>

namespace penstock::runtime {

Result<std::vector<HeaderRule>> readHeaderRules(std::string_view text) {
  std::vector<HeaderRule> rules;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line[0] == '#')
      continue;
    const size_t space = std::min(line.find_first_of(" \t"), line.size());
    const std::string_view url = line.substr(0, space), header = trimmed(line.substr(space));
    const size_t colon = header.find(':');
    const bool isHeader = colon != std::string_view::npos && colon > 0 &&
                          header.substr(0, colon).find_first_of(" \t") == std::string_view::npos &&
                          !trimmed(header.substr(colon + 1)).empty();
    const bool isUrlOfHttp = url.starts_with("http") && isUrl(url);
    if (!isHeader || !isUrlOfHttp || withoutQuery(url) != url)
      return Error{Code::InvalidArgument,
                   "line " + std::to_string(number) +
                       (isUrlOfHttp ? " has no header" : " has no URL") +
                       "; a line is `https://HOST/FOLDER NAME: VALUE`, such as "
                       "`https://data.example.org Authorization: Bearer abc`"};
    rules.push_back({normalizePath(url, {}), std::string(header)});
  }
  return rules;
}

bool HttpStore::has(const std::string &url) const {
  return url.starts_with("http://") || url.starts_with("https://");
}

Status HttpStore::readRules(bool again) {
  const std::string path = variable("PENSTOCK_HTTP_HEADERS");
  std::lock_guard guard(lock);
  if (path.empty() || (isRead && !again))
    return {};
  Buffer bytes;
  const Status read = readNamedFile(path, bytes, 1 << 20);
  auto found = !read
                   ? Result<std::vector<HeaderRule>>(read.error())
                   : readHeaderRules({reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  // Nobody's bad file.
  if (!found)
    return Error{Code::Unreachable, "cannot take headers of PENSTOCK_HTTP_HEADERS, " + path + ": " +
                                        found.error().message};
  rules = std::move(*found);
  isRead = true;
  return {};
}

std::vector<std::string> HttpStore::headersFor(const std::string &url) {
  const std::string taken = normalizePath(withoutQuery(url), {});
  std::lock_guard guard(lock);
  std::map<std::string, const HeaderRule *> byName; // that of the longest URL
  for (const HeaderRule &rule : rules) {
    if (!liesWithin(taken, rule.url))
      continue;
    const HeaderRule *&known = byName[inSmallLetters(rule.header.substr(0, rule.header.find(':')))];
    if (!known || known->url.size() <= rule.url.size())
      known = &rule;
  }
  std::vector<std::string> headers;
  for (const auto &[name, rule] : byName)
    headers.push_back(rule->header);
  return headers;
}

Result<HttpResponse> HttpStore::get(const std::string &url, HttpRequest request, Buffer &out) {
  if (Status status = readRules(/*again=*/false); !status)
    return status.error();
  const auto mine = [this](const std::string &url) { return headersFor(url); };
  // What may stand in a URL stays as it is; a `#` would end the path.
  request.url = percentEncoded(url, ":/?[]@!$&'()*+,;=%");
  const auto used = headersFor(request.url);
  HttpRequest first = request;
  auto answer = follow(client, first, mine, out);
  if (!answer || answer->status != 401)
    return answer;
  if (headersFor(request.url) == used) // a token may have ended, and nobody has seen it yet
    if (Status status = readRules(/*again=*/true); !status)
      return status.error();
  return headersFor(request.url) == used ? answer : follow(client, request, mine, out);
}

Result<std::vector<FolderEntry>> HttpStore::list(const std::string &url, int) {
  return Error{Code::Unsupported,
               "cannot list " + withoutSecrets(url) +
                   ": servers of HTTP have no folders; name the files in a list (`file_list`, "
                   "`csv`, `json_lines`), or shards as `train-{0000..0099}.tar`"};
}

Error HttpStore::refused(const std::string &url, const HttpResponse &answer) {
  Error error = notTheFile(url, "the server", answer.status, "");
  if (answer.status == 401)
    error.message += "; ~/.netrc may have a user and a password for it, and the file that "
                     "PENSTOCK_HTTP_HEADERS names a token";
  return error;
}

} // namespace penstock::runtime
