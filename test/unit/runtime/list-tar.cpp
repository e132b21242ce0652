// SPDX-License-Identifier: Apache-2.0
//
// Lists tar files as the runtime reads them, for comparison with the programs that wrote them.
//
//   list-tar FILE...
//
// For each file a line `FILE`, for each member `member NAME CONTENTS`, for each row of
// `tar_shards` and each field of it `row NAME EXTENSION CONTENTS`, all in hexadecimal;
// or `error MESSAGE`.
#include "runtime/core/RealFileSystem.h"
#include "runtime/sources/TarIndex.h"
#include "test/unit/runtime/TarReads.h"

#include <cstdio>
#include <string_view>

using namespace penstock::runtime;

static std::string hex(std::string_view text) {
  std::string out = "_"; // no word is empty
  char digits[3];
  for (const char c : text) {
    std::snprintf(digits, sizeof digits, "%02x", unsigned(uint8_t(c)));
    out += digits;
  }
  return out;
}

static void print(RealFileSystem &files, const std::string &path) {
  std::printf("%s\n", path.c_str());
  Buffer bytes;
  if (Status status = files.readFile(path, bytes); !status)
    return void(std::printf("error %s\n", status.error().message.c_str()));
  const auto contents = [&](uint64_t offset, uint64_t size) {
    return std::string_view(reinterpret_cast<const char *>(bytes.data()), bytes.size())
        .substr(offset, size);
  };
  const auto found = penstock::test::listTar(
      TarReader(bytes.size(), penstock::test::shortLivedReads(bytes.span())), bytes.size());
  for (const TarMember &member : found.members)
    std::printf("member %s %s\n", hex(member.name).c_str(),
                hex(contents(member.offset, member.size)).c_str());
  if (!found.error.empty())
    return void(std::printf("error %s\n", found.error.c_str()));
  auto index = TarIndex::scan(files, {path});
  if (!index)
    return void(std::printf("error %s\n", index.error().message.c_str()));
  const std::vector<std::string> extensions = index->extensions();
  for (uint64_t row = 0; row < index->rowCount(); ++row)
    for (uint32_t i = 0; i < extensions.size(); ++i)
      if (TarIndex::Field field; index->find(row, {&i, 1}, field))
        std::printf("row %s %s %s\n", hex(index->rowName(row)).c_str(), hex(extensions[i]).c_str(),
                    hex(field.size <= TarIndex::smallBytes ? field.contents
                                                           : contents(field.offset, field.size))
                        .c_str());
}

int main(int argc, char **argv) {
  auto files = RealFileSystem::create({{"/", false}});
  for (int i = 1; files && i < argc; ++i)
    print(**files, argv[i]);
  return 0;
}
