// SPDX-License-Identifier: Apache-2.0
//
// Buckets of object stores, listed in XML.
#pragma once

#include "runtime/remote/Store.h"

#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

/// One answer to S3's ListObjectsV2, or to Azure's List Blobs.
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
  /// \param form  of a URL behind the scheme, for messages
  BucketStore(HttpClient &client, std::string scheme, std::string form = "BUCKET/KEY")
      : client(client), scheme(std::move(scheme)), form(std::move(form)) {}

  bool has(const std::string &url) const override { return url.starts_with(scheme); }
  bool isTop(const std::string &url) const override { return objectOf(url).key.empty(); }
  Result<HttpResponse> get(const std::string &url, HttpRequest request, Buffer &out) override;
  Result<std::vector<FolderEntry>> list(const std::string &url, int most) override;

protected:
  struct Object {
    std::string bucket, key;
  };
  Object objectOf(const std::string &url) const;
  /// Returns the query of a request that lists a bucket's folder, by default in the language of S3:
  /// at most `most` entries (0: as many as the store likes) from `next` on.
  virtual std::string listingQuery(const std::string &prefix, int most,
                                   const std::string &next) const;
  /// Sends a request for an object, or with a `query` of a bucket whose letters are encoded and
  /// whose names are in order.
  virtual Result<HttpResponse> send(const Object &object, const std::string &query,
                                    HttpRequest request, Buffer &out) = 0;

  HttpClient &client;

private:
  Error noBucket(const std::string &url) const;

  std::string scheme; ///< with `://`
  std::string form;
};

} // namespace penstock::runtime
