// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/LaunchRecord.h"

namespace penstock::runtime {

void packRecord(std::span<const plan::RecordField> fields, int64_t entry, const pst_tensor *tensors,
                const int64_t *scalars, const void *scratch, int64_t *record, int64_t part) {
  using plan::RecordValue;
  for (const plan::RecordField &field : fields) {
    const size_t number = field.number(), axis = field.axis();
    switch (field.value()) {
    case RecordValue::entry:
      *record++ = entry;
      break;
    case RecordValue::data:
      *record++ = int64_t(reinterpret_cast<uintptr_t>(tensors[number].data));
      break;
    case RecordValue::extent:
      *record++ = tensors[number].extent[axis];
      break;
    case RecordValue::stride:
      *record++ = tensors[number].stride[axis] / field.bytes();
      break;
    case RecordValue::scalar:
      *record++ = scalars[number];
      break;
    case RecordValue::scratch:
      *record++ = int64_t(reinterpret_cast<uintptr_t>(scratch));
      break;
    case RecordValue::part:
      *record++ = part;
      break;
    }
  }
}

} // namespace penstock::runtime
