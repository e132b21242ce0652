// SPDX-License-Identifier: Apache-2.0
//
// How the tests read tar files: with buffers that do not outlive their promise.
#pragma once

#include "runtime/sources/Tar.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace penstock::test {

/// Reads as the runtime does from files: what one call gave is gone with the next.
/// Each answer has memory of its own, of its size exactly; it is overwritten before
/// it is freed, so that a late look at it shows without a sanitizer too.
inline runtime::TarRead shortLivedReads(std::span<const uint8_t> file) {
  struct Answer {
    std::unique_ptr<uint8_t[]> bytes;
    size_t size = 0;
    ~Answer() { forget(); }
    void forget() {
      volatile uint8_t *all = bytes.get();
      for (size_t i = 0; i < size; ++i)
        all[i] = 0xE5;
    }
  };
  auto last = std::make_shared<Answer>();
  return [file, last](uint64_t at, size_t count) -> runtime::Result<std::span<const uint8_t>> {
    const size_t from = std::min<uint64_t>(at, file.size());
    const size_t size = std::min(count, file.size() - from);
    last->forget();
    last->size = 0;
    last->bytes = std::make_unique<uint8_t[]>(size);
    last->size = size;
    std::copy_n(file.data() + from, size, last->bytes.get());
    return std::span<const uint8_t>(last->bytes.get(), size);
  };
}

/// All members; where that ends with an error, its message too.
struct TarListing {
  std::vector<runtime::TarMember> members;
  std::string error;

  bool operator==(const TarListing &other) const {
    const auto same = [](const runtime::TarMember &a, const runtime::TarMember &b) {
      return a.name == b.name && a.offset == b.offset && a.size == b.size;
    };
    return error == other.error && members.size() == other.members.size() &&
           std::equal(members.begin(), members.end(), other.members.begin(), same);
  }
};

/// Every member takes a block at least: there are no more of them.
inline TarListing listTar(runtime::TarReader reader, size_t most) {
  TarListing list;
  while (list.members.size() <= most) {
    runtime::TarMember member;
    const auto more = reader.next(member);
    if (!more)
      list.error = more.error().message;
    if (!more || !*more)
      break;
    list.members.push_back(std::move(member));
  }
  return list;
}

} // namespace penstock::test
