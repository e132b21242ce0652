// SPDX-License-Identifier: Apache-2.0
//
// One sample by the reference interpreter.
//
//   reference-sample FILE POSITION OUT [--set NAME=VALUE]...
//
// Imports a pipeline over `raw(...)`, several of which name their columns differently, or
// `image_folder(...)`, interprets one sample in the order of the table, and writes each output to
// OUT/<name>.raw, in the declared axis order. For the parity tests: no pass and no machine code
// stands in between.
#include "stdlib/reference/Interpreter.h"
#include "test/parity/Pictures.h"
#include "test/unit/compiler/ImportText.h"

#include "llvm/Support/raw_ostream.h"
#include <cstring>
#include <fstream>
#include <sstream>

using namespace penstock;
using reference::DType;
using reference::Field;

static std::string readFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

static DType typeNamed(llvm::StringRef name) {
  for (int i = 0; i <= static_cast<int>(DType::boolean); ++i)
    if (reference::nameOf(static_cast<DType>(i)) == std::string_view(name.data(), name.size()))
      return static_cast<DType>(i);
  return DType::u8;
}

namespace {
/// The columns of raw(...): each a file of rows.
struct RawTable : reference::Table {
  struct Column {
    reference::Tensor row; ///< its shape; rank 0 for a scalar
    bool scalar = false;
    std::string bytes;
  };
  std::map<std::string, Column> columns;

  int64_t length() const override {
    const Column &first = columns.begin()->second;
    return static_cast<int64_t>(first.bytes.size() / first.row.bytes.size());
  }
  Field field(int64_t row, const std::string &name) const override {
    const Column &column = columns.at(name);
    reference::Tensor tensor = column.row;
    std::memcpy(tensor.bytes.data(),
                column.bytes.data() + static_cast<size_t>(row) * tensor.bytes.size(),
                tensor.bytes.size());
    if (column.scalar)
      return tensor.load(0);
    return std::make_shared<const reference::Tensor>(std::move(tensor));
  }
};
} // namespace

int main(int argc, char **argv) {
  if (argc < 4)
    return 2;
  importer::ImportOptions options;
  for (int i = 4; i + 1 < argc; i += 2) {
    std::string setting = argv[i + 1];
    options.parameters[setting.substr(0, setting.find('='))] =
        setting.substr(setting.find('=') + 1);
  }
  test::Imported imported(readFile(argv[1]), options);
  llvm::errs() << imported.messages;
  if (!imported.result.module)
    return 1;

  RawTable table;
  imported.result.module->walk([&](pipe::SourceOp source) {
    if (source.getKind() != "raw")
      return;
    for (mlir::NamedAttribute column : source.getColumns()) {
      RawTable::Column &mine = table.columns[column.getName().str()];
      mlir::Type type = llvm::cast<mlir::TypeAttr>(column.getValue()).getValue();
      auto tensor = llvm::dyn_cast<pipe::NamedTensorType>(type);
      std::vector<std::string> axes;
      std::vector<int64_t> extents;
      if (tensor)
        for (const pipe::Axis &axis : tensor.getAxes()) {
          axes.push_back(axis.name);
          extents.push_back(axis.extent);
        }
      mine.scalar = !tensor;
      mine.row = reference::Tensor(
          typeNamed(pipe::scalarName(tensor ? tensor.getElementType() : type)), axes, extents);
    }
  });

  reference::BatchInputs inputs;
  inputs.positions = {std::stoull(argv[2])};
  inputs.batchPosition = inputs.positions[0];
  for (const importer::ParameterInfo &info : imported.result.parameters) {
    if (!options.parameters.contains(info.name))
      continue;
    const std::string &text = options.parameters.at(info.name);
    if (info.type == "path")
      inputs.params[info.name] = text;
    else if (info.type == "int")
      inputs.params[info.name] = reference::intScalar(std::stoll(text));
    else if (info.type == "bool")
      inputs.params[info.name] = reference::boolScalar(text == "true");
    else
      inputs.params[info.name] =
          reference::realScalar(std::stod(text), typeNamed(info.type == "f32" ? "f32" : "f64"));
  }
  inputs.rowOf = [](uint64_t position, int64_t length) {
    return static_cast<int64_t>(position) % length;
  };
  const parity::Jpeg jpeg;
  inputs.media = &jpeg;
  inputs.open = [&](const std::string &kind,
                    const std::map<std::string, Field> &args) -> std::shared_ptr<reference::Table> {
    if (kind == "image_folder")
      return std::make_shared<parity::PictureTable>(std::get<std::string>(args.at("root")));
    RawTable opened;
    for (const auto &[name, value] : args) {
      RawTable::Column &column = opened.columns[name] = table.columns[name];
      column.bytes = readFile(std::get<std::string>(value));
    }
    return std::make_shared<RawTable>(opened);
  };
  reference::BatchResult result = reference::Interpreter(*imported.result.module).run(inputs);
  if (!result.error.empty() || result.samples[0].failure) {
    llvm::errs() << (result.error.empty() ? result.samples[0].failure->message : result.error)
                 << "\n";
    return 1;
  }
  for (const reference::Output &output : result.samples[0].outputs) {
    std::ofstream out(std::string(argv[3]) + "/" + output.name + ".raw", std::ios::binary);
    reference::Tensor scalar(DType::i64, {}, {});
    const reference::Tensor *tensor = nullptr;
    if (const auto *number = std::get_if<reference::Scalar>(&output.value)) {
      scalar = reference::Tensor(number->type, {}, {});
      scalar.store(0, *number);
      tensor = &scalar;
    } else {
      tensor = std::get<reference::TensorRef>(output.value).get();
    }
    out.write(reinterpret_cast<const char *>(tensor->bytes.data()),
              static_cast<std::streamsize>(tensor->bytes.size()));
  }
  return 0;
}
