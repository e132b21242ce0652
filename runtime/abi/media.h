// SPDX-License-Identifier: Apache-2.0
//
// The media that `decode` knows: numbers of their headers, and arguments of their decodes.
#pragma once

#include "runtime/abi/plan_generated.h"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace penstock::media {

/// A number of a header, which setup reads: an i64, or the bits of an f64.
struct Number {
  std::string_view name;
  bool isReal = false;
};

/// A medium gives a tensor over named axes. Compiler, plan and runtime know it by
/// its name, and numbers and arguments by their places in the lists.
struct Medium {
  std::string_view name;
  std::span<const Number> numbers;
  /// Integers that a decode is given, of each sample.
  std::span<const std::string_view> arguments;
  std::span<const std::string_view> formats;
  /// Set if the arguments choose elements of the first axis.
  bool choosesByArguments = false;
  /// Set if a decode names fields of the file in place of a format, with a blank between two; all
  /// of them where it names none.
  bool namesFields = false;
};

inline constexpr Number ofImages[] = {
    {"height"}, {"width"}, {"orientation"}, {"depth"}, {"indexed"}};
inline constexpr Number ofVideos[] = {{"height"}, {"width"}, {"orientation"}, {"frames"}};
inline constexpr std::string_view forVideos[] = {"first", "step"};
inline constexpr std::string_view ofPixels[] = {"rgb", "gray", "index"};
inline constexpr std::string_view ofFrames[] = {"rgb", "gray"};
inline constexpr Number ofNumbers[] = {{"size"}};
inline constexpr std::string_view forNumbers[] = {"skip"};
inline constexpr Number ofWaves[] = {
    {"rate"}, {"channels"}, {"samples"}, {"bits"}, {"duration", true}};
inline constexpr std::string_view ofSound[] = {"mono", "channels"};
inline constexpr std::string_view ofBytes[] = {"little", "big"};
inline constexpr Number ofNpy[] = {{"rank"},  {"axis0"}, {"axis1"}, {"axis2"}, {"axis3"},
                                   {"axis4"}, {"axis5"}, {"axis6"}, {"axis7"}};
inline constexpr std::string_view forNpy[] = {"npy"};
/// Extents and distances of voxels: as they are stored, then of the upright volume.
inline constexpr Number ofNifti[] = {{"x"},
                                     {"y"},
                                     {"z"},
                                     {"t"},
                                     {"u"},
                                     {"v"},
                                     {"w"},
                                     {"dx", true},
                                     {"dy", true},
                                     {"dz", true},
                                     {"dt", true},
                                     {"right"},
                                     {"anterior"},
                                     {"superior"},
                                     {"d_right", true},
                                     {"d_anterior", true},
                                     {"d_superior", true}};
inline constexpr std::string_view forNifti[] = {"nifti"};
/// How many points there are, and numbers of each; of an image of points, its sides.
inline constexpr Number ofPly[] = {{"points"}, {"columns"}};
inline constexpr Number ofPcd[] = {{"points"}, {"columns"}, {"width"}, {"height"}};

/// Places of the numbers that all pictures have; those of images and videos follow.
enum : size_t {
  pictureHeight,
  pictureWidth,
  pictureOrientation,
  imageDepth,
  imageIndexed, ///< 1 where a pixel is one number of at most 8 bits
  videoFrames = 3
};
enum : size_t { npyRank, npyExtent };
enum : size_t { niftiExtent, niftiDistance = 7, niftiUpright = 11, niftiUprightDistance = 14 };
enum : size_t { cloudPoints, cloudColumns, cloudWidth, cloudHeight };
enum : size_t { waveRate, waveChannels, waveSamples, waveBits, waveDuration };

inline constexpr Medium all[] = {
    {"image", ofImages, {}, ofPixels},
    {"video", ofVideos, forVideos, ofFrames, true},
    {"numbers", ofNumbers, forNumbers, ofBytes},
    {"wave", ofWaves, {}, ofSound},
    {"npy", ofNpy, {}, forNpy},
    {"nifti", ofNifti, {}, forNifti},
    {"ply", ofPly, {}, {}, false, true},
    {"pcd", ofPcd, {}, {}, false, true},
};

/// Returns whether a decode of a medium may have this format, or name these fields.
constexpr bool knowsFormat(const Medium &medium, std::string_view format) {
  for (std::string_view known : medium.formats)
    if (format == known)
      return true;
  if (!medium.namesFields)
    return false;
  bool isBehindBlank = true; // or at the beginning
  for (char c : format) {
    if ((c == ' ' && isBehindBlank) || static_cast<unsigned char>(c) < ' ')
      return false;
    isBehindBlank = c == ' ';
  }
  return format.empty() || !isBehindBlank;
}

/// Returns whether the result has rows and columns of pixels, its last axes but channels.
constexpr bool isPicture(std::string_view name) { return name == "image" || name == "video"; }

/// Returns whether the result has any type and axes, those that a decode names.
constexpr bool isOfNumbers(std::string_view name) {
  return name == "numbers" || name == "npy" || name == "nifti" || name == "ply" || name == "pcd";
}

/// Most numbers of a header, and arguments of a decode.
inline constexpr size_t mostNumbers = 17, mostArguments = 4;
using Record = std::array<int64_t, mostNumbers>;

/// The place in `all`, or -1.
constexpr int find(std::string_view name) {
  for (size_t i = 0; i < std::size(all); ++i)
    if (all[i].name == name)
      return int(i);
  return -1;
}

/// The place of a number in a medium's list, or -1.
constexpr int numberNamed(const Medium &medium, std::string_view name) {
  for (size_t i = 0; i < medium.numbers.size(); ++i)
    if (medium.numbers[i].name == name)
      return int(i);
  return -1;
}

} // namespace penstock::media
