// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/jpeg/EntropyScan.h"

#include "runtime/media/jpeg/EntropyIndex.h"

#include <algorithm>
#include <cstring>

namespace penstock::runtime {

namespace {

// In the L1 cache beside the tables, and far more than what is moved to the
// front before the next piece.
constexpr size_t pieceBytes = 12 << 10;
// After a checkpoint often a part of a row is all that is wanted.
constexpr size_t firstPieceBytes = 4 << 10;
// It costs about as much as counting this many MCUs.
constexpr uint64_t pointWorth = 3;
constexpr size_t keptBefore = 16; // decoding may step back by this
constexpr size_t windowBytes =
    keptBefore + 2 * (maxMcuBytes + readerSlack) + pieceBytes + readerSlack;

} // namespace

void EntropyScan::begin(std::span<const uint8_t> bytes, const ScanLayout &scan,
                        HuffmanCache &tables, const EntropyKernels &chosen, Options wanted) {
  file = bytes;
  layout = &scan;
  kernels = &chosen;
  options = wanted;
  window.resize(windowBytes);
  tables.begin();
  state.blockCount = 0;
  for (uint8_t c = 0; c < scan.componentCount; ++c) {
    const ScanLayout::Component &component = scan.components[c];
    McuState::Block block{nullptr, nullptr, c, wanted.components[c]};
    if (scan.first == 0 && scan.high == 0)
      block.dc = &tables.dc(scan.dcCodes[component.dcCode]);
    if (!scan.progressive)
      block.ac = &tables.ac(scan.acCodes[component.acCode]);
    else if (scan.last > 0)
      state.band = &tables.band(scan.acCodes[component.acCode]);
    const int count = scan.interleaved() ? component.horizontal * component.vertical : 1;
    for (int i = 0; i < count; ++i)
      state.blocks[state.blockCount++] = block;
  }
  state.first = scan.first, state.last = scan.last, state.low = scan.low;
  at = markers = 0;
  nextRestart = scan.restartInterval ? scan.restartInterval : UINT64_MAX;
  source = file.data() + scan.scanOffset;
  beginSegment();
}

void EntropyScan::beginSegment() {
  state.predictions.fill(0);
  state.endRun = 0;
  state.in = {window.data(), 0, 0};
  ended = false;
  fill(window.data(), pieceBytes);
}

void EntropyScan::fill(uint8_t *from, size_t most) {
  const EntropyKernels::Unstuffed done =
      kernels->unstuff(source, file.data() + file.size(), from, from + most);
  source = done.in;
  ended = done.ended;
  dataEnd = done.out;
  if (ended)
    std::memset(done.out, 0, maxMcuBytes + readerSlack);
  // Bits are taken up to 63 ahead of their use. Whoever is further ahead of
  // the end has used what was not there.
  limit = ended ? dataEnd + 8 : dataEnd - (maxMcuBytes + readerSlack);
}

bool EntropyScan::refillWindow() {
  if (ended)
    return false;
  const uint8_t *keep = std::max<const uint8_t *>(window.data(), state.in.next - keptBefore);
  const auto size = size_t(dataEnd - keep);
  std::memmove(window.data(), keep, size);
  state.in.next -= keep - window.data();
  fill(window.data() + size, pieceBytes);
  return state.in.next <= limit;
}

bool EntropyScan::complete() const {
  return !ended || (state.in.next - dataEnd) * 8 <= ptrdiff_t(state.in.count);
}

bool EntropyScan::atSegmentEnd() const {
  const ptrdiff_t left = ptrdiff_t(state.in.count) - (state.in.next - dataEnd) * 8;
  return ended && left >= 0 && left < 8;
}

bool EntropyScan::passRestartMarker() {
  const uint8_t *end = file.data() + file.size();
  const uint8_t *code = source; // behind fill bytes
  while (code < end && *code == 0xFF)
    ++code;
  if (code == source || code == end || *code != 0xD0 + (markers & 7))
    return false;
  source = code + 1;
  ++markers;
  nextRestart += layout->restartInterval;
  return true;
}

bool EntropyScan::ready() {
  if (at == nextRestart) {
    if (!atSegmentEnd() || !passRestartMarker())
      return false;
    beginSegment();
  }
  return state.in.next <= limit || refillWindow();
}

bool EntropyScan::skipSegmentsTo(uint64_t mcu) {
  // The decoded part of this segment must have been present; if that is all, it must end here.
  if (at == nextRestart ? !atSegmentEnd() : !complete())
    return false;
  while (nextRestart <= mcu) {
    if (!ended)
      source = kernels->findMarker(source, file.data() + file.size());
    at = nextRestart;
    if (!passRestartMarker())
      return false;
    ended = false;
  }
  beginSegment();
  return true;
}

bool EntropyScan::position(uint64_t &bit, std::array<int16_t, 4> &predictions) {
  if (!ready() || !complete())
    return false;
  const ptrdiff_t left = ptrdiff_t(state.in.count) - (state.in.next - dataEnd) * 8; // to the end
  const ptrdiff_t whole = (left + 7) / 8;
  // Each 0xFF has a zero behind it in the file.
  const auto stuffed = std::count(dataEnd - whole, dataEnd, uint8_t(0xFF));
  bit = uint64_t(source - file.data() - whole - stuffed) * 8 + uint64_t(whole * 8 - left);
  for (size_t i = 0; i < predictions.size(); ++i)
    predictions[i] = int16_t(state.predictions[i]);
  return true;
}

void EntropyScan::skipToPoint(uint64_t mcu) {
  const EntropyIndex &index = *options.index;
  const uint64_t row = mcu / index.mcusPerRow, inRow = mcu % index.mcusPerRow / index.step;
  const uint64_t place = row * index.mcusPerRow + inRow * index.step;
  const size_t number = row * index.pointsPerRow() + inRow;
  if (place < at + pointWorth || number >= index.points.size())
    return;
  const EntropyIndex::Point &point = index.points[number];
  if (point.bit / 8 >= file.size())
    return;
  at = place;
  if (layout->restartInterval) {
    markers = uint32_t(at / layout->restartInterval);
    nextRestart = (uint64_t(markers) + 1) * layout->restartInterval;
  }
  source = file.data() + point.bit / 8;
  fill(window.data(), firstPieceBytes);
  std::copy(point.predictions.begin(), point.predictions.end(), state.predictions.begin());
  const unsigned used = point.bit % 8;
  state.in = {window.data() + 1, uint64_t(window[0]) << (56 + used), 8 - used};
}

bool EntropyScan::seek(uint64_t mcu) {
  if (options.index)
    skipToPoint(mcu);
  else if (options.skipSegments && nextRestart <= mcu && !skipSegmentsTo(mcu))
    return false;
  while (at < mcu) {
    if (!ready())
      return false;
    const auto count = uint32_t(std::min({mcu, nextRestart, at + (1u << 30)}) - at);
    const int64_t passed = kernels->countMcus(state, count, limit);
    if (passed < 0)
      return false;
    at += uint64_t(passed);
  }
  return true;
}

bool EntropyScan::decodeMcu(int16_t *const *blocks) {
  if (!ready() || !kernels->decodeMcu(state, blocks))
    return false;
  ++at;
  return true;
}

bool EntropyScan::decodeDcMcu(int16_t *const *blocks) {
  const auto decode = layout->high == 0 ? kernels->decodeDc : kernels->refineDc;
  if (!ready() || !decode(state, blocks))
    return false;
  ++at;
  return true;
}

bool EntropyScan::decodeBand(BandBlocks blocks, uint32_t count) {
  const auto decode = layout->high == 0 ? kernels->decodeBand : kernels->refineBand;
  while (count > 0) {
    if (!ready())
      return false;
    const auto wanted = uint32_t(std::min<uint64_t>(count, nextRestart - at));
    const int64_t done = decode(state, blocks, wanted, limit);
    if (done < 0)
      return false;
    at += uint64_t(done);
    count -= uint32_t(done);
    blocks.coefficients += size_t(done) * blocks.pitch;
    blocks.nonzero += done;
  }
  return true;
}

size_t EntropyScan::endOfData() const {
  const uint8_t *end = file.data() + file.size();
  return size_t((ended ? source : kernels->findMarker(source, end)) - file.data());
}

} // namespace penstock::runtime
