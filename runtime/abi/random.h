// SPDX-License-Identifier: Apache-2.0
//
// Counter-based random numbers: the definition of every draw.
//
// Philox-4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011) and the layout that docs/scalars.md states: counter words are position (48 bits),
// view (16), epoch (32) and block (32); the key is mix(seed, indices, id).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace penstock::random {

/// Ten rounds of Philox-4x32.
constexpr std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter,
                                         std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53u} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

/// One 64-bit mixing step: the finaliser of splitmix64 (Steele et al., 2014)
/// over the state and a value.
constexpr uint64_t mix(uint64_t state, uint64_t value) {
  uint64_t z = state + 0x9E3779B97F4A7C15u + value * 0xD1342543DE82EF95u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/// The id of a draw: FNV-1a over its user-visible path.
constexpr uint64_t drawId(std::string_view path) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (char c : path)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

/// The key of a scope. `state` starts as the seed and takes one mix() per
/// enclosing repeat or search index, outermost first.
struct Key {
  uint64_t state;
  uint64_t position; // 48 bits count
  uint32_t epoch;
  uint16_t view;

  constexpr Key withView(uint64_t v) const {
    return {state, position, epoch, static_cast<uint16_t>(v)};
  }
  constexpr Key mixed(uint64_t index) const { return {mix(state, index), position, epoch, view}; }
};

/// 64 random bits: element `element` of the draw `id` (words 2e and 2e + 1).
constexpr uint64_t bits(const Key &key, uint64_t id, uint64_t element = 0) {
  const uint64_t k = mix(key.state, id);
  const auto words = philox({static_cast<uint32_t>(key.position),
                             static_cast<uint32_t>((key.position >> 32) & 0xFFFFu) |
                                 (static_cast<uint32_t>(key.view) << 16),
                             key.epoch, static_cast<uint32_t>(element / 2)},
                            {static_cast<uint32_t>(k), static_cast<uint32_t>(k >> 32)});
  const unsigned first = (element % 2) * 2;
  return (static_cast<uint64_t>(words[first]) << 32) | words[first + 1];
}

/// Uniform in [low, high); `low` where rounding would give `high`.
constexpr double uniform(uint64_t b, double low, double high) {
  const double unit = static_cast<double>(b >> 11) * 0x1p-53;
  const double value = low + unit * (high - low);
  return value < high ? value : low;
}

/// Uniform in [low, end); `low` for an empty range.
constexpr int64_t integer(uint64_t b, int64_t low, int64_t end) {
  if (end <= low)
    return low;
  const uint64_t n = static_cast<uint64_t>(end) - static_cast<uint64_t>(low);
  // The high half of b * n, from 32-bit products.
  const uint64_t bh = b >> 32, bl = b & 0xFFFFFFFFu, nh = n >> 32, nl = n & 0xFFFFFFFFu;
  const uint64_t middle = bh * nl + ((bl * nl) >> 32);
  const uint64_t middle2 = bl * nh + (middle & 0xFFFFFFFFu);
  const uint64_t high = bh * nh + (middle >> 32) + (middle2 >> 32);
  return static_cast<int64_t>(static_cast<uint64_t>(low) + high);
}

/// Returns the image of i under a keyed permutation of 0 ..< n; i itself if n <= 1 or i lies
/// outside. Eight Feistel rounds over the next even number of bits (with four, n below 50 is
/// visibly uneven), walked along the cycle until the image is below n.
constexpr uint64_t permute(uint64_t key, uint64_t n, uint64_t i) {
  if (n <= 1 || i >= n)
    return i;
  unsigned half = 1;
  while (half < 32 && (uint64_t{1} << (2 * half)) < n)
    ++half;
  const uint64_t mask = (uint64_t{1} << half) - 1;
  do {
    uint64_t left = i >> half, right = i & mask;
    for (uint64_t round = 0; round < 8; ++round) {
      const uint64_t next = left ^ (mix(key + round, right) & mask);
      left = right;
      right = next;
    }
    i = (left << half) | right;
  } while (i >= n);
  return i;
}

} // namespace penstock::random
