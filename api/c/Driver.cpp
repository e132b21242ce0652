// SPDX-License-Identifier: Apache-2.0
//
// From text to any stage of the compiler.
#include "api/c/Driver.h"
#include "api/c/Explain.h"
#include "api/c/Overview.h"
#include "api/c/Transfers.h"
#include "codegen/cpu/Compile.h"
#include "codegen/cuda/Nvrtc.h"
#include "codegen/cuda/Printer.h"
#include "codegen/plan/PlanBuilder.h"
#include "compiler/Analysis/TransferFrontier.h"
#include "compiler/Conversion/KernelContract.h"
#include "compiler/Dialect/UserPlaces.h"
#include "compiler/Import/Import.h"
#include "compiler/Lane/LaneDialect.h"
#include "compiler/Pipelines/CodePipelines.h"
#include "compiler/Pipelines/Failures.h"
#include "compiler/Pipelines/Pipelines.h"
#include "compiler/Transforms/Passes.h"
#include "dsl/AST/Numbers.h"
#include "dsl/AST/Printer.h"
#include "dsl/Diagnostics/Render.h"
#include "dsl/Sema/Check.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/abi/transfer.h"
#include "stdlib/ShippedModules.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <xxhash.h>

using namespace penstock;
using namespace penstock::api;

Driver::Driver(const CompileRequest &compileRequest)
    : request(compileRequest), target(codegen::Target::named(request.target)),
      context(mlir::MLIRContext::Threading::DISABLED) {
  mlir::DialectRegistry registry;
  registry.insert<pipe::PipeDialect, lane::LaneDialect, mlir::arith::ArithDialect,
                  mlir::cf::ControlFlowDialect, mlir::func::FuncDialect, mlir::gpu::GPUDialect,
                  mlir::LLVM::LLVMDialect, mlir::memref::MemRefDialect, mlir::scf::SCFDialect,
                  mlir::vector::VectorDialect>();
  context.appendDialectRegistry(registry);
  context.printOpOnDiagnostic(false); // people know their own text
  context.getDiagEngine().registerHandler([this](mlir::Diagnostic &diagnostic) {
    report(diagnostic);
    return mlir::success();
  });
}

Driver::~Driver() = default;

Compilation *penstock_start_compilation(const CompileRequest &request) {
  return new Driver(request);
}

//===--- messages ----------------------------------------------------------===//

dsl::SourceRange Driver::rangeOf(mlir::Location location) const {
  mlir::FileLineColLoc place = pipe::userPlaceOf(location);
  if (!place)
    return {};
  for (uint32_t index = 0; index < sources.count(); ++index) {
    const dsl::FileId file{index};
    if (sources.name(file) != std::string_view(place.getFilename().getValue()))
      continue;
    const std::string_view text = sources.text(file), line = sources.line(file, place.getLine());
    const auto start = static_cast<uint32_t>(line.data() - text.data());
    const uint32_t begin = start + (place.getColumn() ? place.getColumn() - 1 : 0);
    return {file, begin, begin + 1};
  }
  return {};
}

void Driver::report(mlir::Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
    return;
  std::string text = diagnostic.str();
  // MLIR's "'pipe.output' op does ..." becomes "`output` does ...".
  constexpr std::string_view opens = "'pipe.", closes = "' op ";
  if (const size_t end = text.find(closes); text.starts_with(opens) && end != std::string::npos)
    text = "`" + text.substr(opens.size(), end - opens.size()) + "` " +
           text.substr(end + closes.size());
  auto message = diagnostics.error(rangeOf(diagnostic.getLocation()), text);
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    message.note(rangeOf(note.getLocation()), note.str());
}

Messages Driver::messages() const {
  return {dsl::renderText(diagnostics, sources), dsl::renderJson(diagnostics, sources)};
}

//===--- text in -----------------------------------------------------------===//

bool Driver::checkPasses() {
  const auto &known = pipelines::optimisingPasses();
  for (const std::string &name : request.disabledPasses) {
    std::string names;
    bool found = false;
    for (const pipelines::OptimisingPass &pass : known) {
      names += (names.empty() ? "" : ", ") + std::string(pass.name);
      found |= pass.name == name;
    }
    if (!found)
      diagnostics.error({}, "unknown pass `" + name + "`").hint("known are " + names);
  }
  return !diagnostics.hasErrors();
}

/// A level that is known by name alone is none that can be had.
bool Driver::checkTransfer() {
  const std::string &level = request.transfer;
  if (level.empty() || level == "auto" || level == "all" || analysis::transferLevelNamed(level))
    return true;
  const bool isPlanned = level == "encoded" || level == "coefficients";
  diagnostics
      .error({}, isPlanned ? "nothing crosses to a GPU as `" + level + "` yet"
                           : "no level `" + level + "` of transfers")
      .hint("there are " + llvm::join(std::begin(transferLevels), std::end(transferLevels), ", ") +
            "; `auto` takes the one that costs least, and `all` makes all of them");
  return false;
}

bool Driver::readMachine() {
  if (request.machine.empty())
    return true;
  auto parsed = Machine::parse(request.machine);
  if (!parsed) {
    diagnostics.error({}, llvm::toString(parsed.takeError()));
    return false;
  }
  machine = std::move(*parsed);
  return true;
}

/// A default as a user would write it.
static std::string textOf(mlir::Attribute value) {
  if (auto text = llvm::dyn_cast<mlir::StringAttr>(value))
    return text.str();
  if (auto number = llvm::dyn_cast<mlir::FloatAttr>(value)) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.17g", number.getValueAsDouble());
    return digits;
  }
  auto integer = llvm::cast<mlir::IntegerAttr>(value);
  if (integer.getType().isInteger(1))
    return integer.getValue().isZero() ? "false" : "true";
  return std::to_string(integer.getInt());
}

bool Driver::load() {
  if (!checkPasses() || !checkTransfer() || !readMachine())
    return false;
  if (request.from.empty())
    return loadText();
  const std::optional<Stage> stage = stageNamed(request.from);
  if (!stage || *stage < Stage::pipe || *stage > Stage::llvm) {
    diagnostics.error({}, "no stage `" + request.from + "` can be read back");
    return false;
  }
  sources.add(request.fileName, request.text);
  module = mlir::parseSourceString<mlir::ModuleOp>(request.text, mlir::ParserConfig(&context),
                                                   request.fileName);
  reached = *stage;
  if (!module || !isOfStage(*stage))
    return false;
  readName();
  if (*stage <= Stage::schedule)
    readParameters();
  return checkParameters();
}

/// True if `text` spells a value of a parameter's type.
static bool isValue(const std::string &type, const std::string &text) {
  return type == "text" || (type == "bool" ? text == "true" || text == "false"
                                           : dsl::parseNumber(type, text).has_value());
}

/// A parameter's type as a user would write it; a path is a text here: sessions take both alike.
static std::string typeOf(mlir::Type type) {
  if (type.isInteger(1))
    return "bool";
  if (type.isInteger(64))
    return "int";
  if (auto integer = llvm::dyn_cast<mlir::IntegerType>(type))
    return (integer.isUnsigned() ? "u" : "i") + std::to_string(integer.getWidth());
  std::string name;
  if (llvm::isa<mlir::FloatType>(type))
    llvm::raw_string_ostream(name) << type;
  return name.empty() ? "text" : name;
}

/// Of a module that was read back: whether the values that were given are for its parameters.
bool Driver::checkParameters() {
  for (const auto &[name, value] : request.parameters) {
    std::string names;
    const Parameter *known = nullptr;
    for (const Parameter &parameter : parameterList) {
      names += (names.empty() ? "it has `" : ", `") + parameter.name + "`";
      if (parameter.name == name)
        known = &parameter;
    }
    if (!known)
      diagnostics
          .error({},
                 "stage `" + request.from + "` of this pipeline has no parameter `" + name + "`")
          .hint((names.empty() ? "it has none" : names) + "; those that are static, or that " +
                "nothing reads, are no more");
    else if (!isValue(known->type, value)) {
      const std::string exceeded = dsl::exceeded(known->type, value);
      diagnostics
          .error({}, "the value `" + value + "` given for `" + name + "`" +
                         (exceeded.empty() ? " is no " + known->type : " does not fit " + exceeded))
          .hint(dsl::describeValues(known->type));
    }
  }
  return !diagnostics.hasErrors();
}

/// Reads the run-time parameters of a module that was read back: static ones are numbers in it.
void Driver::readParameters() {
  module->walk([&](pipe::ParamOp op) {
    Parameter &parameter = parameterList.emplace_back();
    parameter.name = op.getName().str();
    parameter.type = typeOf(op.getType());
    parameter.doc = op.getDoc().value_or("").str();
    if (auto value = op.getDefaultValue())
      parameter.defaultValue = textOf(*value);
  });
}

/// Checks what a stage promises and no verifier of an op can see.
bool Driver::isOfStage(Stage stage) {
  if (stage >= Stage::loops)
    return true; // code: MLIR's and LLVM's own verifiers judge it
  int pipelines = 0;
  for (mlir::Operation &op : *module->getBody()) {
    const bool isPipeline = llvm::isa<pipe::PipelineOp>(op);
    if (!isPipeline && (stage < Stage::kernels || !llvm::isa<pipe::KernelOp>(op)))
      op.emitError() << "does not stand at the top of stage `" << request.from << "`";
    if (isPipeline && ++pipelines > 1)
      op.emitError("is the second pipeline of this text");
  }
  mlir::PassManager passes(&context);
  if (stage >= Stage::kernels)
    passes.addPass(transforms::createVerifyKernels());
  return !diagnostics.hasErrors() && mlir::succeeded(passes.run(*module)) &&
         !diagnostics.hasErrors();
}

void Driver::readName() {
  for (auto pipeline : module->getOps<pipe::PipelineOp>())
    name = pipeline.getSymName().str();
}

bool Driver::loadText() {
  const dsl::FileId file = sources.add(request.fileName, request.text);
  stdlib::ShippedModules modules;
  program = dsl::loadProgram(file, sources, modules, importer::builtins(), diagnostics);
  if (diagnostics.hasErrors())
    return false;
  importer::ImportOptions options;
  options.pipeline = request.pipeline;
  options.parameters.insert(request.parameters.begin(), request.parameters.end());
  importer::ImportResult result =
      importer::importProgram(context, *program, sources, options, diagnostics);
  for (importer::ParameterInfo &info : result.parameters)
    parameterList.push_back(
        {info.name, info.type, info.doc, info.isStatic, info.defaultText, info.value});
  module = std::move(result.module);
  reached = Stage::pipe;
  if (!module || diagnostics.hasErrors())
    return false;
  readName();
  noteGpu();
  return readsRows();
}

/// Without a row there is no table, and an epoch would have no length.
bool Driver::readsRows() {
  bool all = true;
  for (auto pipeline : module->getOps<pipe::PipelineOp>()) {
    if (pipeline.walk([](pipe::RowOp) { return mlir::WalkResult::interrupt(); }).wasInterrupted())
      continue;
    all = false;
    diagnostics
        .error(rangeOf(pipeline.getLoc()), "no output depends on the rows that `for` runs over")
        .hint("deliver something of each row: a label, or what it holds");
  }
  return all;
}

void Driver::noteGpu() {
  std::string outputs;
  auto note = [](std::string &first, const std::string &what, mlir::Location loc) {
    if (!first.empty())
      return;
    first = what;
    if (mlir::FileLineColLoc at = pipe::userPlaceOf(loc))
      first += " (" + at.getFilename().str() + ":" + std::to_string(at.getLine()) + ":" +
               std::to_string(at.getColumn()) + ")";
  };
  module->walk([&](mlir::Operation *op) {
    if (auto output = llvm::dyn_cast<pipe::OutputOp>(op);
        output && output.getPlacement() == pipe::Place::gpu) {
      const std::string name = "`" + output.getName().str() + "`";
      outputs += (outputs.empty() ? "" : ", ") + name;
      note(gpuPlaces.output, "output " + name, op->getLoc());
    }
    auto place = op->getAttrOfType<mlir::StringAttr>("pipe.place");
    if (place && place.getValue() == "gpu" && request.gpus.empty())
      note(gpuPlaces.stage, "a stage", op->getLoc());
  });
  const std::string delivered = outputs.empty() ? "" : "; delivered in a GPU's memory: " + outputs;
  for (auto pipeline : module->getOps<pipe::PipelineOp>())
    pipe::addRemark(
        pipeline, "place",
        (!request.gpus.empty()
             ? "kernels of pixels run on a GPU, where nothing on the host reads what they make"
         : gpuPlaces.stage.empty()
             ? "everything runs on the CPU"
             : gpuPlaces.stage + " stands on a GPU; a session starts when it is compiled for one") +
            delivered);
}

//===--- stages ------------------------------------------------------------===//

/// The imported IR without what is no part of the meaning: places in the text, remarks, and where
/// things run and lie.
static std::string meaningOf(mlir::ModuleOp module) {
  std::vector<std::pair<mlir::Operation *, mlir::DictionaryAttr>> before;
  module->walk([&](mlir::Operation *op) {
    auto output = llvm::dyn_cast<pipe::OutputOp>(op);
    const bool isPlaced = output && output.getPlacement() != pipe::Place::automatic;
    if (!isPlaced && !op->hasAttr("pipe.place") && !op->hasAttr("pipe.remarks"))
      return;
    before.emplace_back(op, op->getAttrDictionary());
    op->removeAttr("pipe.place");
    op->removeAttr("pipe.remarks");
    if (output)
      output.setPlacement(pipe::Place::automatic);
  });
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, mlir::OpPrintingFlags().enableDebugInfo(false));
  for (auto [op, attributes] : before)
    op->setAttrs(attributes);
  return text;
}

/// The meaning's hash, which states carry.
static void setHash(mlir::ModuleOp module) {
  for (auto pipeline : module.getOps<pipe::PipelineOp>()) {
    const std::string text = meaningOf(module);
    if (!pipeline.getHash())
      pipeline.setHash(static_cast<int64_t>(XXH3_64bits(text.data(), text.size())));
  }
}

bool Driver::run(mlir::PassManager &passes, Stage stage) {
  // Once per stage, not after every pass: that is a twentieth of compiling.
  passes.enableVerifier(false);
  pipelines::nameFailures(passes, stageNames[static_cast<int>(stage)]);
  return mlir::succeeded(passes.run(*module)) && mlir::succeeded(mlir::verify(*module)) &&
         !diagnostics.hasErrors();
}

pipelines::PassSelection Driver::selection() const {
  auto selected = pipelines::PassSelection::ofDevice(request.gpus);
  selected.disabled.insert(request.disabledPasses.begin(), request.disabledPasses.end());
  if (analysis::transferLevelNamed(request.transfer))
    selected.transfer = request.transfer;
  return selected;
}

std::optional<std::string> Driver::chooseTransfer() {
  auto levels = costLevels(*module, selection(), machine);
  if (mlir::failed(levels) || diagnostics.hasErrors())
    return std::nullopt;
  const TransferLevelCost &best = (*levels)[bestOf(*levels)];
  for (auto pipeline : module->getOps<pipe::PipelineOp>())
    pipe::addRemark(pipeline, "place",
                    "what crosses to the GPU costs least as `" + best.name +
                        "`; `explain --transfer all` says what each level costs");
  return best.name;
}

bool Driver::runTo(Stage stage) {
  pipelines::PassSelection selection = this->selection();
  mlir::PassManager passes(&context);
  switch (stage) {
  case Stage::pipeOpt:
    setHash(*module);
    pipelines::buildOptPipeline(passes, selection);
    break;
  case Stage::kernels:
    if (request.transfer == "auto" || request.transfer == "all") {
      auto level = chooseTransfer();
      if (!level)
        return false;
      selection.transfer = std::move(*level);
    }
    transfer = selection.transfer;
    pipelines::buildKernelsPipeline(passes, selection);
    // That an output reads the row may have been for nothing.
    return run(passes, stage) && readsRows();
  case Stage::schedule:
    if (!request.gpus.empty())
      pipelines::buildDeviceSchedulePipeline(passes, selection);
    pipelines::buildSchedulePipeline(passes, static_cast<int>(target->level));
    break;
  case Stage::loops:
    if (!request.gpus.empty() && !takeDeviceKernels())
      return false;
    pipelines::buildLoopsPipeline(passes);
    break;
  case Stage::llvm:
    // The pipeline op goes now.
    if (request.from != "loops" && (!readsRows() || !makePlan()))
      return false;
    pipelines::buildLLVMPipeline(passes, static_cast<int>(target->level));
    break;
  default:
    return true;
  }
  return run(passes, stage);
}

bool Driver::advance(Stage stage) {
  if (stage >= Stage::cuda)
    return (reached >= Stage::kernels || advance(Stage::kernels)) &&
           (reached == Stage::cuda || makeCuda());
  while (reached < stage && reached < Stage::llvm) {
    const Stage next = static_cast<Stage>(static_cast<int>(reached) + 1);
    if (!runTo(next))
      return false;
    reached = next;
  }
  return true;
}

/// Every kernel as text, or those that run beside this host.
bool Driver::makeCuda() {
  mlir::PassManager passes(&context);
  if (request.gpus.empty()) {
    pipelines::buildCudaPipeline(passes);
  } else {
    pipelines::buildDeviceSchedulePipeline(passes, selection());
    pipelines::buildDeviceCodePipeline(passes);
  }
  reached = Stage::cuda;
  return run(passes, Stage::cuda);
}

/// The kernels of GPUs leave the module as text. A declaration stays of each, for the plan.
bool Driver::takeDeviceKernels() {
  mlir::PassManager passes(&context);
  pipelines::buildDeviceCodePipeline(passes);
  if (!run(passes, Stage::loops))
    return false;
  auto text = printCuda();
  if (!text)
    return false;
  mlir::Builder builder(&context);
  bool any = false;
  for (mlir::Operation &op : llvm::make_early_inc_range(*module->getBody())) {
    auto function = llvm::dyn_cast<mlir::func::FuncOp>(op);
    if (function && conversion::launchOf(function)) {
      any = true;
      function.eraseBody();
      function.setType(builder.getFunctionType({}, {}));
      function.setPrivate();
    } else if (function || llvm::isa<mlir::memref::GlobalOp>(op)) {
      op.erase(); // only their bodies used it
    }
  }
  if (any)
    deviceText = std::move(*text);
  return true;
}

/// A cubin for each GPU that was named, and PTX of the oldest for all that come.
bool Driver::compileDevice(Compiled &compiled) {
  auto nvrtc = codegen::Nvrtc::open();
  std::vector<std::pair<std::string, codegen::Nvrtc::Form>> wanted;
  for (const std::string &gpu : request.gpus)
    wanted.emplace_back(gpu, codegen::Nvrtc::Form::cubin);
  wanted.emplace_back(*std::min_element(request.gpus.begin(), request.gpus.end(),
                                        [](const std::string &a, const std::string &b) {
                                          return a.size() != b.size() ? a.size() < b.size() : a < b;
                                        }),
                      codegen::Nvrtc::Form::ptx);
  for (const auto &[gpu, form] : wanted) {
    llvm::Expected<std::string> code = nvrtc ? (*nvrtc)->compile(deviceText, gpu, form)
                                             : llvm::Expected<std::string>(nvrtc.takeError());
    if (!code) {
      diagnostics.error({}, llvm::toString(code.takeError()));
      return false;
    }
    compiled.device.push_back(
        {std::atoi(gpu.c_str() + 3), form == codegen::Nvrtc::Form::ptx, std::move(*code)});
  }
  return true;
}

bool Driver::makePlan() {
  auto plan = codegen::buildPlan(*module, PENSTOCK_VERSION);
  if (mlir::failed(plan))
    return false;
  planBytes = std::move(*plan);
  return true;
}

std::optional<Compiled> Driver::finish() {
  if (planBytes.empty()) {
    diagnostics.error({}, "a program read back at stage `" + request.from +
                              "` has no plan; it can be printed, but not run");
    return std::nullopt;
  }
  Compiled compiled;
  compiled.name = name;
  compiled.transfer = transfer;
  compiled.parameters = parameterList;
  compiled.plan = planBytes;
  compiled.gpuPlaces = gpuPlaces;
  auto image = codegen::compileImage(*module, *target);
  if (!image) {
    diagnostics.error({}, llvm::toString(image.takeError()));
    return std::nullopt;
  }
  compiled.image = std::move(*image);
  if (!deviceText.empty() && !compileDevice(compiled))
    return std::nullopt;
  return compiled;
}

//===--- text out ----------------------------------------------------------===//

static llvm::Expected<std::vector<uint8_t>> assemblyBytes(mlir::ModuleOp module,
                                                          const codegen::Target &target) {
  auto text = codegen::assemblyText(module, target);
  if (!text)
    return text.takeError();
  return std::vector<uint8_t>(text->begin(), text->end());
}

std::optional<std::string> Driver::printCuda() {
  codegen::CudaPrinterOptions options;
  options.prefix = name;
  options.wordAt = [&](mlir::FileLineColLoc place) { return api::wordAt(sources, place); };
  return codegen::cudaText(*module, options);
}

std::optional<std::string> Driver::compileCuda(Stage stage, const std::string &architecture) {
  const auto text = printCuda();
  if (!text)
    return std::nullopt;
  auto code = [&]() -> llvm::Expected<std::string> {
    auto nvrtc = codegen::Nvrtc::open();
    if (!nvrtc)
      return nvrtc.takeError();
    const auto form = stage == Stage::ptx ? codegen::Nvrtc::Form::ptx : codegen::Nvrtc::Form::cubin;
    return (*nvrtc)->compile(*text, architecture, form);
  }();
  if (code)
    return *code;
  diagnostics.error({}, llvm::toString(code.takeError()));
  return std::nullopt;
}

std::optional<std::string> Driver::print(Stage stage, const std::string &architecture) {
  if (!request.from.empty() && stage < *stageNamed(request.from)) {
    diagnostics.error({}, "stage `" + std::string(stageNames[static_cast<int>(stage)]) +
                              "` comes before stage `" + request.from +
                              "`, at which the program was read back");
    return std::nullopt;
  }
  if (stage == Stage::ast)
    return program ? dsl::printAst(*program->main) : std::string();
  if (stage == Stage::cuda)
    return printCuda();
  if (stage > Stage::cuda)
    return compileCuda(stage, architecture);
  if (stage == Stage::assembly || stage == Stage::object) {
    auto code = stage == Stage::object ? codegen::compileObject(*module, *target)
                                       : assemblyBytes(*module, *target);
    if (code)
      return std::string(code->begin(), code->end());
    diagnostics.error({}, llvm::toString(code.takeError()));
    return std::nullopt;
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  stream << '\n';
  return text;
}

std::string Driver::explain() { return api::explain(*module, sources); }
std::string Driver::overview() { return api::overviewJson(*module, sources); }

std::optional<std::string> Driver::transfers() {
  auto levels = costLevels(*module, selection(), machine);
  if (mlir::failed(levels) || diagnostics.hasErrors())
    return std::nullopt;
  return transfersJson(*levels, machine, name, sources);
}
