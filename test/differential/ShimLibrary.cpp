// SPDX-License-Identifier: Apache-2.0
//
// CUDA text, compiled for the CPU.
#include "test/differential/ShimLibrary.h"
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

namespace penstock::differential {

static std::string contents(const std::string &path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Where a compiled text lies that other processes may have compiled, too: in the folder that
/// PENSTOCK_SHIM_CACHE names, of one test. Empty: nowhere.
static std::string sharedPath(const std::string &text, bool isWatched) {
  const char *folder = std::getenv("PENSTOCK_SHIM_CACHE");
  if (!folder)
    return "";
  return std::string(folder) + "/" + std::to_string(std::hash<std::string>()(text)) +
         (isWatched ? "-watched.so" : ".so");
}

std::unique_ptr<ShimLibrary> ShimLibrary::compile(const std::string &text, std::string &error,
                                                  bool isWatched) {
  auto made = std::make_unique<ShimLibrary>();
  std::string &folder = made->folder;
  folder = (std::filesystem::temp_directory_path() / "penstock-cuda-XXXXXX").string();
  if (!mkdtemp(folder.data())) {
    folder.clear();
    error = "no folder for the shim's library";
    return nullptr;
  }
  std::ofstream(folder + "/kernels.cu") << text;
  const std::string compiler = PENSTOCK_SHIM_COMPILER, messages = " 2> " + folder + "/messages";
  // The callbacks are the shim's: the sanitizer's runtime is not linked.
  const std::string commands[] = {
      compiler +
          " -x c++ -std=c++17 -nostdinc++ -O1 -g1 -fPIC -ffp-contract=off "
          "-fno-strict-aliasing" +
          (isWatched ? " -DPST_WATCHED -fsanitize=thread,alignment,signed-integer-overflow,"
                       "shift-exponent,integer-divide-by-zero,float-cast-overflow -mllvm "
                       "-tsan-instrument-func-entry-exit=0"
                       " -mllvm -tsan-instrument-read-before-write=1"
                     : " -fwrapv") +
          " -include " PENSTOCK_SHIM_FOLDER "/shim.h -I" PENSTOCK_SHIM_FOLDER " -c " + folder +
          "/kernels.cu -o " + folder + "/kernels.o" + messages,
      compiler + " -shared -fuse-ld=lld " + folder +
          "/kernels.o -Wl,--whole-archive " PENSTOCK_SHIM_LIBRARY " -Wl,--no-whole-archive -o " +
          folder + "/kernels.so" + messages};
  // A copy: a file that is opened twice is one library, with one shim.
  const std::string shared = sharedPath(text, isWatched), own = folder + "/kernels.so";
  std::error_code failed;
  if (shared.empty() || !std::filesystem::copy_file(shared, own, failed)) {
    for (const std::string &command : commands)
      if (std::system(command.c_str()) != 0) {
        error = "the text does not compile: " + contents(folder + "/messages") + text;
        return nullptr;
      }
    if (!shared.empty()) {
      const std::string whole = shared + folder.substr(folder.rfind('-'));
      std::filesystem::copy_file(own, whole, failed);
      std::filesystem::rename(whole, shared, failed);
    }
  }
  made->library = dlopen((folder + "/kernels.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!made->library) {
    error = dlerror();
    return nullptr;
  }
  return made;
}

ShimLibrary::~ShimLibrary() {
  if (library)
    dlclose(library);
  if (!folder.empty())
    std::filesystem::remove_all(folder);
}

ShimLibrary::Kernel ShimLibrary::kernel(const std::string &name) const {
  return reinterpret_cast<Kernel>(dlsym(library, name.c_str()));
}

/// ` (line 123: the line)`, or nothing where nobody can tell.
std::string ShimLibrary::lineAt(uint64_t offset) const {
  const std::string out = folder + "/line";
  const std::string command =
      "/usr/lib/llvm-19/bin/llvm-symbolizer --no-inlines --functions=none --obj=" + folder +
      "/kernels.so " + std::to_string(offset - 1) + " > " + out + " 2> /dev/null";
  if (std::system(command.c_str()) != 0)
    return "";
  const std::string place = contents(out); // path:line:column
  const size_t name = place.rfind('/') + 1;
  return " (" + place.substr(name, place.find('\n') - name) + ")";
}

std::string ShimLibrary::run(pst_shim_launch launch, const ShimRegions &regions) const {
  const auto shim = reinterpret_cast<pst_shim_run_t>(dlsym(library, "pst_shim_run"));
  launch.regions = regions.all.data();
  launch.region_count = regions.all.size();
  const pst_shim_fault *fault = shim(&launch);
  if (!fault)
    return "";
  return fault->what + (fault->at ? lineAt(fault->at) : "");
}

} // namespace penstock::differential
