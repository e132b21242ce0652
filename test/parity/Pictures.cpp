// SPDX-License-Identifier: Apache-2.0
#include "test/parity/Pictures.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <jpeglib.h>

using namespace penstock::parity;
namespace reference = penstock::reference;
namespace fs = std::filesystem;

static std::vector<fs::path> sortedEntries(const fs::path &folder) {
  std::vector<fs::path> entries;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder))
    entries.push_back(entry.path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

PictureTable::PictureTable(const std::string &root) {
  int64_t label = 0;
  for (const fs::path &folder : sortedEntries(root)) {
    for (const fs::path &file : sortedEntries(folder))
      files.push_back({file.string(), label});
    ++label;
  }
}

reference::Field PictureTable::field(int64_t row, const std::string &name) const {
  const File &file = files[static_cast<size_t>(row)];
  if (name == "label")
    return reference::intScalar(file.label);
  if (name == "name")
    return file.path;
  std::ifstream in(file.path, std::ios::binary);
  return std::make_shared<const std::vector<uint8_t>>(std::istreambuf_iterator<char>(in),
                                                      std::istreambuf_iterator<char>());
}

namespace {
/// libjpeg ends the process at an error unless it can jump.
struct Decoder {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  std::jmp_buf failed;

  explicit Decoder(const reference::Bytes &data) {
    info.err = jpeg_std_error(&errors);
    info.client_data = this;
    errors.error_exit = [](j_common_ptr common) {
      std::longjmp(static_cast<Decoder *>(common->client_data)->failed, 1);
    };
    jpeg_create_decompress(&info);
    jpeg_mem_src(&info, data->data(), data->size());
  }
  ~Decoder() { jpeg_destroy_decompress(&info); }
};
} // namespace

std::optional<Jpeg::Header> Jpeg::probe(const std::string &, const reference::Bytes &data) const {
  Decoder decoder(data);
  if (setjmp(decoder.failed))
    return std::nullopt;
  jpeg_read_header(&decoder.info, TRUE);
  return Header{decoder.info.image_height, decoder.info.image_width, 1};
}

std::optional<reference::Tensor> Jpeg::decode(const std::string &, const std::string &format,
                                              const reference::Bytes &data) const {
  Decoder decoder(data);
  std::optional<reference::Tensor> result;
  if (setjmp(decoder.failed))
    return std::nullopt;
  jpeg_read_header(&decoder.info, TRUE);
  const bool rgb = format == "rgb";
  decoder.info.out_color_space = rgb ? JCS_RGB : JCS_GRAYSCALE;
  jpeg_start_decompress(&decoder.info);
  const int64_t height = decoder.info.output_height, width = decoder.info.output_width;
  result = rgb ? reference::Tensor(reference::DType::u8, {"h", "w", "c"}, {height, width, 3})
               : reference::Tensor(reference::DType::u8, {"h", "w"}, {height, width});
  const size_t rowBytes = static_cast<size_t>(width) * (rgb ? 3 : 1);
  while (decoder.info.output_scanline < decoder.info.output_height) {
    JSAMPROW row = result->bytes.data() + decoder.info.output_scanline * rowBytes;
    jpeg_read_scanlines(&decoder.info, &row, 1);
  }
  jpeg_finish_decompress(&decoder.info);
  return result;
}

std::optional<reference::Bytes>
Jpeg::encode(const std::string &format, const reference::Tensor &value, int64_t quality) const {
  if (format != "jpeg")
    return std::nullopt;
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors); // ends the process at an error
  jpeg_create_compress(&info);
  unsigned char *bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  const int channels = value.extents.size() == 3 ? static_cast<int>(value.extents[2]) : 1;
  info.image_height = static_cast<JDIMENSION>(value.extents[0]);
  info.image_width = static_cast<JDIMENSION>(value.extents[1]);
  info.input_components = channels;
  info.in_color_space = channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, static_cast<int>(quality), TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = const_cast<uint8_t *>(value.bytes.data()) +
                   size_t(info.next_scanline) * info.image_width * static_cast<size_t>(channels);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  auto file = std::make_shared<const std::vector<uint8_t>>(bytes, bytes + size);
  std::free(bytes);
  return file;
}
