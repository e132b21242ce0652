// SPDX-License-Identifier: Apache-2.0
//
// Azure Blob Storage, through its REST API.
#pragma once

#include "runtime/remote/AzureToken.h"
#include "runtime/remote/Buckets.h"

#include <map>
#include <mutex>

namespace penstock::runtime {

/// Reads `AccountName=me;AccountKey=..;..`.
std::map<std::string, std::string> readConnectionString(std::string_view text);

/// Returns a shared access signature of an account, as the query of a URL: the right to read and
/// list its blobs until `end` (seconds since 1970), by https alone where `isSecure`. Fails as
/// signedByHmac().
/// https://learn.microsoft.com/rest/api/storageservices/create-account-sas
Result<std::string> sharedAccess(const std::string &account, const std::string &key, int64_t end,
                                 bool isSecure);

/// `az://CONTAINER/BLOB`, of the account that `AZURE_STORAGE_CONNECTION_STRING` or
/// `AZURE_STORAGE_ACCOUNT` names. Who asks is said by the account's key (`AZURE_STORAGE_KEY`), a
/// shared access signature (`AZURE_STORAGE_SAS_TOKEN`), or AzureToken.
class AzureStorage final : public BucketStore {
public:
  explicit AzureStorage(HttpClient &client)
      : BucketStore(client, "az://", "CONTAINER/BLOB"), token(client) {}

  std::string endpoint() override { return settings().endpoint; }
  Error refused(const std::string &url, const HttpResponse &answer) override;

private:
  struct Settings {
    std::string account, endpoint; ///< without a slash at its end; empty: nobody names an account
    std::string key;               ///< in base64
    std::string sas;               ///< a query without `?`, of the key where there is one
    std::string from;              ///< whose, for messages; empty: a token says it
    int64_t endsAt = 0;            ///< of a signature by the key
  };
  Settings settings();
  Result<Settings> access();
  void readSettings();
  std::string listingQuery(const std::string &prefix, int most,
                           const std::string &next) const override;
  Result<HttpResponse> send(const Object &object, const std::string &query, HttpRequest request,
                            Buffer &out) override;

  AzureToken token;
  std::mutex lock;
  Settings known;
  bool isRead = false;
};

} // namespace penstock::runtime
