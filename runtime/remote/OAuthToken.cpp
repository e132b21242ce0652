// SPDX-License-Identifier: Apache-2.0
#include "runtime/remote/OAuthToken.h"

#include "runtime/core/Clock.h"
#include "runtime/core/Path.h"
#include "runtime/remote/Environment.h"
#include "runtime/sources/Json.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace penstock::runtime {

namespace {

/// Where a token holds at least for so long, it is not asked for again.
constexpr int64_t leastSeconds = 300;

} // namespace

int64_t endOfToken(const std::string &holdsFor, const std::string &endsOn, int64_t now) {
  const int64_t on = std::atoll(endsOn.c_str());
  const int64_t end = holdsFor.empty() ? on : now + std::atoll(holdsFor.c_str());
  return std::max(end, now + leastSeconds + 60);
}

Status OAuthToken::take(std::string given, std::string name) {
  token = std::move(given);
  owner = std::move(name);
  endsAt = INT64_MAX;
  return {};
}

Status OAuthToken::ask(HttpRequest request, std::string name) {
  owner = std::move(name);
  request.mostBytes = 1 << 20;
  Buffer out;
  auto answer = client.get(request, out);
  if (!answer)
    return answer.error();
  const std::string text = answer->status == 200
                               ? std::string(reinterpret_cast<const char *>(out.data()), out.size())
                               : answer->text;
  const auto said = jsonTexts<5>(
      text, {"access_token", "expires_in", "expires_on", "error", "error_description"});
  if (answer->status != 200 || !said || (*said)[0].empty()) {
    std::string why = said ? firstOf({(*said)[4], (*said)[3]}) : "";
    why.resize(std::min(why.find_first_of("\r\n"), why.size()));
    return Error{Code::Unreachable, withoutSecrets(request.url) + " gives no token: it says " +
                                        statusText(answer->status) +
                                        (why.empty() ? "" : " (" + why + ")")};
  }
  token = (*said)[0];
  endsAt = endOfToken((*said)[1], (*said)[2], secondsNow());
  return {};
}

Status OAuthToken::askMachine(HttpRequest request) {
  request.timeoutMs = 1000;
  request.triesAgain = !token.empty();
  if (ask(std::move(request), "the machine's account"))
    return {};
  return doWithout();
}

Status OAuthToken::doWithout() {
  isNobody = token.empty();
  endsAt = secondsNow() + leastSeconds + 60; // not before every request
  return {};
}

Result<std::string> OAuthToken::get() {
  std::lock_guard guard(lock); // others wait meanwhile
  if (!isNobody && secondsNow() > endsAt - leastSeconds)
    if (Status status = fetch(); !status)
      return status.error();
  return token;
}

std::string OAuthToken::from() {
  std::lock_guard guard(lock);
  return token.empty() ? "" : owner;
}

} // namespace penstock::runtime
