// SPDX-License-Identifier: Apache-2.0
//
// The functions of CUDA's driver that the runtime calls.
#pragma once

#include "runtime/core/Status.h"

#include <cstddef>
#include <cstdint>

namespace penstock::runtime::cuda {

/// CUresult. Those that are told apart; see cuda.h for all.
enum Code : int {
  success = 0,
  invalidValue = 1,
  outOfMemory = 2,
  notInitialized = 3,
  deinitialized = 4,
  noDevice = 100,
  invalidDevice = 101,
  invalidImage = 200,
  noBinaryForGpu = 209,
  invalidPtx = 218,
  unsupportedPtxVersion = 222,
  notFound = 500,
  notReady = 600,
  illegalAddress = 700,
  launchFailed = 719,
  systemDriverMismatch = 803,
  captureUnsupported = 900,
};

using DevicePointer = uint64_t;
using Context = struct OpaqueContext *;
using Stream = struct OpaqueStream *;
using Event = struct OpaqueEvent *;
using Module = struct OpaqueModule *;
using Function = struct OpaqueFunction *;

enum DeviceAttribute : int {
  multiprocessors = 16,
  computeMajor = 75,
  computeMinor = 76,
  mostSharedOptin = 97
};
enum FunctionAttribute : int { mostDynamicShared = 8 };
enum CaptureMode : int { captureRelaxed = 2 };
inline constexpr unsigned nonBlockingStream = 1;
inline constexpr unsigned eventWithoutTiming = 2, eventThatBlocks = 1;

/// libcuda.so's stable C interface, by the names without `cu` and version; every function
/// returns a Code. A test fills it with functions of its own.
struct Driver {
  int (*init)(unsigned flags);
  int (*driverGetVersion)(int *version);
  int (*getErrorName)(int code, const char **name);
  int (*getErrorString)(int code, const char **text);
  int (*deviceGetCount)(int *count);
  int (*deviceGet)(int *device, int ordinal);
  int (*deviceGetName)(char *name, int bytes, int device);
  int (*deviceGetAttribute)(int *value, int attribute, int device);
  int (*devicePrimaryCtxRetain)(Context *context, int device);
  int (*devicePrimaryCtxRelease)(int device);
  int (*ctxPushCurrent)(Context context);
  int (*ctxPopCurrent)(Context *context);
  int (*ctxGetStreamPriorityRange)(int *least, int *greatest);
  int (*memGetInfo)(size_t *free, size_t *total);
  int (*memAlloc)(DevicePointer *memory, size_t bytes);
  int (*memFree)(DevicePointer memory);
  int (*memHostAlloc)(void **memory, size_t bytes, unsigned flags);
  int (*memFreeHost)(void *memory);
  int (*memcpyHtoDAsync)(DevicePointer to, const void *from, size_t bytes, Stream stream);
  int (*memcpyDtoHAsync)(void *to, DevicePointer from, size_t bytes, Stream stream);
  int (*memcpyDtoDAsync)(DevicePointer to, DevicePointer from, size_t bytes, Stream stream);
  int (*memsetD8Async)(DevicePointer to, unsigned char value, size_t bytes, Stream stream);
  int (*threadExchangeStreamCaptureMode)(int *mode);
  int (*streamCreateWithPriority)(Stream *stream, unsigned flags, int priority);
  int (*streamDestroy)(Stream stream);
  int (*streamSynchronize)(Stream stream);
  int (*streamWaitEvent)(Stream stream, Event event, unsigned flags);
  int (*eventCreate)(Event *event, unsigned flags);
  int (*eventDestroy)(Event event);
  int (*eventRecord)(Event event, Stream stream);
  int (*eventQuery)(Event event);
  int (*eventSynchronize)(Event event);
  int (*moduleLoadData)(Module *module, const void *image);
  int (*moduleUnload)(Module module);
  int (*moduleGetFunction)(Function *function, Module module, const char *name);
  int (*funcSetAttribute)(Function function, int attribute, int value);
  int (*occupancyMaxActiveBlocksPerMultiprocessor)(int *blocks, Function function, int threads,
                                                   size_t sharedBytes);
  int (*launchKernel)(Function function, unsigned gridX, unsigned gridY, unsigned gridZ,
                      unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                      Stream stream, void **parameters, void **extra);
};

/// The machine's driver, opened when first asked for and initialised. NotFound where there is
/// none, Unsupported where it is too old or does not start; the message says what to do.
Result<const Driver *> openDriver();

} // namespace penstock::runtime::cuda
