// SPDX-License-Identifier: Apache-2.0
//
// Outputs of a batch or sample, in C.
#pragma once

#include "api/c/penstock.h"
#include "runtime/sched/Batch.h"
#include <cstring>
#include <vector>

namespace penstock::api {

/// The C name of an element type.
pst_dtype dtypeOf(plan::DType type);

/// The number that a caller wrote for one of C's enumerations: C++ may only look at its bytes,
/// since it need not be a value of the enumeration.
template <typename Enumeration> int numberOf(const Enumeration &written) {
  static_assert(sizeof written == sizeof(int));
  int number;
  std::memcpy(&number, &written, sizeof number);
  return number;
}

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
