// SPDX-License-Identifier: Apache-2.0
//
// One thread decodes files that lie in memory, by turns with libjpeg-turbo's
// plain full decode and with our decoder: the two sides of bench/jpeg.
#include "runtime/core/RealFileSystem.h"
#include "runtime/media/jpeg/Checkpoints.h"
#include "runtime/media/jpeg/EntropyKernels.h"
#include "runtime/media/jpeg/JpegDecoder.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <jpeglib.h>
#include <memory>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

using namespace penstock::runtime;

namespace {

using Bytes = std::vector<uint8_t>;

double cpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

/// As torchvision draws it: scale 0.08 ... 1, ratio 3/4 ... 4/3.
Region randomResizedCrop(uint32_t width, uint32_t height, std::mt19937 &random) {
  std::uniform_real_distribution<double> unit(0, 1);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = double(width) * height * (0.08 + 0.92 * unit(random));
    const double ratio =
        std::exp(std::log(0.75) + unit(random) * (std::log(4.0 / 3) - std::log(0.75)));
    const auto w = uint32_t(std::lround(std::sqrt(area * ratio)));
    const auto h = uint32_t(std::lround(std::sqrt(area / ratio)));
    if (w == 0 || h == 0 || w > width || h > height)
      continue;
    return {uint32_t(random() % (height - h + 1)), uint32_t(random() % (width - w + 1)), h, w};
  }
  const uint32_t side = std::min(width, height);
  return {(height - side) / 2, (width - side) / 2, side, side};
}

struct Turbo {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  Bytes pixels;

  Turbo() {
    info.err = jpeg_std_error(&errors);
    errors.emit_message = [](j_common_ptr, int) {}; // of odd headers
    jpeg_create_decompress(&info);
  }
  ~Turbo() { jpeg_destroy_decompress(&info); }

  void decode(const Bytes &file) {
    jpeg_mem_src(&info, file.data(), file.size());
    jpeg_read_header(&info, TRUE);
    info.out_color_space = JCS_RGB;
    jpeg_start_decompress(&info);
    const size_t pitch = size_t(info.output_width) * 3;
    pixels.resize(std::max(pixels.size(), pitch * info.output_height));
    while (info.output_scanline < info.output_height) {
      JSAMPROW rows[4];
      for (JDIMENSION i = 0; i < 4; ++i)
        rows[i] = pixels.data() + (info.output_scanline + i) * pitch;
      jpeg_read_scanlines(&info, rows,
                          std::min<JDIMENSION>(4, info.output_height - info.output_scanline));
    }
    jpeg_finish_decompress(&info);
  }
};

struct File {
  Bytes bytes;
  uint32_t width, height;
};

[[noreturn]] void fail(const std::string &why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

enum class Job { Full, Crop, IndexedCrop, LargeCrop, IndexedLargeCrop };

struct Probe {
  Job job;
  std::vector<File> files;
  Turbo turbo;
  JpegDecoder own;
  Bytes pixels;
  DecodeStats stats;
  std::mt19937 random{1};
  std::unique_ptr<Checkpoints> checkpoints; // of the indexed jobs

  Probe(Job job, const JpegDecoder::Options &options) : job(job), own(options) {}

  bool indexed() const { return job == Job::IndexedCrop || job == Job::IndexedLargeCrop; }
  bool large() const { return job == Job::LargeCrop || job == Job::IndexedLargeCrop; }

  void read(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    File file{Bytes(std::istreambuf_iterator<char>(in), {}), 0, 0};
    const auto info = probeJpeg(file.bytes);
    if (!info)
      fail(path + ": " + info.error().message);
    file.width = info->width;
    file.height = info->height;
    files.push_back(std::move(file));
  }

  /// Writes the sidecar that `penstock index` writes, and maps it.
  void writeSidecar(const std::string &folder) {
    auto system = RealFileSystem::create({{folder, true}});
    if (!system)
      fail(system.error().message);
    CheckpointMaker maker;
    std::vector<CheckpointRecord> records;
    for (const File &file : files)
      records.push_back(maker.make(file.bytes, 0));
    std::vector<CheckpointPart> parts;
    for (const CheckpointRecord &record : records)
      parts.push_back({record.entry, record.points});
    const std::string path = folder + "/" + std::to_string(getpid()) + ".penstock-index";
    if (auto size = writeCheckpoints(**system, path, parts); !size)
      fail(size.error().message);
    CheckpointBuilder::Files found;
    std::vector<std::string> warnings;
    openCheckpoints(**system, path, found, warnings);
    checkpoints = std::make_unique<Checkpoints>(**system, std::move(found), "", warnings);
    std::remove(path.c_str());
  }

  Region draw(const File &file) {
    if (job == Job::Full)
      return {0, 0, file.height, file.width};
    if (!large())
      return randomResizedCrop(file.width, file.height, random);
    return {uint32_t(random() % (file.height - 511)), uint32_t(random() % (file.width - 511)), 512,
            512};
  }

  /// To its place in room for the whole image, as pipelines do.
  void decodeOwn(const File &file, const Region &region) {
    const size_t stride = size_t(file.width) * 3;
    pixels.resize(std::max(pixels.size(), stride * file.height));
    uint8_t *out = pixels.data() + region.top * stride + region.left * 3;
    const Status status = own.decodeRegion(file.bytes, PixelFormat::Rgb, region, out, stride, stats,
                                           JpegDecoder::Beside::Free, checkpoints.get());
    if (!status)
      fail(status.error().message);
  }

  void compare(const File &file) {
    const Region region = draw(file);
    turbo.decode(file.bytes);
    decodeOwn(file, region);
    for (uint32_t y = 0; y < region.height; ++y)
      if (const size_t at = (size_t(region.top + y) * file.width + region.left) * 3;
          std::memcmp(pixels.data() + at, turbo.pixels.data() + at, size_t(region.width) * 3) != 0)
        fail("pixels differ");
  }

  void turn(int count, size_t &next) {
    std::vector<const File *> chosen;
    std::vector<Region> regions;
    for (int i = 0; i < count; ++i) {
      chosen.push_back(&files[next++ % files.size()]);
      regions.push_back(draw(*chosen.back()));
    }
    const double start = cpuSeconds();
    if (!large()) // their peer is another process
      for (const File *file : chosen)
        turbo.decode(file->bytes);
    const double middle = cpuSeconds();
    for (size_t i = 0; i < chosen.size(); ++i)
      decodeOwn(*chosen[i], regions[i]);
    std::printf("%.9f %.9f\n", middle - start, cpuSeconds() - middle);
    std::fflush(stdout);
  }
};

} // namespace

// jpeg_probe JOB LEVEL FILE-WITH-PATHS
//
// First compares all files with libjpeg-turbo's full decode, then prints how many
// there are and how many our entropy decoder took. For each line of stdin, a
// number of files, decodes as many and prints the CPU seconds of libjpeg-turbo
// (0 for large crops) and ours.
int main(int argc, char **argv) {
  if (argc != 4)
    fail("wrong arguments");
  const std::vector<std::string> jobs = {"full", "rrc", "indexed_rrc", "large_crop",
                                         "indexed_large_crop"};
  const auto job = std::find(jobs.begin(), jobs.end(), argv[1]);
  JpegDecoder::Options options;
  for (const EntropyKernels *kernels : entropyKernels())
    if (std::string(argv[2]) == kernels->name)
      options.kernels = kernels;
  options.plain = std::string(argv[2]) == "plain";
  if (job == jobs.end() || (!options.kernels && !options.plain && std::string(argv[2]) != "best"))
    fail("no such job, or no such level on this CPU");
  Probe probe(Job(job - jobs.begin()), options);
  std::ifstream list(argv[3]);
  for (std::string path; std::getline(list, path);)
    probe.read(path);
  if (probe.indexed())
    probe.writeSidecar(std::filesystem::temp_directory_path());
  for (const File &file : probe.files)
    probe.compare(file);
  std::printf("%zu %llu\n", probe.files.size(),
              static_cast<unsigned long long>(probe.stats.entropyPaths[size_t(EntropyPath::Own)]));
  std::fflush(stdout);
  size_t next = 0;
  for (int count; std::cin >> count;)
    probe.turn(count, next);
}
