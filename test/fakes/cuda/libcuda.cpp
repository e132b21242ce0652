// SPDX-License-Identifier: Apache-2.0
//
// libcuda.so.1 for tests: a simulated GPU, whose kernels are CUDA text behind the shim.
//
// Whoever opens the driver finds it by LD_LIBRARY_PATH. PENSTOCK_FAKE_GPU says how it behaves:
// words like `seed=3 memory=1000000 architecture=86 multiprocessors=4 memAlloc=2:2` (the call
// number 2 of memAlloc fails with error 2), `captures=1`, where another thread captures a graph all
// the time, or `watch=1`, where races of its threads are faults. `count=FILE` watches, too, and
// counts accesses: at the end of the process FILE has a line for each kernel, which adds up its
// launches (`NAME launches 2 loads 384 ...`, the fields of pst_shim_counts; records and states are
// `launched`, all other memory is tensors). What went wrong by then, and what was not given back,
// is written to stderr.

#include "runtime/abi/kernel.h"
#include "runtime/device/cuda/FakeDriver.h"
#include "test/differential/ShimCounts.h"
#include "test/differential/ShimLibrary.h"
#include "test/fakes/cuda/Handed.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

using namespace penstock;
using namespace penstock::runtime::cuda;

namespace {

std::string behaviour() {
  const char *given = std::getenv("PENSTOCK_FAKE_GPU");
  return given ? given : "";
}
/// Returns where counts are written; an empty string: nowhere.
std::string countFile() {
  const std::string word = "count=", all = " " + behaviour() + " ";
  const size_t at = all.find(" " + word);
  if (at == std::string::npos)
    return "";
  const size_t begin = at + 1 + word.size();
  return all.substr(begin, all.find(' ', begin) - begin);
}
bool isCounted() { return !countFile().empty(); }
bool isWatched() { return behaviour().find("watch=1") != std::string::npos || isCounted(); }

/// What the launches of each kernel did together.
class Counts {
public:
  void add(const std::string &kernel, const pst_shim_counts &counts) {
    auto &[launches, all] = kernels[kernel];
    ++launches;
    differential::addCounts(all, counts);
  }
  void write(const std::string &path) const {
    std::ofstream file(path);
    for (const auto &[kernel, counted] : kernels)
      file << kernel << differential::countsText(counted.first, counted.second) << "\n";
  }

private:
  std::map<std::string, std::pair<int64_t, pst_shim_counts>> kernels;
};

/// The memory that a launch may touch. It is cut where `handed` lies: a byte has one region.
differential::ShimRegions regionsOf(const FakeLaunch &launch,
                                    const std::vector<HandedMemory> &handed) {
  differential::ShimRegions regions;
  for (auto [at, bytes] : launch.memory) {
    auto *begin = static_cast<uint8_t *>(at), *end = begin + bytes;
    for (const HandedMemory &part : handed) {
      if (part.begin < begin || part.end > end)
        continue;
      regions.keeps("the GPU's memory", begin, size_t(part.begin - begin));
      regions.hands(part.name, part.begin, size_t(part.end - part.begin), true);
      begin = part.end;
    }
    regions.keeps("the GPU's memory", begin, size_t(end - begin));
  }
  return regions;
}

class ShimModule final : public FakeModule {
public:
  ShimModule(std::string text, std::unique_ptr<differential::ShimLibrary> library, Counts &counts)
      : text(std::move(text)), library(std::move(library)), counts(counts) {}
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
    launch.together = asked.together;
    if (!isWatched())
      return library->run(launch, {});
    if (!isCounted())
      return library->run(launch, regionsOf(asked, {}));
    const std::vector<HandedMemory> handed = handedBy(text, asked);
    if (handed.empty())
      return "whose record the text does not have: nobody can count what it accesses";
    pst_shim_counts counted = {};
    launch.counts = &counted;
    const std::string fault = library->run(launch, regionsOf(asked, handed));
    counts.add(asked.kernel, counted);
    return fault;
  }

private:
  const std::string text;
  std::unique_ptr<differential::ShimLibrary> library;
  Counts &counts;
};

std::unique_ptr<FakeModule> load(const char *image, Counts &counts) {
  std::string error;
  auto library = differential::ShimLibrary::compile(image, error, isWatched());
  if (!library)
    std::fprintf(stderr, "simulated GPU: %s\n", error.c_str());
  return library ? std::make_unique<ShimModule>(image, std::move(library), counts) : nullptr;
}

struct Simulated {
  Counts counts;
  FakeDriver driver;

  static FakeDriver::Options options(Counts &counts) {
    FakeDriver::Options result;
    result.load = [&counts](const char *image) { return load(image, counts); };
    std::stringstream words(behaviour());
    for (std::string word; words >> word;) {
      const std::string value = word.substr(word.find('=') + 1);
      if (word.starts_with("seed="))
        result.seed = std::stoull(value);
      if (word.starts_with("memory="))
        result.memory = std::stoull(value);
      if (word.starts_with("architecture="))
        result.architecture = std::stoi(value);
      result.captures |= word == "captures=1";
      if (word.starts_with("multiprocessors="))
        result.multiprocessors = std::stoi(value);
    }
    return result;
  }
  Simulated() : driver(options(counts)) {
    std::stringstream words(behaviour());
    for (std::string word; words >> word;)
      if (const size_t name = word.find('='), code = word.find(':');
          code != std::string::npos && !word.starts_with("count="))
        driver.fail(word.substr(0, name), std::stoi(word.substr(name + 1)),
                    std::stoi(word.substr(code + 1)));
  }
  ~Simulated() {
    if (isCounted())
      counts.write(countFile());
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
EXPORT(cuThreadExchangeStreamCaptureMode, threadExchangeStreamCaptureMode, (int *a), (a))
EXPORT(cuOccupancyMaxActiveBlocksPerMultiprocessor, occupancyMaxActiveBlocksPerMultiprocessor,
       (int *a, Function b, int c, size_t d), (a, b, c, d))
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
