// SPDX-License-Identifier: Apache-2.0
#include "runtime/remote/AzureToken.h"

#include "runtime/core/TextValue.h"
#include "runtime/remote/Environment.h"

namespace penstock::runtime {

namespace {

constexpr char resource[] = "https://storage.azure.com/";

/// How a managed identity is asked for where the environment says that there is one, else as on a
/// virtual machine: https://learn.microsoft.com/entra/identity/managed-identities-azure-resources.
HttpRequest requestOfMachine() {
  const std::string identity = variable("IDENTITY_ENDPOINT"), msi = variable("MSI_ENDPOINT");
  std::string client = variable("AZURE_CLIENT_ID");
  HttpRequest request;
  std::string version, nameOfClient = "client_id";
  if (!identity.empty() && !variable("IDENTITY_HEADER").empty()) { // App Service
    request.url = identity;
    request.headers = {"X-IDENTITY-HEADER: " + variable("IDENTITY_HEADER")};
    version = "2019-08-01";
  } else if (!msi.empty() && !variable("MSI_SECRET").empty()) { // Machine Learning
    request.url = msi;
    request.headers = {"secret: " + variable("MSI_SECRET")};
    version = "2017-09-01";
    nameOfClient = "clientid";
    client = firstOf({client, variable("DEFAULT_IDENTITY_CLIENT_ID")});
  } else {
    request.url =
        firstOf({variable("AZURE_POD_IDENTITY_AUTHORITY_HOST"), "http://169.254.169.254"}) +
        "/metadata/identity/oauth2/token";
    request.headers = {"Metadata: true"};
    version = "2018-02-01";
  }
  request.url += "?" + formOf({{"api-version", version}, {"resource", resource}});
  if (!client.empty())
    request.url += "&" + nameOfClient + "=" + percentEncoded(client, "");
  return request;
}

} // namespace

Status AzureToken::fetch() {
  if (const std::string given = variable("AZURE_STORAGE_TOKEN"); !given.empty())
    return take(std::string(trimmed(given)), "AZURE_STORAGE_TOKEN");
  if (inSmallLetters(variable("AZURE_STORAGE_ANON")) == "true")
    return doWithout();
  const std::string tenant = variable("AZURE_TENANT_ID"), client = variable("AZURE_CLIENT_ID");
  const std::string secret = variable("AZURE_CLIENT_SECRET");
  const std::string file = variable("AZURE_FEDERATED_TOKEN_FILE");
  if (tenant.empty() || client.empty() || (secret.empty() && file.empty()))
    return askMachine(requestOfMachine());
  HttpRequest request;
  std::string host =
      firstOf({variable("AZURE_AUTHORITY_HOST"), "https://login.microsoftonline.com"});
  if (host.find("://") == std::string::npos)
    host = "https://" + host;
  while (host.ends_with('/'))
    host.pop_back();
  request.url = host + "/" + percentEncoded(tenant, "") + "/oauth2/v2.0/token";
  request.form = formOf({{"grant_type", "client_credentials"},
                         {"client_id", client},
                         {"scope", std::string(resource) + ".default"}});
  if (!secret.empty()) {
    request.form += "&" + formOf({{"client_secret", secret}});
    return ask(std::move(request), "the application " + client);
  }
  const std::string assertion(trimmed(textOfFile(file)));
  if (assertion.empty())
    return Error{Code::Unreachable,
                 "cannot read " + file + ", which AZURE_FEDERATED_TOKEN_FILE names"};
  request.form +=
      "&" +
      formOf({{"client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
              {"client_assertion", assertion}});
  return ask(std::move(request), "the application " + client);
}

} // namespace penstock::runtime
