// SPDX-License-Identifier: Apache-2.0
#include "runtime/remote/S3.h"

#include "runtime/core/Clock.h"
#include "runtime/core/TextValue.h"
#include "runtime/remote/Environment.h"
#include "runtime/sources/Json.h"

#include <algorithm>
#include <ctime>

namespace penstock::runtime {

namespace {

std::string fileOf(const char *named, const char *name) {
  if (std::string path = variable(named); !path.empty())
    return path;
  return inHome((std::string(".aws/") + name).c_str());
}

} // namespace

std::map<std::string, std::string> readProfile(std::string_view text, std::string_view profile) {
  std::map<std::string, std::string> found;
  bool isMine = false;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view whole = text.substr(0, end);
    const std::string_view line = trimmed(whole);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line[0] == '#' || line[0] == ';')
      continue;
    if (line[0] == '[') {
      std::string_view name = trimmed(line.substr(1, line.find(']') - 1));
      if (name.starts_with("profile "))
        name = trimmed(name.substr(8));
      isMine = name == profile;
      continue;
    }
    const size_t equals = line.find('=');
    // An indented line belongs to the setting above it.
    if (isMine && equals != std::string_view::npos && whole[0] != ' ' && whole[0] != '\t')
      found[std::string(trimmed(line.substr(0, equals)))] = trimmed(line.substr(equals + 1));
  }
  return found;
}

void S3::readSettings() {
  const std::string named = variable("AWS_PROFILE");
  const std::string profile = named.empty() ? "default" : named;
  const std::string secrets = fileOf("AWS_SHARED_CREDENTIALS_FILE", "credentials");
  auto config = readProfile(textOfFile(fileOf("AWS_CONFIG_FILE", "config")), profile);
  auto kept = readProfile(textOfFile(secrets), profile);
  known.endpoint = firstOf(
      {variable("AWS_ENDPOINT_URL_S3"), variable("AWS_ENDPOINT_URL"), config["endpoint_url"]});
  while (known.endpoint.ends_with('/'))
    known.endpoint.pop_back();
  known.region = firstOf(
      {variable("AWS_REGION"), variable("AWS_DEFAULT_REGION"), config["region"], "us-east-1"});
  const std::string unsignedWanted = variable("AWS_NO_SIGN_REQUEST");
  if (unsignedWanted == "true" || unsignedWanted == "1" || unsignedWanted == "yes")
    return;
  Credentials &mine = known.credentials;
  // A profile that is asked for by its name stands above the variables of keys only in part of
  // AWS's tools; here, as in most, the variables come first.
  mine = {variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"),
          variable("AWS_SESSION_TOKEN"), 0, "AWS_ACCESS_KEY_ID"};
  for (auto *settings : {&kept, &config})
    if (mine.key.empty() || mine.secret.empty())
      mine = {(*settings)["aws_access_key_id"], (*settings)["aws_secret_access_key"],
              (*settings)["aws_session_token"], 0, "profile `" + profile + "`"};
  asksMachine = mine.key.empty() || mine.secret.empty();
}

/// The credentials that the machine's role has: https://docs.aws.amazon.com/sdkref, "Container
/// credential provider" and "IMDS credential provider".
bool S3::askMachine(Credentials &credentials) {
  Buffer out;
  auto ask = [&](const std::string &url, const std::string &header, const char *method,
                 bool isThere = true) {
    HttpRequest request;
    request.url = url;
    if (!header.empty())
      request.headers.push_back(header);
    request.method = method;
    request.mostBytes = 1 << 20;
    request.timeoutMs = 1000;
    request.triesAgain = isThere;
    const auto answer = client.get(request, out);
    return answer && answer->status == 200
               ? std::string(reinterpret_cast<const char *>(out.data()), out.size())
               : std::string();
  };
  std::string text;
  const std::string relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  std::string whole = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (!relative.empty())
    whole = "http://169.254.170.2" + relative;
  if (!whole.empty()) {
    std::string token = textOfFile(variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"));
    if (token.empty())
      token = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    text = ask(whole, token.empty() ? "" : "Authorization: " + std::string(trimmed(token)), "GET");
  } else if (variable("AWS_EC2_METADATA_DISABLED") != "true") {
    std::string service = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    if (service.empty())
      service = "http://169.254.169.254";
    const std::string token =
        ask(service + "/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds: 21600", "PUT",
            /*isThere=*/false);
    if (token.empty())
      return false;
    const std::string header = "X-aws-ec2-metadata-token: " + token;
    const std::string roles = service + "/latest/meta-data/iam/security-credentials/";
    const std::string role = ask(roles, header, "GET");
    if (!role.empty())
      text = ask(roles + role.substr(0, role.find('\n')), header, "GET");
  }
  const auto said = jsonTexts<4>(text, {"AccessKeyId", "SecretAccessKey", "Token", "Expiration"});
  if (!said)
    return false;
  const auto &[key, secret, session, expiration] = *said;
  credentials = {key, secret, session, 0, "the machine's role"};
  std::tm ends{};
  if (strptime(expiration.c_str(), "%Y-%m-%dT%H:%M:%S", &ends))
    credentials.endsAt = int64_t(timegm(&ends));
  return !credentials.key.empty() && !credentials.secret.empty();
}

S3::Settings S3::settings() {
  std::lock_guard guard(lock); // others wait while the machine is asked
  if (!isRead)
    readSettings();
  const int64_t ends = known.credentials.endsAt;
  const bool isOld = ends && secondsNow() > ends - 300;
  if (asksMachine && (!isRead || isOld)) {
    Credentials fresh;
    if (askMachine(fresh))
      known.credentials = fresh;
    else if (isOld) // not before every request
      known.credentials.endsAt = secondsNow() + 360;
  }
  isRead = true;
  return known;
}

Result<HttpResponse> S3::send(const Object &object, const std::string &query, HttpRequest request,
                              Buffer &out) {
  const std::string &bucket = object.bucket;
  const Settings mine = settings();
  std::string region = mine.region;
  {
    std::lock_guard guard(lock);
    if (auto said = regions.find(bucket); said != regions.end())
      region = said->second;
  }
  const std::string path = "/" + percentEncoded(object.key, "/");
  // Names with dots are in no certificate.
  const std::string amazon = "s3." + region + ".amazonaws.com";
  if (!mine.endpoint.empty())
    request.url = mine.endpoint + "/" + percentEncoded(bucket, "") + path;
  else if (bucket.find('.') != std::string::npos)
    request.url = "https://" + amazon + "/" + percentEncoded(bucket, "") + path;
  else
    request.url = "https://" + percentEncoded(bucket, "") + "." + amazon + path;
  request.url += query;
  if (!mine.credentials.key.empty()) {
    request.signing = "aws:amz:" + region + ":s3";
    request.user = mine.credentials.key + ":" + mine.credentials.secret;
    if (!mine.credentials.token.empty())
      request.headers.push_back("x-amz-security-token: " + mine.credentials.token);
  }
  // What is signed is signed for one server.
  auto answer =
      request.signing.empty() ? follow(client, request, {}, out) : client.get(request, out);
  const bool isElsewhere = answer && answer->status >= 300 && answer->status < 404 &&
                           !answer->bucketRegion.empty() && answer->bucketRegion != region;
  if (!isElsewhere)
    return answer;
  {
    std::lock_guard guard(lock);
    // Another thread may have learned it meanwhile; what was asked there is answered.
    if (regions.emplace(bucket, answer->bucketRegion).first->second == region)
      return answer;
  }
  request.headers.clear();
  return send(object, query, std::move(request), out);
}

Error S3::refused(const std::string &url, const HttpResponse &answer) {
  Error error = notTheFile(url, "the store", answer.status, tagIn(answer.text, "Message"));
  // Who asks is nobody's bad file.
  const std::string code = tagIn(answer.text, "Code");
  const bool isOfAsking = code == "ExpiredToken" || code == "InvalidToken" ||
                          code == "InvalidAccessKeyId" || code == "SignatureDoesNotMatch" ||
                          code == "RequestTimeTooSkewed";
  if (error.code != Code::Permission && !isOfAsking)
    return error;
  const Settings mine = settings();
  if (mine.credentials.key.empty())
    error.message +=
        "; no credentials were found: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile "
        "in ~/.aws/credentials, give them";
  else
    error.message += "; the credentials are those of " + mine.credentials.from;
  error.code = isOfAsking ? Code::Unreachable : Code::Permission;
  return error;
}

} // namespace penstock::runtime
