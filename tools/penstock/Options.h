// SPDX-License-Identifier: Apache-2.0
//
// Options of the command line, common to several commands, and the exit codes.
#pragma once

#include "tools/penstock/CommandLine.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock::cli {

// Exit codes, as `penstock --help` documents them.
enum Exit : int {
  exitOk = 0,
  exitError = 1,        // the file, a parameter or the data is at fault
  exitUsage = 2,        // the command line is at fault
  exitInterrupted = 130 // Ctrl-C
};

/// Options of everything that compiles.
struct CompileOptions {
  std::string file;
  std::string pipeline;
  std::vector<std::string> set; ///< "name=value"
  std::vector<std::string> disabledPasses;
  std::string target;
  std::string gpu;
  std::string transfer;
  std::string machine; ///< a file
  std::string from;
  bool noCache = false;
  bool isBundle = false; ///< else the file's first bytes tell

  void addTo(Command &command);
  void addBundleTo(Command &command);
};

/// Options of everything that runs.
struct RunOptions {
  std::optional<int64_t> seed;
  uint32_t epoch = 0;
  uint32_t rank = 0;
  uint32_t world = 1;
  int threads = 0;
  int prefetch = 0;
  int fetchThreads = 0;
  std::string device;               ///< "cpu", or a GPU's number
  std::string onError;              ///< "fail" or a fraction such as 1%
  uint64_t memory = 0;              ///< MiB
  std::vector<std::string> allowed; ///< folders
  std::string remoteCache;          ///< a folder
  uint64_t remoteCacheBytes = 0;

  void addTo(Command &command);
};

/// Adds `--allow`, of every command that reads data.
void addAllow(Command &command, std::vector<std::string> &folders);
/// The folders as the C API takes them; they point into `folders`.
std::vector<const char *> pointersTo(const std::vector<std::string> &folders);

/// The names and values of `--set`; ends the program with a usage error where
/// one has no `=`.
std::vector<std::pair<std::string, std::string>> splitSettings(const std::vector<std::string> &set);

} // namespace penstock::cli
