// SPDX-License-Identifier: Apache-2.0
//
// The media that there are, in the order of runtime/abi/media.h.
#include "runtime/media/ImageMedium.h"
#include "runtime/media/Medium.h"
#include "runtime/media/numbers/Nifti.h"
#include "runtime/media/numbers/Npy.h"
#include "runtime/media/numbers/Numbers.h"
#include "runtime/media/points/Pcd.h"
#include "runtime/media/points/Ply.h"
#include "runtime/media/video/VideoMedium.h"
#include "runtime/media/wave/Wave.h"

#include "runtime/core/DType.h"

namespace penstock::runtime {

namespace {

template <typename T> std::unique_ptr<Medium> make(MediumHost &host) {
  return std::make_unique<T>(host);
}

constexpr MediumEntry entries[] = {
    {ImageMedium::probe, make<ImageMedium>, nullptr},
    {VideoMedium::probe, make<VideoMedium>, VideoMedium::parts},
    {Numbers::probe, make<Numbers>, Numbers::parts},
    {Wave::probe, make<Wave>, Wave::parts},
    {Npy::probe, make<Npy>, Npy::parts},
    {Nifti::probe, make<Nifti>, Nifti::parts},
    {Ply::probe, make<Ply>, Ply::parts},
    {Pcd::probe, make<Pcd>, Pcd::parts},
};
static_assert(std::size(entries) == std::size(media::all));

} // namespace

const MediumEntry &mediumEntry(size_t number) { return entries[number]; }

std::optional<MediumLayout> denseLayout(const MediumRequest &request) {
  MediumLayout layout;
  layout.bytes = sizeOf(request.type);
  for (size_t axis = request.rank(); axis-- > 0;) {
    layout.strides[axis] = layout.bytes;
    if (__builtin_mul_overflow(layout.bytes, request.extents[axis], &layout.bytes))
      return std::nullopt;
  }
  return layout;
}

} // namespace penstock::runtime
