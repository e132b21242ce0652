// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/Exif.h"

#include <cstddef>
#include <cstring>

namespace penstock::runtime {

std::optional<uint8_t> findExifOrientation(std::span<const uint8_t> block) {
  constexpr uint8_t mark[6] = {'E', 'x', 'i', 'f', 0, 0};
  if (block.size() >= sizeof mark && std::memcmp(block.data(), mark, sizeof mark) == 0)
    block = block.subspan(sizeof mark);
  if (block.size() < 8)
    return std::nullopt;
  const bool little = block[0] == 'I' && block[1] == 'I';
  if (!little && !(block[0] == 'M' && block[1] == 'M'))
    return std::nullopt;
  auto has = [&](size_t at, size_t count) {
    return at <= block.size() && count <= block.size() - at;
  };
  auto number = [&](size_t at, int size) {
    uint32_t value = 0;
    for (int i = 0; i < size; ++i)
      value |= uint32_t(block[at + size_t(i)]) << 8 * (little ? i : size - 1 - i);
    return value;
  };
  const size_t directory = number(4, 4);
  if (number(2, 2) != 42 || !has(directory, 2))
    return std::nullopt;
  constexpr uint32_t orientation = 0x0112;
  const uint32_t entries = number(directory, 2);
  for (uint32_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + 12 * size_t(i);
    if (!has(entry, 12))
      return std::nullopt;
    if (number(entry, 2) != orientation)
      continue;
    // SHORT is what the standard says, LONG and signed ones are what some programs write.
    const uint32_t type = number(entry + 2, 2);
    const int size = type == 3 || type == 8 ? 2 : type == 4 || type == 9 ? 4 : 0;
    const bool isOne = number(entry + 4, 4) == 1; // several stand elsewhere, and mean nothing
    const uint32_t value = size && isOne ? number(entry + 8, size) : 0;
    return value >= 1 && value <= 8 ? uint8_t(value) : uint8_t(1);
  }
  return std::nullopt;
}

uint8_t exifOrientation(std::span<const uint8_t> block) {
  return findExifOrientation(block).value_or(1);
}

uint8_t xmpOrientation(std::string_view packet) {
  constexpr std::string_view name = "tiff:Orientation";
  for (size_t at = packet.find(name); at != packet.npos; at = packet.find(name, at + 1)) {
    std::string_view rest = packet.substr(at + name.size());
    if (rest.starts_with("=\""))
      rest.remove_prefix(2);
    else if (rest.starts_with(">"))
      rest.remove_prefix(1);
    else
      continue;
    if (!rest.empty() && rest[0] >= '0' && rest[0] <= '9')
      return rest[0] >= '1' && rest[0] <= '8' ? uint8_t(rest[0] - '0') : uint8_t(1);
  }
  return 1;
}

} // namespace penstock::runtime
