// SPDX-License-Identifier: Apache-2.0
//
// What the kernels of a pipeline touch in a GPU's memory for one sample, counted on a CPU:
// penstock-gpu-counts FILE.pipe... bench/gpu_counts runs it.
//
// Images have 500 x 375 pixels. Kernels run behind codegen/cuda/shim.h.

#include "compiler/Pipelines/Pipelines.h"
#include "mlir/Pass/PassManager.h"
#include "test/differential/CudaDriver.h"
#include "test/unit/codegen/ExampleInputs.h"

#include <cstdio>

using namespace penstock;

namespace {

/// Photos of one size; a clip's frames have it, too.
class Photos final : public reference::Media {
public:
  static constexpr int64_t height = 375, width = 500;

  std::optional<Header> probe(const std::string &, const reference::Bytes &) const override {
    return Header{height, width, 1};
  }
  std::optional<reference::Tensor> decode(const std::string &, const std::string &format,
                                          const reference::Bytes &data) const override {
    return pixels(format == "rgb"
                      ? reference::Tensor(reference::DType::u8, {"h", "w", "c"}, {height, width, 3})
                      : reference::Tensor(reference::DType::u8, {"h", "w"}, {height, width}),
                  data);
  }
  std::optional<reference::Tensor> decodeClip(const std::string &format,
                                              const reference::Bytes &data, int64_t, int64_t count,
                                              int64_t) const override {
    return pixels(reference::Tensor(reference::DType::u8, {"t", "h", "w", "c"},
                                    {count, height, width, format == "rgb" ? 3 : 1}),
                  data);
  }
  std::optional<reference::Bytes> encode(const std::string &, const reference::Tensor &,
                                         int64_t) const override {
    return std::nullopt;
  }

private:
  static reference::Tensor pixels(reference::Tensor image, const reference::Bytes &data) {
    for (size_t i = 0; i < image.bytes.size(); ++i)
      image.bytes[i] = static_cast<uint8_t>(random::mix((*data)[2], i));
    return image;
  }
};

/// False, and a message, where the pipeline has no kernels for a GPU.
bool count(const std::string &file) {
  test::Imported imported(test::exampleText(file));
  if (!imported.result.module) {
    std::fprintf(stderr, "%s: %s\n", file.c_str(), imported.messages.c_str());
    return false;
  }
  const Photos media;
  reference::BatchInputs inputs = test::exampleInputs(imported, media);
  mlir::PassManager passes(&imported.context);
  pipelines::buildOptPipeline(passes, {});
  pipelines::buildKernelsPipeline(passes, {});
  if (mlir::failed(passes.run(*imported.result.module)))
    return false;
  differential::CudaKernels kernels(*imported.result.module);
  if (!kernels.error().empty()) {
    std::fprintf(stderr, "%s: %s\n", file.c_str(), kernels.error().c_str());
    return false;
  }
  pst_shim_counts counts = {};
  kernels.countInto(&counts);
  inputs.kernels = &kernels;
  const auto found = reference::Interpreter(*imported.result.module).run(inputs);
  const std::string error = !kernels.error().empty() ? kernels.error() : found.error;
  if (!error.empty()) {
    std::fprintf(stderr, "%s: %s\n", file.c_str(), error.c_str());
    return false;
  }
  for (const auto &sample : found.samples)
    if (sample.failure)
      std::fprintf(stderr, "%s: %s\n", file.c_str(), sample.failure->message.c_str());
  const auto samples = static_cast<uint64_t>(inputs.positions.size());
  std::printf("%s launches %lld loads %llu stores %llu load_bytes %llu store_bytes %llu wide_bytes "
              "%llu load_sectors %llu "
              "store_sectors %llu fewest_load_sectors %llu fewest_store_sectors %llu "
              "shared_accesses %llu\n",
              std::filesystem::path(file).stem().c_str(),
              static_cast<long long>(kernels.launches() / static_cast<int64_t>(samples)),
              static_cast<unsigned long long>(counts.loads / samples),
              static_cast<unsigned long long>(counts.stores / samples),
              static_cast<unsigned long long>(counts.load_bytes / samples),
              static_cast<unsigned long long>(counts.store_bytes / samples),
              static_cast<unsigned long long>(counts.wide_bytes / samples),
              static_cast<unsigned long long>(counts.load_sectors / samples),
              static_cast<unsigned long long>(counts.store_sectors / samples),
              static_cast<unsigned long long>(counts.fewest_load_sectors / samples),
              static_cast<unsigned long long>(counts.fewest_store_sectors / samples),
              static_cast<unsigned long long>(counts.shared_accesses / samples));
  return true;
}

} // namespace

int main(int argc, char **argv) {
  bool good = argc > 1;
  for (int i = 1; i < argc; ++i)
    good &= count(argv[i]);
  return good ? 0 : 1;
}
