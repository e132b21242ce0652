// Text files, as the commands read and write them. What fails is said on stderr.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace penstock::cli {

/// Nothing where the file cannot be read.
std::optional<std::string> readFile(const std::string &path);

/// Puts a new file in the place of one, with its permissions; where it lies
/// behind a link, the link stays. At no time is there half a file. False where
/// it cannot be written.
bool replaceFile(const std::string &path, const std::string &text);

/// A file itself, or the `.pipe` files in a folder and below, sorted.
std::vector<std::string> pipeFilesAt(const std::string &path);

} // namespace penstock::cli
