// SPDX-License-Identifier: Apache-2.0
#include "dsl/Sema/Shelf.h"

#include "dsl/Sema/ParsedFiles.h"

#include <algorithm>

namespace penstock::dsl {

/// Returns whether a file that used it would see `name`.
static bool offers(const File &module, std::string_view name) {
  auto isIt = [&](const auto &declared) { return declared.isPublic && declared.name.text == name; };
  return std::any_of(module.fns.begin(), module.fns.end(), isIt) ||
         std::any_of(module.consts.begin(), module.consts.end(), isIt);
}

std::vector<std::string> Shelf::offering(const File &file, std::string_view name) {
  if (!opened)
    for (const std::string &module : loader.names())
      if (module != preludeName) {
        Diagnostics unheard;
        if (auto text = parseModule(module, sources, loader, unheard))
          modules.emplace(module, text);
      }
  opened = true;
  std::vector<std::string> found;
  for (const auto &[module, text] : modules) {
    auto isIt = [&, &module = module](const Name &use) { return use.text == module; };
    const bool used =
        file.moduleName == module || std::any_of(file.uses.begin(), file.uses.end(), isIt);
    if (!used && offers(*text, name))
      found.push_back(module);
  }
  return found;
}

} // namespace penstock::dsl
