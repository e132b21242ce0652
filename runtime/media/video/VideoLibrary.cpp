// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/video/VideoLibrary.h"

#include "runtime/core/Memory.h"

#include <cerrno>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <new>

namespace penstock::runtime {

namespace {

constexpr const char *fileName = "libpenstock_video.so";

struct Library {
  const pst_video_module *module = nullptr;
  std::string why;
};

/// The folder of the library or program that this code is in; empty where that is not known.
std::filesystem::path ownFolder() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<const void *>(&videoModule), &info) || !info.dli_fname)
    return {};
  std::error_code failed;
  const auto self = std::filesystem::canonical(info.dli_fname, failed);
  return failed ? std::filesystem::path() : self.parent_path();
}

/// A file below that folder; `other` where it is not there.
std::string pathBeside(const char *file, const char *other) {
  std::error_code failed;
  const auto path = ownFolder() / file;
  return path.is_absolute() && std::filesystem::exists(path, failed) ? path.string() : other;
}

/// An installation has the module's sources and a command, a build tree a target.
std::string howToBuild() {
  const std::string command = pathBeside("penstock-video/build", "");
  return command.empty()
             ? "build the target penstock_video, and put the library beside libpenstock.so"
             : "run `sh " + command + "`, which builds it against this machine's FFmpeg";
}

/// Throws std::bad_alloc: there may be memory the next time.
Library loadLibrary() {
  const char *named = std::getenv("PENSTOCK_VIDEO_MODULE");
  const std::string path = named && *named ? named : pathBeside(fileName, fileName);
  auto refuse = [&](const std::string &why) {
    return Library{nullptr, "videos, and sound that is neither WAV nor FLAC, are decoded by "
                            "libpenstock_video.so, which is not part of an installation, as it is "
                            "linked with FFmpeg: install libavformat-dev, "
                            "libavcodec-dev and libavutil-dev, and " +
                                howToBuild() + ", or name it in PENSTOCK_VIDEO_MODULE (" + why +
                                ")"};
  };
  errno = 0;
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle && errno == ENOMEM)
    throw std::bad_alloc();
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
  try {
    static const Library library = loadLibrary();
    if (!library.module)
      return Error{Code::Unsupported, library.why};
    return library.module;
  } catch (const std::bad_alloc &) {
    return noMemory("to open libpenstock_video.so");
  }
}

} // namespace penstock::runtime
