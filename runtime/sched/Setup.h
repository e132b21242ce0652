// What a sample's parameter block gets before its pixels: fields, headers, setup.
#pragma once

#include "runtime/media/ImageHeader.h"
#include "runtime/media/video/Video.h"
#include "runtime/sched/Program.h"
#include "runtime/sched/Work.h"

#include <cstdint>

namespace penstock::runtime {

/// Stores scalar fields and extents of rows. False: `failure` says why.
[[nodiscard]] bool storeFields(Work &work, int64_t slot, int64_t *block, Failure &failure);
/// The header of encoded bytes that are there.
Result<ImageInfo> headerOf(const plan::MediaT &media, const Encoded &encoded,
                           const ImageLimits &limits);
void storeHeader(const plan::MediaT &media, const ImageInfo &info, int64_t *block);
/// What a kernel needs for this sample.
int64_t scratchBytes(const KernelScratch &need, const int64_t *block);

} // namespace penstock::runtime
