// SPDX-License-Identifier: Apache-2.0
//
// Buffers of a kernel call.
#include "test/differential/Buffers.h"

using namespace penstock::reference;

namespace penstock::differential {

pst_tensor shapeOf(const Tensor &tensor) {
  pst_tensor view = {};
  int64_t stride = bytesOf(tensor.type);
  for (int64_t axis = tensor.rank() - 1; axis >= 0; --axis) {
    view.extent[axis] = tensor.extents[static_cast<size_t>(axis)];
    view.stride[axis] = stride;
    stride *= view.extent[axis];
  }
  return view;
}

pst_tensor viewOf(const Tensor &tensor, const Guarded &buffer) {
  pst_tensor view = shapeOf(tensor);
  view.data = buffer.data();
  return view;
}

Scratch Scratch::of(mlir::func::FuncOp kernel) { return {conversion::scratchOf(kernel)}; }

int64_t Scratch::bytes(const std::vector<pst_tensor> &tensors,
                       const std::vector<int64_t> &scalars) const {
  using Kind = conversion::ArgumentExtent::Kind;
  int64_t total = need.fixed;
  for (const conversion::ScratchTerm &term : need.terms) {
    int64_t bytes = term.bytes;
    for (const conversion::ArgumentExtent &extent : term.extents) {
      const auto number = static_cast<size_t>(extent.value);
      bytes *= extent.kind == Kind::scalar   ? scalars[number]
               : extent.kind == Kind::tensor ? tensors[number].extent[extent.axis]
                                             : extent.value;
    }
    total += bytes;
  }
  return total;
}

} // namespace penstock::differential
