// SPDX-License-Identifier: Apache-2.0
//
// In whose name Google is asked.
#pragma once

#include "runtime/remote/HttpClient.h"

#include <mutex>
#include <string>

namespace penstock::runtime {

/// A token of OAuth 2.0, by Google's "Application Default Credentials":
/// `CLOUDSDK_AUTH_ACCESS_TOKEN`; the file that `GOOGLE_APPLICATION_CREDENTIALS` names, or that
/// `gcloud auth application-default login` left, of a user or a service account; else the account
/// of the machine (Compute Engine, GKE). For any number of threads.
class GoogleToken {
public:
  explicit GoogleToken(HttpClient &client) : client(client) {}

  /// Returns a token that holds for five minutes at least, or empty where nobody is named. Fails
  /// with Code::Unreachable where somebody is, and gets none.
  Result<std::string> get();
  /// Whose token it is, for messages.
  std::string from();

private:
  Status fetch();
  Status fetchOf(const std::string &text, const std::string &path);
  void askMachine();
  Status ask(HttpRequest request);

  HttpClient &client;
  std::mutex lock;
  std::string token, owner;
  int64_t endsAt = 0;    ///< in seconds since 1970; 0: nobody was asked
  bool isNobody = false; ///< there is no token
};

/// Signs a text by a private RSA key in PEM, as RS256 of JSON Web Tokens has it (RFC 7518, 3.3).
/// Unsupported without OpenSSL's libcrypto, InvalidArgument where the key is none.
Result<std::string> signedByRsa(const std::string &text, const std::string &pem);

/// base64url without padding (RFC 4648, 5).
std::string base64Url(std::string_view bytes);

} // namespace penstock::runtime
