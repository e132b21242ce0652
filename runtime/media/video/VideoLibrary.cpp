#include "runtime/media/video/VideoLibrary.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

namespace penstock::runtime {

namespace {

constexpr const char *fileName = "libpenstock_video.so";

struct Library {
  const pst_video_module *module = nullptr;
  std::string why;
};

/// Beside the library or program that this code is in; else where the system
/// looks for libraries.
std::string standardPath() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<const void *>(&videoModule), &info) || !info.dli_fname)
    return fileName;
  std::error_code failed;
  const auto self = std::filesystem::canonical(info.dli_fname, failed);
  const auto beside = self.parent_path() / fileName;
  return !failed && std::filesystem::exists(beside, failed) ? beside.string() : fileName;
}

Library loadLibrary() {
  const char *named = std::getenv("PENSTOCK_VIDEO_MODULE");
  const std::string path = named && *named ? named : standardPath();
  auto refuse = [&](const std::string &why) {
    return Library{nullptr,
                   "videos are decoded by libpenstock_video.so, which is not part of an "
                   "installation, as it is linked with FFmpeg: install libavformat-dev, "
                   "libavcodec-dev and libavutil-dev, build the target penstock_video, and put the "
                   "library beside libpenstock.so or name it in PENSTOCK_VIDEO_MODULE (" +
                       why + ")"};
  };
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return refuse(dlerror());
  using Entry = decltype(&penstock_video_module);
  const auto entry = reinterpret_cast<Entry>(dlsym(handle, "penstock_video_module"));
  if (!entry)
    return refuse(dlerror());
  const pst_video_module *module = entry();
  if (module->abi != PST_VIDEO_ABI)
    return refuse(path + " is of another version of penstock");
  return {module, ""};
}

} // namespace

Result<const pst_video_module *> videoModule() {
  static const Library library = loadLibrary();
  if (!library.module)
    return Error{Code::Unsupported, library.why};
  return library.module;
}

} // namespace penstock::runtime
