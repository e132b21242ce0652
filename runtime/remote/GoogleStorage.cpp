// SPDX-License-Identifier: Apache-2.0
#include "runtime/remote/GoogleStorage.h"

#include "runtime/remote/Environment.h"

namespace penstock::runtime {

std::string GoogleStorage::endpoint() {
  std::string host = variable("STORAGE_EMULATOR_HOST");
  while (host.ends_with('/'))
    host.pop_back();
  return host.empty() || host.find("://") != std::string::npos ? host : "http://" + host;
}

Result<HttpResponse> GoogleStorage::send(const Place &place, const std::string &query,
                                         HttpRequest request, Buffer &out) {
  auto mine = token.get();
  if (!mine)
    return mine.error();
  request.url = firstOf({endpoint(), "https://storage.googleapis.com"}) + "/" +
                percentEncoded(place.bucket, "") + "/" + percentEncoded(place.key, "/") + query;
  if (!mine->empty())
    request.headers.push_back("Authorization: Bearer " + *mine);
  return client.get(request, out);
}

Error GoogleStorage::refused(const std::string &url, const HttpResponse &answer) {
  const std::string said = firstOf({tagIn(answer.text, "Details"), tagIn(answer.text, "Message")});
  std::string text = "cannot read " + url + ": the store says " + statusText(answer.status) +
                     (said.empty() ? "" : " (" + said + ")");
  if (answer.status == 404)
    return {Code::NotFound, std::move(text)};
  if (answer.status != 401 && answer.status != 403)
    return {Code::Io, std::move(text)};
  const std::string from = token.from();
  if (from.empty())
    text += "; no credentials were found: GOOGLE_APPLICATION_CREDENTIALS, or `gcloud auth "
            "application-default login`, gives them";
  else
    text += "; the credentials are those of " + from;
  // Who asks is nobody's bad file.
  return {answer.status == 401 && !from.empty() ? Code::Unreachable : Code::Permission,
          std::move(text)};
}

} // namespace penstock::runtime
