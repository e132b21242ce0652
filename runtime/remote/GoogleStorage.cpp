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

Result<HttpResponse> GoogleStorage::send(const Object &object, const std::string &query,
                                         HttpRequest request, Buffer &out) {
  auto mine = token.get();
  if (!mine)
    return mine.error();
  request.url = firstOf({endpoint(), "https://storage.googleapis.com"}) + "/" +
                percentEncoded(object.bucket, "") + "/" + percentEncoded(object.key, "/") + query;
  if (!mine->empty())
    request.headers.push_back("Authorization: Bearer " + *mine);
  return client.get(request, out);
}

Error GoogleStorage::refused(const std::string &url, const HttpResponse &answer) {
  const std::string said = firstOf({tagIn(answer.text, "Details"), tagIn(answer.text, "Message")});
  Error error = notTheFile(url, "the store", answer.status, said);
  if (error.code != Code::Permission)
    return error;
  const std::string from = token.from();
  if (from.empty())
    error.message += "; no credentials were found: GOOGLE_APPLICATION_CREDENTIALS, or `gcloud auth "
                     "application-default login`, gives them";
  else
    error.message += "; the credentials are those of " + from;
  if (answer.status == 401 && !from.empty())
    error.code = Code::Unreachable; // who asks is nobody's bad file
  return error;
}

} // namespace penstock::runtime
