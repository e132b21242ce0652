// SPDX-License-Identifier: Apache-2.0
#include "runtime/remote/GoogleToken.h"

#include "runtime/core/Clock.h"
#include "runtime/core/RealFileSystem.h"
#include "runtime/core/TextValue.h"
#include "runtime/remote/Environment.h"
#include "runtime/sources/Json.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace penstock::runtime {

namespace {

/// Texts of a JSON object by their keys; empty where there is none.
template <size_t N>
Result<std::array<std::string, N>> textsOf(std::string_view json,
                                           const std::array<std::string, N> &keys) {
  std::array<std::string_view, N> values;
  if (Status status = readJsonObject(json, keys, values); !status)
    return status.error();
  std::array<std::string, N> texts;
  for (size_t i = 0; i < N; ++i)
    if (values[i].starts_with('"')) {
      auto text = jsonText(values[i]);
      if (!text)
        return text.error();
      texts[i] = std::move(*text);
    } else {
      texts[i] = values[i];
    }
  return texts;
}

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

std::string base64Url(std::string_view bytes) {
  static constexpr char digits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t word = 0;
    for (size_t k = 0; k < 3; ++k)
      word = word << 8 | (k < count ? uint8_t(bytes[i + k]) : 0);
    for (size_t k = 0; k <= count; ++k)
      out += digits[word >> (18 - 6 * k) & 63];
  }
  return out;
}

/// Takes the token of an answer.
Status GoogleToken::ask(HttpRequest request) {
  request.mostBytes = 1 << 20;
  Buffer out;
  auto answer = client.get(request, out);
  if (!answer)
    return answer.error();
  const std::string text = answer->status == 200
                               ? std::string(reinterpret_cast<const char *>(out.data()), out.size())
                               : answer->text;
  const auto said = textsOf<4>(text, {"access_token", "expires_in", "error", "error_description"});
  if (answer->status != 200 || !said || (*said)[0].empty()) {
    std::string why = said ? firstOf({(*said)[3], (*said)[2]}) : "";
    return Error{Code::Unreachable, withoutSecrets(request.url) + " gives no token: it says " +
                                        statusText(answer->status) +
                                        (why.empty() ? "" : " (" + why + ")")};
  }
  token = (*said)[0];
  endsAt = secondsNow() + std::max(std::atoi((*said)[1].c_str()), 360);
  return {};
}

/// Asks in the name that a file has.
Status GoogleToken::fetchOf(const std::string &text, const std::string &path) {
  const auto wrong = [&](const std::string &why) {
    return Error{Code::Unreachable,
                 path + " " + why +
                     "; `gcloud auth application-default login` makes such a file, of a user"};
  };
  const auto said =
      textsOf<8>(text, {"type", "client_id", "client_secret", "refresh_token", "client_email",
                        "private_key", "private_key_id", "token_uri"});
  if (!said)
    return wrong("has no credentials: " + said.error().message);
  const auto &[type, id, secret, refresh, email, key, keyId, uri] = *said;
  HttpRequest request;
  request.url = firstOf({uri, "https://oauth2.googleapis.com/token"});
  if (type == "authorized_user") {
    owner = "the user in " + path;
    request.form = "grant_type=refresh_token&client_id=" + percentEncoded(id, "") +
                   "&client_secret=" + percentEncoded(secret, "") +
                   "&refresh_token=" + percentEncoded(refresh, "");
    return ask(std::move(request));
  }
  if (type != "service_account")
    return wrong("is of the type `" + type + "`; those of users and service accounts are read");
  owner = email;
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
  request.form =
      "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=" + body + "." +
      base64Url(*signature);
  return ask(std::move(request));
}

/// https://cloud.google.com/compute/docs/access/authenticate-workloads
void GoogleToken::askMachine() {
  HttpRequest request;
  request.url = "http://" + firstOf({variable("GCE_METADATA_HOST"), "169.254.169.254"}) +
                "/computeMetadata/v1/instance/service-accounts/default/token";
  request.headers = {"Metadata-Flavor: Google"};
  request.timeoutMs = 1000;
  request.triesAgain = !token.empty();
  owner = "the machine's account";
  if (variable("NO_GCE_CHECK") != "true" && ask(std::move(request)))
    return;
  isNobody = token.empty();
  endsAt = secondsNow() + 360; // not before every request
}

Status GoogleToken::fetch() {
  const std::string given = variable("CLOUDSDK_AUTH_ACCESS_TOKEN");
  if (!given.empty()) {
    owner = "CLOUDSDK_AUTH_ACCESS_TOKEN";
    token = trimmed(given);
    endsAt = INT64_MAX;
    return {};
  }
  const std::string named = variable("GOOGLE_APPLICATION_CREDENTIALS");
  const std::string folder = firstOf({variable("CLOUDSDK_CONFIG"), inHome(".config/gcloud")});
  const std::string path = firstOf({named, folder + "/application_default_credentials.json"});
  if (const std::string text = textOfFile(path); !text.empty())
    return fetchOf(text, path);
  if (!named.empty())
    return Error{Code::Unreachable,
                 "cannot read " + named + ", which GOOGLE_APPLICATION_CREDENTIALS names"};
  askMachine();
  return {};
}

Result<std::string> GoogleToken::get() {
  std::lock_guard guard(lock); // others wait meanwhile
  if (!isNobody && secondsNow() > endsAt - 300)
    if (Status status = fetch(); !status)
      return status.error();
  return token;
}

std::string GoogleToken::from() {
  std::lock_guard guard(lock);
  return token.empty() ? "" : owner;
}

} // namespace penstock::runtime
