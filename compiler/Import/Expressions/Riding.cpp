// SPDX-License-Identifier: Apache-2.0
//
// Axes of an argument that a function's parameters do not name, and that ride along.
//
// A function may have axes of its own, of a map or a result, and nobody who calls it knows their
// names. An axis of the same name that rides along has another one inside, which no text can write.
#include "compiler/Import/Expressions/Expressions.h"
#include "dsl/AST/AST.h"

using namespace penstock::importer;
namespace dsl = penstock::dsl;

namespace {

/// The names that stand in a function's text: all of them, and those of axes that it makes: what a
/// binder counts (`k in`), what stands in a type (`f32[k]`), and what some operators are given
/// (`rename(x, h, k)`). An axis that is only used (`sum(x over [c])`) is the argument's.
struct Words {
  std::set<std::string> all, axes;

  void add(std::string_view text);
};

/// Operators that give an axis a name.
bool makesAxes(std::string_view function) {
  static constexpr std::string_view names[] = {"rename", "stack",    "concat", "split",
                                               "merge",  "frames",   "fft",    "inverse_fft",
                                               "group",  "histogram"};
  return llvm::is_contained(names, function);
}

bool isElementType(std::string_view name) {
  static constexpr std::string_view names[] = {"u8",  "i8",   "u16", "i16", "i32", "i64",
                                               "f16", "bf16", "f32", "f64", "bool"};
  return llvm::is_contained(names, name) || (name.size() == 1 && std::isupper(name[0])); // `E`
}

bool isPartOfName(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

} // namespace

void Words::add(std::string_view text) {
  std::vector<std::pair<char, std::string>> brackets = {{'{', ""}}; // with the name in front
  std::string last;
  char before = ' ';
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (!isPartOfName(c)) {
      if (c == '(' || c == '[' || c == '{')
        brackets.emplace_back(c, std::exchange(last, ""));
      else if ((c == ')' || c == ']' || c == '}') && brackets.size() > 1)
        brackets.pop_back();
      if (!std::isspace(static_cast<unsigned char>(c))) {
        before = c;
        last.clear();
      }
      ++at;
      continue;
    }
    size_t end = at, next;
    while (end < text.size() && isPartOfName(text[end]))
      ++end;
    for (next = end; next < text.size() && std::isspace(static_cast<unsigned char>(text[next]));)
      ++next;
    last = text.substr(at, end - at);
    const auto &[bracket, of] = brackets.back();
    const bool isFirst = before == bracket || before == ',';
    const bool isOfType = bracket == '[' && isFirst && isElementType(of);
    const bool isGiven = bracket == '(' && isFirst && makesAxes(of);
    all.insert(last);
    if (text.substr(next, 3) == "in " || isOfType || isGiven)
      axes.insert(last);
    // Axes that operators name in their results.
    if (last == "fft")
      axes.insert({"freq", "part"});
    if (last == "histogram" || last == "group")
      axes.insert("bin");
    before = 'a';
    at = end;
  }
}

const std::set<std::string> &Expressions::ownAxes(const dsl::FnDecl &fn) {
  const auto [found, isNew] = fnAxes.try_emplace(&fn);
  if (!isNew)
    return found->second;
  Words words;
  std::vector<const dsl::FnDecl *> open = {&fn};
  std::set<const dsl::FnDecl *> seen = {&fn};
  while (!open.empty()) {
    const dsl::FnDecl &next = *open.back();
    open.pop_back();
    Words found;
    // Called functions add the axes of their results, too.
    const uint32_t begin = &next == &fn ? fn.body.range.begin : next.name.range.begin;
    found.add(textOf({next.range.file, begin, next.range.end}));
    words.axes.insert(found.axes.begin(), found.axes.end());
    for (const std::string &name : found.all)
      for (const dsl::FnDecl *called : program.findFns(*program.fileOf(next.range), name))
        if (seen.insert(called).second)
          open.push_back(called);
  }
  return fnAxes[&fn] = std::move(words.axes);
}

std::vector<std::string> Expressions::renameRiding(const dsl::FnDecl &fn, Frame &callee) {
  std::vector<std::string> renamed;
  std::set<std::string, std::less<>> known; // the caller's names that the function has been told
  for (const auto &[parameter, axis] : callee.axes)
    known.insert(axis);
  for (const auto &[name, value] : callee.values)
    if (value.is(Kind::List))
      for (const Val &word : value.parts)
        known.insert(word.word);
  for (const dsl::Param &param : fn.params) {
    const auto bound = callee.values.find(param.name.text);
    if (bound == callee.values.end() || !bound->second.is(Kind::Tensor))
      continue;
    std::vector<Dim> all = dims(bound->second.ir);
    bool any = false;
    for (Dim &dim : all) {
      const bool isDeclared = llvm::any_of(param.type.axes, [&](const dsl::AxisType &axis) {
        const auto passed = callee.axes.find(axis.name.text);
        return (passed == callee.axes.end() ? axis.name.text : passed->second) == dim.axis.name;
      });
      if (isDeclared || known.contains(dim.axis.name))
        continue;
      if (!ownAxes(fn).contains(dim.axis.name))
        continue;
      if (!llvm::is_contained(renamed, dim.axis.name))
        renamed.push_back(dim.axis.name);
      dim.axis.name += insideMark;
      any = true;
    }
    if (any)
      bound->second.ir = retype(bound->second.ir, all);
  }
  return renamed;
}

Val Expressions::renamedBack(Val value, const std::vector<std::string> &renamed,
                             const dsl::FnDecl &fn, dsl::SourceRange range) {
  if (renamed.empty())
    return value;
  for (Val &part : value.parts)
    if (value.is(Kind::Record))
      part = renamedBack(std::move(part), renamed, fn, range);
  if (!value.is(Kind::Tensor))
    return value;
  std::vector<Dim> all = dims(value.ir);
  bool any = false;
  for (Dim &dim : all)
    for (const std::string &name : renamed) {
      if (dim.axis.name != name + insideMark)
        continue;
      if (find(all, name))
        fail(range,
             quote(fn.name.text) + " makes an axis " + quote(name) +
                 ", and the argument has one of that name that rides along",
             "give that one another name before: `rename(x, " + name + ", other)`");
      dim.axis.name = name;
      any = true;
    }
  if (any)
    value.ir = retype(value.ir, all);
  return value;
}
