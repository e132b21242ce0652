// SPDX-License-Identifier: Apache-2.0
//
// Buckets of Amazon S3, and of stores that speak its language: as URLs, and by whom they are asked.
#pragma once

#include "runtime/core/FileSystem.h"
#include "runtime/remote/HttpClient.h"

#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

/// The settings of a profile in a file of AWS's tools, such as `region`; in `[default]` or
/// `[profile NAME]`, `[NAME]`.
std::map<std::string, std::string> readProfile(std::string_view text, std::string_view profile);

/// One answer to ListObjectsV2.
struct S3Listing {
  std::vector<FolderEntry> entries; ///< names behind the prefix
  std::string next;                 ///< where the next answer begins; empty: there is none
};
/// Corrupt where it is none.
Result<S3Listing> readListing(std::string_view text, std::string_view prefix);

/// What stands between `<tag>` and its end in an error of S3; empty where it does not.
std::string tagIn(const std::string &text, const std::string &tag);

/// Requests for objects. Who asks, where and in whose name, is said by the environment and by the
/// files of AWS's tools: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`,
/// `AWS_PROFILE`, `AWS_REGION`, `AWS_ENDPOINT_URL`, `AWS_NO_SIGN_REQUEST`, `~/.aws/credentials` and
/// `~/.aws/config`; where they say nothing, the machine is asked (ECS, EKS, EC2), and else requests
/// are not signed, as public buckets have it. For any number of threads.
class S3 {
public:
  explicit S3(HttpClient &client) : client(client) {}

  /// Sends a request for an object, `request` having all but its URL and signature. As
  /// HttpClient::get().
  Result<HttpResponse> get(const std::string &bucket, const std::string &key, HttpRequest request,
                           Buffer &out);
  /// Lists what lies directly behind a prefix, which is empty or ends in `/`: at most `most`
  /// entries; 0: all.
  Result<std::vector<FolderEntry>> list(const std::string &bucket, const std::string &prefix,
                                        int most = 0);
  /// The server that is asked, where it is not Amazon's.
  std::string endpoint() { return settings().endpoint; }
  /// Returns what an answer that is not the object says, and what to do.
  Error refused(const std::string &url, const HttpResponse &answer);

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
  Result<HttpResponse> send(const std::string &bucket, const std::string &key,
                            const std::string &query, HttpRequest request, Buffer &out);

  HttpClient &client;
  std::mutex lock;
  bool isRead = false, asksMachine = false;
  Settings known;
  std::map<std::string, std::string> regions; ///< of buckets, as S3 said
};

} // namespace penstock::runtime
