// Text files, as the commands read and write them.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace penstock::cli {

/// Nothing where the file cannot be read; then `why` is a sentence.
std::optional<std::string> readFile(const std::string &path, std::string &why);

/// Puts a new file in the place of one, with its permissions; where it lies
/// behind a link, the link stays. At no time is there half a file. False, and a
/// message on stderr, where it cannot be written.
bool replaceFile(const std::string &path, const std::string &text);

/// A file itself, or the `.pipe` files in a folder and below, sorted.
std::vector<std::string> pipeFilesAt(const std::string &path);

} // namespace penstock::cli
