// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/numbers/Numbers.h"

#include "runtime/core/DType.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace penstock::runtime {

namespace {

template <typename Word> void reverseBytes(uint8_t *bytes, int64_t size) {
  for (int64_t i = 0; i < size; i += int64_t(sizeof(Word))) {
    Word word;
    std::memcpy(&word, bytes + i, sizeof word);
    if constexpr (sizeof word == 2)
      word = __builtin_bswap16(word);
    else if constexpr (sizeof word == 4)
      word = __builtin_bswap32(word);
    else
      word = __builtin_bswap64(word);
    std::memcpy(bytes + i, &word, sizeof word);
  }
}

/// Makes elements of this machine of copied bytes.
void convert(uint8_t *bytes, int64_t size, plan::DType type, bool isBig) {
  if (type == plan::DType::boolean)
    std::transform(bytes, bytes + size, bytes, [](uint8_t byte) { return byte != 0; });
  if (!isBig)
    return;
  switch (sizeOf(type)) {
  case 2:
    return reverseBytes<uint16_t>(bytes, size);
  case 4:
    return reverseBytes<uint32_t>(bytes, size);
  case 8:
    return reverseBytes<uint64_t>(bytes, size);
  default:
    return;
  }
}

} // namespace

static_assert(std::endian::native == std::endian::little);

Status Numbers::probe(const MediumInput &input, const ImageLimits &, media::Record &numbers) {
  numbers[0] = int64_t(input.bytes.size());
  return {};
}

Status Numbers::decode(const MediumInput &input, const MediumRequest &request,
                       const MediumLayout &layout, uint8_t *out) {
  const int64_t skip = request.arguments[0], size = int64_t(input.bytes.size());
  // Whether a file is good does not depend on what is read of it.
  const int64_t whole = request.rank() ? layout.strides[0] * request.extents[0] : layout.bytes;
  if (skip < 0 || skip > size || whole > size - skip)
    return Error{Code::Truncated, "the file has " + std::to_string(size) + " bytes, and " +
                                      std::to_string(whole) + " are wanted behind the first " +
                                      std::to_string(skip)};
  const uint8_t *from = input.bytes.data() + skip;
  const bool isBig = request.format == "big";
  // The last axes that are wanted whole lie in one piece with the one before.
  size_t outer = request.rank();
  int64_t piece = sizeOf(request.type);
  while (outer > 0) {
    const AxisRange &range = request.box[--outer];
    piece = layout.strides[outer] * (range.high - range.low);
    if (range.high - range.low != request.extents[outer])
      break;
  }
  std::array<int64_t, PST_MAX_RANK> place{};
  for (size_t axis = 0; axis < request.rank(); ++axis)
    place[axis] = request.box[axis].low;
  for (;;) {
    int64_t at = 0;
    for (size_t axis = 0; axis < request.rank(); ++axis)
      at += layout.strides[axis] * place[axis];
    std::memcpy(out + at, from + at, size_t(piece));
    convert(out + at, piece, request.type, isBig);
    size_t axis = outer;
    while (axis > 0 && ++place[axis - 1] == request.box[axis - 1].high) {
      --axis;
      place[axis] = request.box[axis].low;
    }
    if (axis == 0)
      return {};
  }
}

} // namespace penstock::runtime
