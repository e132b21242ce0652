// SPDX-License-Identifier: Apache-2.0
#include "dsl/Diagnostics/Nearest.h"
#include "dsl/Parser/Parser.h"
#include "dsl/Sema/Checker.h"
#include "dsl/Sema/ParsedFiles.h"

namespace penstock::dsl {
namespace {

/// Reads modules, each once, and what they use themselves.
class ModuleReader {
public:
  ModuleReader(Program &program, SourceManager &sources, ModuleLoader &loader,
               Diagnostics &diagnostics)
      : program(program), sources(sources), loader(loader), diagnostics(diagnostics) {}

  void readUses(const File &file) {
    for (const Name &use : file.uses)
      if (!read(use.text))
        unknown(use);
  }

  bool read(const std::string &name) {
    if (program.modules.contains(name))
      return true;
    std::shared_ptr<const File> file = parseModule(name, sources, loader, diagnostics);
    if (!file)
      return false;
    program.modules.emplace(name, file); // first: modules may use each other
    readUses(*file);
    return true;
  }

private:
  Program &program;
  SourceManager &sources;
  ModuleLoader &loader;
  Diagnostics &diagnostics;

  void unknown(const Name &use) {
    std::vector<std::string> names = loader.names();
    std::string near = nearest(use.text, names), all;
    for (const std::string &name : names)
      if (name != preludeName)
        all += (all.empty() ? "" : " ") + name;
    diagnostics.error(use.range, "there is no module `" + use.text + "`")
        .hint(!near.empty()  ? "`" + near + "`"
              : !all.empty() ? "the modules are " + all
                             : "");
  }
};

} // namespace

Program loadProgram(FileId main, SourceManager &sources, ModuleLoader &loader,
                    const Builtins &builtins, Diagnostics &diagnostics) {
  Program program;
  program.main = parseFile(main, sources, diagnostics);
  ModuleReader reader(program, sources, loader, diagnostics);
  reader.read(std::string(preludeName)); // may be missing
  reader.readUses(*program.main);
  Shelf shelf(loader);
  InlinedSize sizes;
  Checker(program, *program.main, builtins, shelf, sizes, diagnostics).run();
  for (const auto &[name, module] : program.modules)
    Checker(program, *module, builtins, shelf, sizes, diagnostics).run();
  if (!diagnostics.hasErrors())
    sizes.report(diagnostics);
  return program;
}

} // namespace penstock::dsl
