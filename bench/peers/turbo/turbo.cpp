// SPDX-License-Identifier: Apache-2.0
//
// libjpeg-turbo's plain full decode to RGB of a list of files held in memory:
// the yardstick of bench/imagenet_cpu. Reads the paths from the file in its
// argument; for each line of stdin decodes all of them once and prints
// "samples cpu_seconds wall_seconds", CPU time being this thread's.
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include <jpeglib.h>

namespace {

double now(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

void decode(const std::vector<unsigned char> &file, std::vector<unsigned char> &pixels) {
  jpeg_decompress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  errors.emit_message = [](j_common_ptr, int) {}; // of odd headers
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, file.data(), file.size());
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);
  const size_t stride = size_t(info.output_width) * 3;
  if (pixels.size() < stride * info.output_height)
    pixels.resize(stride * info.output_height);
  while (info.output_scanline < info.output_height) {
    // As many rows as the library gives at once, straight into the image.
    JSAMPROW rows[16];
    JDIMENSION count = 0;
    for (; count < 16 && info.output_scanline + count < info.output_height; ++count)
      rows[count] = pixels.data() + stride * (info.output_scanline + count);
    jpeg_read_scanlines(&info, rows, count);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  std::vector<std::vector<unsigned char>> files;
  std::ifstream list(argv[1]);
  for (std::string path; std::getline(list, path);) {
    std::ifstream file(path, std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  std::vector<unsigned char> pixels;
  for (std::string line; std::getline(std::cin, line);) {
    const double cpu = now(CLOCK_THREAD_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);
    for (const auto &file : files)
      decode(file, pixels);
    std::printf("%zu %.9f %.9f\n", files.size(), now(CLOCK_THREAD_CPUTIME_ID) - cpu,
                now(CLOCK_MONOTONIC) - wall);
    std::fflush(stdout);
  }
  return 0;
}
