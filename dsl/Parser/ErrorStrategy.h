// SPDX-License-Identifier: Apache-2.0
//
// Error reports and recovery of the generated parser.
//
// ANTLR's own strategy inserts and deletes single tokens; on damaged files this
// blames the wrong place and reports follow-ups. Here a statement that cannot
// be read is reported once and left behind at the next reserved word that opens
// a statement: the exception travels up to the rule of the statement, whose
// `recover` skips.
#pragma once

#include "dsl/Diagnostics/Diagnostics.h"
#include "dsl/Parser/Sentences.h"
#include "dsl/Parser/Tokens.h"

#include <antlr4-runtime.h>

namespace penstock::dsl {

class ErrorStrategy : public antlr4::DefaultErrorStrategy {
public:
  ErrorStrategy(const TokenList &tokens, StatementLog &log, Diagnostics &diagnostics)
      : tokens(tokens), log(log), diagnostics(diagnostics) {}

  void reportError(antlr4::Parser *parser, const antlr4::RecognitionException &error) override;
  void recover(antlr4::Parser *parser, std::exception_ptr error) override;
  antlr4::Token *recoverInline(antlr4::Parser *parser) override;
  void sync(antlr4::Parser *parser) override;

private:
  const TokenList &tokens;
  StatementLog &log;
  Diagnostics &diagnostics;
  bool travelling = false;      ///< an exception is on its way to its statement
  size_t lastReport = SIZE_MAX; ///< token index

  void report(antlr4::Parser *parser, antlr4::ParserRuleContext *context, size_t at,
              std::optional<size_t> expected);
  void skip(antlr4::Parser *parser, size_t rule, size_t start);
};

} // namespace penstock::dsl
