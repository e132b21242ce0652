// SPDX-License-Identifier: Apache-2.0
//
// docs/intrinsics.md is the one list of intrinsics that people and
// `penstock ops` read: it names what there is, and nothing else.
#include "compiler/Import/Import.h"
#include "stdlib/Pages.h"

#include <gtest/gtest.h>

#include <regex>

namespace penstock::importer {
namespace {

using Names = std::set<std::string>;

Names namesIn(const std::string &text, const std::string &pattern) {
  const std::regex regex(pattern);
  Names names;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it)
    names.insert((*it)[1]);
  return names;
}

Names with(Names names, const dsl::Builtins::Set &more) {
  names.insert(more.begin(), more.end());
  return names;
}

Names listed(const std::string &page) {
  std::string cells; // the first ones
  for (const std::string &row : namesIn(page, "(?:^|\n)\\| (`.*?`) \\|"))
    cells += row + "\n";
  return namesIn(cells, "`(?:draw )?([A-Za-z_0-9.]+)");
}

TEST(IntrinsicsPage, NamesWhatThereIs) {
  const std::string page(*stdlib::pageText("intrinsics"));
  const dsl::Builtins known = builtins();
  const Names names = listed(page);
  for (const std::string &function : known.functions)
    EXPECT_TRUE(names.contains(function)) << function << " is missing in docs/intrinsics.md";
  const Names words = namesIn(page, "([A-Za-z_0-9]+)");
  for (const dsl::Builtins::Set *set : {&known.values, &known.distributions})
    for (const std::string &word : *set)
      EXPECT_TRUE(words.contains(word)) << word << " is missing in docs/intrinsics.md";
}

TEST(IntrinsicsPage, NamesNothingElse) {
  const dsl::Builtins known = builtins();
  Names all = with(with({}, known.functions), known.values);
  all = with(all, known.distributions);
  all = with(all,
             {"u8", "i8", "u16", "i16", "i32", "i64", "int", "f16", "bf16", "f32", "f64", "bool"});
  const Names names = listed(std::string(*stdlib::pageText("intrinsics")));
  EXPECT_GT(names.size(), 50u);
  for (const std::string &name : names)
    if (name.find('.') == std::string::npos) // `u8.clamp`, `table.length`
      EXPECT_TRUE(all.contains(name)) << name << " is no intrinsic";
}

} // namespace
} // namespace penstock::importer
