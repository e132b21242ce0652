// SPDX-License-Identifier: Apache-2.0
//
// Headers and elements of the media that one sample reads.
#pragma once

#include "runtime/core/Clock.h"
#include "runtime/media/Medium.h"
#include "runtime/sched/SampleBuffers.h"

#include <memory>
#include <vector>

namespace penstock::runtime {

/// Reads what is in `work.media()`: numbers of headers into the block of the
/// sample at hand, then the regions that setup has asked for into its buffers.
class SampleMedia {
public:
  SampleMedia(const Program &program, const ImageLimits &limits, SampleBuffers &buffers,
              Scratch &scratch, const Clock &clock, Costs &costs);
  SampleMedia(const SampleMedia &) = delete;
  SampleMedia &operator=(const SampleMedia &) = delete;

  bool probe(Work &work, int64_t slot, Failure &failure);
  bool decode(Work &work, int64_t slot, Failure &failure);

private:
  /// Of a row with several files, which one it is.
  Failure failureIn(Work &work, int64_t slot, size_t medium, const Error &error) const;
  bool decodeOne(Work &work, int64_t slot, size_t number, Failure &failure);
  Status readBox(Encoded &encoded, const plan::DecodeT &decode, const MediumRequest &request,
                 const MediumLayout &layout, uint8_t *out);

  const Program &program;
  const Layout &layout;
  const plan::PlanT &tree;
  SampleBuffers &buffers;
  Scratch &scratch;
  const Clock &clock;
  Costs &costs;
  pst_video_costs videoCosts{};
  MediumHost host;
  std::vector<std::unique_ptr<Medium>>
      kinds;                       // as runtime/abi/media.h has them; null: none of them is read
  std::vector<Medium *> readers;   // by media
  std::vector<MediumInput> inputs; // by media
  std::vector<bool> untouched;     // by media: to be decoded, and not yet
};

} // namespace penstock::runtime
