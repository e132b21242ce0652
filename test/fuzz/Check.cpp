// SPDX-License-Identifier: Apache-2.0
//
// Any text through everything that `penstock check` does, with the real library:
// with those of its declarations that the text can reach, since reading all of it
// takes several times as long as the text.
#include "mlir/IR/Verifier.h"
#include "test/fuzz/Fuzz.h"
#include "test/unit/compiler/ImportText.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <vector>

using penstock::fuzz::require;

namespace {
using Names = std::set<std::string, std::less<>>;

Names namesIn(std::string_view text) {
  auto isPart = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  Names names;
  for (auto at = text.begin(); at != text.end();) {
    auto end = std::find_if_not(at, text.end(), isPart);
    if (at != end)
      names.emplace(at, end);
    at = std::find_if(end, text.end(), isPart);
  }
  return names;
}

/// A module of the library, declaration by declaration.
struct Parts {
  struct Declaration {
    std::string text;
    Names names;
  };
  std::string head; // up to the first one
  std::multimap<std::string, Declaration, std::less<>> declarations;

  explicit Parts(std::string_view text) {
    std::vector<size_t> starts;
    bool isDocumented = false; // by the lines above
    for (size_t line = 0; line < text.size();
         line = std::min(text.find('\n', line), text.size() - 1) + 1) {
      const std::string_view rest = text.substr(line);
      const bool isDocs = rest.starts_with("///");
      const bool begins = isDocs || rest.starts_with("pub ") || rest.starts_with("fn ") ||
                          rest.starts_with("const ");
      if (begins && !isDocumented)
        starts.push_back(line);
      isDocumented = isDocs;
    }
    starts.push_back(text.size());
    head = text.substr(0, starts[0]);
    for (size_t i = 0; i + 1 < starts.size(); ++i) {
      const std::string_view one = text.substr(starts[i], starts[i + 1] - starts[i]);
      size_t line = 0;
      while (one.substr(line).starts_with("///"))
        line = one.find('\n', line) + 1;
      const size_t name = one.find(' ', line) + 1;
      declarations.emplace(one.substr(name, one.find_first_of("[(:= ", name) - name),
                           Declaration{std::string(one), namesIn(one)});
    }
  }
};

/// All modules, cut down to what some names reach.
class Reached final : public penstock::stdlib::ShippedModules {
public:
  explicit Reached(Names names) : names(std::move(names)) {
    std::vector<std::string> open(this->names.begin(), this->names.end());
    while (!open.empty()) {
      const std::string name = std::move(open.back());
      open.pop_back();
      for (const auto &[module, parts] : modules()) {
        const auto [first, last] = parts.declarations.equal_range(name);
        for (auto found = first; found != last; ++found)
          for (const std::string &next : found->second.names)
            if (this->names.insert(next).second)
              open.push_back(next);
      }
    }
  }

  std::optional<Module> load(std::string_view name) override {
    std::optional<Module> module = ShippedModules::load(name);
    if (!module)
      return module;
    const Parts &parts = modules().find(name)->second;
    module->text = parts.head;
    for (const auto &[declared, part] : parts.declarations)
      if (names.contains(declared))
        module->text += part.text;
    return module;
  }

private:
  static const std::map<std::string, Parts, std::less<>> &modules() {
    static const auto all = [] {
      std::map<std::string, Parts, std::less<>> made;
      for (std::string_view name : penstock::stdlib::moduleNames())
        made.try_emplace(std::string(name), *penstock::stdlib::moduleText(name));
      return made;
    }();
    return all;
  }

  Names names;
};
} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string text(reinterpret_cast<const char *>(data), size);
  penstock::test::Imported imported(text, Reached(namesIn(text)), {});
  if (!imported.result.module)
    require(!imported.messages.empty(), "a refused file gets a message");
  else
    require(mlir::succeeded(mlir::verify(*imported.result.module)), "an imported module is valid");
  return 0;
}
