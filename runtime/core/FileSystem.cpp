// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/FileSystem.h"

#include "runtime/core/Memory.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace penstock::runtime {

OpenFile::~OpenFile() = default;
NewFile::~NewFile() = default;
FileSystem::~FileSystem() = default;

Status FileSystem::writeFileAtomically(std::string_view path, std::span<const uint8_t> bytes) {
  auto file = createFile(path);
  if (!file)
    return file.error();
  if (Status status = (*file)->append(bytes); !status)
    return status;
  return (*file)->finish();
}

Error linkLeavesRoots(std::string_view link, std::string_view target, bool isFolder) {
  // A file's folder is what can be opened.
  const std::string_view folder =
      isFolder ? target : target.substr(0, std::max<size_t>(target.rfind('/'), 1));
  return {Code::OutsideRoot, std::string(link) + " is a link to " + std::string(target) +
                                 ", outside of the opened folders; `--allow " +
                                 std::string(folder) + "` opens it"};
}

Error changedWhileRead() { return {Code::Io, "the file was changed while it was read"}; }

Result<Mapping> readList(FileSystem &files, std::string_view path) {
  constexpr uint64_t most = uint64_t(64) << 20;
  auto bytes = std::make_shared<Buffer>();
  const Status status = files.readFile(path, *bytes, most);
  if (!status)
    return status.error().code == Code::Limit ? files.mapFile(path) : status.error();
  const auto begins = [&](uint8_t first, uint8_t second) {
    return bytes->size() >= 2 && bytes->data()[0] == first && bytes->data()[1] == second;
  };
  if (begins(0xFF, 0xFE) || begins(0xFE, 0xFF))
    return Error{Code::Unsupported,
                 std::string(path) + " is UTF-16 text, which is not read: save it as UTF-8"};
  return Mapping{bytes->span(), bytes};
}

Error systemError(int number, std::string_view action, std::string_view path) {
  Code code = Code::Io;
  if (number == ENOENT || number == ENOTDIR)
    code = Code::NotFound;
  else if (number == EACCES || number == EPERM || number == EROFS)
    code = Code::Permission;
  else if (number == EMFILE || number == ENFILE || number == ENOMEM)
    code = Code::Exhausted;
  std::string message = "cannot ";
  ((message += action) += ' ') += path;
  (message += ": ") += std::generic_category().message(number);
  if (number == EMFILE)
    message += " (`ulimit -n` says how many this process may have)";
  return {code, std::move(message)};
}

namespace {

/// One read; interruptions are tried again, though not for ever.
Result<size_t> readSome(const RawRead &read, uint8_t *to, size_t size, std::string_view path) {
  for (int interruptions = 0;; ++interruptions) {
    const int64_t got = read(to, size);
    if (got >= 0)
      return size_t(got);
    if ((got != -EINTR && got != -EAGAIN) || interruptions == 1000)
      return systemError(static_cast<int>(-got), "read", path);
  }
}

} // namespace

Status readUpTo(const RawRead &read, size_t size, std::string_view path, Buffer &out) {
  out.clear();
  if (!out.resize(size))
    return noMemory("for " + std::to_string(size) + " bytes of " + std::string(path));
  for (size_t filled = 0; filled < size;) {
    auto got = readSome(read, out.data() + filled, size - filled, path);
    if (!got)
      return got.error();
    if (*got == 0) {
      (void)out.resize(filled); // a smaller size needs no memory
      return {};
    }
    filled += *got;
  }
  return {};
}

Status readToEnd(const RawRead &read, uint64_t expectedSize, uint64_t maxBytes,
                 std::string_view path, Buffer &out) {
  auto tooLarge = [&](const std::string &found) -> Error {
    return {Code::Limit, std::string(path) + " has " + found + " bytes, the limit is " +
                             std::to_string(maxBytes)};
  };
  auto noMemory = [&](uint64_t size) {
    return runtime::noMemory("for the " + std::to_string(size) + " bytes of " + std::string(path));
  };
  out.clear();
  if (expectedSize > maxBytes)
    return tooLarge(std::to_string(expectedSize));
  // One byte more than expected, so that the end shows without growing.
  if (!out.reserve(expectedSize + 1))
    return noMemory(expectedSize);
  size_t filled = 0;
  for (;;) {
    if (filled == out.capacity()) {
      if (!out.resize(filled) || !out.reserve(filled + filled / 2 + 4096))
        return noMemory(filled + filled / 2 + 4096);
    }
    auto got = readSome(read, out.data() + filled, out.capacity() - filled, path);
    if (!got)
      return got.error();
    filled += *got;
    if (filled > maxBytes)
      return tooLarge("more than " + std::to_string(maxBytes));
    if (*got == 0)
      break;
  }
  if (!out.resize(filled))
    return noMemory(filled);
  return {};
}

} // namespace penstock::runtime
