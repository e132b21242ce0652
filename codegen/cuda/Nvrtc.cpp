// SPDX-License-Identifier: Apache-2.0
//
// CUDA C++ to PTX and cubins.
//
// The few functions of nvrtc.h that are used are declared here: they are NVRTC's
// stable C interface, the same since CUDA 11.2.
#include "codegen/cuda/Nvrtc.h"
#include "codegen/cuda/Printer.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

using namespace penstock::codegen;

struct Nvrtc::Functions {
  using Program = struct _nvrtcProgram *;
  void *library = nullptr;
  int (*version)(int *, int *) = nullptr;
  int (*archCount)(int *) = nullptr;
  int (*archs)(int *) = nullptr;
  int (*create)(Program *, const char *, const char *, int, const char *const *,
                const char *const *) = nullptr;
  int (*destroy)(Program *) = nullptr;
  int (*compile)(Program, int, const char *const *) = nullptr;
  int (*logSize)(Program, size_t *) = nullptr;
  int (*log)(Program, char *) = nullptr;
  int (*ptxSize)(Program, size_t *) = nullptr;
  int (*ptx)(Program, char *) = nullptr;
  int (*cubinSize)(Program, size_t *) = nullptr;
  int (*cubin)(Program, char *) = nullptr;

  bool bind() {
    auto one = [&](auto &function, const char *name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    return one(version, "nvrtcVersion") && one(archCount, "nvrtcGetNumSupportedArchs") &&
           one(archs, "nvrtcGetSupportedArchs") && one(create, "nvrtcCreateProgram") &&
           one(destroy, "nvrtcDestroyProgram") && one(compile, "nvrtcCompileProgram") &&
           one(logSize, "nvrtcGetProgramLogSize") && one(log, "nvrtcGetProgramLog") &&
           one(ptxSize, "nvrtcGetPTXSize") && one(ptx, "nvrtcGetPTX") &&
           one(cubinSize, "nvrtcGetCUBINSize") && one(cubin, "nvrtcGetCUBIN");
  }
};

static llvm::Error nvrtcError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

//===--- finding it --------------------------------------------------------===//

/// libnvrtc.so.13, but not libnvrtc-builtins.so.13 nor libnvrtc.alt.so.13.
static std::string newestIn(const std::filesystem::path &folder) {
  std::string best;
  std::error_code ignored;
  for (const auto &entry : std::filesystem::directory_iterator(folder, ignored))
    if (const std::string name = entry.path().filename(); name.starts_with("libnvrtc.so"))
      best = std::max(best, entry.path().string());
  return best;
}

static std::vector<std::string> candidates() {
  std::vector<std::string> found;
  auto add = [&](const std::filesystem::path &path) {
    std::error_code ignored;
    const std::string file =
        std::filesystem::is_directory(path, ignored) ? newestIn(path) : path.string();
    if (!file.empty() && std::filesystem::exists(file, ignored))
      found.push_back(file);
  };
  if (const char *named = std::getenv("PENSTOCK_NVRTC")) {
    add(named);
    return found; // the user's choice, or nothing
  }
  if (const char *home = std::getenv("CUDA_HOME"))
    add(std::filesystem::path(home) / "lib64");
  add("/usr/local/cuda/lib64");
  std::filesystem::path cache;
  if (const char *folder = std::getenv("XDG_CACHE_HOME"))
    cache = folder;
  else if (const char *home = std::getenv("HOME"))
    cache = std::filesystem::path(home) / ".cache";
  if (!cache.empty()) // scripts/setup puts wheels there
    add(cache / "penstock" / "nvrtc" / "nvidia" / "cu13" / "lib");
  for (const char *name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
    found.emplace_back(name);
  return found;
}

Nvrtc::Nvrtc(std::unique_ptr<Functions> functions) : functions(std::move(functions)) {}

Nvrtc::~Nvrtc() {
  // Stays loaded: it starts threads that it does not end.
}

llvm::Expected<std::shared_ptr<const Nvrtc>> Nvrtc::open() {
  for (const std::string &file : candidates()) {
    auto functions = std::make_unique<Functions>();
    functions->library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (functions->library && functions->bind())
      return std::shared_ptr<const Nvrtc>(new Nvrtc(std::move(functions)));
  }
  return nvrtcError("NVRTC, the compiler for GPU code, was not found; install a CUDA toolkit, run "
                    "scripts/setup, or "
                    "name the library in PENSTOCK_NVRTC");
}

std::string Nvrtc::version() const {
  int major = 0, minor = 0;
  functions->version(&major, &minor);
  return std::to_string(major) + "." + std::to_string(minor);
}

std::vector<int> Nvrtc::architectures() const {
  int count = 0;
  functions->archCount(&count);
  std::vector<int> result(static_cast<size_t>(count));
  functions->archs(result.data());
  return result;
}

//===--- compiling ---------------------------------------------------------===//

llvm::Expected<std::string> Nvrtc::compile(const std::string &text, llvm::StringRef architecture,
                                           Form form) const {
  int number = 0;
  llvm::StringRef digits = architecture;
  const auto known = architectures();
  if (!digits.consume_front("sm_") || digits.getAsInteger(10, number) ||
      std::find(known.begin(), known.end(), number) == known.end()) {
    std::string names;
    for (int other : known)
      names += (names.empty() ? "sm_" : ", sm_") + std::to_string(other);
    return nvrtcError("NVRTC " + version() + " makes no code for `" + architecture +
                      "`; it knows " + names);
  }
  const std::string header(cudaHeader());
  const char *headers[] = {header.c_str()}, *names[] = {"penstock.cuh"};
  Functions::Program program = nullptr;
  if (functions->create(&program, text.c_str(), "kernels.cu", 1, headers, names) != 0)
    return nvrtcError("NVRTC takes no program");
  const auto end = llvm::make_scope_exit([&] { functions->destroy(&program); });
  const std::string target =
      (form == Form::ptx ? "--gpu-architecture=compute_" : "--gpu-architecture=sm_") +
      std::to_string(number);
  // A product and a sum round apart; the others are defaults, which say the same: IEEE 754.
  const char *options[] = {target.c_str(), "--std=c++17",     "--fmad=false",
                           "--ftz=false",  "--prec-div=true", "--prec-sqrt=true"};
  if (functions->compile(program, std::size(options), options) != 0) {
    size_t size = 0;
    functions->logSize(program, &size);
    std::string log(size, '\0');
    functions->log(program, log.data());
    return nvrtcError("NVRTC refuses the kernels:\n" + llvm::StringRef(log.c_str()));
  }
  size_t size = 0;
  (form == Form::ptx ? functions->ptxSize : functions->cubinSize)(program, &size);
  std::string code(size, '\0');
  (form == Form::ptx ? functions->ptx : functions->cubin)(program, code.data());
  if (form == Form::ptx && !code.empty())
    code.pop_back(); // it ends in a NUL
  return code;
}
