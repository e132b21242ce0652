// SPDX-License-Identifier: Apache-2.0
//
// FFmpeg's libraries call av_log() of libavutil. This library has a function of the same name:
// where it is opened before them, theirs is looked up here first. Nothing of the process is
// changed, neither FFmpeg's level nor its callback. Calls inside of libavutil do not come here: the
// functions of it that report by themselves, to a context of their own, are stood in for likewise.
#include "runtime/media/video/ffmpeg/Reports.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavutil/error.h>
#include <libavutil/imgutils.h>
#include <libavutil/log.h>
}

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <new>

namespace penstock::video {

namespace {

struct Kept {
  int readers = 0;
  std::string first;
};
thread_local Kept kept;

void keep(void *context, int level, const char *format, va_list arguments) {
  const AVClass *known = context ? *static_cast<const AVClass **>(context) : nullptr;
  const int offset = known && known->log_level_offset_offset
                         ? *reinterpret_cast<const int *>(static_cast<const char *>(context) +
                                                          known->log_level_offset_offset)
                         : 0;
  if (level > AV_LOG_ERROR || offset == unheard || !kept.first.empty())
    return;
  char text[160] = {};
  std::vsnprintf(text, sizeof text, format, arguments);
  if (std::strncmp(text, "warning", 7) == 0) // H.261's of every file, as an error
    return;
  try {
    if (known && known->item_name)
      kept.first = std::string(known->item_name(context)) + ": ";
    kept.first += text;
  } catch (const std::bad_alloc &) { // FFmpeg's code is on the stack
  }
  while (!kept.first.empty() && (kept.first.back() == '\n' || kept.first.back() == '.'))
    kept.first.pop_back();
}

void keepLine(void *context, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  keep(context, AV_LOG_ERROR, format, arguments);
  va_end(arguments);
}

/// libavutil's own function of that name; null if it has none.
template <typename Function> Function *ownOf(Function *, const char *name) {
  Dl_info place;
  void *library = dladdr(reinterpret_cast<void *>(&av_vlog), &place)
                      ? dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
                      : nullptr;
  return library ? reinterpret_cast<Function *>(dlsym(library, name)) : nullptr;
}

/// What it returns of a picture's size; its report is kept, and not shown.
template <typename Check>
int checkSize(unsigned width, unsigned height, void *context, const Check &check) {
  const int code = check(kept.readers ? quiet : 0);
  if (code < 0 && kept.readers)
    keepLine(context, "Picture size %ux%u is invalid", width, height);
  return code;
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

bool Reports::areHeard() {
  static const bool are = [] {
    AVCodecContext *context = avcodec_alloc_context3(nullptr);
    if (!context)
      return false;
    context->log_level_offset = quiet;
    const std::string before = take();
    (void)avcodec_open2(context, nullptr, nullptr); // there is no codec, as it reports
    avcodec_free_context(&context);
    const bool isHeard = !take().empty();
    kept.first = before;
    return isHeard;
  }();
  return are;
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

extern "C" __attribute__((visibility("default"))) int
av_image_check_size2(unsigned width, unsigned height, int64_t most, AVPixelFormat format,
                     int logOffset, void *context) {
  static const auto own = penstock::video::ownOf(&av_image_check_size2, "av_image_check_size2");
  return penstock::video::checkSize(width, height, context, [&](int more) {
    return own ? own(width, height, most, format, logOffset + more, context) : AVERROR(ENOSYS);
  });
}

extern "C" __attribute__((visibility("default"))) int
av_image_check_size(unsigned width, unsigned height, int logOffset, void *context) {
  static const auto own = penstock::video::ownOf(&av_image_check_size, "av_image_check_size");
  return penstock::video::checkSize(width, height, context, [&](int more) {
    return own ? own(width, height, logOffset + more, context) : AVERROR(ENOSYS);
  });
}
