// SPDX-License-Identifier: Apache-2.0
#include "dsl/Parser/Parser.h"

#include "dsl/Parser/Builder.h"
#include "dsl/Parser/ErrorStrategy.h"
#include "dsl/Parser/Repairs.h"
#include "dsl/Parser/TokenStream.h"

namespace penstock::dsl {

std::unique_ptr<File> parseFile(FileId file, const SourceManager &sources,
                                Diagnostics &diagnostics) {
  auto unread = [&] {
    auto empty = std::make_unique<File>();
    empty->id = file;
    return empty;
  };
  // One sum of a text's length is as deep a tree, see api/c/Stack.h.
  constexpr size_t largest = 1 << 20;
  if (const size_t size = sources.text(file).size(); size > largest) {
    diagnostics.error({file, 0, 0}, "a text has at most " + std::to_string(largest) +
                                        " bytes, and this one has " + std::to_string(size));
    return unread();
  }
  TokenList tokens = tokenize(file, sources.text(file));
  StatementLog log(tokens);
  warnOfDivisions(tokens, diagnostics);
  repairHabits(tokens, log, diagnostics);
  repairBrackets(tokens, log, diagnostics);
  if (!checkNesting(tokens, diagnostics))
    return unread();

  TokenStream stream(tokens);
  grammar::PenstockParser parser(&stream.stream);
  parser.removeErrorListeners();
  parser.setErrorHandler(std::make_shared<ErrorStrategy>(tokens, log, diagnostics));
  std::unique_ptr<File> tree = buildFile(parser.file(), tokens, diagnostics);
  for (size_t i = 0; i < tokens.items.size(); ++i)
    if (isName(tokens.items[i].type) && log.isTaken(tokens.items[i].range.begin))
      tree->unread.emplace(tokens.text(i));
  return tree;
}

} // namespace penstock::dsl
