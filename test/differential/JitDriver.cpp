// SPDX-License-Identifier: Apache-2.0
//
// Generated code under the reference's hands.
#include "test/differential/JitDriver.h"
#include "codegen/cpu/Compile.h"
#include "compiler/Pipelines/CodePipelines.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "runtime/core/Image.h"
#include "runtime/core/KernelTable.h"
#include <cstring>

using namespace penstock::reference;

namespace penstock::differential {

//===--- compiling ---------------------------------------------------------===//

JitKernels::JitKernels(mlir::ModuleOp module, const codegen::Target &target) {
  mlir::OwningOpRef<mlir::ModuleOp> own(module.clone());
  mlir::ScopedDiagnosticHandler diagnostics(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (failed.empty() && diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      failed = diagnostic.str();
    return mlir::success();
  });
  mlir::PassManager toLoops(module.getContext()), toLLVM(module.getContext());
  pipelines::buildSchedulePipeline(toLoops, static_cast<int>(target.level));
  pipelines::buildLoopsPipeline(toLoops);
  pipelines::buildLLVMPipeline(toLLVM);
  if (mlir::failed(toLoops.run(*own))) {
    if (failed.empty())
      failed = "no loops, without a reason";
    return;
  }
  readAttributes(*own);
  if (mlir::failed(toLLVM.run(*own))) {
    if (failed.empty())
      failed = "no LLVM dialect, without a reason";
    return;
  }
  auto bytes = codegen::compileImage(*own, target);
  if (!bytes) {
    failed = llvm::toString(bytes.takeError());
    return;
  }
  auto loaded = runtime::Image::load(*bytes);
  if (loaded)
    image = *loaded;
  else
    failed = loaded.error().message;
}

JitKernels::~JitKernels() = default;

void JitKernels::readAttributes(mlir::ModuleOp loops) {
  for (auto function : loops.getOps<mlir::func::FuncOp>()) {
    scratch[function.getSymName().str()] = Scratch::of(function);
    if (auto checks = function->getAttrOfType<mlir::ArrayAttr>("pipe.checks"))
      for (auto check : checks.getAsRange<mlir::DictionaryAttr>())
        messages.push_back(llvm::cast<mlir::StringAttr>(check.get("message")).str());
  }
}

//===--- calling -----------------------------------------------------------===//

std::optional<Failure> JitKernels::run(const std::string &kernel,
                                       const std::vector<const Tensor *> &inputs,
                                       std::vector<Tensor> &outputs,
                                       std::vector<int64_t> &scalars) const {
  std::vector<Guarded> buffers;
  std::vector<pst_tensor> tensors;
  for (const Tensor *input : inputs) {
    buffers.emplace_back(input->bytes.size(), 64);
    std::memcpy(buffers.back().data(), input->bytes.data(), input->bytes.size());
    tensors.push_back(viewOf(*input, buffers.back()));
  }
  for (const Tensor &output : outputs) {
    buffers.emplace_back(output.bytes.size(), 0);
    tensors.push_back(viewOf(output, buffers.back()));
  }
  const int64_t scratchSize =
      scratch.count(kernel) ? scratch.at(kernel).bytes(tensors, scalars) : 0;
  buffers.emplace_back(static_cast<size_t>(scratchSize), 0);

  pst_kernel_args args = {};
  args.tensors = tensors.data();
  args.scalars = scalars.data();
  args.scratch = buffers.back().data();
  args.band[1] = INT64_MAX;
  args.stop = &runtime::neverStops;
  const pst_kernel entry = image->find(kernel);
  if (!entry)
    return Failure{"the image has no kernel `" + kernel + "`"};
  if (const int32_t id = entry(&args))
    return Failure{static_cast<size_t>(id) <= messages.size()
                       ? messages[static_cast<size_t>(id) - 1]
                       : "check " + std::to_string(id),
                   args.failure[0], args.failure[1]};
  for (size_t i = 0; i < outputs.size(); ++i)
    std::memcpy(outputs[i].bytes.data(), buffers[inputs.size() + i].data(),
                outputs[i].bytes.size());
  for (const Guarded &buffer : buffers)
    if (!buffer.intact())
      return Failure{"kernel `" + kernel + "` writes outside its buffers"};
  return std::nullopt;
}

} // namespace penstock::differential
