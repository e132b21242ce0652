// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/HeaderIndex.h"

#include "runtime/sources/IndexCache.h"
#include "runtime/sources/IndexHeader.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

namespace penstock::runtime {

namespace {

/// Counts up when headers are read otherwise.
constexpr std::array<char, 8> headersMagic = {'P', 'S', 'T', 'K', 'H', 'D', 'R', '1'};

/// A kept index: this, then rows in the order of their keys, each a key and its numbers.
struct KeptHeaders : IndexHeader {
  uint64_t width, count;
};

CacheFolder headersBelow(const CacheFolder &folder) {
  if (folder.path.empty())
    return {};
  return {folder.path + "/headers", folder.mostBytes ? HeaderIndex::mostKeptBytes : 0};
}

} // namespace

HeaderIndex::Key HeaderIndex::keyOf(std::span<const MediaPlace> places, uint64_t library) {
  std::vector<uint8_t> text;
  auto put = [&](const void *bytes, size_t size) {
    text.insert(text.end(), static_cast<const uint8_t *>(bytes),
                static_cast<const uint8_t *>(bytes) + size);
  };
  put(&library, sizeof library);
  for (const MediaPlace &place : places) {
    const std::string name = absolutePath(place.name);
    const std::array<uint64_t, 4> numbers = {name.size(), place.offset, place.size,
                                             uint64_t(place.modifiedNs)};
    put(numbers.data(), sizeof numbers);
    put(name.data(), name.size());
  }
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return {hash.high64, hash.low64};
}

HeaderIndex::HeaderIndex(FileSystem &files, const CacheFolder &given, std::string_view name,
                         size_t width)
    : files(files), folder(headersBelow(given)), name(name), width(width) {
  KeptHeaders header;
  if (IndexCache(files, folder, "headers", name).read(kept) &&
      IndexHeader::open(kept.span(), headersMagic, header) && header.width == width &&
      (kept.size() - sizeof header) % (rowWords() * sizeof(uint64_t)) == 0 &&
      header.count == (kept.size() - sizeof header) / (rowWords() * sizeof(uint64_t)))
    count = size_t(header.count);
}

const uint64_t *HeaderIndex::row(size_t number) const {
  return reinterpret_cast<const uint64_t *>(kept.data() + sizeof(KeptHeaders)) +
         number * rowWords();
}

const int64_t *HeaderIndex::find(const Key &key) const {
  size_t low = 0, high = count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const uint64_t *at = row(middle);
    if (Key{at[0], at[1]} < key)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == count || key == Key{} || Key{row(low)[0], row(low)[1]} != key)
    return nullptr;
  return reinterpret_cast<const int64_t *>(row(low) + std::tuple_size_v<Key>);
}

void HeaderIndex::keep(std::span<const Key> keys, std::span<const int64_t> numbers) const {
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](size_t i) { return keys[i] == Key{}; });
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return keys[a] < keys[b]; });
  const size_t rowBytes = rowWords() * sizeof(uint64_t);
  std::vector<uint8_t> block(sizeof(KeptHeaders) + order.size() * rowBytes);
  uint8_t *to = block.data() + sizeof(KeptHeaders);
  for (size_t i : order) {
    std::memcpy(to, keys[i].data(), sizeof(Key));
    std::memcpy(to + sizeof(Key), numbers.data() + i * width, width * sizeof(int64_t));
    to += rowBytes;
  }
  IndexHeader::seal(block, KeptHeaders{{headersMagic, 0, 0}, width, order.size()});
  IndexCache(files, folder, "headers", name).keep(block, 0);
}

} // namespace penstock::runtime
