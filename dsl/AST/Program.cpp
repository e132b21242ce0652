// SPDX-License-Identifier: Apache-2.0
#include "dsl/AST/Program.h"

#include <algorithm>

namespace penstock::dsl {

std::vector<const File *> Program::visibleFrom(const File &from) const {
  std::vector<const File *> files{&from};
  auto add = [&](std::string_view name) {
    auto found = modules.find(name);
    if (found == modules.end())
      return;
    const File *file = found->second.get();
    if (std::find(files.begin(), files.end(), file) == files.end())
      files.push_back(file);
  };
  for (const Name &use : from.uses)
    add(use.text);
  add(preludeName);
  return files;
}

std::vector<const FnDecl *> Program::findFns(const File &from, std::string_view name) const {
  std::vector<const FnDecl *> found;
  for (const File *file : visibleFrom(from))
    for (const FnDecl &fn : file->fns)
      if (fn.name.text == name && (fn.isPublic || file == &from))
        found.push_back(&fn);
  return found;
}

const ConstDecl *Program::findConst(const File &from, std::string_view name) const {
  for (const File *file : visibleFrom(from))
    for (const ConstDecl &constant : file->consts)
      if (constant.name.text == name && (constant.isPublic || file == &from))
        return &constant;
  return nullptr;
}

const Name *Program::findPrivate(const File &from, std::string_view name) const {
  for (const File *file : visibleFrom(from)) {
    if (file == &from)
      continue;
    for (const FnDecl &fn : file->fns)
      if (fn.name.text == name && !fn.isPublic)
        return &fn.name;
    for (const ConstDecl &constant : file->consts)
      if (constant.name.text == name && !constant.isPublic)
        return &constant.name;
  }
  return nullptr;
}

const File *Program::fileOf(SourceRange range) const {
  if (main && main->id == range.file)
    return main.get();
  for (const auto &[name, file] : modules)
    if (file->id == range.file)
      return file.get();
  return nullptr;
}

} // namespace penstock::dsl
