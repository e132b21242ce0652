// SPDX-License-Identifier: Apache-2.0
#include "dsl/Parser/RuleWords.h"

#include "generated/PenstockParser.h"

namespace penstock::dsl {

using Parser = grammar::PenstockParser;

// clang-format off: a table
std::string ruleWords(size_t rule) {
  switch (rule) {
  case Parser::RuleFile:
  case Parser::RuleHeader: return "`pipe 1`";
  case Parser::RuleUseDecl: return "`use`";
  case Parser::RuleDecl: return "`const`, `fn` or `pipeline`";
  case Parser::RuleConstDecl: return "a constant";
  case Parser::RuleFnDecl: return "a function";
  case Parser::RuleGenerics:
  case Parser::RuleGeneric: return "an element type such as `E: (u8, f32)`";
  case Parser::RuleParams: return "parameters in parentheses";
  case Parser::RuleParam: return "a parameter such as `size: int`";
  case Parser::RulePipelineDecl:
  case Parser::RulePipelineHead: return "a pipeline";
  case Parser::RuleForHead: return "`for row in ...`";
  case Parser::RuleBatchBlock:
  case Parser::RuleBatchHead: return "a `batch` block";
  case Parser::RuleByLength: return "`<= 1_000_000 elements by row.length buckets 8`";
  case Parser::RuleBatchItem: return "`let` or `output`";
  case Parser::RuleLetStmt: return "`let`";
  case Parser::RuleReturnStmt: return "`return`";
  case Parser::RuleOutputStmt: return "`output`";
  case Parser::RuleOutputTrait: return "`stored`, `pad`, `ragged` or `on`";
  case Parser::RulePlace: return "`cpu`, `gpu` or `auto`";
  case Parser::RuleBlock: return "a block";
  case Parser::RuleExpr:
  case Parser::RuleChoice:
  case Parser::RuleOper:
  case Parser::RuleConjunction:
  case Parser::RuleNegation:
  case Parser::RuleComparison:
  case Parser::RuleSpan:
  case Parser::RuleSum:
  case Parser::RuleProduct:
  case Parser::RuleUnary:
  case Parser::RuleAtom:
  case Parser::RuleScoped:
  case Parser::RuleGroup: return "an expression";
  case Parser::RuleComparator: return "a comparison";
  case Parser::RulePostfix: return "`.`, `(` or `[`";
  case Parser::RuleIndex: return "an index such as `[h = 0]`";
  case Parser::RuleAxisIndex: return "`axis = value`";
  case Parser::RuleEach: return "`each (v in 0 .. 2) { ... }`";
  case Parser::RuleMap: return "`map (x in xs) { ... }`";
  case Parser::RuleWindow: return "`window (v in x, h = -1 ..= 1) { ... }`";
  case Parser::RuleSearch: return "`search (10) { ... accept value when condition } else value`";
  case Parser::RuleAccept: return "`accept value when condition`";
  case Parser::RuleDraw: return "a distribution after `draw`";
  case Parser::RuleArgs:
  case Parser::RuleArg: return "an argument";
  case Parser::RuleBind: return "`name in value`";
  case Parser::RuleSetting: return "`name = value`";
  case Parser::RuleAxes: return "axes in brackets such as `[h, w]`";
  case Parser::RuleRecord: return "a record";
  case Parser::RuleList: return "a list";
  case Parser::RuleStage:
  case Parser::RuleStageBody:
  case Parser::RuleCallStage:
  case Parser::RuleChain: return "a stage";
  case Parser::RuleChainGroup: return "stages in braces";
  case Parser::RuleChooseStage: return "`choose { weight => stage, ... }`";
  case Parser::RuleArm: return "`weight => stage`";
  case Parser::RuleRepeatStage: return "`repeat (n) { ... }`";
  case Parser::RuleType:
  case Parser::RuleRecordType: return "a type";
  case Parser::RuleAxisTypes:
  case Parser::RuleAxisType: return "an axis such as `h` or `c = 3`";
  case Parser::RuleFieldType: return "a field such as `data: bytes`";
  case Parser::RuleName: return "a name";
  default: return "";
  }
}
// clang-format on

bool isList(size_t rule) {
  switch (rule) {
  case Parser::RuleArgs:
  case Parser::RuleParams:
  case Parser::RuleGeneric:
  case Parser::RuleGenerics:
  case Parser::RuleIndex:
  case Parser::RuleAxes:
  case Parser::RuleRecord:
  case Parser::RuleList:
  case Parser::RuleChooseStage:
  case Parser::RuleAxisTypes:
  case Parser::RuleRecordType:
    return true;
  default:
    return false;
  }
}

} // namespace penstock::dsl
