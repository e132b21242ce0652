// SPDX-License-Identifier: Apache-2.0
//
// A fault that the command line repeats.
#include "test/differential/PipeText.h"
#include "test/unit/compiler/ImportText.h"
#include <filesystem>
#include <fstream>
#include <numeric>

using namespace penstock::reference;
namespace fs = std::filesystem;

namespace penstock::differential {

/// The bytes of a field, as a raw column holds them.
static std::vector<uint8_t> bytesOfField(const Field &field) {
  if (const auto *tensor = std::get_if<TensorRef>(&field))
    return (*tensor)->bytes;
  const auto *number = std::get_if<Scalar>(&field);
  if (!number)
    return {};
  Tensor one(number->type, {}, {});
  one.store(0, *number);
  return one.bytes;
}

static void writeBytes(const fs::path &path, const std::vector<uint8_t> &bytes,
                       std::ios::openmode more = {}) {
  std::ofstream(path, std::ios::binary | more)
      .write(reinterpret_cast<const char *>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

namespace {
/// A table with its rows over and over.
class Repeated final : public Table {
public:
  Repeated(std::shared_ptr<Table> table, int64_t rows) : table(std::move(table)), rows(rows) {}
  int64_t length() const override { return rows; }
  Field field(int64_t row, const std::string &name) const override {
    return table->field(row % table->length(), name);
  }

private:
  std::shared_ptr<Table> table;
  int64_t rows;
};
} // namespace

/// The first batch of epoch 0, with the seed that the text states. A batch may have more samples
/// than its table has rows, of several epochs; the files then have a row for each.
static BatchInputs firstBatch(BatchInputs inputs) {
  const std::shared_ptr<Table> table = inputs.open("raw", {});
  if (table->length() < std::ssize(inputs.positions)) {
    const auto repeated = std::make_shared<Repeated>(table, std::ssize(inputs.positions));
    inputs.open = [repeated](const std::string &, const std::map<std::string, Field> &) {
      return repeated;
    };
  }
  inputs.seed = 7;
  inputs.epoch = 0;
  inputs.batchPosition = 0;
  std::iota(inputs.positions.begin(), inputs.positions.end(), uint64_t{0});
  return inputs;
}

static std::vector<std::string> columnsOf(mlir::ModuleOp module) {
  std::vector<std::string> names;
  module.walk([&](pipe::SourceOp source) {
    for (mlir::NamedAttribute column : source.getColumns())
      names.push_back(column.getName().str());
  });
  return names;
}

static std::string notWritten(const std::string &reason) {
  return "(no .pipe file: " + reason + ")\n";
}

std::string writePipe(mlir::ModuleOp module, const BatchInputs &given, const std::string &folder,
                      const Differs &differs) {
  const auto text = pipeText(module);
  if (!text)
    return notWritten("the language has no words for it");
  // Imported again, it must still show the fault.
  importer::ImportOptions options;
  const std::vector<std::string> columns = columnsOf(module);
  std::string settings;
  for (const std::string &column : columns) {
    options.parameters[column] = folder + "/" + column + ".raw";
    settings += " --set " + column + "=" + folder + "/" + column + ".raw";
  }
  test::Imported imported(*text, options);
  BatchInputs inputs = firstBatch(given);
  for (const std::string &column : columns)
    inputs.params[column] = options.parameters[column];
  if (!imported.result.module)
    return notWritten("it is refused\n" + *text + imported.messages);
  if (!differs(*imported.result.module, inputs))
    return notWritten("the fault is not in\n" + *text);
  const BatchResult right = Interpreter(*imported.result.module).run(inputs);

  fs::create_directories(fs::path(folder) / "right");
  const std::shared_ptr<Table> table = inputs.open("raw", {});
  for (const std::string &column : columns) {
    writeBytes(fs::path(folder) / (column + ".raw"), {});
    for (int64_t row = 0; row < table->length(); ++row)
      writeBytes(fs::path(folder) / (column + ".raw"), bytesOfField(table->field(row, column)),
                 std::ios::app);
  }
  // Which sample is wrong is told by the difference; all of the batch are written.
  std::string commands;
  for (size_t slot = 0; slot < right.samples.size(); ++slot) {
    const fs::path place = fs::path(folder) / "right" / std::to_string(slot);
    fs::create_directories(place);
    for (const Output &output : right.samples[slot].outputs)
      writeBytes(place / (output.name + ".raw"),
                 bytesOfField(std::holds_alternative<Scalar>(output.value)
                                  ? Field(std::get<Scalar>(output.value))
                                  : Field(std::get<TensorRef>(output.value))));
    commands += "penstock sample " + folder + "/case.pipe" + settings + " --position " +
                std::to_string(slot) + " -o " + folder + "/found/" + std::to_string(slot) + "\n";
  }
  commands += "diff -rq " + folder + "/right " + folder + "/found\n";
  std::ofstream(fs::path(folder) / "case.pipe") << *text;
  return *text + "\n" + commands;
}

} // namespace penstock::differential
