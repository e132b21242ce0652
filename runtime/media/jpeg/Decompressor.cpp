// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/jpeg/Decompressor.h"

#include "runtime/core/Memory.h"

#include <jerror.h>
#include <string>

namespace penstock::runtime {

namespace {

/// Warnings that mean damage; the others are noise of odd encoders.
bool meansDamage(int code) {
  switch (code) {
  case JWRN_ARITH_BAD_CODE:
  case JWRN_BOGUS_PROGRESSION:
  case JWRN_HIT_MARKER:
  case JWRN_HUFF_BAD_CODE:
  case JWRN_JPEG_EOF:
  case JWRN_MUST_RESYNC:
    return true;
  default:
    return false;
  }
}

Code codeOf(int code, bool atEnd) {
  switch (code) {
  case JERR_OUT_OF_MEMORY:
  case JERR_IMAGE_TOO_BIG:
  case JERR_WIDTH_OVERFLOW:
    return Code::Limit;
  case JERR_BAD_PRECISION:
  case JERR_CCIR601_NOTIMPL:
  case JERR_FRACT_SAMPLE_NOTIMPL:
  case JERR_CONVERSION_NOTIMPL:
  case JERR_NOT_COMPILED:
  case JERR_NOTIMPL:
  case JERR_ARITH_NOTIMPL:
  case JERR_SOF_UNSUPPORTED:
    return Code::Unsupported;
  default:
    return atEnd ? Code::Truncated : Code::Corrupt;
  }
}

} // namespace

// libjpeg's callbacks find this through client_data (see JpegMemory).
Decompressor &Decompressor::of(j_common_ptr info) {
  return *static_cast<Decompressor *>(static_cast<JpegMemory *>(info->client_data));
}
Decompressor &Decompressor::of(j_decompress_ptr info) {
  return of(reinterpret_cast<j_common_ptr>(info));
}

Decompressor::Decompressor(const ImageLimits &limits) : limits(limits) {
  installErrors();
  installSource();
  installProgress();
  if (setjmp(escape))
    return; // no memory: `created` stays false
  cinfo.client_data = static_cast<JpegMemory *>(this);
  jpeg_create_decompress(&cinfo);
  created = true;
  install(cinfo);
  setLimit(limits.maxWorkBytes);
  cinfo.src = &source;
  cinfo.progress = &progress;
}

Decompressor::~Decompressor() {
  if (created)
    jpeg_destroy_decompress(&cinfo);
}

void Decompressor::installErrors() {
  cinfo.err = jpeg_std_error(&errors);
  errors.error_exit = [](j_common_ptr info) {
    Decompressor &self = of(info);
    self.reasonCode = info->err->msg_code;
    info->err->format_message(info, self.reason);
    std::longjmp(self.escape, 1);
  };
  errors.emit_message = [](j_common_ptr info, int level) {
    // The first sign of damage ends the work: a few bytes that claim a huge
    // image do not get to fill it.
    if (level < 0 && meansDamage(info->err->msg_code))
      info->err->error_exit(info);
  };
}

void Decompressor::installSource() {
  source.init_source = [](j_decompress_ptr) {};
  source.term_source = [](j_decompress_ptr) {};
  source.resync_to_restart = jpeg_resync_to_restart;
  source.fill_input_buffer = [](j_decompress_ptr info) -> boolean {
    // The bit reader may ask ahead of its need; it warns by itself when
    // the data are really short.
    static const JOCTET endOfImage[2] = {0xFF, JPEG_EOI};
    of(info).pastEnd = true;
    info->src->next_input_byte = endOfImage;
    info->src->bytes_in_buffer = 2;
    return TRUE;
  };
  source.skip_input_data = [](j_decompress_ptr info, long count) {
    if (count <= 0)
      return;
    if (size_t(count) > info->src->bytes_in_buffer) {
      info->src->fill_input_buffer(info);
      return;
    }
    info->src->next_input_byte += count;
    info->src->bytes_in_buffer -= size_t(count);
  };
}

void Decompressor::installProgress() {
  progress.progress_monitor = [](j_common_ptr info) {
    Decompressor &self = of(info);
    auto scans = reinterpret_cast<j_decompress_ptr>(info)->input_scan_number;
    if (scans <= 0 || uint32_t(scans) <= self.limits.maxScans)
      return;
    self.tooManyScans = true;
    std::longjmp(self.escape, 1);
  };
}

void Decompressor::readHeader(std::span<const uint8_t> bytes) {
  pastEnd = tooManyScans = false;
  reason[0] = 0;
  source.next_input_byte = bytes.data();
  source.bytes_in_buffer = bytes.size();
  jpeg_read_header(&cinfo, TRUE);
}

void Decompressor::failTruncated() {
  pastEnd = true;
  ERREXIT(&cinfo, JWRN_JPEG_EOF);
}

Error Decompressor::failure(const JpegInfo &info, size_t fileSize) const {
  if (tooManyScans)
    return {Code::Limit, "JPEG with more than " + std::to_string(limits.maxScans) + " scans"};
  std::string_view text = reason;
  constexpr std::string_view prefix = "Corrupt JPEG data: ";
  if (text.starts_with(prefix))
    text.remove_prefix(prefix.size());
  std::string lower(text);
  if (lower.size() > 1 && lower[1] >= 'a' && lower[1] <= 'z')
    lower[0] = char(lower[0] | 0x20);
  if (reasonCode == JERR_OUT_OF_MEMORY && isExhausted())
    return noMemory("to decode a JPEG of " + std::to_string(info.width) + " x " +
                    std::to_string(info.height) + " pixels");
  Code code = codeOf(reasonCode, pastEnd);
  if (code == Code::Limit)
    return {code, "JPEG of " + std::to_string(info.width) + " x " + std::to_string(info.height) +
                      " pixels needs more than " + std::to_string(limits.maxWorkBytes) +
                      " bytes of working memory"};
  if (code == Code::Unsupported)
    return {code, "this JPEG is not read: " + lower};
  if (code == Code::Truncated)
    return {code,
            "truncated JPEG: it ends after " + std::to_string(fileSize) + " bytes (" + lower + ")"};
  return {code, "damaged JPEG: " + lower};
}

} // namespace penstock::runtime
