// SPDX-License-Identifier: Apache-2.0
//
// JPEG files of every kind, made with libjpeg itself, and its plain full decode.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <jpeglib.h>
#include <random>
#include <string>
#include <vector>

struct JpegRecipe {
  std::string name;
  int components = 3;
  /// Horizontal and vertical factor of each component.
  std::array<std::array<int, 2>, 4> factors{{{1, 1}, {1, 1}, {1, 1}, {1, 1}}};
  J_COLOR_SPACE stored = JCS_YCbCr;
  bool progressive = false;
  bool arithmetic = false;
  bool separateScans = false;
  /// The scans to write; empty: as the other members say.
  std::vector<jpeg_scan_info> script = {};
  int restartInterval = 0;
  int quality = 85;
  bool optimised = false;
  /// Components are given as they are stored: rawJpeg().
  bool raw = false;
  /// Marker codes of segments to write before the frame header, some bytes each.
  std::vector<int> markers = {};
};

/// Smooth gradients with noise: all coefficients occur.
inline std::vector<uint8_t> randomPixels(int width, int height, int channels,
                                         std::mt19937 &random) {
  std::vector<uint8_t> pixels(size_t(width) * height * channels);
  int stepX = random() % 7, stepY = random() % 5, noise = 1 + random() % 90;
  size_t at = 0;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c)
        pixels[at++] = uint8_t(x * stepX + y * stepY * (c + 1) + random() % noise);
  return pixels;
}

/// A file whose rows `write` writes, once compression has begun.
template <typename Write>
std::vector<uint8_t> encodeJpegBy(const JpegRecipe &recipe, int width, int height, Write write) {
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char *bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = JDIMENSION(width);
  info.image_height = JDIMENSION(height);
  info.input_components = recipe.components;
  info.in_color_space = recipe.components == 1   ? JCS_GRAYSCALE
                        : recipe.components == 3 ? JCS_RGB
                                                 : JCS_CMYK;
  jpeg_set_defaults(&info);
  jpeg_set_colorspace(&info, recipe.stored);
  jpeg_set_quality(&info, recipe.quality, TRUE);
  for (int c = 0; c < recipe.components; ++c) {
    info.comp_info[c].h_samp_factor = recipe.factors[size_t(c)][0];
    info.comp_info[c].v_samp_factor = recipe.factors[size_t(c)][1];
  }
  if (recipe.progressive)
    jpeg_simple_progression(&info);
  std::vector<jpeg_scan_info> scans = recipe.script;
  if (recipe.separateScans)
    for (int c = 0; c < recipe.components; ++c) {
      jpeg_scan_info scan = {};
      scan.comps_in_scan = 1;
      scan.component_index[0] = c;
      scan.Se = 63;
      scans.push_back(scan);
    }
  if (!scans.empty()) {
    info.scan_info = scans.data();
    info.num_scans = int(scans.size());
  }
  info.arith_code = recipe.arithmetic;
  info.raw_data_in = recipe.raw;
  info.restart_interval = unsigned(recipe.restartInterval);
  info.optimize_coding = recipe.optimised;
  jpeg_start_compress(&info, TRUE);
  for (int marker : recipe.markers) {
    const std::vector<JOCTET> body(size_t(marker) * 7, JOCTET(marker + 3));
    jpeg_write_marker(&info, marker, body.data(), unsigned(body.size()));
  }
  write(info);
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::vector<uint8_t> file(bytes, bytes + size);
  std::free(bytes);
  return file;
}

inline std::vector<uint8_t> encodeJpeg(const JpegRecipe &recipe, int width, int height,
                                       const std::vector<uint8_t> &pixels) {
  return encodeJpegBy(recipe, width, height, [&](jpeg_compress_struct &info) {
    while (info.next_scanline < info.image_height) {
      JSAMPROW row = const_cast<JSAMPROW>(pixels.data() + size_t(info.next_scanline) *
                                                              size_t(width * recipe.components));
      jpeg_write_scanlines(&info, &row, 1);
    }
  });
}

inline std::vector<uint8_t> randomJpeg(const JpegRecipe &recipe, int width, int height,
                                       std::mt19937 &random) {
  return encodeJpeg(recipe, width, height, randomPixels(width, height, recipe.components, random));
}

/// Each component drawn in its own size: factors need not divide the largest, which
/// libjpeg's encoder demands of what it makes smaller itself.
inline std::vector<uint8_t> rawJpeg(JpegRecipe recipe, int width, int height,
                                    std::mt19937 &random) {
  recipe.raw = true;
  return encodeJpegBy(recipe, width, height, [&](jpeg_compress_struct &info) {
    std::array<std::vector<uint8_t>, 4> planes;
    std::array<std::vector<JSAMPROW>, 4> rows;
    std::array<JSAMPARRAY, 4> all{};
    while (info.next_scanline < info.image_height) {
      for (size_t c = 0; c < size_t(info.num_components); ++c) {
        const jpeg_component_info &component = info.comp_info[c];
        const int across = int(component.width_in_blocks) * DCTSIZE,
                  down = component.v_samp_factor * DCTSIZE;
        planes[c] = randomPixels(across, down, 1, random);
        rows[c].clear();
        for (int y = 0; y < down; ++y)
          rows[c].push_back(planes[c].data() + y * across);
        all[c] = rows[c].data();
      }
      jpeg_write_raw_data(&info, all.data(), JDIMENSION(info.max_v_samp_factor * DCTSIZE));
    }
  });
}

/// Decodes the whole file with libjpeg, row by row, with its defaults.
inline std::vector<uint8_t> plainDecode(const std::vector<uint8_t> &file, J_COLOR_SPACE space) {
  jpeg_decompress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, file.data(), file.size());
  jpeg_read_header(&info, TRUE);
  info.out_color_space = space;
  jpeg_start_decompress(&info);
  size_t pitch = size_t(info.output_width) * info.output_components;
  std::vector<uint8_t> pixels(pitch * info.output_height);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = pixels.data() + info.output_scanline * pitch;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  return pixels;
}
