// SPDX-License-Identifier: Apache-2.0
//
// Search for the compiler's library, and its loading.
#include "api/c/CompilerLibrary.h"
#include "api/c/penstock.h"
#include <dlfcn.h>
#include <filesystem>

using namespace penstock;
using namespace penstock::api;

std::string api::compilerPath() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<const void *>(&pst_version), &info) || !info.dli_fname)
    return PENSTOCK_COMPILER_FILE;
  std::error_code failed;
  const std::filesystem::path self = std::filesystem::canonical(info.dli_fname, failed);
  return failed ? PENSTOCK_COMPILER_FILE : (self.parent_path() / PENSTOCK_COMPILER_FILE).string();
}

namespace {
struct Library {
  decltype(&penstock_start_compilation) start = nullptr;
  decltype(&penstock_write_formatted) format = nullptr;
  decltype(&penstock_write_operators) operators = nullptr;
  std::string why; ///< that something is null
};
} // namespace

static Library loadLibrary() {
  // Lazily bound: LLVM has more functions than one compilation calls. Locally,
  // since a process may hold other versions of LLVM.
  void *handle = dlopen(compilerPath().c_str(), RTLD_LAZY | RTLD_LOCAL);
  Library library;
  auto find = [&](auto &function, const char *name) {
    function =
        handle ? reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(handle, name)) : nullptr;
    if (!function && library.why.empty())
      library.why = dlerror();
  };
  find(library.start, "penstock_start_compilation");
  find(library.format, "penstock_write_formatted");
  find(library.operators, "penstock_write_operators");
  return library;
}

static const Library &compilerLibrary() {
  static const Library library = loadLibrary();
  return library;
}

template <typename Made, auto Library::*function, typename... Arguments>
static runtime::Result<std::unique_ptr<Made>> call(const Arguments &...arguments) {
  const Library &library = compilerLibrary();
  if (!library.why.empty())
    return runtime::Error{runtime::Code::Unsupported,
                          "the compiler cannot be loaded: " + library.why};
  return std::unique_ptr<Made>((library.*function)(arguments...));
}

runtime::Result<std::unique_ptr<Compilation>> api::startCompilation(const CompileRequest &request) {
  return call<Compilation, &Library::start>(request);
}

runtime::Result<std::unique_ptr<Written>> api::writeFormatted(const CompileRequest &request) {
  return call<Written, &Library::format>(request);
}

runtime::Result<std::unique_ptr<Written>> api::writeOperators() {
  return call<Written, &Library::operators>();
}
