// SPDX-License-Identifier: Apache-2.0
//
// Random scripts of scans that libjpeg's encoder takes, and the liberties that files
// take between them.
#pragma once

#include "runtime/media/jpeg/JpegHeader.h"
#include "test/unit/runtime/JpegFiles.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

inline int blocksOf(const JpegRecipe &recipe) {
  int blocks = 0;
  for (int c = 0; c < recipe.components; ++c)
    blocks += recipe.factors[size_t(c)][0] * recipe.factors[size_t(c)][1];
  return recipe.components == 1 ? 1 : blocks;
}

/// Components in groups that one scan may have.
inline std::vector<std::vector<int>> componentGroups(const JpegRecipe &recipe,
                                                     std::mt19937 &random) {
  std::vector<std::vector<int>> groups;
  int blocks = 0;
  for (int c = 0; c < recipe.components; ++c) {
    const auto factors = recipe.factors[size_t(c)];
    const int own = factors[0] * factors[1];
    if (c == 0 || blocks + own > 10 || random() % 4 == 0) {
      groups.emplace_back();
      blocks = 0;
    }
    groups.back().push_back(c);
    blocks += own;
  }
  return groups;
}

inline jpeg_scan_info scanOf(const std::vector<int> &components, int first, int last, int high,
                             int low) {
  jpeg_scan_info scan = {};
  scan.comps_in_scan = int(components.size());
  for (size_t i = 0; i < components.size(); ++i)
    scan.component_index[i] = components[i];
  scan.Ss = first, scan.Se = last, scan.Ah = high, scan.Al = low;
  return scan;
}

/// Whole files: every coefficient to its last bit, in any order that is allowed.
inline std::vector<jpeg_scan_info> randomProgression(const JpegRecipe &recipe,
                                                     std::mt19937 &random) {
  std::vector<jpeg_scan_info> script;
  // Chains of scans of which each needs the one before it.
  std::vector<std::vector<jpeg_scan_info>> chains;
  const auto chain = [&](const std::vector<int> &components, int first, int last, int most) {
    int low = random() % 3 ? int(random() % 3) : int(random() % uint32_t(most + 1));
    chains.push_back({scanOf(components, first, last, 0, low)});
    for (; low > 0; --low)
      chains.back().push_back(scanOf(components, first, last, low, low - 1));
  };
  for (const auto &group : componentGroups(recipe, random))
    chain(group, 0, 0, 4);
  for (auto &ofDc : chains) { // before everything else, their first scans
    script.push_back(ofDc.front());
    ofDc.erase(ofDc.begin());
  }
  for (int c = 0; c < recipe.components; ++c)
    for (int first = 1; first < 64;) {
      const int last = random() % 3 ? std::min(63, first + int(random() % 63)) : 63;
      chain({c}, first, last, 6);
      first = last + 1;
    }
  while (!chains.empty()) {
    auto &one = chains[random() % chains.size()];
    if (!one.empty()) {
      script.push_back(one.front());
      one.erase(one.begin());
    }
    std::erase_if(chains, [](const auto &rest) { return rest.empty(); });
  }
  return script;
}

/// Sequential, in one to as many scans as there are components.
inline std::vector<jpeg_scan_info> randomScans(const JpegRecipe &recipe, std::mt19937 &random) {
  std::vector<jpeg_scan_info> script;
  for (const auto &group : componentGroups(recipe, random))
    script.push_back(scanOf(group, 0, 63, 0, 0));
  std::shuffle(script.begin(), script.end(), random);
  return script;
}

/// Adds oddities that decoders accept: fill bytes before markers, comments and applications'
/// segments, stray bytes and markers without contents between segments, tables that
/// are written again, bytes behind the image.
inline std::vector<uint8_t> withLiberties(const std::vector<uint8_t> &file, std::mt19937 &random) {
  std::vector<uint8_t> out(file.begin(), file.begin() + 2), tables;
  const auto put = [&](std::initializer_list<int> bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
  };
  const auto fill = [&] { out.insert(out.end(), random() % 3 ? 0 : random() % 4, 0xFF); };
  const auto liberty = [&] {
    switch (random() % 8) {
    case 0: // a comment, perhaps one that looks like a segment
      fill();
      put({0xFF, 0xFE, 0, 8, 0xFF, 0xDA, 0, 8, 1, 2});
      break;
    case 1:
      fill();
      put({0xFF, int(0xE1 + random() % 13), 0, 2});
      break;
    case 2: // stray bytes
      out.insert(out.end(), 1 + random() % 5, uint8_t(random() % 255));
      break;
    case 3:
      put({0xFF, random() % 2 ? 0x01 : int(0xD0 + random() % 8)});
      break;
    case 4:
      put({0xFF, 0x00});
      break;
    case 5:
      out.insert(out.end(), tables.begin(), tables.end());
      break;
    default:
      break;
    }
  };
  bool inData = false;
  for (size_t at = 2; at < file.size();) {
    if (inData) { // to the next marker
      while (at + 1 < file.size() && (file[at] != 0xFF || file[at + 1] == 0))
        out.push_back(file[at++]);
      if (at + 1 < file.size() && file[at + 1] >= 0xD0 && file[at + 1] <= 0xD7) {
        fill();
        out.insert(out.end(), file.begin() + long(at), file.begin() + long(at) + 2);
        at += 2;
        continue;
      }
      inData = false;
    }
    if (at > 2) // a file begins with a segment
      liberty();
    fill();
    const uint8_t marker = file[at + 1];
    const size_t end =
        marker == 0xD9 ? file.size() : at + 2 + size_t(file[at + 2] << 8 | file[at + 3]);
    if (marker == 0xC4 || marker == 0xDB)
      tables.assign(file.begin() + long(at), file.begin() + long(end));
    out.insert(out.end(), file.begin() + long(at), file.begin() + long(end));
    at = end;
    inData = marker == 0xDA;
  }
  out.insert(out.end(), random() % 2 ? 0 : random() % 9, 0x41);
  return out;
}

/// The samplings that encoders write, and odd ones.
inline std::array<std::array<int, 2>, 4> randomFactors(std::mt19937 &random) {
  static const std::array<std::array<std::array<int, 2>, 4>, 12> all = {{
      {{{1, 1}, {1, 1}, {1, 1}, {1, 1}}},
      {{{2, 2}, {1, 1}, {1, 1}, {2, 2}}},
      {{{2, 1}, {1, 1}, {1, 1}, {2, 1}}},
      {{{1, 2}, {1, 1}, {1, 1}, {1, 2}}},
      {{{4, 1}, {1, 1}, {1, 1}, {1, 1}}},
      {{{2, 2}, {2, 1}, {1, 1}, {1, 1}}},
      {{{2, 2}, {1, 2}, {2, 1}, {1, 1}}},
      {{{1, 1}, {2, 2}, {1, 2}, {1, 1}}},
      {{{3, 1}, {1, 1}, {1, 1}, {1, 1}}},
      {{{4, 2}, {1, 1}, {1, 1}, {1, 1}}},
      {{{1, 4}, {1, 2}, {1, 2}, {1, 1}}},
      {{{2, 2}, {2, 2}, {1, 1}, {1, 1}}},
  }};
  return all[random() % all.size()];
}

/// A file of several scans.
inline JpegRecipe randomScansRecipe(bool progressive, std::mt19937 &random) {
  JpegRecipe recipe{.name = progressive ? "progressive" : "scans"};
  recipe.components = random() % 4 ? 3 : progressive && random() % 2 ? 1 : 4;
  recipe.factors = randomFactors(random);
  recipe.stored = recipe.components == 1   ? JCS_GRAYSCALE
                  : recipe.components == 4 ? (random() % 2 ? JCS_CMYK : JCS_YCCK)
                  : random() % 4           ? JCS_YCbCr
                                           : JCS_RGB;
  recipe.restartInterval = random() % 3 ? 0 : 1 + int(random() % 40);
  recipe.quality = random() % 4 ? 60 + int(random() % 41) : 1 + int(random() % 60);
  recipe.optimised = random() % 2;
  recipe.script = progressive ? randomProgression(recipe, random) : randomScans(recipe, random);
  return recipe;
}
