// SPDX-License-Identifier: Apache-2.0
//
// Sections, relocations, file.
#include "codegen/cpu/Link.h"
#include "codegen/cpu/Architecture.h"
#include "runtime/abi/image.h"
#include "runtime/abi/kernel.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cstring>
#include <elf.h>
#include <string>

using namespace penstock;
using namespace penstock::codegen;

static llvm::Error refuse(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

namespace {
class Linker {
public:
  Linker(llvm::ArrayRef<uint8_t> object, const Architecture &architecture)
      : object(object), architecture(architecture) {
    header = at<Elf64_Ehdr>(0);
    sections = {at<Elf64_Shdr>(header->e_shoff), header->e_shnum};
    places.resize(sections.size(), -1);
  }

  llvm::Error layOut();
  llvm::Error relocate();
  std::vector<uint8_t> file(CpuLevel level);

private:
  template <typename T> const T *at(uint64_t offset) const {
    return reinterpret_cast<const T *>(object.data() + offset);
  }
  const char *nameOf(const Elf64_Shdr &section) const {
    return at<char>(sections[header->e_shstrndx].sh_offset + section.sh_name);
  }
  uint8_t *memory(uint64_t place) {
    return place < dataStart ? code.data() + place : data.data() + (place - dataStart);
  }
  static void append(std::vector<uint8_t> &to, llvm::ArrayRef<uint8_t> bytes, uint64_t align) {
    to.resize((to.size() + align - 1) / align * align);
    to.insert(to.end(), bytes.begin(), bytes.end());
  }

  llvm::ArrayRef<uint8_t> object;
  const Architecture &architecture;
  const Elf64_Ehdr *header;
  llvm::ArrayRef<Elf64_Shdr> sections;
  std::vector<int64_t> places; ///< of each section, from the first byte of the code
  std::vector<uint8_t> code, data;
  uint64_t dataStart = 0;
};
} // namespace

llvm::Error Linker::layOut() {
  auto isKept = [&](const Elf64_Shdr &section) {
    // Unwind tables describe functions that never throw.
    return (section.sh_flags & SHF_ALLOC) && section.sh_size &&
           std::string_view(nameOf(section)) != ".eh_frame";
  };
  for (auto [i, section] : llvm::enumerate(sections)) {
    if (!isKept(section))
      continue;
    if (section.sh_flags & SHF_WRITE)
      return refuse(llvm::Twine("the object has writable data in `") + nameOf(section) + "`");
    if (!(section.sh_flags & SHF_EXECINSTR))
      continue;
    append(code, object.slice(section.sh_offset, section.sh_size),
           std::max<uint64_t>(section.sh_addralign, 1));
    places[i] = static_cast<int64_t>(code.size() - section.sh_size);
  }
  dataStart = llvm::alignTo(code.size(), architecture.page);
  for (auto [i, section] : llvm::enumerate(sections)) {
    if (!isKept(section) || (section.sh_flags & SHF_EXECINSTR))
      continue;
    append(data, object.slice(section.sh_offset, section.sh_size),
           std::max<uint64_t>(section.sh_addralign, 1));
    places[i] = static_cast<int64_t>(dataStart + data.size() - section.sh_size);
  }
  return llvm::Error::success();
}

llvm::Error Linker::relocate() {
  for (const Elf64_Shdr &table : sections) {
    if (table.sh_type != SHT_RELA || places[table.sh_info] < 0)
      continue;
    const Elf64_Shdr &symbols = sections[table.sh_link];
    const uint64_t names = sections[symbols.sh_link].sh_offset;
    for (uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Rela); ++i) {
      const Elf64_Rela &entry = at<Elf64_Rela>(table.sh_offset)[i];
      const Elf64_Sym &symbol = at<Elf64_Sym>(symbols.sh_offset)[ELF64_R_SYM(entry.r_info)];
      const std::string name = at<char>(names + symbol.st_name);
      const auto type = ELF64_R_TYPE(entry.r_info);
      if (symbol.st_shndx == SHN_UNDEF)
        return refuse("the object needs the undefined symbol `" + name + "`");
      if (symbol.st_shndx >= places.size() || places[symbol.st_shndx] < 0)
        return refuse("the object refers to `" + name +
                      "`, which is neither code nor read-only data");
      const uint64_t place = static_cast<uint64_t>(places[table.sh_info]) + entry.r_offset;
      const int64_t to =
          places[symbol.st_shndx] + static_cast<int64_t>(symbol.st_value) + entry.r_addend;
      switch (architecture.relocate({static_cast<uint32_t>(type), place, to, memory(place)})) {
      case Architecture::Fit::yes:
        break;
      case Architecture::Fit::tooFar:
        return refuse("the distance to `" + name + "` does not fit into an instruction");
      case Architecture::Fit::notRelative:
        return refuse("the object has a relocation of type " + llvm::Twine(type) + " against `" +
                      name + "`, which is not PC-relative");
      }
    }
  }
  return llvm::Error::success();
}

std::vector<uint8_t> Linker::file(CpuLevel level) {
  std::vector<uint8_t> entries;
  uint32_t count = 0;
  for (const Elf64_Shdr &section : sections) {
    if (section.sh_type != SHT_SYMTAB)
      continue;
    const uint64_t names = sections[section.sh_link].sh_offset;
    for (uint64_t i = 0; i < section.sh_size / sizeof(Elf64_Sym); ++i) {
      const Elf64_Sym &symbol = at<Elf64_Sym>(section.sh_offset)[i];
      if (ELF64_ST_BIND(symbol.st_info) != STB_GLOBAL ||
          ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx >= places.size() ||
          places[symbol.st_shndx] < 0)
        continue;
      const std::string_view name = at<char>(names + symbol.st_name);
      const pst_image_entry entry{static_cast<uint64_t>(places[symbol.st_shndx]) + symbol.st_value,
                                  name.size()};
      const auto *bytes = reinterpret_cast<const uint8_t *>(&entry);
      append(entries, {bytes, sizeof entry}, 8);
      append(entries, {reinterpret_cast<const uint8_t *>(name.data()), name.size()}, 1);
      entries.resize((entries.size() + 7) / 8 * 8);
      ++count;
    }
  }
  pst_image_header head{};
  head.magic = PST_IMAGE_MAGIC;
  head.abi = PST_KERNEL_ABI_VERSION;
  head.level = static_cast<uint32_t>(level);
  head.entry_count = count;
  head.code_offset = (sizeof head + entries.size() + 63) / 64 * 64;
  head.code_size = code.size();
  head.data_offset = dataStart;
  head.data_size = data.size();
  head.size = head.code_offset + code.size() + data.size();
  std::vector<uint8_t> bytes(head.size);
  auto put = [&](uint64_t offset, const void *from, size_t size) {
    if (size)
      std::memcpy(bytes.data() + offset, from, size);
  };
  put(0, &head, sizeof head);
  put(sizeof head, entries.data(), entries.size());
  put(head.code_offset, code.data(), code.size());
  put(head.code_offset + code.size(), data.data(), data.size());
  head.checksum = pst_image_checksum(bytes.data(), bytes.size());
  put(0, &head, sizeof head);
  return bytes;
}

llvm::Expected<std::vector<uint8_t>> codegen::linkImage(llvm::ArrayRef<uint8_t> object,
                                                        const Target &target) {
  Linker linker(object, architectureOf(target));
  if (auto error = linker.layOut())
    return std::move(error);
  if (auto error = linker.relocate())
    return std::move(error);
  return linker.file(target.level);
}
