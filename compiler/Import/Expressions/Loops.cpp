// SPDX-License-Identifier: Apache-2.0
//
// `each` and `search`.
#include "compiler/Import/Expressions/Expressions.h"

using namespace penstock::importer;
using penstock::pipe::BinaryKind;

std::pair<int64_t, int64_t> Expressions::viewsOf(const dsl::EachExpr &each) {
  if (!regions.empty())
    notYet(each.range, "`each` inside a `map` or `window`");
  Val range = eval(*each.bind.domain);
  if (!range.is(Kind::Range))
    fail(each.bind.domain->range,
         "`each` runs over a range such as `0 .. 2`, and this is " + show(range));
  const auto [low, end] =
      demandIntEnds(range, each.bind.domain->range, "the start of `each`", "the end of `each`");
  const int64_t views = end - low + (range.closed ? 1 : 0);
  if (views < 1)
    fail(each.bind.domain->range, "this `each` has no view");
  return {low, views};
}

/// Returns the values of the views, concatenated along the axis if they have it, else stacked.
Val Expressions::joined(const std::vector<Val> &views, const dsl::Name &axis,
                        const dsl::EachExpr &each) {
  const Val &first = views.front();
  if (first.is(Kind::Record)) {
    Val record = first;
    for (size_t i = 0; i < record.parts.size(); ++i) {
      std::vector<Val> fields;
      for (const Val &view : views)
        fields.push_back(view.parts[i]);
      record.parts[i] = joined(fields, axis, each);
    }
    return record;
  }
  const bool joins = first.is(Kind::Tensor) && find(dims(first.ir), axis.text);
  Argument list{{}, "", nullptr, each.body.result->range}, along{{}, "", nullptr, axis.range};
  list.value.kind = Kind::List;
  list.value.parts = views;
  along.value = wordOf(joins ? axis.text : each.bind.name.text);
  return callIntrinsic({joins ? "concat" : "stack", axis.range}, {list, along}, each.range);
}

Val Expressions::joinEach(const dsl::EachExpr &each, const dsl::Name &axis) {
  const auto [low, count] = viewsOf(each);
  if (count > 64)
    notYet(each.range, "more than 64 views that are joined");
  PlaceGuard guard(*this, each.range);
  std::vector<Val> views;
  const std::map<std::string, int> before = draws.ordinals; // the key tells the views apart
  for (int64_t view = 0; view < count; ++view) {
    draws.ordinals = before;
    Restore steps(draws.keySteps);
    draws.keySteps.push_back({intConstant(view), count});
    BinderScope names(frames);
    names.hide(each.bind.name.text);
    bind(each.bind.name, number(intConstant(low + view)));
    views.push_back(evalBlock(each.body));
    if (views.back().names != views.front().names)
      fail(each.body.result->range, "the views have different fields: " + show(views.front()) +
                                        " and " + show(views.back()));
  }
  return joined(views, axis, each);
}

Val Expressions::evalEach(const dsl::EachExpr &each) {
  const auto [low, views] = viewsOf(each);
  PlaceGuard guard(*this, each.range);

  auto block = OwnedBlock(new mlir::Block());
  mlir::Value view = block->addArgument(base.getI64Type(), here);
  Val body;
  {
    BaseGuard inside(base, block.get());
    Restore steps(draws.keySteps);
    draws.keySteps.push_back({view, views});
    BinderScope names(frames);
    names.hide(each.bind.name.text);
    bind(each.bind.name, number(binary(BinaryKind::add, view, intConstant(low))));
    body = evalBlock(each.body);
    std::vector<Val *> leaves;
    flatten(body, leaves);
    for (Val *leaf : leaves)
      if (leaf->is(Kind::Number)) // a tensor of rank 0, to be stacked
        *leaf = tensor(buildMap({}, leaf->ir.getType(), [&](ElementRegion &) { return leaf->ir; }));
      else if (!leaf->is(Kind::Tensor))
        fail(each.body.result->range,
             "`each` stacks numbers and tensors, and this is " + show(*leaf));
    llvm::SmallVector<mlir::Value> yielded;
    for (Val *leaf : leaves)
      yielded.push_back(leaf->ir);
    base.create<pipe::YieldOp>(here, yielded);
  }
  std::vector<Val *> leaves;
  flatten(body, leaves);
  const std::string axis = each.bind.name.text;
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<mlir::Value> sizes;
  for (Val *leaf : leaves) {
    std::vector<Dim> all = dims(leaf->ir);
    if (find(all, axis))
      fail(each.bind.name.range,
           "the views already have an axis " + quote(axis) + ": " + show(*leaf));
    for (Dim &dim : all) {
      if (dim.axis.isStatic())
        continue;
      if (!hoistable(dim.size, block.get()))
        fail(each.body.result->range,
             "the views differ in extent along axis " + quote(dim.axis.name) +
                 ", and they are stacked",
             "resize or crop each view to one size");
      if (const Counted *counted = countedBy(dim)) {
        mlir::Value count = counted->count;
        if (count.getParentBlock() == block.get())
          fail(each.body.result->range,
               "the views differ in the number of elements along axis " + quote(dim.axis.name) +
                   ", known once " + counted->once + ", and they are stacked",
               "bring each view to one size, or reduce it: `map (i in 0 .. 100) { x[" +
                   dim.axis.name + " = i] }`");
      }
      hoist(dim.size, block.get());
    }
    all.insert(all.begin(), Dim{{axis, views, -1, ""}, {}});
    types.push_back(tensorOf(elementType(*leaf), all));
    llvm::append_range(sizes, sizesOf(all));
  }
  auto op = base.create<pipe::EachOp>(here, types, axis, static_cast<uint64_t>(views), sizes);
  op.getBody().push_back(block.release());
  for (auto [leaf, result] : llvm::zip(leaves, op.getResults()))
    *leaf = tensor(result);
  return body;
}

/// A search holds no checks. A try that fails one ends it and gives what the check asks for, so
/// that those of the tries stand behind it; so do those of the `else`, where that is what it gives.
penstock::pipe::SearchOp Expressions::createSearch(int64_t tries, OwnedBlock body,
                                                   OwnedBlock otherwise, mlir::Value accepts,
                                                   llvm::SmallVector<mlir::Value> values,
                                                   llvm::SmallVector<mlir::Value> alternatives) {
  const size_t given = values.size();
  const auto ofTries = llvm::to_vector(body->getOps<pipe::CheckOp>());
  const bool elseFails = !otherwise->getOps<pipe::CheckOp>().empty();
  {
    BaseGuard inside(base, body.get());
    for (pipe::CheckOp check : ofTries) {
      accepts = select(check.getCondition(), accepts, constant(base.getI1Type(), 1));
      llvm::append_range(values, check->getOperands());
    }
    if (elseFails)
      values.push_back(constant(base.getI1Type(), 1));
    base.create<pipe::AcceptOp>(here, accepts, values);
  }
  {
    BaseGuard inside(base, otherwise.get());
    for (size_t i = 0; i < ofTries.size(); ++i)
      alternatives.append({constant(base.getI1Type(), 1), intConstant(0), intConstant(0)});
    if (elseFails)
      alternatives.push_back(constant(base.getI1Type(), 0));
    base.create<pipe::YieldOp>(here, alternatives);
  }
  for (pipe::CheckOp check : otherwise->getOps<pipe::CheckOp>())
    for (mlir::Value operand : check->getOperands())
      hoist(operand, otherwise.get());
  auto op = base.create<pipe::SearchOp>(here, mlir::ValueRange(values).getTypes(),
                                        static_cast<uint64_t>(tries));
  op.getBody().push_back(body.release());
  op.getOtherwise().push_back(otherwise.release());
  mlir::ResultRange asked = op.getResults().drop_front(given);
  for (pipe::CheckOp check : ofTries) {
    check->setOperands(asked.take_front(3));
    asked = asked.drop_front(3);
    check->moveBefore(base.getInsertionBlock(), base.getInsertionPoint());
  }
  if (elseFails)
    hoistChecks(&op.getOtherwise().front(), asked.front());
  return op;
}

Val Expressions::evalSearch(const dsl::SearchExpr &search) {
  if (!regions.empty()) {
    const std::string called = calledByUser(search.range);
    notYet(search.range, (called.empty() ? "`search`" : quote(called) + ", which is a `search`,") +
                             " inside a `map` or `window`");
  }
  int64_t tries = demandInt(eval(*search.tries), search.tries->range, "the number of tries");
  if (tries < 1)
    fail(search.tries->range, "a search needs at least one try");
  PlaceGuard guard(*this, search.range);
  Restore searching(draws.searching, true);
  auto demandScalars = [&](Val &value, dsl::SourceRange range) {
    std::vector<Val *> leaves;
    flatten(value, leaves);
    for (Val *leaf : leaves)
      if (leaf->is(Kind::Tensor) && leaf->tensorType().getRank() == 0)
        fail(range, "what a search gives depends on pixels here, and must be known before them",
             "accept what was drawn, and compute with it behind the search");
      else if (!leaf->is(Kind::Number))
        fail(range, "a search gives numbers, and this is " + show(*leaf));
    return leaves;
  };

  const int64_t drawsBefore = draws.count;
  auto body = OwnedBlock(new mlir::Block());
  auto otherwise = OwnedBlock(new mlir::Block());
  mlir::Value attempt = body->addArgument(base.getI64Type(), here);
  Val accepted;
  mlir::Value condition;
  const mlir::OpBuilder::InsertPoint outside = base.saveInsertionPoint();
  {
    BaseGuard inside(base, body.get());
    Restore steps(draws.keySteps);
    draws.keySteps.push_back({attempt, 0});
    Restore before(draws.beforeSearch);
    Restore tries(draws.tries);
    Restore attempts(draws.attempts);
    Restore loops(draws.stepsBefore);
    if (!draws.beforeSearch.isSet()) {
      draws.beforeSearch = outside;
      draws.tries = body.get();
      draws.stepsBefore = draws.keySteps.size() - 1;
    }
    draws.attempts.push_back(attempt);
    for (const dsl::LetDecl &let : search.lets)
      evalLet(let);
    accepted = eval(*search.accepted);
    condition =
        demandBool(eval(*search.condition), search.condition->range, "the condition of `accept`");
  }
  std::vector<Val *> leaves = demandScalars(accepted, search.accepted->range);
  llvm::SmallVector<mlir::Value> values, alternatives;
  for (Val *leaf : leaves)
    values.push_back(leaf->ir);
  {
    BaseGuard inside(base, otherwise.get());
    Val fallback = eval(*search.otherwise);
    std::vector<Val *> others = demandScalars(fallback, search.otherwise->range);
    for (size_t i = 0; i < others.size() && others.size() == values.size(); ++i)
      if (std::optional<Val> converted = convert(*others[i], values[i].getType()))
        alternatives.push_back(converted->ir);
    if (alternatives.size() != values.size() || fallback.kind != accepted.kind) {
      error(search.otherwise->range, "the `else` of a search must give what it accepts: " +
                                         show(accepted) + ", and this is " + show(fallback))
          .note(search.accepted->range, "accepted here");
      throw Abort{};
    }
  }
  auto op =
      createSearch(tries, std::move(body), std::move(otherwise), condition, values, alternatives);
  for (auto [leaf, result] : llvm::zip_first(leaves, op.getResults()))
    *leaf = number(result);
  if (draws.count != drawsBefore)
    draws.show(accepted, "search");
  return accepted;
}
