#include "runtime/core/FileSystem.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace penstock::runtime {

FileSystem::~FileSystem() = default;

std::string normalizePath(std::string_view path,
                          std::string_view currentFolder) {
  std::string whole;
  if (path.empty() || path.front() != '/') {
    whole = currentFolder;
    whole += '/';
  }
  whole += path;
  std::string out;
  out.reserve(whole.size() + 1);
  size_t at = 0;
  while (at < whole.size()) {
    size_t end = std::min(whole.find('/', at), whole.size());
    std::string_view part(whole.data() + at, end - at);
    if (part == "..")
      out.resize(out.empty() ? 0 : out.rfind('/'));
    else if (!part.empty() && part != ".")
      (out += '/') += part;
    at = end + 1;
  }
  return out.empty() ? "/" : out;
}

bool liesWithin(std::string_view path, std::string_view root) {
  if (root == "/")
    return true;
  return path.starts_with(root) &&
         (path.size() == root.size() || path[root.size()] == '/');
}

Error systemError(int number, std::string_view action, std::string_view path) {
  Code code = Code::Io;
  if (number == ENOENT || number == ENOTDIR)
    code = Code::NotFound;
  else if (number == EACCES || number == EPERM || number == EROFS)
    code = Code::Permission;
  std::string message = "cannot ";
  ((message += action) += ' ') += path;
  (message += ": ") += std::generic_category().message(number);
  return {code, std::move(message)};
}

Status readToEnd(const RawRead &read, uint64_t expectedSize, uint64_t maxBytes,
                 std::string_view path, Buffer &out) {
  auto tooLarge = [&](const std::string &found) -> Error {
    return {Code::Limit, std::string(path) + " has " + found +
                             " bytes, the limit is " + std::to_string(maxBytes)};
  };
  auto noMemory = [&](uint64_t size) -> Error {
    return {Code::Limit, "no memory for the " + std::to_string(size) +
                             " bytes of " + std::string(path)};
  };
  out.clear();
  if (expectedSize > maxBytes)
    return tooLarge(std::to_string(expectedSize));
  // One byte more than expected, so that the end shows without growing.
  if (!out.reserve(expectedSize + 1))
    return noMemory(expectedSize);
  size_t filled = 0;
  int interruptions = 0;
  for (;;) {
    if (filled == out.capacity()) {
      if (!out.resize(filled) || !out.reserve(filled + filled / 2 + 4096))
        return noMemory(filled + filled / 2 + 4096);
    }
    int64_t got = read(out.data() + filled, out.capacity() - filled);
    if (got == -EINTR || got == -EAGAIN) {
      if (++interruptions > 1000)
        return systemError(static_cast<int>(-got), "read", path);
      continue;
    }
    interruptions = 0;
    if (got < 0)
      return systemError(static_cast<int>(-got), "read", path);
    filled += static_cast<size_t>(got);
    if (filled > maxBytes)
      return tooLarge("more than " + std::to_string(maxBytes));
    if (got == 0)
      break;
  }
  if (!out.resize(filled))
    return noMemory(filled);
  return {};
}

} // namespace penstock::runtime
