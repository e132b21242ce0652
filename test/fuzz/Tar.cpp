// SPDX-License-Identifier: Apache-2.0
//
// Tar files, with the checksums of their headers made right.
#include "runtime/sources/Tar.h"
#include "test/fuzz/Fuzz.h"
#include "test/unit/runtime/TarReads.h"

using penstock::fuzz::require;
using penstock::test::listTar;
using penstock::test::shortLivedReads;
using namespace penstock::runtime;

/// At each block: whatever is no header does not care.
static void mendChecksums(std::vector<uint8_t> &file) {
  constexpr size_t block = 512, place = 148, width = 8, magic = 257;
  for (size_t at = 0; at + block <= file.size(); at += block) {
    if (std::memcmp(file.data() + at + magic, "ustar", 5) != 0)
      continue;
    std::memset(file.data() + at + place, ' ', width);
    unsigned sum = 0;
    for (size_t i = 0; i < block; ++i)
      sum += file[at + i];
    char text[width + 1];
    std::snprintf(text, sizeof text, "%06o", sum & 0777777);
    std::memcpy(file.data() + at + place, text, 7);
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<uint8_t> file(data, data + size);
  mendChecksums(file);
  const auto inMemory = listTar(TarReader{std::span<const uint8_t>(file)}, size);
  require(inMemory.members.size() <= size, "a file has no more members than bytes");
  for (const TarMember &member : inMemory.members)
    require(member.offset <= size && member.size <= size - member.offset,
            "contents lie within the file");
  const auto read = listTar(TarReader{size, shortLivedReads(file)}, size);
  require(read == inMemory, "how a file is read changes no member",
          read.error + "\nin memory: " + inMemory.error);
  return 0;
}
