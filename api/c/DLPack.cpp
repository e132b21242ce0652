// SPDX-License-Identifier: Apache-2.0
//
// Outputs as tensors of other libraries.
#include "api/c/Batch.h"
#include "api/c/Entry.h"
#include "api/c/dlpack_abi.h"
#include <algorithm>
#include <dlfcn.h>
#include <vector>

using namespace penstock;
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

/// A tensor in the hands of a consumer. Owns its extents, and its part of the batch, whose memory
/// is written again behind what the consumer has queued when it deletes the tensor.
template <typename Managed> struct Lent {
  Managed tensor{};
  std::vector<int64_t> extents; ///< the shape, then the strides
  std::shared_ptr<SharedBatch> batch;
  void *stream = nullptr; ///< that the consumer uses
  bool isOnDevice = false;

  static void end(Managed *tensor) {
    auto *lent = static_cast<Lent *>(tensor->manager_ctx);
    if (lent->isOnDevice)
      lent->batch->usedOn(lent->stream);
    delete lent;
  }
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
  lent->isOnDevice = output->device == PST_DEVICE_CUDA;
  if (part == PST_OFFSETS) {
    const int64_t *there = (*batch->batch)->outputs()[index].deviceOffsets;
    tensor.data = const_cast<int64_t *>(lent->isOnDevice ? there : output->offsets);
    tensor.dtype = dataTypeOf(PST_I64);
    lent->extents = {pst_batch_count(batch) + 1, 1};
  } else {
    tensor.data = const_cast<void *>(output->data);
    tensor.dtype = dataTypeOf(output->dtype);
    lent->extents.reserve(2 * static_cast<size_t>(output->rank));
    lent->extents.assign(output->shape, output->shape + output->rank);
    for (int32_t axis = 0; axis < output->rank; ++axis)
      lent->extents.push_back(output->strides[axis] * 8 / tensor.dtype.bits);
  }
  tensor.device = {lent->isOnDevice ? PST_DL_CUDA : PST_DL_CPU, output->device_number};
  tensor.ndim = static_cast<int32_t>(lent->extents.size() / 2);
  tensor.shape = lent->extents.data();
  tensor.strides = tensor.shape + tensor.ndim;
  if (std::find(tensor.shape, tensor.strides, 0) != tensor.strides)
    tensor.data = nullptr;
  setVersion(lent->tensor);
  lent->tensor.deleter = Lent<Managed>::end;
  lent->batch = batch->batch;
  lent->stream = stream ? stream : (*batch->batch)->stream();
  *out = &lent->tensor;
  lent->tensor.manager_ctx = lent.get();
  static_cast<void>(lent.release());
  return PST_OK;
}

template <typename Managed>
pst_status lendSafely(pst_batch *batch, size_t index, pst_part part, void *stream, Managed **out) {
  return catching([&] { return lend(batch, index, part, stream, out); },
                  [](const runtime::Error &) { return PST_ERROR; });
}

/// Python's functions, where the process has them: this library is not linked with it.
struct Python {
  int (*isValid)(void *capsule, const char *name);
  void *(*pointer)(void *capsule, const char *name);
  void *(*newCapsule)(void *pointer, const char *name, void (*destructor)(void *));
  void *(*newList)(ssize_t length);
  int (*setItem)(void *list, ssize_t index, void *item);
  void (*release)(void *object);

  static const Python *get() {
    static const Python found{
        function<decltype(isValid)>("PyCapsule_IsValid"),
        function<decltype(pointer)>("PyCapsule_GetPointer"),
        function<decltype(newCapsule)>("PyCapsule_New"),
        function<decltype(newList)>("PyList_New"),
        function<decltype(setItem)>("PyList_SetItem"),
        function<decltype(release)>("Py_DecRef"),
    };
    return found.isValid && found.pointer && found.newCapsule && found.newList && found.setItem &&
                   found.release
               ? &found
               : nullptr;
  }

private:
  template <typename Function> static Function function(const char *name) {
    return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  }
};

const char *nameOf(const DLManagedTensor *) { return "dltensor"; }
const char *nameOf(const DLManagedTensorVersioned *) { return "dltensor_versioned"; }

template <typename Managed> void deleteUntaken(const Python &python, void *capsule) {
  const char *name = nameOf(static_cast<Managed *>(nullptr));
  // Neither looks at Python's exception, nor sets one of a capsule that is valid.
  if (!python.isValid(capsule, name))
    return;
  auto *tensor = static_cast<Managed *>(python.pointer(capsule, name));
  tensor->deleter(tensor);
}

/// A capsule that owns a tensor of an output; null, with Python's exception set, where memory has
/// run out.
template <typename Managed>
void *capsule(const Python &python, pst_batch *batch, size_t index, void *stream) {
  Managed *tensor = nullptr;
  lendSafely(batch, index, PST_VALUES, stream, &tensor);
  void *made = python.newCapsule(tensor, nameOf(tensor), pst_capsule_delete); // not of null
  if (!made && tensor)
    tensor->deleter(tensor);
  return made;
}

} // namespace

pst_status pst_batch_dlpack(pst_batch *batch, size_t index, pst_part part, void *stream,
                            struct DLManagedTensorVersioned **out_tensor) {
  return lendSafely(batch, index, part, stream, out_tensor);
}

pst_status pst_batch_dlpack_legacy(pst_batch *batch, size_t index, pst_part part, void *stream,
                                   struct DLManagedTensor **out_tensor) {
  return lendSafely(batch, index, part, stream, out_tensor);
}

void *pst_batch_capsules(pst_batch *batch, int versioned, void *stream) {
  const Python *python = Python::get();
  if (!python)
    return nullptr;
  const size_t count = pst_batch_output_count(batch);
  void *list = python->newList(static_cast<ssize_t>(count));
  for (size_t i = 0; list && i < count; ++i) {
    void *made = versioned ? capsule<DLManagedTensorVersioned>(*python, batch, i, stream)
                           : capsule<DLManagedTensor>(*python, batch, i, stream);
    if (made) {
      python->setItem(list, static_cast<ssize_t>(i), made);
    } else {
      python->release(list);
      list = nullptr;
    }
  }
  return list;
}

void pst_capsule_delete(void *capsule) {
  if (const Python *python = Python::get()) {
    deleteUntaken<DLManagedTensor>(*python, capsule);
    deleteUntaken<DLManagedTensorVersioned>(*python, capsule);
  }
}
