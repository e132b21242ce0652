// SPDX-License-Identifier: Apache-2.0
//
// The LLVM dialect to text and machine code.
//
// Schedules emit final vector IR. LLVM runs a short list of passes that clean
// up after us and nothing more: its default pipelines reassociate sums, which
// breaks the multiply-add patterns and halves the speed.
#include "codegen/cpu/Compile.h"
#include "codegen/cpu/Architecture.h"
#include "codegen/cpu/HalfSelects.h"
#include "codegen/cpu/Link.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"

using namespace penstock;
using namespace penstock::codegen;

static constexpr const char *passList = "function(early-cse<memssa>,instcombine<no-verify-fixpoint>"
                                        ",simplifycfg,loop-mssa(licm),early-cse<memssa>)";

static llvm::Error failure(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machineFor(const Target &target) {
  const Architecture &architecture = architectureOf(target);
  architecture.initialise();
  std::string message;
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(architecture.triple, message);
  if (!found)
    return failure(message);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  options.NoTrappingFPMath = true;
  const Processor processor = architecture.processorOf(target.level);
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(
      architecture.triple, processor.name, processor.features, options, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

namespace {
struct Translated {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
};
} // namespace

/// Refuses what LLVM would end the process for: a text that was read back may ask for
/// instructions of another level, or hold what no module may.
static llvm::Error check(const llvm::Module &module, const Target &target) {
  for (const llvm::Function &function : module) {
    std::optional<CpuLevel> level;
    bool isOfMachine = false;
    for (const Architecture *architecture : architectures) {
      llvm::StringRef name = function.getName();
      if (name.consume_front("llvm.") && name.consume_front(architecture->intrinsics)) {
        isOfMachine = true;
        level = architecture->levelOf(name);
      }
    }
    if (!isOfMachine)
      continue;
    if (!level || !target.includes(Target{*level}))
      return failure("the code uses `" + function.getName() + "`, which " + target.describe() +
                     " does not have; " +
                     (level ? "`--target " + Target{*level}.describe() + "` has it"
                            : "no target is known to"));
  }
  std::string why;
  llvm::raw_string_ostream stream(why);
  if (llvm::verifyModule(module, &stream))
    return failure("LLVM refuses the code: " + llvm::StringRef(why).rtrim());
  return llvm::Error::success();
}

/// LLVM IR after our pass list.
static llvm::Error translate(mlir::ModuleOp source, const Target &target, Translated &out) {
  mlir::registerBuiltinDialectTranslation(*source.getContext());
  mlir::registerLLVMDialectTranslation(*source.getContext());
  auto machine = machineFor(target);
  if (!machine)
    return machine.takeError();
  out.machine = std::move(*machine);
  out.module = mlir::translateModuleToLLVMIR(source, out.context);
  if (!out.module)
    return failure("the module is not at stage llvm");
  if (auto error = check(*out.module, target))
    return error;
  out.module->setDataLayout(out.machine->createDataLayout());
  out.module->setTargetTriple(out.machine->getTargetTriple().str());
  const char *vectorBits = architectureOf(target).processorOf(target.level).vectorBits;
  for (llvm::Function &function : *out.module) {
    if (function.isDeclaration())
      continue;
    function.setDoesNotThrow();
    // Without these a copy loop becomes a call of memcpy, and AVX-512 code uses
    // half registers.
    function.addFnAttr("no-builtins");
    if (vectorBits) {
      function.addFnAttr("prefer-vector-width", vectorBits);
      function.addFnAttr("min-legal-vector-width", vectorBits);
    }
  }
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(out.machine.get());
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  llvm::ModulePassManager passes;
  if (auto error = builder.parsePassPipeline(passes, passList))
    return error;
  passes.run(*out.module, modules);
  selectHalvesByBits(*out.module);
  return llvm::Error::success();
}

namespace {
/// LLVM's passes from IR to bytes, without one that takes half of the time: it moves what
/// stands between mask registers into those, and grows with the square of a function.
class CodePasses final : public llvm::legacy::PassManager {
public:
  void add(llvm::Pass *pass) override {
    if (pass->getPassName() == "X86 Domain Reassignment Pass")
      delete pass;
    else
      PassManager::add(pass);
  }
};
} // namespace

static llvm::Expected<llvm::SmallVector<char, 0>> emit(mlir::ModuleOp module, const Target &target,
                                                       llvm::CodeGenFileType type) {
  Translated translated;
  if (auto error = translate(module, target, translated))
    return std::move(error);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  CodePasses passes;
  if (translated.machine->addPassesToEmitFile(passes, stream, nullptr, type))
    return failure("LLVM cannot write this kind of file");
  passes.run(*translated.module);
  return bytes;
}

llvm::Expected<std::string> codegen::llvmText(mlir::ModuleOp module, const Target &target) {
  Translated translated;
  if (auto error = translate(module, target, translated))
    return std::move(error);
  std::string text;
  llvm::raw_string_ostream stream(text);
  translated.module->print(stream, nullptr);
  return text;
}

llvm::Expected<std::string> codegen::assemblyText(mlir::ModuleOp module, const Target &target) {
  auto bytes = emit(module, target, llvm::CodeGenFileType::AssemblyFile);
  if (!bytes)
    return bytes.takeError();
  return std::string(bytes->begin(), bytes->end());
}

llvm::Expected<std::vector<uint8_t>> codegen::compileObject(mlir::ModuleOp module,
                                                            const Target &target) {
  auto bytes = emit(module, target, llvm::CodeGenFileType::ObjectFile);
  if (!bytes)
    return bytes.takeError();
  return std::vector<uint8_t>(bytes->begin(), bytes->end());
}

llvm::Expected<std::vector<uint8_t>> codegen::compileImage(mlir::ModuleOp module,
                                                           const Target &target) {
  auto object = compileObject(module, target);
  if (!object)
    return object.takeError();
  return linkImage(*object, target);
}
