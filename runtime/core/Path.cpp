// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/Path.h"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <sys/stat.h>
#include <unistd.h>

namespace penstock::runtime {

/// Where the path begins behind a URL's server or bucket; 0 for other paths.
static size_t originEnd(std::string_view path) {
  for (std::string_view scheme : {"http://", "https://", "s3://", "gs://", "az://", "hf://"})
    if (path.starts_with(scheme))
      return std::min(path.find_first_of("/?", scheme.size()), path.size());
  return 0;
}

/// Where the query of a URL begins; the end where there is none, as in keys of S3.
static size_t pathEnd(std::string_view path, size_t origin) {
  return path.starts_with("http") && origin ? std::min(path.find('?', origin), path.size())
                                            : path.size();
}

/// A part of a path whose dots may be written `%2e`, as servers read them.
static bool isDots(std::string_view part, size_t count, bool isOfUrl) {
  for (; count; --count) {
    const bool isEscaped = isOfUrl && (part.starts_with("%2e") || part.starts_with("%2E"));
    if (!isEscaped && !part.starts_with('.'))
      return false;
    part.remove_prefix(isEscaped ? 3 : 1);
  }
  return part.empty();
}

bool isUrl(std::string_view path) { return originEnd(path) != 0; }

bool isAbsolutePath(std::string_view path) { return path.starts_with('/') || isUrl(path); }

/// The folder behind a link, without any link; else the path as it is.
static std::string behindLink(const std::string &path) {
  struct stat found;
  char target[PATH_MAX];
  const bool isLink = ::lstat(path.c_str(), &found) == 0 && S_ISLNK(found.st_mode);
  return isLink && ::realpath(path.c_str(), target) ? target : path;
}

static std::string normalized(std::string_view path, std::string_view currentFolder,
                              bool followsLinks) {
  std::string whole;
  if (!isAbsolutePath(path)) {
    whole = currentFolder.substr(0, pathEnd(currentFolder, originEnd(currentFolder)));
    whole += '/';
  }
  whole += path;
  const size_t origin = originEnd(whole);
  const size_t query = pathEnd(whole, origin);
  const bool isHttp = origin && whole.starts_with("http");
  std::string out = whole.substr(0, origin);
  out.reserve(whole.size() + 1);
  for (size_t at = origin; at < query;) {
    const size_t end = std::min(whole.find('/', at), query);
    std::string_view part(whole.data() + at, end - at);
    if (isDots(part, 2, isHttp)) {
      if (followsLinks && !origin)
        out = behindLink(out);
      out.resize(std::max(origin, out.size() == origin ? 0 : out.rfind('/')));
    } else if ((!part.empty() || (origin && at > origin)) && !isDots(part, 1, isHttp)) {
      (out += '/') += part;
    }
    at = end + 1;
  }
  while (out.size() > origin && out.ends_with('/'))
    out.pop_back();
  out += std::string_view(whole).substr(query);
  return out.empty() ? "/" : out;
}

std::string normalizePath(std::string_view path, std::string_view currentFolder) {
  return normalized(path, currentFolder, false);
}

std::string resolvePath(std::string_view path, std::string_view currentFolder) {
  return normalized(path, currentFolder, true);
}

std::string absolutePath(std::string_view path) {
  if (isAbsolutePath(path))
    return resolvePath(path, {});
  char current[PATH_MAX];
  if (::getcwd(current, sizeof current))
    return resolvePath(path, current);
  // A folder that was deleted has no path, and holds nothing; the system knows it by this one.
  const std::string below = normalizePath(path, "/");
  return "/proc/self/cwd" + (below == "/" ? "" : below);
}

std::string_view withoutQuery(std::string_view path) {
  return path.substr(0, pathEnd(path, originEnd(path)));
}

std::string withoutSecrets(std::string_view message) {
  std::string out;
  while (!message.empty()) {
    const size_t begin = std::min(message.find("http"), message.size());
    out += message.substr(0, begin);
    message.remove_prefix(begin);
    const size_t origin = originEnd(message);
    if (!origin) {
      out += message.substr(0, 1);
      message.remove_prefix(std::min<size_t>(1, message.size()));
      continue;
    }
    const size_t host = message.find("//") + 2;
    const size_t end = std::min(message.find_first_of(" \t\n`\"'<>)", host), message.size());
    std::string_view url = message.substr(0, end);
    message.remove_prefix(end);
    // What a message goes on with: `URL: reason`, `URL:3: reason`, `URL, which`.
    const size_t query = url.find('?');
    const size_t rest = url.find_last_not_of(":,;.0123456789") + 1;
    std::string_view tail = query < rest ? url.substr(rest) : std::string_view();
    tail.remove_prefix(std::min(tail.find_first_of(":,;."), tail.size()));
    url = url.substr(0, query);
    const std::string_view server = url.substr(0, std::min(url.find('/', host), url.size()));
    const size_t at = server.rfind('@');
    out += url.substr(0, host);
    out += url.substr(at == std::string_view::npos ? host : at + 1);
    out += tail;
  }
  return out;
}

std::string folderOf(std::string_view path) {
  const size_t origin = originEnd(path);
  path = path.substr(0, pathEnd(path, origin));
  const size_t slash = path.rfind('/');
  return std::string(path.substr(0, std::max({slash + 1 > origin ? slash : 0, origin, size_t(1)})));
}

bool liesWithin(std::string_view path, std::string_view root) {
  if (root == "/")
    return true;
  return path.starts_with(root) && (path[std::min(root.size(), path.size() - 1)] == '/' ||
                                    root.size() == pathEnd(path, originEnd(path)));
}

/// Reads a code point of UTF-8 (RFC 3629), or one byte that begins none.
static char32_t nextPoint(std::string_view text, size_t &at) {
  const auto byte = [&](size_t k) { return uint32_t(uint8_t(text[at + k])); };
  const uint32_t first = byte(0);
  const size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  uint32_t point = length == 1 ? first : first & (0xFF >> (length + 1));
  bool isWhole = first < 0x80 || (first >= 0xC2 && first <= 0xF4 && at + length <= text.size());
  for (size_t k = 1; isWhole && k < length; ++k) {
    isWhole = (byte(k) & 0xC0) == 0x80;
    point = point << 6 | (byte(k) & 0x3F);
  }
  static constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  isWhole = isWhole && point >= least[length] && point <= 0x10FFFF && point >> 11 != 0xD800 >> 11;
  at += isWhole ? length : 1;
  return isWhole ? point : 0xDC00 + first;
}

bool comesBefore(std::string_view a, std::string_view b) {
  size_t mine = 0;
  while (mine < a.size() && mine < b.size() && a[mine] == b[mine] && uint8_t(a[mine]) < 0x80)
    ++mine;
  size_t its = mine;
  while (mine < a.size() && its < b.size()) {
    const char32_t one = nextPoint(a, mine), other = nextPoint(b, its);
    if (one != other)
      return one < other;
  }
  return its < b.size();
}

} // namespace penstock::runtime
