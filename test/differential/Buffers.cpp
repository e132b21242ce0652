// SPDX-License-Identifier: Apache-2.0
//
// What a kernel gets to read and write.
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

Scratch Scratch::of(mlir::func::FuncOp kernel) {
  Scratch needs;
  if (auto fixed = kernel->getAttrOfType<mlir::IntegerAttr>("pipe.scratch_fixed"))
    needs.fixed = fixed.getInt();
  if (auto terms = kernel->getAttrOfType<mlir::ArrayAttr>("pipe.scratch"))
    for (auto term : terms.getAsRange<mlir::DictionaryAttr>()) {
      Term read{llvm::cast<mlir::IntegerAttr>(term.get("bytes")).getInt(), {}};
      for (mlir::Attribute dim : llvm::cast<mlir::ArrayAttr>(term.get("dims"))) {
        const auto place = llvm::cast<mlir::DenseI64ArrayAttr>(dim).asArrayRef();
        read.dims.emplace_back(place.begin(), place.end());
      }
      needs.terms.push_back(std::move(read));
    }
  return needs;
}

int64_t Scratch::bytes(const std::vector<pst_tensor> &tensors,
                       const std::vector<int64_t> &scalars) const {
  int64_t total = fixed;
  for (const Term &term : terms) {
    int64_t bytes = term.bytes;
    for (const std::vector<int64_t> &dim : term.dims)
      bytes *= dim[0] == 0   ? scalars[static_cast<size_t>(dim[1])]
               : dim[0] == 1 ? tensors[static_cast<size_t>(dim[1])].extent[dim[2]]
                             : dim[1];
    total += bytes;
  }
  return total;
}

} // namespace penstock::differential
