// SPDX-License-Identifier: Apache-2.0
#include "runtime/remote/HuggingFace.h"

#include "runtime/core/Clock.h"
#include "runtime/core/TextValue.h"
#include "runtime/remote/Environment.h"
#include "runtime/sources/Json.h"

#include <algorithm>

namespace penstock::runtime {

namespace {

/// Signed URLs hold for an hour; a branch may move on meanwhile.
constexpr int64_t locationSeconds = 600;

/// Takes what stands before the next slash.
std::string_view takePart(std::string_view &rest) {
  const size_t end = std::min(rest.find('/'), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

std::string urlOf(const std::string &endpoint, const HubPath &place) {
  return endpoint + "/" + (place.kind == "models" ? "" : place.kind + "/") +
         percentEncoded(place.name, "/") + "/resolve/" + percentEncoded(place.revision, "") + "/" +
         percentEncoded(place.path, "/");
}

} // namespace

Result<HubPath> readHubUrl(std::string_view url) {
  HubPath place;
  std::string_view rest = url.substr(std::min<size_t>(5, url.size()));
  const std::string_view first = rest.substr(0, rest.find('/'));
  place.kind = first == "datasets" || first == "spaces" ? std::string(first) : "models";
  if (place.kind != "models")
    takePart(rest);
  const std::string owner(takePart(rest));
  std::string_view name = takePart(rest);
  const size_t at = name.find('@');
  place.revision = "main";
  if (at != std::string_view::npos) {
    place.revision = name.substr(at + 1);
    // Their names have slashes, which other branches' are written `%2F`.
    if (place.revision == "refs") {
      for (int i = 0; i < 2; ++i)
        (place.revision += '/') += takePart(rest);
    }
    for (size_t code; (code = place.revision.find("%2F")) != std::string::npos;)
      place.revision.replace(code, 3, "/");
    name = name.substr(0, at);
  }
  place.name = owner + "/" + std::string(name);
  place.path = rest;
  if (owner.empty() || name.empty() || place.revision.empty())
    return Error{Code::InvalidArgument,
                 std::string(url) + " names no repository; a URL of the Hub is "
                                    "hf://datasets/OWNER/REPOSITORY/PATH, with a branch, tag or "
                                    "commit as REPOSITORY@REVISION"};
  return place;
}

Result<std::vector<FolderEntry>> readHubTree(std::string_view text, std::string_view folder) {
  std::vector<FolderEntry> entries;
  auto elements = readJsonArray(text);
  if (!elements)
    return elements.error();
  for (const std::string_view element : *elements) {
    const std::string keys[] = {"type", "path"};
    std::string_view values[2];
    if (Status status = readJsonObject(element, keys, values); !status)
      return status.error();
    auto type = jsonText(values[0]), path = jsonText(values[1]);
    if (!type || !path)
      return Error{Code::Corrupt, "an entry has no type and path"};
    std::string_view name = *path;
    const bool isBelow =
        folder.empty() || (name.starts_with(folder) && name.substr(folder.size()).starts_with('/'));
    if (isBelow && !folder.empty())
      name.remove_prefix(folder.size() + 1);
    if (!isBelow || name.empty() || name == "." || name == ".." ||
        name.find('/') != std::string_view::npos)
      return Error{Code::Corrupt, "`" + *path + "` does not lie in the folder"};
    const bool isFolder = *type == "directory";
    if (isFolder || *type == "file")
      entries.push_back(
          {std::string(name), isFolder ? FileKind::Folder : FileKind::File, Link::None});
  }
  return entries;
}

std::string nextLink(std::string_view header) {
  while (!header.empty()) {
    const size_t begin = header.find('<');
    const size_t end = header.find('>', std::min(begin, header.size()));
    if (begin == std::string_view::npos || end == std::string_view::npos)
      return {};
    const std::string_view url = header.substr(begin + 1, end - begin - 1);
    const size_t next = std::min(header.find(',', end), header.size());
    const std::string_view said = header.substr(end + 1, next - end - 1);
    if (said.find("rel=\"next\"") != std::string_view::npos ||
        said.find("rel=next") != std::string_view::npos)
      return std::string(url);
    header.remove_prefix(std::min(next + 1, header.size()));
  }
  return {};
}

HuggingFace::Settings HuggingFace::settings() {
  std::lock_guard guard(lock);
  if (isRead)
    return known;
  known.endpoint = firstOf({variable("HF_ENDPOINT"), "https://huggingface.co"});
  while (known.endpoint.ends_with('/'))
    known.endpoint.pop_back();
  const std::string folder = firstOf({variable("XDG_CACHE_HOME"), inHome(".cache")});
  const std::string home = firstOf({variable("HF_HOME"), folder + "/huggingface"});
  known.token =
      trimmed(firstOf({variable("HF_TOKEN"), variable("HUGGING_FACE_HUB_TOKEN"),
                       textOfFile(firstOf({variable("HF_TOKEN_PATH"), home + "/token"}))}));
  isRead = true;
  return known;
}

/// The token is for the Hub alone, and no file of another server.
HeadersFor HuggingFace::headers() {
  return [mine = settings()](const std::string &url) {
    const bool isHub = url.starts_with(mine.endpoint + "/");
    return isHub && !mine.token.empty()
               ? std::vector<std::string>{"Authorization: Bearer " + mine.token}
               : std::vector<std::string>();
  };
}

bool HuggingFace::isTop(const std::string &url) const {
  const auto place = readHubUrl(url);
  return place && place->path.empty();
}

Result<HttpResponse> HuggingFace::get(const std::string &url, HttpRequest request, Buffer &out) {
  const auto place = readHubUrl(url);
  if (!place)
    return place.error();
  const std::string mine = urlOf(settings().endpoint, *place);
  Location there;
  {
    std::lock_guard guard(lock);
    if (auto found = locations.find(mine); found != locations.end())
      there = found->second;
  }
  if (secondsNow() - there.knownAt < locationSeconds) {
    HttpRequest again = request;
    again.url = there.url;
    auto answer = client.get(again, out);
    if (!answer)
      return answer;
    if (answer->status == 200 || answer->status == 206 || answer->status == 416) {
      answer->version = firstOf({there.tag, answer->version});
      return answer;
    }
  }
  request.url = mine;
  auto answer = follow(client, request, headers(), out);
  if (!answer)
    return answer;
  std::lock_guard guard(lock);
  const bool isFile = answer->status == 200 || answer->status == 206;
  if (isFile && !request.url.starts_with(known.endpoint + "/"))
    locations[mine] = {request.url, answer->linkedTag, secondsNow()};
  else
    locations.erase(mine);
  return answer;
}

Result<std::vector<FolderEntry>> HuggingFace::list(const std::string &url, int most) {
  const auto place = readHubUrl(url);
  if (!place)
    return place.error();
  const auto failed = [&](const Error &error) {
    return Error{error.code, "cannot list " + url + "/: " + error.message};
  };
  std::vector<FolderEntry> entries;
  std::string next = settings().endpoint + "/api/" + place->kind + "/" +
                     percentEncoded(place->name, "/") + "/tree/" +
                     percentEncoded(place->revision, "") +
                     (place->path.empty() ? "" : "/" + percentEncoded(place->path, ""));
  while (!next.empty() && !(most && int(entries.size()) >= most)) {
    Buffer out;
    HttpRequest request;
    request.mostBytes = 64 << 20;
    request.url = next;
    auto answer = follow(client, request, headers(), out);
    if (!answer)
      return answer.error();
    if (answer->status != 200)
      return refused(url + "/", *answer);
    auto part = readHubTree({reinterpret_cast<const char *>(out.data()), out.size()}, place->path);
    if (!part)
      return failed(part.error());
    for (FolderEntry &entry : *part)
      entries.push_back(std::move(entry));
    const std::string further = nextLink(answer->link);
    if (!further.empty() && further == next)
      return failed({Code::Corrupt, "the Hub gives the same part again"});
    next = further;
  }
  std::sort(entries.begin(), entries.end(),
            [](const FolderEntry &a, const FolderEntry &b) { return comesBefore(a.name, b.name); });
  return entries;
}

Error HuggingFace::refused(const std::string &url, const HttpResponse &answer) {
  Error error = notTheFile(url, "the Hub", answer.status, answer.errorMessage);
  if (error.code == Code::Permission && settings().token.empty())
    error.message += "; no token was found: HF_TOKEN, or `hf auth login`, gives one";
  else if (answer.status == 401)
    error.code = Code::Unreachable; // who asks is nobody's bad file
  return error;
}

} // namespace penstock::runtime
