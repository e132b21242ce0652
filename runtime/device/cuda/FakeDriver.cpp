// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/FakeDriver.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace penstock::runtime::cuda {

namespace {

FakeDriver *current; // the table's functions have no closures
thread_local int captureMode = 0;

/// Returns whether a call might disturb another thread's capture, which CUDA then drops.
bool disturbs(const std::string &name) {
  return name.starts_with("mem") || name.ends_with("Synchronize") || name == "eventQuery";
}

template <typename Handle> Handle handleOf(uintptr_t number) {
  return reinterpret_cast<Handle>(number);
}

/// Returns whether bytes lie in one of `blocks`.
bool holds(const std::map<uintptr_t, size_t> &blocks, uintptr_t at, size_t bytes) {
  auto after = blocks.upper_bound(at);
  if (after == blocks.begin())
    return false;
  const auto &[begin, size] = *std::prev(after);
  return at - begin <= size && bytes <= size - (at - begin);
}

void *newMemory(size_t bytes) {
  void *memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (memory)
    std::memset(memory, FakeDriver::poison, bytes);
  return memory;
}

/// Shared memory and threads of a multiprocessor, and shared memory of a block: CUDA C++
/// Programming Guide, "Technical Specifications per Compute Capability".
struct Room {
  int kilobytes, threads, ofBlock;
};
Room roomOf(int architecture) {
  switch (architecture) {
  case 75:
    return {64, 1024, 64};
  case 80:
  case 87:
    return {164, architecture == 80 ? 2048 : 1536, 163};
  case 86:
  case 89:
    return {100, 1536, 99};
  default:
    return architecture >= 120 ? Room{100, 1536, 99} : Room{228, 2048, 227};
  }
}

} // namespace

/// Queued work: done when `after` is, if there is one. `host`: memory of the host that it touches.
struct FakeDriver::Operation {
  std::function<int()> work;
  std::shared_ptr<bool> after, done;
  const void *host = nullptr;
};

/// Counts the call and answers for the GPU.
template <typename Work> int FakeDriver::call(const char *name, Work work) {
  std::lock_guard guard(lock);
  const int number = counts[name]++;
  if (auto found = failures.find(name); found != failures.end() && found->second.first == number)
    return found->second.second;
  if (lost != success)
    return lost;
  if (options.captures && captureMode != captureRelaxed && disturbs(name))
    return blame(std::string(name) + " while another thread captures a graph", captureUnsupported);
  return work();
}

int FakeDriver::blame(const std::string &what, int code) {
  if (firstFault.empty())
    firstFault = what;
  return code;
}

bool FakeDriver::isDeviceMemory(DevicePointer at, size_t bytes) const {
  return holds(device, at, bytes);
}
bool FakeDriver::isPinned(const void *at, size_t bytes) const {
  return holds(pinned, reinterpret_cast<uintptr_t>(at), bytes);
}

int FakeDriver::blocksOfMultiprocessor(unsigned threads, size_t sharedBytes) const {
  const Room room = roomOf(options.architecture);
  const size_t reserved = options.architecture < 80 ? 0 : 1024;
  const size_t byMemory = (size_t(room.kilobytes) << 10) / (sharedBytes + reserved + 16);
  return int(std::min<size_t>({byMemory, size_t(room.threads) / threads, 16}));
}

//===--- doing what is queued -----------------------------------------------------===//

int FakeDriver::queue(Stream stream, Operation operation) {
  auto found = streams.find(stream);
  if (found == streams.end())
    return blame("work for a stream that there is not", invalidValue);
  found->second.push_back(std::move(operation));
  return success;
}

bool FakeDriver::advanceLocked() {
  std::vector<std::deque<Operation> *> ready;
  for (auto &[stream, operations] : streams)
    if (!operations.empty() && (!operations.front().after || *operations.front().after))
      ready.push_back(&operations);
  if (ready.empty())
    return false;
  auto &operations = *ready[random() % ready.size()];
  Operation next = std::move(operations.front());
  operations.pop_front();
  if (lost == success && next.work)
    lost = next.work();
  if (next.done)
    *next.done = true;
  return true;
}

bool FakeDriver::advance() {
  std::lock_guard guard(lock);
  return advanceLocked();
}

int FakeDriver::finish(const std::function<bool()> &done) {
  while (!done())
    if (!advanceLocked())
      return blame("a wait for what never comes", launchFailed);
  return lost;
}

//===--- the table -------------------------------------------------------------------===//

FakeDriver::FakeDriver(Options wanted) : options(std::move(wanted)), random(options.seed) {
  assert(!current && "one simulated GPU at a time");
  current = this;
  functions.init = [](unsigned) { return current->call("init", [] { return success; }); };
  functions.driverGetVersion = [](int *version) {
    return current->call("driverGetVersion", [=] { return *version = 12040, success; });
  };
  functions.getErrorName = [](int code, const char **name) {
    *name = code == outOfMemory      ? "CUDA_ERROR_OUT_OF_MEMORY"
            : code == illegalAddress ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                     : "CUDA_ERROR";
    return int(success);
  };
  functions.getErrorString = [](int code, const char **text) {
    *text = code == outOfMemory      ? "out of memory"
            : code == illegalAddress ? "an illegal memory access was encountered"
                                     : "the simulated GPU failed";
    return int(success);
  };
  functions.deviceGetCount = [](int *count) {
    return current->call("deviceGetCount", [=] { return *count = 1, success; });
  };
  functions.deviceGet = [](int *device, int ordinal) {
    return current->call("deviceGet", [=] { return *device = ordinal, success; });
  };
  functions.deviceGetName = [](char *name, int bytes, int) {
    return current->call("deviceGetName",
                         [=] { return std::strncpy(name, "simulated", size_t(bytes)), success; });
  };
  functions.deviceGetAttribute = [](int *value, int attribute, int) {
    return current->call("deviceGetAttribute", [=] {
      const FakeDriver::Options &all = current->options;
      *value = attribute == computeMajor      ? all.architecture / 10
               : attribute == computeMinor    ? all.architecture % 10
               : attribute == multiprocessors ? all.multiprocessors
                                              : roomOf(all.architecture).ofBlock << 10;
      return success;
    });
  };
  functions.threadExchangeStreamCaptureMode = [](int *mode) {
    std::swap(*mode, captureMode);
    return int(success);
  };
  functions.devicePrimaryCtxRetain = [](Context *context, int) {
    return current->call("devicePrimaryCtxRetain", [=] {
      *context = handleOf<Context>(8);
      ++current->retained;
      return success;
    });
  };
  functions.devicePrimaryCtxRelease = [](int) {
    return current->call("devicePrimaryCtxRelease", [] { return --current->retained, success; });
  };
  functions.ctxPushCurrent = [](Context) {
    return current->call("ctxPushCurrent", [] { return success; });
  };
  functions.ctxPopCurrent = [](Context *context) {
    return current->call("ctxPopCurrent", [=] { return *context = nullptr, success; });
  };
  for (uintptr_t number : {0, 1}) // the default stream, by its two names
    streams[handleOf<Stream>(number)];
  fillMemory();
  fillStreams();
  fillCode();
}

FakeDriver::~FakeDriver() {
  for (const auto &memory : {device, pinned})
    for (auto [at, bytes] : memory)
      std::free(reinterpret_cast<void *>(at));
  current = nullptr;
}

void FakeDriver::fillMemory() {
  functions.memGetInfo = [](size_t *free, size_t *total) {
    return current->call("memGetInfo", [=] {
      *total = current->options.memory;
      *free = current->options.memory - current->used;
      return success;
    });
  };
  functions.memAlloc = [](DevicePointer *memory, size_t bytes) {
    return current->call("memAlloc", [=] {
      if (bytes > current->options.memory - current->used)
        return int(outOfMemory);
      *memory = reinterpret_cast<uintptr_t>(newMemory(bytes));
      current->device[*memory] = bytes;
      current->used += bytes;
      return int(success);
    });
  };
  functions.memFree = [](DevicePointer memory) {
    return current->call("memFree", [=] {
      auto found = current->device.find(memory);
      if (found == current->device.end())
        return current->blame("memory is freed that was not allocated", invalidValue);
      while (current->advanceLocked()) // as the driver does
        ;
      current->used -= found->second;
      current->device.erase(found);
      std::free(reinterpret_cast<void *>(memory));
      return int(success);
    });
  };
  functions.memHostAlloc = [](void **memory, size_t bytes, unsigned) {
    return current->call("memHostAlloc", [=] {
      *memory = newMemory(bytes);
      current->pinned[reinterpret_cast<uintptr_t>(*memory)] = bytes;
      return success;
    });
  };
  functions.memFreeHost = [](void *memory) {
    return current->call("memFreeHost", [=] {
      auto found = current->pinned.find(reinterpret_cast<uintptr_t>(memory));
      if (found == current->pinned.end())
        return current->blame("host memory is freed that was not allocated", invalidValue);
      for (const auto &[stream, operations] : current->streams)
        for (const Operation &operation : operations)
          if (holds({*found}, reinterpret_cast<uintptr_t>(operation.host),
                    1)) // not what begins behind
            current->blame("host memory is freed that a copy still touches", invalidValue);
      current->pinned.erase(found);
      while (current->advanceLocked())
        ;
      std::free(memory);
      return int(success);
    });
  };
  functions.memcpyHtoDAsync = [](DevicePointer to, const void *from, size_t bytes, Stream stream) {
    return current->call("memcpyHtoDAsync", [=] {
      if (!current->isDeviceMemory(to, bytes) || !current->isPinned(from, bytes))
        return current->blame("a copy to the device leaves what was allocated", invalidValue);
      return current->queue(stream, {[=] {
                                       std::memcpy(reinterpret_cast<void *>(to), from, bytes);
                                       return success;
                                     },
                                     {},
                                     {},
                                     from});
    });
  };
  functions.memcpyDtoHAsync = [](void *to, DevicePointer from, size_t bytes, Stream stream) {
    return current->call("memcpyDtoHAsync", [=] {
      if (!current->isDeviceMemory(from, bytes) || !current->isPinned(to, bytes))
        return current->blame("a copy from the device leaves what was allocated", invalidValue);
      std::memset(to, poison, bytes); // for those who read it too early
      return current->queue(stream, {[=] {
                                       std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
                                       return success;
                                     },
                                     {},
                                     {},
                                     to});
    });
  };
  functions.memcpyDtoDAsync = [](DevicePointer to, DevicePointer from, size_t bytes,
                                 Stream stream) {
    return current->call("memcpyDtoDAsync", [=] {
      if (!current->isDeviceMemory(from, bytes) || !current->isDeviceMemory(to, bytes))
        return current->blame("a copy within the device leaves what was allocated", invalidValue);
      if (from < to + bytes && to < from + bytes)
        return current->blame("a copy within the device overlaps itself", invalidValue);
      return current->queue(stream, {[=] {
                                       std::memcpy(reinterpret_cast<void *>(to),
                                                   reinterpret_cast<const void *>(from), bytes);
                                       return success;
                                     },
                                     {},
                                     {}});
    });
  };
  functions.memsetD8Async = [](DevicePointer to, unsigned char value, size_t bytes, Stream stream) {
    return current->call("memsetD8Async", [=] {
      if (!current->isDeviceMemory(to, bytes))
        return current->blame("memory is cleared that was not allocated", invalidValue);
      return current->queue(stream, {[=] {
                                       std::memset(reinterpret_cast<void *>(to), value, bytes);
                                       return success;
                                     },
                                     {},
                                     {}});
    });
  };
}

void FakeDriver::fillStreams() {
  functions.ctxGetStreamPriorityRange = [](int *least, int *greatest) {
    return current->call("ctxGetStreamPriorityRange",
                         [=] { return *least = 0, *greatest = -5, success; });
  };
  functions.streamCreateWithPriority = [](Stream *stream, unsigned, int) {
    return current->call("streamCreateWithPriority", [=] {
      *stream = handleOf<Stream>(current->nextHandle++);
      current->streams[*stream];
      return success;
    });
  };
  functions.streamDestroy = [](Stream stream) {
    return current->call("streamDestroy", [=] {
      current->streams.erase(stream);
      return success;
    });
  };
  functions.streamSynchronize = [](Stream stream) {
    return current->call("streamSynchronize", [=] {
      return current->finish([=] { return current->streams[stream].empty(); });
    });
  };
  functions.streamWaitEvent = [](Stream stream, Event event, unsigned) {
    return current->call("streamWaitEvent", [=] {
      return current->queue(stream, {nullptr, current->events[event], {}});
    });
  };
  functions.eventCreate = [](Event *event, unsigned) {
    return current->call("eventCreate", [=] {
      *event = handleOf<Event>(current->nextHandle++);
      current->events[*event] = std::make_shared<bool>(true); // as one that was never recorded
      return success;
    });
  };
  functions.eventDestroy = [](Event event) {
    return current->call("eventDestroy", [=] {
      current->events.erase(event);
      return success;
    });
  };
  functions.eventRecord = [](Event event, Stream stream) {
    return current->call("eventRecord", [=] {
      current->events[event] = std::make_shared<bool>(false);
      return current->queue(stream, {nullptr, {}, current->events[event]});
    });
  };
  functions.eventQuery = [](Event event) {
    return current->call("eventQuery", [=] {
      if (!*current->events[event] && current->random() % 2)
        current->advanceLocked();
      return *current->events[event] ? current->lost : int(notReady);
    });
  };
  functions.eventSynchronize = [](Event event) {
    return current->call("eventSynchronize", [=] {
      return current->finish([done = current->events[event]] { return *done; });
    });
  };
}

void FakeDriver::fillCode() {
  functions.moduleLoadData = [](Module *module, const void *image) {
    return current->call("moduleLoadData", [=]() -> int {
      auto loaded =
          current->options.load ? current->options.load(static_cast<const char *>(image)) : nullptr;
      if (!loaded)
        return current->options.refusal;
      *module = handleOf<Module>(current->nextHandle++);
      current->modules[*module] = std::move(loaded);
      return success;
    });
  };
  functions.moduleUnload = [](Module module) {
    return current->call("moduleUnload", [=] { return current->modules.erase(module), success; });
  };
  functions.moduleGetFunction = [](Function *function, Module module, const char *name) {
    return current->call("moduleGetFunction", [=] {
      if (!current->modules[module]->has(name))
        return notFound;
      *function = handleOf<Function>(current->nextHandle++);
      current->kernels[*function] = {module, name, 48 << 10};
      return success;
    });
  };
  functions.funcSetAttribute = [](Function function, int, int value) {
    return current->call("funcSetAttribute", [=] {
      current->kernels[function].mostShared = value;
      return value > roomOf(current->options.architecture).ofBlock << 10 ? invalidValue : success;
    });
  };
  functions.occupancyMaxActiveBlocksPerMultiprocessor = [](int *blocks, Function, int threads,
                                                           size_t sharedBytes) {
    return current->call("occupancyMaxActiveBlocksPerMultiprocessor", [=] {
      *blocks = current->blocksOfMultiprocessor(unsigned(threads), sharedBytes);
      return success;
    });
  };
  functions.launchKernel = [](Function function, unsigned blocks, unsigned count, unsigned,
                              unsigned threads, unsigned, unsigned, unsigned sharedBytes,
                              Stream stream, void **parameters, void **) {
    return current->call("launchKernel", [=] {
      const auto &[module, name, mostShared] = current->kernels[function];
      if (blocks == 0 || count == 0 || count > 65535 || threads == 0 || threads > 1024)
        return current->blame("a launch without blocks or with too many", invalidValue);
      constexpr unsigned own = 16; // of what a kernel has beside
      if (sharedBytes + own > unsigned(mostShared) + (mostShared > 48 << 10 ? own : 0))
        return current->blame("a launch with more shared memory than was asked for", invalidValue);
      FakeLaunch launch{name,
                        blocks,
                        count,
                        threads,
                        sharedBytes,
                        *static_cast<void **>(parameters[0]),
                        *static_cast<pst_sample_status **>(parameters[1]),
                        {},
                        unsigned(current->options.multiprocessors *
                                 current->blocksOfMultiprocessor(threads, sharedBytes))};
      return current->queue(
          stream, {[launch, code = current->modules[module]]() mutable {
                     for (auto [at, bytes] : current->device)
                       launch.memory.emplace_back(reinterpret_cast<void *>(at), bytes);
                     const std::string wrong = code->run(launch);
                     return wrong.empty() ? int(success)
                                          : current->blame("kernel " + launch.kernel + ": " + wrong,
                                                           illegalAddress);
                   },
                   {},
                   {}});
    });
  };
}

//===--- what tests ask --------------------------------------------------------------===//

void FakeDriver::fail(const std::string &function, int number, int code) {
  std::lock_guard guard(lock);
  failures[function] = {number, code};
}

std::map<std::string, int> FakeDriver::calls() const {
  std::lock_guard guard(lock);
  return counts;
}

std::string FakeDriver::left() const {
  std::lock_guard guard(lock);
  std::string text;
  for (auto [count, what] :
       {std::pair(device.size(), "allocations"), std::pair(pinned.size(), "host allocations"),
        std::pair(streams.size() - 2, "streams"), std::pair(events.size(), "events"),
        std::pair(modules.size(), "modules"), std::pair(size_t(retained), "contexts")})
    if (count)
      text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  return text;
}

std::string FakeDriver::fault() const {
  std::lock_guard guard(lock);
  return firstFault;
}

} // namespace penstock::runtime::cuda
