// SPDX-License-Identifier: Apache-2.0
#include "runtime/remote/Store.h"

namespace penstock::runtime {

Error notTheFile(const std::string &url, const char *who, long status, const std::string &said) {
  const Code code = status == 404 || status == 410   ? Code::NotFound
                    : status == 401 || status == 403 ? Code::Permission
                                                     : Code::Io;
  return {code, "cannot read " + withoutSecrets(url) + ": " + who + " says " + statusText(status) +
                    (said.empty() ? "" : " (" + said + ")")};
}

Result<HttpResponse> follow(HttpClient &client, HttpRequest &request, const HeadersFor &headersFor,
                            Buffer &out) {
  constexpr int mostMoves = 8;
  const std::vector<std::string> always = request.headers;
  const std::string first = request.url;
  std::string linkedTag;
  for (int moves = 0;; ++moves) {
    request.headers = always;
    if (headersFor)
      for (std::string &header : headersFor(request.url))
        request.headers.push_back(std::move(header));
    auto answer = client.get(request, out);
    if (!answer)
      return answer;
    if (!answer->linkedTag.empty())
      linkedTag = answer->linkedTag;
    if (answer->location.empty()) {
      answer->linkedTag = linkedTag;
      if (!linkedTag.empty())
        answer->version = linkedTag;
      return answer;
    }
    const auto failed = [&](const std::string &why) {
      return Error{Code::Io, "cannot read " + withoutSecrets(first) + ": the server " + why};
    };
    // What was asked for in secret is not answered in the open.
    if (request.url.starts_with("https:") && !answer->location.starts_with("https:"))
      return failed("redirects from https to " + withoutSecrets(answer->location));
    if (moves == mostMoves)
      return failed("redirects more than " + std::to_string(mostMoves) + " times");
    request.url = answer->location;
  }
}

} // namespace penstock::runtime
