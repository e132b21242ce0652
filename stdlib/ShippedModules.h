// SPDX-License-Identifier: Apache-2.0
//
// The library's modules, for a program that uses them.
#pragma once

#include "dsl/Sema/ParsedFiles.h"
#include "stdlib/Modules.h"

namespace penstock::stdlib {

class ShippedModules : public dsl::ModuleLoader {
public:
  std::optional<Module> load(std::string_view name) override {
    const std::optional<std::string_view> text = moduleText(name);
    if (!text)
      return std::nullopt;
    return Module{"stdlib/" + std::string(name) + ".pipe", std::string(*text)};
  }
  std::vector<std::string> names() override {
    const std::vector<std::string_view> all = moduleNames();
    return {all.begin(), all.end()};
  }
  dsl::ParsedFiles *kept() override {
    static dsl::ParsedFiles files;
    return &files;
  }
};

} // namespace penstock::stdlib
