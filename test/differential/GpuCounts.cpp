// SPDX-License-Identifier: Apache-2.0
//
// Counts a pipeline's accesses to a GPU's memory for one sample, on a CPU:
// penstock-gpu-counts [--each] FILE.pipe[:PIPELINE]... bench/gpu_counts runs it.
//
// Images have 500 x 375 pixels. Kernels run behind codegen/cuda/shim.h.

#include "compiler/Pipelines/Pipelines.h"
#include "mlir/Pass/PassManager.h"
#include "test/differential/CudaDriver.h"
#include "test/differential/ShimCounts.h"
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

using Counts = differential::CudaKernels::Counts;

/// Returns whether the elements that a kernel makes are of those at places that views say: no sums,
/// no windows, nothing that is looked up.
bool isPointwise(pipe::KernelOp kernel) {
  const auto other = kernel.walk([](mlir::Operation *op) {
    const bool looksUp = llvm::isa<pipe::LoadOp>(op);
    const bool isTensor = llvm::any_of(op->getResultTypes(), [](mlir::Type type) {
      return llvm::isa<pipe::NamedTensorType>(type);
    });
    return looksUp || (isTensor && !llvm::isa<pipe::ViewOp, pipe::MapOp, pipe::CastOp, pipe::PadOp,
                                              pipe::ChooseOp, pipe::StackOp, pipe::ConstantOp>(op))
               ? mlir::WalkResult::interrupt()
               : mlir::WalkResult::advance();
  });
  return !other.wasInterrupted();
}

void print(const std::string &what, int64_t launches, const pst_shim_counts &counts,
           uint64_t samples) {
  std::printf("%s%s\n", what.c_str(), differential::countsText(launches, counts, samples).c_str());
}

/// A line for all kernels, and one for those that are pointwise; with `each`, one for each kernel.
/// False, and a message, where the pipeline has no kernels for a GPU.
bool count(const std::string &which, bool each) {
  const size_t colon = which.rfind(':');
  const std::string file = which.substr(0, colon);
  importer::ImportOptions options;
  if (colon != std::string::npos)
    options.pipeline = which.substr(colon + 1);
  test::Imported imported(test::exampleText(file), options);
  if (!imported.result.module) {
    std::fprintf(stderr, "%s: %s\n", which.c_str(), imported.messages.c_str());
    return false;
  }
  const Photos media;
  reference::BatchInputs inputs = test::exampleInputs(imported, media);
  mlir::PassManager passes(&imported.context);
  const auto selection = pipelines::PassSelection::ofDevice({"sm_90"});
  pipelines::buildOptPipeline(passes, selection);
  pipelines::buildKernelsPipeline(passes, selection);
  if (mlir::failed(passes.run(*imported.result.module)))
    return false;
  differential::CudaKernels kernels(*imported.result.module);
  Counts counts;
  kernels.countInto(&counts);
  inputs.kernels = &kernels;
  const auto found = kernels.error().empty()
                         ? reference::Interpreter(*imported.result.module).run(inputs)
                         : reference::BatchResult();
  const std::string error = !kernels.error().empty() ? kernels.error() : found.error;
  if (!error.empty()) {
    std::fprintf(stderr, "%s: %s\n", which.c_str(), error.c_str());
    return false;
  }
  for (const auto &sample : found.samples)
    if (sample.failure)
      std::fprintf(stderr, "%s: %s\n", which.c_str(), sample.failure->message.c_str());
  const auto samples = static_cast<uint64_t>(inputs.positions.size());
  const std::string name = std::filesystem::path(file).stem();
  pst_shim_counts all = {}, pointwise = {};
  int64_t pointwiseKernels = 0;
  for (auto kernel : imported.result.module->getOps<pipe::KernelOp>()) {
    const auto counted = counts.find(kernel.getSymName().str());
    if (counted == counts.end())
      continue;
    differential::addCounts(all, counted->second);
    const bool isOne = isPointwise(kernel);
    if (isOne)
      differential::addCounts(pointwise, counted->second);
    pointwiseKernels += isOne;
    if (each)
      print(name + "." + counted->first + (isOne ? " pointwise" : " other"), 1, counted->second,
            samples);
  }
  print(name + " all", kernels.launches() / static_cast<int64_t>(samples), all, samples);
  print(name + " pointwise", pointwiseKernels, pointwise, samples);
  return true;
}

} // namespace

int main(int argc, char **argv) {
  const bool each = argc > 1 && std::string(argv[1]) == "--each";
  const int first = each ? 2 : 1;
  bool good = argc > first;
  for (int i = first; i < argc; ++i)
    good &= count(argv[i], each);
  return good ? 0 : 1;
}
