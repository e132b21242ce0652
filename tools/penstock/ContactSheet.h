// SPDX-License-Identifier: Apache-2.0
//
// Pictures in rows, with captions below, as a PNG file. Drawing and PNG are libgd's, which is
// opened when the first sheet is made: it has a library for each kind of picture behind it, with
// which every command would take longer to start.
#pragma once

#include "tools/penstock/Picture.h"
#include <string>
#include <vector>

namespace penstock::cli {

struct Tile {
  Picture picture;
  std::vector<std::string> caption;
};

/// Characters that fit below a picture of this width. A narrow picture gets a
/// cell wide enough to be read.
int captionColumns(int width);

/// Writes tiles in rows of `columns`, captions below. Returns why it cannot, or nothing.
std::string writeContactSheet(const std::string &path, const std::vector<Tile> &tiles, int columns);

} // namespace penstock::cli
