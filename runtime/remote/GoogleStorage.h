// SPDX-License-Identifier: Apache-2.0
//
// Google Cloud Storage, through its XML API, which lists as S3 does.
#pragma once

#include "runtime/remote/Buckets.h"
#include "runtime/remote/GoogleToken.h"

namespace penstock::runtime {

/// `gs://`. Who asks is said by GoogleToken; without anybody, requests have no token, as public
/// buckets want it. `STORAGE_EMULATOR_HOST` names another server.
class GoogleStorage final : public BucketStore {
public:
  explicit GoogleStorage(HttpClient &client) : BucketStore(client, "gs://"), token(client) {}

  std::string endpoint() override;
  Error refused(const std::string &url, const HttpResponse &answer) override;

private:
  Result<HttpResponse> send(const Object &object, const std::string &query, HttpRequest request,
                            Buffer &out) override;

  GoogleToken token;
};

} // namespace penstock::runtime
