// SPDX-License-Identifier: Apache-2.0
//
// Lookup tables for the Huffman codes of JPEG files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace penstock::runtime {

/// A code as a DHT segment has it: how many codes there are of each length
/// (from index 1 on), and their symbols, shortest code first.
struct HuffmanCode {
  std::array<uint8_t, 17> counts{};
  std::array<uint8_t, 256> symbols{};
  bool operator==(const HuffmanCode &) const = default;
};

/// Returns whether libjpeg takes it: no more codes of a length than fit, and for
/// differences of DC coefficients no symbol above 15.
bool isValid(const HuffmanCode &code, bool forDc);

/// For codes that the tables below do not hold. The next 16 bits of the data
/// are a code of the first length whose `limits` entry exceeds them.
struct LongCodes {
  std::array<uint32_t, 17> limits{};
  std::array<int32_t, 17> offsets{}; // of a length's first symbol, less its first code
  std::array<uint8_t, 256> symbols{};
};

/// Skip of an end-of-block code: takes `k`, the next coefficient's index, beyond 63. The block
/// ended at index `k - blockEnd`.
constexpr unsigned blockEnd = 128;

/// The skip of entries for codes that only LongCodes knows: a place where no
/// block ends.
constexpr int longCodeSkip = 64;

/// One lookup of coefficients: one or two symbols. The value of the last one is
/// in the data, where it may reach beyond the index: the last of `bits`, under
/// `mask`. Where there is one only, `firstSkip` is its place too, and `first` is
/// overwritten.
struct PairEntry {
  int16_t first;           // value of the first of two
  uint16_t mask;           // at most `mostMask`
  uint8_t firstSkip, skip; // added to the index by the first, by both
  uint8_t firstBits, bits; // taken from the data; 0: LongCodes knows
};

/// Values of coefficients, by their bits plus the mask of their width.
constexpr unsigned mostMask = (1 << 10) - 1;
extern const std::array<int16_t, 2 * mostMask + 1> valuesOfBits;

/// Any number of symbols of which only the index and the length matter; the
/// last one's value may reach beyond the index.
struct CountEntry {
  uint8_t bits, skip; // bits 0: LongCodes knows
};

struct DifferenceEntry {
  uint16_t mask; // as in PairEntry
  uint8_t bits;  // 0: LongCodes knows
};

/// One symbol of a progressive scan of AC coefficients, with its value, which may
/// reach beyond the index: the last of `bits`, under `mask`. The end of a band has
/// a skip of `blockEnd`, and `runBits` behind it.
struct BandEntry {
  uint16_t mask;
  uint8_t bits, skip; // bits 0: LongCodes knows
  uint8_t runBits;
};

constexpr int bandIndexBits = 10;
constexpr int pairIndexBits = 10;
constexpr int countIndexBits = 12;
constexpr int differenceIndexBits = 9;

struct AcTable {
  HuffmanCode code;
  std::array<PairEntry, 1 << pairIndexBits> pairs;
  std::array<CountEntry, 1 << countIndexBits> counts;
  LongCodes longCodes;
};

struct BandTable {
  HuffmanCode code;
  std::array<BandEntry, 1 << bandIndexBits> entries;
  LongCodes longCodes;
};

struct DcTable {
  HuffmanCode code;
  std::array<DifferenceEntry, 1 << differenceIndexBits> differences;
  LongCodes longCodes;
};

/// Tables by the content of their codes: most files use the standard ones. What
/// was used longest ago makes room, but never what was taken since begin().
class HuffmanCache {
public:
  /// Starts the work on a scan, which takes at most 4 tables of each kind.
  void begin() { ++now; }
  const AcTable &ac(const HuffmanCode &code);
  const DcTable &dc(const HuffmanCode &code);
  const BandTable &band(const HuffmanCode &code);
  size_t heldBytes() const;

private:
  template <class Table> struct Kept {
    uint64_t lastUse;
    std::unique_ptr<Table> table;
  };
  template <class Table>
  const Table &find(std::vector<Kept<Table>> &tables, const HuffmanCode &code);

  uint64_t now = 0;
  std::vector<Kept<AcTable>> acTables;
  std::vector<Kept<DcTable>> dcTables;
  std::vector<Kept<BandTable>> bandTables;
};

} // namespace penstock::runtime
