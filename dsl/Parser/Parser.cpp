#include "dsl/Parser/Parser.h"

#include "dsl/Parser/Builder.h"
#include "dsl/Parser/ErrorStrategy.h"
#include "dsl/Parser/Repairs.h"
#include "dsl/Parser/TokenStream.h"

namespace penstock::dsl {

std::unique_ptr<File> parseFile(FileId file, const SourceManager &sources,
                                Diagnostics &diagnostics) {
  TokenList tokens = tokenize(file, sources.text(file));
  StatementLog log(tokens);
  repairHabits(tokens, log, diagnostics);
  repairBrackets(tokens, log, diagnostics);
  if (!checkNesting(tokens, diagnostics)) {
    auto empty = std::make_unique<File>();
    empty->id = file;
    return empty;
  }

  TokenStream stream(tokens);
  grammar::PenstockParser parser(&stream.stream);
  parser.removeErrorListeners();
  parser.setErrorHandler(std::make_shared<ErrorStrategy>(tokens, log, diagnostics));
  return buildFile(parser.file(), tokens, diagnostics);
}

} // namespace penstock::dsl
