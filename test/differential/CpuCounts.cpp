// SPDX-License-Identifier: Apache-2.0
//
// Calls the kernels of a pipeline for one sample on an emulated machine, whose instructions
// bench/arm_counts counts: penstock-cpu-counts TARGET SERVER FILE.pipe COLUMN=NUMBER... SERVER is a
// command, as for penstock-differential --remote; pixels are noise, other columns have the numbers.

#include "compiler/Pipelines/Pipelines.h"
#include "mlir/Pass/PassManager.h"
#include "test/differential/JitDriver.h"
#include "test/unit/codegen/ExampleInputs.h"

#include <cstdio>

using namespace penstock;

namespace {

/// One row: columns of tensors are any bits, the others are given.
class OneRow final : public reference::Table {
public:
  OneRow(mlir::DictionaryAttr columns, std::map<std::string, double> numbers)
      : pixels(columns), columns(columns), numbers(std::move(numbers)) {}
  int64_t length() const override { return 1; }
  reference::Field field(int64_t row, const std::string &name) const override {
    const auto number = numbers.find(name);
    if (number == numbers.end())
      return pixels.field(row, name);
    mlir::Type type = llvm::cast<mlir::TypeAttr>(columns.get(name)).getValue();
    return llvm::isa<mlir::FloatType>(type)
               ? reference::realScalar(number->second,
                                       type.isF32() ? reference::DType::f32 : reference::DType::f64)
               : reference::intScalar(static_cast<int64_t>(number->second));
  }

private:
  test::ColumnTable pixels;
  mlir::DictionaryAttr columns;
  std::map<std::string, double> numbers;
};

int fail(const std::string &why) {
  std::fprintf(stderr, "penstock-cpu-counts: %s\n", why.c_str());
  return 1;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 4)
    return fail("TARGET SERVER FILE.pipe COLUMN=NUMBER...");
  const auto target = codegen::Target::named(argv[1]);
  if (!target)
    return fail(std::string("there is no target ") + argv[1]);
  std::map<std::string, double> numbers;
  for (int i = 4; i < argc; ++i) {
    const auto [name, value] = llvm::StringRef(argv[i]).split('=');
    if (value.getAsDouble(numbers[name.str()]))
      return fail(std::string("no COLUMN=NUMBER: ") + argv[i]);
  }
  test::Imported imported(test::exampleText(argv[3]), {});
  if (!imported.result.module)
    return fail(imported.messages);
  mlir::ModuleOp module = *imported.result.module;
  struct NoMedia final : reference::Media {
    std::optional<Header> probe(const std::string &, const reference::Bytes &) const override {
      return std::nullopt;
    }
    std::optional<reference::Tensor> decode(const std::string &, const std::string &,
                                            const reference::Bytes &) const override {
      return std::nullopt;
    }
    std::optional<reference::Bytes> encode(const std::string &, const reference::Tensor &,
                                           int64_t) const override {
      return std::nullopt;
    }
  } media;
  reference::BatchInputs inputs = test::exampleInputs(imported, media);
  inputs.positions = {0};
  mlir::DictionaryAttr columns;
  module.walk([&](pipe::SourceOp source) { columns = source.getColumns(); });
  inputs.open = [&](const std::string &, const auto &) {
    return std::make_shared<OneRow>(columns, numbers);
  };
  mlir::PassManager passes(&imported.context);
  pipelines::buildOptPipeline(passes, {});
  pipelines::buildKernelsPipeline(passes, {});
  if (mlir::failed(passes.run(module)))
    return fail("no kernels");
  differential::RemoteMachine machine(argv[2]);
  const differential::JitKernels kernels(module, *target, &machine);
  if (!kernels.error().empty())
    return fail(kernels.error());
  inputs.kernels = &kernels;
  const reference::BatchResult found = reference::Interpreter(module).run(inputs);
  if (!found.error.empty())
    return fail(found.error);
  for (const auto &sample : found.samples)
    if (sample.failure)
      return fail(sample.failure->message);
  for (const reference::Output &output : found.samples.at(0).outputs)
    if (const auto *tensor = std::get_if<reference::TensorRef>(&output.value))
      std::printf("%s %lld\n", output.name.c_str(), static_cast<long long>((*tensor)->count()));
}
