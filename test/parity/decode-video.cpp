// Decodes frames of videos as told line by line, for comparison with FFmpeg.
//
//   decode-video
//
// A line is `index FILE`, `planes FIRST COUNT STEP FILE` or `rgb|gray FIRST COUNT
// STEP TOP LEFT HEIGHT WIDTH ORIENTATION FILE`, where a height of 0 means the whole
// frame. The answers: `ok FRAMES HEIGHT WIDTH ORIENTATION PACKETS`, or `ok BYTES
// PACKETS RESTARTS` and that many bytes, or `error MESSAGE`.
#include "runtime/media/video/VideoDecoder.h"
#include "runtime/media/video/VideoLibrary.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace penstock::runtime;

namespace {

struct Video {
  std::vector<uint8_t> bytes, index;
  VideoInfo info;
};

Result<Video> open(const std::string &path) {
  Video video;
  std::ifstream file(path, std::ios::binary);
  video.bytes.assign(std::istreambuf_iterator<char>(file), {});
  auto index = indexVideo(video.bytes, {});
  if (!index)
    return index.error();
  video.index = std::move(*index);
  auto info = readVideoIndex(video.index);
  if (!info)
    return info.error();
  video.info = *info;
  return video;
}

using Frames = std::map<int64_t, std::vector<uint8_t>>;

/// The planes without gaps, as FFmpeg's raw video has them.
int keepPlanes(void *user, int64_t number, const pst_video_frame *frame) {
  std::vector<uint8_t> &out = (*static_cast<Frames *>(user))[number];
  const size_t sample = frame->depth > 8 ? 2 : 1;
  for (int i = 0; i < frame->components; ++i) {
    const uint32_t down = i ? (1u << frame->shift_x) - 1 : 0;
    const uint32_t width = (frame->width + down) >> (i ? frame->shift_x : 0);
    const uint32_t height =
        i ? (frame->height + (1u << frame->shift_y) - 1) >> frame->shift_y : frame->height;
    const pst_video_plane &plane = frame->planes[i];
    for (uint32_t y = 0; y < height; ++y)
      for (uint32_t x = 0; x < width; ++x) {
        const uint8_t *at = plane.data + ptrdiff_t(y) * plane.stride + ptrdiff_t(x) * plane.step;
        out.insert(out.end(), at, at + sample);
      }
  }
  return 0;
}

Status planes(const Video &video, const pst_video_range &range, pst_video_costs &costs,
              std::vector<uint8_t> &out) {
  char message[PST_VIDEO_MESSAGE] = {};
  Frames frames;
  if ((*videoModule())
          ->decode(video.bytes.data(), video.bytes.size(), video.index.data(), video.index.size(),
                   &range, keepPlanes, &frames, &costs, message) != PST_VIDEO_OK)
    return Error{Code::Corrupt, message};
  for (const auto &[number, bytes] : frames)
    out.insert(out.end(), bytes.begin(), bytes.end());
  return {};
}

Status answer(VideoDecoder &decoder, const std::string &line) {
  std::istringstream words(line);
  std::string kind, path;
  pst_video_range range{};
  Region region;
  int orientation = 1;
  words >> kind;
  if (kind != "index")
    words >> range.first >> range.count >> range.step;
  if (kind == "rgb" || kind == "gray")
    words >> region.top >> region.left >> region.height >> region.width >> orientation;
  words >> std::ws;
  std::getline(words, path);
  auto video = open(path);
  if (!video)
    return video.error();
  const VideoInfo &info = video->info;
  if (kind == "index") {
    pst_video_index head;
    std::memcpy(&head, video->index.data(), sizeof head);
    std::printf("ok %lld %u %u %d %u\n", static_cast<long long>(info.frames), info.height,
                info.width, info.orientation, head.packets);
    return {};
  }
  pst_video_costs costs{};
  std::vector<uint8_t> out;
  if (kind == "planes") {
    if (Status status = planes(*video, range, costs, out); !status)
      return status;
  } else {
    VideoDecoder::Target target;
    target.format = kind == "gray" ? PixelFormat::Gray : PixelFormat::Rgb;
    target.orientation = Orientation(orientation);
    if (region.height == 0)
      region = target.orientation.isTransposed() ? Region{0, 0, info.width, info.height}
                                                 : Region{0, 0, info.height, info.width};
    target.region = region;
    target.rowStride = size_t(region.width) * channelsOf(target.format);
    target.frameStride = target.rowStride * region.height;
    out.resize(target.frameStride * size_t(range.count > 0 ? range.count : 0));
    target.out = out.data();
    if (Status status = decoder.decode(video->bytes, video->index, range, target, costs); !status)
      return status;
  }
  std::printf("ok %zu %llu %llu\n", out.size(), static_cast<unsigned long long>(costs.packets),
              static_cast<unsigned long long>(costs.restarts));
  std::fwrite(out.data(), 1, out.size(), stdout);
  return {};
}

} // namespace

int main() {
  VideoDecoder decoder;
  for (std::string line; std::getline(std::cin, line);) {
    if (Status status = answer(decoder, line); !status)
      std::printf("error %s\n", status.error().message.c_str());
    std::fflush(stdout);
  }
}
