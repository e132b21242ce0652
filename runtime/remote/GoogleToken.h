// SPDX-License-Identifier: Apache-2.0
//
// In whose name Google is asked.
#pragma once

#include "runtime/remote/OAuthToken.h"

namespace penstock::runtime {

/// Google's "Application Default Credentials": `CLOUDSDK_AUTH_ACCESS_TOKEN`; the file that
/// `GOOGLE_APPLICATION_CREDENTIALS` names, or that `gcloud auth application-default login` left, of
/// a user or a service account; else the account of the machine (Compute Engine, GKE).
class GoogleToken final : public OAuthToken {
public:
  using OAuthToken::OAuthToken;

private:
  Status fetch() override;
  /// Asks in the name that a file has.
  Status fetchOf(const std::string &text, const std::string &path);
};

} // namespace penstock::runtime
