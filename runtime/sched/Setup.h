// SPDX-License-Identifier: Apache-2.0
//
// The parameter block of a sample before its pixels: fields, header numbers, setup.
#pragma once

#include "runtime/media/Medium.h"
#include "runtime/sched/Program.h"
#include "runtime/sched/Work.h"

#include <cstdint>

namespace penstock::runtime {

/// Returns whether a field is a number of floats, and no extent.
bool isFloatColumn(const plan::PlanT &tree, const plan::FieldSlotT &field);
/// Stores scalar fields and extents of rows. False: `failure` says why.
[[nodiscard]] bool storeFields(Work &work, int64_t slot, int64_t *block, Failure &failure);
/// Points `out` at a field with elements; `storage` holds them where the table does not, and what
/// the caller gave where it is read later. False: `failure` says why.
[[nodiscard]] bool bindField(Work &work, int64_t slot, const BufferLayout &buffer, Buffer &storage,
                             pst_tensor &out, Failure &failure);
/// Encoded bytes that are there, for the medium to read.
MediumInput inputOf(const Encoded &encoded);
/// Reads the header of `input`, whose numbers are then known, and stores those that
/// setup asks for.
Status storeHeader(const plan::MediaT &media, MediumInput &input, const ImageLimits &limits,
                   int64_t *block);
/// The elements along an axis of a decode's result that a sample needs.
AxisRange rangeOf(const plan::DecodeT &decode, int axis, int64_t extent, const int64_t *block);
/// Returns whether it needs any.
bool isWanted(const plan::DecodeT &decode, const int64_t *block);
/// Returns the bytes of scratch that a kernel needs for this sample.
int64_t scratchBytes(const KernelScratch &need, const int64_t *block);

} // namespace penstock::runtime
