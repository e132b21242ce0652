//===- DLPack.cpp - outputs as tensors of other libraries ------------------===//

#include "api/c/Batch.h"
#include "api/c/dlpack_abi.h"
#include <algorithm>
#include <dlfcn.h>
#include <vector>

using namespace penstock::api;

namespace {

DLDataType dataTypeOf(pst_dtype type) {
  switch (type) {
  case PST_U8:
    return {PST_DL_UINT, 8, 1};
  case PST_I8:
    return {PST_DL_INT, 8, 1};
  case PST_U16:
    return {PST_DL_UINT, 16, 1};
  case PST_I16:
    return {PST_DL_INT, 16, 1};
  case PST_I32:
    return {PST_DL_INT, 32, 1};
  case PST_I64:
    return {PST_DL_INT, 64, 1};
  case PST_F16:
    return {PST_DL_FLOAT, 16, 1};
  case PST_BF16:
    return {PST_DL_BFLOAT, 16, 1};
  case PST_F32:
    return {PST_DL_FLOAT, 32, 1};
  case PST_F64:
    return {PST_DL_FLOAT, 64, 1};
  case PST_BOOL:
    break;
  }
  return {PST_DL_BOOL, 8, 1};
}

/// A tensor in the hands of a consumer. Owns its extents, and its part of the batch.
template <typename Managed> struct Lent {
  Managed tensor{};
  std::vector<int64_t> shape, strides;
  std::shared_ptr<SharedBatch> batch;
  void *stream = nullptr; ///< that the consumer's last use is ordered on; of no use on a CPU

  static void end(Managed *tensor) { delete static_cast<Lent *>(tensor->manager_ctx); }
};

void setVersion(DLManagedTensor &) {}
void setVersion(DLManagedTensorVersioned &tensor) { tensor.version = {1, 0}; }

template <typename Managed>
pst_status lend(pst_batch *batch, size_t index, pst_part part, void *stream, Managed **out) {
  *out = nullptr;
  const pst_output *output = pst_batch_output(batch, index);
  if (!output || (part != PST_VALUES && (part != PST_OFFSETS || !output->offsets)))
    return PST_ERROR;
  auto lent = std::make_unique<Lent<Managed>>();
  DLTensor &tensor = lent->tensor.dl_tensor;
  if (part == PST_OFFSETS) {
    tensor.data = const_cast<int64_t *>(output->offsets);
    tensor.dtype = dataTypeOf(PST_I64);
    lent->shape = {pst_batch_count(batch) + 1};
    lent->strides = {1};
  } else {
    tensor.data = const_cast<void *>(output->data);
    tensor.dtype = dataTypeOf(output->dtype);
    lent->shape.assign(output->shape, output->shape + output->rank);
    for (int32_t axis = 0; axis < output->rank; ++axis)
      lent->strides.push_back(output->strides[axis] * 8 / tensor.dtype.bits);
  }
  if (std::find(lent->shape.begin(), lent->shape.end(), 0) != lent->shape.end())
    tensor.data = nullptr;
  tensor.device = {PST_DL_CPU, 0};
  tensor.ndim = static_cast<int32_t>(lent->shape.size());
  tensor.shape = lent->shape.data();
  tensor.strides = lent->strides.data();
  setVersion(lent->tensor);
  lent->tensor.deleter = Lent<Managed>::end;
  lent->batch = batch->batch;
  lent->stream = stream;
  *out = &lent->tensor;
  lent->tensor.manager_ctx = lent.get();
  static_cast<void>(lent.release());
  return PST_OK;
}

/// Python's functions, where the process has them: this library is not linked with it.
struct Capsules {
  int (*isValid)(void *capsule, const char *name);
  void *(*pointer)(void *capsule, const char *name);

  static const Capsules &get() {
    static const Capsules found{
        reinterpret_cast<decltype(isValid)>(dlsym(RTLD_DEFAULT, "PyCapsule_IsValid")),
        reinterpret_cast<decltype(pointer)>(dlsym(RTLD_DEFAULT, "PyCapsule_GetPointer"))};
    return found;
  }
};

template <typename Managed> void deleteUntaken(void *capsule, const char *name) {
  const Capsules &python = Capsules::get();
  // Neither looks at Python's exception, nor sets one of a capsule that is valid.
  if (!python.isValid || !python.pointer || !python.isValid(capsule, name))
    return;
  auto *tensor = static_cast<Managed *>(python.pointer(capsule, name));
  tensor->deleter(tensor);
}

} // namespace

pst_status pst_batch_dlpack(pst_batch *batch, size_t index, pst_part part, void *stream,
                            struct DLManagedTensorVersioned **out_tensor) {
  return lend(batch, index, part, stream, out_tensor);
}

pst_status pst_batch_dlpack_legacy(pst_batch *batch, size_t index, pst_part part, void *stream,
                                   struct DLManagedTensor **out_tensor) {
  return lend(batch, index, part, stream, out_tensor);
}

void pst_capsule_delete(void *capsule) {
  deleteUntaken<DLManagedTensor>(capsule, "dltensor");
  deleteUntaken<DLManagedTensorVersioned>(capsule, "dltensor_versioned");
}
