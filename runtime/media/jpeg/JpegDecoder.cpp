// Why regions equal a full decode:
//  * Regular files: libjpeg gets a header of the size of the crop, and the
//    crop's MCUs from the own entropy decoder (cropFor says what it needs).
//  * Others, with libjpeg-turbo's cropping: fancy upsampling mixes neighbouring
//    chroma samples, and at the edge of what is decoded it mixes others than in
//    the full image. So the crop is two pixels (one chroma sample) wider on
//    each side. Skipping is done from row 0 to a multiple of the iMCU height
//    only. There libjpeg still decodes the iMCU row above where upsampling
//    looks up into it. Skipping from or to the middle of one has had bugs.
//  * Where libjpeg smooths blocks (progressive files with missing scans), and
//    so looks further, nothing is cropped or skipped.
#include "runtime/media/jpeg/JpegDecoder.h"

#include "runtime/media/jpeg/CheckImage.h"
#include "runtime/media/jpeg/TurboSeam.h"

#include <algorithm>
#include <csetjmp>
#include <cstring>
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
    out[x] = uint8_t((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] +
                      0x8000u) >> 16);
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
  bool endSeen;  // there is an end-of-image marker
  bool toTheEnd; // decode all rows, whatever the region
};

constexpr int rowsPerCall = 4;

} // namespace

// What libjpeg calls back finds this through client_data (see JpegMemory).
// All state that survives a longjmp lives here, not on the stack.
struct JpegDecoder::Impl : TurboSeam {
  Options options;
  const EntropyKernels *kernels; // null: libjpeg reads everything
  HuffmanCache tables;
  EntropyScan scan;
  ScanLayout layout;
  EntropyIndex index;
  std::vector<uint8_t> header; // of a crop
  jpeg_decompress_struct cinfo{};
  jpeg_error_mgr errors{};
  jpeg_source_mgr source{};
  jpeg_progress_mgr progress{};
  std::jmp_buf escape;
  bool created = false;
  bool pastEnd = false;
  bool tooManyScans = false;
  char reason[JMSG_LENGTH_MAX] = "";
  int reasonCode = 0;
  DecodeStats *stats = nullptr;
  std::vector<uint8_t> scratch;

  static Impl &of(j_common_ptr info) {
    return *static_cast<Impl *>(static_cast<JpegMemory *>(info->client_data));
  }
  static Impl &of(j_decompress_ptr info) {
    return of(reinterpret_cast<j_common_ptr>(info));
  }

  Impl(const Options &options, const EntropyKernels *kernels)
      : options(options), kernels(kernels) {
    cinfo.err = jpeg_std_error(&errors);
    errors.error_exit = [](j_common_ptr info) {
      Impl &self = of(info);
      self.keepReason();
      std::longjmp(self.escape, 1);
    };
    errors.emit_message = [](j_common_ptr info, int level) {
      // The first sign of damage ends the work: a few bytes that claim a huge
      // image do not get to fill it.
      if (level < 0 && meansDamage(info->err->msg_code))
        info->err->error_exit(info);
    };
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
    progress.progress_monitor = [](j_common_ptr info) {
      Impl &self = of(info);
      auto scans = reinterpret_cast<j_decompress_ptr>(info)->input_scan_number;
      if (scans <= 0 || uint32_t(scans) <= self.options.limits.maxScans)
        return;
      self.tooManyScans = true;
      std::longjmp(self.escape, 1);
    };
    if (setjmp(escape))
      return; // no memory: `created` stays false
    cinfo.client_data = static_cast<JpegMemory *>(this);
    jpeg_create_decompress(&cinfo);
    created = true;
    install(cinfo);
    setLimit(options.limits.maxWorkBytes);
    cinfo.src = &source;
    cinfo.progress = &progress;
  }

  ~Impl() {
    if (created)
      jpeg_destroy_decompress(&cinfo);
  }

  void keepReason() {
    reasonCode = errors.msg_code;
    errors.format_message(reinterpret_cast<j_common_ptr>(&cinfo), reason);
  }

  Error failure(const Request &request) const {
    if (tooManyScans)
      return {Code::Limit, "JPEG with more than " +
                               std::to_string(options.limits.maxScans) + " scans"};
    std::string_view text = reason;
    constexpr std::string_view prefix = "Corrupt JPEG data: ";
    if (text.starts_with(prefix))
      text.remove_prefix(prefix.size());
    std::string lower(text);
    if (lower.size() > 1 && lower[1] >= 'a' && lower[1] <= 'z')
      lower[0] = char(lower[0] | 0x20);
    Code code = codeOf(reasonCode, pastEnd);
    if (code == Code::Limit)
      return {code, "JPEG of " + std::to_string(request.info->width) + " x " +
                        std::to_string(request.info->height) +
                        " pixels needs more than " +
                        std::to_string(options.limits.maxWorkBytes) +
                        " bytes of working memory"};
    if (code == Code::Unsupported)
      return {code, "this JPEG is not read: " + lower};
    if (code == Code::Truncated)
      return {code, "truncated JPEG: it ends after " +
                        std::to_string(request.bytes.size()) + " bytes (" + lower +
                        ")"};
    return {code, "damaged JPEG: " + lower};
  }

  Status decode(const Request &request);
  EntropyPath runOwn(const Request &request);
  bool readCrop(const Request &request, const McuCrop &crop);
  bool readRest();
  const EntropyIndex *indexFor(const Request &request, const McuCrop &crop);
  void run(const Request &request);
  void start(const Request &request);
  bool smoothsBlocks() const;
  void cropColumns(const Region &region, JDIMENSION &first);
  void skipRows(uint32_t top);
  void discardTo(uint32_t row);
  void readRegion(const Request &request, uint32_t firstColumn);
  void deliver(const Request &request, const uint8_t *row, uint8_t *out) const;
};

Status JpegDecoder::Impl::decode(const Request &request) {
  if (!created)
    return Error{Code::Limit, "no memory for a JPEG decoder"};
  pastEnd = tooManyScans = false;
  reason[0] = 0;
  scratch.resize((size_t(request.info->width) * 4 + 64) * rowsPerCall);
  const DecodeStats before = *stats;
  const EntropyPath path = options.plain ? EntropyPath::OddHeader : runOwn(request);
  if (path != EntropyPath::Own) {
    *stats = before;
    pastEnd = false;
    reason[0] = 0;
  }
  ++stats->entropyPaths[size_t(path)];
  if (path == EntropyPath::Own)
    return {};
  if (setjmp(escape)) {
    jpeg_abort_decompress(&cinfo);
    return failure(request);
  }
  run(request);
  return {};
}

// Any error or warning on the way makes the file libjpeg's, which then says
// what there is to say.
EntropyPath JpegDecoder::Impl::runOwn(const Request &request) {
  if (!kernels)
    return EntropyPath::OtherLibrary;
  if (!request.endSeen)
    return EntropyPath::NoEnd;
  const EntropyPath path = readScanLayout(request.bytes, *request.info, layout);
  if (path != EntropyPath::Own)
    return path;
  const McuCrop crop = cropFor(layout, request.region);
  writeHeader(request.bytes, layout, crop.width, crop.height, header);
  if (setjmp(escape)) {
    jpeg_abort_decompress(&cinfo);
    return EntropyPath::OddData;
  }
  return readCrop(request, crop) && readRest() ? EntropyPath::Own : EntropyPath::OddData;
}

bool JpegDecoder::Impl::readCrop(const Request &request, const McuCrop &crop) {
  source.next_input_byte = header.data();
  source.bytes_in_buffer = header.size();
  jpeg_read_header(&cinfo, TRUE);
  start(request);
  EntropyScan::Options wanted{.skipSegments = !options.wholeFile, .index = indexFor(request, crop)};
  for (int c = 0; c < cinfo.num_components; ++c)
    wanted.components[size_t(c)] = cinfo.comp_info[c].component_needed;
  scan.begin(request.bytes, layout, tables, *kernels, wanted);
  const bool fed = feed(cinfo, scan, layout, crop);
  if (fed) {
    discardTo(crop.top);
    readRegion(request, crop.firstColumn * layout.mcuWidth());
    ++stats->images;
  }
  jpeg_abort_decompress(&cinfo);
  return fed;
}

const EntropyIndex *JpegDecoder::Impl::indexFor(const Request &request, const McuCrop &crop) {
  const bool isAll = crop.width == layout.width && crop.height == layout.height;
  if (!request.indexes || options.wholeFile || isAll)
    return nullptr;
  const bool found = request.indexes->find(request.bytes, index) && index.step > 0 &&
                     index.mcusPerRow == layout.mcusPerRow() &&
                     index.points.size() == uint64_t(index.pointsPerRow()) * layout.mcuRows();
  ++(found ? stats->indexUses : stats->indexMisses);
  return found ? &index : nullptr;
}

/// libjpeg would have read whole rows of MCUs, and seen their damage.
bool JpegDecoder::Impl::readRest() {
  const uint64_t pitch = layout.mcusPerRow();
  if (options.wholeFile) {
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
  source.next_input_byte = request.bytes.data();
  source.bytes_in_buffer = request.bytes.size();
  jpeg_read_header(&cinfo, TRUE);
  if (cinfo.image_width != info.width || cinfo.image_height != info.height ||
      cinfo.num_components != info.components)
    ERREXIT(&cinfo, JERR_SOF_DUPLICATE); // the two parsers disagree
  // With several scans nobody can tell how many are missing at the end. Pillow
  // refuses such files too.
  if (hasSeveralScans(cinfo) && !request.endSeen) {
    pastEnd = true;
    ERREXIT(&cinfo, JWRN_JPEG_EOF);
  }
  start(request);
  JDIMENSION firstColumn = 0;
  if (!smoothsBlocks()) {
    cropColumns(request.region, firstColumn);
    skipRows(request.region.top);
  }
  discardTo(request.region.top);
  readRegion(request, firstColumn);
  if (request.toTheEnd)
    discardTo(cinfo.output_height);
  ++stats->images;
  jpeg_abort_decompress(&cinfo);
}

void JpegDecoder::Impl::start(const Request &request) {
  if (cinfo.num_components == 4)
    cinfo.out_color_space = JCS_CMYK;
  else
    cinfo.out_color_space =
        request.format == PixelFormat::Rgb ? JCS_RGB : JCS_GRAYSCALE;
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
  JDIMENSION begin = region.left > margin ? region.left - margin : 0;
  JDIMENSION end =
      std::min<JDIMENSION>(region.left + region.width + margin, cinfo.output_width);
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

void JpegDecoder::Impl::deliver(const Request &request, const uint8_t *row,
                                uint8_t *out) const {
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
  bool direct = channels != 4 && (cinfo.output_width == region.width ||
                                  request.beside == Beside::Free);
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
        deliver(request, rows[i] + offset,
                request.out + (done + i) * request.rowStride);
    done += got;
    stats->rowsDecoded += got;
  }
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
         impl->scan.heldBytes() + impl->header.capacity() +
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

Status JpegDecoder::decodeRegion(std::span<const uint8_t> bytes,
                                 PixelFormat format, const Region &region,
                                 uint8_t *out, size_t rowStride,
                                 DecodeStats &stats, Beside beside,
                                 EntropyIndexes *indexes) {
  Result<JpegInfo> info = probeJpeg(bytes, impl->options.limits);
  if (!info)
    return info.error();
  if (region.height == 0 || region.width == 0 ||
      uint64_t(region.top) + region.height > info->height ||
      uint64_t(region.left) + region.width > info->width)
    return Error{Code::InvalidArgument,
                 "region of " + std::to_string(region.width) + " x " +
                     std::to_string(region.height) + " at left " +
                     std::to_string(region.left) + ", top " +
                     std::to_string(region.top) + " is not inside the image of " +
                     std::to_string(info->width) + " x " +
                     std::to_string(info->height)};
  bool endSeen = hasEndOfImage(bytes, *info);
  impl->stats = &stats;
  return impl->decode({bytes, &*info, format, region, out, rowStride, beside, indexes, endSeen,
                       impl->options.wholeFile || !endSeen});
}

} // namespace penstock::runtime
