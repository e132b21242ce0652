/* SPDX-License-Identifier: Apache-2.0 */
/* How tensors are handed over.
 *
 * The structs of DLPack 1.1, and those of 0.8 and before ("legacy"), as
 * include/dlpack/dlpack.h of https://github.com/dmlc/dlpack fixes them: its ABI,
 * declared here since Debian 12 has 0.6 only, which knows no versions. Not installed:
 * programs that read tensors include DLPack's own header, with the same names.
 */
#pragma once

#include <stdint.h>

typedef struct DLPackVersion {
  uint32_t major, minor;
} DLPackVersion;

typedef struct DLDevice {
  int32_t device_type; /* 1: CPU; 2: CUDA */
  int32_t device_id;
} DLDevice;

enum { PST_DL_CPU = 1, PST_DL_CUDA = 2 };

typedef struct DLDataType {
  uint8_t code; /* 0: signed; 1: unsigned; 2: IEEE float; 4: bfloat; 6: bool */
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

enum { PST_DL_INT = 0, PST_DL_UINT = 1, PST_DL_FLOAT = 2, PST_DL_BFLOAT = 4, PST_DL_BOOL = 6 };

typedef struct DLTensor {
  void *data; /* NULL where there is no element */
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides; /* in elements */
  uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags; /* 1: read only; 2: a copy of the consumer's own */
  DLTensor dl_tensor;
} DLManagedTensorVersioned;
