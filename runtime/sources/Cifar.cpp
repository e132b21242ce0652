// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/Cifar.h"

#include "runtime/core/Memory.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>

namespace penstock::runtime {

using plan::DType;

namespace {

constexpr int64_t side = 32, pixels = 3 * side * side;

struct Version {
  const char *folder;
  std::vector<const char *> train, test;
  const char *names; ///< the file of the classes' names
  int64_t labels;    ///< bytes before the pixels; the last of them is the label
};

Version versionOf(Cifar kind) {
  if (kind == Cifar::Ten)
    return {"cifar-10-batches-bin",
            {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
             "data_batch_5.bin"},
            {"test_batch.bin"},
            "batches.meta.txt",
            1};
  return {"cifar-100-binary", {"train.bin"}, {"test.bin"}, "fine_label_names.txt", 2};
}

class CifarSource final : public Source {
public:
  struct Part {
    Mapping mapping;
    int64_t end; ///< rows of this file and those before
  };
  enum Columns : int { Image = 0, Label = 1, Coarse = 2 };

  CifarSource(std::vector<Part> parts, std::vector<ColumnInfo> table, int64_t labels,
              std::vector<std::string> names)
      : Source(parts.back().end, std::move(table)), parts(std::move(parts)), labels(labels),
        names(std::move(names)) {}

  std::vector<std::string> classNames() const override { return names; }

  Result<int64_t> scalar(int64_t row, int column) const override {
    if (column == Image)
      return noSuchField(column, "a scalar");
    const int64_t label = rowAt(row).bytes[column == Label ? labels - 1 : 0];
    const int64_t classes = labels == 1 ? 10 : column == Label ? 100 : 20;
    if (label >= classes)
      return Error{Code::Corrupt, "its `" + columns()[size_t(column)].name + "` is " +
                                      std::to_string(label) + ", and there are " +
                                      std::to_string(classes) + " classes"};
    return label;
  }

  Status shape(int64_t, int column, TensorView &out) const override {
    if (column != Image)
      return noSuchField(column, "a tensor");
    out = {nullptr, 3, {3, side, side}};
    return {};
  }

  Result<TensorView> tensor(int64_t row, int column, Buffer &scratch) const override {
    TensorView view;
    if (Status status = shape(row, column, view); !status)
      return status.error();
    const Row found = rowAt(row);
    view.data = found.bytes + labels;
    if (found.isLast) { // kernels read some bytes further
      if (!scratch.resize(size_t(pixels)))
        return noMemory("for an image");
      std::memcpy(scratch.data(), view.data, size_t(pixels));
      view.data = scratch.data();
    }
    return view;
  }

  void prefetch(int64_t row, int column) const override {
    constexpr int64_t line = 64;
    const uint8_t *begin = rowAt(row).bytes;
    const int64_t bytes = column == Image ? labels + pixels : 1;
    for (int64_t offset = 0; offset < bytes; offset += line)
      __builtin_prefetch(begin + offset, 0, 2);
  }

private:
  struct Row {
    const uint8_t *bytes;
    bool isLast; ///< of its file
  };
  Row rowAt(int64_t row) const {
    auto part = std::upper_bound(parts.begin(), parts.end(), row,
                                 [](int64_t wanted, const Part &p) { return wanted < p.end; });
    const int64_t begin = part == parts.begin() ? 0 : (part - 1)->end;
    return {part->mapping.bytes.data() + (row - begin) * (labels + pixels), row + 1 == part->end};
  }

  std::vector<Part> parts;
  int64_t labels;
  std::vector<std::string> names;
};

/// A line for each class; nothing where the file is missing or has another number of them:
/// the names are for people.
std::vector<std::string> readNames(FileSystem &files, const std::string &path, size_t classes) {
  constexpr uint64_t most = 1 << 16;
  Buffer bytes;
  if (!files.readFile(path, bytes, most))
    return {};
  std::vector<std::string> names;
  std::istringstream text(std::string(bytes.data(), bytes.data() + bytes.size()));
  for (std::string line; std::getline(text, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' '))
      line.pop_back();
    if (!line.empty())
      names.push_back(std::move(line));
  }
  return names.size() == classes ? names : std::vector<std::string>();
}

} // namespace

Result<std::unique_ptr<Source>> openCifar(FileSystem &files, const std::string &root, Cifar kind,
                                          bool train) {
  const Version version = versionOf(kind);
  const std::vector<const char *> &names = train ? version.train : version.test;
  std::string folder = root;
  if (auto inside = files.stat(root + "/" + version.folder);
      inside && inside->kind == FileKind::Folder)
    folder += std::string("/") + version.folder;
  const int64_t rowBytes = version.labels + pixels;
  std::vector<CifarSource::Part> parts;
  int64_t rows = 0;
  for (const char *name : names) {
    const std::string path = folder + "/" + name;
    auto mapping = files.mapFile(path);
    if (!mapping)
      return Error{mapping.error().code, mapping.error().message +
                                             "; the binary version has its files in a folder " +
                                             version.folder};
    const int64_t size = int64_t(mapping->bytes.size());
    if (size == 0)
      return Error{Code::Corrupt, path + " is empty"};
    if (size % rowBytes)
      return Error{Code::Corrupt,
                   path + " has " + std::to_string(size) + " bytes, which is no multiple of the " +
                       std::to_string(rowBytes) + " bytes of an image and its label"};
    rows += size / rowBytes;
    parts.push_back({std::move(*mapping), rows});
  }
  std::vector<ColumnInfo> table = {{"image", DType::u8, {{3, 3}, {side, side}, {side, side}}},
                                   {"label", DType::i64, {}}};
  if (kind == Cifar::Hundred)
    table.push_back({"coarse", DType::i64, {}});
  auto classes = readNames(files, folder + "/" + version.names, kind == Cifar::Ten ? 10 : 100);
  return std::unique_ptr<Source>(
      new CifarSource(std::move(parts), std::move(table), version.labels, std::move(classes)));
}

} // namespace penstock::runtime
