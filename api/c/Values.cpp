// SPDX-License-Identifier: Apache-2.0
//
// Text of parameters, folders, files.
#include "api/c/Values.h"
#include "dsl/AST/Numbers.h"
#include "runtime/abi/scalar.h"
#include "runtime/remote/RemoteFileSystem.h"
#include "runtime/sched/OpenSource.h"
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace penstock;
using namespace penstock::api;
using runtime::Code;
using runtime::Error;

runtime::Result<Value> api::parseValue(const std::string &text, plan::DType type,
                                       const std::string &declared) {
  const std::string exceeded = dsl::exceeded(declared, text);
  const Error wrong{Code::InvalidArgument,
                    "`" + text +
                        (exceeded.empty() ? "` is not " + dsl::describeValues(declared)
                                          : "` does not fit " + exceeded)};
  if (type == plan::DType::text)
    return Value(text);
  if (type == plan::DType::boolean) {
    if (text == "true" || text == "false")
      return Value(text == "true");
    return wrong;
  }
  std::optional<dsl::Number> number = dsl::parseNumber(declared, text);
  if (!number)
    return wrong;
  if (type == plan::DType::f64)
    return Value(number->value);
  return number->whole ? runtime::Result<Value>(Value(*number->whole)) : wrong;
}

/// A number as its type holds it.
static double held(const std::string &type, double value) {
  return type == "f32"    ? double(float(value))
         : type == "f16"  ? scalar::fromHalf(scalar::toHalf(value))
         : type == "bf16" ? scalar::fromBfloat(scalar::toBfloat(value))
                          : value;
}

/// The ends of a range, and what stands between them; none where it is none.
static std::vector<std::string> partsOf(const std::string &range) {
  const size_t dots = range.find("..");
  if (dots == std::string::npos)
    return {};
  const size_t size = range.compare(dots, 3, "..=") == 0 ? 3 : 2;
  return {range.substr(0, dots), range.substr(dots + size), range.substr(dots, size)};
}

bool api::isSameValue(const std::string &type, const std::string &a, const std::string &b) {
  if (a == b)
    return true;
  if (type == "range") {
    const auto left = partsOf(a), right = partsOf(b);
    return !left.empty() && !right.empty() && left[2] == right[2] &&
           isSameValue("f64", left[0], right[0]) && isSameValue("f64", left[1], right[1]);
  }
  const auto left = dsl::parseNumber(type, a), right = dsl::parseNumber(type, b);
  if (!left || !right)
    return false;
  return left->whole ? left->whole == right->whole
                     : held(type, left->value) == held(type, right->value);
}

std::string api::defaultCacheFolder() {
  // The XDG rules: a relative path is to be ignored.
  if (const char *base = std::getenv("XDG_CACHE_HOME"); base && *base == '/')
    return std::string(base) + "/penstock";
  if (const char *home = std::getenv("HOME"); home && *home)
    return std::string(home) + "/.cache/penstock";
  return {};
}

bool api::preparePrivateFolder(const std::string &folder) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(folder).parent_path(), ignored);
  ::mkdir(folder.c_str(), 0700);
  struct stat info{};
  return ::stat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
         info.st_uid == ::geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// What a URL opens: itself where it is a folder, else its folder. Servers do not say which it is;
/// names of files have a dot.
static std::string opened(const std::string &given, bool isFolder) {
  std::string url = runtime::absolutePath(given);
  std::string folder = runtime::folderOf(url);
  const bool hasDot = url.find('.', folder.size()) != std::string::npos;
  return hasDot && !isFolder ? folder : url;
}

/// The folder of shards that are written as `train-{000..146}.tar`; else the path as it is.
static std::string withoutNumbers(const std::string &path) {
  const size_t brace = path.find('{');
  return brace == std::string::npos
             ? path
             : runtime::folderOf(runtime::absolutePath(path.substr(0, brace) + "x"));
}

/// Files of this machine, and what URLs point to.
static runtime::Result<std::unique_ptr<runtime::FileSystem>>
withUrls(std::unique_ptr<runtime::FileSystem> files, std::vector<std::string> urls,
         const api::RemoteCache &cache) {
  std::unique_ptr<runtime::DiskCache> kept;
  if (!cache.folder.empty()) {
    const std::string folder = runtime::absolutePath(cache.folder);
    if (!api::preparePrivateFolder(folder))
      return runtime::Error{runtime::Code::Permission,
                            "cannot keep remote files in " + folder +
                                ": the folder cannot be made, is another user's, or others may "
                                "write to it"};
    auto opened = runtime::DiskCache::open(folder, cache.mostBytes);
    if (!opened)
      return opened.error();
    kept = std::move(*opened);
  }
  return std::unique_ptr<runtime::FileSystem>(std::make_unique<runtime::RemoteFileSystem>(
      std::move(files), std::move(urls), std::move(kept)));
}

runtime::Result<std::unique_ptr<runtime::FileSystem>>
api::openFiles(const runtime::Plan &plan, const runtime::SessionOptions &options,
               const std::vector<std::string> &allowedFolders, const RemoteCache &cache) {
  std::vector<runtime::RealFileSystem::Root> roots;
  std::vector<std::string> urls;
  for (const std::string &folder : allowedFolders)
    if (runtime::isUrl(folder))
      urls.push_back(folder);
    else
      roots.push_back({folder, false});
  const plan::PlanT &contents = plan.contents();
  // A misspelt column would have its file opened.
  if (runtime::Status status = runtime::checkMemory(contents, options.memory); !status)
    return status.error();
  for (const auto &source : contents.sources)
    for (const auto &argument : source->arguments) {
      const bool inMemory = source->kind == "raw" &&
                            runtime::memoryFor(contents, *source, argument->name, options.memory);
      // Paths are parameters; texts that stand in the pipeline open nothing.
      if (argument->type != plan::DType::text || argument->param < 0 || inMemory)
        continue;
      const plan::ParamT &param = *contents.params[static_cast<size_t>(argument->param)];
      std::string path = param.text;
      for (const runtime::ParamValue &given : options.params)
        if (given.name == param.name)
          if (const auto *text = std::get_if<std::string>(&given.value))
            path = *text;
      if (path.empty())
        continue; // refused by the session, which knows the parameter's name
      if (argument->name == "index" && source->kind != "raw") {
        if (runtime::isUrl(path))
          return runtime::Error{runtime::Code::InvalidArgument, "no index can be kept in " + path +
                                                                    ": it is a URL (parameter `" +
                                                                    param.name + "`)"};
        ::mkdir(path.c_str(), 0700); // the session says where it may not be used
        roots.push_back({path, true});
        continue;
      }
      if (argument->name == "shards")
        path = withoutNumbers(path);
      if (runtime::isUrl(path)) {
        urls.push_back(opened(path, argument->name == "root"));
        continue;
      }
      std::error_code why;
      const std::filesystem::file_status found = std::filesystem::status(path, why);
      if (!std::filesystem::exists(found))
        return runtime::Error{runtime::Code::NotFound,
                              "cannot open " + path + ": " + why.message() + " (parameter `" +
                                  param.name + "`)" +
                                  (path.find("://") == std::string::npos
                                       ? ""
                                       : "; hint: URLs are `http://`, `https://`, `s3://`, "
                                         "`gs://`, `az://` and `hf://`, in small letters")};
      if (!std::filesystem::is_directory(found) && !std::filesystem::is_regular_file(found))
        return runtime::Error{runtime::Code::Io,
                              "cannot open " + path +
                                  ": it is neither a regular file nor a folder (parameter `" +
                                  param.name + "`)"};
      if (std::filesystem::is_regular_file(found)) {
        const std::string parent = std::filesystem::path(path).parent_path();
        path = parent.empty() ? "." : parent;
      }
      roots.push_back({path, false});
    }
  if (!options.cacheFolder.empty())
    roots.push_back({options.cacheFolder, true});
  auto files = runtime::RealFileSystem::create(std::move(roots));
  if (!files)
    return files.error();
  if (urls.empty())
    return std::unique_ptr<runtime::FileSystem>(std::move(*files));
  return withUrls(std::move(*files), std::move(urls), cache);
}

runtime::Result<std::unique_ptr<runtime::FileSystem>> api::openAnyFiles(const RemoteCache &cache) {
  auto files = runtime::RealFileSystem::create({{"/", false}});
  if (!files)
    return files.error();
  return withUrls(std::move(*files), {}, cache);
}
