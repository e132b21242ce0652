// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/video/ffmpeg/ScreenVideo.h"

#include "runtime/media/video/ffmpeg/Bits.h"
#include "runtime/media/video/ffmpeg/Input.h"

#include <algorithm>
#include <dlfcn.h>
#include <vector>

namespace penstock::video {

namespace {

using Bytes = std::span<const uint8_t>;

/// zlib as libavcodec has it in the process: its headers are no requirement of this library.
class Zlib {
public:
  Zlib() : library(dlopen("libz.so.1", RTLD_LAZY)) {
    const auto start = function<int(Stream *, const char *, int)>("inflateInit_");
    inflate = function<int(Stream *, int)>("inflate");
    reset = function<int(Stream *)>("inflateReset");
    end = function<int(Stream *)>("inflateEnd");
    if (!start || !inflate || !reset || !end || start(&stream, "1", int(sizeof stream)))
      throw Failure{PST_VIDEO_UNSUPPORTED, "Flash Screen Video is not decoded without libz.so.1"};
  }
  ~Zlib() { (void)end(&stream); }
  Zlib(const Zlib &) = delete;
  Zlib &operator=(const Zlib &) = delete;

  /// Whether the bytes are a stream of as many as `out` has, or of `out`'s size at most.
  bool isRight(Bytes bytes, std::vector<uint8_t> &out, bool isExact) {
    (void)reset(&stream);
    stream.nextIn = bytes.data();
    stream.availableIn = unsigned(bytes.size());
    stream.nextOut = out.data();
    stream.availableOut = unsigned(out.size());
    constexpr int finish = 4, isOk = 0, isEnd = 1, hasNoRoom = -5;
    const int code = inflate(&stream, finish);
    // Some writers flush a block, and do not end it.
    const bool isGood = code == isEnd || (isExact && (code == isOk || code == hasNoRoom));
    return isGood && (!isExact || stream.totalOut == out.size());
  }

private:
  /// z_stream of zlib 1, which has not changed since.
  struct Stream {
    const uint8_t *nextIn = nullptr;
    unsigned availableIn = 0;
    unsigned long totalIn = 0;
    uint8_t *nextOut = nullptr;
    unsigned availableOut = 0;
    unsigned long totalOut = 0;
    const char *message = nullptr;
    void *state = nullptr;
    void *(*allocate)(void *, unsigned, unsigned) = nullptr;
    void (*free)(void *, void *) = nullptr;
    void *opaque = nullptr;
    int type = 0;
    unsigned long sum = 0, reserved = 0;
  };
  template <typename Signature> Signature *function(const char *name) {
    return library ? reinterpret_cast<Signature *>(dlsym(library, name)) : nullptr;
  }

  void *library; // stays, as libavcodec does
  Stream stream;
  int (*inflate)(Stream *, int) = nullptr;
  int (*reset)(Stream *) = nullptr;
  int (*end)(Stream *) = nullptr;
};

class ScreenVideo final : public PictureReader {
public:
  explicit ScreenVideo(bool isSecond) : isSecond(isSecond) {}

  Picture read(Bytes packet) override {
    Bits head(packet);
    const size_t blockWidth = 16 * (head.take(4) + 1), width = head.take(12);
    const size_t blockHeight = 16 * (head.take(4) + 1), height = head.take(12);
    rest = packet.subspan(std::min<size_t>(isSecond ? 5 : 4, packet.size()));
    bool isWhole = !head.failed(), hasAll = true;
    for (size_t y = 0; y < height; y += blockHeight)
      for (size_t x = 0; x < width && isWhole; x += blockWidth) {
        Block block{std::min(blockWidth, width - x), std::min(blockHeight, height - y), {}};
        isWhole = readBlock(block);
        hasAll = hasAll && !block.bytes.empty();
      }
    Picture picture;
    picture.isStart = picture.isRecovery = isWhole && hasAll && !isSecond;
    picture.isDamaged = !isWhole;
    return picture;
  }

private:
  struct Block {
    size_t width, height;
    Bytes bytes; ///< none where it is that of the picture before
  };

  Bytes take(size_t count) {
    const Bytes taken = rest.first(std::min(count, rest.size()));
    rest = rest.subspan(taken.size());
    return taken;
  }
  size_t takeSize() {
    const Bytes two = take(2);
    return two.size() < 2 ? rest.size() + 1 : size_t(two[0]) << 8 | two[1];
  }
  /// False where it is damaged.
  bool readBlock(Block &block) {
    const size_t size = takeSize();
    if (size > rest.size())
      return false;
    block.bytes = take(size);
    Bytes data = block.bytes;
    bool isHybrid = false;
    if (isSecond && !data.empty()) {
      const uint8_t flags = data[0];
      isHybrid = (flags & 0x18) != 0;
      data = data.subspan(1);
      if (flags & 4) { // some rows only
        if (data.size() < 2)
          return false;
        block.height = data[1];
        data = data.subspan(2);
      }
      if (flags & 3) // goes on with another block's stream: FFmpeg's decoder alone knows
        return true;
    }
    if (block.bytes.empty())
      return true;
    pixels.resize(3 * block.width * block.height);
    return zlib.isRight(data, pixels, !isHybrid);
  }

  bool isSecond;
  Zlib zlib;
  Bytes rest;
  std::vector<uint8_t> pixels;
};

} // namespace

std::unique_ptr<PictureReader> screenVideoReader(AVCodecID codec) {
  return std::make_unique<ScreenVideo>(codec == AV_CODEC_ID_FLASHSV2);
}

} // namespace penstock::video
