// SPDX-License-Identifier: Apache-2.0
#include "runtime/remote/S3.h"

#include "runtime/core/RealFileSystem.h"
#include "runtime/core/TextValue.h"
#include "runtime/sources/Json.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <expat.h>

namespace penstock::runtime {

namespace {

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

/// A file that the caller's environment names, or empty.
std::string textOfFile(const std::string &path) {
  Buffer bytes;
  if (path.empty() || !readNamedFile(path, bytes, 1 << 20))
    return {};
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

std::string fileOf(const char *named, const char *name) {
  if (std::string path = variable(named); !path.empty())
    return path;
  const std::string home = variable("HOME");
  return home.empty() ? "" : home + "/.aws/" + name;
}

int64_t nowSeconds() {
  using namespace std::chrono;
  return duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
}

/// Decodes `%20` and the like, and `+`, which stands for a blank in listings.
std::string percentDecoded(std::string_view text) {
  auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
  };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool isCode =
        text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0;
    out += isCode           ? char(digit(text[i + 1]) * 16 + digit(text[i + 2]))
           : text[i] == '+' ? ' '
                            : text[i];
    i += isCode ? 2 : 0;
  }
  return out;
}

/// Reads a listing as expat walks through it.
struct ListingReader {
  std::string_view prefix;
  S3Listing listing;
  std::vector<std::string> path; // of elements
  std::string text;
  bool isListing = false, isTruncated = false;
  std::string oddKey;

  void end() {
    const std::string &name = path.back();
    const std::string above = path.size() > 1 ? path[path.size() - 2] : "";
    const bool isFile = name == "Key" && above == "Contents";
    if (isFile || (name == "Prefix" && above == "CommonPrefixes")) {
      const std::string key = percentDecoded(text);
      std::string inner = key.starts_with(prefix) ? key.substr(prefix.size()) : "";
      if (!isFile && inner.ends_with('/'))
        inner.pop_back();
      // A key that is the prefix itself is how some tools write an empty folder.
      const bool isMark = isFile && key == prefix;
      if (key.starts_with(prefix) && !isMark && (inner.empty() || inner == "." || inner == ".."))
        oddKey = key;
      else if (!inner.empty())
        listing.entries.push_back(
            {std::move(inner), isFile ? FileKind::File : FileKind::Folder, Link::None});
    }
    if (name == "IsTruncated" && path.size() == 2)
      isTruncated = text == "true";
    if (name == "NextContinuationToken" && path.size() == 2)
      listing.next = text;
    path.pop_back();
    text.clear();
  }
};

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

Result<S3Listing> readListing(std::string_view text, std::string_view prefix) {
  ListingReader reader;
  reader.prefix = prefix;
  XML_Parser parser = XML_ParserCreate(nullptr);
  if (!parser)
    return Error{Code::Exhausted, "no memory for a listing"};
  XML_SetUserData(parser, &reader);
  XML_SetElementHandler(
      parser,
      [](void *to, const XML_Char *name, const XML_Char **) {
        auto &mine = *static_cast<ListingReader *>(to);
        mine.isListing |= mine.path.empty() && std::string_view(name) == "ListBucketResult";
        mine.path.emplace_back(name);
        mine.text.clear();
      },
      [](void *to, const XML_Char *) { static_cast<ListingReader *>(to)->end(); });
  XML_SetCharacterDataHandler(parser, [](void *to, const XML_Char *bytes, int size) {
    static_cast<ListingReader *>(to)->text.append(bytes, size_t(size));
  });
  const bool isRead =
      XML_Parse(parser, text.data(), int(text.size()), 1) == XML_STATUS_OK && reader.isListing;
  const XML_LChar *why = XML_ErrorString(XML_GetErrorCode(parser)); // null: none
  XML_ParserFree(parser);
  if (!isRead)
    return Error{Code::Corrupt,
                 std::string("the answer is no listing") + (why ? ": " : "") + (why ? why : "")};
  if (!reader.oddKey.empty())
    return Error{Code::Unsupported, "`" + reader.oddKey +
                                        "` has an empty part, `.` or `..`, which "
                                        "is the name of no folder"};
  if (reader.isTruncated && reader.listing.next.empty())
    return Error{Code::Corrupt, "the answer says that there is more, and not where"};
  return std::move(reader.listing);
}

std::string tagIn(const std::string &text, const std::string &tag) {
  const size_t begin = text.find("<" + tag + ">"), from = begin + tag.size() + 2;
  const size_t end = text.find("</" + tag + ">", begin == std::string::npos ? 0 : from);
  return begin == std::string::npos || end == std::string::npos ? ""
                                                                : text.substr(from, end - from);
}

void S3::readSettings() {
  const std::string named = variable("AWS_PROFILE");
  const std::string profile = named.empty() ? "default" : named;
  const std::string secrets = fileOf("AWS_SHARED_CREDENTIALS_FILE", "credentials");
  auto config = readProfile(textOfFile(fileOf("AWS_CONFIG_FILE", "config")), profile);
  auto kept = readProfile(textOfFile(secrets), profile);
  auto first = [](std::initializer_list<std::string> values) {
    for (const std::string &value : values)
      if (!value.empty())
        return value;
    return std::string();
  };
  known.endpoint = first(
      {variable("AWS_ENDPOINT_URL_S3"), variable("AWS_ENDPOINT_URL"), config["endpoint_url"]});
  while (known.endpoint.ends_with('/'))
    known.endpoint.pop_back();
  known.region = first(
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
  const std::string keys[] = {"AccessKeyId", "SecretAccessKey", "Token", "Expiration"};
  std::string_view values[4];
  if (text.empty() || !readJsonObject(text, keys, values))
    return false;
  std::string read[4];
  for (size_t i = 0; i < 4; ++i)
    if (auto value = values[i].empty() ? Result<std::string>(std::string()) : jsonText(values[i]))
      read[i] = *value;
  credentials = {read[0], read[1], read[2], 0, "the machine's role"};
  std::tm ends{};
  if (strptime(read[3].c_str(), "%Y-%m-%dT%H:%M:%S", &ends))
    credentials.endsAt = int64_t(timegm(&ends));
  return !credentials.key.empty() && !credentials.secret.empty();
}

S3::Settings S3::settings() {
  std::lock_guard guard(lock); // others wait while the machine is asked
  if (!isRead)
    readSettings();
  const int64_t ends = known.credentials.endsAt;
  const bool isOld = ends && nowSeconds() > ends - 300;
  if (asksMachine && (!isRead || isOld)) {
    Credentials fresh;
    if (askMachine(fresh))
      known.credentials = fresh;
    else if (isOld) // not before every request
      known.credentials.endsAt = nowSeconds() + 360;
  }
  isRead = true;
  return known;
}

Result<HttpResponse> S3::send(const std::string &bucket, const std::string &key,
                              const std::string &query, HttpRequest request, Buffer &out) {
  if (bucket.empty())
    return Error{Code::InvalidArgument, "a URL of S3 is s3://BUCKET/KEY"};
  const Settings mine = settings();
  std::string region = mine.region;
  {
    std::lock_guard guard(lock);
    if (auto said = regions.find(bucket); said != regions.end())
      region = said->second;
  }
  const std::string object = "/" + percentEncoded(key, "/");
  // Names with dots are in no certificate.
  const std::string amazon = "s3." + region + ".amazonaws.com";
  if (!mine.endpoint.empty())
    request.url = mine.endpoint + "/" + percentEncoded(bucket, "") + object;
  else if (bucket.find('.') != std::string::npos)
    request.url = "https://" + amazon + "/" + percentEncoded(bucket, "") + object;
  else
    request.url = "https://" + percentEncoded(bucket, "") + "." + amazon + object;
  request.url += query;
  if (!mine.credentials.key.empty()) {
    request.signing = "aws:amz:" + region + ":s3";
    request.user = mine.credentials.key + ":" + mine.credentials.secret;
    if (!mine.credentials.token.empty())
      request.headers.push_back("x-amz-security-token: " + mine.credentials.token);
  }
  auto answer = client.get(request, out);
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
  return send(bucket, key, query, std::move(request), out);
}

Result<HttpResponse> S3::get(const std::string &bucket, const std::string &key, HttpRequest request,
                             Buffer &out) {
  return send(bucket, key, "", std::move(request), out);
}

Error S3::refused(const std::string &url, const HttpResponse &answer) {
  const std::string said = tagIn(answer.text, "Message");
  std::string text = "cannot read " + url + ": the store says " + statusText(answer.status) +
                     (said.empty() ? "" : " (" + said + ")");
  if (answer.status == 404)
    return {Code::NotFound, std::move(text)};
  // Who asks is nobody's bad file.
  const std::string code = tagIn(answer.text, "Code");
  const bool isOfAsking = code == "ExpiredToken" || code == "InvalidToken" ||
                          code == "InvalidAccessKeyId" || code == "SignatureDoesNotMatch" ||
                          code == "RequestTimeTooSkewed";
  if (answer.status != 401 && answer.status != 403 && !isOfAsking)
    return {Code::Io, std::move(text)};
  const Settings mine = settings();
  if (mine.credentials.key.empty())
    text +=
        "; no credentials were found: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile "
        "in ~/.aws/credentials, give them";
  else
    text += "; the credentials are those of " + mine.credentials.from;
  return {isOfAsking ? Code::Unreachable : Code::Permission, std::move(text)};
}

Result<std::vector<FolderEntry>> S3::list(const std::string &bucket, const std::string &prefix,
                                          int most) {
  const std::string url = "s3://" + bucket + "/" + prefix;
  std::vector<FolderEntry> entries;
  std::string next;
  do {
    Buffer out;
    HttpRequest request;
    request.mostBytes = 64 << 20;
    // In the order of the signature.
    std::string query = "?";
    if (!next.empty())
      query += "continuation-token=" + percentEncoded(next, "") + "&";
    query += "delimiter=%2F&encoding-type=url&list-type=2";
    if (most)
      query += "&max-keys=" + std::to_string(most);
    query += "&prefix=" + percentEncoded(prefix, "");
    auto answer = send(bucket, "", query, std::move(request), out);
    if (!answer)
      return answer.error();
    if (answer->status != 200)
      return refused(url, *answer);
    auto listing = readListing({reinterpret_cast<const char *>(out.data()), out.size()}, prefix);
    if (!listing)
      return Error{listing.error().code, "cannot list " + url + ": " + listing.error().message};
    for (FolderEntry &entry : listing->entries)
      entries.push_back(std::move(entry));
    if (!next.empty() && listing->next == next)
      return Error{Code::Corrupt, "cannot list " + url + ": the store gives the same part again"};
    next = listing->next;
  } while (!next.empty() && !(most && int(entries.size()) >= most));
  std::sort(entries.begin(), entries.end(),
            [](const FolderEntry &a, const FolderEntry &b) { return comesBefore(a.name, b.name); });
  return entries;
}

} // namespace penstock::runtime
