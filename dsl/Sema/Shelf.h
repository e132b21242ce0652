// SPDX-License-Identifier: Apache-2.0
//
// The modules that a program does not use: for hints about unknown names.
#pragma once

#include "dsl/Sema/Check.h"

#include <map>
#include <memory>

namespace penstock::dsl {

class Shelf {
public:
  explicit Shelf(ModuleLoader &loader) : loader(loader) {}

  /// The modules that `file` does not use and that offer a function or a constant
  /// of this name, sorted. They are read when they are first asked for.
  std::vector<std::string> offering(const File &file, std::string_view name);

private:
  ModuleLoader &loader;
  bool opened = false;
  SourceManager sources;
  std::map<std::string, std::shared_ptr<const File>, std::less<>> modules;
};

} // namespace penstock::dsl
