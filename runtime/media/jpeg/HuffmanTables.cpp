// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/jpeg/HuffmanTables.h"

#include <algorithm>

namespace penstock::runtime {

namespace {

constexpr size_t mostTables = 8;

/// Calls `use(length, code, symbol)` for each code in ascending order.
template <class Use> void forEachCode(const HuffmanCode &code, int longest, Use use) {
  uint32_t next = 0;
  size_t symbol = 0;
  for (int length = 1; length <= longest; ++length, next <<= 1)
    for (int i = 0; i < code.counts[size_t(length)]; ++i)
      use(length, next++, code.symbols[symbol++]);
}

LongCodes longCodesOf(const HuffmanCode &code) {
  LongCodes result;
  result.symbols = code.symbols;
  uint32_t next = 0;
  int32_t symbol = 0;
  for (size_t length = 1; length <= 16; ++length, next <<= 1) {
    result.offsets[length] = symbol - int32_t(next);
    next += code.counts[length];
    symbol += code.counts[length];
    result.limits[length] = next << (16 - length);
  }
  return result;
}

/// The value that `size` bits stand for.
constexpr int valueOf(uint32_t bits, int size) {
  return bits >> (size - 1) ? int(bits) : int(bits) - (1 << size) + 1;
}

unsigned skipOf(uint8_t symbol) {
  if (symbol & 15)
    return (symbol >> 4) + 1u;
  return symbol == 0xF0 ? 16 : blockEnd;
}

/// A symbol whose code is in an index; none where `skip` is 0.
struct Single {
  uint8_t codeBits, size, skip;
};

template <int indexBits> std::array<Single, 1 << indexBits> singlesOf(const HuffmanCode &code) {
  std::array<Single, 1 << indexBits> singles{};
  forEachCode(code, indexBits, [&](int length, uint32_t bits, uint8_t symbol) {
    std::fill_n(&singles[size_t(bits) << (indexBits - length)], size_t(1) << (indexBits - length),
                Single{uint8_t(length), uint8_t(symbol & 15), uint8_t(skipOf(symbol))});
  });
  return singles;
}

constexpr uint16_t maskOf(int size) { return uint16_t((1 << size) - 1); }

void fillPairs(AcTable &table) {
  const auto singles = singlesOf<pairIndexBits>(table.code);
  constexpr size_t most = singles.size() - 1;
  for (size_t i = 0; i <= most; ++i) {
    const Single one = singles[i];
    const int bits = one.codeBits + one.size;
    PairEntry &entry = table.pairs[i];
    if (one.skip == 0 || maskOf(one.size) > mostMask) {
      entry = {0, 0, longCodeSkip, longCodeSkip, 0, 0};
      continue;
    }
    entry = {0, maskOf(one.size), one.skip, one.skip, uint8_t(bits), uint8_t(bits)};
    if (one.skip >= blockEnd || bits >= pairIndexBits)
      continue;
    const Single next = singles[(i << bits) & most];
    if (next.skip == 0 || bits + next.codeBits > pairIndexBits || maskOf(next.size) > mostMask)
      continue;
    if (one.size)
      entry.first =
          int16_t(valueOf(uint32_t(i >> (pairIndexBits - bits)) & maskOf(one.size), one.size));
    entry.mask = maskOf(next.size);
    entry.skip = uint8_t(one.skip + next.skip);
    entry.bits = uint8_t(bits + next.codeBits + next.size);
  }
}

void fillCounts(AcTable &table) {
  const auto singles = singlesOf<countIndexBits>(table.code);
  constexpr size_t most = singles.size() - 1;
  for (size_t i = 0; i <= most; ++i) {
    int bits = 0;
    unsigned skip = 0;
    while (skip < blockEnd && bits < countIndexBits) {
      const Single next = singles[(i << bits) & most];
      if (next.skip == 0 || bits + next.codeBits > countIndexBits)
        break;
      if (next.skip < blockEnd && skip + next.skip > 63)
        break; // in no block; and the sum must not look like its end
      bits += next.codeBits + next.size;
      skip += next.skip;
    }
    table.counts[i] = bits ? CountEntry{uint8_t(bits), uint8_t(skip)} : CountEntry{0, longCodeSkip};
  }
}

void fill(AcTable &table) {
  table.longCodes = longCodesOf(table.code);
  fillPairs(table);
  fillCounts(table);
}

void fill(DcTable &table) {
  table.longCodes = longCodesOf(table.code);
  table.differences.fill({0, 0});
  forEachCode(table.code, differenceIndexBits, [&](int length, uint32_t bits, uint8_t size) {
    std::fill_n(&table.differences[size_t(bits) << (differenceIndexBits - length)],
                size_t(1) << (differenceIndexBits - length),
                DifferenceEntry{maskOf(size), uint8_t(length + size)});
  });
}

void fill(BandTable &table) {
  table.longCodes = longCodesOf(table.code);
  table.entries.fill({0, 0, longCodeSkip, 0});
  forEachCode(table.code, bandIndexBits, [&](int length, uint32_t bits, uint8_t symbol) {
    const int size = symbol & 15, run = symbol >> 4;
    if (maskOf(size) > mostMask)
      return;
    BandEntry entry{maskOf(size), uint8_t(length + size), uint8_t(skipOf(symbol)), 0};
    if (entry.skip == blockEnd)
      entry.runBits = uint8_t(run);
    std::fill_n(&table.entries[size_t(bits) << (bandIndexBits - length)],
                size_t(1) << (bandIndexBits - length), entry);
  });
}

} // namespace

constinit const std::array<int16_t, 2 * mostMask + 1> valuesOfBits = [] {
  std::array<int16_t, 2 * mostMask + 1> values{};
  for (int size = 1; maskOf(size) <= mostMask; ++size)
    for (uint32_t bits = 0; bits <= maskOf(size); ++bits)
      values[maskOf(size) + bits] = int16_t(valueOf(bits, size));
  return values;
}();

bool isValid(const HuffmanCode &code, bool forDc) {
  uint32_t next = 0;
  size_t symbols = 0;
  for (size_t length = 1; length <= 16; ++length, next <<= 1) {
    next += code.counts[length];
    symbols += code.counts[length];
    // No code is all ones.
    if (symbols > code.symbols.size() || (symbols > 0 && next >= 1u << length))
      return false;
  }
  return !forDc || std::all_of(code.symbols.begin(), code.symbols.begin() + long(symbols),
                               [](uint8_t symbol) { return symbol <= 15; });
}

template <class Table>
const Table &HuffmanCache::find(std::vector<Kept<Table>> &tables, const HuffmanCode &code) {
  for (Kept<Table> &kept : tables)
    if (kept.table->code == code) {
      kept.lastUse = now;
      return *kept.table;
    }
  auto oldest = std::min_element(tables.begin(), tables.end(), [](const auto &a, const auto &b) {
    return a.lastUse < b.lastUse;
  });
  if (tables.size() < mostTables) {
    tables.push_back({now, std::make_unique<Table>()});
    oldest = tables.end() - 1;
  }
  oldest->lastUse = now;
  oldest->table->code = code;
  fill(*oldest->table);
  return *oldest->table;
}

const AcTable &HuffmanCache::ac(const HuffmanCode &code) { return find(acTables, code); }
const DcTable &HuffmanCache::dc(const HuffmanCode &code) { return find(dcTables, code); }
const BandTable &HuffmanCache::band(const HuffmanCode &code) { return find(bandTables, code); }

size_t HuffmanCache::heldBytes() const {
  return acTables.size() * sizeof(AcTable) + dcTables.size() * sizeof(DcTable) +
         bandTables.size() * sizeof(BandTable);
}

} // namespace penstock::runtime
