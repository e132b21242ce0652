// SPDX-License-Identifier: Apache-2.0
//
// Buckets of object stores, listed in the language of Amazon's S3.
#pragma once

#include "runtime/remote/Store.h"

#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

/// One answer to ListObjectsV2.
struct BucketListing {
  std::vector<FolderEntry> entries; ///< names behind the prefix
  std::string next;                 ///< where the next answer begins; empty: there is none
};
/// Corrupt where it is none.
Result<BucketListing> readListing(std::string_view text, std::string_view prefix);

/// What stands between `<tag>` and its end in an error of a store; empty where it does not.
std::string tagIn(const std::string &text, const std::string &tag);

/// `SCHEME://BUCKET/KEY`, where keys are what they are: no letter of them means anything.
class BucketStore : public Store {
public:
  BucketStore(HttpClient &client, std::string scheme) : client(client), scheme(std::move(scheme)) {}

  bool has(const std::string &url) const override { return url.starts_with(scheme); }
  bool isTop(const std::string &url) const override { return objectOf(url).key.empty(); }
  Result<HttpResponse> get(const std::string &url, HttpRequest request, Buffer &out) override;
  Result<std::vector<FolderEntry>> list(const std::string &url, int most) override;

protected:
  struct Object {
    std::string bucket, key;
  };
  Object objectOf(const std::string &url) const;
  /// Sends a request for an object, or with a `query` of a bucket whose letters are encoded and
  /// whose names are in order.
  virtual Result<HttpResponse> send(const Object &object, const std::string &query,
                                    HttpRequest request, Buffer &out) = 0;

  HttpClient &client;

private:
  Error noBucket(const std::string &url) const;

  std::string scheme; ///< with `://`
};

} // namespace penstock::runtime
