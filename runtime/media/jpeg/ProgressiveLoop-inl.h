// SPDX-License-Identifier: Apache-2.0
//
// The loops for progressive files; included behind EntropyLoop-inl.h.
//
// Two thirds of such a file are refinements: between the symbols for new
// coefficients lies one bit for each that is not zero already. So which ones are
// is kept as a mask for each block. A block's bits are collected as they come,
// spread over the mask and added to all coefficients at once; what is read next
// never waits for a coefficient.

/// The n-th one of `mask`, from 0 and from the lowest; 0 where there are fewer.
HWY_INLINE uint64_t nthOne(uint64_t mask, unsigned n) {
#ifdef PENSTOCK_DEPOSIT
  return _pdep_u64(uint64_t(1) << n, mask);
#else
  for (; n > 0; --n)
    mask &= mask - 1;
  return mask & (0 - mask);
#endif
}

HWY_INLINE uint64_t reversed(uint64_t bits) {
  constexpr uint64_t one = 0x5555555555555555, two = 0x3333333333333333, four = 0x0F0F0F0F0F0F0F0F;
  bits = (bits >> 1 & one) | (bits & one) << 1;
  bits = (bits >> 2 & two) | (bits & two) << 2;
  bits = (bits >> 4 & four) | (bits & four) << 4;
  return __builtin_bswap64(bits);
}

/// The lowest `count` of `bits`, the topmost first, at the ones of `mask`, the lowest first.
HWY_INLINE uint64_t spread(uint64_t bits, unsigned count, uint64_t mask) {
#ifdef PENSTOCK_DEPOSIT
  return _pdep_u64(reversed(bits << (64 - count)), mask);
#else
  uint64_t result = 0;
  for (bits <<= 64 - count; bits != 0; bits <<= 1, mask &= mask - 1)
    if (bits >> 63)
      result |= mask & (0 - mask);
  return result;
#endif
}

HWY_INLINE uint64_t take(BitReader &in, uint64_t bits) {
  const uint64_t value = in.bits >> 1 >> (63 - bits);
  drop(in, bits);
  return value;
}

/// A symbol of a band whose code is none of the table's. False where it is none at all.
HWY_INLINE bool longBandEntry(BitReader &in, const LongCodes &codes, BandEntry &entry) {
  const int symbol = longSymbol(in, codes);
  if (symbol < 0)
    return false;
  const int size = symbol & 15, run = symbol >> 4;
  entry.mask = uint16_t((1 << size) - 1);
  entry.bits = uint8_t(size);
  entry.skip = uint8_t(size || run == 15 ? run + 1 : blockEnd);
  entry.runBits = uint8_t(size || run == 15 ? 0 : run);
  return true;
}

HWY_INLINE bool decodeBandOf(BitReader &reader, McuState &state, int16_t *block,
                             uint64_t &nonzero) {
  const BandTable &table = *state.band;
  const unsigned last = state.last, low = state.low;
  BitReader in = reader;
  unsigned k = state.first;
  uint64_t found = 0;
  BandEntry entry;
  do {
    refill(in);
    entry = table.entries[in.bits >> (64 - bandIndexBits)];
    int value;
    if (HWY_LIKELY(entry.bits != 0)) {
      const uint64_t mask = entry.mask;
      value = valuesOfBits[mask + ((in.bits >> (-uint64_t(entry.bits) & 63)) & mask)];
    } else {
      if (!longBandEntry(in, table.longCodes, entry))
        return false;
      value = entry.bits ? valueIn(in.bits, entry.bits, entry.mask) : 0;
    }
    drop(in, entry.bits);
    k += entry.skip;
    // The end of a band stores a zero at its end.
    const auto scaled = int16_t(value * (1 << low));
    block[k - 1 < last ? k - 1 : last] = scaled;
    found |= uint64_t(scaled != 0) << ((k - 1) & 63);
  } while (k <= last);
  if (k >= blockEnd)
    state.endRun = (1u << entry.runBits) - 1 + uint32_t(take(in, entry.runBits));
  else if (k != last + 1)
    return false;
  nonzero |= found;
  reader = in;
  return true;
}

int64_t decodeBand(McuState &state, BandBlocks blocks, uint32_t count, const uint8_t *limit) {
  BitReader in = state.in;
  uint32_t done = 0;
  while (done < count && in.next <= limit) {
    if (const uint32_t passed = std::min(state.endRun, count - done)) {
      state.endRun -= passed;
      done += passed;
      continue;
    }
    if (!decodeBandOf(in, state, blocks.coefficients + done * blocks.pitch, blocks.nonzero[done]))
      return -1;
    ++done;
  }
  state.in = in;
  return done;
}

/// Changes that a refinement scan makes to a block, a bit per coefficient.
struct Refinement {
  uint64_t corrected = 0, fresh = 0, positive = 0;
};

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void refineCoefficients(const Refinement &change, int bit, int16_t *block) {
  for (int k = 0; k < 64; ++k) {
    int16_t &value = block[k];
    if (change.corrected >> k & 1 && (value & bit) == 0)
      value = int16_t(value < 0 ? value - bit : value + bit);
    if (change.fresh >> k & 1)
      value = int16_t(change.positive >> k & 1 ? bit : -bit);
  }
}
#else
HWY_INLINE void refineCoefficients(const Refinement &change, int bit, int16_t *block) {
  const hn::CappedTag<int16_t, 64> lanes;
  const auto plus = hn::Set(lanes, int16_t(bit)), minus = hn::Set(lanes, int16_t(-bit)),
             zero = hn::Zero(lanes);
  for (size_t k = 0; k < 64; k += hn::Lanes(lanes)) {
    const auto bitsAt = [&](uint64_t bits) HWY_ATTR {
      bits >>= k;
      return hn::LoadMaskBits(lanes, reinterpret_cast<const uint8_t *>(&bits));
    };
    auto values = hn::LoadU(lanes, block + k);
    const auto step = hn::IfThenElse(hn::Lt(values, zero), minus, plus);
    const auto clear = hn::Eq(hn::And(values, plus), zero);
    const auto corrected = hn::And(bitsAt(change.corrected), clear);
    values = hn::Add(values, hn::IfThenElseZero(corrected, step));
    const auto fresh = hn::IfThenElse(bitsAt(change.positive), plus, minus);
    hn::StoreU(hn::IfThenElse(bitsAt(change.fresh), fresh, values), lanes, block + k);
  }
}
#endif

/// Reads the bits for the ones of `passed` behind those in `collected`.
HWY_INLINE void collect(BitReader &in, uint64_t passed, uint64_t &collected) {
  auto count = unsigned(__builtin_popcountll(passed));
  if (HWY_UNLIKELY(count > 32)) {
    collected = collected << 32 | take(in, 32);
    refill(in);
    count -= 32;
  }
  collected = collected << count | take(in, count);
}

HWY_INLINE bool refineBandOf(BitReader &reader, McuState &state, int16_t *block, bool wanted,
                             uint64_t &nonzero) {
  const BandTable &table = *state.band;
  const uint64_t band = ~uint64_t(0) >> (63 - state.last) & ~uint64_t(0) << state.first;
  const uint64_t before = nonzero & band;
  BitReader in = reader;
  uint64_t left = band, collected = 0;
  Refinement change;
  refill(in);
  if (state.endRun == 0) {
    do {
      BandEntry entry = table.entries[in.bits >> (64 - bandIndexBits)];
      if (HWY_UNLIKELY(entry.bits == 0 && !longBandEntry(in, table.longCodes, entry)))
        return false;
      const uint64_t positive = in.bits >> (-uint64_t(entry.bits) & 63) & entry.mask;
      drop(in, entry.bits);
      if (entry.skip == blockEnd) {
        state.endRun = (1u << entry.runBits) + uint32_t(take(in, entry.runBits));
        break;
      }
      const uint64_t target = nthOne(left & ~before, entry.skip - 1u);
      if (HWY_UNLIKELY(entry.mask > 1 || target == 0))
        return false;
      collect(in, before & left & (target - 1), collected);
      const uint64_t fresh = entry.mask ? target : 0;
      change.fresh |= fresh;
      change.positive |= positive ? fresh : 0;
      left &= ~(target ^ (target - 1));
      refill(in);
    } while (left != 0);
  }
  if (state.endRun > 0) {
    refill(in);
    collect(in, before & left, collected);
    --state.endRun;
  }
  if (collected)
    change.corrected = spread(collected, unsigned(__builtin_popcountll(before)), before);
  nonzero |= change.fresh;
  if (wanted && (change.corrected | change.fresh))
    refineCoefficients(change, 1 << state.low, block);
  reader = in;
  return true;
}

int64_t refineBand(McuState &state, BandBlocks blocks, uint32_t count, const uint8_t *limit) {
  BitReader in = state.in;
  uint32_t done = 0;
  for (; done < count && in.next <= limit; ++done)
    if (!refineBandOf(in, state, blocks.coefficients + done * blocks.pitch, blocks.pitch > 0,
                      blocks.nonzero[done]))
      return -1;
  state.in = in;
  return done;
}

bool decodeDc(McuState &state, int16_t *const *blocks) {
  BitReader in = state.in;
  for (uint32_t i = 0; i < state.blockCount; ++i) {
    const McuState::Block &block = state.blocks[i];
    int32_t &prediction = state.predictions[block.component];
    if (!decodeDifference(in, *block.dc, prediction))
      return false;
    *blocks[i] = int16_t(uint32_t(prediction) << state.low);
  }
  state.in = in;
  return true;
}

bool refineDc(McuState &state, int16_t *const *blocks) {
  BitReader in = state.in;
  refill(in);
  for (uint32_t i = 0; i < state.blockCount; ++i)
    *blocks[i] = int16_t(*blocks[i] | int(take(in, 1) << state.low));
  state.in = in;
  return true;
}

#if HWY_TARGET == HWY_AVX3
void unzigzag(const int16_t *in, int16_t *out) {
  const __m512i low = _mm512_loadu_si512(in), high = _mm512_loadu_si512(in + 32);
  for (size_t half = 0; half < 64; half += 32) {
    const __m512i places = _mm512_loadu_si512(zigzagPlaces.data() + half);
    _mm512_storeu_si512(out + half, _mm512_permutex2var_epi16(low, places, high));
  }
}
#else
void unzigzag(const int16_t *in, int16_t *out) {
  for (size_t i = 0; i < 64; ++i)
    out[i] = in[zigzagPlaces[i]];
}
#endif
