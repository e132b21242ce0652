// SPDX-License-Identifier: Apache-2.0
//
// Machine code as a file: what is whole loads and runs, what is not is refused.
#include "runtime/core/Image.h"

#include "runtime/abi/image.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

using namespace penstock::runtime;

namespace {

// Two functions, one behind the other, that return 7 and 8.
#if defined(__aarch64__) // mov w0, 7; ret
const std::vector<uint8_t> code = {0xE0, 0, 0x80, 0x52, 0xC0, 3, 0x5F, 0xD6,
                                   0,    1, 0x80, 0x52, 0xC0, 3, 0x5F, 0xD6};
constexpr uint32_t ownLevel = 64, otherLevel = 2;
const std::string otherName = "x86-64-v2";
#else // mov eax, 7; ret
const std::vector<uint8_t> code = {0xB8, 7, 0, 0, 0, 0xC3, 0xB8, 8, 0, 0, 0, 0xC3};
constexpr uint32_t ownLevel = 2, otherLevel = 64;
const std::string otherName = "armv8-a";
#endif

void append(std::vector<uint8_t> &bytes, const void *data, size_t size) {
  const auto *from = static_cast<const uint8_t *>(data);
  bytes.insert(bytes.end(), from, from + size);
}

/// Sets size and checksum, as the linker does last.
void seal(std::vector<uint8_t> &bytes) {
  pst_image_header head;
  std::memcpy(&head, bytes.data(), sizeof head);
  head.size = bytes.size();
  head.checksum = 0;
  std::memcpy(bytes.data(), &head, sizeof head);
  head.checksum = pst_image_checksum(bytes.data(), bytes.size());
  std::memcpy(bytes.data(), &head, sizeof head);
}

/// Two kernels, `a` and `bb`, and eight bytes of data.
std::vector<uint8_t> image() {
  std::vector<uint8_t> bytes(sizeof(pst_image_header));
  const std::string names[] = {"a", "bb"};
  for (uint64_t i = 0; i < 2; ++i) {
    const pst_image_entry entry{i * code.size() / 2, names[i].size()};
    append(bytes, &entry, sizeof entry);
    append(bytes, names[i].data(), names[i].size());
    bytes.resize((bytes.size() + 7) / 8 * 8);
  }
  pst_image_header head{};
  head.magic = PST_IMAGE_MAGIC;
  head.abi = PST_KERNEL_ABI_VERSION;
  head.level = ownLevel;
  head.entry_count = 2;
  head.code_offset = bytes.size();
  head.code_size = code.size();
  head.data_offset = 65536; // a page, of whichever kernel
  head.data_size = 8;
  std::memcpy(bytes.data(), &head, sizeof head);
  append(bytes, code.data(), code.size());
  append(bytes, "12345678", 8);
  seal(bytes);
  return bytes;
}

/// Changes the header of a sealed image and seals it again.
template <typename Change> std::vector<uint8_t> with(Change change) {
  std::vector<uint8_t> bytes = image();
  pst_image_header head;
  std::memcpy(&head, bytes.data(), sizeof head);
  change(head);
  std::memcpy(bytes.data(), &head, sizeof head);
  seal(bytes);
  return bytes;
}

std::string refusal(const std::vector<uint8_t> &bytes) {
  auto loaded = Image::load(bytes);
  return loaded ? "loaded" : loaded.error().message;
}

TEST(Image, LoadsAndRuns) {
  auto loaded = Image::load(image());
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ((*loaded)->level(), static_cast<int>(ownLevel));
  ASSERT_TRUE((*loaded)->find("a") && (*loaded)->find("bb"));
  EXPECT_EQ((*loaded)->find("a")(nullptr), 7);
  EXPECT_EQ((*loaded)->find("bb")(nullptr), 8);
  EXPECT_FALSE((*loaded)->find("b"));
}

TEST(Image, EveryChangedByteIsSeen) {
  const std::vector<uint8_t> whole = image();
  for (size_t at = 0; at < whole.size(); ++at) {
    std::vector<uint8_t> bytes = whole;
    bytes[at] ^= 0x40;
    EXPECT_FALSE(Image::load(bytes)) << "byte " << at;
  }
}

TEST(Image, EveryTruncationIsSeen) {
  const std::vector<uint8_t> whole = image();
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(Image::load({whole.data(), size})) << size;
  std::vector<uint8_t> longer = whole;
  longer.push_back(0);
  EXPECT_EQ(refusal(longer), "the machine code is damaged: its sizes do not fit together");
}

TEST(Image, SaysWhatIsWrong) {
  EXPECT_EQ(refusal({}), "the machine code is damaged: it has no header");
  EXPECT_EQ(refusal(with([](auto &head) { head.magic = 1; })),
            "the machine code is damaged: it does not begin like an image");
  EXPECT_EQ(refusal(with([](auto &head) { head.abi = 9; })),
            "the machine code is of kernel ABI 9, this runtime of " +
                std::to_string(PST_KERNEL_ABI_VERSION));
  std::vector<uint8_t> changed = image();
  changed.back() ^= 1;
  EXPECT_EQ(refusal(changed), "the machine code is damaged: its checksum differs");
}

TEST(Image, CodeForOtherMachinesIsRefused) {
  EXPECT_EQ(refusal(with([](auto &head) { head.level = otherLevel; })),
            "the machine code needs " + otherName + ", which this processor does not offer");
  EXPECT_EQ(refusal(with([](auto &head) { head.level = 6; })),
            "the machine code is damaged: it is for no processor that is known");
}

// A right checksum is no proof of sense: sizes and offsets are checked too.
TEST(Image, HeadersThatLieAreRefused) {
  const std::string sizes = "the machine code is damaged: its sizes do not fit together";
  EXPECT_EQ(refusal(with([](auto &head) { head.code_offset = 1 << 20; })), sizes);
  EXPECT_EQ(refusal(with([](auto &head) { head.code_size += 1; })), sizes);
  EXPECT_EQ(refusal(with([](auto &head) { head.code_size = UINT64_MAX - 7; })), sizes);
  EXPECT_EQ(refusal(with([](auto &head) { head.data_size = UINT64_MAX; })), sizes);
  EXPECT_EQ(refusal(with([](auto &head) { head.data_offset = 8; })), sizes);
  EXPECT_EQ(refusal(with([](auto &head) { head.data_offset = 0; })), sizes);
  EXPECT_EQ(refusal(with([](auto &head) { head.data_offset = uint64_t(1) << 40; })), sizes);
  EXPECT_EQ(refusal(with([](auto &head) { head.entry_count = 1u << 30; })),
            "the machine code is damaged: its list of kernels is cut off");
  auto codeAt = [](uint64_t offset) {
    return with([&](auto &head) {
      head.code_size += head.code_offset - offset;
      head.code_offset = offset;
    });
  };
  EXPECT_EQ(refusal(codeAt(0)), sizes);
  EXPECT_EQ(refusal(codeAt(sizeof(pst_image_header) - 8)), sizes);
  EXPECT_EQ(refusal(codeAt(sizeof(pst_image_header) + 4)),
            "the machine code is damaged: its list of kernels is cut off");
}

TEST(Image, KernelsOutsideTheCodeAreRefused) {
  for (uint64_t offset : {uint64_t(code.size()), UINT64_MAX}) {
    std::vector<uint8_t> bytes = image();
    std::memcpy(bytes.data() + sizeof(pst_image_header), &offset, sizeof offset);
    seal(bytes);
    EXPECT_EQ(refusal(bytes), "the machine code is damaged: a kernel lies outside of it");
  }
  for (uint64_t size : {uint64_t(1000), UINT64_MAX - 3}) {
    std::vector<uint8_t> bytes = image();
    std::memcpy(bytes.data() + sizeof(pst_image_header) + 8, &size, sizeof size);
    seal(bytes);
    EXPECT_EQ(refusal(bytes), "the machine code is damaged: a kernel lies outside of it");
  }
}

TEST(ImageFuzz, SealedMutantsAreRefusedOrWhole) {
  std::mt19937 random(5);
  const std::vector<uint8_t> whole = image();
  int loaded = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<uint8_t> bytes = whole;
    for (int count = 1 + int(random() % 4); count > 0; --count)
      bytes[random() % bytes.size()] = uint8_t(random() % 4 ? random() % 16 : random());
    if (random() % 4 == 0)
      bytes.resize(sizeof(pst_image_header) + random() % (bytes.size()));
    seal(bytes);
    if (auto image = Image::load(bytes)) // its code may be anything: only looked up
      loaded += (*image)->find("a") != nullptr;
  }
  EXPECT_GT(loaded, 100);
}

} // namespace
