// SPDX-License-Identifier: Apache-2.0
//
// The list of the language's functions, constants and intrinsics.
//
// Nothing is listed twice: functions come from the modules' own text, and
// intrinsics from the tables of docs/intrinsics.md, both compiled in.
#include "api/c/Operators.h"
#include "compiler/Import/Import.h"
#include "dsl/AST/Printer.h"
#include "dsl/Parser/Parser.h"
#include "stdlib/Modules.h"
#include "stdlib/Pages.h"
#include <nlohmann/json.hpp>

using namespace penstock;
using nlohmann::ordered_json;

namespace {

constexpr size_t mostExamples = 3;

bool isWordPart(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  return begin == std::string_view::npos
             ? std::string_view()
             : text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

template <typename Visit> void forEachLine(std::string_view text, const Visit &visit) {
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end), number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// Returns whether a line of a pipeline calls the operator, or uses the constant.
bool uses(std::string_view line, std::string_view name) {
  line = line.substr(0, line.find("//"));
  for (size_t at = line.find(name); at != std::string_view::npos; at = line.find(name, at + 1)) {
    const size_t end = at + name.size();
    const std::string_view before = trimmed(line.substr(0, at)), after = trimmed(line.substr(end));
    const bool whole = (at == 0 || (!isWordPart(line[at - 1]) && line[at - 1] != '.')) &&
                       (end == line.size() || !isWordPart(line[end]));
    if (whole && !after.starts_with('=') && !after.starts_with(':') &&
        !before.ends_with("output") && !before.ends_with("let"))
      return true;
  }
  return false;
}

ordered_json examplesOf(std::string_view name) {
  ordered_json found = ordered_json::array();
  for (std::string_view example : stdlib::exampleNames()) {
    bool taken = false;
    forEachLine(*stdlib::exampleText(example), [&](std::string_view line, size_t number) {
      if (taken || found.size() == mostExamples || !uses(line, name))
        return;
      taken = true;
      found.push_back({{"file", "examples/" + std::string(example) + ".pipe"},
                       {"line", number},
                       {"text", std::string(trimmed(line.substr(0, line.find("//"))))}});
    });
  }
  return found;
}

ordered_json entry(const std::string &name, const char *kind, const std::string &module) {
  return {{"name", name},
          {"kind", kind},
          {"module", module},
          {"signatures", ordered_json::array()},
          {"doc", ""},
          {"usage", ""},
          {"examples", examplesOf(name)}};
}

/// The shortest way to call a function: `x |> flip(a)`.
std::string usageOf(const dsl::FnDecl &fn, bool isDraw) {
  const bool isStage =
      !fn.params.empty() && fn.params[0].type.kind != dsl::TypeExpr::Kind::Scalar && !isDraw;
  std::string args;
  for (size_t i = isStage; i < fn.params.size(); ++i)
    if (!fn.params[i].defaultValue)
      args += (args.empty() ? "" : ", ") + fn.params[i].name.text;
  const std::string call =
      fn.name.text + (args.empty() && (isStage || isDraw) ? "" : "(" + args + ")");
  return isStage ? fn.params[0].name.text + " |> " + call : isDraw ? "draw " + call : call;
}

void addModule(const std::string &name, ordered_json &all) {
  dsl::SourceManager sources;
  dsl::Diagnostics diagnostics;
  const dsl::FileId id = sources.add(name, std::string(*stdlib::moduleText(name)));
  const std::unique_ptr<dsl::File> file = dsl::parseFile(id, sources, diagnostics);
  const dsl::Builtins builtins = importer::builtins();
  const size_t first = all.size();
  std::set<std::string> withRecord; // whose first overload takes no tensor
  for (const dsl::FnDecl &fn : file->fns) {
    if (!fn.isPublic)
      continue;
    auto found =
        std::find_if(all.begin() + static_cast<std::ptrdiff_t>(first), all.end(),
                     [&](const ordered_json &known) { return known["name"] == fn.name.text; });
    const bool isDraw = builtins.distributions.contains(fn.name.text);
    if (found == all.end()) {
      all.push_back(entry(fn.name.text, isDraw ? "draw" : "function", name));
      found = all.end() - 1;
    }
    // Of a record's and a tensor's overload, the tensor's is the simpler one.
    const bool isTensor =
        !fn.params.empty() && fn.params[0].type.kind == dsl::TypeExpr::Kind::Tensor;
    if ((*found)["usage"] == "" || (isTensor && withRecord.erase(fn.name.text)))
      (*found)["usage"] = usageOf(fn, isDraw);
    if ((*found)["signatures"].empty() && !isTensor)
      withRecord.insert(fn.name.text);
    (*found)["signatures"].push_back(dsl::printSignature(fn));
    std::string doc = (*found)["doc"];
    if (!fn.doc.empty())
      (*found)["doc"] = doc.empty() ? fn.doc : doc + "\n" + fn.doc;
  }
  for (const dsl::ConstDecl &constant : file->consts) {
    if (!constant.isPublic)
      continue;
    ordered_json added = entry(constant.name.text, "constant", name);
    added["signatures"] = {constant.name.text +
                           (constant.type ? ": " + dsl::printType(*constant.type) : "")};
    added["doc"] = constant.doc;
    added["usage"] = constant.name.text;
    all.push_back(std::move(added));
  }
}

/// One row of a table: | `sum(x over [a, ...])`, `min(...)` | what they give |
void addRow(std::string_view row, ordered_json &all) {
  const size_t split = row.find(" | ");
  std::string_view calls = row.substr(2, split - 2);
  std::string doc(trimmed(row.substr(split + 3)));
  doc = trimmed(doc.substr(0, doc.rfind('|')));
  for (size_t at = calls.find('`'); at != std::string_view::npos; at = calls.find('`')) {
    const size_t end = calls.find('`', at + 1);
    const std::string call(calls.substr(at + 1, end - at - 1));
    calls.remove_prefix(end + 1);
    const bool isDraw = call.starts_with("draw ");
    const size_t begin = isDraw ? 5 : 0;
    const std::string name = call.substr(begin, call.find('(') - begin);
    // `min` is a function of two values and a reduction.
    auto known = std::find_if(all.begin(), all.end(), [&](const ordered_json &other) {
      return other["name"] == name && other["module"] == "intrinsics";
    });
    if (known == all.end()) {
      all.push_back(entry(name, isDraw ? "draw" : "intrinsic", "intrinsics"));
      known = all.end() - 1;
      (*known)["usage"] = call;
    }
    (*known)["signatures"].push_back(call);
    const std::string before = (*known)["doc"];
    (*known)["doc"] = before.empty() ? doc : before + "\n" + doc;
  }
}

} // namespace

std::string api::operatorsJson() {
  ordered_json all = ordered_json::array();
  for (std::string_view module : stdlib::moduleNames())
    addModule(std::string(module), all);
  forEachLine(*stdlib::pageText("intrinsics"), [&](std::string_view line, size_t) {
    if (line.starts_with("| `"))
      addRow(line, all);
  });
  return all.dump(2) + "\n";
}
