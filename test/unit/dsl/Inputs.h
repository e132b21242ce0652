// SPDX-License-Identifier: Apache-2.0
//
// Inputs of the tests of dsl: files under test/dsl, a library that is a fake.
#pragma once

#include "dsl/Sema/Check.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace penstock::dsl::test {

/// `.pipe` files of test/dsl/<folder> and below, sorted by path.
std::vector<std::filesystem::path> pipeFiles(const std::string &folder);
/// The examples, the benchmarks' pipelines and the library, sorted by name.
std::vector<std::filesystem::path> shippedFiles();
std::string readFile(const std::filesystem::path &path);

/// Modules from memory.
class FakeModuleLoader : public ModuleLoader {
public:
  std::map<std::string, std::string> modules;

  std::optional<Module> load(std::string_view name) override;
  std::vector<std::string> names() override;
};

/// The modules that the examples use, empty but for two constants: the
/// functions of the examples are among the built-in ones.
FakeModuleLoader exampleLibrary();
Builtins exampleBuiltins();
/// As above, with the names that the shipped library declares: for shippedFiles().
Builtins shippedBuiltins();

/// The texts of docs/language.md that are files or declarations, as files.
std::vector<std::string> languagePageFiles();

/// A text run through loadProgram with the library above.
struct Checked {
  explicit Checked(std::string text, const std::string &name = "train.pipe");
  Checked(std::string text, FakeModuleLoader loader, const std::string &name = "train.pipe",
          const Builtins &builtins = exampleBuiltins());

  SourceManager sources;
  Diagnostics diagnostics;
  Program program;

  std::string messages() const;
};

} // namespace penstock::dsl::test
