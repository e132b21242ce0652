// SPDX-License-Identifier: Apache-2.0
//
// Pipelines: options, rows, the batch and its outputs.
#include "dsl/AST/Printer.h"
#include "dsl/Diagnostics/Nearest.h"
#include "dsl/Sema/Checker.h"

#include <algorithm>

namespace penstock::dsl {

void Checker::checkPipeline(const PipelineDecl &pipeline) {
  ScopeGuard scope(*this);
  later.clear();
  incomplete = false;
  inPipeline = true;
  sizes.beginPipeline();
  declareParams(pipeline.params);
  noteLater(pipeline.tableLets);
  noteLater(pipeline.sampleLets);
  for (const auto &item : pipeline.batch.items)
    if (const auto *let = std::get_if<LetDecl>(&item); let && !let->name.text.empty())
      later.emplace(let->name.text, let->name.range);
  if (!pipeline.row.text.empty())
    later.emplace(pipeline.row.text, pipeline.row.range);

  checkOptions(pipeline.options);
  for (const LetDecl &let : pipeline.tableLets)
    checkLet(let);
  check(pipeline.source);
  declare(pipeline.row, "row");
  check(pipeline.where);
  if (pipeline.order)
    checkOrder(*pipeline.order);
  if (pipeline.batch.byLength)
    checkByLength(pipeline);
  for (const LetDecl &let : pipeline.sampleLets)
    checkLet(let);
  checkBatch(pipeline.batch);
  inPipeline = false;
}

void Checker::checkOptions(const std::vector<OptionSetting> &options) {
  static constexpr std::string_view known[] = {"seed", "on_error", "numerics", "index"};
  for (size_t i = 0; i < options.size(); ++i) {
    const OptionSetting &option = options[i];
    for (size_t j = 0; j < i; ++j)
      if (options[j].name.text == option.name.text)
        diagnostics
            .error(option.name.range, "option " + quote(option.name.text) + " is given twice")
            .note(options[j].name.range, "first here");
    const auto *word = option.value->as<NameExpr>();
    const auto *call = option.value->as<CallExpr>();
    if (option.name.text == "on_error") {
      const auto *callee = call ? call->callee->as<NameExpr>() : nullptr;
      bool substitute = callee && callee->name == "substitute" && call->args.args.size() == 1 &&
                        !call->args.args.front().name;
      if (substitute)
        checkArgs(call->args, {}, 0);
      else if (!word || word->name != "fail")
        diagnostics.error(option.value->range, "`on_error` is `substitute(5%)` or `fail`");
    } else if (option.name.text == "numerics") {
      if (word && word->name == "fast")
        diagnostics
            .error(word->range, "`fast` is reserved for a licence to approximate, and has "
                                "no meaning yet")
            .hint("`pillow` or `exact`");
      else if (!word || (word->name != "pillow" && word->name != "exact"))
        diagnostics.error(option.value->range, "`numerics` is `pillow` or `exact`");
    } else if (option.name.text == "seed") {
      check(*option.value);
    } else if (option.name.text == "index") {
      if (!word || (word->name != "auto" && word->name != "off"))
        check(*option.value);
    } else {
      std::string near = nearest(option.name.text, known);
      diagnostics.error(option.name.range, "there is no pipeline option " + quote(option.name.text))
          .hint(near.empty() ? "the options are `seed`, `on_error`, `numerics` and `index`"
                             : quote(near));
    }
  }
}

void Checker::checkOrder(const Expr &order) {
  static constexpr std::string_view words[] = {"sequential", "shuffled", "weighted"};
  if (const auto *word = order.as<NameExpr>()) {
    if (isValue(word->name) || word->name == words[0] || word->name == words[1])
      return;
    if (word->name == words[2]) {
      diagnostics.error(word->range, "`weighted` takes the weight of a row")
          .hint("`weighted(row.weight)`");
      return;
    }
    std::string near = nearest(word->name, words);
    diagnostics.error(word->range, "unknown order " + quote(word->name))
        .hint(near.empty() ? "`sequential`, `shuffled`, `weighted(...)` or a list of rows"
                           : quote(near));
    return;
  }
  const auto *call = order.as<CallExpr>();
  const auto *callee = call ? call->callee->as<NameExpr>() : nullptr;
  if (callee && callee->name == words[2])
    return checkArgs(call->args, {}, 0);
  check(order);
}

/// Lengths are known before the first sample: they are the row's, as `where` is.
void Checker::checkByLength(const PipelineDecl &pipeline) {
  const BatchDecl &batch = pipeline.batch;
  check(batch.byLength->length);
  check(batch.byLength->buckets);
  const auto *call = pipeline.order ? pipeline.order->as<CallExpr>() : nullptr;
  const auto *callee = call ? call->callee->as<NameExpr>() : nullptr;
  if (callee && callee->name == "weighted")
    diagnostics
        .error(pipeline.order->range,
               "`weighted` draws rows anew in each epoch, and batches by length have each row once")
        .note(batch.byLength->range, "batches by length")
        .hint("`shuffled`");
  if (batch.last && batch.last->text == "pad")
    diagnostics
        .error(batch.last->range, "`last pad` gives all ranks as many samples, and batches by "
                                  "length differ in theirs")
        .hint("`last keep` gives all ranks as many batches");
}

void Checker::checkBatch(const BatchDecl &batch) {
  check(batch.size);
  if (batch.last && batch.last->text != "drop" && batch.last->text != "keep" &&
      batch.last->text != "pad")
    diagnostics
        .error(batch.last->range,
               "`last` is `drop`, `keep` or `pad`, not " + quote(batch.last->text))
        .hint("`drop` leaves out a last batch that is not full");
  ScopeGuard scope(*this);
  if (const Entry *taken = findLocal("n"))
    diagnostics
        .error(taken->range, "`n` is the batch axis and cannot be the name of a " +
                                 std::string(taken->what) + " too")
        .note(batch.keyword, "it exists in this block")
        .hint("another name");
  else
    scopes.back().emplace("n", Entry{"batch axis", batch.keyword});
  inBatch = true;
  std::vector<const OutputDecl *> outputs;
  for (const auto &item : batch.items) {
    if (const auto *let = std::get_if<LetDecl>(&item)) {
      checkLet(*let);
      continue;
    }
    const OutputDecl &output = std::get<OutputDecl>(item);
    for (const OutputDecl *other : outputs)
      if (other->name.text == output.name.text)
        diagnostics
            .error(output.name.range, "output " + quote(output.name.text) + " is declared twice")
            .note(other->name.range, "first here");
    outputs.push_back(&output);
    checkOutput(output);
  }
  if (outputs.empty() && !diagnostics.hasErrors())
    diagnostics.error(batch.keyword, "this batch has no `output`");
  inBatch = false;
}

void Checker::checkOutput(const OutputDecl &output) {
  if (!output.value)
    return; // a syntax error, said already
  checkType(output.type);
  check(output.pad);
  check(output.value);
  if (output.pad && output.ragged)
    diagnostics.error(*output.ragged, "an output is padded or ragged, not both")
        .note(output.pad->range, "its padding");
  if (!output.stored)
    return;
  checkAxes(*output.stored);
  auto has = [](const auto &list, std::string_view name, auto get) {
    return std::any_of(list.begin(), list.end(), [&](auto &item) { return get(item) == name; });
  };
  for (const Name &axis : output.stored->axes)
    if (!has(output.type.axes, axis.text, [](auto &a) { return a.name.text; }))
      diagnostics
          .error(axis.range,
                 "`stored` names axis " + quote(axis.text) + ", which the output does not have")
          .note(output.type.range, "the output is " + printType(output.type));
  for (const AxisType &axis : output.type.axes)
    if (!has(output.stored->axes, axis.name.text, [](auto &a) { return a.text; }))
      diagnostics.error(output.stored->range, "`stored` leaves out axis " + quote(axis.name.text))
          .note(axis.range, "the output has it");
}

} // namespace penstock::dsl
