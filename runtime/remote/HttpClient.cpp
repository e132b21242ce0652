// SPDX-License-Identifier: Apache-2.0
#include "runtime/remote/HttpClient.h"

#include "runtime/core/FileSystem.h"
#include "runtime/core/Memory.h"
#include "runtime/core/TextValue.h"
#include "runtime/remote/Curl.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>

namespace penstock::runtime {

namespace {

constexpr int mostTries = 10, triesOfUnknown = 3;
constexpr int64_t firstWaitMs = 100, longestWaitMs = 10'000;
/// The longest that a server may have a client wait before the next try.
constexpr uint64_t mostSaidSeconds = 60;
constexpr size_t mostText = 4096;
/// Of an answer that does not say its size: nobody could bound what is read ahead.
constexpr uint64_t mostUnsaid = 64 << 20;

/// Of gateways, too, whose own numbers lie above 511. 501 and 505 say what the server cannot do.
bool mayChange(long status) {
  return status == 408 || status == 425 || status == 429 ||
         (status >= 500 && status != 501 && status != 505);
}

/// Returns whether a request that failed like this may do better.
bool mayChange(CURLcode code) {
  switch (code) {
  case CURLE_UNSUPPORTED_PROTOCOL:
  case CURLE_URL_MALFORMAT:
  case CURLE_NOT_BUILT_IN:
  case CURLE_PEER_FAILED_VERIFICATION:
  case CURLE_SSL_CACERT_BADFILE:
  case CURLE_ABORTED_BY_CALLBACK:
  case CURLE_OUT_OF_MEMORY:
    return false;
  default:
    return true;
  }
}

bool readNumber(std::string_view text, uint64_t &number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

} // namespace

/// One request, over all of its tries. `out` has what came of the answer's body so far.
struct HttpClient::Transfer {
  const HttpRequest &request;
  Buffer &out;
  const std::atomic<bool> &cancelled;
  HttpResponse answer;      ///< the last one
  std::string knownVersion; ///< of what is in `out`
  std::optional<uint64_t> bodySize, rangeBegin;
  int64_t retryAfterMs = 0;
  std::optional<Error> failure; ///< why the rest of an answer is not wanted
  char reason[CURL_ERROR_SIZE] = "";

  void beginAnswer() {
    answer = {};
    bodySize.reset();
    rangeBegin.reset();
  }
  /// A part goes on behind what is there; a file begins anew.
  void beginTry() {
    if (!answer.isPart)
      out.clear();
    beginAnswer();
    retryAfterMs = 0;
    failure.reset();
    reason[0] = '\0';
  }
  bool isFile() const { return answer.status == 200 || answer.status == 206; }
  bool isWhole() const {
    return !answer.isPart || !answer.hasSize ||
           *request.begin + out.size() >= std::min(*request.begin + request.count, answer.size);
  }

  bool takeHeader(std::string_view line);
  void takeField(const std::string &name, std::string_view value);
  bool checkHead();
  bool takeBody(const uint8_t *bytes, size_t size);
};

/// Takes a line of an answer's head. False: the answer is not wanted.
bool HttpClient::Transfer::takeHeader(std::string_view line) {
  if (line.starts_with("HTTP/")) { // maybe behind a redirection
    beginAnswer();
    const size_t space = line.find(' ');
    uint64_t status = 0;
    if (space != std::string_view::npos && readNumber(line.substr(space + 1, 3), status))
      answer.status = long(status);
    return true;
  }
  if (trimmed(line).empty())
    return !isFile() || checkHead();
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos)
    return true;
  takeField(inSmallLetters(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
  return true;
}

void HttpClient::Transfer::takeField(const std::string &name, std::string_view value) {
  uint64_t number = 0;
  if (name == "content-length" && readNumber(value, number)) {
    bodySize = number;
  } else if (name == "etag" && !value.starts_with("W/")) { // such stay over small changes
    answer.version = value;
  } else if (name == "last-modified") {
    answer.lastModified = value;
  } else if (name == "x-linked-etag") {
    answer.linkedTag = value;
  } else if (name == "x-error-message") {
    answer.errorMessage = value;
  } else if (name == "link") {
    answer.link = value;
  } else if (name == "x-amz-bucket-region") {
    answer.bucketRegion = value;
  } else if (name == "x-ms-meta-hdi_isfolder") {
    answer.isFolder = value == "true";
  } else if (name == "x-ms-resource-type") {
    answer.isFolder = value == "directory";
  } else if (name == "retry-after" && readNumber(value, number)) {
    retryAfterMs = int64_t(std::min(number, mostSaidSeconds)) * 1000;
  } else if (name == "ratelimit" && answer.status == 429) {
    // `"resolvers";r=0;t=55` (draft-ietf-httpapi-ratelimit-headers): a new span begins in 55 s.
    const size_t begin = value.find(";t="), end = value.find(';', begin + 1);
    if (begin != std::string_view::npos &&
        readNumber(value.substr(begin + 3, end - begin - 3), number))
      retryAfterMs = int64_t(std::min(number, mostSaidSeconds)) * 1000;
  } else if (name == "content-range" && value.starts_with("bytes ")) {
    // bytes 0-9/100, bytes */100
    const size_t slash = value.find('/'), dash = value.find('-');
    if (slash == std::string_view::npos)
      return;
    answer.hasSize = readNumber(value.substr(slash + 1), answer.size);
    if (dash < slash && readNumber(value.substr(6, dash - 6), number))
      rangeBegin = number;
  }
}

/// Looks at the head of an answer that is the file, or a part of it. False: it is not wanted.
bool HttpClient::Transfer::checkHead() {
  if (answer.version.empty())
    answer.version = answer.lastModified;
  answer.isPart = answer.status == 206;
  if (!answer.isPart) {
    out.clear();
    answer.hasSize = bodySize.has_value();
    answer.size = bodySize.value_or(0);
  } else if (!request.begin || rangeBegin != *request.begin + out.size()) {
    failure = Error{Code::Io, "the server sent another part of the file than was asked for"};
    return false;
  } else if (out.size() && answer.version != knownVersion) {
    failure = changedWhileRead();
    return false;
  }
  knownVersion = answer.version;
  const uint64_t more = bodySize.value_or(0);
  answer.isTooLarge = more > request.mostBytes || out.size() > request.mostBytes - more;
  if (answer.isTooLarge)
    return false;
  if (!out.reserve(out.size() + size_t(more))) {
    failure = noMemory("for " + std::to_string(more) + " bytes");
    return false;
  }
  return true;
}

bool HttpClient::Transfer::takeBody(const uint8_t *bytes, size_t size) {
  if (!isFile()) {
    answer.text.append(reinterpret_cast<const char *>(bytes),
                       std::min(size, mostText - answer.text.size()));
    return true;
  }
  const size_t at = out.size();
  answer.isTooLarge = size > request.mostBytes || at > request.mostBytes - size;
  if (answer.isTooLarge)
    return false;
  if (!bodySize && at + size > mostUnsaid) {
    failure = Error{Code::Limit, "the server does not say its size, and it has more than " +
                                     std::to_string(mostUnsaid) + " bytes"};
    return false;
  }
  const size_t least = at + size, ample = out.capacity() + out.capacity() / 2;
  if (!out.reserve(least > out.capacity() ? std::max(least, ample) : least) || !out.resize(least)) {
    failure = noMemory("for more than " + std::to_string(at) + " bytes");
    return false;
  }
  std::memcpy(out.data() + at, bytes, size);
  return true;
}

HttpClient::HttpClient() = default;

HttpClient::~HttpClient() {
  if (handles.empty())
    return;
  const Curl &curl = **openCurl();
  for (void *handle : handles)
    curl.easyCleanup(handle);
}

void HttpClient::cancel() {
  cancelled = true;
  std::lock_guard guard(lock);
  woken.notify_all();
}

/// Waits with some chance in it, so that threads that failed together do not come back together.
bool HttpClient::wait(int64_t ms) {
  thread_local std::minstd_rand chance{std::random_device{}()};
  const auto time = std::chrono::milliseconds(ms / 2 + int64_t(chance() % uint64_t(ms / 2 + 1)));
  std::unique_lock guard(lock);
  return !woken.wait_for(guard, time, [&] { return cancelled.load(); });
}

void *HttpClient::takeHandle() {
  std::lock_guard guard(lock);
  if (handles.empty())
    return nullptr;
  void *handle = handles.back(); // the one whose connection was used last
  handles.pop_back();
  return handle;
}

bool HttpClient::isReached(const std::string &url, bool answers) {
  const std::string server = url.substr(0, url.find('/', url.find("://") + 3));
  std::lock_guard guard(lock);
  if (answers)
    reached.insert(server);
  return reached.contains(server);
}

/// Sends the request once. Returns libcurl's code.
Result<int> HttpClient::attempt(Transfer &transfer) {
  auto library = openCurl();
  if (!library)
    return library.error();
  const Curl &curl = **library;
  CURL *handle = takeHandle();
  if (!handle && !(handle = curl.easyInit()))
    return noMemory("for a connection");
  transfer.beginTry();
  const HttpRequest &request = transfer.request;
  auto set = [&](CURLoption option, auto value) { curl.easySetopt(handle, option, value); };
  set(CURLOPT_URL, request.url.c_str());
  if (request.method != "GET")
    set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (!request.form.empty()) {
    set(CURLOPT_POSTFIELDSIZE, long(request.form.size()));
    set(CURLOPT_POSTFIELDS, request.form.c_str());
  }
  set(CURLOPT_USERAGENT, "penstock");
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, long(CURL_HTTP_VERSION_1_1)); // a connection for each thread
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L); // a proxy's answer is not the server's
  set(CURLOPT_CONNECTTIMEOUT_MS, request.timeoutMs ? long(request.timeoutMs) : 10'000L);
  set(CURLOPT_TIMEOUT_MS, long(request.timeoutMs));
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, isReached(request.url, false) ? 30L : 10L);
  set(CURLOPT_BUFFERSIZE, 256L << 10);
  for (const char *name : {"SSL_CERT_FILE", "AWS_CA_BUNDLE", "CURL_CA_BUNDLE"})
    if (const char *bundle = std::getenv(name); bundle && *bundle)
      set(CURLOPT_CAINFO, bundle);
  if (request.signing.empty()) {
    set(CURLOPT_NETRC, long(CURL_NETRC_OPTIONAL));
  } else {
    set(CURLOPT_AWS_SIGV4, request.signing.c_str());
    set(CURLOPT_USERPWD, request.user.c_str());
  }
  curl_slist *headers = nullptr;
  for (const std::string &header : request.headers)
    headers = curl.slistAppend(headers, header.c_str());
  if (request.begin) {
    const std::string range =
        "Range: bytes=" + std::to_string(*request.begin + transfer.out.size()) + "-" +
        std::to_string(*request.begin + request.count - 1);
    headers = curl.slistAppend(headers, range.c_str());
  }
  set(CURLOPT_HTTPHEADER, headers);
  using Receive = size_t (*)(char *, size_t, size_t, void *);
  const Receive head = [](char *bytes, size_t, size_t size, void *to) -> size_t {
    return static_cast<Transfer *>(to)->takeHeader({bytes, size}) ? size : 0;
  };
  const Receive body = [](char *bytes, size_t, size_t size, void *to) -> size_t {
    auto &mine = *static_cast<Transfer *>(to);
    return mine.takeBody(reinterpret_cast<const uint8_t *>(bytes), size) ? size : 0;
  };
  using Progress = int (*)(void *, curl_off_t, curl_off_t, curl_off_t, curl_off_t);
  const Progress progress = [](void *mine, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<Transfer *>(mine)->cancelled ? 1 : 0;
  };
  set(CURLOPT_HEADERFUNCTION, head);
  set(CURLOPT_HEADERDATA, static_cast<void *>(&transfer));
  set(CURLOPT_WRITEFUNCTION, body);
  set(CURLOPT_WRITEDATA, static_cast<void *>(&transfer));
  set(CURLOPT_XFERINFOFUNCTION, progress);
  set(CURLOPT_XFERINFODATA, static_cast<void *>(&transfer));
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_ERRORBUFFER, static_cast<char *>(transfer.reason));
  const CURLcode code = curl.easyPerform(handle);
  if (code != CURLE_OK && !transfer.reason[0])
    std::strncpy(transfer.reason, curl.easyStrerror(code), sizeof transfer.reason - 1);
  char *location = nullptr; // whole, whatever the server wrote
  if (curl.easyGetinfo(handle, CURLINFO_REDIRECT_URL, &location) == CURLE_OK && location)
    transfer.answer.location = location;
  curl.slistFreeAll(headers);
  curl.easyReset(handle); // keeps its connection
  std::lock_guard guard(lock);
  handles.push_back(handle);
  return int(code);
}

Result<HttpResponse> HttpClient::get(const HttpRequest &request, Buffer &out) {
  Transfer transfer{request, out, cancelled, {}, {}, {}, {}, 0, {}, {}};
  out.clear();
  auto failed = [&](Code code, const std::string &why) {
    return Error{code, "cannot read " + withoutSecrets(request.url) + ": " + why};
  };
  int64_t waitMs = firstWaitMs;
  for (int tries = 1;; ++tries) {
    const size_t before = out.size();
    auto sent = attempt(transfer);
    if (!sent)
      return sent.error();
    const auto code = CURLcode(*sent);
    const HttpResponse &answer = transfer.answer;
    const bool isKnown = isReached(request.url, answer.status != 0);
    if (transfer.failure)
      return failed(transfer.failure->code, transfer.failure->message);
    if (cancelled)
      return failed(Code::Cancelled, "the session is closed");
    const bool hasEnded = code == CURLE_OK || answer.isTooLarge;
    if (hasEnded && !mayChange(answer.status) && transfer.isWhole())
      return answer;
    if (!hasEnded && !mayChange(code))
      return failed(Code::Unreachable, transfer.reason);
    if (answer.isPart && out.size() > before) { // it goes on where it broke
      tries = 0;
      waitMs = firstWaitMs;
    }
    if (tries >= (!request.triesAgain ? 1 : isKnown ? mostTries : triesOfUnknown)) {
      const std::string why =
          hasEnded ? "the server says " + statusText(answer.status) : transfer.reason;
      return failed(Code::Unreachable,
                    why + (tries > 1 ? ", " + std::to_string(tries) + " times in a row" : ""));
    }
    if (!wait(std::max(waitMs, transfer.retryAfterMs)))
      return failed(Code::Cancelled, "the session is closed");
    waitMs = std::min(2 * waitMs, longestWaitMs);
  }
}

std::string statusText(long status) {
  static constexpr std::pair<long, const char *> known[] = {{301, "Moved Permanently"},
                                                            {302, "Found"},
                                                            {307, "Temporary Redirect"},
                                                            {400, "Bad Request"},
                                                            {401, "Unauthorized"},
                                                            {403, "Forbidden"},
                                                            {404, "Not Found"},
                                                            {405, "Method Not Allowed"},
                                                            {408, "Request Timeout"},
                                                            {409, "Conflict"},
                                                            {410, "Gone"},
                                                            {416, "Range Not Satisfiable"},
                                                            {429, "Too Many Requests"},
                                                            {500, "Internal Server Error"},
                                                            {501, "Not Implemented"},
                                                            {502, "Bad Gateway"},
                                                            {503, "Service Unavailable"},
                                                            {504, "Gateway Timeout"}};
  std::string text = std::to_string(status);
  for (const auto &[number, name] : known)
    if (number == status)
      (text += ' ') += name;
  return text;
}

std::string percentEncoded(std::string_view text, std::string_view but) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool isPlain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') || std::strchr("-._~", c) ||
                         but.find(c) != std::string_view::npos;
    if (isPlain && c)
      out += c;
    else
      ((out += '%') += digits[uint8_t(c) >> 4]) += digits[uint8_t(c) & 15];
  }
  return out;
}

std::string formOf(std::initializer_list<std::pair<const char *, std::string>> values) {
  std::string form;
  for (const auto &[name, value] : values)
    form += (form.empty() ? "" : "&") + std::string(name) + "=" + percentEncoded(value, "");
  return form;
}

} // namespace penstock::runtime
