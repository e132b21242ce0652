// SPDX-License-Identifier: Apache-2.0
//
// Damage of the kinds that JPEG files meet.
#pragma once

#include "runtime/media/jpeg/JpegHeader.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

inline size_t markerAt(const std::vector<uint8_t> &file, int number) {
  for (size_t i = 0; i + 1 < file.size(); ++i)
    if (file[i] == 0xFF && file[i + 1] >= 0xD0 && file[i + 1] <= 0xD7 && number-- == 0)
      return i;
  return 0;
}

inline std::vector<uint8_t> mutate(std::vector<uint8_t> file, std::mt19937 &random) {
  const auto info = penstock::runtime::probeJpeg(file);
  const size_t scan = info ? info->scanOffset : 0;
  for (int count = 1 + random() % 4; count > 0 && file.size() > 4; --count) {
    // Half of them in the headers, half in the data.
    size_t at = random() % 2 && scan ? random() % scan : random() % file.size();
    at = std::min(at, file.size() - 1);
    switch (random() % 9) {
    case 0:
      file[at] = uint8_t(random());
      break;
    case 1:
      file[at] ^= uint8_t(1 << random() % 8);
      break;
    case 2:
      file.erase(file.begin() + long(at));
      break;
    case 3:
      file.insert(file.begin() + long(at), uint8_t(random()));
      break;
    case 4:
      file[at] = 0xFF;
      break;
    case 5:
      file[at] = 0;
      break;
    case 6: { // a restart marker lost, or another one
      if (const size_t marker = markerAt(file, int(random() % 4))) {
        if (random() % 2)
          file.erase(file.begin() + long(marker), file.begin() + long(marker) + 2);
        else
          file[marker + 1] = uint8_t(0xD0 + random() % 10);
      }
      break;
    }
    case 7: { // a piece cut out
      const size_t end = std::min(file.size(), at + random() % 30);
      file.erase(file.begin() + long(at), file.begin() + long(end));
      break;
    }
    case 8:
      if (random() % 4 == 0) {
        file.resize(at + 1);
        if (random() % 2)
          file.insert(file.end(), {0xFF, 0xD9});
      }
      break;
    }
  }
  return file;
}

/// Returns the offsets of segments with this marker, as far as the file can be read.
inline std::vector<size_t> segmentsOf(const std::vector<uint8_t> &file, uint8_t marker) {
  std::vector<size_t> found;
  for (size_t at = 2; at + 3 < file.size();) {
    if (file[at] != 0xFF || file[at + 1] == 0 || file[at + 1] == 0xFF ||
        (file[at + 1] >= 0xD0 && file[at + 1] <= 0xD9)) {
      ++at;
      continue;
    }
    if (file[at + 1] == marker)
      found.push_back(at);
    at += 2 + size_t(file[at + 2] << 8 | file[at + 3]);
  }
  return found;
}

/// Scans lost, twice, in another order, with other parameters, or shorter.
inline std::vector<uint8_t> mutateScans(std::vector<uint8_t> file, std::mt19937 &random) {
  const std::vector<size_t> scans = segmentsOf(file, 0xDA);
  if (scans.empty() || file.size() < 4)
    return file;
  const size_t number = random() % scans.size(), at = scans[number];
  const size_t end = number + 1 < scans.size() ? scans[number + 1] : file.size() - 2;
  const std::vector<uint8_t> scan(file.begin() + long(at), file.begin() + long(end));
  const size_t header = 2 + size_t(file[at + 2] << 8 | file[at + 3]);
  switch (random() % 6) {
  case 0:
    file.erase(file.begin() + long(at), file.begin() + long(end));
    break;
  case 1:
    file.insert(file.begin() + long(at), scan.begin(), scan.end());
    break;
  case 2: // to somewhere else
    file.erase(file.begin() + long(at), file.begin() + long(end));
    file.insert(file.begin() + long(scans[random() % (number + 1)]), scan.begin(), scan.end());
    break;
  case 3: // coefficients, approximation, components, or codes
    if (header <= scan.size()) {
      uint8_t &byte = file[at + 4 + random() % (header - 4)];
      byte = random() % 2 ? uint8_t(byte + 1 - 2 * int(random() % 2)) : uint8_t(random() % 64);
    }
    break;
  case 4: // bytes lost at its end
    file.erase(file.begin() + long(end - std::min<size_t>(1 + random() % 4, scan.size())),
               file.begin() + long(end));
    break;
  default: // nothing but its header
    if (header < scan.size())
      file.erase(file.begin() + long(at + header), file.begin() + long(end));
  }
  return file;
}
