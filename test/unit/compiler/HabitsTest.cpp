// SPDX-License-Identifier: Apache-2.0
//
// Habits of users of Python's libraries, and the first message for each.
//
// test/dsl/habits.txt is a table: a text, which stands in place of `$` in one of the
// templates below, and under it the first message, with its column and the text there.
// Set PENSTOCK_UPDATE_GOLDEN=1 to write the messages anew, and read the difference.

#include "dsl/Sema/OtherLibraries.h"
#include "test/unit/compiler/ImportText.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace penstock::test {
namespace {

const std::string path = PENSTOCK_SOURCE_DIR "/test/dsl/habits.txt";

std::string pipelineWith(const std::string &top, const std::string &lets, const std::string &output,
                         const std::string &head = "for row in image_folder(root)",
                         const std::string &batch = "batch 4 per rank last drop") {
  return "pipe 1\n" + top + "\npipeline p(root: path, size: int = 224) {\n  " + head + "\n" +
         "  let x = row.data |> decode(rgb) |> resize(64, 64)\n  " + lets + "\n  " + batch +
         " {\n    " + output + "\n  }\n}\n";
}

/// A text by how it begins: `let`, `output`, `for`, `batch`, `use` and other lines stand where such
/// lines stand.
std::string programOf(const std::string &text) {
  const std::string plain = "output y: u8[n, h, w, c] = x";
  if (text.starts_with("output "))
    return pipelineWith("use vision", "", text);
  if (text.starts_with("for row in image_folder"))
    return pipelineWith("use vision", "", plain, text);
  if (text.starts_with("batch "))
    return pipelineWith("use vision", "", plain, "for row in image_folder(root)", text);
  if (text.starts_with("top: "))
    return pipelineWith(text.substr(5), "", plain);
  return pipelineWith("use vision", text, plain);
}

/// `let y = x.mean()` and `9: error: ...`: the first message, without what stands elsewhere.
std::string firstMessage(const std::string &text) {
  dsl::SourceManager sources;
  dsl::Diagnostics diagnostics;
  stdlib::ShippedModules library;
  dsl::Program program = dsl::loadProgram(sources.add("test.pipe", programOf(text)), sources,
                                          library, importer::builtins(), diagnostics);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  if (!diagnostics.hasErrors())
    importer::importProgram(context, program, sources, {}, diagnostics);
  const std::vector<dsl::Diagnostic> all = diagnostics.sorted();
  if (all.empty())
    return "  nothing\n";
  const dsl::Diagnostic &first = all.front();
  const dsl::LineColumn at = sources.position(first.range.file, first.range.begin);
  const std::string line(sources.line(first.range.file, at.line));
  const size_t indent = line.find_first_not_of(' ');
  std::string out = "  " +
                    (text.find(line.substr(indent)) == std::string::npos
                         ? std::to_string(at.line) + ":" + std::to_string(at.column)
                         : std::to_string(at.column - indent)) +
                    " `" + std::string(sources.text(first.range)) +
                    "`: " + (first.severity == dsl::Severity::Error ? "" : "warning: ") +
                    first.message + "\n";
  for (const dsl::Note &note : first.notes)
    out += "    note: " + note.message + "\n";
  if (!first.hint.empty())
    out += "    hint: " + first.hint + "\n";
  if (all.size() > 1)
    out += "    and " + std::to_string(all.size() - 1) + " more\n";
  return out;
}

TEST(Habits, firstMessagesOfTheTable) {
  std::ifstream file(path);
  std::vector<std::pair<std::string, std::string>> table; // a line, and what is said of it
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("  ") && !table.empty())
      table.back().second += line + "\n";
    else
      table.emplace_back(line, "");
  EXPECT_GE(table.size(), 100u);
  const bool update = std::getenv("PENSTOCK_UPDATE_GOLDEN");
  std::string out;
  for (const auto &[text, expected] : table) {
    const bool isText = !text.empty() && !text.starts_with("#");
    const std::string said = isText ? firstMessage(text) : "";
    if (!update)
      EXPECT_EQ(said, expected) << text;
    out += text + "\n" + said;
  }
  if (update)
    std::ofstream(path, std::ios::binary) << out;
}

/// The hints exist: all of them compile.
TEST(Habits, hintsCompile) {
  EXPECT_GE(dsl::otherNames().size(), 100u);
  std::string lets = "let a = f32(x)\n  let b = a\n"
                     "  let s = extend(a[h = 0, c = 0] |> rename(w, t), t, 0, 8000)\n";
  size_t number = 0;
  for (const dsl::OtherName &other : dsl::otherNames()) {
    SCOPED_TRACE(std::string(other.name));
    EXPECT_NE(other.ours.empty(), other.says.empty());
    EXPECT_EQ(dsl::findOtherName(other.name), &other) << "twice in the table";
    const std::string ours(other.ours);
    if (!ours.empty())
      lets += "  let y" + std::to_string(number++) + " = " +
              (ours.starts_with("|>") ? "x " + ours : ours) + "\n";
  }
  Imported imported(
      pipelineWith("use vision, signal, augment", lets, "output y: u8[n, h, w, c] = x"));
  EXPECT_EQ(imported.messages, "");
}

} // namespace
} // namespace penstock::test
