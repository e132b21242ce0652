// SPDX-License-Identifier: Apache-2.0
//
// Generated code under the reference's hands.
#include "test/differential/JitDriver.h"
#include "codegen/cpu/Compile.h"
#include "compiler/Pipelines/CodePipelines.h"
#include "mlir/IR/Diagnostics.h"
#include "test/differential/ForcedLoops.h"

using namespace penstock::reference;

namespace penstock::differential {

//===--- compiling ---------------------------------------------------------===//

JitKernels::JitKernels(mlir::ModuleOp module, const codegen::Target &target, RemoteMachine *remote,
                       bool forced)
    : remote(remote) {
  mlir::OwningOpRef<mlir::ModuleOp> own(module.clone());
  mlir::ScopedDiagnosticHandler diagnostics(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (failed.empty() && diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      failed = diagnostic.str();
    return mlir::success();
  });
  mlir::PassManager toSchedule(module.getContext()), toLoops(module.getContext()),
      toLLVM(module.getContext());
  pipelines::buildSchedulePipeline(toSchedule, static_cast<int>(target.level));
  pipelines::buildLoopsPipeline(toLoops);
  pipelines::buildLLVMPipeline(toLLVM, static_cast<int>(target.level));
  mlir::LogicalResult scheduled = toSchedule.run(*own);
  if (forced && mlir::succeeded(scheduled))
    forceLoops(*own);
  for (auto kernel : own->getOps<pipe::KernelOp>())
    if (auto schedule = kernel.getSchedule())
      if (auto numbers = schedule->getAs<mlir::DenseI64ArrayAttr>("dense"))
        dense[kernel.getSymName().str()] = numbers.asArrayRef().vec();
  if (mlir::failed(scheduled) || mlir::failed(toLoops.run(*own))) {
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
  if (remote) {
    failed = remote->load(*bytes);
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
    for (const conversion::KeptCheck &check : conversion::checksOf(function))
      messages.push_back(check.message.str());
  }
}

//===--- calling -----------------------------------------------------------===//

std::optional<Failure> JitKernels::run(const std::string &kernel,
                                       const std::vector<const Tensor *> &inputs,
                                       std::vector<Tensor> &outputs,
                                       std::vector<int64_t> &scalars) const {
  KernelCall call{.kernel = kernel, .tensors = {}, .scalars = scalars, .scratchBytes = 0};
  std::vector<pst_tensor> shapes;
  const auto found = dense.find(kernel);
  const auto reliedOn = found == dense.end() ? std::vector<int64_t>() : found->second;
  auto add = [&](const Tensor &tensor, bool isOutput) {
    call.tensors.push_back({tensor.extents, bytesOf(tensor.type), tensor.bytes, isOutput,
                            llvm::is_contained(reliedOn, call.tensors.size())});
    shapes.push_back(shapeOf(tensor));
  };
  for (const Tensor *input : inputs)
    add(*input, false);
  for (const Tensor &output : outputs)
    add(output, true);
  if (scratch.count(kernel))
    call.scratchBytes = scratch.at(kernel).bytes(shapes, scalars);

  KernelReply reply = remote ? remote->call(call) : runKernel(*image, call);
  scalars = reply.scalars;
  if (reply.check)
    return Failure{static_cast<size_t>(reply.check) <= messages.size()
                       ? messages[static_cast<size_t>(reply.check) - 1]
                       : "check " + std::to_string(reply.check),
                   reply.failure[0], reply.failure[1]};
  for (size_t i = 0; i < reply.outputs.size(); ++i)
    outputs[i].bytes = std::move(reply.outputs[i]);
  if (!reply.problem.empty())
    return Failure{reply.problem};
  return std::nullopt;
}

} // namespace penstock::differential
