// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/flac/FlacDecoder.h"

#include "runtime/core/Memory.h"

#include <FLAC/stream_decoder.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace penstock::runtime {

/// Frames one behind the other, which libFLAC gets as a file of their own.
struct FlacDecoder::Run {
  FlacFile &file;
  MediaBytes &bytes;
  const SoundTarget *target; ///< may be null
  uint64_t at, end;          ///< in the file
  int64_t next, until;       ///< samples
  std::array<uint8_t, FlacFile::headSize> head;
  size_t headGiven = 0;
  Status status;
  int written = 0; ///< frames that came of one

  void fail(const std::string &what) {
    if (status)
      status =
          Error{Code::Corrupt, "damaged FLAC: " + what + " behind sample " + std::to_string(next)};
  }

  static FLAC__StreamDecoderReadStatus read(const FLAC__StreamDecoder *, FLAC__byte out[],
                                            size_t *count, void *user) {
    Run &run = *static_cast<Run *>(user);
    size_t size = std::min(*count, run.head.size() - run.headGiven);
    if (size) {
      std::copy_n(run.head.begin() + ptrdiff_t(run.headGiven), size, out);
      run.headGiven += size;
    } else {
      size = size_t(std::min<uint64_t>(*count, run.end - run.at));
      if (Status status = run.bytes.read(run.at, {out, size}); !status) {
        run.status = std::move(status);
        return FLAC__STREAM_DECODER_READ_STATUS_ABORT;
      }
      run.at += size;
    }
    *count = size;
    return size ? FLAC__STREAM_DECODER_READ_STATUS_CONTINUE
                : FLAC__STREAM_DECODER_READ_STATUS_END_OF_STREAM;
  }

  static FLAC__StreamDecoderWriteStatus write(const FLAC__StreamDecoder *, const FLAC__Frame *frame,
                                              const FLAC__int32 *const samples[], void *user) {
    Run &run = *static_cast<Run *>(user);
    const FLAC__FrameHeader &header = frame->header;
    if (++run.written > 1) // libFLAC has put silence where frames are missing, and says nothing
      run.fail("frames are missing");
    else if (header.channels != run.file.channels() || header.bits_per_sample != run.file.bits())
      run.fail("it has " + std::to_string(header.channels) + " channels of " +
               std::to_string(header.bits_per_sample) + " bits");
    else if (header.sample_rate != run.file.rate() && run.status)
      run.status =
          Error{Code::Unsupported, "FLAC whose rate changes is not read: it begins with " +
                                       std::to_string(run.file.rate()) + " Hz, and goes on with " +
                                       std::to_string(header.sample_rate) + " behind sample " +
                                       std::to_string(run.next)};
    else if (int64_t(header.number.sample_number) != run.next)
      run.fail("sample " + std::to_string(header.number.sample_number) + " comes");
    if (!run.status)
      return FLAC__STREAM_DECODER_WRITE_STATUS_ABORT;
    if (run.target) {
      const float scale = 1.0f / float(uint32_t(1) << (header.bits_per_sample - 1));
      run.target->put(run.next, header.blocksize, [&](int64_t i, int64_t channel) {
        return float(samples[channel][i]) * scale;
      });
    }
    run.next += header.blocksize;
    return FLAC__STREAM_DECODER_WRITE_STATUS_CONTINUE;
  }

  static void noteError(const FLAC__StreamDecoder *, FLAC__StreamDecoderErrorStatus status,
                        void *user) {
    static_cast<Run *>(user)->fail(
        status == FLAC__STREAM_DECODER_ERROR_STATUS_FRAME_CRC_MISMATCH ? "a checksum differs"
        : status == FLAC__STREAM_DECODER_ERROR_STATUS_LOST_SYNC        ? "no frame stands"
                                                                       : "a frame is wrong");
  }
};

struct FlacDecoder::Library {
  FLAC__StreamDecoder *const decoder = FLAC__stream_decoder_new();

  Library() = default;
  Library(const Library &) = delete;
  Library &operator=(const Library &) = delete;
  ~Library() {
    if (decoder)
      FLAC__stream_decoder_delete(decoder);
  }
};

FlacDecoder::FlacDecoder() = default;
FlacDecoder::~FlacDecoder() = default;

Status FlacDecoder::run(Run &run) {
  if (!library)
    library = std::make_unique<Library>();
  FLAC__StreamDecoder *const decoder = library->decoder;
  const bool isOpen =
      decoder && FLAC__stream_decoder_init_stream(decoder, Run::read, nullptr, nullptr, nullptr,
                                                  nullptr, Run::write, nullptr, Run::noteError,
                                                  &run) == FLAC__STREAM_DECODER_INIT_STATUS_OK;
  while (isOpen && run.status && run.next < run.until &&
         FLAC__stream_decoder_process_single(decoder) &&
         FLAC__stream_decoder_get_state(decoder) != FLAC__STREAM_DECODER_END_OF_STREAM)
    run.written = 0;
  const auto state = isOpen ? FLAC__stream_decoder_get_state(decoder)
                            : FLAC__STREAM_DECODER_MEMORY_ALLOCATION_ERROR;
  if (isOpen)
    (void)FLAC__stream_decoder_finish(decoder);
  if (!run.status || run.next >= run.until)
    return run.status;
  if (state == FLAC__STREAM_DECODER_MEMORY_ALLOCATION_ERROR)
    return noMemory("to decode FLAC");
  return Error{Code::Truncated, "truncated FLAC: it ends behind sample " +
                                    std::to_string(run.next) + ", and says that it has " +
                                    std::to_string(run.file.samples())};
}

Status FlacDecoder::decodeFrom(int64_t sample, int64_t end, FlacFile &file, MediaBytes &bytes,
                               const SoundTarget *target) {
  auto frame = file.find(sample);
  if (!frame)
    return frame.error();
  auto behind = file.endOf(end);
  if (!behind)
    return behind.error();
  auto decode = [&](const FlacFrame &from, uint64_t to) {
    Run all{file, bytes, target, from.offset, to, from.first, end, file.head(), 0, {}};
    return run(all);
  };
  Status status = decode(*frame, *behind);
  // Decodes from the start: the frame headers may have been found by chance.
  if (!status && (frame->offset != file.start().offset || *behind != file.size()))
    status = decode(file.start(), file.size());
  return status;
}

Status FlacDecoder::decode(FlacFile &file, MediaBytes &bytes, const SoundTarget &target) {
  if (Status status = decodeFrom(target.low, target.high, file, bytes, &target); !status)
    return status;
  return target.high < file.samples() ? checkEnd(file, bytes) : file.checkAlone();
}

Status FlacDecoder::checkEnd(FlacFile &file, MediaBytes &bytes) {
  if (file.samples() == 0)
    return {};
  Status status = decodeFrom(file.samples() - 1, file.samples(), file, bytes, nullptr);
  if (!status && status.error().code == Code::Corrupt)
    return Error{Code::Truncated, "truncated FLAC: it says that it has " +
                                      std::to_string(file.samples()) +
                                      " samples, and does not end in the frame of the last one"};
  return status ? file.checkAlone() : status;
}

} // namespace penstock::runtime
