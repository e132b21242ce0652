// SPDX-License-Identifier: Apache-2.0
//
// In whose name Azure is asked.
#pragma once

#include "runtime/remote/OAuthToken.h"

namespace penstock::runtime {

/// A token of Microsoft Entra for Azure's storage: `AZURE_STORAGE_TOKEN`; that of an application,
/// by `AZURE_TENANT_ID`, `AZURE_CLIENT_ID` and `AZURE_CLIENT_SECRET`, or by the file
/// `AZURE_FEDERATED_TOKEN_FILE` (workload identity); else the identity of the machine (virtual
/// machines, App Service, Machine Learning). `AZURE_STORAGE_ANON=true` asks nobody.
class AzureToken final : public OAuthToken {
public:
  using OAuthToken::OAuthToken;

private:
  Status fetch() override;
};

} // namespace penstock::runtime
