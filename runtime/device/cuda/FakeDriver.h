// SPDX-License-Identifier: Apache-2.0
//
// A GPU for tests: late, in any order that streams and events allow, and unforgiving.
#pragma once

#include "runtime/device/cuda/Driver.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>

struct pst_sample_status;

namespace penstock::runtime::cuda {

/// A launch as the simulated GPU sees it.
struct FakeLaunch {
  std::string kernel;
  unsigned blocks = 0, count = 0, threads = 0, sharedBytes = 0;
  const void *records = nullptr;
  pst_sample_status *status = nullptr;
  /// All memory of the device that is allocated: begin and bytes.
  std::vector<std::pair<void *, size_t>> memory;
  unsigned together = 0; ///< blocks that have room at once
};

/// A loaded module: its kernels, by name.
class FakeModule {
public:
  virtual ~FakeModule() = default;
  virtual bool has(const std::string &kernel) const = 0;
  /// Runs a launch to its end. Returns an empty string, or an error, after which the context is
  /// lost.
  virtual std::string run(const FakeLaunch &launch) = 0;
};

/// Fills the driver's table with a simulated GPU: there is one at a time in a process. Device
/// memory is memory of the host, poisoned when it is allocated. Queued work is done when
/// somebody waits, or a test says so: operations of one stream in their order, those of several in
/// an order drawn from `seed`, as events allow. Sources of copies are read when the copy
/// is done, so that writing them too early shows. Copies must lie in memory that was allocated,
/// the host's side in memoryHostAlloc()'s.
class FakeDriver {
public:
  struct Options {
    uint64_t seed = 0;
    size_t memory = SIZE_MAX; ///< of the device, in bytes
    int architecture = 90;
    int multiprocessors = 132;
    bool captures = false; ///< another thread captures a graph all the time
    /// What a driver says of an image that it does not know.
    int refusal = cuda::noBinaryForGpu;
    /// An image as a module; null: `refusal`.
    std::function<std::unique_ptr<FakeModule>(const char *image)> load;
  };
  static constexpr uint8_t poison = 0xA5;

  explicit FakeDriver(Options options);
  ~FakeDriver();
  FakeDriver(const FakeDriver &) = delete;

  const Driver &table() const { return functions; }

  /// Makes call number `call`, from 0, of a function ("memAlloc") return `code`, and do nothing.
  void fail(const std::string &function, int call, int code);
  /// Returns the number of calls of each function.
  std::map<std::string, int> calls() const;
  /// Returns the objects that were not given back: "1 stream, 2 events"; empty if there are none.
  std::string left() const;
  /// Returns the first misuse, to which a GPU would answer with an error or wrong bytes; empty if
  /// there was none.
  std::string fault() const;
  /// Does one operation that is queued; false where none is.
  bool advance();

  struct Operation;

private:
  template <typename Work> int call(const char *name, Work work);
  void fillMemory();
  void fillStreams();
  void fillCode();
  int finish(const std::function<bool()> &done); // lock held
  bool advanceLocked();
  int queue(Stream stream, Operation operation);
  bool isDeviceMemory(DevicePointer at, size_t bytes) const;
  bool isPinned(const void *at, size_t bytes) const;
  int blocksOfMultiprocessor(unsigned threads, size_t sharedBytes) const;
  int blame(const std::string &what, int code);

  Driver functions{};
  Options options;
  mutable std::mutex lock;
  std::mt19937_64 random;
  std::map<uintptr_t, size_t> device, pinned;
  std::map<OpaqueStream *, std::deque<Operation>> streams;
  std::map<OpaqueEvent *, std::shared_ptr<bool>> events;
  std::map<OpaqueModule *, std::shared_ptr<FakeModule>> modules;
  struct Kernel {
    OpaqueModule *module;
    std::string name;
    int mostShared; ///< bytes that were asked for
  };
  std::map<OpaqueFunction *, Kernel> kernels;
  size_t used = 0;
  int retained = 0;
  int lost = success; ///< the result of every call once the context is lost
  uintptr_t nextHandle = 16;
  std::map<std::string, int> counts;
  std::map<std::string, std::pair<int, int>> failures; ///< by function: which call, and how
  std::string firstFault;
};

} // namespace penstock::runtime::cuda
