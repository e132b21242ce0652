// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/jpeg/JpegEncoder.h"

#include "runtime/abi/encoded.h"
#include "runtime/core/Memory.h"

#include <csetjmp>
#include <cstdio>
#include <jerror.h>
#include <jpeglib.h>
#include <string>

namespace penstock::runtime {

static_assert(PST_ENCODED_MAX_SIDE == JPEG_MAX_DIMENSION);

// State of the encoder; libjpeg's callbacks find it through client_data. All of it that
// survives a longjmp lives here, not on the stack.
struct JpegEncoder::Impl {
  jpeg_compress_struct cinfo{};
  jpeg_error_mgr errors{};
  jpeg_destination_mgr target{};
  std::jmp_buf escape;
  std::span<uint8_t> out;
  bool created = false;
  char reason[JMSG_LENGTH_MAX] = "";

  static Impl &of(j_common_ptr info) { return *static_cast<Impl *>(info->client_data); }
  static Impl &of(j_compress_ptr info) { return *static_cast<Impl *>(info->client_data); }

  Impl() {
    cinfo.err = jpeg_std_error(&errors);
    errors.error_exit = [](j_common_ptr info) {
      Impl &self = of(info);
      info->err->format_message(info, self.reason);
      std::longjmp(self.escape, 1);
    };
    errors.output_message = [](j_common_ptr) {}; // it has no warnings that matter
    cinfo.client_data = this;
    target.init_destination = [](j_compress_ptr info) {
      info->dest->next_output_byte = of(info).out.data();
      info->dest->free_in_buffer = of(info).out.size();
    };
    target.empty_output_buffer = [](j_compress_ptr info) -> boolean {
      ERREXIT(info, JERR_BUFFER_SIZE);
      return FALSE;
    };
    target.term_destination = [](j_compress_ptr) {};
  }
  ~Impl() {
    if (created)
      jpeg_destroy_compress(&cinfo);
  }

  /// False with a reason.
  bool write(const Picture &picture, int quality);
};

bool JpegEncoder::Impl::write(const Picture &picture, int quality) {
  if (setjmp(escape)) {
    if (created)
      jpeg_abort_compress(&cinfo);
    return false;
  }
  if (!created) {
    jpeg_create_compress(&cinfo);
    created = true;
  }
  cinfo.dest = &target;
  cinfo.image_width = picture.width;
  cinfo.image_height = picture.height;
  cinfo.input_components = int(channelsOf(picture.format));
  cinfo.in_color_space = picture.format == PixelFormat::Rgb ? JCS_RGB : JCS_GRAYSCALE;
  jpeg_set_defaults(&cinfo); // 4:2:0, baseline, standard Huffman tables
  cinfo.dct_method = JDCT_ISLOW;
  jpeg_set_quality(&cinfo, quality, TRUE);
  jpeg_start_compress(&cinfo, TRUE);
  while (cinfo.next_scanline < cinfo.image_height) {
    JSAMPROW row =
        const_cast<uint8_t *>(picture.rows + size_t(cinfo.next_scanline) * picture.rowStride);
    jpeg_write_scanlines(&cinfo, &row, 1);
  }
  jpeg_finish_compress(&cinfo);
  return true;
}

JpegEncoder::JpegEncoder() : impl(std::make_unique<Impl>()) {}
JpegEncoder::JpegEncoder(JpegEncoder &&) noexcept = default;
JpegEncoder &JpegEncoder::operator=(JpegEncoder &&) noexcept = default;
JpegEncoder::~JpegEncoder() = default;

uint64_t JpegEncoder::room(const Picture &picture) {
  const bool isColour = picture.format == PixelFormat::Rgb;
  const uint64_t unit = isColour ? PST_JPEG_COLOUR_UNIT : PST_JPEG_GRAY_UNIT;
  const uint64_t units = (picture.width + unit - 1) / unit * ((picture.height + unit - 1) / unit);
  return PST_JPEG_HEADER_ROOM +
         units * (isColour ? PST_JPEG_COLOUR_BLOCKS : 1) * PST_JPEG_BLOCK_ROOM;
}

Result<size_t> JpegEncoder::encode(const Picture &picture, int64_t quality,
                                   std::span<uint8_t> out) {
  if (Status fits = checkSides(picture); !fits)
    return fits.error();
  if (quality < 1 || quality > 100)
    return Error{Code::InvalidArgument,
                 "a JPEG quality is 1 to 100, and this is " + std::to_string(quality)};
  impl->out = out;
  if (!impl->write(picture, int(quality)))
    return impl->errors.msg_code == JERR_OUT_OF_MEMORY
               ? noMemory("to write a JPEG")
               : Error{Code::Limit, "the image cannot be encoded: " + std::string(impl->reason)};
  return out.size() - impl->target.free_in_buffer;
}

} // namespace penstock::runtime
