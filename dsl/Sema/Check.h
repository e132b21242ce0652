// SPDX-License-Identifier: Apache-2.0
//
// From the user's text to a checked Program: parses, loads the modules, checks
// every name. Types are not looked at; that is compiler/Import's part.
#pragma once

#include "dsl/AST/Program.h"
#include "dsl/Diagnostics/Diagnostics.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::dsl {

/// The names that exist without being declared in a file. An empty `types` or
/// `distributions` switches off the check of those names.
struct Builtins {
  using Set = std::set<std::string, std::less<>>;

  Set functions;     ///< callable: `sum`, `decode`, `image_folder`
  Set values;        ///< constants: `inf`
  Set distributions; ///< after `draw`: `uniform`
  Set types;         ///< scalar types: `path`, `duration`, `range`
  /// Functions whose arguments after the first may be axes or choices: `rename`.
  Set takeWords = {};
};

class ParsedFiles;

/// The source of the text of `use`d modules.
class ModuleLoader {
public:
  struct Module {
    std::string fileName; ///< as messages show it: `stdlib/vision.pipe`
    std::string text;
  };

  virtual ~ModuleLoader() = default;
  /// Returns a module; nothing if there is none of this name.
  virtual std::optional<Module> load(std::string_view name) = 0;
  /// All modules there are; for hints only.
  virtual std::vector<std::string> names() = 0;
  /// Returns the store of parsed modules, which are not parsed again as long as their texts do not
  /// change; null if there is none.
  virtual ParsedFiles *kept() { return nullptr; }
};

/// Parses `main` and all modules that it needs, the prelude (if the loader has
/// one) included, and checks them. Always returns a Program, complete only if
/// `diagnostics.hasErrors()` is false afterwards: do not go on otherwise.
Program loadProgram(FileId main, SourceManager &sources, ModuleLoader &loader,
                    const Builtins &builtins, Diagnostics &diagnostics);

} // namespace penstock::dsl
