// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/Driver.h"

#include <dlfcn.h>

namespace penstock::runtime::cuda {

namespace {

/// Every function, by its name in the library.
bool bind(void *library, Driver &driver, const char *&missing) {
  auto one = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    if (!function && !missing)
      missing = name;
  };
  one(driver.init, "cuInit");
  one(driver.driverGetVersion, "cuDriverGetVersion");
  one(driver.getErrorName, "cuGetErrorName");
  one(driver.getErrorString, "cuGetErrorString");
  one(driver.deviceGetCount, "cuDeviceGetCount");
  one(driver.deviceGet, "cuDeviceGet");
  one(driver.deviceGetName, "cuDeviceGetName");
  one(driver.deviceGetAttribute, "cuDeviceGetAttribute");
  one(driver.devicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  one(driver.devicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2");
  one(driver.ctxPushCurrent, "cuCtxPushCurrent_v2");
  one(driver.ctxPopCurrent, "cuCtxPopCurrent_v2");
  one(driver.ctxGetStreamPriorityRange, "cuCtxGetStreamPriorityRange");
  one(driver.memGetInfo, "cuMemGetInfo_v2");
  one(driver.memAlloc, "cuMemAlloc_v2");
  one(driver.memFree, "cuMemFree_v2");
  one(driver.memHostAlloc, "cuMemHostAlloc");
  one(driver.memFreeHost, "cuMemFreeHost");
  one(driver.memcpyHtoDAsync, "cuMemcpyHtoDAsync_v2");
  one(driver.memcpyDtoHAsync, "cuMemcpyDtoHAsync_v2");
  one(driver.memcpyDtoDAsync, "cuMemcpyDtoDAsync_v2");
  one(driver.memsetD8Async, "cuMemsetD8Async");
  one(driver.threadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode");
  one(driver.streamCreateWithPriority, "cuStreamCreateWithPriority");
  one(driver.streamDestroy, "cuStreamDestroy_v2");
  one(driver.streamSynchronize, "cuStreamSynchronize");
  one(driver.streamWaitEvent, "cuStreamWaitEvent");
  one(driver.eventCreate, "cuEventCreate");
  one(driver.eventDestroy, "cuEventDestroy_v2");
  one(driver.eventRecord, "cuEventRecord");
  one(driver.eventQuery, "cuEventQuery");
  one(driver.eventSynchronize, "cuEventSynchronize");
  one(driver.moduleLoadData, "cuModuleLoadData");
  one(driver.moduleUnload, "cuModuleUnload");
  one(driver.moduleGetFunction, "cuModuleGetFunction");
  one(driver.funcSetAttribute, "cuFuncSetAttribute");
  one(driver.occupancyMaxActiveBlocksPerMultiprocessor,
      "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  one(driver.launchKernel, "cuLaunchKernel");
  return !missing;
}

Result<const Driver *> open() {
  static Driver driver;
  // Stays open: the driver has threads of its own.
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return Error{
        runtime::Code::NotFound,
        "this machine has no NVIDIA driver (libcuda.so.1); install the driver of its GPU, or "
        "in a container make it visible (`--gpus all`)"};
  const char *missing = nullptr;
  if (!bind(library, driver, missing))
    return Error{runtime::Code::Unsupported,
                 std::string("the NVIDIA driver is too old: it has no ") + missing +
                     "; one for CUDA 11.2 or later has"};
  if (const int code = driver.init(0); code != success) {
    const char *text = nullptr;
    driver.getErrorString(code, &text);
    return Error{code == noDevice ? runtime::Code::NotFound : runtime::Code::Unsupported,
                 std::string("the NVIDIA driver does not start: ") +
                     (text ? text : "error " + std::to_string(code))};
  }
  return &driver;
}

} // namespace

Result<const Driver *> openDriver() {
  static const Result<const Driver *> opened = open();
  return opened;
}

} // namespace penstock::runtime::cuda
