// SPDX-License-Identifier: Apache-2.0
//
// Every call enters the context and leaves it again: the caller's thread may have another
// one. While a training step is captured as a graph, CUDA refuses other threads what might disturb
// it (memory, waiting), and drops the capture too; for the time of a call the thread says that its
// work is none of the capture's. An error that ends the context (a stray access) is remembered, and
// every later call says it: those of CUDA only say that the context is unusable.
#include "runtime/device/cuda/CudaDevice.h"

#include "runtime/abi/kernel.h"

#include <algorithm>
#include <atomic>
#include <mutex>

namespace penstock::runtime {

namespace {

using cuda::Driver;

class CudaDevice final : public Device, public std::enable_shared_from_this<CudaDevice> {
public:
  CudaDevice(const Driver &driver, int ordinal, int device)
      : driver(driver), ordinal(ordinal), device(device) {}
  ~CudaDevice() override {
    if (context)
      driver.devicePrimaryCtxRelease(device);
  }

  Status open();

  const std::string &name() const override { return ownName; }
  bool isHost() const override { return false; }
  int number() const override { return ordinal; }
  std::shared_ptr<void> allocate(size_t bytes) override;
  std::shared_ptr<void> allocateHost(size_t bytes) override;
  DeviceMemory taken() const override { return {onDevice, pinned}; }
  Result<std::unique_ptr<DeviceStream>> makeStream() override;
  Result<std::unique_ptr<DeviceEvent>> makeEvent() override;
  std::unique_ptr<DeviceEvent> eventAfter(void *stream) override;
  Result<std::shared_ptr<DeviceCode>> load(const std::vector<DeviceImage> &images) override;

  /// Runs `call` in the context.
  template <typename Call> int enter(Call call) const {
    if (const int code = driver.ctxPushCurrent(context); code != cuda::success)
      return code;
    int captures = cuda::captureRelaxed;
    const bool isOurs = driver.threadExchangeStreamCaptureMode(&captures) == cuda::success;
    const int code = call();
    if (isOurs)
      driver.threadExchangeStreamCaptureMode(&captures);
    cuda::Context before;
    driver.ctxPopCurrent(&before);
    return code;
  }
  /// As above; the error names the action, `doing`.
  template <typename Call> Status enter(const char *doing, Call call) const {
    const int code = enter(call);
    if (code == cuda::success)
      return {};
    return failure(code, doing);
  }
  Error failure(int code, const std::string &doing) const;

  const Driver &driver;
  const int ordinal, device;
  int architecture = 0; ///< 90: compute capability 9.0
  int mostShared = 0;   ///< bytes of a block
  int multiprocessors = 0;

private:
  cuda::Context context = nullptr;
  std::string ownName = "GPU";
  std::atomic<uint64_t> onDevice{0}, pinned{0}; ///< bytes
  mutable std::mutex lock;
  mutable std::string lost; ///< why the context can do nothing more
};

/// Errors after which CUDA answers every call with an error.
bool endsTheContext(int code) {
  constexpr int codes[] = {214, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 999};
  return std::find(std::begin(codes), std::end(codes), code) != std::end(codes);
}

Error CudaDevice::failure(int code, const std::string &doing) const {
  const char *name = nullptr, *text = nullptr;
  driver.getErrorName(code, &name);
  driver.getErrorString(code, &text);
  std::string what = "GPU " + std::to_string(ordinal) + " (" + ownName + "): " + doing + ": " +
                     (text ? text : "unknown error") + " (" + (name ? name : std::to_string(code)) +
                     ")";
  std::lock_guard guard(lock);
  if (!lost.empty())
    return {Code::Io, "the GPU can do nothing more since this: " + lost};
  if (endsTheContext(code))
    lost = what;
  return {code == cuda::outOfMemory ? Code::Limit : Code::Io, std::move(what)};
}

Status CudaDevice::open() {
  char text[256] = {};
  int major = 0, minor = 0;
  auto call = [&](int code, const char *doing) -> Status {
    if (code == cuda::success)
      return {};
    return failure(code, doing);
  };
  if (Status status =
          call(driver.deviceGetName(text, sizeof text - 1, device), "asking for its name");
      !status)
    return status;
  ownName = text;
  for (auto [value, attribute] :
       {std::pair(&major, cuda::computeMajor), std::pair(&minor, cuda::computeMinor),
        std::pair(&mostShared, cuda::mostSharedOptin),
        std::pair(&multiprocessors, cuda::multiprocessors)})
    if (Status status =
            call(driver.deviceGetAttribute(value, attribute, device), "asking what it can do");
        !status)
      return status;
  architecture = 10 * major + minor;
  return call(driver.devicePrimaryCtxRetain(&context, device), "opening its context");
}

//===--- memory ------------------------------------------------------------------===//

std::shared_ptr<void> CudaDevice::allocate(size_t bytes) {
  cuda::DevicePointer memory = 0;
  if (enter([&] { return driver.memAlloc(&memory, bytes ? bytes : 1); }) != cuda::success)
    return nullptr;
  onDevice += bytes;
  return std::shared_ptr<void>(
      reinterpret_cast<void *>(memory), [self = shared_from_this(), bytes](void *at) {
        self->enter([&] {
          return self->driver.memFree(cuda::DevicePointer(reinterpret_cast<uintptr_t>(at)));
        });
        self->onDevice -= bytes;
      });
}

std::shared_ptr<void> CudaDevice::allocateHost(size_t bytes) {
  void *memory = nullptr;
  if (enter([&] { return driver.memHostAlloc(&memory, bytes ? bytes : 1, 0); }) != cuda::success)
    return nullptr;
  pinned += bytes;
  return std::shared_ptr<void>(memory, [self = shared_from_this(), bytes](void *at) {
    self->enter([&] { return self->driver.memFreeHost(at); });
    self->pinned -= bytes;
  });
}

//===--- streams and events --------------------------------------------------------===//

class CudaEvent final : public DeviceEvent {
public:
  CudaEvent(std::shared_ptr<const CudaDevice> device, cuda::Event event)
      : event(event), device(std::move(device)) {}
  ~CudaEvent() override {
    device->enter([&] { return device->driver.eventDestroy(event); });
  }
  bool done() const override {
    return device->enter([&] { return device->driver.eventQuery(event); }) != cuda::notReady;
  }
  Status wait() override {
    return device->enter("waiting for a batch",
                         [&] { return device->driver.eventSynchronize(event); });
  }

  const cuda::Event event;

private:
  std::shared_ptr<const CudaDevice> device;
};

class CudaStream final : public DeviceStream {
public:
  CudaStream(std::shared_ptr<const CudaDevice> device, cuda::Stream stream)
      : device(std::move(device)), stream(stream) {}
  ~CudaStream() override {
    device->enter([&] {
      device->driver.streamSynchronize(stream); // memory may be freed next
      return device->driver.streamDestroy(stream);
    });
  }

  Status copyToDevice(void *to, const void *from, size_t bytes) override {
    if (bytes == 0)
      return {};
    return device->enter("copying to it", [&] {
      return device->driver.memcpyHtoDAsync(addressOf(to), from, bytes, stream);
    });
  }
  Status copyToHost(void *to, const void *from, size_t bytes) override {
    if (bytes == 0)
      return {};
    return device->enter("copying from it", [&] {
      return device->driver.memcpyDtoHAsync(to, addressOf(from), bytes, stream);
    });
  }
  Status copy(void *to, const void *from, size_t bytes) override {
    if (bytes == 0)
      return {};
    return device->enter("copying within it", [&] {
      return device->driver.memcpyDtoDAsync(addressOf(to), addressOf(from), bytes, stream);
    });
  }
  Status clear(void *at, size_t bytes) override {
    if (bytes == 0)
      return {};
    return device->enter("clearing its memory", [&] {
      return device->driver.memsetD8Async(addressOf(at), 0, bytes, stream);
    });
  }
  Status launch(const DeviceLaunch &launch) override {
    if (launch.count == 0)
      return {};
    const void *records = launch.records;
    pst_sample_status *status = launch.status;
    void *parameters[] = {&records, &status};
    return device->enter("launching a kernel", [&] {
      return device->driver.launchKernel(static_cast<cuda::Function>(launch.kernel.handle),
                                         launch.blocks, launch.count, 1, launch.threads, 1, 1,
                                         launch.sharedBytes, stream, parameters, nullptr);
    });
  }
  Status record(DeviceEvent &event) override {
    return device->enter("recording an event", [&] {
      return device->driver.eventRecord(static_cast<CudaEvent &>(event).event, stream);
    });
  }
  Status waitFor(const DeviceEvent &event) override {
    return device->enter("ordering its work", [&] {
      return device->driver.streamWaitEvent(stream, static_cast<const CudaEvent &>(event).event, 0);
    });
  }

  Status finish() override {
    return device->enter("waiting for it",
                         [&] { return device->driver.streamSynchronize(stream); });
  }

private:
  static cuda::DevicePointer addressOf(const void *memory) {
    return cuda::DevicePointer(reinterpret_cast<uintptr_t>(memory));
  }

  std::shared_ptr<const CudaDevice> device;
  const cuda::Stream stream;
};

Result<std::unique_ptr<DeviceStream>> CudaDevice::makeStream() {
  cuda::Stream stream = nullptr;
  if (Status status =
          enter("making a stream",
                [&] {
                  int least = 0, greatest = 0;
                  if (const int code = driver.ctxGetStreamPriorityRange(&least, &greatest);
                      code != cuda::success)
                    return code;
                  return driver.streamCreateWithPriority(&stream, cuda::nonBlockingStream, least);
                });
      !status)
    return status.error();
  return std::unique_ptr<DeviceStream>(new CudaStream(shared_from_this(), stream));
}

Result<std::unique_ptr<DeviceEvent>> CudaDevice::makeEvent() {
  cuda::Event event = nullptr;
  if (Status status = enter("making an event",
                            [&] {
                              return driver.eventCreate(&event, cuda::eventWithoutTiming |
                                                                    cuda::eventThatBlocks);
                            });
      !status)
    return status.error();
  return std::unique_ptr<DeviceEvent>(new CudaEvent(shared_from_this(), event));
}

std::unique_ptr<DeviceEvent> CudaDevice::eventAfter(void *stream) {
  // The stream of whichever thread calls, which is not the one that used it: the default stream
  // waits for it.
  constexpr uintptr_t legacyStream = 1, perThreadStream = 2;
  auto *of = static_cast<cuda::Stream>(reinterpret_cast<uintptr_t>(stream) == perThreadStream
                                           ? reinterpret_cast<void *>(legacyStream)
                                           : stream);
  auto event = makeEvent();
  if (event) {
    auto *made = static_cast<CudaEvent *>(event->get());
    if (enter([&] { return driver.eventRecord(made->event, of); }) == cuda::success)
      return std::move(*event);
  }
  enter([&] { return driver.streamSynchronize(of); });
  return nullptr;
}

//===--- code ------------------------------------------------------------------------===//

class CudaCode final : public DeviceCode {
public:
  CudaCode(std::shared_ptr<const CudaDevice> device, cuda::Module module)
      : device(std::move(device)), module(module) {}
  ~CudaCode() override {
    device->enter([&] { return device->driver.moduleUnload(module); });
  }

  Result<DeviceKernel> kernel(const std::string &name, uint32_t sharedBytes,
                              uint32_t threads) override {
    cuda::Function function = nullptr;
    const int code = device->enter(
        [&] { return device->driver.moduleGetFunction(&function, module, name.c_str()); });
    if (code == cuda::notFound)
      return Error{Code::NotFound, "the GPU code has no kernel " + name};
    if (code != cuda::success)
      return device->failure(code, "looking for kernel " + name);
    if (int64_t(sharedBytes) > device->mostShared)
      return Error{Code::Unsupported,
                   "kernel " + name + " needs " + std::to_string(sharedBytes) +
                       " bytes of shared memory; a block of the " + device->name() + " has " +
                       std::to_string(device->mostShared) + ": compile for it, an sm_" +
                       std::to_string(device->architecture)};
    // What every launch may have, with the few bytes that a kernel has beside.
    constexpr uint32_t unasked = (48 << 10) - 1024;
    if (sharedBytes > unasked)
      if (Status status = device->enter("reserving shared memory",
                                        [&] {
                                          return device->driver.funcSetAttribute(
                                              function, cuda::mostDynamicShared, int(sharedBytes));
                                        });
          !status)
        return status.error();
    int together = 0;
    if (threads)
      if (Status status =
              device->enter("asking how many blocks run at once",
                            [&] {
                              return device->driver.occupancyMaxActiveBlocksPerMultiprocessor(
                                  &together, function, int(threads), sharedBytes);
                            });
          !status)
        return status.error();
    return DeviceKernel{function, uint32_t(together * device->multiprocessors)};
  }

private:
  std::shared_ptr<const CudaDevice> device;
  const cuda::Module module;
};

/// Returns whether an image runs on an architecture: code runs on later devices of its generation;
/// PTX is compiled for any later one.
bool suits(const DeviceImage &image, int architecture) {
  return image.architecture <= architecture &&
         (image.isPtx || image.architecture / 10 == architecture / 10);
}

/// `sm_80, sm_90 and compute_75`.
std::string listed(const std::vector<DeviceImage> &images) {
  std::string text;
  for (size_t i = 0; i < images.size(); ++i)
    text += (i == 0                   ? ""
             : i + 1 == images.size() ? " and "
                                      : ", ") +
            std::string(images[i].isPtx ? "compute_" : "sm_") +
            std::to_string(images[i].architecture);
  return text.empty() ? "no GPU" : text;
}

Result<std::shared_ptr<DeviceCode>> CudaDevice::load(const std::vector<DeviceImage> &images) {
  std::vector<const DeviceImage *> order;
  for (const DeviceImage &image : images)
    if (suits(image, architecture))
      order.push_back(&image);
  // Cubins before PTX, and the closest first.
  std::sort(order.begin(), order.end(), [](const DeviceImage *a, const DeviceImage *b) {
    return a->isPtx != b->isPtx ? b->isPtx : a->architecture > b->architecture;
  });
  int last = cuda::noBinaryForGpu;
  for (const DeviceImage *image : order) {
    cuda::Module module = nullptr;
    last = enter([&] { return driver.moduleLoadData(&module, image->bytes.c_str()); });
    if (last == cuda::success)
      return std::shared_ptr<DeviceCode>(new CudaCode(shared_from_this(), module));
    // An older driver knows neither later cubins nor later PTX.
    if (last != cuda::noBinaryForGpu && last != cuda::invalidImage &&
        last != cuda::unsupportedPtxVersion && last != cuda::invalidPtx)
      return failure(last, "loading its kernels");
  }
  const std::string there = "the " + ownName + " is an sm_" + std::to_string(architecture);
  if (order.empty())
    return Error{Code::Unsupported,
                 "the program was compiled for " + listed(images) + "; " + there};
  int version = 0;
  driver.driverGetVersion(&version);
  return Error{Code::Unsupported,
               there + ", whose driver (CUDA " + std::to_string(version / 1000) + "." +
                   std::to_string(version % 1000 / 10) +
                   ") is too old for this code: " + failure(last, "loading its kernels").message +
                   "; update the driver, or compile with NVRTC of its version"};
}

} // namespace

static Error refusal(const cuda::Driver &driver, int code, const std::string &what) {
  const char *text = nullptr;
  driver.getErrorString(code, &text);
  return {Code::Io, what + ": " + (text ? text : "unknown error")};
}

static Result<int> deviceNumber(const cuda::Driver &driver, int ordinal) {
  int count = 0, device = 0;
  if (const int code = driver.deviceGetCount(&count); code != cuda::success)
    return refusal(driver, code, "the NVIDIA driver does not count its GPUs");
  if (ordinal < 0 || ordinal >= count)
    return Error{Code::InvalidArgument, "there is no GPU " + std::to_string(ordinal) +
                                            ": the machine has " + std::to_string(count) +
                                            (count ? ", numbered from 0" : "")};
  if (const int code = driver.deviceGet(&device, ordinal); code != cuda::success)
    return refusal(driver, code, "GPU " + std::to_string(ordinal) + " cannot be opened");
  return device;
}

Result<int> cudaArchitecture(const cuda::Driver &driver, int ordinal) {
  auto device = deviceNumber(driver, ordinal);
  if (!device)
    return device.error();
  int numbers[2] = {};
  for (int i = 0; i < 2; ++i)
    if (const int code = driver.deviceGetAttribute(
            &numbers[i], i ? cuda::computeMinor : cuda::computeMajor, *device);
        code != cuda::success)
      return refusal(driver, code,
                     "GPU " + std::to_string(ordinal) + " does not say what it can do");
  return 10 * numbers[0] + numbers[1];
}

Result<std::shared_ptr<Device>> openCudaDevice(const cuda::Driver &driver, int ordinal) {
  auto device = deviceNumber(driver, ordinal);
  if (!device)
    return device.error();
  auto opened = std::make_shared<CudaDevice>(driver, ordinal, *device);
  if (Status status = opened->open(); !status)
    return status.error();
  return std::shared_ptr<Device>(std::move(opened));
}

} // namespace penstock::runtime
