// Text files, as the commands read and write them.

#include "tools/penstock/Files.h"
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
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

bool penstock::cli::replaceFile(const std::string &path, const std::string &text) {
  std::error_code failed;
  const fs::path target = fs::canonical(path, failed);
  const fs::path fresh = target.string() + "." + std::to_string(getpid()) + ".tmp";
  std::ofstream file(fresh, std::ios::binary);
  file << text;
  file.close();
  const int reason = errno;
  if (file && !failed)
    fs::permissions(fresh, fs::status(target).permissions(), failed);
  if (file && !failed)
    fs::rename(fresh, target, failed);
  if (file && !failed)
    return true;
  std::fprintf(stderr, "penstock: error: cannot write %s: %s\n", path.c_str(),
               failed ? failed.message().c_str() : std::strerror(reason));
  fs::remove(fresh, failed);
  return false;
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
