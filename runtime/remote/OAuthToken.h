// SPDX-License-Identifier: Apache-2.0
//
// Tokens of OAuth 2.0 (RFC 6749), which end and are asked for again.
#pragma once

#include "runtime/remote/HttpClient.h"

#include <mutex>
#include <string>

namespace penstock::runtime {

/// When a token ends that an answer gives at the time `now`, in seconds since 1970: by how long it
/// holds (`expires_in`), or where that is empty, by its end (`expires_on`, as Azure's App Service
/// has it); six minutes at least, so that nobody is asked before every request.
int64_t endOfToken(const std::string &holdsFor, const std::string &endsOn, int64_t now);

/// For any number of threads.
class OAuthToken {
public:
  explicit OAuthToken(HttpClient &client) : client(client) {}
  virtual ~OAuthToken() = default;

  /// Returns a token that holds for five minutes at least, or empty where nobody is named. Fails
  /// with Code::Unreachable where somebody is, and gets none.
  Result<std::string> get();
  /// Whose token it is, for messages; empty where there is none.
  std::string from();

protected:
  /// Finds out who is named, and takes, asks for, or does without a token: one of the three below.
  virtual Status fetch() = 0;

  /// Takes a token that somebody else has asked for.
  Status take(std::string given, std::string name);
  /// Asks for a token in the name of `name`.
  Status ask(HttpRequest request, std::string name);
  /// Asks the machine, which answers within a second where it is one that does; else there is no
  /// token, and requests go without.
  Status askMachine(HttpRequest request);
  /// There is no token.
  Status doWithout();

private:
  HttpClient &client;
  std::mutex lock;
  std::string token, owner;
  int64_t endsAt = 0;    ///< in seconds since 1970; 0: nobody was asked
  bool isNobody = false; ///< there is no token
};

} // namespace penstock::runtime
