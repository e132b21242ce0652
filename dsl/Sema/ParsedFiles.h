// SPDX-License-Identifier: Apache-2.0
//
// Trees of modules whose texts never change, kept for the programs that come.
#pragma once

#include "dsl/Sema/Check.h"

#include <map>
#include <memory>
#include <mutex>

namespace penstock::dsl {

/// Any thread may ask. Ranges in a tree name its file by the number that it has in a
/// program: there is a tree for each number that a module had, no more than modules.
class ParsedFiles {
public:
  /// Returns the tree of a module; null if it is not here.
  std::shared_ptr<const File> find(const std::string &module, FileId id) const;
  void keep(std::shared_ptr<const File> file);

private:
  mutable std::mutex lock;
  std::map<std::pair<std::string, uint32_t>, std::shared_ptr<const File>> files;
};

/// Adds a module to `sources`, and parses it where its tree is not kept. Null if the
/// loader has no module of this name.
std::shared_ptr<const File> parseModule(const std::string &name, SourceManager &sources,
                                        ModuleLoader &loader, Diagnostics &diagnostics);

} // namespace penstock::dsl
