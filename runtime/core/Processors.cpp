// SPDX-License-Identifier: Apache-2.0
//
// A process is in one group of each hierarchy: /proc/self/cgroup has its path, and
// /proc/self/mountinfo where the hierarchy, or a part of it, can be seen. A quota
// holds for a group and all below it, so that the tightest on the way up counts.
#include "runtime/core/Processors.h"

#include "runtime/core/RealFileSystem.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <sched.h>
#include <thread>

namespace penstock::runtime {

namespace {

std::string textOf(FileSystem &files, const std::string &path) {
  Buffer bytes;
  constexpr uint64_t most = 1 << 24;
  if (!files.readFile(path, bytes, most))
    return {};
  return {bytes.data(), bytes.data() + bytes.size()};
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    if (end > at)
      parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

bool contains(std::string_view list, std::string_view word) {
  const auto parts = split(list, ',');
  return std::find(parts.begin(), parts.end(), word) != parts.end();
}

std::optional<double> numberIn(std::string_view text) {
  double value = 0;
  while (text.ends_with('\n'))
    text.remove_suffix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

/// `\040` and the like, as mountinfo writes blanks.
std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i)
    if (int code = 0; text[i] == '\\' && i + 3 < text.size() &&
                      std::from_chars(&text[i + 1], &text[i + 4], code, 8).ptr == &text[i + 4]) {
      out += char(code);
      i += 3;
    } else {
      out += text[i];
    }
  return out;
}

/// One of the two kinds of hierarchy that have quotas.
struct Hierarchy {
  bool isSecond;     ///< version 2
  std::string group; ///< of this process
  std::string root;  ///< the part of the hierarchy that is mounted
  std::string mount; ///< and its mount point
};

/// Version 1 has a line per hierarchy, `4:cpu,cpuacct:/path`; version 2 is `0::/path`.
std::optional<std::string> groupOf(std::string_view lines, bool isSecond) {
  for (std::string_view line : split(lines, '\n')) {
    const size_t first = line.find(':');
    const size_t second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos)
      continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (isSecond ? line.starts_with("0::") : contains(controllers, "cpu"))
      return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

/// `36 35 98:0 ROOT MOUNT options more... - TYPE device OPTIONS`
std::vector<Hierarchy> hierarchiesIn(std::string_view mounts, std::string_view groups) {
  std::vector<Hierarchy> found;
  for (std::string_view line : split(mounts, '\n')) {
    const size_t dash = line.find(" - ");
    if (dash == line.npos)
      continue;
    const auto place = split(line.substr(0, dash), ' '), kind = split(line.substr(dash + 3), ' ');
    if (place.size() < 5 || kind.size() < 3)
      continue;
    const bool isSecond = kind[0] == "cgroup2";
    if (!isSecond && !(kind[0] == "cgroup" && contains(kind[2], "cpu")))
      continue;
    if (auto group = groupOf(groups, isSecond))
      found.push_back({isSecond, *group, unescaped(place[3]), unescaped(place[4])});
  }
  return found;
}

/// The group's folder. Where the mount shows another part of the hierarchy, as in some
/// containers, its top is the nearest that can be seen.
std::string folderOf(const Hierarchy &hierarchy) {
  const std::string group = normalizePath(hierarchy.group, "/");
  if (hierarchy.group.find("..") != std::string::npos || !liesWithin(group, hierarchy.root))
    return hierarchy.mount;
  const std::string_view below =
      std::string_view(group).substr(hierarchy.root == "/" ? 0 : hierarchy.root.size());
  return below == "/" ? hierarchy.mount : hierarchy.mount + std::string(below);
}

/// The processors whose time a group has; `file` is what says so.
std::optional<double> quotaOf(FileSystem &files, const std::string &folder, bool isSecond,
                              std::string &file) {
  file = folder + (isSecond ? "/cpu.max" : "/cpu.cfs_quota_us");
  std::optional<double> time, period;
  const std::string text = textOf(files, file); // "200000 100000", or "max 100000"
  const auto words = split(text, ' ');
  if (isSecond && words.size() == 2) {
    time = numberIn(words[0]);
    period = numberIn(words[1]);
  } else if (!isSecond) { // -1: none
    time = numberIn(text);
    period = numberIn(textOf(files, folder + "/cpu.cfs_period_us"));
  }
  if (!time || !period || !(*time > 0) || !(*period > 0))
    return std::nullopt;
  return *time / *period;
}

} // namespace

int Processors::usable() const {
  if (quota <= 0 || quota >= mask)
    return std::max(1, mask);
  return std::max(1, int(std::ceil(quota)));
}

Processors findProcessors(FileSystem &files, int mask) {
  Processors result;
  result.mask = std::max(1, mask);
  const std::string groups = textOf(files, "/proc/self/cgroup");
  const std::string mounts = textOf(files, "/proc/self/mountinfo");
  for (const Hierarchy &hierarchy : hierarchiesIn(mounts, groups))
    for (std::string folder = folderOf(hierarchy); liesWithin(folder, hierarchy.mount);
         folder.resize(folder.rfind('/'))) {
      std::string file;
      const auto quota = quotaOf(files, folder, hierarchy.isSecond, file);
      if (quota && (result.quota == 0 || *quota < result.quota)) {
        result.quota = *quota;
        result.limit = file;
      }
      if (folder == hierarchy.mount)
        break;
    }
  return result;
}

Processors findProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int mask = sched_getaffinity(0, sizeof set, &set) == 0
                       ? CPU_COUNT(&set)
                       : int(std::thread::hardware_concurrency());
  auto files = RealFileSystem::create({{"/", false}});
  Processors result;
  result.mask = std::max(1, mask);
  return files ? findProcessors(**files, mask) : result;
}

int defaultThreads(const Processors &processors, int ranks) {
  return std::max(1, processors.usable() / std::max(1, ranks));
}

} // namespace penstock::runtime
