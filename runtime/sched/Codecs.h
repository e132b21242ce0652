// SPDX-License-Identifier: Apache-2.0
//
// Codec steps, which are no kernels: pixels to files, and back.
#pragma once

#include "runtime/abi/kernel.h"
#include "runtime/core/Plan.h"
#include "runtime/core/Status.h"
#include "runtime/media/ImageDecoder.h"
#include "runtime/media/jpeg/JpegEncoder.h"
#include "runtime/media/png/PngEncoder.h"
#include "runtime/sched/Scratch.h"

#include <span>

namespace penstock::runtime {

/// Runs the codecs of plan.fbs, for one thread.
class Codecs {
public:
  explicit Codecs(const ImageLimits &limits) : decoder(limits) {}

  /// `outputs` have their extents and memory; of a file, what is behind it
  /// becomes 0. `rank` is the input's. Temporary memory comes from `scratch`.
  ///
  /// Errors: those of the encoders; Limit where there is no scratch; Corrupt
  /// where tensors do not fit the codec, which a damaged plan alone can do.
  Status run(plan::Codec codec, const pst_tensor &input, int rank,
             std::span<const pst_tensor> outputs, int64_t quality, Scratch &scratch);

private:
  Result<size_t> write(plan::Codec codec, const Picture &picture, int64_t quality,
                       std::span<uint8_t> out);
  Status recompress(const Picture &picture, int64_t quality, const pst_tensor &output,
                    Scratch &scratch);

  JpegEncoder jpeg;
  PngEncoder png;
  ImageDecoder decoder;
};

} // namespace penstock::runtime
