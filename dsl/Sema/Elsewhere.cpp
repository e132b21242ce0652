// SPDX-License-Identifier: Apache-2.0
//
// Names that are known elsewhere: in a module that the file does not use, or in
// another library. What is hinted at exists, or nothing is.
#include "dsl/Diagnostics/Nearest.h"
#include "dsl/Sema/Checker.h"
#include "dsl/Sema/OtherLibraries.h"

#include <algorithm>

namespace penstock::dsl {

bool Checker::lacksModule(const Name &name) {
  const std::vector<std::string> modules = shelf.offering(file, name.text);
  if (modules.empty())
    return false;
  // One `use` brings all names of a module: it is asked for once.
  if (std::any_of(modules.begin(), modules.end(),
                  [&](const std::string &module) { return lacking.contains(module); }))
    return true;
  lacking.insert(modules.begin(), modules.end());
  std::string names, uses;
  for (const std::string &module : modules) {
    const bool last = &module == &modules.back();
    names += (names.empty() ? "" : last ? " and " : ", ") + quote(module);
    uses += (uses.empty() ? "" : last ? " or " : ", ") + quote("use " + module);
  }
  diagnostics
      .error(name.range,
             quote(name.text) +
                 (modules.size() == 1
                      ? " belongs to module " + names + ", which this file does not use"
                      : " belongs to modules " + names + ", and this file uses neither"))
      .hint(uses + " below `pipe 1`");
  return true;
}

std::string Checker::libraryPath(const Expr &expr) const {
  std::string path;
  const Expr *at = &expr;
  for (int names = 0; names < 8; ++names) { // no library has more modules in modules
    if (const auto *name = at->as<NameExpr>())
      return isOtherLibrary(name->name) && !isValue(name->name) ? name->name + path : "";
    const auto *field = at->as<FieldExpr>();
    if (!field)
      break;
    path = "." + field->field.text + path;
    at = field->base.get();
  }
  return {};
}

std::string Checker::sameFunction(std::string_view name) const {
  for (const File *seen : program.visibleFrom(file))
    for (const FnDecl &fn : seen->fns)
      if ((fn.isPublic || seen == &file) && sameWords(fn.name.text, name))
        return fn.name.text;
  for (const std::string &known : builtins.functions)
    if (sameWords(known, name))
      return known;
  return {};
}

std::string Checker::ourWordsFor(const std::string &name) const {
  if (const OtherName *other = findOtherName(name)) {
    std::string_view ours = other->ours;
    if (ours.empty())
      return std::string(other->says);
    return "here it is " + quote(ours);
  }
  if (const std::string_view type = ourType(name); !type.empty() && isElementType(type))
    return "here it is " + quote(std::string(type) + "(x)");
  const std::string same = sameFunction(name);
  return same.empty() || same == name ? "" : quote(same);
}

/// `text` with the user's own name in place of `x`.
static std::string of(std::string_view text, const std::string &base) {
  auto isWord = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool alone =
        (i == 0 || !isWord(text[i - 1])) && (i + 1 == text.size() || !isWord(text[i + 1]));
    out += text[i] == 'x' && alone ? base : std::string(1, text[i]);
  }
  return out;
}

std::string Checker::ourMethodFor(const Expr &base, const std::string &name) const {
  const auto *value = base.as<NameExpr>();
  const std::string own = value ? value->name : "x";
  const OtherName *other = findOtherName(name);
  if (other && !other->ours.empty()) {
    const bool isStage = other->ours.starts_with("|>");
    return "here it is " +
           quote(isStage ? own + " " + std::string(other->ours) : of(other->ours, own));
  }
  if (other)
    return std::string(other->says);
  if (const std::string same = sameFunction(name); !same.empty())
    return quote(own + " |> " + same + "(...)");
  const std::vector<std::string> modules = shelf.offering(file, name);
  return modules.empty()
             ? ""
             : quote(own + " |> " + name + "(...)") + " with " + quote("use " + modules.front());
}

void Checker::refuseLibrary(const std::string &path, const Name &name, SourceRange range) {
  std::string hint;
  if (builtins.values.contains(name.text))
    hint = "here it is " + quote(name.text);
  else if (const std::string_view type = ourType(name.text); !type.empty())
    hint = "here it is " + quote(type);
  else if (findOtherName(name.text))
    hint = ourWordsFor(name.text);
  else if (const std::string same = sameFunction(name.text); !same.empty())
    hint = "here it is " + quote(same + "(...)");
  if (hint.empty())
    for (const std::string &module : shelf.offering(file, name.text))
      hint = "here it is " + quote(name.text + "(...)") + ", with " + quote("use " + module);
  if (hint.empty())
    hint = "`penstock ops` lists what there is";
  diagnostics
      .error(range, quote(path.substr(0, path.find('.'))) +
                        " is a library of Python, which a .pipe file cannot use")
      .hint(hint);
}

} // namespace penstock::dsl
