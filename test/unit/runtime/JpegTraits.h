// SPDX-License-Identifier: Apache-2.0
//
// Traits of a JPEG file, in libjpeg's words: a corpus counts them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <jpeglib.h>
#include <set>
#include <span>
#include <string>
#include <string_view>

struct JpegTraits {
  /// In words, such as "YCbCr", "restart markers", "EXIF".
  std::set<std::string> words;
  /// Factors of all components, such as "2x2,1x1,1x1".
  std::string sampling;
  /// The first quantisation table: each quality of an encoder has its own.
  std::string quantisation;
  /// Huffman codes, and neither progressive nor of several scans by nature.
  bool baseline = false;
};

inline std::string_view wordOf(J_COLOR_SPACE space) {
  switch (space) {
  case JCS_GRAYSCALE:
    return "gray";
  case JCS_RGB:
    return "RGB";
  case JCS_YCbCr:
    return "YCbCr";
  case JCS_CMYK:
    return "CMYK";
  case JCS_YCCK:
    return "YCCK";
  default:
    return "other colours";
  }
}

inline std::string wordOf(const jpeg_marker_struct &marker) {
  const std::string_view begin(reinterpret_cast<const char *>(marker.data), marker.data_length);
  if (marker.marker == JPEG_COM)
    return "comment";
  if (marker.marker == JPEG_APP0 + 1 && begin.starts_with("Exif"))
    return "EXIF";
  if (marker.marker == JPEG_APP0 + 1 && begin.starts_with("http"))
    return "XMP";
  if (marker.marker == JPEG_APP0 + 2 && begin.starts_with("ICC_PROFILE"))
    return begin.size() > 13 && begin[13] > 1 ? "ICC in pieces" : "ICC";
  if (marker.marker == JPEG_APP0 + 13)
    return "Photoshop";
  return marker.marker == JPEG_APP0 || marker.marker == JPEG_APP0 + 14 ? "JFIF or Adobe"
                                                                       : "other markers";
}

/// Returns the traits of a file whose headers are good.
inline JpegTraits traitsOf(std::span<const uint8_t> file) {
  jpeg_decompress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, file.data(), file.size());
  for (int marker = JPEG_APP0; marker <= JPEG_APP0 + 15; ++marker)
    jpeg_save_markers(&info, marker, 0xFFFF);
  jpeg_save_markers(&info, JPEG_COM, 0xFFFF);
  jpeg_read_header(&info, TRUE);

  JpegTraits traits;
  const auto add = [&](std::string_view word, bool is = true) {
    if (is)
      traits.words.emplace(word);
  };
  add(wordOf(info.jpeg_color_space));
  for (const jpeg_marker_struct *marker = info.marker_list; marker; marker = marker->next)
    add(wordOf(*marker));
  for (int c = 0; c < info.num_components; ++c)
    traits.sampling += (c ? "," : "") + std::to_string(info.comp_info[c].h_samp_factor) + "x" +
                       std::to_string(info.comp_info[c].v_samp_factor);
  const JQUANT_TBL &quantisation = *info.quant_tbl_ptrs[info.comp_info[0].quant_tbl_no];
  traits.quantisation.assign(reinterpret_cast<const char *>(quantisation.quantval),
                             sizeof quantisation.quantval);
  traits.baseline = !info.progressive_mode && !info.arith_code;
  add("8 bits", info.data_precision == 8);
  add("progressive", info.progressive_mode);
  add("arithmetic", info.arith_code);
  add("several scans", traits.baseline && info.comps_in_scan < info.num_components);
  add("restart markers", info.restart_interval > 0);
  add("restart marker after each MCU", info.restart_interval == 1);
  add("65,500 wide", info.image_width == 65500);
  add("65,500 high", info.image_height == 65500);
  add("1 x 1", info.image_width == 1 && info.image_height == 1);
  add("more than 16 million pixels", uint64_t(info.image_width) * info.image_height > 16'000'000);
  if (traits.baseline) {
    // Of the standard's code for luminance, the numbers of codes by length.
    constexpr uint8_t standard[17] = {0, 0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 125};
    const JHUFF_TBL &code = *info.ac_huff_tbl_ptrs[info.cur_comp_info[0]->ac_tbl_no];
    const bool same = std::equal(standard + 1, standard + 17, code.bits + 1);
    add(same ? "standard tables" : "optimised tables");
  }
  jpeg_destroy_decompress(&info);
  return traits;
}
