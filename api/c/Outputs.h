// SPDX-License-Identifier: Apache-2.0
//
// Outputs of a batch or sample, in C.
#pragma once

#include "api/c/penstock.h"
#include "runtime/sched/Batch.h"
#include <vector>

namespace penstock::api {

/// The C name of an element type.
pst_dtype dtypeOf(plan::DType type);

/// Converts back; DType::none for a number that is no type.
plan::DType dtypeFrom(const pst_dtype &type);

/// C views of output views; borrows their memory.
class Outputs {
public:
  explicit Outputs(const std::vector<runtime::OutputView> &views);
  size_t size() const { return outputs.size(); }
  const pst_output *operator[](size_t index) const {
    return index < outputs.size() ? &outputs[index] : nullptr;
  }

private:
  std::vector<std::vector<const char *>> axes;
  std::vector<pst_output> outputs;
};

} // namespace penstock::api
