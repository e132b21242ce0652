// SPDX-License-Identifier: Apache-2.0
//
// Machine code files. Their checksum is made right first: the target is what
// lies behind it. Nothing of the code is run.
#include "runtime/core/Image.h"
#include "runtime/abi/image.h"
#include "test/fuzz/Fuzz.h"

using penstock::fuzz::require;
using namespace penstock::runtime;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<uint8_t> bytes(data, data + size);
  pst_image_header head;
  if (size >= sizeof head) {
    std::memcpy(&head, data, sizeof head);
    head.checksum = 0;
    std::memcpy(bytes.data(), &head, sizeof head);
    head.checksum = pst_image_checksum(bytes.data(), bytes.size());
    std::memcpy(bytes.data(), &head, sizeof head);
  }
  const auto image = Image::load(bytes);
  require(image.ok() || !image.error().message.empty(), "a refusal has a reason");
  if (image)
    (*image)->find("a");
  return 0;
}
