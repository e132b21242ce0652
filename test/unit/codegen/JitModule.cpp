// SPDX-License-Identifier: Apache-2.0
#include "test/unit/codegen/JitModule.h"

#include "compiler/Dialect/PipeDialect.h"
#include "compiler/Pipelines/CodePipelines.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

namespace penstock::test {

JitModule::JitModule(const std::string &text, codegen::Target target) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<pipe::PipeDialect>();
  context.getDiagEngine().registerHandler([this](mlir::Diagnostic &diagnostic) {
    messages += diagnostic.str() + "\n";
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context));
  if (!module)
    return;
  mlir::PassManager passes(&context);
  pipelines::buildSchedulePipeline(passes, static_cast<int>(target.level));
  pipelines::buildLoopsPipeline(passes);
  pipelines::buildLLVMPipeline(passes, static_cast<int>(target.level));
  if (mlir::failed(passes.run(*module)))
    return;
  auto bytes = codegen::compileImage(*module, target);
  if (!bytes) {
    messages += llvm::toString(bytes.takeError());
    return;
  }
  auto loaded = runtime::Image::load(*bytes);
  if (loaded)
    image = *loaded;
  else
    messages += loaded.error().message;
}

JitModule::~JitModule() = default;

int32_t JitModule::run(const std::string &name, const std::vector<TensorArg> &tensors,
                       size_t outputs, std::vector<int64_t> scalars) {
  std::vector<pst_tensor> views;
  for (const TensorArg &tensor : tensors)
    views.push_back(tensor.view);
  scratch.assign(static_cast<size_t>(scratchBytes) + 64, static_cast<char>(0xA5));
  auto start = (reinterpret_cast<uintptr_t>(scratch.data()) + 63) / 64 * 64;
  args = {};
  args.tensors = views.data();
  args.scalars = scalars.data();
  args.scratch = reinterpret_cast<void *>(start);
  args.stop = &stop;
  args.band[1] = outputs ? views[views.size() - outputs].extent[0] : 0;
  if (band)
    std::tie(args.band[0], args.band[1]) = *band;
  return image->find(name)(&args);
}

int32_t JitModule::runBlock(const std::string &name, std::vector<int64_t> &block) {
  args = {};
  args.scalars = block.data();
  args.stop = &stop;
  return image->find(name)(&args);
}

} // namespace penstock::test
