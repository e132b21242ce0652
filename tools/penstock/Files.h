// SPDX-License-Identifier: Apache-2.0
//
// Text files, as the commands read and write them.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::cli {

/// Returns the contents of a file; nothing if it cannot be read or is none, as pipes and devices,
/// and `why` is then a sentence.
std::optional<std::string> readFile(const std::string &path, std::string &why);
/// As readFile(), but of a text, which is not empty and may come through a pipe or from a terminal.
/// Other devices are never read: some have no end.
std::optional<std::string> readText(const std::string &path, std::string &why);
/// All of a text that may be empty.
std::optional<std::string> readStandardInput(std::string &why);

/// Makes a file, or puts a new one in its place with the permissions of the old;
/// where it lies behind a link, the link stays. At no time is there half a file,
/// and what a kill leaves beside it the next call takes away. False, and a message
/// on stderr, where it cannot be written.
bool replaceFile(const std::string &path, const std::string &text);

/// As replaceFile(); `-` is stdout.
bool writeResult(const std::string &path, const std::string &text);

/// What a command line says to write: an option, and the file behind it, which may be empty.
struct Written {
  const char *option;
  const std::string &path;
};
/// False, and a message on stderr, where one of them is a file that is read, too, or that another
/// one writes, which would be lost, ...
bool keepsWhatIsRead(std::initializer_list<Written> written,
                     std::initializer_list<std::string_view> read);
/// ... or `-`, where stdout has what the command reports.
bool wantsFiles(std::initializer_list<Written> written);

/// A file itself, or the `.pipe` files in a folder and below, sorted.
std::vector<std::string> pipeFilesAt(const std::string &path);

} // namespace penstock::cli
