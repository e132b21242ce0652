// SPDX-License-Identifier: Apache-2.0
//
// Kernels given as IR text, compiled and called: for tests.
#pragma once

#include "codegen/cpu/Compile.h"
#include "runtime/abi/kernel.h"
#include "runtime/core/Image.h"

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::test {

/// A dense tensor for a call. `padding` bytes lie between its outermost rows.
struct TensorArg {
  template <typename T>
  static TensorArg of(std::vector<T> &elements, std::vector<int64_t> extents, int64_t padding = 0) {
    TensorArg arg;
    arg.view.data = elements.data();
    int64_t stride = sizeof(T);
    for (size_t axis = extents.size(); axis-- > 0;) {
      arg.view.extent[axis] = extents[axis];
      arg.view.stride[axis] = stride + (axis == 0 && extents.size() > 1 ? padding : 0);
      stride *= extents[axis];
    }
    return arg;
  }
  pst_tensor view = {};
};

inline int64_t asSlot(double value) {
  int64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

class JitModule {
public:
  /// Compiles `text` (stage `kernels`) for `target`; fails the test on errors.
  JitModule(const std::string &text, codegen::Target target = codegen::Target::host());
  ~JitModule();

  bool ok() const { return image != nullptr; }
  const std::string &errors() const { return messages; }
  int64_t scratchBytes = 1 << 22;

  /// Runs kernel `name` over the whole outermost axis of its first output.
  /// `outputs` of `tensors` are the last ones.
  int32_t run(const std::string &name, const std::vector<TensorArg> &tensors, size_t outputs,
              std::vector<int64_t> scalars = {});
  /// Runs a select or setup kernel on a parameter block.
  int32_t runBlock(const std::string &name, std::vector<int64_t> &block);

  pst_kernel_args args = {};
  std::optional<std::pair<int64_t, int64_t>> band; ///< rows of the outputs; all where null
  volatile uint8_t stop = 0;                       ///< what the kernels look at
  std::shared_ptr<const runtime::Image> image;

private:
  std::string messages;
  std::vector<char> scratch;
};

} // namespace penstock::test
