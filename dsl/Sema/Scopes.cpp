// SPDX-License-Identifier: Apache-2.0
#include "dsl/Diagnostics/Nearest.h"
#include "dsl/Sema/Checker.h"
#include "dsl/Sema/OtherLibraries.h"

#include <algorithm>
#include <set>

namespace penstock::dsl {

const Checker::Entry *Checker::findLocal(std::string_view name) const {
  for (size_t i = scopes.size(); i-- > 0;)
    if (auto found = scopes[i].find(name); found != scopes[i].end())
      return &found->second;
  return nullptr;
}

void Checker::declare(const Name &name, std::string_view what) {
  if (name.text.empty()) {
    incomplete = true;
    return;
  }
  later.erase(name.text);
  if (isElementType(name.text)) {
    diagnostics.error(name.range, quote(name.text) + " is an element type and cannot be a name")
        .hint("another name");
    return;
  }
  const Entry *first = findLocal(name.text);
  const bool binds = what == "element" || what == "window" || what == "view";
  if (first && binds && first->what == "extent") {
    // The name of an axis is free for what runs over one: the extent is hidden.
    scopes.back().emplace(name.text, Entry{what, name.range});
    return;
  }
  Entry constant;
  if (!first)
    for (const ConstDecl &decl : file.consts)
      if (decl.name.text == name.text && decl.name.range != name.range) {
        constant = {"constant", decl.name.range};
        first = &constant;
      }
  if (first) {
    bool vowel = first->what.starts_with('e');
    diagnostics
        .error(name.range, quote(name.text) + " is already defined, as a" + (vowel ? "n " : " ") +
                               std::string(first->what))
        .note(first->range, "it is defined here")
        .hint("another name: names never hide each other");
    return;
  }
  scopes.back().emplace(name.text, Entry{what, name.range});
}

bool Checker::isElementType(std::string_view name) const {
  static constexpr std::string_view types[] = {"u8",  "i8",   "u16", "i16", "i32",  "i64",
                                               "f16", "bf16", "f32", "f64", "bool", "int"};
  return std::find(std::begin(types), std::end(types), name) != std::end(types) ||
         generics.contains(name);
}

bool Checker::isKnownType(std::string_view name) const {
  return isElementType(name) || builtins.types.empty() || builtins.types.contains(name);
}

bool Checker::isFunction(std::string_view name) const {
  return builtins.functions.contains(name) || !program.findFns(file, name).empty();
}

bool Checker::isUnread(std::string_view name) const {
  for (const File *seen : program.visibleFrom(file))
    if (seen->unread.contains(name))
      return true;
  return false;
}

bool Checker::isValue(std::string_view name) const {
  return findLocal(name) || program.findConst(file, name) || builtins.values.contains(name) ||
         isUnread(name);
}

bool Checker::missesModule() const {
  return std::any_of(file.uses.begin(), file.uses.end(),
                     [&](const Name &use) { return !program.modules.contains(use.text); });
}

bool Checker::refusePrivate(std::string_view name, SourceRange range) {
  const Name *found = program.findPrivate(file, name);
  if (!found)
    return false;
  diagnostics
      .error(range, quote(name) + " is private to module " +
                        quote(program.fileOf(found->range)->moduleName))
      .note(found->range, "it is declared here, without `pub`");
  return true;
}

void Checker::unknownValue(const NameExpr &name) {
  if (incomplete || missesModule())
    return;
  if (auto found = later.find(name.name); found != later.end()) {
    diagnostics.error(name.range, quote(name.name) + " is used before it is there")
        .note(found->second, "it gets its value here");
    return;
  }
  if (lacksModule({name.name, name.range}))
    return;
  if (!isFunction(name.name) && refusePrivate(name.name, name.range))
    return;
  auto report = diagnostics.error(name.range, "unknown name " + quote(name.name));
  if (name.name == "n" && inPipeline) {
    report.hint("the batch axis `n` exists in the `batch` block only");
    return;
  }
  if (name.name == "None" || name.name == "null") {
    report.hint("there is no empty value: leave it out");
    return;
  }
  if (isFunction(name.name)) {
    report.hint("the function of this name is called as " + quote(name.name + "(...)"));
    return;
  }
  if (const std::string_view type = ourType(name.name); !type.empty()) {
    report.hint(quote(type));
    return;
  }
  if (!seeksNear())
    return;
  std::vector<std::string_view> known;
  for (size_t i = scopes.size(); i-- > 0;)
    for (const auto &[text, entry] : scopes[i])
      known.push_back(text);
  for (const File *seen : program.visibleFrom(file))
    for (const ConstDecl &constant : seen->consts)
      if (constant.isPublic || seen == &file)
        known.push_back(constant.name.text);
  known.insert(known.end(), builtins.values.begin(), builtins.values.end());
  if (std::string near = nearest(name.name, known); !near.empty())
    report.hint(quote(near));
}

void Checker::unknownFunction(const Name &name) {
  if (isUnread(name.text) || missesModule())
    return;
  if (const Entry *value = findLocal(name.text)) {
    diagnostics
        .error(name.range,
               quote(name.text) + " is a " + std::string(value->what) + ", not a function")
        .note(value->range, "it is defined here");
    return;
  }
  if (lacksModule(name) || refusePrivate(name.text, name.range))
    return;
  auto report = diagnostics.error(name.range, "unknown function " + quote(name.text));
  if (builtins.distributions.contains(name.text)) {
    report.hint(quote("draw " + name.text + "(...)") + " draws a number");
    return;
  }
  if (std::string ours = ourWordsFor(name.text); !ours.empty()) {
    report.hint(ours);
    return;
  }
  if (!seeksNear())
    return;
  std::vector<std::string_view> known;
  for (const File *seen : program.visibleFrom(file))
    for (const FnDecl &fn : seen->fns)
      if (fn.isPublic || seen == &file)
        known.push_back(fn.name.text);
  known.insert(known.end(), builtins.functions.begin(), builtins.functions.end());
  std::string near = nearest(name.text, known);
  if (near.empty()) { // `trivial_augment` for `trivial_augment_wide`
    const std::string begin = name.text + "_";
    std::set<std::string_view> longer;
    for (std::string_view one : known)
      if (one.starts_with(begin))
        longer.insert(one);
    if (longer.size() == 1)
      near = *longer.begin();
  }
  if (!near.empty())
    report.hint(quote(near));
}

} // namespace penstock::dsl
