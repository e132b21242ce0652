#include "runtime/sched/SampleMedia.h"

#include "runtime/sched/Setup.h"

namespace penstock::runtime {

SampleMedia::SampleMedia(const Program &program, const ImageLimits &images, SampleBuffers &buffers,
                         Scratch &scratch, const Clock &clock, Costs &costs)
    : program(program), layout(*program.layout), tree(program.tree()), images(images),
      buffers(buffers), scratch(scratch), clock(clock), costs(costs), decoder(images),
      headers(tree.media.size()) {}

bool SampleMedia::probe(Work &work, int64_t slot, Failure &failure) {
  if (tree.media.empty())
    return true;
  const int64_t begin = clock.nowNs();
  for (size_t i = 0; i < tree.media.size(); ++i) {
    const plan::MediaT &media = *tree.media[i];
    const Encoded &encoded = work.media(slot, i);
    if (!encoded.status) {
      failure = {size_t(media.row), encoded.status.error().message};
      return false;
    }
    auto info = headerOf(media, encoded, images);
    if (!info) {
      failure = {size_t(media.row), info.error().message};
      return false;
    }
    headers[i] = *info;
    storeHeader(media, *info, buffers.block);
  }
  costs.add(Stage::Probe, clock.nowNs() - begin, tree.media.size());
  return true;
}

bool SampleMedia::decode(Work &work, int64_t slot, Failure &failure) {
  if (tree.decodes.empty())
    return true;
  const int64_t begin = clock.nowNs();
  uint64_t count = 0;
  bool good = true;
  untouched.assign(tree.media.size(), false);
  for (const auto &decode : tree.decodes)
    untouched[size_t(decode->media)] = !isVideo(*decode); // an index has seen the end
  for (const auto &decode : tree.decodes) {
    const bool wanted =
        decode->top < 0 || (buffers.block[decode->top] < buffers.block[decode->bottom] &&
                            buffers.block[decode->left] < buffers.block[decode->right]);
    count += wanted;
    good = good && decodeOne(work, slot, *decode, failure);
  }
  // How much of an image is needed depends on passes; that its file is cut off
  // must not.
  for (size_t i = 0; good && i < untouched.size(); ++i)
    if (untouched[i])
      if (Status status = decoder.checkEnd(work.media(slot, i).bytes.span(), costs.decoded);
          !status) {
        failure = {size_t(tree.media[i]->row), status.error().message};
        good = false;
      }
  costs.add(Stage::Decode, clock.nowNs() - begin, count);
  return good;
}

Status SampleMedia::readPixels(std::span<const uint8_t> bytes, PixelFormat format,
                               const Region &region, const Orientation &orientation,
                               const ImageInfo &info, uint8_t *out, size_t rowStride,
                               EntropyIndexes *indexes) {
  if (orientation.isUpright())
    return decoder.decodeRegion(bytes, format, region, out, rowStride, costs.decoded,
                                ImageDecoder::Beside::Free, indexes);
  const Region stored = orientation.stored(region, info.height, info.width);
  const size_t pitch = size_t(stored.width) * channelsOf(format);
  const Scratch::Mark mark = scratch.mark();
  uint8_t *pixels = scratch.allocate(int64_t(pitch * stored.height));
  if (!pixels)
    return Error{Code::Limit, "turning the image needs more memory than a sample may take"};
  Status status = decoder.decodeRegion(bytes, format, stored, pixels, pitch, costs.decoded,
                                       ImageDecoder::Beside::Kept, indexes);
  if (status)
    orientation.copy(pixels, region, channelsOf(format), out, rowStride);
  scratch.rewind(mark);
  return status;
}

Status SampleMedia::readClip(Encoded &encoded, const plan::DecodeT &decode,
                             const VideoDecoder::Target &target, int64_t count) {
  const pst_video_range range{buffers.block[decode.first], count, buffers.block[decode.step]};
  const auto mayHold = [this](uint64_t bytes) {
    return bytes <= uint64_t(INT64_MAX) && scratch.count(int64_t(bytes));
  };
  pst_video_costs spent{};
  const uint64_t before = encoded.bytesRead();
  const Scratch::Mark mark = scratch.mark();
  Status status = videos.decode(*encoded.file, *encoded.video, range, target, mayHold, spent);
  scratch.rewind(mark);
  const uint64_t late = encoded.bytesRead() - before;
  costs.fetchedBytes += late;
  VideoCounts counts{spent.packets, spent.restarts, encoded.isIndexFound, late, {}, 0, 0};
  counts.readings[size_t(encoded.reading)] = 1;
  costs.videos.add(counts);
  return status;
}

bool SampleMedia::decodeOne(Work &work, int64_t slot, const plan::DecodeT &decode,
                            Failure &failure) {
  const ImageInfo &info = headers[size_t(decode.media)];
  const size_t row = size_t(tree.media[size_t(decode.media)]->row);
  const Orientation orientation(decode.orient ? info.orientation : 1);
  const int64_t height = orientation.isTransposed() ? info.width : info.height;
  const int64_t width = orientation.isTransposed() ? info.height : info.width;
  int64_t top = 0, left = 0, bottom = height, right = width;
  if (decode.top >= 0) {
    top = buffers.block[decode.top];
    left = buffers.block[decode.left];
    bottom = buffers.block[decode.bottom];
    right = buffers.block[decode.right];
  }
  if (top < 0 || left < 0 || bottom > height || right > width || top > bottom || left > right) {
    failure = {row, "rows " + std::to_string(top) + " to " + std::to_string(bottom) +
                        " and columns " + std::to_string(left) + " to " + std::to_string(right) +
                        " are needed, but the image has " + std::to_string(height) + " rows and " +
                        std::to_string(width) + " columns"};
    return false;
  }
  if (!buffers.shape(decode.buffer, failure))
    return false;
  const PixelFormat format = decode.format == "gray" ? PixelFormat::Gray : PixelFormat::Rgb;
  const int64_t pixel = channelsOf(format);
  // Room for the whole image, of which only the region and a few columns more are
  // written (and only their pages are touched): a kernel that stores an
  // intermediate result as a whole reads pixels that no output needs, and may
  // find anything there. So an image of which nothing is needed has room too.
  constexpr int64_t line = 64;
  const int64_t stride = (width * pixel + line - 1) / line * line;
  pst_tensor &tensor = buffers[decode.buffer];
  const int64_t count = isVideo(decode) ? tensor.extent[0] : 1;
  int64_t bytes = stride * height;
  if (__builtin_mul_overflow(bytes, count, &bytes) || __builtin_add_overflow(bytes, line, &bytes)) {
    failure = {row, "decoding needs more bytes than there are numbers for"};
    return false;
  }

  uint8_t *storage = buffers.storageFor(work, slot, layout.buffers[size_t(decode.buffer)], bytes);
  if (!storage) {
    failure = {row,
               "decoding needs " + std::to_string(bytes) + " bytes, more than a sample may take"};
    return false;
  }
  // No row that libjpeg writes begins at a multiple of 16 bytes: to such rows it
  // writes past the cache, and the kernel would read them from memory.
  storage += 4;
  const Region region{uint32_t(top), uint32_t(left), uint32_t(bottom - top),
                      uint32_t(right - left)};
  if (top < bottom && left < right) {
    untouched[size_t(decode.media)] = false;
    Encoded &encoded = work.media(slot, size_t(decode.media));
    uint8_t *out = storage + top * stride + left * pixel;
    const VideoDecoder::Target clip{
        format, region, orientation, out, size_t(stride * height), size_t(stride)};
    Status status =
        isVideo(decode)
            ? readClip(encoded, decode, clip, count)
            : readPixels(encoded.bytes.span(), format, region, orientation, info, out,
                         size_t(stride), program.tables->checkpoints(tree.rows[row]->source));
    if (!status) {
      failure = {row, status.error().message};
      return false;
    }
  }
  int64_t *strides = tensor.stride;
  if (isVideo(decode))
    *strides++ = stride * height;
  strides[0] = stride;
  strides[1] = pixel;
  strides[2] = 1;
  tensor.data = storage;
  return true;
}

} // namespace penstock::runtime
