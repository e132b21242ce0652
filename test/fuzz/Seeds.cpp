// SPDX-License-Identifier: Apache-2.0
//
// Writes the inputs that fuzzing begins with: fuzz-seeds FOLDER.
#include "runtime/abi/image.h"
#include "runtime/sources/FolderIndex.h"
#include "test/unit/runtime/JpegFiles.h"
#include "test/unit/runtime/JpegScripts.h"
#include "test/unit/sched/Pipelines.h"

#include <filesystem>
#include <fstream>

using namespace penstock::runtime;
namespace fs = std::filesystem;

static void write(const fs::path &path, const std::vector<uint8_t> &bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()), std::streamsize(bytes.size()));
}

static void append(std::vector<uint8_t> &bytes, const void *data, size_t size) {
  const auto *from = static_cast<const uint8_t *>(data);
  bytes.insert(bytes.end(), from, from + size);
}

static void pictures(const fs::path &folder) {
  std::vector<JpegRecipe> recipes = {
      {.name = "444"},
      {.name = "420", .factors = {{{2, 2}, {1, 1}, {1, 1}}}},
      {.name = "422-restart", .factors = {{{2, 1}, {1, 1}, {1, 1}}}, .restartInterval = 2},
      {.name = "420-progressive", .factors = {{{2, 2}, {1, 1}, {1, 1}}}, .progressive = true},
      {.name = "arithmetic", .arithmetic = true},
      {.name = "scans", .separateScans = true},
      {.name = "gray", .components = 1, .stored = JCS_GRAYSCALE},
      {.name = "rgb", .stored = JCS_RGB},
      {.name = "cmyk", .components = 4, .stored = JCS_CMYK},
      {.name = "ycck", .components = 4, .stored = JCS_YCCK},
  };
  std::mt19937 random(1);
  for (JpegRecipe &recipe : recipes) {
    recipe.quality = 40;
    const std::vector<uint8_t> file = randomJpeg(recipe, 37, 21, random);
    write(folder / "headers" / recipe.name, file);
    // Seventeen bytes of choices stand before the file.
    std::vector<uint8_t> chosen(17, 3);
    append(chosen, file.data(), file.size());
    write(folder / "jpeg" / recipe.name, chosen);
  }
  for (int i = 0; i < 12; ++i) {
    const JpegRecipe recipe = randomScansRecipe(i % 4 > 0, random);
    const auto file = randomJpeg(recipe, 1 + int(random() % 40), 1 + int(random() % 40), random);
    std::vector<uint8_t> chosen(17, uint8_t(i));
    const auto odd = i % 3 ? file : withLiberties(file, random);
    append(chosen, odd.data(), odd.size());
    write(folder / "jpeg" / ("scans-" + std::to_string(i)), chosen);
  }
}

static void plans(const fs::path &folder) {
  write(folder / "plan" / "memory", Plan::serialize(penstock::test::memoryPipeline().plan));
  write(folder / "plan" / "folder", Plan::serialize(penstock::test::folderPipeline().plan));
}

static void states(const fs::path &folder) {
  for (const std::string text :
       {"penstock-state 1 pipeline=0123456789abcdef seed=7 epoch=3 position=4096 bad=2",
        "penstock-state 1 pipeline=1 seed=7 epoch=3 position=4096 bad=2 world=4 table=9",
        "penstock-state 1 pipeline=0 seed=18446744073709551615 epoch=4294967295 position=0 "
        "bad=0\n"})
    write(folder / "state" / std::to_string(text.size()), {text.begin(), text.end()});
}

static void images(const fs::path &folder) {
  std::vector<uint8_t> bytes(sizeof(pst_image_header));
  for (const std::string name : {"a", "another"}) {
    const pst_image_entry entry{0, name.size()};
    append(bytes, &entry, sizeof entry);
    append(bytes, name.data(), name.size());
    bytes.resize((bytes.size() + 7) / 8 * 8);
  }
  pst_image_header head{};
  head.magic = PST_IMAGE_MAGIC;
  head.abi = PST_KERNEL_ABI_VERSION;
  head.level = 2;
  head.entry_count = 2;
  head.code_offset = bytes.size();
  head.code_size = 6;
  head.data_offset = PST_IMAGE_PAGE;
  head.data_size = 8;
  bytes.resize(bytes.size() + head.code_size + head.data_size);
  head.size = bytes.size();
  std::memcpy(bytes.data(), &head, sizeof head);
  write(folder / "image" / "two", bytes);
}

static void indexes(const fs::path &folder) {
  FakeFileSystem files;
  for (const char *name : {"cat/1.jpg", "cat/deep/2.png", "dog/1.jpg", "dog/3.webp"})
    files.addFile(std::string("/data/") + name, "x");
  const auto index = FolderIndex::scan(files, "/data");
  write(folder / "index" / "four", {index->bytes().begin(), index->bytes().end()});
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  pictures(argv[1]);
  plans(argv[1]);
  states(argv[1]);
  images(argv[1]);
  indexes(argv[1]);
}
