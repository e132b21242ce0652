//===- JitDriver.cpp - generated code under the reference's hands ---------===//

#include "test/differential/JitDriver.h"
#include "codegen/cpu/Compile.h"
#include "compiler/Pipelines/CodePipelines.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "runtime/core/Image.h"
#include <cstring>
#include <sys/mman.h>
#include <utility>

using namespace penstock::reference;

namespace penstock::differential {

//===--- buffers -----------------------------------------------------------===//

namespace {
/// Memory aligned to 64 whose last 64-byte line touches a page that cannot be
/// read or written.
class Guarded {
public:
  /// Of `size` bytes; `tail` more are readable.
  Guarded(size_t size, size_t tail) : size(size) {
    constexpr size_t page = 4096;
    const size_t used = (size + tail + 63) / 64 * 64;
    mapped = (used + page - 1) / page * page + page;
    memory = static_cast<uint8_t *>(
        mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(memory + mapped - page, page, PROT_NONE);
    start = memory + mapped - page - used;
    std::memset(memory, poison, mapped - page);
  }
  Guarded(Guarded &&other) noexcept
      : memory(std::exchange(other.memory, nullptr)), start(other.start), size(other.size),
        mapped(other.mapped) {}
  ~Guarded() {
    if (memory)
      munmap(memory, mapped);
  }

  uint8_t *data() const { return start; }
  /// Whether nothing was written around the buffer.
  bool intact() const {
    for (const uint8_t *at = memory; at != start; ++at)
      if (*at != poison)
        return false;
    for (const uint8_t *at = start + size; at != memory + mapped - 4096; ++at)
      if (*at != poison)
        return false;
    return true;
  }

private:
  static constexpr uint8_t poison = 0xCD;
  uint8_t *memory, *start;
  size_t size, mapped;
};
} // namespace

static pst_tensor viewOf(const Tensor &tensor, const Guarded &buffer) {
  pst_tensor view = {};
  view.data = buffer.data();
  int64_t stride = bytesOf(tensor.type);
  for (int64_t axis = tensor.rank() - 1; axis >= 0; --axis) {
    view.extent[axis] = tensor.extents[static_cast<size_t>(axis)];
    view.stride[axis] = stride;
    stride *= view.extent[axis];
  }
  return view;
}

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
    Scratch &needs = scratch[function.getSymName().str()];
    if (auto fixed = function->getAttrOfType<mlir::IntegerAttr>("pipe.scratch_fixed"))
      needs.fixed = fixed.getInt();
    if (auto terms = function->getAttrOfType<mlir::ArrayAttr>("pipe.scratch"))
      for (auto term : terms.getAsRange<mlir::DictionaryAttr>()) {
        Scratch::Term read{llvm::cast<mlir::IntegerAttr>(term.get("bytes")).getInt(), {}};
        for (mlir::Attribute dim : llvm::cast<mlir::ArrayAttr>(term.get("dims"))) {
          const auto place = llvm::cast<mlir::DenseI64ArrayAttr>(dim).asArrayRef();
          read.dims.emplace_back(place.begin(), place.end());
        }
        needs.terms.push_back(std::move(read));
      }
    if (auto checks = function->getAttrOfType<mlir::ArrayAttr>("pipe.checks"))
      for (auto check : checks.getAsRange<mlir::DictionaryAttr>())
        messages.push_back(llvm::cast<mlir::StringAttr>(check.get("message")).str());
  }
}

int64_t JitKernels::scratchBytes(const std::string &kernel, const std::vector<pst_tensor> &tensors,
                                 const std::vector<int64_t> &scalars) const {
  const auto found = scratch.find(kernel);
  if (found == scratch.end())
    return 0;
  int64_t total = found->second.fixed;
  for (const Scratch::Term &term : found->second.terms) {
    int64_t bytes = term.bytes;
    for (const std::vector<int64_t> &dim : term.dims)
      bytes *= dim[0] == 0   ? scalars[static_cast<size_t>(dim[1])]
               : dim[0] == 1 ? tensors[static_cast<size_t>(dim[1])].extent[dim[2]]
                             : dim[1];
    total += bytes;
  }
  return total;
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
  const int64_t scratchSize = scratchBytes(kernel, tensors, scalars);
  buffers.emplace_back(static_cast<size_t>(scratchSize), 0);

  pst_kernel_args args = {};
  args.tensors = tensors.data();
  args.scalars = scalars.data();
  args.scratch = buffers.back().data();
  args.band[1] = INT64_MAX;
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
