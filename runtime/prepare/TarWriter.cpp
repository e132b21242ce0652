// SPDX-License-Identifier: Apache-2.0
#include "runtime/prepare/TarWriter.h"
#include "runtime/sources/Tar.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

namespace penstock::runtime {

namespace {

void octal(uint8_t *field, size_t digits, uint64_t value) {
  for (size_t i = digits; i-- > 0; value >>= 3)
    field[i] = uint8_t('0' + (value & 7));
}

/// Returns the index that cuts the name into the two fields of ustar: behind the slash there; 0: it
/// is one field; npos: it does not fit.
size_t cutOf(std::string_view name) {
  if (name.size() <= 100)
    return 0;
  const size_t slash = name.rfind('/', 155);
  if (slash == std::string_view::npos || slash == 0 || name.size() - slash - 1 > 100)
    return std::string_view::npos;
  return slash + 1;
}

void plainHeader(std::vector<uint8_t> &out, std::string_view name, size_t cut, char kind,
                 uint64_t size, int64_t modified) {
  const size_t at = out.size();
  out.resize(at + tarBlock);
  uint8_t *header = out.data() + at;
  const std::string_view last = name.substr(cut);
  std::memcpy(header, last.data(), std::min<size_t>(last.size(), 100));
  octal(header + 100, 7, 0644);
  octal(header + 108, 7, 0);
  octal(header + 116, 7, 0);
  octal(header + 124, 11, size);
  octal(header + 136, 11, uint64_t(std::clamp<int64_t>(modified, 0, (int64_t(1) << 33) - 1)));
  std::memset(header + 148, ' ', 8);
  header[156] = uint8_t(kind);
  std::memcpy(header + 257, "ustar\00000", 8);
  if (cut)
    std::memcpy(header + 345, name.data(), cut - 1);
  unsigned sum = 0;
  for (size_t i = 0; i < tarBlock; ++i)
    sum += header[i];
  octal(header + 148, 6, sum);
  header[154] = 0;
}

} // namespace

std::vector<uint8_t> tarHeader(std::string_view name, uint64_t size, int64_t modified) {
  std::vector<uint8_t> out;
  size_t cut = cutOf(name);
  if (cut == std::string_view::npos) {
    // A record counts its own length, digits included.
    const size_t rest = name.size() + 7; // " path=" and the line's end
    size_t length = rest + 1;
    while (std::to_string(length).size() + rest != length)
      ++length;
    std::string record = std::to_string(length) + " path=" + std::string(name) + "\n";
    plainHeader(out, "././@PaxHeader", 0, 'x', record.size(), 0);
    out.insert(out.end(), record.begin(), record.end());
    out.resize((out.size() + tarBlock - 1) / tarBlock * tarBlock);
    name = name.substr(name.size() - 100);
    cut = 0;
  }
  plainHeader(out, name, cut, '0', size, modified);
  return out;
}

std::vector<uint8_t> tarPadding(uint64_t size) {
  return std::vector<uint8_t>(size_t((tarBlock - size % tarBlock) % tarBlock));
}

std::vector<uint8_t> tarEnd() { return std::vector<uint8_t>(2 * tarBlock); }

} // namespace penstock::runtime
