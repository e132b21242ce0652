// Tar files, with the checksums of their headers made right.
#include "runtime/sources/Tar.h"
#include "test/fuzz/Fuzz.h"

using penstock::fuzz::require;
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
  TarReader reader{std::span<const uint8_t>(file)};
  for (size_t members = 0; members <= size; ++members) {
    TarMember member;
    const Result<bool> more = reader.next(member);
    if (!more)
      require(!more.error().message.empty(), "a refusal has a reason");
    if (!more || !*more)
      return 0;
    require(member.offset <= size && member.size <= size - member.offset,
            "contents lie within the file");
  }
  require(false, "a file has no more members than bytes");
  return 0;
}
