// SPDX-License-Identifier: Apache-2.0
//
// The loops of EntropyKernels.h but for unstuffing; included once per level of
// instructions, inside its namespace.
//
// A block is a chain of dependent steps: look up, shift, look up. So a lookup
// yields two symbols where it can, all stores are unconditional (index 63 takes
// what a block's end would store, which is zero there), and the bits are filled
// up without a branch. The order array is shifted by one: a symbol's place is
// one before the index that it leaves.

HWY_INLINE uint64_t load64(const uint8_t *from) {
  uint64_t value;
  std::memcpy(&value, from, sizeof value);
  return __builtin_bswap64(value);
}

/// Refills the bits: at least 56 are valid afterwards.
HWY_INLINE void refill(BitReader &in) {
  in.bits |= load64(in.next) >> in.count;
  in.next += (63 - in.count) >> 3;
  in.count |= 56;
}

HWY_INLINE void drop(BitReader &in, uint64_t bits) {
  in.bits <<= bits & 63;
  in.count -= bits;
}

/// Steps back to `bits` bits before the present ones.
HWY_INLINE void giveBack(BitReader &in, uint64_t bits) {
  const uint64_t behind = in.count + bits; // of `next`, in bits
  in.next -= (behind + 7) / 8;
  in.bits = in.count = 0;
  refill(in);
  drop(in, (8 - behind % 8) % 8);
}

/// A symbol by its code alone; -1 for a code that is none. Needs 16 valid bits.
HWY_INLINE int longSymbol(BitReader &in, const LongCodes &codes) {
  const auto next = uint32_t(in.bits >> 48);
  size_t length = 1;
  while (length <= 16 && next >= codes.limits[length])
    ++length;
  if (length > 16)
    return -1;
  drop(in, length);
  return codes.symbols[size_t(int32_t(next >> (16 - length)) + codes.offsets[length]) & 255];
}

/// The value in the last of the next `bits` bits, which are as many as the ones
/// in `mask`: positive if its topmost bit is set.
HWY_INLINE int valueIn(uint64_t next, uint64_t bits, int mask) {
  const int value = int(next >> (-bits & 63)) & mask;
  return value <= mask >> 1 ? value - mask : value;
}

/// A decoded symbol: a coefficient's value, and the distance that its index advances.
struct Coefficient {
  int value;
  unsigned skip; // 0: there is no such code
};

HWY_INLINE Coefficient longCoefficient(BitReader &in, const LongCodes &codes) {
  const int symbol = longSymbol(in, codes);
  if (symbol < 0)
    return {0, 0};
  const int size = symbol & 15;
  if (size == 0)
    return {0, symbol == 0xF0 ? 16 : blockEnd};
  const int value = valueIn(in.bits, uint64_t(size), (1 << size) - 1);
  drop(in, uint64_t(size));
  return {value, unsigned(symbol >> 4) + 1};
}

HWY_INLINE bool decodeDifference(BitReader &in, const DcTable &table, int32_t &prediction) {
  refill(in);
  const DifferenceEntry entry = table.differences[in.bits >> (64 - differenceIndexBits)];
  if (HWY_LIKELY(entry.bits != 0)) {
    prediction += valueIn(in.bits, entry.bits, entry.mask);
    drop(in, entry.bits);
  } else {
    const int size = longSymbol(in, table.longCodes);
    if (size < 0)
      return false;
    if (size > 0) {
      prediction += valueIn(in.bits, uint64_t(size), (1 << size) - 1);
      drop(in, uint64_t(size));
    }
  }
  return uint32_t(prediction + 32768) < 65536; // libjpeg cuts off what is more
}

/// Ends at index 64 exactly, or by its code before.
HWY_INLINE bool endsWell(unsigned k) { return k == 64 || k - blockEnd - 1 < 63; }

HWY_INLINE bool decodeBlock(BitReader &reader, const AcTable &table, int16_t *block) {
  uint64_t bits = reader.bits, count = reader.count;
  const uint8_t *next = reader.next;
  const uint8_t *at = &zigzagOrder[1], *const end = &zigzagOrder[64];
  const PairEntry *entry;
  const auto lookUp = [&]() HWY_ATTR {
    entry = &table.pairs[bits >> (64 - pairIndexBits)];
    const uint64_t used = entry->bits, mask = entry->mask;
    const int16_t first = entry->first;
    const uint64_t place = at[entry->firstSkip];
    at += entry->skip;
    const int16_t last = valuesOfBits[mask + ((bits >> (-used & 63)) & mask)];
    bits <<= used;
    count -= used;
    block[place] = first;
    block[*at] = last;
  };
  for (;;) {
    do {
      bits |= load64(next) >> count; // enough for two
      next += (63 - count) >> 3;
      count |= 56;
      lookUp();
      if (at >= end)
        break;
      lookUp();
    } while (at < end);
    reader = {next, bits, count};
    const auto k = unsigned(at - zigzagOrder.data());
    if (HWY_LIKELY(endsWell(k)))
      return true;
    if (entry->bits != 0) {
      // The first of two filled the block, and the other one is the next block's.
      if (k - entry->skip + entry->firstSkip != 64 || entry->skip == entry->firstSkip)
        return false;
      block[63] = entry->first;
      giveBack(reader, uint64_t(entry->bits) - entry->firstBits);
      return true;
    }
    refill(reader);
    const Coefficient single = longCoefficient(reader, table.longCodes);
    if (single.skip == 0)
      return false;
    at += ptrdiff_t(single.skip) - longCodeSkip;
    block[*at] = int16_t(single.value);
    if (at >= end)
      return endsWell(unsigned(at - zigzagOrder.data()));
    next = reader.next, bits = reader.bits, count = reader.count;
  }
}

HWY_INLINE bool countBlock(BitReader &reader, const AcTable &table) {
  BitReader in = reader, before;
  unsigned k = 1, last;
  const auto lookUp = [&]() HWY_ATTR {
    const CountEntry entry = table.counts[in.bits >> (64 - countIndexBits)];
    before = in;
    last = k;
    k += entry.skip;
    drop(in, entry.bits);
  };
  for (;;) {
    do {
      refill(in);
      lookUp();
      if (k >= 64)
        break;
      lookUp();
    } while (k < 64);
    if (HWY_LIKELY(endsWell(k))) {
      reader = in;
      return true;
    }
    // A long code, or the block ends among the symbols of the last lookup.
    in = before;
    refill(in);
    const Coefficient single = longCoefficient(in, table.longCodes);
    if (single.skip == 0)
      return false;
    k = last + single.skip;
    if (k >= 64) {
      reader = in;
      return endsWell(k);
    }
  }
}

bool decodeMcu(McuState &state, int16_t *const *blocks) {
  BitReader in = state.in;
  for (uint32_t i = 0; i < state.blockCount; ++i) {
    const McuState::Block &block = state.blocks[i];
    int32_t &prediction = state.predictions[block.component];
    if (!decodeDifference(in, *block.dc, prediction))
      return false;
    if (HWY_LIKELY(block.wanted)) {
      blocks[i][0] = int16_t(prediction);
      if (!decodeBlock(in, *block.ac, blocks[i]))
        return false;
    } else if (!countBlock(in, *block.ac)) {
      return false;
    }
  }
  state.in = in;
  return true;
}

int64_t countMcus(McuState &state, uint32_t count, const uint8_t *limit) {
  BitReader in = state.in;
  uint32_t done = 0;
  for (; done < count && in.next <= limit; ++done)
    for (uint32_t i = 0; i < state.blockCount; ++i) {
      const McuState::Block &block = state.blocks[i];
      if (!decodeDifference(in, *block.dc, state.predictions[block.component]) ||
          !countBlock(in, *block.ac))
        return -1;
    }
  state.in = in;
  return done;
}
