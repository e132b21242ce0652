// SPDX-License-Identifier: Apache-2.0
//
// Text files, as the commands read and write them.

#include "tools/penstock/Files.h"
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace penstock::cli;
namespace fs = std::filesystem;

std::optional<std::string> penstock::cli::readFile(const std::string &path, std::string &why) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  if (file && (content << file.rdbuf()))
    return content.str();
  why = "cannot read " + path + ": " + (errno ? std::strerror(errno) : "it is empty");
  return std::nullopt;
}

/// Opens `fresh`, empty and for this process alone; -1 and errno where it cannot.
static int openFresh(const std::string &fresh) {
  for (;;) {
    const int file = open(fresh.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file < 0)
      return -1;
    // The one that had the lock may have put its file in its place meanwhile.
    struct stat mine{}, there{};
    if (flock(file, LOCK_EX) == 0 && fstat(file, &mine) == 0 && lstat(fresh.c_str(), &there) == 0 &&
        mine.st_ino == there.st_ino && ftruncate(file, 0) == 0)
      return file;
    close(file);
  }
}

static bool writeAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(file, text.data(), text.size());
    if (wrote < 0 && errno != EINTR)
      return false;
    text.remove_prefix(static_cast<size_t>(std::max<ssize_t>(wrote, 0)));
  }
  return true;
}

static bool cannotWrite(const std::string &path) {
  std::fprintf(stderr, "penstock: error: cannot write %s: %s\n", path.c_str(),
               std::strerror(errno));
  return false;
}

bool penstock::cli::replaceFile(const std::string &path, const std::string &text) {
  struct stat there{};
  if (stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    // A device or a pipe is written to: a file in its place would be the end of it for all.
    const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    const bool good = (file >= 0 && writeAll(file, text)) || cannotWrite(path);
    if (file >= 0)
      close(file);
    return good;
  }
  std::error_code ignored;
  const fs::path target = fs::weakly_canonical(path, ignored);
  // Always the same name, so that what a killed process left is used again.
  const std::string fresh = target.parent_path() / ("." + target.filename().string() + ".new");
  const int file = openFresh(fresh);
  struct stat old{};
  const bool good = file >= 0 && writeAll(file, text) &&
                    (stat(target.c_str(), &old) != 0 || fchmod(file, old.st_mode & 07777) == 0) &&
                    rename(fresh.c_str(), target.c_str()) == 0;
  if (!good) {
    cannotWrite(path);
    if (file >= 0)
      unlink(fresh.c_str());
  }
  if (file >= 0)
    close(file);
  return good;
}

std::vector<std::string> penstock::cli::pipeFilesAt(const std::string &path) {
  std::error_code failed;
  if (!fs::is_directory(path, failed))
    return {path};
  std::vector<std::string> files;
  for (const auto &entry : fs::recursive_directory_iterator(path, failed))
    if (entry.path().extension() == ".pipe" && entry.is_regular_file())
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}
