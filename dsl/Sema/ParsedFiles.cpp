// SPDX-License-Identifier: Apache-2.0
#include "dsl/Sema/ParsedFiles.h"

#include "dsl/Parser/Parser.h"

namespace penstock::dsl {

std::shared_ptr<const File> ParsedFiles::find(const std::string &module, FileId id) const {
  const std::lock_guard guard(lock);
  const auto found = files.find({module, id.index});
  return found == files.end() ? nullptr : found->second;
}

void ParsedFiles::keep(std::shared_ptr<const File> file) {
  const std::lock_guard guard(lock);
  files.try_emplace({file->moduleName, file->id.index}, file);
}

std::shared_ptr<const File> parseModule(const std::string &name, SourceManager &sources,
                                        ModuleLoader &loader, Diagnostics &diagnostics) {
  std::optional<ModuleLoader::Module> module = loader.load(name);
  if (!module)
    return nullptr;
  const FileId id = sources.add(module->fileName, std::move(module->text));
  ParsedFiles *kept = loader.kept();
  if (kept)
    if (auto file = kept->find(name, id))
      return file;
  const size_t before = diagnostics.count();
  std::unique_ptr<File> parsed = parseFile(id, sources, diagnostics);
  parsed->moduleName = name;
  std::shared_ptr<const File> file = std::move(parsed);
  // A file with messages is parsed again: each program must get them.
  if (kept && diagnostics.count() == before)
    kept->keep(file);
  return file;
}

} // namespace penstock::dsl
