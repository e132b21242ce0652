// SPDX-License-Identifier: Apache-2.0
//
// A bundle, with its checksum made right: what is in it is refused or loads.
#include "api/c/Bundle.h"
#include "runtime/core/Image.h"
#include "test/fuzz/Fuzz.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

using penstock::api::Bundle;
using penstock::fuzz::require;
using namespace penstock::runtime;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes(reinterpret_cast<const char *>(data), size);
  if (size >= 16) {
    const uint64_t sum = XXH3_64bits(bytes.data() + 16, size - 16);
    std::memcpy(bytes.data() + 8, &sum, sizeof sum);
  }
  auto bundle = Bundle::parse(bytes, "x.pstk");
  if (!bundle) {
    require(bundle.error().message.starts_with("x.pstk "), "an error names the file");
    return 0;
  }
  require(!bundle->levels.empty(), "a bundle has a level");
  for (const Bundle::Level &level : bundle->levels) {
    require(!level.programs.empty(), "a level has a program");
    for (const auto &program : level.programs) {
      (void)Image::load(program.image);
      (void)Plan::load(program.plan);
    }
  }
  (void)bundle->take();
  return 0;
}
