//===- CudaDriver.cpp - printed kernels on the CPU -------------------------===//

#include "test/differential/CudaDriver.h"
#include "codegen/cuda/Printer.h"
#include "compiler/Dialect/PipeDialect.h"
#include "compiler/Pipelines/CodePipelines.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace penstock::reference;

namespace penstock::differential {

//===--- compiling ---------------------------------------------------------===//

bool CudaKernels::load(const std::string &text) {
  std::string folder = (std::filesystem::temp_directory_path() / "penstock-cuda-XXXXXX").string();
  if (!mkdtemp(folder.data())) {
    failed = "no folder for the shim's library";
    return false;
  }
  std::ofstream(folder + "/kernels.cu") << text;
  const std::string command =
      std::string(PENSTOCK_SHIM_COMPILER) +
      " -x c++ -std=c++17 -O1 -fPIC -shared -ffp-contract=off -fwrapv -include " +
      PENSTOCK_SOURCE_DIR "/codegen/cuda/shim.h -I" PENSTOCK_SOURCE_DIR "/codegen/cuda " + folder +
      "/kernels.cu -o " + folder + "/kernels.so 2> " + folder + "/messages";
  const bool compiled = std::system(command.c_str()) == 0;
  if (compiled)
    library = dlopen((folder + "/kernels.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    std::stringstream messages;
    messages << std::ifstream(folder + "/messages").rdbuf();
    failed =
        compiled ? std::string(dlerror()) : "the text does not compile: " + messages.str() + text;
  }
  std::filesystem::remove_all(folder);
  return library;
}

CudaKernels::CudaKernels(mlir::ModuleOp module) {
  mlir::OwningOpRef<mlir::ModuleOp> device(module.clone()), rest(module.clone());
  mlir::ScopedDiagnosticHandler diagnostics(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (failed.empty() && diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      failed = diagnostic.str();
    return mlir::success();
  });
  module.walk([&](pipe::CheckOp check) { messages.push_back(check.getMessage().str()); });
  mlir::PassManager passes(module.getContext());
  pipelines::buildCudaPipeline(passes);
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
    auto threads = function->getAttrOfType<mlir::IntegerAttr>("pipe.threads");
    if (!threads)
      continue;
    Kernel &kernel = kernels[function.getSymName().str()];
    kernel.threads = static_cast<unsigned>(threads.getInt());
    kernel.isBlock =
        function->getAttrOfType<mlir::StringAttr>("pipe.mapping").getValue() == "block";
    kernel.scratch = Scratch::of(function);
    rest->lookupSymbol(function.getSymName())->erase();
  }
  host = std::make_unique<JitKernels>(*rest, codegen::Target{codegen::CpuLevel::v2});
  failed = host->error();
  if (!failed.empty() || kernels.empty() || !load(*text))
    return;
  for (auto &[name, kernel] : kernels)
    kernel.entry = dlsym(library, codegen::cudaKernelName(options, name).c_str());
}

CudaKernels::~CudaKernels() {
  if (library)
    dlclose(library);
}

//===--- calling -----------------------------------------------------------===//

std::optional<Failure> CudaKernels::launch(const std::string &name, const Kernel &kernel, int order,
                                           const std::vector<const Tensor *> &inputs,
                                           std::vector<Tensor> &outputs,
                                           const std::vector<int64_t> &scalars) const {
  constexpr size_t samples = 2;
  std::vector<Guarded> buffers;
  std::vector<pst_tensor> tensors[samples];
  std::vector<int64_t> numbers[samples];
  pst_kernel_args args[samples] = {};
  for (size_t sample = 0; sample < samples; ++sample) {
    for (const Tensor *input : inputs) {
      buffers.emplace_back(input->bytes.size(), 0);
      std::copy(input->bytes.begin(), input->bytes.end(), buffers.back().data());
      tensors[sample].push_back(viewOf(*input, buffers.back()));
    }
    for (const Tensor &output : outputs) {
      buffers.emplace_back(output.bytes.size(), 0);
      tensors[sample].push_back(viewOf(output, buffers.back()));
    }
    buffers.emplace_back(static_cast<size_t>(kernel.scratch.bytes(tensors[sample], scalars)), 0);
    numbers[sample] = scalars;
    args[sample].tensors = tensors[sample].data();
    args[sample].scalars = numbers[sample].data();
    args[sample].scratch = buffers.back().data();
    args[sample].band[1] = INT64_MAX;
  }
  using Launch = bool (*)(void *, pst_kernel_args *, int32_t *, unsigned, unsigned, unsigned, int,
                          unsigned long long);
  const auto shim = reinterpret_cast<Launch>(dlsym(library, "pst_shim_launch"));
  int32_t status[samples] = {};
  const unsigned blocks = kernel.isBlock ? 1 : 3;
  if (!shim(kernel.entry, args, status, blocks, samples, kernel.threads, order, 17))
    return Failure{"kernel `" + name + "` waits at different barriers"};
  for (const Guarded &buffer : buffers)
    if (!buffer.intact())
      return Failure{"kernel `" + name + "` writes outside its buffers"};
  if (status[0] != status[1])
    return Failure{"kernel `" + name + "` gives its samples different states"};
  if (status[0])
    return Failure{messages.at(static_cast<size_t>(status[0]) - 1), args[0].failure[0],
                   args[0].failure[1]};
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
  for (int order = 0; order < 3; ++order, ++launched) {
    auto now = launch(name, found->second, order, inputs, outputs, scalars);
    if (order > 0 && now.has_value() != failure.has_value())
      return now ? now : Failure{"kernel `" + name + "` fails in one order of its threads only"};
    failure = std::move(now);
  }
  return failure;
}

} // namespace penstock::differential
