// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/DeviceProgram.h"

#include <cstring>

namespace penstock::runtime {

Result<std::shared_ptr<DeviceProgram>> DeviceProgram::load(const Layout &layout,
                                                           std::shared_ptr<Device> device,
                                                           const std::vector<DeviceImage> &images) {
  std::shared_ptr<DeviceProgram> program(new DeviceProgram(std::move(device)));
  program->kernels.resize(layout.steps.size());
  if (!layout.steps.empty() && layout.steps.back().device) {
    auto code = program->device->load(images);
    if (!code)
      return code.error();
    program->code = std::move(*code);
  }
  for (size_t i = 0; i < layout.steps.size(); ++i)
    if (const plan::DeviceKernelT *wanted = layout.steps[i].device;
        wanted && layout.steps[i].join < 0) {
      auto kernel = program->code->kernel(wanted->name, wanted->shared);
      if (!kernel)
        return kernel.error();
      program->kernels[i] = *kernel;
    }
  if (layout.planes && program->code) {
    auto kernel = program->code->kernel(layout.planes->name, layout.planes->shared);
    if (!kernel)
      return kernel.error();
    program->planes = *kernel;
  }
  for (const JoinLayout &join : layout.joins) {
    auto kernel =
        program->code->kernel(join.launch->name, join.launch->shared, join.launch->threads);
    if (!kernel)
      return kernel.error();
    program->joins.push_back(*kernel);
  }
  for (auto *stream : {&program->copies, &program->work}) {
    auto made = program->device->makeStream();
    if (!made)
      return made.error();
    *stream = std::move(*made);
  }
  if (Status status = program->copyConstants(layout); !status)
    return status.error();
  return program;
}

Status DeviceProgram::copyConstants(const Layout &layout) {
  const size_t slack = size_t(storageSlack);
  const size_t bytes = layout.constantBytes.size();
  constantMemory = device->allocate(bytes + 2 * slack);
  const std::shared_ptr<void> host = device->allocateHost(bytes);
  if (!constantMemory || !host)
    return Error{Code::Limit, "no memory on the " + device->name() + " for " +
                                  std::to_string(bytes) + " bytes of constants"};
  constants = static_cast<uint8_t *>(constantMemory.get()) + slack;
  const size_t used = bytes - size_t(layout.constants - layout.constantBytes.data());
  std::memcpy(host.get(), layout.constants, used);
  if (Status status = copies->copyToDevice(constants, host.get(), used); !status)
    return status;
  return copies->finish();
}

} // namespace penstock::runtime
