// SPDX-License-Identifier: Apache-2.0
//
// Capture of the log messages of FFmpeg's libraries.
#pragma once

#include <string>

namespace penstock::video {

/// Added to the level of our objects' reports: more than any level that is shown
/// (the last is 56; higher bits than the lowest eight are a colour). FFmpeg's own
/// level and callback are the whole process's, and perhaps somebody's.
constexpr int quiet = 150;
/// Likewise, of objects whose reports are nobody's reason.
constexpr int unheard = quiet + 1;

/// While one of these lives, reports of FFmpeg's on this thread are kept here and not shown. One
/// at a time on a thread.
///
/// That is so where this library has brought FFmpeg's into the process. Where they were there
/// before, their reports go the way they went: those of contexts at levels that are not shown.
class Reports {
public:
  Reports();
  ~Reports();
  Reports(const Reports &) = delete;
  Reports &operator=(const Reports &) = delete;

  /// Returns the first error since the last call on this thread, as "h264: no frame!"; empty if
  /// there was none.
  static std::string take();
  /// Returns whether reports are kept here, and not where they went before.
  static bool areHeard();
};

} // namespace penstock::video
