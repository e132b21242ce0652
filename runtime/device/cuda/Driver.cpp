// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/Driver.h"

#include "runtime/core/LibraryFunctions.h"

namespace penstock::runtime::cuda {

namespace {

/// Every function, by its name in the library.
void bind(LibraryFunctions &functions, Driver &driver) {
  functions.take(driver.init, "cuInit");
  functions.take(driver.driverGetVersion, "cuDriverGetVersion");
  functions.take(driver.getErrorName, "cuGetErrorName");
  functions.take(driver.getErrorString, "cuGetErrorString");
  functions.take(driver.deviceGetCount, "cuDeviceGetCount");
  functions.take(driver.deviceGet, "cuDeviceGet");
  functions.take(driver.deviceGetName, "cuDeviceGetName");
  functions.take(driver.deviceGetAttribute, "cuDeviceGetAttribute");
  functions.take(driver.devicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  functions.take(driver.devicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2");
  functions.take(driver.ctxPushCurrent, "cuCtxPushCurrent_v2");
  functions.take(driver.ctxPopCurrent, "cuCtxPopCurrent_v2");
  functions.take(driver.ctxGetStreamPriorityRange, "cuCtxGetStreamPriorityRange");
  functions.take(driver.memGetInfo, "cuMemGetInfo_v2");
  functions.take(driver.memAlloc, "cuMemAlloc_v2");
  functions.take(driver.memFree, "cuMemFree_v2");
  functions.take(driver.memHostAlloc, "cuMemHostAlloc");
  functions.take(driver.memFreeHost, "cuMemFreeHost");
  functions.take(driver.memcpyHtoDAsync, "cuMemcpyHtoDAsync_v2");
  functions.take(driver.memcpyDtoHAsync, "cuMemcpyDtoHAsync_v2");
  functions.take(driver.memcpyDtoDAsync, "cuMemcpyDtoDAsync_v2");
  functions.take(driver.memsetD8Async, "cuMemsetD8Async");
  functions.take(driver.threadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode");
  functions.take(driver.streamCreateWithPriority, "cuStreamCreateWithPriority");
  functions.take(driver.streamDestroy, "cuStreamDestroy_v2");
  functions.take(driver.streamSynchronize, "cuStreamSynchronize");
  functions.take(driver.streamWaitEvent, "cuStreamWaitEvent");
  functions.take(driver.eventCreate, "cuEventCreate");
  functions.take(driver.eventDestroy, "cuEventDestroy_v2");
  functions.take(driver.eventRecord, "cuEventRecord");
  functions.take(driver.eventQuery, "cuEventQuery");
  functions.take(driver.eventSynchronize, "cuEventSynchronize");
  functions.take(driver.moduleLoadData, "cuModuleLoadData");
  functions.take(driver.moduleUnload, "cuModuleUnload");
  functions.take(driver.moduleGetFunction, "cuModuleGetFunction");
  functions.take(driver.funcSetAttribute, "cuFuncSetAttribute");
  functions.take(driver.occupancyMaxActiveBlocksPerMultiprocessor,
                 "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  functions.take(driver.launchKernel, "cuLaunchKernel");
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
  LibraryFunctions functions(library);
  bind(functions, driver);
  if (functions.missing())
    return Error{runtime::Code::Unsupported,
                 std::string("the NVIDIA driver is too old: it has no ") + functions.missing() +
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
