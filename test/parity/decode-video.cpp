// SPDX-License-Identifier: Apache-2.0
//
// Decodes frames of videos as told line by line, for comparison with FFmpeg.
//
//   decode-video
//
// A line is `index FILE`, `planes FIRST COUNT STEP FILE` or `rgb|gray FIRST COUNT
// STEP TOP LEFT HEIGHT WIDTH ORIENTATION FILE`, where a height of 0 means the whole
// frame; `limit BYTES` of a decoder's frames from here on; `nothing` is fetched from
// here on, so that all is read while decoding; `level`, FFmpeg's own level of reports,
// which nobody here sets (`ok LEVEL`); `say WORD`, which somebody else reports through FFmpeg. The
// answers: `ok FRAMES HEIGHT WIDTH ORIENTATION PACKETS`, or `ok BYTES PACKETS RESTARTS READ LATE
// HELD READING` and that many bytes (READ of the file, LATE of them while decoding, HELD for
// frames), or `error MESSAGE`.
#include "runtime/core/RealFileSystem.h"
#include "runtime/media/video/VideoDecoder.h"
#include "runtime/media/video/VideoLibrary.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

using namespace penstock::runtime;

namespace {

struct File {
  std::vector<uint8_t> whole, index;
  std::shared_ptr<const Video> video;
  std::unique_ptr<MediaBytes> bytes;

  MediaFile *parts() { return whole.empty() ? static_cast<MediaFile *>(bytes.get()) : nullptr; }
};

struct Options {
  uint64_t limit = UINT64_MAX;
  bool fetches = true;
};

Result<File> open(RealFileSystem &files, const std::string &path) {
  auto opened = files.openFile(path);
  if (!opened)
    return opened.error();
  File file;
  const uint64_t size = (*opened)->info().size;
  MediaFile all(*opened, 0, size);
  auto index = indexVideo(all, {});
  if (!index)
    return index.error();
  file.index = std::move(*index);
  auto video = Video::open(file.index);
  if (!video)
    return video.error();
  file.video = std::move(*video);
  if (file.video->reading() == VideoReading::Packets) {
    file.bytes = std::make_unique<MediaFile>(std::move(*opened), 0, size);
    return file;
  }
  file.whole.resize(size);
  if (Status status = all.read(0, file.whole); !status)
    return status.error();
  file.bytes = std::make_unique<MediaSpan>(file.whole);
  return file;
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

/// State of a call of the module's decode(): the frames that it gives, and the memory that it
/// holds.
struct Call {
  Frames frames;
  uint64_t limit = 0, held = 0;
};

int holdFrames(void *user, uint64_t bytes) {
  Call &call = *static_cast<Call *>(user);
  call.held += bytes;
  return call.held <= call.limit ? 0 : 1;
}

int keepOf(void *user, int64_t number, const pst_video_frame *frame) {
  return keepPlanes(&static_cast<Call *>(user)->frames, number, frame);
}

Status planes(File &file, const pst_video_range &range, pst_video_costs &costs, Call &call,
              std::vector<uint8_t> &out) {
  char message[PST_VIDEO_MESSAGE] = {};
  VideoInput input(*file.bytes);
  const pst_video_client client{&call, keepOf, holdFrames};
  if ((*videoModule())
          ->decode(file.video->handle(), &input.given, &range, &client, &costs, message) !=
      PST_VIDEO_OK)
    return Error{Code::Corrupt, message};
  for (const auto &[number, bytes] : call.frames)
    out.insert(out.end(), bytes.begin(), bytes.end());
  return {};
}

Status fetch(File &file, const pst_video_range &range) {
  auto parts = file.video->parts(range);
  return parts ? file.parts()->fetch(*parts, 0) : Status(parts.error());
}

Status answer(RealFileSystem &files, VideoDecoder &decoder, Options &options,
              const std::string &line) {
  std::istringstream words(line);
  std::string kind, path;
  pst_video_range range{};
  Region region;
  int orientation = 1;
  words >> kind;
  if (kind == "limit" || kind == "nothing") {
    options.fetches = options.fetches && kind != "nothing";
    if (kind == "limit")
      words >> options.limit;
    std::printf("ok\n");
    return {};
  }
  // FFmpeg's functions are found through the module, which is linked with them.
  void *module = dlopen(std::getenv("PENSTOCK_VIDEO_MODULE"), RTLD_NOW | RTLD_NOLOAD);
  if (kind == "say") {
    std::string word;
    words >> word;
    if (const auto log = module ? reinterpret_cast<void (*)(void *, int, const char *, ...)>(
                                      dlsym(module, "av_log"))
                                : nullptr)
      log(nullptr, 16, "%s\n", word.c_str());
    std::printf("ok\n");
    return {};
  }
  if (kind == "level") {
    const auto level =
        module ? reinterpret_cast<int (*)()>(dlsym(module, "av_log_get_level")) : nullptr;
    std::printf("ok %d\n", level ? level() : -1);
    return {};
  }
  if (kind != "index")
    words >> range.first >> range.count >> range.step;
  if (kind == "rgb" || kind == "gray")
    words >> region.top >> region.left >> region.height >> region.width >> orientation;
  words >> std::ws;
  std::getline(words, path);
  auto file = open(files, path);
  if (!file)
    return file.error();
  const VideoInfo &info = file->video->info();
  if (kind == "index") {
    pst_video_index head;
    std::memcpy(&head, file->index.data(), sizeof head);
    std::printf("ok %lld %u %u %d %u %d\n", static_cast<long long>(info.frames), info.height,
                info.width, info.orientation, head.packets,
                (head.flags & PST_VIDEO_SEQUENTIAL) != 0);
    return {};
  }
  if (file->parts() && options.fetches)
    if (Status status = fetch(*file, range); !status)
      return status;
  const uint64_t fetched = file->parts() ? file->parts()->bytesRead() : file->whole.size();
  pst_video_costs costs{};
  Call call;
  call.limit = options.limit;
  std::vector<uint8_t> out;
  if (kind == "planes") {
    if (Status status = planes(*file, range, costs, call, out); !status)
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
    const auto mayHold = [&](uint64_t bytes) { return holdFrames(&call, bytes) == 0; };
    if (Status status = decoder.decode(*file->bytes, *file->video, range, target, mayHold, costs);
        !status)
      return status;
  }
  const uint64_t read = file->parts() ? file->parts()->bytesRead() : fetched;
  std::printf("ok %zu %llu %llu %llu %llu %llu %s\n", out.size(),
              static_cast<unsigned long long>(costs.packets),
              static_cast<unsigned long long>(costs.restarts),
              static_cast<unsigned long long>(read),
              static_cast<unsigned long long>(read - fetched),
              static_cast<unsigned long long>(call.held), nameOf(file->video->reading()));
  std::fwrite(out.data(), 1, out.size(), stdout);
  return {};
}

} // namespace

int main() {
  auto files = RealFileSystem::create({{"/", false}});
  if (!files)
    return 1;
  VideoDecoder decoder;
  Options options;
  for (std::string line; std::getline(std::cin, line);) {
    if (Status status = answer(**files, decoder, options, line); !status)
      std::printf("error %s\n", status.error().message.c_str());
    std::fflush(stdout);
  }
}
