// SPDX-License-Identifier: Apache-2.0
//
// Pipelines whose kernels a simulated GPU runs: the C++ functions that other tests run on the
// host, called with what a launch hands over.
#pragma once

#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/device/cuda/FakeDriver.h"
#include "test/unit/sched/Pipelines.h"

#include <map>

namespace penstock::test {

using cuda::FakeDriver;
using cuda::FakeLaunch;
using plan::RecordField;
using plan::RecordValue;

struct DeviceFunction {
  pst_kernel function;
  size_t tensors, scalars;
};

/// Kernels of the host, called for each record of a launch.
class HostFunctions final : public cuda::FakeModule {
public:
  explicit HostFunctions(std::map<std::string, DeviceFunction> functions)
      : functions(std::move(functions)) {}
  bool has(const std::string &kernel) const override { return functions.count(kernel) != 0; }
  std::string run(const FakeLaunch &launch) override {
    const DeviceFunction &kernel = functions.at(launch.kernel);
    const auto *record = static_cast<const int64_t *>(launch.records);
    for (unsigned sample = 0; sample < launch.count; ++sample) {
      pst_sample_status &status = launch.status[*record++];
      std::vector<pst_tensor> tensors(kernel.tensors);
      for (pst_tensor &tensor : tensors) {
        tensor.data = reinterpret_cast<void *>(*record++);
        for (int axis = 0; axis < rank; ++axis) {
          tensor.extent[axis] = *record++;
          tensor.stride[axis] = *record++;
        }
      }
      std::vector<int64_t> scalars(record, record + kernel.scalars);
      record += kernel.scalars;
      if (launch.status[0].check || status.check) {
        ++record;
        continue;
      }
      pst_kernel_args args{};
      args.tensors = tensors.data();
      args.scalars = scalars.data();
      args.scratch = reinterpret_cast<void *>(*record++);
      args.band[1] = INT64_MAX;
      args.stop = &neverStops;
      status.check = kernel.function(&args);
      status.values[0] = args.failure[0];
      status.values[1] = args.failure[1];
    }
    return "";
  }
  static constexpr int rank = 4; ///< axes of which a record speaks

private:
  std::map<std::string, DeviceFunction> functions;
};

/// A pipeline whose steps a device runs, from `first` on. `stay`: its outputs are delivered there.
struct DevicePipeline {
  Pipeline pipeline;
  std::map<std::string, DeviceFunction> functions;

  explicit DevicePipeline(Pipeline given, size_t first = 0, bool stay = false)
      : pipeline(std::move(given)) {
    for (const auto &output : pipeline.plan.outputs)
      output->on_device = stay;
    int last = 0;
    for (size_t i = 0; i < std::min(first, pipeline.plan.steps.size()); ++i)
      last = std::max(last, pipeline.plan.steps[i]->stage);
    for (size_t number = first; number < pipeline.plan.steps.size(); ++number) {
      const auto &step = pipeline.plan.steps[number];
      plan::KernelT &kernel = *pipeline.plan.kernels[size_t(step->kernel)];
      step->device = true;
      step->stage = last + 1;
      kernel.device = std::make_unique<plan::DeviceKernelT>();
      kernel.device->name = kernel.name;
      kernel.device->threads = 32;
      auto &record = kernel.device->record;
      record.emplace_back(RecordValue::entry, 0, 0, 0);
      const size_t inputs = step->inputs.size(), tensors = inputs + step->outputs.size();
      for (size_t i = 0; i < tensors; ++i) {
        const int buffer = i < inputs ? step->inputs[i]->buffer : step->outputs[i - inputs];
        const int axes = int(pipeline.plan.buffers[size_t(buffer)]->dims.size()) +
                         (i < inputs && step->inputs[i]->all);
        record.emplace_back(RecordValue::data, 0, 0, uint16_t(i));
        for (int axis = 0; axis < HostFunctions::rank; ++axis) {
          // Strides of elements of one byte: the functions count bytes. What is not there reads as
          // any number.
          for (auto [value, shift] :
               {std::pair(RecordValue::extent, 0), std::pair(RecordValue::stride, 1)})
            record.emplace_back(axes ? value : RecordValue::entry,
                                uint8_t(axes ? std::min(axis, axes - 1) : 0),
                                uint8_t(axes ? shift : 0), uint16_t(axes ? i : 0));
        }
      }
      for (size_t i = 0; i < step->scalars.size(); ++i)
        record.emplace_back(RecordValue::scalar, 0, 0, uint16_t(i));
      record.emplace_back(RecordValue::scratch, 0, 0, 0);
      functions[kernel.name] = {pipeline.code[size_t(step->kernel)], tensors, step->scalars.size()};
    }
  }

  FakeDriver::Options driver(uint64_t seed) const {
    FakeDriver::Options options;
    options.seed = seed;
    options.load = [this](const char *) { return std::make_unique<HostFunctions>(functions); };
    return options;
  }
  Result<std::unique_ptr<Session>> open(const FakeDriver &driver, SessionOptions options) const {
    auto device = openCudaDevice(driver.table(), 0);
    if (!device)
      return device.error();
    options.device = std::move(*device);
    options.deviceCode = {{90, false, "code"}};
    return pipeline.open(std::move(options));
  }
};

} // namespace penstock::test
