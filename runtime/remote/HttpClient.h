// SPDX-License-Identifier: Apache-2.0
//
// Reads what URLs point to, and tries again where that helps.
#pragma once

#include "runtime/core/Buffer.h"
#include "runtime/core/Status.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace penstock::runtime {

struct HttpRequest {
  std::string url;                  ///< http or https, with all letters encoded that need it
  std::vector<std::string> headers; ///< such as `Accept: text/plain`
  std::string method = "GET";
  std::string form; ///< what is sent (`application/x-www-form-urlencoded`): the method is POST
  /// Service and region by which the request is signed (AWS Signature Version 4), such as
  /// `aws:amz:us-east-1:s3`, with `user` as `KEY:SECRET`; empty: not at all.
  std::string signing, user;

  /// The bytes that are wanted, where not all are: `count` of them from `begin` on.
  std::optional<uint64_t> begin;
  uint64_t count = 0;
  /// The most bytes that an answer may have.
  uint64_t mostBytes = UINT64_MAX;
  /// How long a try may take. 0: as long as bytes come.
  int timeoutMs = 0;
  bool triesAgain = true;
};

struct HttpResponse {
  long status = 0;
  /// What tells this state of the file from another: an entity tag, else the time of change.
  std::string version;
  std::string lastModified;
  uint64_t size = 0;        ///< of the whole file, where `hasSize`
  bool hasSize = false;     ///< the server says it
  bool isPart = false;      ///< the answer is the part that was asked for (206)
  bool isTooLarge = false;  ///< more than `mostBytes`: the rest was not read
  std::string location;     ///< where the server says that the file is, a whole URL
  std::string linkedTag;    ///< the tag of the file there (`X-Linked-ETag`)
  std::string link;         ///< what belongs to the answer (`Link`, RFC 8288)
  bool isFolder = false;    ///< what Azure has there
  std::string bucketRegion; ///< where S3 has the bucket
  std::string errorMessage; ///< `X-Error-Message`
  std::string text;         ///< the beginning of an answer that is not the file
};

/// Requests of any number of threads, each of which waits for its own. Connections stay open for
/// the next request.
class HttpClient {
public:
  HttpClient();
  ~HttpClient();

  /// Reads into `out`, which has nothing but the file's bytes, and returns any answer that the
  /// server gives, also that the file is elsewhere, but for those that may be others later (408,
  /// 429, 5xx): such, and lost connections, are tried again for half a minute. A part goes on where
  /// its connection broke.
  ///
  /// Fails with Code::Unreachable where the server gives no answer, Code::Limit or Code::Exhausted
  /// for want of memory, Code::Io where the answer is of another version of the file than before,
  /// Code::Cancelled after cancel(), and Code::Unsupported without libcurl.
  Result<HttpResponse> get(const HttpRequest &request, Buffer &out);

  /// Ends all requests, and all that come.
  void cancel();

private:
  struct Transfer;
  Result<int> attempt(Transfer &transfer);
  bool wait(int64_t ms);
  void *takeHandle();
  /// Returns whether the server of a URL has answered before; it has, where it does now.
  bool isReached(const std::string &url, bool answers);

  std::mutex lock;
  std::condition_variable woken;
  std::vector<void *> handles; ///< that no request has
  std::atomic<bool> cancelled{false};
  std::set<std::string> reached; ///< servers that have answered
};

/// A status as a text, such as `404 Not Found`.
std::string statusText(long status);

/// `text` with letters encoded (RFC 3986) that are none of `A-Z a-z 0-9 - . _ ~` or `but`.
std::string percentEncoded(std::string_view text, std::string_view but);

/// Names and values as HttpRequest::form has them.
std::string formOf(std::initializer_list<std::pair<const char *, std::string>> values);

} // namespace penstock::runtime
