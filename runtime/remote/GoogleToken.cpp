// SPDX-License-Identifier: Apache-2.0
#include "runtime/remote/GoogleToken.h"

#include "runtime/core/Clock.h"
#include "runtime/core/TextValue.h"
#include "runtime/remote/Environment.h"
#include "runtime/remote/Signing.h"
#include "runtime/sources/Json.h"

namespace penstock::runtime {

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    out += c;
  }
  return out + '"';
}

} // namespace

Status GoogleToken::fetchOf(const std::string &text, const std::string &path) {
  const auto wrong = [&](const std::string &why) {
    return Error{Code::Unreachable,
                 path + " " + why +
                     "; `gcloud auth application-default login` makes such a file, of a user"};
  };
  const auto said =
      jsonTexts<8>(text, {"type", "client_id", "client_secret", "refresh_token", "client_email",
                          "private_key", "private_key_id", "token_uri"});
  if (!said)
    return wrong("has no credentials: " + said.error().message);
  const auto &[type, id, secret, refresh, email, key, keyId, uri] = *said;
  HttpRequest request;
  request.url = firstOf({uri, "https://oauth2.googleapis.com/token"});
  if (type == "authorized_user") {
    request.form = formOf({{"grant_type", "refresh_token"},
                           {"client_id", id},
                           {"client_secret", secret},
                           {"refresh_token", refresh}});
    return ask(std::move(request), "the user in " + path);
  }
  if (type != "service_account")
    return wrong("is of the type `" + type + "`; those of users and service accounts are read");
  // https://developers.google.com/identity/protocols/oauth2/service-account
  const int64_t now = secondsNow();
  const std::string head = "{\"alg\":\"RS256\",\"typ\":\"JWT\",\"kid\":" + quoted(keyId) + "}";
  const std::string claims =
      "{\"iss\":" + quoted(email) +
      ",\"scope\":\"https://www.googleapis.com/auth/devstorage.read_only\",\"aud\":" +
      quoted(request.url) + ",\"iat\":" + std::to_string(now) +
      ",\"exp\":" + std::to_string(now + 3600) + "}";
  const std::string body = base64Url(head) + "." + base64Url(claims);
  auto signature = signedByRsa(body, key);
  if (!signature)
    return Error{Code::Unreachable,
                 "cannot sign by the key of " + path + ": " + signature.error().message};
  request.form = formOf({{"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"},
                         {"assertion", body + "." + base64Url(*signature)}});
  return ask(std::move(request), email);
}

Status GoogleToken::fetch() {
  const std::string given = variable("CLOUDSDK_AUTH_ACCESS_TOKEN");
  if (!given.empty())
    return take(std::string(trimmed(given)), "CLOUDSDK_AUTH_ACCESS_TOKEN");
  const std::string named = variable("GOOGLE_APPLICATION_CREDENTIALS");
  const std::string folder = firstOf({variable("CLOUDSDK_CONFIG"), inHome(".config/gcloud")});
  const std::string path = firstOf({named, folder + "/application_default_credentials.json"});
  if (const std::string text = textOfFile(path); !text.empty())
    return fetchOf(text, path);
  if (!named.empty())
    return Error{Code::Unreachable,
                 "cannot read " + named + ", which GOOGLE_APPLICATION_CREDENTIALS names"};
  if (variable("NO_GCE_CHECK") == "true")
    return doWithout();
  // https://cloud.google.com/compute/docs/access/authenticate-workloads
  HttpRequest request;
  request.url = "http://" + firstOf({variable("GCE_METADATA_HOST"), "169.254.169.254"}) +
                "/computeMetadata/v1/instance/service-accounts/default/token";
  request.headers = {"Metadata-Flavor: Google"};
  return askMachine(std::move(request));
}

} // namespace penstock::runtime
