// SPDX-License-Identifier: Apache-2.0
#include "dsl/Parser/GrammarReport.h"

#include "dsl/Parser/RuleWords.h"
#include "dsl/Parser/TokenStream.h"
#include "generated/PenstockParser.h"

namespace penstock::dsl {
namespace {

class Listener : public antlr4::BaseErrorListener {
public:
  std::vector<std::string> lines;

  void syntaxError(antlr4::Recognizer *, antlr4::Token *token, size_t, size_t,
                   const std::string &message, std::exception_ptr) override {
    lines.push_back("syntax error at token " + std::to_string(token->getTokenIndex()) + ": " +
                    message);
  }
  void reportAmbiguity(antlr4::Parser *parser, const antlr4::dfa::DFA &dfa, size_t start, size_t,
                       bool, const antlrcpp::BitSet &, antlr4::atn::ATNConfigSet *) override {
    add("ambiguity", parser, dfa, start);
  }
  void reportAttemptingFullContext(antlr4::Parser *parser, const antlr4::dfa::DFA &dfa,
                                   size_t start, size_t, const antlrcpp::BitSet &,
                                   antlr4::atn::ATNConfigSet *) override {
    add("full context", parser, dfa, start);
  }
  void reportContextSensitivity(antlr4::Parser *parser, const antlr4::dfa::DFA &dfa, size_t start,
                                size_t, size_t, antlr4::atn::ATNConfigSet *) override {
    add("context sensitivity", parser, dfa, start);
  }

private:
  void add(const char *what, antlr4::Parser *parser, const antlr4::dfa::DFA &dfa, size_t start) {
    lines.push_back(std::string(what) + " in rule " +
                    parser->getRuleNames()[dfa.atnStartState->ruleIndex] + " at token " +
                    std::to_string(start));
  }
};

} // namespace

std::vector<std::string> grammarReport(std::string_view text) {
  TokenList tokens = tokenize(FileId{0}, text);
  TokenStream stream(tokens);
  grammar::PenstockParser parser(&stream.stream);
  Listener listener;
  parser.removeErrorListeners();
  parser.addErrorListener(&listener);
  parser.getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(
      antlr4::atn::PredictionMode::LL_EXACT_AMBIG_DETECTION);
  parser.file();
  return listener.lines;
}

std::vector<std::string> rulesWithoutWords() {
  TokenList tokens = tokenize(FileId{0}, "");
  TokenStream stream(tokens);
  grammar::PenstockParser parser(&stream.stream);
  std::vector<std::string> missing;
  for (size_t rule = 0; rule < parser.getRuleNames().size(); ++rule)
    if (ruleWords(rule).empty())
      missing.push_back(parser.getRuleNames()[rule]);
  return missing;
}

} // namespace penstock::dsl
