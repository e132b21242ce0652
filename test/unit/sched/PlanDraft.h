// SPDX-License-Identifier: Apache-2.0
//
// A plan with kernels in C++, as the compiler would write it.
#pragma once

#include "runtime/sched/Session.h"

#include <memory>
#include <string>
#include <vector>

namespace penstock::test {

using namespace penstock::runtime;
using plan::DType;

class Kernels final : public KernelTable {
public:
  explicit Kernels(std::vector<pst_kernel> code) : code(std::move(code)) {}
  size_t size() const override { return code.size(); }
  pst_kernel kernel(size_t number) const override { return code[number]; }

private:
  std::vector<pst_kernel> code;
};

/// A plan under construction, with its code.
struct Pipeline {
  plan::PlanT plan;
  std::vector<pst_kernel> code;

  Pipeline() {
    plan.abi = PST_KERNEL_ABI_VERSION;
    plan.name = "test";
    plan.hash = 0x1234;
    plan.seed = 7;
    plan.substitute = 0.5;
    plan.slots = 64;
    plan.batch = std::make_unique<plan::BatchT>();
    plan.batch->size = 4;
  }

  template <typename T> static T &add(std::vector<std::unique_ptr<T>> &list) {
    return *list.emplace_back(std::make_unique<T>());
  }
  static void dims(std::vector<std::unique_ptr<plan::DimT>> &list,
                   const std::vector<int64_t> &extents) {
    for (int64_t extent : extents)
      add(list).extent = extent;
  }
  int kernel(pst_kernel function) {
    add(plan.kernels).name = "k" + std::to_string(code.size());
    code.push_back(function);
    return int(code.size()) - 1;
  }
  int buffer(plan::BufferKind kind, DType type, const std::vector<int64_t> &extents) {
    plan::BufferT &b = add(plan.buffers);
    b.kind = kind;
    b.type = type;
    dims(b.dims, extents);
    return int(plan.buffers.size()) - 1;
  }
  /// An output with axes n, a, b, c ... and its buffer.
  int output(const std::string &name, DType type, const std::vector<int64_t> &extents) {
    const int number = int(plan.outputs.size());
    plan::OutputT &o = add(plan.outputs);
    o.name = name;
    o.type = type;
    o.axes = {"n"};
    add(o.dims);
    for (size_t i = 0; i < extents.size(); ++i)
      o.axes.push_back(std::string(1, char('a' + i)));
    o.stored = o.axes;
    dims(o.dims, extents);
    const int result = buffer(plan::BufferKind::output, type, extents);
    o.buffer = result;
    plan.buffers[size_t(result)]->output = number;
    return result;
  }
  void scalarOutput(const std::string &name, DType type, int slot) {
    plan::OutputT &o = add(plan.outputs);
    o.name = name;
    o.type = type;
    o.axes = o.stored = {"n"};
    add(o.dims);
    o.scalar_slot = slot;
  }
  plan::StepT &step(int kernel, const std::vector<int> &inputs, const std::vector<int> &outputs,
                    const std::vector<int> &scalars = {}, int stage = 0) {
    plan::StepT &s = add(plan.steps);
    s.kernel = kernel;
    s.stage = stage;
    for (int input : inputs)
      add(s.inputs).buffer = input;
    s.outputs = outputs;
    s.scalars = scalars;
    return s;
  }
  void param(const std::string &name, DType type, bool required = false) {
    plan::ParamT &p = add(plan.params);
    p.name = name;
    p.type = type;
    p.required = required;
  }
  void fieldSlot(int column, int slot) {
    plan::FieldSlotT &f = add(plan.fields);
    f.by_rows = true; // where there is a rows kernel
    f.column = column;
    f.slot = slot;
  }

  std::shared_ptr<const KernelTable> kernels() const { return std::make_shared<Kernels>(code); }
  Result<std::unique_ptr<Session>> open(SessionOptions options = {}) const {
    auto checked = Plan::make(plan);
    if (!checked)
      return checked.error();
    return Session::open(*checked, kernels(), std::move(options));
  }
};

} // namespace penstock::test
