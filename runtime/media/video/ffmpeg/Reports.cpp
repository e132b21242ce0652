// SPDX-License-Identifier: Apache-2.0
//
// FFmpeg's libraries call av_log() of libavutil. This library has a function of the same name:
// where it is opened before them, theirs is looked up here first. Nothing of the process is
// changed, neither FFmpeg's level nor its callback.
#include "runtime/media/video/ffmpeg/Reports.h"

extern "C" {
#include <libavutil/log.h>
}

#include <cstdarg>
#include <cstdio>

namespace penstock::video {

namespace {

struct Kept {
  int readers = 0;
  std::string first;
};
thread_local Kept kept;

void keep(void *context, int level, const char *format, va_list arguments) {
  if (level > AV_LOG_ERROR || !kept.first.empty())
    return;
  const AVClass *known = context ? *static_cast<const AVClass **>(context) : nullptr;
  if (known && known->item_name)
    kept.first = std::string(known->item_name(context)) + ": ";
  char text[160] = {};
  std::vsnprintf(text, sizeof text, format, arguments);
  kept.first += text;
  while (!kept.first.empty() && (kept.first.back() == '\n' || kept.first.back() == '.'))
    kept.first.pop_back();
}

} // namespace

Reports::Reports() {
  ++kept.readers;
  kept.first.clear();
}

Reports::~Reports() { --kept.readers; }

std::string Reports::take() {
  std::string first = std::move(kept.first);
  kept.first.clear();
  return first;
}

} // namespace penstock::video

extern "C" __attribute__((visibility("default"))) void av_log(void *context, int level,
                                                              const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (penstock::video::kept.readers)
    penstock::video::keep(context, level, format, arguments);
  else
    av_vlog(context, level, format, arguments);
  va_end(arguments);
}
