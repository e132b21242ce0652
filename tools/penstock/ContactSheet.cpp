// SPDX-License-Identifier: Apache-2.0
#include "tools/penstock/ContactSheet.h"
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <gd.h>
#include <gdfonts.h>
#include <memory>
#include <sys/stat.h>
#include <type_traits>

using namespace penstock::cli;

/// Pixels of a cell; five words fit.
static int cellWidth(int pictureWidth) { return std::max(pictureWidth, 160); }

/// Of libgd's small font (gdfonts.h), a character.
static constexpr int fontWidth = 6;

int penstock::cli::captionColumns(int width) { return cellWidth(width) / fontWidth; }

namespace {
struct Gd {
  decltype(&gdFontGetSmall) smallFont;
  decltype(&gdImageCreateTrueColor) create;
  decltype(&gdImageDestroy) destroy;
  decltype(&gdImageFilledRectangle) fill;
  decltype(&gdImageSetPixel) setPixel;
  decltype(&gdImageString) write;
  decltype(&gdImagePngPtr) png;
  decltype(&gdFree) free;
  std::string why; ///< it is not there
};
} // namespace

static Gd openGd() {
  constexpr const char *name = "libgd.so.3";
  Gd gd = {};
  void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  auto take = [&](auto &function, const char *symbol) {
    if (library)
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, symbol));
    if (!function && gd.why.empty())
      gd.why =
          std::string("pictures are drawn by libgd, which cannot be opened; install libgd3 (") +
          dlerror() + ")";
  };
  take(gd.smallFont, "gdFontGetSmall");
  take(gd.create, "gdImageCreateTrueColor");
  take(gd.destroy, "gdImageDestroy");
  take(gd.fill, "gdImageFilledRectangle");
  take(gd.setPixel, "gdImageSetPixel");
  take(gd.write, "gdImageString");
  take(gd.png, "gdImagePngPtr");
  take(gd.free, "gdFree");
  return gd;
}

std::string penstock::cli::writeContactSheet(const std::string &path,
                                             const std::vector<Tile> &tiles, int columns) {
  const Gd gd = openGd();
  if (!gd.why.empty())
    return gd.why;
  const gdFontPtr font = gd.smallFont();
  constexpr int gap = 6;
  int width = 0, height = 0, lines = 0;
  for (const Tile &tile : tiles) {
    width = std::max(width, cellWidth(tile.picture.width));
    height = std::max(height, tile.picture.height);
    lines = std::max(lines, static_cast<int>(tile.caption.size()));
  }
  const int cellHeight = height + lines * font->h + gap;
  const int rows = (static_cast<int>(tiles.size()) + columns - 1) / columns;
  const std::unique_ptr<gdImage, decltype(gd.destroy)> sheet(
      gd.create(gap + columns * (width + gap), gap + rows * (cellHeight + gap)), gd.destroy);
  if (!sheet)
    return std::strerror(ENOMEM);
  gd.fill(sheet.get(), 0, 0, gdImageSX(sheet.get()), gdImageSY(sheet.get()),
          gdTrueColor(255, 255, 255));
  for (size_t i = 0; i < tiles.size(); ++i) {
    const Picture &picture = tiles[i].picture;
    const int left = gap + static_cast<int>(i) % columns * (width + gap);
    const int top = gap + static_cast<int>(i) / columns * (cellHeight + gap);
    for (int y = 0; y < picture.height; ++y)
      for (int x = 0; x < picture.width; ++x) {
        const uint8_t *pixel = &picture.rgb[static_cast<size_t>(3 * (y * picture.width + x))];
        gd.setPixel(sheet.get(), left + x, top + y, gdTrueColor(pixel[0], pixel[1], pixel[2]));
      }
    int line = top + height + 2;
    for (std::string caption : tiles[i].caption) {
      caption.resize(std::min(caption.size(), static_cast<size_t>(width / font->w)));
      gd.write(sheet.get(), font, left, line, reinterpret_cast<unsigned char *>(caption.data()),
               gdTrueColor(0, 0, 0));
      line += font->h;
    }
  }
  const std::unique_ptr<FILE, decltype(&std::fclose)> file(std::fopen(path.c_str(), "wb"),
                                                           &std::fclose);
  if (!file)
    return std::strerror(errno);
  int length = 0;
  const std::unique_ptr<void, decltype(gd.free)> png(gd.png(sheet.get(), &length), gd.free);
  errno = ENOMEM; // fwrite() and fflush() set it anew
  const bool isWritten = png &&
                         std::fwrite(png.get(), 1, size_t(length), file.get()) == size_t(length) &&
                         std::fflush(file.get()) == 0;
  const std::string why = isWritten ? "" : std::strerror(errno);
  struct stat info;
  if (!isWritten && ::fstat(::fileno(file.get()), &info) == 0 && S_ISREG(info.st_mode))
    std::remove(path.c_str()); // part of a sheet, or none of it; never a device
  return why;
}
