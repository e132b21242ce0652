//===- CompilerLibrary.cpp - finding and loading ---------------------------===//

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
  std::string why; ///< that there is no `start`
};
} // namespace

static Library loadLibrary() {
  // Lazily bound: LLVM has more functions than one compilation calls. Locally,
  // since a process may hold other versions of LLVM.
  void *handle = dlopen(compilerPath().c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!handle)
    return {nullptr, dlerror()};
  void *symbol = dlsym(handle, "penstock_start_compilation");
  return {reinterpret_cast<decltype(Library::start)>(symbol), symbol ? "" : dlerror()};
}

runtime::Result<std::unique_ptr<Compilation>>
api::startCompilation(const CompileRequest &request) {
  static const Library library = loadLibrary();
  if (!library.start)
    return runtime::Error{runtime::Code::Unsupported,
                          "the compiler cannot be loaded: " + library.why};
  return std::unique_ptr<Compilation>(library.start(request));
}
