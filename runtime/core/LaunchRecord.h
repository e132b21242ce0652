// SPDX-License-Identifier: Apache-2.0
//
// Records of kernel launches on a device: one per sample.
#pragma once

#include "runtime/abi/kernel.h"
#include "runtime/abi/plan_generated.h"

#include <cstdint>
#include <span>

namespace penstock::runtime {

/// Fills `record`, one entry for each of `fields`. `tensors` are the kernel's inputs and
/// outputs, with addresses of the device; `entry` is the sample's in the batch's status; `part` is
/// that of a step that has some.
void packRecord(std::span<const plan::RecordField> fields, int64_t entry, const pst_tensor *tensors,
                const int64_t *scalars, const void *scratch, int64_t *record, int64_t part = 0);

} // namespace penstock::runtime
