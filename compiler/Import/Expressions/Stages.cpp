// SPDX-License-Identifier: Apache-2.0
//
// Chains of `|>`.
#include "compiler/Dialect/Drawn.h"
#include "compiler/Import/Expressions/Expressions.h"
#include "dsl/AST/Spelling.h"

#include <cmath>
#include <numeric>

using namespace penstock::importer;
using penstock::pipe::BinaryKind;
using penstock::pipe::Predicate;

Val Expressions::evalPipe(const dsl::PipeExpr &pipe) {
  return evalChain(eval(*pipe.input), pipe.input->range, pipe.chain);
}

Val Expressions::evalChain(Val value, dsl::SourceRange origin, const dsl::Chain &chain) {
  for (const auto &stage : chain) {
    value = evalStage(value, origin, *stage);
    origin = stage->range;
  }
  return value;
}

/// `flip`; what has no name goes by its keyword or bracket.
static std::string plainName(const penstock::dsl::Stage &stage) {
  if (const auto *call = stage.as<penstock::dsl::CallStage>())
    return penstock::dsl::printPath(call->path);
  return stage.as<penstock::dsl::ChooseStage>()   ? "choose"
         : stage.as<penstock::dsl::RepeatStage>() ? "repeat"
                                                  : "{ }";
}

static std::string stageName(const penstock::dsl::Stage &stage) {
  return stage.as<penstock::dsl::CallStage>() ? quote(plainName(stage)) : "this stage";
}

Val Expressions::evalStage(Val value, dsl::SourceRange origin, const dsl::Stage &stage) {
  if (value.is(Kind::Poison))
    throw Abort{};
  PlaceGuard guard(*this, stage.range);
  Val result;
  if (!stage.condition) {
    result = evalStageBody(value, origin, stage);
  } else {
    mlir::Value flag;
    {
      Restore<std::string> decided(draws.decidedStage, plainName(stage));
      flag = demandBool(eval(*stage.condition), stage.condition->range, "the condition of a stage");
    }
    mlir::Value index = cast(pipe::CastMode::value, flag, base.getI64Type());
    Arm arms[] = {[&]() { return value; }, [&]() { return evalStageBody(value, origin, stage); }};
    result = branch(index, arms, [&](const Val &before, const Val &after) {
      error(stage.range,
            stageName(stage) + " under `if` must keep the type of its input, and changes it")
          .note(stage.condition->range, "where this is false, the value stays " + show(before))
          .note(stage.range, "where it is true, it becomes " + show(after));
      throw Abort{};
    });
  }
  if (stage.place && stage.place->target != dsl::Target::Auto && result.is(Kind::Tensor))
    if (mlir::Operation *op = result.ir.getDefiningOp())
      op->setAttr("pipe.place", base.getStringAttr(dsl::spelling(stage.place->target)));
  return result;
}

Val Expressions::evalStageBody(Val value, dsl::SourceRange origin, const dsl::Stage &stage) {
  if (const auto *group = stage.as<dsl::GroupStage>())
    return evalChain(value, origin, group->chain);
  if (const auto *choose = stage.as<dsl::ChooseStage>())
    return evalChoose(value, origin, *choose);
  if (const auto *repeat = stage.as<dsl::RepeatStage>())
    return evalRepeat(value, origin, *repeat);
  const auto &call = stage.cast<dsl::CallStage>();
  std::vector<Argument> args =
      evalArgs(call.args ? &*call.args : nullptr, call.path.front().text, &value);
  args.insert(args.begin(), Argument{value, "", nullptr, call.path.front().range, origin});
  if (call.path.size() == 1)
    return callNamed(call.path.front(), args, call.range);
  mlir::Type type = elementNamed(call.path.front().text);
  return callType(type, call.path.back().text, args, call.path.back().range);
}

/// The weights of a `choose` as whole numbers: `7 => ..., 3 => ...` for 0.7 and 0.3.
std::string Expressions::wholeWeights(const dsl::ChooseStage &stage) {
  std::vector<int64_t> weights;
  int64_t common = 0;
  for (const dsl::ChooseStage::Arm &arm : stage.arms) {
    const Val weight = eval(*arm.weight);
    const std::optional<Val> number =
        weight.is(Kind::Number) ? convert(weight, base.getF64Type()) : std::nullopt;
    const std::optional<double> known = number ? constantF64(number->ir) : std::nullopt;
    constexpr double parts = 1000;
    if (!known || !(*known >= 0 && *known <= 1e9))
      return "7 => ..., 3 => ...";
    weights.push_back(std::llround(*known * parts));
    common = std::gcd(common, weights.back());
  }
  std::string text;
  for (int64_t weight : weights)
    text += (text.empty() ? "" : ", ") + std::to_string(common ? weight / common : 1) + " => ...";
  return text;
}

Val Expressions::evalChoose(Val value, dsl::SourceRange origin, const dsl::ChooseStage &stage) {
  std::vector<mlir::Value> ends; // where each arm's share of the total ends
  for (const dsl::ChooseStage::Arm &arm : stage.arms) {
    const Val given = eval(*arm.weight);
    if (given.is(Kind::Number) && llvm::isa<mlir::FloatType>(elementType(given)))
      fail(arm.weight->range, "a weight must be a whole number, and this is " + show(given),
           "weights are relative: `" +
               (given.untyped ? wholeWeights(stage) : "int(round(1000.0 * x)) => ...") + "`");
    mlir::Value weight = demandIndex(given, arm.weight->range, "a weight");
    if (std::optional<int64_t> number = constantInt(weight); number && *number < 0)
      fail(arm.weight->range, "a weight is 0 or more, and this is " + std::to_string(*number));
    ends.push_back(ends.empty() ? weight : binary(BinaryKind::add, ends.back(), weight));
  }
  if (constantInt(ends.back()) == 0)
    fail(stage.range, "no arm of this `choose` has a weight above 0");
  for (size_t i = 0; i < ends.size(); ++i) { // those that only the sample has
    mlir::Value weight = i == 0 ? ends[0] : binary(BinaryKind::sub, ends[i], ends[i - 1]);
    mlir::Value holds = compare(Predicate::ge, weight, intConstant(0));
    if (PlaceGuard guard(*this, stage.arms[i].weight->range); canFail(holds))
      check(holds, "a weight is 0 or more, and this is {0}", weight, weight);
  }
  if (mlir::Value holds = compare(Predicate::gt, ends.back(), intConstant(0)); canFail(holds))
    check(holds, "no arm of this `choose` has a weight above 0", ends.back(), ends.back());
  mlir::Value zero = intConstant(0);
  mlir::Value drawn =
      draws.draw(pipe::DrawKind::integer, "choose", {zero, ends.back()}, base.getI64Type()).ir;
  pipe::setDrawn(drawn.getDefiningOp(), {std::string()}); // the arm is shown in its place
  mlir::Value index;
  ends.pop_back();
  for (mlir::Value end : ends) {
    mlir::Value beyond =
        cast(pipe::CastMode::value, compare(Predicate::ge, drawn, end), base.getI64Type());
    index = index ? binary(BinaryKind::add, index, beyond) : beyond;
  }
  if (index)
    draws.show(number(index), "choose arm");
  else
    index = zero;
  std::vector<Arm> arms;
  for (const dsl::ChooseStage::Arm &arm : stage.arms)
    arms.push_back([&, chain = &arm.chain]() { return evalChain(value, origin, *chain); });
  return branch(index, arms, [&](const Val &first, const Val &other) {
    error(stage.range, "the arms of `choose` must give one type")
        .note(stage.arms.front().range, "the first gives " + show(first))
        .note(stage.range, "another gives " + show(other));
    throw Abort{};
  });
}

Expressions::Iteration Expressions::evalIteration(Val carried, dsl::SourceRange origin,
                                                  const dsl::RepeatStage &stage) {
  Iteration once{OwnedBlock(new mlir::Block()), {}, {}};
  mlir::Value iteration = once.block->addArgument(base.getI64Type(), here);
  std::vector<Val *> leaves;
  flatten(carried, leaves);
  for (Val *leaf : leaves) {
    if (!leaf->ir)
      fail(stage.range, "`repeat` carries numbers and tensors, and this is " + show(*leaf));
    mlir::Value before = leaf->ir;
    leaf->ir = once.block->addArgument(before.getType(), here);
    leaf->untyped = false;
    if (leaf->is(Kind::Tensor)) {
      std::vector<Dim> axes = dims(before);
      llvm::append_range(once.sizes, sizesOf(axes));
      carriedDims[leaf->ir.getAsOpaquePointer()] = axes;
    }
  }
  BaseGuard inside(base, once.block.get());
  Restore steps(draws.keySteps);
  draws.keySteps.push_back({iteration, 0});
  once.result = evalChain(carried, origin, stage.chain);
  return once;
}

/// Notes which numbers an iteration makes of pixels. Returns whether there are any.
static bool findMadeOfPixels(Val before, Val after, std::map<size_t, mlir::Type> &found) {
  std::vector<Val *> were, are;
  flatten(before, were);
  flatten(after, are);
  const size_t known = found.size();
  for (size_t i = 0; i < were.size() && were.size() == are.size(); ++i)
    if (were[i]->is(Kind::Number) && are[i]->is(Kind::Tensor) &&
        are[i]->tensorType().getRank() == 0)
      found.emplace(i, are[i]->tensorType().getElementType());
  return found.size() > known;
}

void Expressions::takeAsTensors(Val &value, const std::map<size_t, mlir::Type> &numbers) {
  std::vector<Val *> leaves;
  flatten(value, leaves);
  for (auto [i, type] : numbers)
    if (leaves[i]->is(Kind::Number))
      if (std::optional<Val> converted = convert(*leaves[i], type))
        *leaves[i] = boxed(*converted);
}

std::string Expressions::takeCarriedType(Val &after, const Val &before) {
  const std::vector<Dim> now = dims(after.ir), carried = dims(before.ir);
  if (now.size() != carried.size() || elementType(after) != elementType(before))
    return "";
  std::vector<std::string> order;
  std::string other;
  for (const Dim &dim : carried) {
    const Dim *same = find(now, dim.axis.name);
    if (!same || same->axis.metadata != dim.axis.metadata || !same->size != !dim.size ||
        same->axis.extent != dim.axis.extent)
      return "";
    order.push_back(dim.axis.name);
    if (same->size != dim.size && (countedBy(*same) || countedBy(dim) ||
                                   constantInt(difference(same->size, dim.size, 0)) != 0))
      other = dim.axis.name;
  }
  if (other.empty())
    after.ir = retype(permute(after.ir, order), carried);
  return other;
}

Val Expressions::evalRepeat(Val value, dsl::SourceRange origin, const dsl::RepeatStage &stage) {
  if (!regions.empty())
    notYet(stage.range, "`repeat` inside a `map` or `window`");
  int64_t count = demandInt(eval(*stage.count), stage.count->range, "the count of `repeat`");
  if (count < 0)
    fail(stage.count->range, "`repeat` runs " + std::to_string(count) + " times");
  const int64_t drawsBefore = draws.count;
  const auto ordinalsBefore = draws.ordinals;
  // Numbers that an iteration computes from pixels must enter the first one as tensors, too: found
  // by importing iterations until none is left.
  auto &numbers = madeOfPixels[here.getAsOpaquePointer()];
  Iteration once;
  do {
    for (mlir::Value argument : once.block ? once.block->getArguments() : mlir::ValueRange())
      carriedDims.erase(argument.getAsOpaquePointer());
    draws.count = drawsBefore;
    draws.ordinals = ordinalsBefore;
    takeAsTensors(value, numbers);
    once = evalIteration(value, origin, stage);
  } while (findMadeOfPixels(value, once.result, numbers));
  std::vector<Val *> before, after;
  flatten(value, before);
  flatten(once.result, after);
  llvm::SmallVector<mlir::Value> inits, yielded;
  llvm::SmallVector<mlir::Type> types;
  bool same = after.size() == before.size() && once.result.names == value.names;
  std::string otherExtent; // the axis
  {
    BaseGuard inside(base, once.block.get());
    for (size_t i = 0; same && i < after.size(); ++i) {
      inits.push_back(before[i]->ir);
      types.push_back(before[i]->ir.getType());
      const bool scalar = before[i]->is(Kind::Number) ||
                          (before[i]->is(Kind::Tensor) && before[i]->tensorType().getRank() == 0);
      if (after[i]->is(Kind::Number) && scalar)
        if (std::optional<Val> converted = convert(*after[i], elementType(*before[i])))
          *after[i] = before[i]->is(Kind::Number) ? *converted : boxed(*converted);
      if (after[i]->is(Kind::Tensor) && before[i]->is(Kind::Tensor))
        otherExtent = takeCarriedType(*after[i], *before[i]);
      same = otherExtent.empty() && after[i]->ir && after[i]->ir.getType() == types[i];
      yielded.push_back(after[i]->ir);
    }
    if (!same) {
      error(stage.range, "`repeat` must keep the type of its input, and changes it")
          .note(stage.range, otherExtent.empty()
                                 ? "from " + show(value) + " to " + show(once.result)
                                 : "axis " + quote(otherExtent) + " has another extent after it");
      throw Abort{};
    }
    base.create<pipe::YieldOp>(here, yielded);
  }
  auto op = base.create<pipe::RepeatOp>(here, types, intConstant(count),
                                        static_cast<uint64_t>(count), inits, once.sizes);
  op.getBody().push_back(once.block.release());
  for (auto [leaf, out] : llvm::zip(before, op.getResults()))
    leaf->ir = out;
  if (draws.count != drawsBefore)
    draws.show(value, "repeat");
  return value;
}
