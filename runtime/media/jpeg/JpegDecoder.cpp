// SPDX-License-Identifier: Apache-2.0
//
// Why regions equal a full decode:
//  * By the own entropy decoder: libjpeg gets a header of the size of the crop, and
//    the crop's MCUs (cropFor says what it needs), from one scan or from all.
//  * Others, with libjpeg-turbo's cropping: fancy upsampling mixes neighbouring
//    chroma samples, and at the edge of what is decoded it mixes others than in
//    the full image. So the crop is two pixels (one chroma sample) wider on
//    each side, and wide enough for three samples of each component: where it
//    leaves one of some component, libjpeg chooses the upsampling of all again,
//    and it mixes none of two. Skipping is done from row 0 to a multiple of the
//    iMCU height only. There libjpeg still decodes the iMCU row above where
//    upsampling looks up into it. Skipping from or to the middle of one has had
//    bugs.
//  * Where libjpeg smooths blocks (progressive files with missing scans), and
//    so looks further, nothing is cropped or skipped.
#include "runtime/media/jpeg/JpegDecoder.h"

#include "runtime/core/Memory.h"
#include "runtime/media/jpeg/CheckImage.h"
#include "runtime/media/jpeg/Decompressor.h"
#include "runtime/media/jpeg/JpegPlanes.h"
#include "runtime/media/jpeg/StoredScans.h"

#include <algorithm>
#include <cstring>
#include <jerror.h>
#include <string>

namespace penstock::runtime {

namespace {

uint8_t scaled(uint32_t a, uint32_t b) {
  uint32_t product = a * b + 128;
  return uint8_t(((product >> 8) + product) >> 8);
}

/// Pillow's conversion of inverted CMYK.
void cmykToRgb(const uint8_t *in, uint8_t *out, uint32_t width) {
  for (uint32_t x = 0; x < width; ++x, in += 4, out += 3) {
    uint8_t white = in[3];
    for (int c = 0; c < 3; ++c)
      out[c] = uint8_t(white - scaled(255u - in[c], white));
  }
}

void cmykToGray(const uint8_t *in, uint8_t *out, uint32_t width) {
  for (uint32_t x = 0; x < width; ++x, in += 4) {
    uint8_t rgb[3];
    cmykToRgb(in, rgb, 1);
    out[x] = uint8_t((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 0x8000u) >> 16);
  }
}

struct Request {
  std::span<const uint8_t> bytes;
  const JpegInfo *info;
  PixelFormat format;
  Region region;
  uint8_t *out;
  size_t rowStride;
  JpegDecoder::Beside beside;
  EntropyIndexes *indexes;
  bool endSeen;                   // there is an end-of-image marker
  bool toTheEnd;                  // decode all rows, whatever the region
  const Planes *planes = nullptr; // in place of pixels
};

constexpr int rowsPerCall = 4;

} // namespace

struct JpegDecoder::Impl : Decompressor {
  Options options;
  const EntropyKernels *kernels; // null: libjpeg reads everything
  HuffmanCache tables;
  EntropyScan scan;
  JpegSegments segments;
  ScanLayout layout;
  StoredScans stored;
  QuantisationTables quantisations;
  EntropyIndex index;
  std::vector<uint8_t> header; // of a crop
  DecodeStats *stats = nullptr;
  std::vector<uint8_t> scratch;

  Impl(const Options &options, const EntropyKernels *kernels)
      : Decompressor(options.limits), options(options), kernels(kernels) {}

  Status decode(const Request &request);
  EntropyPath runOwn(const Request &request);
  EntropyPath runSequential(const Request &request);
  EntropyPath runStored(const Request &request);
  bool readCrop(const Request &request, const McuCrop &crop);
  void deliverCrop(const Request &request, const McuCrop &crop);
  bool readRest(bool toTheEnd);
  const EntropyIndex *indexFor(const Request &request, const McuCrop &crop);
  void run(const Request &request);
  void runPixels(const Request &request);
  void start(const Request &request);
  bool smoothsBlocks() const;
  void cropColumns(const Region &region, JDIMENSION &first);
  void skipRows(uint32_t top);
  void discardTo(uint32_t row);
  void readRegion(const Request &request, uint32_t firstColumn);
  void readPlanes(const Request &request, uint32_t left, uint32_t top);
  void deliver(const Request &request, const uint8_t *row, uint8_t *out) const;
};

Status JpegDecoder::Impl::decode(const Request &request) {
  if (!created)
    return noMemory("for a JPEG decoder");
  scratch.resize(request.planes ? planesScratch(request.info->width)
                                : (size_t(request.info->width) * 4 + 64) * rowsPerCall);
  const DecodeStats before = *stats;
  const EntropyPath path = options.plain ? EntropyPath::OddHeader : runOwn(request);
  stored.trim(); // before libjpeg takes its own
  if (path != EntropyPath::Own)
    *stats = before;
  ++stats->entropyPaths[size_t(path)];
  if (path == EntropyPath::Own)
    return {};
  if (setjmp(escape)) {
    jpeg_abort_decompress(&cinfo);
    return failure(*request.info, request.bytes.size());
  }
  run(request);
  return {};
}

// Any error or warning on the way leaves the file to libjpeg, which then reports the fault.
EntropyPath JpegDecoder::Impl::runOwn(const Request &request) {
  if (!kernels)
    return EntropyPath::OtherLibrary;
  const EntropyPath path = readScanLayout(request.bytes, *request.info, segments, layout);
  if (path == EntropyPath::Own)
    return runSequential(request);
  if (path == EntropyPath::OddHeader || request.info->arithmetic)
    return path;
  return request.endSeen ? runStored(request) : EntropyPath::NoEnd;
}

EntropyPath JpegDecoder::Impl::runSequential(const Request &request) {
  for (size_t c = 0; c < layout.componentCount; ++c)
    if (!keepQuantisation(segments, c, quantisations))
      return EntropyPath::OddHeader;
  const McuCrop crop = cropFor(layout, request.region);
  writeHeader(segments, quantisations, crop.width, crop.height, header);
  const EntropyPath odd = request.endSeen ? EntropyPath::OddData : EntropyPath::NoEnd;
  if (setjmp(escape)) {
    jpeg_abort_decompress(&cinfo);
    return odd;
  }
  return readCrop(request, crop) && readRest(request.toTheEnd) ? EntropyPath::Own : odd;
}

EntropyPath JpegDecoder::Impl::runStored(const Request &request) {
  const EntropyPath path =
      stored.read(request.bytes, request.region, options.limits, segments, tables, *kernels, scan);
  if (path != EntropyPath::Own)
    return path;
  layout = stored.frame();
  writeHeader(segments, stored.quantisation(), stored.crop().width, stored.crop().height, header);
  if (setjmp(escape)) {
    jpeg_abort_decompress(&cinfo);
    return EntropyPath::OddData;
  }
  readHeader(header);
  start(request);
  const bool fed = feed(cinfo, stored.source(), layout, stored.crop());
  if (fed)
    deliverCrop(request, stored.crop());
  jpeg_abort_decompress(&cinfo);
  return fed ? EntropyPath::Own : EntropyPath::OddData;
}

bool JpegDecoder::Impl::readCrop(const Request &request, const McuCrop &crop) {
  readHeader(header);
  start(request);
  EntropyScan::Options wanted{.skipSegments = !request.toTheEnd, .index = indexFor(request, crop)};
  for (int c = 0; c < cinfo.num_components; ++c)
    wanted.components[size_t(c)] = cinfo.comp_info[c].component_needed;
  scan.begin(request.bytes, layout, tables, *kernels, wanted);
  const bool fed = feed(cinfo, scan, layout, crop);
  if (fed)
    deliverCrop(request, crop);
  jpeg_abort_decompress(&cinfo);
  return fed;
}

/// The region of a crop that libjpeg is fed with.
void JpegDecoder::Impl::deliverCrop(const Request &request, const McuCrop &crop) {
  const uint32_t left = crop.firstColumn * layout.mcuWidth();
  if (request.planes) {
    readPlanes(request, left, crop.firstRow * layout.mcuHeight());
  } else {
    discardTo(crop.top);
    readRegion(request, left);
  }
  ++stats->images;
}

const EntropyIndex *JpegDecoder::Impl::indexFor(const Request &request, const McuCrop &crop) {
  const bool isAll = crop.width == layout.width && crop.height == layout.height;
  if (!request.indexes || request.toTheEnd || isAll)
    return nullptr;
  const bool found = request.indexes->find(request.bytes, index) && index.step > 0 &&
                     index.mcusPerRow == layout.mcusPerRow() &&
                     index.points.size() == uint64_t(index.pointsPerRow()) * layout.mcuRows();
  ++(found ? stats->indexUses : stats->indexMisses);
  return found ? &index : nullptr;
}

/// libjpeg would have read whole rows of MCUs, and seen their damage.
bool JpegDecoder::Impl::readRest(bool toTheEnd) {
  const uint64_t pitch = layout.mcusPerRow();
  if (toTheEnd) {
    if (!scan.seek(layout.mcuCount()))
      return false;
  } else if (!layout.restartInterval && !scan.indexed()) {
    const uint32_t rowsAtOnce = layout.interleaved() ? 1 : layout.maxVertical;
    const uint64_t row = (scan.nextMcu() + pitch - 1) / pitch;
    const uint64_t end = (row + rowsAtOnce - 1) / rowsAtOnce * rowsAtOnce;
    if (!scan.seek(std::min(end * pitch, layout.mcuCount())))
      return false;
  }
  return scan.complete();
}

void JpegDecoder::Impl::run(const Request &request) {
  const JpegInfo &info = *request.info;
  readHeader(request.bytes);
  if (cinfo.image_width != info.width || cinfo.image_height != info.height ||
      cinfo.num_components != info.components)
    ERREXIT(&cinfo, JERR_SOF_DUPLICATE); // the two parsers disagree
  // With several scans nobody can tell how many are missing at the end, and an arithmetic decoder
  // takes what is missing for zeros, without a warning: encoders leave zeros out at the end.
  // Pillow refuses such files too.
  if (!request.endSeen && (cinfo.arith_code || hasSeveralScans(cinfo)))
    failTruncated();
  start(request);
  if (request.planes)
    readPlanes(request, 0, 0);
  else
    runPixels(request);
  ++stats->images;
  jpeg_abort_decompress(&cinfo);
}

void JpegDecoder::Impl::runPixels(const Request &request) {
  JDIMENSION firstColumn = 0;
  if (!smoothsBlocks()) {
    cropColumns(request.region, firstColumn);
    skipRows(request.region.top);
  }
  discardTo(request.region.top);
  readRegion(request, firstColumn);
  if (request.toTheEnd)
    discardTo(cinfo.output_height);
}

void JpegDecoder::Impl::start(const Request &request) {
  if (request.planes && cinfo.jpeg_color_space != JCS_YCbCr)
    ERREXIT(&cinfo, JERR_SOF_DUPLICATE); // as in run()
  cinfo.raw_data_out = request.planes != nullptr;
  if (cinfo.num_components == 4)
    cinfo.out_color_space = JCS_CMYK;
  else
    cinfo.out_color_space = request.format == PixelFormat::Rgb ? JCS_RGB : JCS_GRAYSCALE;
  cinfo.dct_method = JDCT_ISLOW;
  cinfo.do_fancy_upsampling = TRUE;
  jpeg_start_decompress(&cinfo);
  countBlocks(cinfo, stats->blocksTransformed);
}

bool JpegDecoder::Impl::smoothsBlocks() const {
  if (!cinfo.progressive_mode || !cinfo.coef_bits)
    return false;
  for (int c = 0; c < cinfo.num_components; ++c)
    for (int k = 0; k < 10; ++k) // libjpeg's SAVED_COEFS
      if (cinfo.coef_bits[c][k] != 0)
        return true;
  return false;
}

void JpegDecoder::Impl::cropColumns(const Region &region, JDIMENSION &first) {
  constexpr JDIMENSION margin = 2;
  const JDIMENSION least = leastWidth(cinfo.output_width, uint32_t(cinfo.max_h_samp_factor));
  JDIMENSION begin = region.left > margin ? region.left - margin : 0;
  begin = std::min(begin, cinfo.output_width - least);
  const JDIMENSION end =
      std::min(std::max(region.left + region.width + margin, begin + least), cinfo.output_width);
  JDIMENSION width = end - begin;
  jpeg_crop_scanline(&cinfo, &begin, &width);
  if (width < end - begin)
    ERREXIT(&cinfo, JERR_BAD_CROP_SPEC);
  cropTo(begin, begin + width);
  first = begin;
}

void JpegDecoder::Impl::skipRows(uint32_t top) {
  uint32_t height = uint32_t(DCTSIZE) * uint32_t(cinfo.max_v_samp_factor);
  if (uint32_t rows = top / height * height)
    jpeg_skip_scanlines(&cinfo, rows);
}

void JpegDecoder::Impl::discardTo(uint32_t row) {
  stats->rowsDecoded += TurboSeam::discardTo(cinfo, row, scratch.data());
}

void JpegDecoder::Impl::deliver(const Request &request, const uint8_t *row, uint8_t *out) const {
  uint32_t width = request.region.width;
  if (cinfo.out_color_components != 4)
    std::memcpy(out, row, size_t(width) * channelsOf(request.format));
  else if (request.format == PixelFormat::Rgb)
    cmykToRgb(row, out, width);
  else
    cmykToGray(row, out, width);
}

void JpegDecoder::Impl::readRegion(const Request &request, uint32_t firstColumn) {
  const Region &region = request.region;
  size_t channels = size_t(cinfo.out_color_components);
  size_t pitch = size_t(cinfo.output_width) * channels;
  bool direct =
      channels != 4 && (cinfo.output_width == region.width || request.beside == Beside::Free);
  size_t offset = (region.left - firstColumn) * channels;
  JSAMPROW rows[rowsPerCall];
  uint32_t done = 0;
  while (done < region.height) {
    uint32_t wanted = std::min<uint32_t>(rowsPerCall, region.height - done);
    for (uint32_t i = 0; i < wanted; ++i)
      rows[i] = direct ? request.out + (done + i) * request.rowStride - offset
                       : scratch.data() + i * pitch;
    uint32_t got = jpeg_read_scanlines(&cinfo, rows, wanted);
    if (got == 0)
      ERREXIT(&cinfo, JERR_BAD_STATE);
    if (!direct)
      for (uint32_t i = 0; i < got; ++i)
        deliver(request, rows[i] + offset, request.out + (done + i) * request.rowStride);
    done += got;
    stats->rowsDecoded += got;
  }
}

void JpegDecoder::Impl::readPlanes(const Request &request, uint32_t left, uint32_t top) {
  stats->rowsDecoded += runtime::readPlanes(cinfo, *request.planes, left, top, request.toTheEnd,
                                            scratch.data(), request.out);
}

namespace {

/// The best loops for this CPU, if they fit.
const EntropyKernels *bestKernels() {
  static const bool fits = JpegDecoder::entropyFits(*entropyKernels().front());
  return fits ? entropyKernels().front() : nullptr;
}

} // namespace

const char *nameOf(EntropyPath path) {
  static constexpr const char *names[entropyPathCount] = {
      "own", "other_coding", "several_scans", "odd_header", "no_end", "odd_data", "other_library"};
  return names[size_t(path)];
}

JpegDecoder::JpegDecoder(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}

JpegDecoder::JpegDecoder(const Options &options) {
  const EntropyKernels *kernels = options.kernels;
  if (!kernels)
    kernels = bestKernels();
  else if (!entropyFits(*kernels))
    kernels = nullptr;
  impl = std::make_unique<Impl>(options, kernels);
}

bool JpegDecoder::entropyFits(const EntropyKernels &kernels) {
  JpegDecoder own(std::make_unique<Impl>(Options(), &kernels));
  Options allByLibjpeg;
  allByLibjpeg.plain = true;
  JpegDecoder plain(std::make_unique<Impl>(allByLibjpeg, nullptr));
  // The right part alone, too: then blocks are passed over.
  for (const Region &region : {Region{0, 0, 16, 16}, Region{9, 10, 7, 6}}) {
    std::array<uint8_t, 16 * 16 * 3> found{}, expected{};
    DecodeStats stats;
    const size_t stride = region.width * 3;
    if (!own.decodeRegion(checkImage, PixelFormat::Rgb, region, found.data(), stride, stats) ||
        !plain.decodeRegion(checkImage, PixelFormat::Rgb, region, expected.data(), stride, stats) ||
        stats.entropyPaths[size_t(EntropyPath::Own)] != 1 || found != expected)
      return false;
  }
  return true;
}

JpegDecoder::JpegDecoder(JpegDecoder &&) noexcept = default;
JpegDecoder &JpegDecoder::operator=(JpegDecoder &&) noexcept = default;
JpegDecoder::~JpegDecoder() = default;

uint64_t JpegDecoder::heldBytes() const {
  return impl->heldBytes() + impl->scratch.capacity() + impl->tables.heldBytes() +
         impl->scan.heldBytes() + impl->stored.heldBytes() + impl->header.capacity() +
         impl->index.points.capacity() * sizeof(EntropyIndex::Point);
}

Status JpegDecoder::checkEnd(std::span<const uint8_t> bytes, DecodeStats &stats) {
  Result<JpegInfo> info = probeJpeg(bytes, impl->options.limits);
  if (!info)
    return info.error();
  if (hasEndOfImage(bytes, *info))
    return {};
  uint8_t pixel;
  return decodeRegion(bytes, PixelFormat::Gray, {0, 0, 1, 1}, &pixel, 1, stats);
}

Status JpegDecoder::decodeRegion(std::span<const uint8_t> bytes, PixelFormat format,
                                 const Region &region, uint8_t *out, size_t rowStride,
                                 DecodeStats &stats, Beside beside, EntropyIndexes *indexes) {
  Result<JpegInfo> info = probeJpeg(bytes, impl->options.limits);
  if (!info)
    return info.error();
  if (region.height == 0 || region.width == 0 ||
      uint64_t(region.top) + region.height > info->height ||
      uint64_t(region.left) + region.width > info->width)
    return Error{Code::InvalidArgument,
                 "region of " + std::to_string(region.width) + " x " +
                     std::to_string(region.height) + " at left " + std::to_string(region.left) +
                     ", top " + std::to_string(region.top) + " is not inside the image of " +
                     std::to_string(info->width) + " x " + std::to_string(info->height)};
  bool endSeen = hasEndOfImage(bytes, *info);
  impl->stats = &stats;
  return impl->decode({bytes, &*info, format, region, out, rowStride, beside, indexes, endSeen,
                       impl->options.wholeFile || !endSeen});
}

std::optional<Planes> JpegDecoder::planesFor(std::span<const uint8_t> bytes,
                                             const Region &region) const {
  const Result<JpegInfo> info = probeJpeg(bytes, impl->options.limits);
  return info ? planesOf(*info, region) : std::nullopt;
}

Status JpegDecoder::decodePlanes(std::span<const uint8_t> bytes, const Planes &planes, uint8_t *out,
                                 DecodeStats &stats, EntropyIndexes *indexes) {
  Result<JpegInfo> info = probeJpeg(bytes, impl->options.limits);
  if (!info)
    return info.error();
  const bool endSeen = hasEndOfImage(bytes, *info);
  impl->stats = &stats;
  return impl->decode({bytes, &*info, PixelFormat::Rgb, planes.luma, out, 0, Beside::Kept, indexes,
                       endSeen, impl->options.wholeFile || !endSeen, &planes});
}

} // namespace penstock::runtime
