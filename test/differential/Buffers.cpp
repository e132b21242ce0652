// SPDX-License-Identifier: Apache-2.0
//
// What a kernel gets to read and write.
#include "test/differential/Buffers.h"
#include <cstring>
#include <sys/mman.h>

using namespace penstock::reference;

namespace penstock::differential {

static constexpr size_t page = 4096;
static constexpr uint8_t poison = 0xCD;

Guarded::Guarded(size_t size, size_t tail) : size(size) {
  const size_t used = (size + tail + 63) / 64 * 64;
  mapped = (used + page - 1) / page * page + page;
  memory = static_cast<uint8_t *>(
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(memory + mapped - page, page, PROT_NONE);
  start = memory + mapped - page - used;
  std::memset(memory, poison, mapped - page);
}

Guarded::~Guarded() {
  if (memory)
    munmap(memory, mapped);
}

bool Guarded::intact() const {
  for (const uint8_t *at = memory; at != start; ++at)
    if (*at != poison)
      return false;
  for (const uint8_t *at = start + size; at != memory + mapped - page; ++at)
    if (*at != poison)
      return false;
  return true;
}

pst_tensor viewOf(const Tensor &tensor, const Guarded &buffer) {
  pst_tensor view = {};
  view.data = buffer.data();
  int64_t stride = bytesOf(tensor.type);
  for (int64_t axis = tensor.rank() - 1; axis >= 0; --axis) {
    view.extent[axis] = tensor.extents[static_cast<size_t>(axis)];
    view.stride[axis] = stride;
    stride *= view.extent[axis];
  }
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
