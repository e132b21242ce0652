// SPDX-License-Identifier: Apache-2.0
//
// Compiled programs as bytes.
#pragma once

#include "api/c/Program.h"
#include <string_view>

namespace penstock::api {

/// Length-prefixed fields, with a magic and a checksum in front: what the cache and
/// bundles are made of. Little-endian.
class Writer {
public:
  void number(uint64_t value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  void text(std::string_view value) {
    number(value.size());
    bytes.append(value);
  }
  /// `magic`: 8 bytes.
  std::string finish(std::string_view magic) const;

private:
  std::string bytes;
};

/// Reads Writer's fields; at a damaged one `good` turns false, and all fields after it are empty.
class Reader {
public:
  Reader(std::string file, std::string_view magic);
  uint64_t number();
  std::string text();
  bool good = false;

private:
  std::string bytes;
  size_t at = 16;
};

void writeParameters(Writer &writer, const std::vector<Parameter> &parameters);
std::vector<Parameter> readParameters(Reader &reader);

void writeProgram(Writer &writer, const Compiled &compiled);
Compiled readProgram(Reader &reader);

} // namespace penstock::api
