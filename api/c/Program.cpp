// SPDX-License-Identifier: Apache-2.0
//
// The functions pst_compile() and pst_program_...().
#include "api/c/Program.h"
#include "api/c/Arguments.h"
#include "api/c/Bundle.h"
#include "api/c/Cache.h"
#include "api/c/CompilerLibrary.h"
#include "api/c/Entry.h"
#include "api/c/Stack.h"
#include "api/c/Text.h"
#include "api/c/Values.h"
#include "codegen/cpu/Target.h"
#include "runtime/abi/transfer.h"
#include "runtime/core/Image.h"
#include "runtime/device/cuda/CudaDevice.h"
#include <cstring>
#include <filesystem>
#include <sstream>

using namespace penstock;
using namespace penstock::api;

const char *pst_version(void) { return PENSTOCK_VERSION; }

static CompileRequest readRequest(const char *text, size_t length, const char *fileName,
                                  const pst_compile_options &given) {
  CompileRequest request;
  request.text.assign(text, length);
  request.fileName = fileName ? fileName : "<text>";
  request.pipeline = given.pipeline ? given.pipeline : "";
  for (size_t i = 0; i < given.parameter_count; ++i)
    request.parameters.emplace_back(given.parameters[i].name, given.parameters[i].value);
  for (size_t i = 0; i < given.disabled_pass_count; ++i)
    request.disabledPasses.emplace_back(given.disabled_passes[i]);
  request.target = given.target ? given.target : "";
  request.from = given.from ? given.from : "";
  request.transfer = given.transfer ? given.transfer : "";
  request.machine = given.machine ? given.machine : "";
  std::stringstream gpus(given.gpu ? given.gpu : "");
  for (std::string gpu; std::getline(gpus, gpu, ',');)
    if (std::find(request.gpus.begin(), request.gpus.end(), gpu) == request.gpus.end())
      request.gpus.push_back(gpu);
  return request;
}

void api::setParameters(pst_program &program, std::vector<Parameter> parameters) {
  program.parameters = std::move(parameters);
  for (const Parameter &parameter : program.parameters)
    program.parameterInfos.push_back(
        {parameter.name.c_str(), parameter.type.c_str(), parameter.isStatic,
         parameter.defaultValue ? parameter.defaultValue->c_str() : nullptr,
         parameter.doc.c_str()});
}

pst_status api::failWith(pst_program &program, const std::string &message) {
  program.messages = messageWithoutPlace(message);
  return PST_ERROR;
}

/// Compiles with `use`, and takes over what was said. False where there is no compiler.
static bool withDriver(pst_program &program, const std::function<void(Compilation &)> &use) {
  std::string failure;
  if (program.isBundle) {
    failWith(program, program.request.fileName +
                          " is a bundle, which holds code and no text: this needs the .pipe file");
    return false;
  }
  onLargeStack([&] {
    auto driver = startCompilation(program.request);
    if (!driver) {
      failure = driver.error().message;
      return;
    }
    use(**driver);
    program.messages = (*driver)->messages();
  });
  if (!failure.empty())
    failWith(program, failure);
  return failure.empty();
}

/// Returns an error message, or an empty string.
static std::string load(const Compiled &compiled, std::shared_ptr<const runtime::Plan> &toPlan,
                        std::shared_ptr<const runtime::KernelTable> &toKernels) {
  auto plan = runtime::Plan::load(compiled.plan);
  if (!plan)
    return plan.error().message;
  auto image = runtime::Image::load(compiled.image);
  if (!image)
    return image.error().message;
  auto table = runtime::tableFor(**plan, *image);
  if (!table)
    return table.error().message;
  toPlan = std::move(*plan);
  toKernels = std::move(*table);
  return {};
}

std::string api::adopt(pst_program &program, std::vector<Compiled> levels) {
  for (Compiled &compiled : levels) {
    runtime::TransferLevel level;
    if (std::string why = load(compiled, level.plan, level.kernels); !why.empty())
      return why;
    level.name = std::move(compiled.transfer);
    level.deviceCode = std::move(compiled.device);
    program.transfers.push_back(std::move(level));
  }
  program.name = levels.front().name;
  program.gpuPlaces = levels.front().gpuPlaces;
  setParameters(program, std::move(levels.front().parameters));
  return {};
}

/// "native" is this machine's. What is wrong, or nothing.
static std::string readGpu(std::string &gpu) {
  if (gpu == "native") {
    auto driver = runtime::cuda::openDriver();
    if (!driver)
      return "no GPU to compile for: " + driver.error().message;
    auto architecture = runtime::cudaArchitecture(**driver, 0);
    if (!architecture)
      return architecture.error().message;
    gpu = "sm_" + std::to_string(*architecture);
  }
  if (!gpu.starts_with("sm_") || gpu.size() < 5 || gpu.size() > 6 ||
      gpu.find_first_not_of("0123456789", 3) != std::string::npos)
    return "unknown GPU `" + gpu +
           "`; a name is sm_ and the compute capability, such as sm_90, or `native`";
  return {};
}

static std::string readGpus(CompileRequest &request) {
  for (std::string &gpu : request.gpus)
    if (std::string wrong = readGpu(gpu); !wrong.empty())
      return wrong;
  return {};
}

static std::string cacheFolderOf(const pst_compile_options &given) {
  return given.check_only     ? std::string()
         : given.cache_folder ? std::string(given.cache_folder)
                              : defaultCacheFolder();
}

static std::string unknownTarget(const std::string &name) {
  return "unknown target `" + name + "`; known are " + codegen::Target::names();
}

/// Compiles for one level of transfers, or takes what was compiled before and `isGood`. Nothing
/// after errors, which the program then holds.
static std::optional<Compiled> compileOne(pst_program &program, const std::string &cacheFolder,
                                          const std::string &target, bool &fromCache,
                                          const std::function<bool(const Compiled &)> &isGood) {
  const Cache cache(cacheFolder, program.request, target);
  std::optional<Compiled> compiled = cache.find();
  fromCache = compiled && isGood(*compiled);
  if (fromCache) {
    program.messages = compiled->messages;
    return compiled;
  }
  compiled.reset();
  const bool started = withDriver(program, [&](Compilation &driver) {
    if (driver.load() && driver.advance(Stage::llvm))
      compiled = driver.finish();
  });
  if (!started || !compiled)
    return std::nullopt;
  compiled->messages = program.messages;
  cache.store(*compiled);
  return compiled;
}

/// Compiles for each level that the program's request names; sessions begin with the first. Nothing
/// after errors.
static std::optional<std::vector<Compiled>>
compileLevels(pst_program &program, const std::string &cacheFolder, const std::string &target,
              bool &fromCache, const std::function<bool(const Compiled &)> &isGood) {
  const bool isForAll = program.request.transfer == "all";
  CompileRequest &request = program.request;
  std::vector<Compiled> levels;
  if (isForAll)
    request.transfer = "auto";
  auto add = [&] {
    bool isHit = false;
    auto compiled = compileOne(program, cacheFolder, target, isHit, isGood);
    fromCache = isHit && (fromCache || levels.empty());
    if (compiled)
      levels.push_back(std::move(*compiled));
    return compiled.has_value();
  };
  bool good = add();
  for (std::string_view name : transferLevels)
    if (isForAll && good && name != levels.front().transfer) {
      request.transfer = name;
      good = add();
    }
  if (isForAll)
    request.transfer = "all";
  return good ? std::optional(std::move(levels)) : std::nullopt;
}

/// With `options`, or what stands for them.
static pst_compile_options optionsOf(const pst_compile_options *options) {
  pst_compile_options given = PST_COMPILE_OPTIONS_INIT;
  if (options) {
    std::memcpy(&given, options, std::min(options->size, sizeof given));
    given.size = options->size;
  }
  return given;
}

static pst_status compileBundle(pst_program &program, const char *text, size_t length,
                                const char *file_name, const pst_compile_options *options,
                                const char *const *targets, size_t target_count, const char *path) {
  static const char *const portable[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};
  const pst_compile_options given = optionsOf(options);
  for (const runtime::Status &status :
       {checkArray(text, length, "text"), checkOptions(given),
        checkTexts(targets, target_count, "targets"), checkPath(path, "path")})
    if (!status)
      return failWith(program, status.error().message);
  program.request = readRequest(text, length, file_name, given);
  if (std::string wrong = readGpus(program.request); !wrong.empty())
    return failWith(program, wrong);
  if (given.check_only || given.target)
    return failWith(
        program,
        "a bundle has levels of its own, and code: neither `target` nor `check_only` applies");
  if (target_count == 0) {
    targets = portable;
    target_count = std::size(portable);
  }
  std::error_code other;
  if (file_name && std::filesystem::equivalent(path, file_name, other))
    return failWith(program, std::string("the bundle would take the place of the text: ") + path +
                                 " is both");
  Bundle bundle;
  auto settle = [&](Compiled &compiled) {
    for (Parameter &parameter : compiled.parameters) {
      if (parameter.value)
        parameter.defaultValue = parameter.value;
      for (const auto &[name, value] : program.request.parameters)
        if (name == parameter.name)
          parameter.defaultValue = value;
    }
  };
  for (size_t i = 0; i < target_count; ++i) {
    auto target = codegen::Target::named(targets[i]);
    if (!target || !*targets[i]) // which names this machine elsewhere
      return failWith(program, unknownTarget(targets[i]));
    const std::string name = target->describe();
    if (bundle.has(name))
      continue;
    program.request.target = name;
    bool isHit = false;
    auto levels = compileLevels(program, cacheFolderOf(given), name, isHit,
                                [](const Compiled &) { return true; });
    if (!levels)
      return PST_ERROR;
    std::for_each(levels->begin(), levels->end(), settle);
    bundle.levels.push_back({name, std::move(*levels)});
  }
  const Compiled &first = bundle.levels.front().programs.front();
  program.name = first.name;
  setParameters(program, first.parameters);
  for (const auto &[name, value] : program.request.parameters)
    bundle.settings.emplace_back(name, value);
  if (auto written = bundle.write(path); !written)
    return failWith(program, written.error().message);
  return PST_OK;
}

pst_status pst_compile_bundle(const char *text, size_t length, const char *file_name,
                              const pst_compile_options *options, const char *const *targets,
                              size_t target_count, const char *path, pst_program **out_program) {
  return makeProgram(out_program, [&](pst_program &program) {
    return compileBundle(program, text, length, file_name, options, targets, target_count, path);
  });
}

static pst_status compile(pst_program &program, const char *text, size_t length,
                          const char *file_name, const pst_compile_options *options) {
  const pst_compile_options given = optionsOf(options);
  for (const runtime::Status &status : {checkArray(text, length, "text"), checkOptions(given)})
    if (!status)
      return failWith(program, status.error().message);
  program.request = readRequest(text, length, file_name, given);
  if (std::string wrong = readGpus(program.request); !wrong.empty())
    return failWith(program, wrong);
  auto target = codegen::Target::named(program.request.target);
  if (!target)
    return failWith(program, unknownTarget(program.request.target));
  if (given.check_only) {
    bool loaded = false;
    const bool started = withDriver(program, [&](Compilation &driver) {
      // Kernels tell what depends on what, and when it is known. What comes behind them takes most
      // of the time, and refuses little.
      loaded = driver.load() && driver.advance(Stage::kernels);
      if (loaded) {
        program.name = driver.pipelineName();
        setParameters(program, driver.parameters());
      }
    });
    return started && loaded ? PST_OK : PST_ERROR;
  }
  auto levels = compileLevels(program, cacheFolderOf(given), target->describe(), program.fromCache,
                              [](const Compiled &compiled) {
                                std::shared_ptr<const runtime::Plan> plan;
                                std::shared_ptr<const runtime::KernelTable> kernels;
                                return load(compiled, plan, kernels).empty();
                              });
  if (!levels)
    return PST_ERROR;
  if (std::string why = adopt(program, std::move(*levels)); !why.empty())
    return failWith(program, "the compiler made a program that cannot be loaded: " + why);
  return PST_OK;
}

pst_status pst_compile(const char *text, size_t length, const char *file_name,
                       const pst_compile_options *options, pst_program **out_program) {
  return makeProgram(out_program, [&](pst_program &program) {
    return compile(program, text, length, file_name, options);
  });
}

const char *pst_program_messages(const pst_program *program) {
  return program ? program->messages.text.c_str() : noHandle;
}
const char *pst_program_messages_json(const pst_program *program) {
  return program ? program->messages.json.c_str() : "[]";
}
size_t pst_program_parameter_count(const pst_program *program) {
  return program->parameterInfos.size();
}
const pst_parameter_info *pst_program_parameter(const pst_program *program, size_t index) {
  return index < program->parameterInfos.size() ? &program->parameterInfos[index] : nullptr;
}
const char *pst_program_name(const pst_program *program) {
  return program->name.empty() ? nullptr : program->name.c_str();
}
int pst_program_from_cache(const pst_program *program) { return program->fromCache; }

static pst_status emit(pst_program &program, const char *stage) {
  if (runtime::Status status = checkText(stage, "stage"); !status)
    return failWith(program, status.error().message);
  // "ptx:sm_90": an architecture may stand behind. PTX of the oldest runs on all.
  std::string name = stage, architecture = "sm_75";
  if (const size_t colon = name.find(':'); colon != std::string::npos) {
    architecture = name.substr(colon + 1);
    name.resize(colon);
    if (std::string wrong = readGpu(architecture); !wrong.empty())
      return failWith(program, wrong);
  }
  const std::optional<Stage> wanted = stageNamed(name);
  if (!wanted)
    return failWith(program, "unknown stage `" + std::string(stage) + "`");
  std::optional<std::string> text;
  const bool started = withDriver(program, [&](Compilation &driver) {
    if (driver.load() && driver.advance(*wanted))
      text = driver.print(*wanted, architecture);
  });
  if (!started || !text)
    return PST_ERROR;
  program.emitted = std::move(*text);
  return PST_OK;
}

pst_status pst_program_emit(pst_program *program, const char *stage, const char **out_data,
                            size_t *out_length) {
  *out_data = nullptr;
  *out_length = 0;
  const pst_status status = useProgram(*program, [&] { return emit(*program, stage); });
  if (status == PST_OK) {
    *out_data = program->emitted.data();
    *out_length = program->emitted.size();
  }
  return status;
}

/// Stores the text that `use` makes of a compilation.
static pst_status describe(pst_program &program, const char **outText,
                           const std::function<std::optional<std::string>(Compilation &)> &use) {
  *outText = nullptr;
  return useProgram(program, [&] {
    std::optional<std::string> text;
    if (!withDriver(program, [&](Compilation &driver) { text = use(driver); }) || !text)
      return PST_ERROR;
    program.emitted = std::move(*text);
    *outText = program.emitted.c_str();
    return PST_OK;
  });
}

static pst_status describeSchedule(pst_program &program, std::string (Compilation::*text)(),
                                   const char **outText) {
  return describe(program, outText, [&](Compilation &driver) -> std::optional<std::string> {
    if (!driver.load() || !driver.advance(Stage::schedule))
      return std::nullopt;
    return (driver.*text)();
  });
}

pst_status pst_program_explain(pst_program *program, const char **out_text) {
  return describeSchedule(*program, &Compilation::explain, out_text);
}

pst_status pst_program_overview(pst_program *program, const char **out_json) {
  return describeSchedule(*program, &Compilation::overview, out_json);
}

pst_status pst_program_transfers(pst_program *program, const char **out_json) {
  return describe(*program, out_json, [](Compilation &driver) -> std::optional<std::string> {
    if (!driver.load() || !driver.advance(Stage::pipeOpt))
      return std::nullopt;
    return driver.transfers();
  });
}

void pst_program_release(pst_program *program) { delete program; }
