// SPDX-License-Identifier: Apache-2.0
//
// An NVIDIA GPU, by CUDA's driver interface.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/device/cuda/Driver.h"

namespace penstock::runtime {

/// The GPU number `ordinal`, through its primary context, which the process's other users of
/// CUDA share. Streams have the least priority, which is that of the default stream, too.
/// `driver` must outlive the device; see cuda::openDriver(). InvalidArgument where there is
/// no such GPU.
Result<std::shared_ptr<Device>> openCudaDevice(const cuda::Driver &driver, int ordinal);

/// Returns the compute capability of a GPU: 90 for sm_90. InvalidArgument where there is no such
/// GPU.
Result<int> cudaArchitecture(const cuda::Driver &driver, int ordinal);

} // namespace penstock::runtime
