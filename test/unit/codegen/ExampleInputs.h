// SPDX-License-Identifier: Apache-2.0
//
// Every example and probe of the repository, imported, with rows and pictures
// that are made up.
#pragma once

#include "runtime/abi/random.h"
#include "stdlib/reference/Interpreter.h"
#include "test/unit/compiler/ImportText.h"

#include <bit>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

namespace penstock::test {

/// Paths of the examples and probes, in order.
inline std::vector<std::string> exampleFiles() {
  std::vector<std::string> files;
  for (const char *folder : {"/examples", "/examples/probes"})
    for (const auto &entry :
         std::filesystem::directory_iterator(PENSTOCK_SOURCE_DIR + std::string(folder)))
      if (entry.path().extension() == ".pipe")
        files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

inline std::string exampleText(const std::string &file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// Rows for the columns of a source: any bits, and specials among the floats.
class ColumnTable final : public reference::Table {
public:
  explicit ColumnTable(mlir::DictionaryAttr columns) : columns(columns) {}

  int64_t length() const override { return 11; }

  reference::Field field(int64_t row, const std::string &name) const override {
    mlir::Type type = llvm::cast<mlir::TypeAttr>(columns.get(name)).getValue();
    const uint64_t key = random::mix(static_cast<uint64_t>(row), random::drawId(name));
    // A picture: height, width, a number, and whether it is one of floats. Every third is large
    // enough for crops. What stands behind them are numbers for those who read bytes as such.
    const int least = row % 3 == 0 ? 226 : 30;
    if (llvm::isa<pipe::BytesType>(type)) {
      std::vector<uint8_t> file(static_cast<size_t>(160 * (row + 1)));
      for (size_t i = 0; i < file.size(); ++i)
        file[i] = static_cast<uint8_t>(i % 4 == 3 ? 0x40 : random::mix(key, i));
      file[0] = static_cast<uint8_t>(least + key % 29);
      file[1] = static_cast<uint8_t>(least + key / 64 % 29);
      file[2] = static_cast<uint8_t>(row);
      if (name == "disparity")
        file[3] = 32;
      return std::make_shared<const std::vector<uint8_t>>(std::move(file));
    }
    if (llvm::isa<pipe::TextType>(type))
      return "row " + std::to_string(row);
    auto tensorType = llvm::dyn_cast<pipe::NamedTensorType>(type);
    if (!tensorType && type.isF64()) // may be seconds of a sound: within the shortest
      return reference::realScalar(static_cast<double>(key >> 40) / (1 << 25), typeNamed(type));
    if (!tensorType)
      return element(typeNamed(type), key);
    std::vector<std::string> axes;
    std::vector<int64_t> extents;
    for (const pipe::Axis &axis : tensorType.getAxes()) {
      axes.push_back(axis.name);
      extents.push_back(axis.isStatic() ? axis.extent
                                        : row % ((axis.bound < 0 ? 9 : axis.bound) + 1));
    }
    auto tensor =
        std::make_shared<reference::Tensor>(typeNamed(tensorType.getElementType()), axes, extents);
    for (int64_t i = 0; i < tensor->count(); ++i)
      tensor->store(i, element(tensor->type, random::mix(key, static_cast<uint64_t>(i))));
    return reference::TensorRef(tensor);
  }

private:
  static reference::DType typeNamed(mlir::Type type) {
    for (int i = 0; i < static_cast<int>(reference::DType::boolean); ++i)
      if (reference::nameOf(static_cast<reference::DType>(i)) == pipe::scalarName(type).str())
        return static_cast<reference::DType>(i);
    return reference::DType::boolean;
  }
  static reference::Scalar element(reference::DType type, uint64_t bits) {
    if (type == reference::DType::boolean)
      return reference::boolScalar(bits & 1);
    if (!reference::isFloat(type))
      return reference::intScalar(static_cast<int64_t>(bits >> 20) % 100, type);
    constexpr double specials[] = {-0.0, std::numeric_limits<double>::infinity(),
                                   std::numeric_limits<double>::quiet_NaN(), 1e-40};
    return reference::realScalar(
        bits % 64 == 0 ? specials[(bits >> 8) % 4] : static_cast<double>(bits >> 40) * 1e-5, type);
  }

  mlir::DictionaryAttr columns;
};

/// Pictures, sounds and volumes whose bytes say how large they are.
class MadeUpMedia final : public reference::Media {
public:
  std::optional<Header> probe(const std::string &media,
                              const reference::Bytes &data) const override {
    if (media == "wave") // rate, channels, samples, bits
      return Header{16000, 2, 100 * (*data)[0], 16, std::bit_cast<int64_t>((*data)[0] / 160.0)};
    if (media == "nifti") { // files of a row have one size
      Header header{};
      for (size_t axis = 0; axis < 7; ++axis)
        header[media::niftiExtent + axis] = axis < 3 ? 9 + (*data)[2] + int64_t(axis) : 1;
      for (size_t axis = 0; axis < 3; ++axis) {
        const auto distance = std::bit_cast<int64_t>(0.75 + 0.5 * static_cast<double>(axis));
        header[media::niftiDistance + axis] = distance;
        header[media::niftiUpright + (axis + 1) % 3] = header[media::niftiExtent + axis];
        header[media::niftiUprightDistance + (axis + 1) % 3] = distance;
      }
      return header;
    }
    return Header{(*data)[0], (*data)[1], 1, (*data)[3] == 32 ? 32 : 16, 1};
  }
  std::optional<reference::Tensor> decode(const std::string &media, const std::string &format,
                                          const reference::Bytes &data) const override {
    if (media == "wave") {
      const bool isMono = format == "mono";
      reference::Tensor sound(reference::DType::f32, {"t"}, {100 * (*data)[0]});
      if (!isMono)
        sound = reference::Tensor(reference::DType::f32, {"t", "c"}, {100 * (*data)[0], 2});
      for (int64_t i = 0; i < sound.count(); ++i)
        sound.store(
            i, reference::realScalar(
                   static_cast<double>(random::mix((*data)[2], static_cast<uint64_t>(i)) % 65536) /
                           32768.0 -
                       1.0,
                   reference::DType::f32));
      return sound;
    }
    const auto type = format.ends_with("32")   ? reference::DType::f32
                      : format.ends_with("16") ? reference::DType::u16
                                               : reference::DType::u8;
    reference::Tensor image(type, {"h", "w"}, {(*data)[0], (*data)[1]});
    if (format.starts_with("rgb"))
      image = reference::Tensor(type, {"h", "w", "c"}, {(*data)[0], (*data)[1], 3});
    for (size_t i = 0; i < image.bytes.size(); ++i)
      image.bytes[i] = static_cast<uint8_t>(random::mix((*data)[2], i));
    return image;
  }
  std::optional<reference::Tensor> decodeArray(const std::string &, const reference::Bytes &data,
                                               bool orient,
                                               reference::Tensor blank) const override {
    for (int64_t i = 0; i < blank.count(); ++i) {
      const auto value = static_cast<int64_t>(
          random::mix((*data)[2], static_cast<uint64_t>(2 * i + orient)) % 2000);
      blank.store(i, reference::isFloat(blank.type)
                         ? reference::realScalar(static_cast<double>(value - 1000), blank.type)
                         : reference::intScalar(value % 100, blank.type));
    }
    return blank;
  }
  std::optional<reference::Tensor> decodeClip(const std::string &format,
                                              const reference::Bytes &data, int64_t first,
                                              int64_t count, int64_t step) const override {
    const int64_t frame = int64_t((*data)[0]) * (*data)[1] * (format == "rgb" ? 3 : 1);
    reference::Tensor clip(reference::DType::u8, {"t", "h", "w", "c"},
                           {count, (*data)[0], (*data)[1], format == "rgb" ? 3 : 1});
    for (int64_t i = 0; i < clip.count(); ++i)
      clip.bytes[static_cast<size_t>(i)] = static_cast<uint8_t>(random::mix(
          (*data)[2], static_cast<uint64_t>((first + i / frame * step) * frame + i % frame)));
    return clip;
  }
  /// A file that decode() makes another picture of, which depends on every pixel.
  std::optional<reference::Bytes> encode(const std::string &format, const reference::Tensor &value,
                                         int64_t quality) const override {
    uint64_t hash = random::mix(format.size(), static_cast<uint64_t>(quality));
    for (uint8_t byte : value.bytes)
      hash = random::mix(hash, byte);
    return std::make_shared<const std::vector<uint8_t>>(
        std::vector<uint8_t>{static_cast<uint8_t>(value.extents[0]),
                             static_cast<uint8_t>(value.extents[1]), static_cast<uint8_t>(hash)});
  }
};

/// Two samples of an imported pipeline, or the whole batch that it computes over. `media` must
/// live on.
inline reference::BatchInputs exampleInputs(const Imported &imported,
                                            const reference::Media &media) {
  reference::BatchInputs inputs;
  inputs.seed = 5;
  inputs.epoch = 2;
  inputs.positions = {0, 1};
  const_cast<Imported &>(imported).result.module->walk([&](pipe::PeersOp peers) {
    const pipe::Axis &all = llvm::cast<pipe::NamedTensorType>(peers.getType()).getAxes()[0];
    for (auto next = static_cast<int64_t>(inputs.positions.size()); next < all.extent; ++next)
      inputs.positions.push_back(next);
  });
  inputs.media = &media;
  for (const importer::ParameterInfo &info : imported.result.parameters)
    if (info.type == "path" && !info.defaultText)
      inputs.params[info.name] = std::string("/nowhere");
  std::map<std::string, mlir::DictionaryAttr> columns;
  const_cast<Imported &>(imported).result.module->walk(
      [&](pipe::SourceOp source) { columns[source.getKind().str()] = source.getColumns(); });
  inputs.open = [columns](const std::string &kind, const auto &) {
    return std::make_shared<ColumnTable>(columns.at(kind));
  };
  return inputs;
}

} // namespace penstock::test
