// SPDX-License-Identifier: Apache-2.0
//
// libcuda.so.1 for tests: a simulated GPU, whose kernels are CUDA text behind the shim.
//
// Whoever opens the driver finds it by LD_LIBRARY_PATH. PENSTOCK_FAKE_GPU says how it behaves:
// words like `seed=3 memory=1000000 architecture=86 memAlloc=2:2` (the call number 2 of memAlloc
// fails with error 2), or `watch=1`, where races of its threads are faults. At the end of the
// process it writes what went wrong, and what was not given back, to stderr.

#include "runtime/abi/kernel.h"
#include "runtime/device/cuda/FakeDriver.h"
#include "test/differential/ShimLibrary.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>

using namespace penstock;
using namespace penstock::runtime::cuda;

namespace {

std::string behaviour() {
  const char *given = std::getenv("PENSTOCK_FAKE_GPU");
  return given ? given : "";
}
bool isWatched() { return behaviour().find("watch=1") != std::string::npos; }

class ShimModule final : public FakeModule {
public:
  explicit ShimModule(std::unique_ptr<differential::ShimLibrary> library)
      : library(std::move(library)) {}
  bool has(const std::string &kernel) const override { return library->kernel(kernel) != nullptr; }
  std::string run(const FakeLaunch &asked) override {
    pst_shim_launch launch = {};
    launch.kernel = library->kernel(asked.kernel);
    launch.samples = asked.records;
    launch.status = asked.status;
    launch.blocks = asked.blocks;
    launch.count = asked.count;
    launch.threads = asked.threads;
    launch.shared_bytes = asked.sharedBytes;
    differential::ShimRegions regions;
    if (isWatched())
      for (auto [at, bytes] : asked.memory)
        regions.keeps("the GPU's memory", at, bytes);
    return library->run(launch, regions);
  }

private:
  std::unique_ptr<differential::ShimLibrary> library;
};

std::unique_ptr<FakeModule> load(const char *image) {
  std::string error;
  auto library = differential::ShimLibrary::compile(image, error, isWatched());
  if (!library)
    std::fprintf(stderr, "simulated GPU: %s\n", error.c_str());
  return library ? std::make_unique<ShimModule>(std::move(library)) : nullptr;
}

struct Simulated {
  FakeDriver driver;

  static FakeDriver::Options options() {
    FakeDriver::Options result;
    result.load = load;
    std::stringstream words(behaviour());
    for (std::string word; words >> word;) {
      const std::string value = word.substr(word.find('=') + 1);
      if (word.starts_with("seed="))
        result.seed = std::stoull(value);
      if (word.starts_with("memory="))
        result.memory = std::stoull(value);
      if (word.starts_with("architecture="))
        result.architecture = std::stoi(value);
    }
    return result;
  }
  Simulated() : driver(options()) {
    std::stringstream words(behaviour());
    for (std::string word; words >> word;)
      if (const size_t name = word.find('='), code = word.find(':'); code != std::string::npos)
        driver.fail(word.substr(0, name), std::stoi(word.substr(name + 1)),
                    std::stoi(word.substr(code + 1)));
  }
  ~Simulated() {
    if (const std::string fault = driver.fault(); !fault.empty())
      std::fprintf(stderr, "simulated GPU: %s\n", fault.c_str());
    if (const std::string left = driver.left(); !left.empty())
      std::fprintf(stderr, "simulated GPU: not given back: %s\n", left.c_str());
  }
};

const Driver &table() {
  static Simulated simulated;
  return simulated.driver.table();
}

} // namespace

#define EXPORT(symbol, member, parameters, arguments)                                              \
  extern "C" __attribute__((visibility("default"))) int symbol parameters {                        \
    return table().member arguments;                                                               \
  }

EXPORT(cuInit, init, (unsigned a), (a))
EXPORT(cuDriverGetVersion, driverGetVersion, (int *a), (a))
EXPORT(cuGetErrorName, getErrorName, (int a, const char **b), (a, b))
EXPORT(cuGetErrorString, getErrorString, (int a, const char **b), (a, b))
EXPORT(cuDeviceGetCount, deviceGetCount, (int *a), (a))
EXPORT(cuDeviceGet, deviceGet, (int *a, int b), (a, b))
EXPORT(cuDeviceGetName, deviceGetName, (char *a, int b, int c), (a, b, c))
EXPORT(cuDeviceGetAttribute, deviceGetAttribute, (int *a, int b, int c), (a, b, c))
EXPORT(cuDevicePrimaryCtxRetain, devicePrimaryCtxRetain, (Context * a, int b), (a, b))
EXPORT(cuDevicePrimaryCtxRelease_v2, devicePrimaryCtxRelease, (int a), (a))
EXPORT(cuCtxPushCurrent_v2, ctxPushCurrent, (Context a), (a))
EXPORT(cuCtxPopCurrent_v2, ctxPopCurrent, (Context * a), (a))
EXPORT(cuCtxGetStreamPriorityRange, ctxGetStreamPriorityRange, (int *a, int *b), (a, b))
EXPORT(cuMemGetInfo_v2, memGetInfo, (size_t *a, size_t *b), (a, b))
EXPORT(cuMemAlloc_v2, memAlloc, (DevicePointer * a, size_t b), (a, b))
EXPORT(cuMemFree_v2, memFree, (DevicePointer a), (a))
EXPORT(cuMemHostAlloc, memHostAlloc, (void **a, size_t b, unsigned c), (a, b, c))
EXPORT(cuMemFreeHost, memFreeHost, (void *a), (a))
EXPORT(cuMemcpyHtoDAsync_v2, memcpyHtoDAsync, (DevicePointer a, const void *b, size_t c, Stream d),
       (a, b, c, d))
EXPORT(cuMemcpyDtoHAsync_v2, memcpyDtoHAsync, (void *a, DevicePointer b, size_t c, Stream d),
       (a, b, c, d))
EXPORT(cuMemcpyDtoDAsync_v2, memcpyDtoDAsync,
       (DevicePointer a, DevicePointer b, size_t c, Stream d), (a, b, c, d))
EXPORT(cuMemsetD8Async, memsetD8Async, (DevicePointer a, unsigned char b, size_t c, Stream d),
       (a, b, c, d))
EXPORT(cuStreamCreateWithPriority, streamCreateWithPriority, (Stream * a, unsigned b, int c),
       (a, b, c))
EXPORT(cuStreamDestroy_v2, streamDestroy, (Stream a), (a))
EXPORT(cuStreamSynchronize, streamSynchronize, (Stream a), (a))
EXPORT(cuStreamWaitEvent, streamWaitEvent, (Stream a, Event b, unsigned c), (a, b, c))
EXPORT(cuEventCreate, eventCreate, (Event * a, unsigned b), (a, b))
EXPORT(cuEventDestroy_v2, eventDestroy, (Event a), (a))
EXPORT(cuEventRecord, eventRecord, (Event a, Stream b), (a, b))
EXPORT(cuEventQuery, eventQuery, (Event a), (a))
EXPORT(cuEventSynchronize, eventSynchronize, (Event a), (a))
EXPORT(cuModuleLoadData, moduleLoadData, (Module * a, const void *b), (a, b))
EXPORT(cuModuleUnload, moduleUnload, (Module a), (a))
EXPORT(cuModuleGetFunction, moduleGetFunction, (Function * a, Module b, const char *c), (a, b, c))
EXPORT(cuFuncSetAttribute, funcSetAttribute, (Function a, int b, int c), (a, b, c))
EXPORT(cuLaunchKernel, launchKernel,
       (Function a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f, unsigned g,
        unsigned h, Stream i, void **j, void **k),
       (a, b, c, d, e, f, g, h, i, j, k))
