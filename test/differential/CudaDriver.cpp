// SPDX-License-Identifier: Apache-2.0
//
// Printed kernels on the CPU.
#include "test/differential/CudaDriver.h"
#include "codegen/cuda/Printer.h"
#include "codegen/plan/PlanKernels.h"
#include "compiler/Pipelines/CodePipelines.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/core/LaunchRecord.h"
#include "test/differential/ShimCounts.h"
#include <algorithm>
#include <cstring>

using namespace penstock::reference;

namespace penstock::differential {

//===--- compiling ---------------------------------------------------------===//

bool CudaKernels::load(const std::string &text) {
  std::string error;
  library = ShimLibrary::compile(text, error);
  if (!library)
    failed = error;
  return library != nullptr;
}

CudaKernels::CudaKernels(mlir::ModuleOp module, bool tiny) {
  mlir::OwningOpRef<mlir::ModuleOp> device(module.clone()), rest(module.clone());
  mlir::ScopedDiagnosticHandler diagnostics(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (failed.empty() && diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      failed = diagnostic.str();
    return mlir::success();
  });
  module.walk([&](pipe::CheckOp check) { messages.push_back(check.getMessage().str()); });
  mlir::PassManager passes(module.getContext());
  pipelines::buildCudaPipeline(passes, tiny);
  if (mlir::failed(passes.run(*device))) {
    failed = failed.empty() ? "no kernels for a GPU, without a reason" : failed;
    return;
  }
  const codegen::CudaPrinterOptions options{"test", {}};
  auto text = codegen::cudaText(*device, options);
  if (!text) {
    failed = failed.empty() ? "no CUDA text, without a reason" : failed;
    return;
  }
  for (auto function : device->getOps<mlir::func::FuncOp>()) {
    const auto launch = conversion::launchOf(function);
    if (!launch)
      continue;
    Kernel &kernel = kernels[function.getSymName().str()];
    kernel.threads = static_cast<unsigned>(launch->threads);
    kernel.isBlock = launch->isOneBlock();
    kernel.shared = static_cast<size_t>(launch->shared.value_or(0));
    kernel.scratch = Scratch::of(function);
    kernel.record = codegen::recordOf(function);
    rest->lookupSymbol(function.getSymName())->erase();
  }
  host = std::make_unique<JitKernels>(*rest, codegen::Target{codegen::CpuLevel::v2});
  failed = host->error();
  if (!failed.empty() || kernels.empty() || !load(*text))
    return;
  for (auto &[name, kernel] : kernels)
    kernel.entry = library->kernel(codegen::cudaKernelName(options, name));
}

CudaKernels::~CudaKernels() = default;

//===--- calling -----------------------------------------------------------===//

std::optional<Failure> CudaKernels::launch(const std::string &name, const Kernel &kernel, int order,
                                           const std::vector<const Tensor *> &inputs,
                                           std::vector<Tensor> &outputs,
                                           const std::vector<int64_t> &scalars) const {
  constexpr size_t samples = 2;
  std::vector<Guarded> buffers;
  ShimRegions regions;
  std::vector<pst_tensor> tensors[samples];
  const size_t width = kernel.record.size();
  std::vector<int64_t> records(samples * width);
  for (size_t sample = 0; sample < samples; ++sample) {
    auto name = [&](const char *what) {
      return what + std::to_string(tensors[sample].size()) + " of sample " + std::to_string(sample);
    };
    // The second one's do not begin where wide accesses may, as regions of images and a batch's
    // samples.
    auto add = [&](const Tensor &tensor, size_t slack) {
      const size_t off = counts ? 0 : sample * 13 * static_cast<size_t>(bytesOf(tensor.type)) % 64;
      buffers.emplace_back(off + tensor.bytes.size(), slack);
      pst_tensor view = viewOf(tensor, buffers.back());
      view.data = buffers.back().data() + off;
      tensors[sample].push_back(view);
      return static_cast<uint8_t *>(view.data);
    };
    for (const Tensor *input : inputs) {
      const std::string which = name("input ");
      uint8_t *data = add(*input, PST_DEVICE_SLACK);
      std::copy(input->bytes.begin(), input->bytes.end(), data);
      regions.reads(which, data, input->bytes.size(), PST_DEVICE_SLACK);
    }
    for (const Tensor &output : outputs) {
      const std::string which = name("output ");
      regions.writes(which, add(output, 0), output.bytes.size());
    }
    const auto scratch = static_cast<size_t>(kernel.scratch.bytes(tensors[sample], scalars));
    buffers.emplace_back(scratch, 0);
    regions.writes("scratch of sample " + std::to_string(sample), buffers.back().data(), scratch);
    runtime::packRecord(kernel.record, static_cast<int64_t>(sample) + 1, tensors[sample].data(),
                        scalars.data(), buffers.back().data(), records.data() + sample * width);
  }
  // The last has failed a check before: nothing of it may be touched.
  const int32_t failedBefore = 99;
  if (!counts) {
    records.resize((samples + 1) * width);
    records[samples * width] = samples + 1;
  }
  pst_sample_status status[samples + 2] = {};
  status[samples + 1].check = failedBefore;
  regions.hands("the records", records.data(), records.size() * sizeof(int64_t), false);
  regions.hands("the states", status, sizeof status, true);
  pst_shim_launch launch = {};
  launch.kernel = kernel.entry;
  launch.samples = records.data();
  launch.status = status;
  launch.blocks = kernel.isBlock ? 1 : 3;
  launch.count = samples + !counts;
  launch.threads = kernel.threads;
  launch.shared_bytes = kernel.shared;
  launch.order = order;
  launch.seed = 17;
  pst_shim_counts both = {};
  launch.counts = counts ? &both : nullptr;
  if (std::string fault = library->run(launch, regions); !fault.empty())
    return Failure{"kernel `" + name + "`: " + fault};
  if (counts)
    addCounts((*counts)[name], both, samples);
  for (const Guarded &buffer : buffers)
    if (!buffer.intact())
      return Failure{"kernel `" + name + "` writes outside its buffers"};
  if (status[0].check != 0 || status[samples + 1].check != failedBefore)
    return Failure{"kernel `" + name + "` changes the states of others"};
  const pst_sample_status &first = status[1], &second = status[2];
  if (first.check != second.check)
    return Failure{"kernel `" + name + "` gives its samples different states"};
  if (first.check)
    return Failure{messages.at(static_cast<size_t>(first.check) - 1), first.values[0],
                   first.values[1]};
  for (size_t i = 0; i < outputs.size(); ++i) {
    const void *first = tensors[0][inputs.size() + i].data,
               *second = tensors[1][inputs.size() + i].data;
    const size_t size = outputs[i].bytes.size();
    if (size && std::memcmp(first, second, size) != 0)
      return Failure{"kernel `" + name + "` gives equal samples different results"};
    if (size && order > 0 && std::memcmp(first, outputs[i].bytes.data(), size) != 0)
      return Failure{"kernel `" + name + "` depends on the order of its threads"};
    if (size)
      std::memcpy(outputs[i].bytes.data(), first, size);
  }
  return std::nullopt;
}

std::optional<Failure> CudaKernels::run(const std::string &name,
                                        const std::vector<const Tensor *> &inputs,
                                        std::vector<Tensor> &outputs,
                                        std::vector<int64_t> &scalars) const {
  const auto found = kernels.find(name);
  if (found == kernels.end())
    return host->run(name, inputs, outputs, scalars);
  std::optional<Failure> failure;
  for (int order = 0; order < (counts ? 1 : 3); ++order, ++launched) {
    auto now = launch(name, found->second, order, inputs, outputs, scalars);
    if (order > 0 && now.has_value() != failure.has_value())
      return now ? now : Failure{"kernel `" + name + "` fails in one order of its threads only"};
    failure = std::move(now);
  }
  return failure;
}

} // namespace penstock::differential
