// SPDX-License-Identifier: Apache-2.0
//
// Decodes ranges of sounds as told line by line, for comparison with others.
//
//   decode-sound
//
// A line is `probe FILE`, or `channels|mono LOW HIGH FILE`. The answers: `ok RATE CHANNELS SAMPLES
// BITS PARTS` (PARTS: 1 where it is read in parts), or `ok BYTES READ LATE PACKETS RESTARTS` and
// that many bytes of f32 (READ of the file, LATE of them while decoding), or `error MESSAGE`. Files
// are read in parts, as the runtime's fetcher does.
#include "runtime/core/RealFileSystem.h"
#include "runtime/media/Medium.h"
#include "runtime/media/video/SoundTrack.h"
#include "runtime/media/wave/Wave.h"

#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

using namespace penstock;
using namespace penstock::runtime;

namespace {

constexpr uint64_t pieceBytes = 32 << 10;

class Sounds {
public:
  Status answer(const std::string &line) {
    std::istringstream words(line);
    std::string word, path;
    words >> word;
    AxisRange t;
    if (word != "probe")
      words >> t.low >> t.high;
    words >> std::ws;
    std::getline(words, path);
    auto opened = files->openFile(path);
    if (!opened)
      return opened.error();
    MediaFile file(*opened, 0, (*opened)->info().size, pieceBytes);
    MediumInput input{{}, {}, &file, nullptr, nullptr, nullptr};
    std::vector<uint8_t> whole;
    auto hasPackets = Wave::hasPackets(file);
    if (!hasPackets)
      return hasPackets.error();
    if (*hasPackets) {
      auto &track = tracks[path + " " + std::to_string((*opened)->info().modifiedNs)];
      if (!track) {
        MediaFile all(*opened, 0, file.size());
        auto index = SoundTrack::index(all, {});
        if (!index)
          return index.error();
        auto sound = SoundTrack::open(*index);
        if (!sound)
          return sound.error();
        track = std::move(*sound);
      }
      input.sound = track.get();
      if (!track->isDirect()) {
        whole.resize(file.size());
        if (Status status = file.read(0, whole); !status)
          return status;
      }
    }
    MediaSpan bytes(whole);
    if (!whole.empty())
      input.file = &bytes;
    videos = {};
    if (Status status = entry.probe(input, {}, input.numbers); !status)
      return status;
    auto number = [&](size_t which) { return static_cast<long long>(input.numbers[which]); };
    if (word == "probe") {
      std::printf("ok %lld %lld %lld %lld %d\n", number(media::waveRate),
                  number(media::waveChannels), number(media::waveSamples), number(media::waveBits),
                  whole.empty());
      return {};
    }
    const int64_t extents[] = {t.high - t.low, number(media::waveChannels)};
    const AxisRange box[] = {t, {0, extents[1]}};
    const size_t rank = word == "mono" ? 1 : 2;
    const MediumRequest request{plan::DType::f32, word, false, {extents, rank}, {box, rank}, {}};
    std::vector<ByteRange> parts;
    if (Status status = entry.parts(input, request, parts); status)
      if (status = file.fetch(parts); !status)
        return status;
    const uint64_t fetched = file.bytesRead();
    const auto layout = medium->layout(request);
    std::vector<uint8_t> out(size_t(layout->bytes));
    // Where the first element of the whole would lie.
    uint8_t *first = out.data() - t.low * layout->strides[0];
    if (Status status = medium->decode(input, request, *layout, first); !status)
      return status;
    std::printf("ok %zu %llu %llu %llu %llu\n", out.size(),
                static_cast<unsigned long long>(file.bytesRead()),
                static_cast<unsigned long long>(file.bytesRead() - fetched),
                static_cast<unsigned long long>(videos.packets),
                static_cast<unsigned long long>(videos.restarts));
    std::fwrite(out.data(), 1, out.size(), stdout);
    return {};
  }

  std::shared_ptr<RealFileSystem> files;

private:
  std::map<std::string, std::shared_ptr<const SoundTrack>> tracks;
  const size_t kind = size_t(media::find("wave"));
  const MediumEntry &entry = mediumEntry(kind);
  DecodeStats stats;
  pst_video_costs videos{};
  MediumHost host{{}, stats, videos, nullptr, nullptr};
  std::unique_ptr<Medium> medium = entry.make(host);
};

} // namespace

int main() {
  auto files = RealFileSystem::create({{"/", false}});
  if (!files)
    return 1;
  Sounds sounds;
  sounds.files = std::move(*files);
  for (std::string line; std::getline(std::cin, line);) {
    if (Status status = sounds.answer(line); !status)
      std::printf("error %s\n", status.error().message.c_str());
    std::fflush(stdout);
  }
}
