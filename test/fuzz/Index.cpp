// SPDX-License-Identifier: Apache-2.0
//
// The cached list of a folder's images, with its checksum made right.
#include "runtime/sources/FolderIndex.h"
#include "test/fuzz/Fuzz.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

using penstock::fuzz::require;
using namespace penstock::runtime;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // The magic, the checksum of what follows it, the rest.
  constexpr size_t covered = 16;
  auto bytes = std::make_shared<std::vector<uint8_t>>(data, data + size);
  if (size >= covered) {
    const uint64_t sum = XXH3_64bits(bytes->data() + covered, size - covered);
    std::memcpy(bytes->data() + 8, &sum, sizeof sum);
  }
  const auto index = FolderIndex::parse(Mapping{{bytes->data(), size}, bytes}, "/data");
  if (!index)
    return 0;
  for (uint64_t file = 0; file < index->fileCount(); ++file)
    index->relativePath(file);
  index->lastChangeNs();
  // The last word of the header: labels mean nothing where classes are missing.
  uint64_t whole = 0;
  std::memcpy(&whole, bytes->data() + 48, sizeof whole);
  if (!whole)
    return 0;
  for (uint64_t file = 0; file < index->fileCount(); ++file)
    require(index->label(file) < index->classCount(), "a label is one of the classes");
  for (uint32_t label = 0; label < index->classCount(); ++label)
    index->className(label);
  return 0;
}
