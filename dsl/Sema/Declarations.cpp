// SPDX-License-Identifier: Apache-2.0
#include "dsl/AST/Printer.h"
#include "dsl/Diagnostics/Nearest.h"
#include "dsl/Sema/Checker.h"
#include "dsl/Sema/OtherLibraries.h"

#include <algorithm>

namespace penstock::dsl {
namespace {

/// The types of the parameters, as a key: overloads differ in it.
std::string signature(const FnDecl &fn) {
  std::string out;
  for (const GenericParam &generic : fn.generics)
    for (const Name &element : generic.elements)
      out += generic.name.text + element.text + ",";
  for (const Param &param : fn.params)
    out += printType(param.type) + ";";
  return out;
}

} // namespace

Checker::Checker(const Program &program, const File &file, const Builtins &builtins, Shelf &shelf,
                 InlinedSize &sizes, Diagnostics &diagnostics)
    : program(program), file(file), builtins(builtins), shelf(shelf), sizes(sizes),
      diagnostics(diagnostics) {}

void Checker::run() {
  if (file.version != 1)
    diagnostics.error(file.versionRange, "this file is written for `pipe " +
                                             std::to_string(file.version) +
                                             "`, and this compiler knows `pipe 1`");
  checkUses();
  checkDuplicates();
  for (const ConstDecl &constant : file.consts) {
    ScopeGuard scope(*this);
    currentConst = &constant;
    sizes.beginConstant(constant);
    if (constant.type)
      checkType(*constant.type);
    check(constant.value);
    currentConst = nullptr;
  }
  checkConstCycles();
  for (const FnDecl &fn : file.fns) {
    currentFn = &fn;
    checkFn(fn);
    currentFn = nullptr;
  }
  checkRecursion();
  for (const PipelineDecl &pipeline : file.pipelines)
    checkPipeline(pipeline);
}

void Checker::checkUses() {
  for (size_t i = 0; i < file.uses.size(); ++i) {
    const Name &use = file.uses[i];
    for (size_t j = 0; j < i; ++j) {
      const Name &other = file.uses[j];
      if (use.text == other.text) {
        diagnostics.warning(use.range, quote(use.text) + " is already in use")
            .note(other.range, "since here");
        break;
      }
      auto first = program.modules.find(other.text), second = program.modules.find(use.text);
      if (first == program.modules.end() || second == program.modules.end())
        continue;
      for (const ConstDecl &a : first->second->consts)
        for (const ConstDecl &b : second->second->consts)
          if (a.name.text == b.name.text && a.isPublic && b.isPublic)
            diagnostics
                .error(use.range, "modules " + quote(other.text) + " and " + quote(use.text) +
                                      " both have a constant " + quote(a.name.text))
                .note(a.name.range, "one")
                .note(b.name.range, "the other");
    }
  }
  if (!file.moduleName.empty())
    for (const PipelineDecl &pipeline : file.pipelines)
      diagnostics.error(pipeline.name.range, "a module holds functions and constants, no pipeline");
}

void Checker::checkDuplicates() {
  auto twice = [&](const Name &name, const Name &first, const char *what) {
    diagnostics.error(name.range, std::string(what) + " " + quote(name.text) + " is declared twice")
        .note(first.range, "first here");
  };
  auto refuseElementType = [&](const Name &name) {
    if (isElementType(name.text))
      diagnostics.error(name.range, quote(name.text) + " is an element type and cannot be a name")
          .hint("another name");
  };
  for (size_t i = 0; i < file.consts.size(); ++i) {
    const Name &name = file.consts[i].name;
    refuseElementType(name);
    for (size_t j = 0; j < i; ++j)
      if (file.consts[j].name.text == name.text)
        twice(name, file.consts[j].name, "constant");
  }
  for (size_t i = 0; i < file.fns.size(); ++i) {
    const Name &name = file.fns[i].name;
    refuseElementType(name);
    for (size_t j = 0; j < i; ++j)
      if (file.fns[j].name.text == name.text && signature(file.fns[i]) == signature(file.fns[j])) {
        diagnostics
            .error(name.range, "function " + quote(name.text) +
                                   " is declared twice with the same parameter types")
            .note(file.fns[j].name.range, "first here");
        break;
      }
  }
  for (size_t i = 0; i < file.pipelines.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (file.pipelines[i].name.text == file.pipelines[j].name.text)
        twice(file.pipelines[i].name, file.pipelines[j].name, "pipeline");
}

void Checker::declareParams(const std::vector<Param> &params) {
  for (const Param &param : params) {
    check(param.defaultValue); // sees the parameters before it
    declare(param.name, "parameter");
  }
  for (const Param &param : params)
    declareExtents(param.type, params);
  for (const Param &param : params)
    checkType(param.type);
}

void Checker::declareExtents(const TypeExpr &type, const std::vector<Param> &params) {
  for (const FieldType &field : type.fields)
    declareExtents(field.type, params);
  for (const AxisType &axis : type.axes) {
    const Entry *known = findLocal(axis.name.text);
    if (known && known->what == "extent")
      continue; // the same axis of another parameter: the same extent
    auto isAxisParam = [&](const Param &param) {
      return param.name.text == axis.name.text && param.type.name.text == "axis";
    };
    if (std::any_of(params.begin(), params.end(), isAxisParam))
      continue; // the axis is whatever the caller names
    if (known) {
      diagnostics
          .error(known->range,
                 quote(axis.name.text) + " is the extent of an axis and cannot be a parameter too")
          .note(axis.range, "the axis is named here")
          .hint("another name for the parameter");
      continue;
    }
    if (isElementType(axis.name.text))
      diagnostics.error(axis.name.range, quote(axis.name.text) + " is a type, not an axis");
    else
      scopes.back().emplace(axis.name.text, Entry{"extent", axis.name.range});
  }
}

void Checker::checkFn(const FnDecl &fn) {
  ScopeGuard scope(*this);
  later.clear();
  incomplete = false;
  generics.clear();
  for (const GenericParam &generic : fn.generics) {
    for (const Name &element : generic.elements)
      if (!isElementType(element.text) || generics.contains(element.text))
        diagnostics.error(element.range, quote(element.text) + " is not an element type");
    if (isElementType(generic.name.text) || builtins.types.contains(generic.name.text))
      diagnostics.error(generic.name.range, quote(generic.name.text) + " is already a type")
          .hint("another name");
    generics.insert(generic.name.text);
  }
  declareParams(fn.params);
  checkType(fn.result);
  checkBlock(fn.body);
  generics.clear();
}

void Checker::noteLater(const std::vector<LetDecl> &lets) {
  for (const LetDecl &let : lets)
    if (!let.name.text.empty() && !findLocal(let.name.text))
      later.emplace(let.name.text, let.name.range);
}

void Checker::checkType(const TypeExpr &type) {
  for (size_t i = 0; i < type.fields.size(); ++i) {
    checkType(type.fields[i].type);
    for (size_t j = 0; j < i; ++j)
      if (type.fields[i].name.text == type.fields[j].name.text)
        diagnostics
            .error(type.fields[i].name.range,
                   "field " + quote(type.fields[i].name.text) + " is declared twice")
            .note(type.fields[j].name.range, "first here");
  }
  for (size_t i = 0; i < type.axes.size(); ++i) {
    const AxisType &axis = type.axes[i];
    check(axis.extent);
    for (size_t j = 0; j < i; ++j)
      if (axis.name.text == type.axes[j].name.text)
        diagnostics.error(axis.name.range, "axis " + quote(axis.name.text) + " is named twice")
            .note(type.axes[j].name.range, "first here");
  }
  if (type.kind == TypeExpr::Kind::Record)
    return;
  const std::string &name = type.name.text;
  bool tensor = type.kind == TypeExpr::Kind::Tensor;
  if (tensor ? isElementType(name) : isKnownType(name))
    return;
  static constexpr std::string_view elements[] = {"u8",  "i8",  "u16",  "i16", "i32", "i64",
                                                  "f16", "f32", "bf16", "f64", "bool"};
  std::vector<std::string_view> known(std::begin(elements), std::end(elements));
  if (!tensor)
    known.insert(known.end(), builtins.types.begin(), builtins.types.end());
  std::string near = nearest(name, known);
  const std::string_view other = ourType(name);
  const bool shapeless = name == "Tensor" || name == "tensor" || name == "ndarray" ||
                         name == "array" || name == "list" || name == "Image";
  diagnostics
      .error(type.name.range,
             tensor ? quote(name) + " is not an element type" : "unknown type " + quote(name))
      .hint(!other.empty()  ? quote(other)
            : shapeless     ? "an element type with its axes: `u8[h, w, c]`"
            : !near.empty() ? quote(near)
            : tensor        ? "u8 i8 u16 i16 i32 i64 f16 bf16 f32 f64 bool"
                            : "");
}

void Checker::checkLet(const LetDecl &let) {
  if (let.type)
    checkType(*let.type);
  check(let.value);
  declare(let.name, "value");
}

void Checker::checkBlock(const Block &block) {
  ScopeGuard scope(*this);
  noteLater(block.lets);
  for (const LetDecl &let : block.lets)
    checkLet(let);
  check(block.result);
}

} // namespace penstock::dsl
