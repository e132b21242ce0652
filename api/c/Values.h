// SPDX-License-Identifier: Apache-2.0
//
// Text of parameters, folders, files.
#pragma once

#include "runtime/core/Plan.h"
#include "runtime/core/RealFileSystem.h"
#include "runtime/sched/Options.h"
#include <string>

namespace penstock::api {

using Value = std::variant<int64_t, double, bool, std::string>;

/// The value that `text` spells for a parameter, or an error that says what was
/// found and what is wanted. `type` is the plan's, `declared` the language's.
runtime::Result<Value> parseValue(const std::string &text, plan::DType type,
                                  const std::string &declared);

/// True if two texts spell one value of a type of the language: `1000` and `1_000`, `0.5 .. 1` and
/// `0.5..1.0`.
bool isSameValue(const std::string &type, const std::string &a, const std::string &b);

/// $XDG_CACHE_HOME/penstock, or ~/.cache/penstock; empty where neither is set. A relative
/// $XDG_CACHE_HOME is as good as none.
std::string defaultCacheFolder();

/// Makes `folder` (and its parents), readable by its owner alone. False where
/// it cannot be made, belongs to somebody else, or others may write it.
bool preparePrivateFolder(const std::string &folder);

/// Where what is read of URLs is kept; nowhere where there is no folder.
struct RemoteCache {
  std::string folder;
  uint64_t mostBytes = 0; ///< 0: all but a twentieth of the disk
};

/// The files that a session may see: the folders that its path parameters
/// name (of a file: the folder that holds it), those that its caller allows links
/// to lead to, and the cache folder. Folders may be URLs.
runtime::Result<std::unique_ptr<runtime::FileSystem>>
openFiles(const runtime::Plan &plan, const runtime::SessionOptions &options,
          const std::vector<std::string> &allowedFolders, const RemoteCache &cache);

/// All files and URLs, for rows that come from the program, not from a text of somebody else's.
runtime::Result<std::unique_ptr<runtime::FileSystem>> openAnyFiles(const RemoteCache &cache);

} // namespace penstock::api
