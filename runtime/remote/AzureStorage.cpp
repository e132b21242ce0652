// SPDX-License-Identifier: Apache-2.0
#include "runtime/remote/AzureStorage.h"

#include "runtime/core/Clock.h"
#include "runtime/core/TextValue.h"
#include "runtime/remote/Environment.h"
#include "runtime/remote/Signing.h"

#include <algorithm>
#include <ctime>

namespace penstock::runtime {

static constexpr char version[] = "2021-12-02"; // of the REST API

std::map<std::string, std::string> readConnectionString(std::string_view text) {
  std::map<std::string, std::string> found;
  while (!text.empty()) {
    const size_t end = std::min(text.find(';'), text.size());
    const std::string_view part = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (const size_t equals = part.find('='); equals != std::string_view::npos)
      found[std::string(part.substr(0, equals))] = part.substr(equals + 1);
  }
  return found;
}

Result<std::string> sharedAccess(const std::string &account, const std::string &key, int64_t end,
                                 bool isSecure) {
  const std::time_t time = end;
  std::tm parts{};
  gmtime_r(&time, &parts);
  char ends[32];
  std::strftime(ends, sizeof ends, "%Y-%m-%dT%H:%M:%SZ", &parts);
  const std::string protocol = isSecure ? "https" : "https,http";
  // Rights to read and list (rl) of blobs (b): containers and objects (co).
  auto signature = signedByHmac(
      account + "\nrl\nb\nco\n\n" + ends + "\n\n" + protocol + "\n" + version + "\n\n", key);
  if (!signature)
    return signature.error();
  return formOf({{"sv", version},
                 {"ss", "b"},
                 {"srt", "co"},
                 {"sp", "rl"},
                 {"se", ends},
                 {"spr", protocol},
                 {"sig", base64(*signature)}});
}

void AzureStorage::readSettings() {
  auto given = readConnectionString(variable("AZURE_STORAGE_CONNECTION_STRING"));
  const bool isGiven = !given.empty();
  known.account =
      isGiven
          ? given["AccountName"]
          : firstOf({variable("AZURE_STORAGE_ACCOUNT"), variable("AZURE_STORAGE_ACCOUNT_NAME")});
  known.endpoint = isGiven ? given["BlobEndpoint"] : variable("AZURE_STORAGE_SERVICE_ENDPOINT");
  if (known.endpoint.empty() && !known.account.empty())
    known.endpoint = firstOf({given["DefaultEndpointsProtocol"], "https"}) + "://" + known.account +
                     ".blob." + firstOf({given["EndpointSuffix"], "core.windows.net"});
  while (known.endpoint.ends_with('/'))
    known.endpoint.pop_back();
  known.key = isGiven
                  ? given["AccountKey"]
                  : firstOf({variable("AZURE_STORAGE_KEY"), variable("AZURE_STORAGE_ACCOUNT_KEY")});
  known.sas = isGiven ? given["SharedAccessSignature"] : variable("AZURE_STORAGE_SAS_TOKEN");
  if (known.sas.starts_with('?'))
    known.sas.erase(0, 1);
  if (!known.key.empty() || !known.sas.empty())
    known.from = isGiven              ? "AZURE_STORAGE_CONNECTION_STRING"
                 : !known.key.empty() ? "AZURE_STORAGE_KEY"
                                      : "AZURE_STORAGE_SAS_TOKEN";
}

AzureStorage::Settings AzureStorage::settings() {
  std::lock_guard guard(lock);
  if (!isRead)
    readSettings();
  isRead = true;
  return known;
}

/// The settings, with a signature that holds for an hour at least where there is a key.
Result<AzureStorage::Settings> AzureStorage::access() {
  const Settings mine = settings();
  const int64_t now = secondsNow();
  if (mine.key.empty() || mine.endsAt > now + 3600)
    return mine;
  auto signature =
      sharedAccess(mine.account, mine.key, now + 2 * 3600, mine.endpoint.starts_with("https://"));
  if (!signature)
    return Error{Code::Unreachable,
                 "cannot sign by the key of " + mine.from + ": " + signature.error().message};
  std::lock_guard guard(lock);
  known.sas = *signature;
  known.endsAt = now + 2 * 3600;
  return known;
}

std::string AzureStorage::listingQuery(const std::string &prefix, int most,
                                       const std::string &next) const {
  std::string query =
      "?restype=container&comp=list&delimiter=%2F&prefix=" + percentEncoded(prefix, "");
  if (most)
    query += "&maxresults=" + std::to_string(most);
  if (!next.empty())
    query += "&marker=" + percentEncoded(next, "");
  return query;
}

Result<HttpResponse> AzureStorage::send(const Object &object, const std::string &query,
                                        HttpRequest request, Buffer &out) {
  auto mine = access();
  if (!mine)
    return mine.error();
  if (mine->endpoint.empty())
    return Error{Code::InvalidArgument,
                 "no storage account is named that has az://" + object.bucket +
                     ": AZURE_STORAGE_ACCOUNT, or AZURE_STORAGE_CONNECTION_STRING, names it"};
  request.url = mine->endpoint + "/" + percentEncoded(object.bucket, "") +
                (object.key.empty() ? "" : "/") + percentEncoded(object.key, "/") + query;
  request.headers.push_back(std::string("x-ms-version: ") + version);
  if (!mine->sas.empty()) {
    request.url += (query.empty() ? "?" : "&") + mine->sas;
  } else {
    auto bearer = token.get();
    if (!bearer)
      return bearer.error();
    if (!bearer->empty())
      request.headers.push_back("Authorization: Bearer " + *bearer);
  }
  auto answer = client.get(request, out);
  const bool isEmptyPart = answer && answer->status == 416 && answer->hasSize && answer->size == 0;
  if (isEmptyPart) { // a folder may be a blob without a byte, and only the whole one says so
    request.begin.reset();
    answer = client.get(request, out);
  }
  if (answer && answer->status == 200 && answer->isFolder) {
    answer->status = 404;
    answer->text = "<Message>it is a folder</Message>";
  }
  return answer;
}

Error AzureStorage::refused(const std::string &url, const HttpResponse &answer) {
  std::string said =
      firstOf({tagIn(answer.text, "AuthenticationErrorDetail"), tagIn(answer.text, "Message")});
  said.resize(std::min(said.find_first_of("\r\n"), said.size()));
  Error error = notTheFile(url, "the store", answer.status, said);
  const std::string code = tagIn(answer.text, "Code");
  const std::string from = firstOf({settings().from, token.from()});
  // What is private is not there for those who are nobody.
  const bool isHidden = code == "ResourceNotFound" && from.empty();
  if (code == "PublicAccessNotPermitted")
    error.code = Code::Permission;
  if (error.code != Code::Permission && !isHidden)
    return error;
  if (from.empty())
    error.message += "; no credentials were found: AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN, "
                     "AZURE_STORAGE_TOKEN, or an identity of Azure's gives them";
  else
    error.message += "; the credentials are those of " + from;
  // Who asks is nobody's bad file.
  const bool isOfAsking =
      code == "AuthenticationFailed" || code == "KeyBasedAuthenticationNotPermitted";
  if (!from.empty() && (answer.status == 401 || isOfAsking))
    error.code = Code::Unreachable;
  return error;
}

} // namespace penstock::runtime
