// SPDX-License-Identifier: Apache-2.0
//
// Amazon's S3, and stores that speak its language: where buckets are, and who asks for them.
#pragma once

#include "runtime/remote/Buckets.h"

#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace penstock::runtime {

/// The settings of a profile in a file of AWS's tools, such as `region`; in `[default]` or
/// `[profile NAME]`, `[NAME]`.
std::map<std::string, std::string> readProfile(std::string_view text, std::string_view profile);

/// Requests for objects. Who asks, where and in whose name, is said by the environment and by the
/// files of AWS's tools: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`,
/// `AWS_PROFILE`, `AWS_REGION`, `AWS_ENDPOINT_URL`, `AWS_NO_SIGN_REQUEST`, `~/.aws/credentials` and
/// `~/.aws/config`; where they say nothing, the machine is asked (ECS, EKS, EC2), and else requests
/// are not signed, as public buckets have it. For any number of threads.
class S3 final : public BucketStore {
public:
  explicit S3(HttpClient &client) : BucketStore(client, "s3://") {}

  std::string endpoint() override { return settings().endpoint; }
  Error refused(const std::string &url, const HttpResponse &answer) override;

private:
  struct Credentials {
    std::string key, secret, token;
    int64_t endsAt = 0; ///< in seconds since 1970; 0: not at all
    std::string from;   ///< for messages
  };
  struct Settings {
    std::string endpoint, region;
    Credentials credentials;
  };
  Settings settings();
  void readSettings();
  /// Asks the machine. False where it does not say.
  bool askMachine(Credentials &credentials);
  Result<HttpResponse> send(const Object &object, const std::string &query, HttpRequest request,
                            Buffer &out) override;

  std::mutex lock;
  bool isRead = false, asksMachine = false;
  Settings known;
  std::map<std::string, std::string> regions; ///< of buckets, as S3 said
};

} // namespace penstock::runtime
