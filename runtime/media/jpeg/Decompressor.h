// SPDX-License-Identifier: Apache-2.0
//
// libjpeg's decompressor as JpegDecoder wants it: over bytes in memory, with
// errors that jump.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/media/jpeg/JpegHeader.h"
#include "runtime/media/jpeg/TurboSeam.h"

#include <csetjmp>
#include <span>

namespace penstock::runtime {

/// libjpeg's errors, and those of its warnings that mean damage, jump to `escape`:
///
///     if (setjmp(escape)) {
///       jpeg_abort_decompress(&cinfo);
///       return failure(...);
///     }
///
/// So whatever must survive that lives in members, and nothing on the stack of
/// what calls libjpeg may have a destructor.
class Decompressor : public TurboSeam {
protected:
  explicit Decompressor(const ImageLimits &limits);
  ~Decompressor();

  /// Calls jpeg_read_header() for a file; forgets the error of the last one.
  void readHeader(std::span<const uint8_t> bytes);
  /// Jumps to `escape`, as for data that end early.
  void failTruncated();
  /// Returns the error for which libjpeg jumped, in our words.
  Error failure(const JpegInfo &info, size_t fileSize) const;

  jpeg_decompress_struct cinfo{};
  std::jmp_buf escape;
  bool created = false; ///< else there was no memory for a decompressor

private:
  static Decompressor &of(j_common_ptr info);
  static Decompressor &of(j_decompress_ptr info);
  void installErrors();
  void installSource();
  void installProgress();

  const ImageLimits limits;
  jpeg_error_mgr errors{};
  jpeg_source_mgr source{};
  jpeg_progress_mgr progress{};
  bool pastEnd = false;
  bool tooManyScans = false;
  char reason[JMSG_LENGTH_MAX] = "";
  int reasonCode = 0;
};

} // namespace penstock::runtime
