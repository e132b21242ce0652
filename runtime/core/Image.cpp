// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/Image.h"
#include "runtime/abi/image.h"
#include "runtime/abi/level.h"

#include <cstring>
#include <sys/mman.h>
#include <vector>

namespace penstock::runtime {

static Error corruptImage(std::string what) {
  return {Code::Corrupt, "the machine code is damaged: " + std::move(what)};
}

/// The header of a file whose sizes and checksum are right.
static Result<pst_image_header> readHeader(std::span<const uint8_t> bytes) {
  pst_image_header head;
  if (bytes.size() < sizeof head)
    return corruptImage("it has no header");
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.magic != PST_IMAGE_MAGIC)
    return corruptImage("it does not begin like an image");
  if (head.abi != PST_KERNEL_ABI_VERSION)
    return Error{Code::Unsupported, "the machine code is of kernel ABI " +
                                        std::to_string(head.abi) + ", this runtime of " +
                                        std::to_string(PST_KERNEL_ABI_VERSION)};
  const uint64_t limit = uint64_t{1} << 31;
  if (head.size != bytes.size() || head.code_offset < sizeof head || head.code_offset > head.size ||
      head.code_size > limit || head.data_size > limit || head.data_offset > limit ||
      head.data_offset % PST_IMAGE_PAGE || head.data_offset < head.code_size ||
      head.size - head.code_offset != head.code_size + head.data_size)
    return corruptImage("its sizes do not fit together");
  std::vector<uint8_t> copy(bytes.begin(), bytes.end());
  pst_image_header zeroed = head;
  zeroed.checksum = 0;
  std::memcpy(copy.data(), &zeroed, sizeof zeroed);
  if (pst_image_checksum(copy.data(), copy.size()) != head.checksum)
    return corruptImage("its checksum differs");
  const level::Level *level = level::numbered(head.level);
  if (!level)
    return corruptImage("it is for no processor that is known");
  if (!level::isOffered(*level))
    return Error{Code::Unsupported, "the machine code needs " + std::string(level->name) +
                                        ", which this processor does not offer"};
  return head;
}

Result<std::shared_ptr<const Image>> Image::load(std::span<const uint8_t> bytes) {
  auto head = readHeader(bytes);
  if (!head)
    return head.error();
  std::shared_ptr<Image> image(new Image);
  image->featureLevel = static_cast<int>(head->level);
  uint64_t at = sizeof(pst_image_header);
  for (uint32_t i = 0; i < head->entry_count; ++i) {
    pst_image_entry entry;
    if (head->code_offset - at < sizeof entry)
      return corruptImage("its list of kernels is cut off");
    std::memcpy(&entry, bytes.data() + at, sizeof entry);
    at += sizeof entry;
    if (entry.name_size > head->code_offset - at || entry.offset >= head->code_size)
      return corruptImage("a kernel lies outside of it");
    image->entries.emplace(
        std::string(reinterpret_cast<const char *>(bytes.data() + at), entry.name_size),
        entry.offset);
    at += (entry.name_size + 7) / 8 * 8;
    if (at > head->code_offset)
      return corruptImage("its list of kernels is cut off");
  }
  // Written first, then made executable or read-only: never both at once.
  const uint64_t page = PST_IMAGE_PAGE;
  image->mapped = head->data_offset + (head->data_size + page - 1) / page * page;
  if (image->mapped == 0)
    return corruptImage("it has no code");
  void *memory =
      mmap(nullptr, image->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return Error{Code::Limit,
                 "no memory for machine code of " + std::to_string(image->mapped) + " bytes"};
  image->memory = static_cast<uint8_t *>(memory);
  std::memcpy(image->memory, bytes.data() + head->code_offset, head->code_size);
  if (head->data_size)
    std::memcpy(image->memory + head->data_offset,
                bytes.data() + head->code_offset + head->code_size, head->data_size);
  // An ARM core fetches instructions past its cache of data.
  __builtin___clear_cache(reinterpret_cast<char *>(image->memory),
                          reinterpret_cast<char *>(image->memory + head->code_size));
  const bool isProtected =
      (head->data_offset == 0 ||
       mprotect(image->memory, head->data_offset, PROT_READ | PROT_EXEC) == 0) &&
      (head->data_size == 0 || mprotect(image->memory + head->data_offset,
                                        image->mapped - head->data_offset, PROT_READ) == 0);
  if (!isProtected)
    return Error{Code::Permission, "this system does not allow memory to be made executable"};
  return std::shared_ptr<const Image>(std::move(image));
}

Image::~Image() {
  if (memory)
    munmap(memory, mapped);
}

pst_kernel Image::find(const std::string &name) const {
  auto entry = entries.find(name);
  if (entry == entries.end())
    return nullptr;
  return reinterpret_cast<pst_kernel>(memory + entry->second);
}

namespace {
class ImageTable final : public KernelTable {
public:
  size_t size() const override { return kernels.size(); }
  pst_kernel kernel(size_t number) const override { return kernels[number]; }

  std::shared_ptr<const Image> image;
  std::vector<pst_kernel> kernels;
};
} // namespace

Result<std::shared_ptr<const KernelTable>> tableFor(const Plan &plan,
                                                    std::shared_ptr<const Image> image) {
  auto table = std::make_shared<ImageTable>();
  for (const auto &kernel : plan.contents().kernels) {
    pst_kernel entry = kernel->device ? nullptr : image->find(kernel->name);
    if (!entry && !kernel->device)
      return Error{Code::NotFound, "the machine code has no kernel `" + kernel->name + "`"};
    table->kernels.push_back(entry);
  }
  table->image = std::move(image);
  return std::shared_ptr<const KernelTable>(std::move(table));
}

} // namespace penstock::runtime
