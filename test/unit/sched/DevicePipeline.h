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
  HostFunctions(std::map<std::string, DeviceFunction> functions, const plan::PlanT &plan)
      : functions(std::move(functions)) {
    for (const auto &step : plan.steps)
      if (step->join >= 0) {
        Joined &all = joined[plan.joins[size_t(step->join)]->name];
        const plan::JoinT &join = *plan.joins[size_t(step->join)];
        all.bodies[step->body] = plan.kernels[size_t(step->kernel)]->name;
        all.isChained = join.chains > 0;
        all.steps = all.isChained ? join.room : all.steps + 1;
      }
  }
  bool has(const std::string &kernel) const override {
    return functions.count(kernel) || joined.count(kernel);
  }
  std::string run(const FakeLaunch &launch) override {
    if (auto all = joined.find(launch.kernel); all != joined.end())
      return run(launch, all->second);
    const auto *record = static_cast<const int64_t *>(launch.records);
    for (unsigned sample = 0; sample < launch.count; ++sample)
      record = run(functions.at(launch.kernel), record, launch.status);
    return "";
  }

private:
  struct Joined {
    std::map<uint32_t, std::string> bodies;
    size_t steps = 0; ///< that a record has room for
    bool isChained = false;
  };

  /// Runs a sample's steps, the last first up to each barrier of its blocks; those of a chain one
  /// after the other. Returns a fault, or "".
  std::string run(const FakeLaunch &launch, const Joined &all) {
    if (launch.blocks > (all.isChained ? 1 : PST_MAX_JOINED_BLOCKS))
      return "a sample has too many blocks that wait for each other";
    const auto *at = static_cast<const uint8_t *>(launch.records);
    for (unsigned number = 0; number < launch.count; ++number) {
      const auto &sample = *reinterpret_cast<const pst_joined_sample *>(at);
      const auto *steps = reinterpret_cast<const pst_joined_step *>(&sample + 1);
      at += sizeof sample + all.steps * sizeof *steps;
      if (sample.arrived || sample.steps == 0 || sample.steps > all.steps)
        return "a sample is told nothing that it can do";
      for (uint32_t first = 0, end; first < sample.steps; first = end) {
        for (end = first + 1; end < sample.steps && !steps[end].barrier && !all.isChained;)
          ++end;
        for (uint32_t step = end; step-- > first;) {
          const auto *record = static_cast<const int64_t *>(steps[step].record);
          if (*record != sample.entry)
            return "a step is told of another sample";
          run(functions.at(all.bodies.at(steps[step].body)), record, launch.status);
        }
      }
    }
    return "";
  }

  /// Returns the end of the record.
  static const int64_t *run(const DeviceFunction &kernel, const int64_t *record,
                            pst_sample_status *states) {
    pst_sample_status &status = states[*record++];
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
    if (states[0].check || status.check)
      return record + 1;
    pst_kernel_args args{};
    args.tensors = tensors.data();
    args.scalars = scalars.data();
    args.scratch = reinterpret_cast<void *>(*record++);
    args.band[1] = INT64_MAX;
    args.stop = &neverStops;
    status.check = kernel.function(&args);
    status.values[0] = args.failure[0];
    status.values[1] = args.failure[1];
    return record;
  }

public:
  static constexpr int rank = 4; ///< axes of which a record speaks

private:
  std::map<std::string, DeviceFunction> functions;
  std::map<std::string, Joined> joined;
};

/// A pipeline whose steps a device runs, from `first` on. `stay`: its outputs are delivered there.
/// `join`: what may be one launch is.
struct DevicePipeline {
  Pipeline pipeline;
  std::map<std::string, DeviceFunction> functions;

  explicit DevicePipeline(Pipeline given, size_t first = 0, bool stay = false, bool join = false)
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
      std::vector<int> axes;
      for (const auto &access : step->inputs)
        axes.push_back(int(pipeline.plan.buffers[size_t(access->buffer)]->dims.size()) +
                       access->all);
      for (int32_t buffer : step->outputs)
        axes.push_back(int(pipeline.plan.buffers[size_t(buffer)]->dims.size()));
      putOnDevice(kernel, pipeline.code[size_t(step->kernel)], axes, step->scalars.size());
    }
    if (join)
      joinSteps(first);
  }

  /// Decodes give planes of files that have them, of which `function` makes the pixels.
  void crossAsPlanes(pst_kernel function) {
    pipeline.plan.planes = pipeline.kernel(function);
    putOnDevice(*pipeline.plan.kernels.back(), function, {2, 2, 2, 3}, 4);
    for (const auto &decode : pipeline.plan.decodes)
      decode->planes = true;
  }

  /// A kernel of tensors with so many axes each.
  void putOnDevice(plan::KernelT &kernel, pst_kernel function, const std::vector<int> &ranks,
                   size_t scalars) {
    kernel.device = std::make_unique<plan::DeviceKernelT>();
    kernel.device->name = kernel.name;
    kernel.device->threads = 32;
    auto &record = kernel.device->record;
    record.emplace_back(RecordValue::entry, 0, 0, 0);
    for (size_t i = 0; i < ranks.size(); ++i) {
      const int axes = ranks[i];
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
    for (size_t i = 0; i < scalars; ++i)
      record.emplace_back(RecordValue::scalar, 0, 0, uint16_t(i));
    record.emplace_back(RecordValue::scratch, 0, 0, 0);
    functions[kernel.name] = {function, ranks.size(), scalars};
  }

  /// In the order in which they run, which is theirs: all are in one stage.
  void joinSteps(size_t first) {
    plan::PlanT &plan = pipeline.plan;
    bool open = false;
    int bodies = 0;
    for (size_t number = first; number < plan.steps.size(); ++number) {
      plan::StepT &step = *plan.steps[number];
      const bool mayJoin =
          !step.once && std::all_of(step.inputs.begin(), step.inputs.end(), [](const auto &access) {
            return access->peer_slot < 0 && !access->all;
          });
      if (mayJoin && !open) {
        plan::JoinT &all = Pipeline::add(plan.joins);
        all.name = "joined" + std::to_string(plan.joins.size());
        all.threads = 32;
      }
      open = mayJoin;
      if (mayJoin) {
        step.join = int(plan.joins.size()) - 1;
        step.body = uint16_t(bodies++);
      }
    }
  }

  /// What is joined is one chain.
  void chainSteps() {
    for (const auto &step : pipeline.plan.steps)
      if (step->join >= 0) {
        plan::JoinT &all = *pipeline.plan.joins[size_t(step->join)];
        all.chains = 1;
        all.room += 3;
        step->chain = 0;
      }
  }

  FakeDriver::Options driver(uint64_t seed) const {
    FakeDriver::Options options;
    options.seed = seed;
    options.load = [this](const char *) {
      return std::make_unique<HostFunctions>(functions, pipeline.plan);
    };
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
