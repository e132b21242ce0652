// SPDX-License-Identifier: Apache-2.0
//
// Sound that FFmpeg decodes: any bytes. An index that is made can be read, and every range has the
// samples of the whole.
#include "test/fuzz/Fuzz.h"

#include "runtime/media/video/SoundTrack.h"
#include "runtime/media/video/VideoLibrary.h"

#include <algorithm>
#include <vector>

using namespace penstock::runtime;
using namespace penstock::fuzz;

namespace {

/// Samples of all channels; empty where they are refused.
std::vector<float> decoded(const SoundTrack &sound, std::span<const uint8_t> file, int64_t low,
                           int64_t high) {
  MediaSpan bytes(file);
  pst_video_costs costs{};
  const size_t channels = sound.info().channels;
  std::vector<float> out(size_t(high - low) * channels);
  const Status status = sound.decode(
      bytes, low, high,
      [&](int64_t first, int64_t count, const float *samples) {
        require(first >= low && count > 0 && count <= high - first, "what comes was asked for");
        std::copy_n(samples, size_t(count) * channels, out.data() + size_t(first - low) * channels);
      },
      costs);
  if (status)
    return out;
  require(!status.error().message.empty(), "a refusal has a reason");
  return {};
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!videoModule())
    return 0;
  Choices choices(data, size);
  const uint32_t at = choices.take<uint32_t>(), length = choices.take<uint32_t>(),
                 damaged = choices.take<uint32_t>();
  const auto file = choices.remaining();
  MediaSpan bytes(file);
  auto index = SoundTrack::index(bytes, {});
  if (!index) {
    require(!index.error().message.empty(), "a refusal has a reason");
    return 0;
  }
  auto sound = SoundTrack::open(*index);
  require(bool(sound), "an index that was made can be read");
  const int64_t samples = (*sound)->info().samples;
  if (samples * (*sound)->info().channels > 1 << 22)
    return 0;
  const int64_t low = at % samples, high = low + 1 + length % (samples - low);
  const auto all = decoded(**sound, file, 0, samples), part = decoded(**sound, file, low, high);
  const size_t channels = (*sound)->info().channels;
  if (!all.empty())
    require(part.size() == size_t(high - low) * channels &&
                std::memcmp(part.data(), all.data() + size_t(low) * channels,
                            part.size() * sizeof(float)) == 0,
            "a range has the samples of the whole");
  if (damaged % 4 == 0) { // an index is kept in files, which may be damaged, too
    (*index)[damaged / 4 % index->size()] ^= uint8_t(1 + damaged % 255);
    if (auto other = SoundTrack::open(*index)) {
      const int64_t count = (*other)->info().samples;
      if (count > 0 && count <= 1 << 20 && (*other)->info().channels <= 8)
        (void)decoded(**other, file, 0, count);
    }
  }
  return 0;
}
