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
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace penstock::cli;
namespace fs = std::filesystem;

/// Reads to the end; nothing, and a sentence, where there is none before `mostMebibytes`.
static std::optional<std::string> readAll(int file, const std::string &path, size_t mostMebibytes,
                                          std::string &why) {
  std::string all;
  std::vector<char> piece(size_t(1) << 16);
  for (ssize_t got; (got = read(file, piece.data(), piece.size())) != 0;) {
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0) {
      why = "cannot read " + path + ": " + std::strerror(errno);
      return std::nullopt;
    }
    all.append(piece.data(), size_t(got));
    if (all.size() > mostMebibytes << 20) {
      why = "cannot read " + path + ": it has more than " + std::to_string(mostMebibytes) + " MiB";
      return std::nullopt;
    }
  }
  return all;
}

/// Bundles are files, of which some have many levels; texts come through pipes, too.
static constexpr size_t mostOfFile = 4096, mostOfStream = 64;

/// `isText`: it may come through a pipe or from a terminal.
static std::optional<std::string> readAt(const std::string &path, bool isText, std::string &why) {
  // To open a pipe waits for its other end, for ever where nobody has that.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | (isText ? 0 : O_NONBLOCK));
  struct stat found{};
  std::optional<std::string> all;
  if (file < 0 || fstat(file, &found) != 0)
    why = "cannot read " + path + ": " + std::strerror(errno);
  else if (S_ISREG(found.st_mode) || S_ISDIR(found.st_mode)) // which read() refuses
    all = readAll(file, path, mostOfFile, why);
  else if (isText && (S_ISFIFO(found.st_mode) || S_ISSOCK(found.st_mode) || isatty(file)))
    all = readAll(file, path, mostOfStream, why);
  else
    why = "cannot read " + path + ": it is not a regular file";
  if (file >= 0)
    close(file);
  return all;
}

std::optional<std::string> penstock::cli::readFile(const std::string &path, std::string &why) {
  return readAt(path, false, why);
}

std::optional<std::string> penstock::cli::readText(const std::string &path, std::string &why) {
  std::optional<std::string> text = readAt(path, true, why);
  if (!text || !text->empty())
    return text;
  why = "cannot read " + path + ": it is empty";
  return std::nullopt;
}

std::optional<std::string> penstock::cli::readStandardInput(std::string &why) {
  return readAll(STDIN_FILENO, "<stdin>", mostOfStream, why);
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

bool penstock::cli::writeResult(const std::string &path, const std::string &text) {
  if (path != "-")
    return replaceFile(path, text);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return true; // finish() asks whether it was written
}

/// True where both are one file, or will be once they are written. What is no file, as /dev/null,
/// loses nothing.
static bool isOneFile(const std::string &one, const std::string &other) {
  if (one.empty() || other.empty() || one == "-" || other == "-")
    return false;
  struct stat mine{}, theirs{};
  if (stat(one.c_str(), &mine) == 0 && stat(other.c_str(), &theirs) == 0)
    return S_ISREG(mine.st_mode) && mine.st_dev == theirs.st_dev && mine.st_ino == theirs.st_ino;
  std::error_code failed;
  return fs::weakly_canonical(one, failed) == fs::weakly_canonical(other, failed) && !failed;
}

bool penstock::cli::keepsWhatIsRead(std::initializer_list<Written> written,
                                    std::initializer_list<std::string_view> read) {
  for (const Written &mine : written) {
    for (std::string_view other : read)
      if (isOneFile(mine.path, std::string(other))) {
        std::fprintf(stderr,
                     "penstock: error: %s %s would overwrite a file that is read; give it another "
                     "name\n",
                     mine.option, mine.path.c_str());
        return false;
      }
    for (const Written *earlier = written.begin(); earlier != &mine; ++earlier)
      if (isOneFile(mine.path, earlier->path)) {
        std::fprintf(stderr, "penstock: error: %s and %s both write %s; give each its own name\n",
                     earlier->option, mine.option, mine.path.c_str());
        return false;
      }
  }
  return true;
}

bool penstock::cli::wantsFiles(std::initializer_list<Written> written) {
  for (const auto &[option, path] : written)
    if (path == "-") {
      std::fprintf(stderr, "penstock: error: %s wants a name, and not `-`: stdout has the report\n",
                   option);
      return false;
    }
  return true;
}

std::vector<std::string> penstock::cli::pipeFilesAt(const std::string &path) {
  std::error_code failed;
  if (!fs::is_directory(path, failed))
    return {path};
  std::vector<std::string> files;
  std::string last = path;
  for (fs::recursive_directory_iterator entry(path, failed), end; !failed && entry != end;) {
    std::error_code unknown;
    last = entry->path().string();
    if (entry->path().extension() == ".pipe" && entry->is_regular_file(unknown))
      files.push_back(last);
    entry.increment(failed);
  }
  if (failed) // reading it says why
    files.push_back(last);
  std::sort(files.begin(), files.end());
  return files;
}
