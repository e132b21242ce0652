// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/numbers/Gzip.h"

#include <algorithm>
#include <new>
#include <string>

#include <zlib.h>

namespace penstock::runtime {

namespace {

constexpr uint64_t window = 64 << 10;

Error endsAfter(uint64_t bytes) {
  return {Code::Truncated,
          "what is packed in the gzip file ends after " + std::to_string(bytes) + " bytes"};
}

Error truncated(uint64_t size) {
  return {Code::Truncated, "truncated gzip file: its " + std::to_string(size) +
                               " bytes end before what is packed in them"};
}

} // namespace

Result<bool> GzipBytes::is(MediaBytes &file) {
  uint8_t magic[2] = {};
  if (file.size() >= sizeof magic)
    if (Status status = file.read(0, magic); !status)
      return status.error();
  return magic[0] == 0x1F && magic[1] == 0x8B;
}

GzipBytes::GzipBytes(MediaBytes &file) : file(file), stream(std::make_unique<z_stream>()) {}

GzipBytes::~GzipBytes() {
  if (isOpen)
    inflateEnd(stream.get());
}

// A byte of deflate is 1,032 at most (zlib's technical notes).
uint64_t GzipBytes::size() const { return file.size() * 1032; }

Status GzipBytes::feed() {
  const uint64_t count = std::min(window, file.size() - taken);
  auto bytes = file.view(taken, count, in);
  if (!bytes)
    return bytes.error();
  // A view lasts until the next one, and so does what zlib is given.
  stream->next_in = const_cast<uint8_t *>(*bytes);
  stream->avail_in = uInt(count);
  taken += count;
  return {};
}

Result<uint64_t> GzipBytes::inflate(uint8_t *out, uint64_t count) {
  if (!isOpen) {
    constexpr int gzip = 16; // and no other wrapping
    if (inflateInit2(stream.get(), gzip + MAX_WBITS) != Z_OK)
      throw std::bad_alloc(); // of this version of zlib, only for want of memory
    isOpen = true;
  }
  uint64_t done = 0;
  while (done < count && !isAtEnd) {
    if (stream->avail_in == 0 && taken < file.size())
      if (Status status = feed(); !status)
        return status.error();
    const uint64_t room = std::min<uint64_t>(count - done, 1 << 30);
    stream->next_out = out + done;
    stream->avail_out = uInt(room);
    const int code = ::inflate(stream.get(), Z_NO_FLUSH);
    done += room - stream->avail_out;
    if (code == Z_STREAM_END) {
      if (stream->avail_in < 2 && taken < file.size()) { // the next magic may lie across windows
        taken -= stream->avail_in;
        if (Status status = feed(); !status)
          return status.error();
      }
      isAtEnd = stream->avail_in < 2 || stream->next_in[0] != 0x1F || stream->next_in[1] != 0x8B;
      if (!isAtEnd)
        inflateReset(stream.get());
    } else if (code == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (code == Z_BUF_ERROR) {
      if (taken == file.size() && stream->avail_in == 0)
        return truncated(file.size());
    } else if (code != Z_OK) {
      return Error{Code::Corrupt, std::string("damaged gzip file: ") +
                                      (stream->msg ? stream->msg : "it cannot be unpacked")};
    }
  }
  at += done;
  return done;
}

Status GzipBytes::read(uint64_t offset, std::span<uint8_t> out) {
  skipped.resize(window);
  while (at < offset) {
    auto done = inflate(skipped.data(), std::min(window, offset - at));
    if (!done)
      return done.error();
    if (*done == 0)
      return endsAfter(at);
  }
  auto done = inflate(out.data(), out.size());
  if (!done)
    return done.error();
  if (*done < out.size())
    return endsAfter(at);
  return {};
}

Result<uint64_t> GzipBytes::finish() {
  skipped.resize(window);
  for (;;) {
    auto done = inflate(skipped.data(), window);
    if (!done)
      return done.error();
    if (*done == 0)
      return at;
  }
}

} // namespace penstock::runtime
