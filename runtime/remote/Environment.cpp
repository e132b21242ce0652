// SPDX-License-Identifier: Apache-2.0
#include "runtime/remote/Environment.h"

#include "runtime/core/Buffer.h"
#include "runtime/core/RealFileSystem.h"

#include <cstdlib>

namespace penstock::runtime {

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

std::string firstOf(std::initializer_list<std::string> texts) {
  for (const std::string &text : texts)
    if (!text.empty())
      return text;
  return {};
}

std::string textOfFile(const std::string &path) {
  Buffer bytes;
  if (path.empty() || !readNamedFile(path, bytes, 1 << 20))
    return {};
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

std::string inHome(const char *inner) {
  const std::string home = variable("HOME");
  return home.empty() ? "" : home + "/" + inner;
}

} // namespace penstock::runtime
