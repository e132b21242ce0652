// SPDX-License-Identifier: Apache-2.0
//
// One of several values.
//
// Scalars of all arms are computed (everything is total) and selected; tensors
// stay in the arms of a `pipe.choose`. Extents are scalars, so they are there
// when the choose needs them.
#include "compiler/Import/Expressions/Expressions.h"

using namespace penstock::importer;
using penstock::pipe::Predicate;

/// The operands of an op and of all ops in its regions.
static void operandsOf(mlir::Operation *op, llvm::SmallVector<mlir::Value> &operands) {
  op->walk([&](mlir::Operation *inner) {
    operands.append(inner->operand_begin(), inner->operand_end());
  });
}

bool Expressions::hoistable(mlir::Value value, mlir::Block *from) {
  llvm::DenseSet<mlir::Operation *> seen; // operands are shared: each op once, not each path
  llvm::SmallVector<mlir::Value> open{value};
  while (!open.empty()) {
    mlir::Value next = open.pop_back_val();
    if (next.getParentBlock() != from)
      continue;
    mlir::Operation *op = next.getDefiningOp();
    if (!op)
      return false; // the block's argument
    if (seen.insert(op).second)
      operandsOf(op, open);
  }
  return true;
}

void Expressions::hoist(mlir::Value value, mlir::Block *from) {
  mlir::Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != from)
    return;
  llvm::SmallVector<mlir::Value> operands;
  operandsOf(op, operands);
  for (mlir::Value operand : operands)
    hoist(operand, from);
  op->moveBefore(base.getInsertionBlock(), base.getInsertionPoint());
}

void Expressions::hoistChecks(mlir::Block *from, mlir::Value unless) {
  for (auto check : llvm::make_early_inc_range(from->getOps<pipe::CheckOp>())) {
    for (mlir::Value operand : llvm::to_vector(check->getOperands()))
      hoist(operand, from);
    mlir::Value holds = binary(pipe::BinaryKind::bit_or, check.getCondition(), unless);
    check.getConditionMutable().assign(holds);
    check->moveBefore(base.getInsertionBlock(), base.getInsertionPoint());
  }
}

mlir::Value Expressions::selectByIndex(mlir::Value index, llvm::ArrayRef<mlir::Value> values) {
  if (auto flag = index.getDefiningOp<pipe::CastOp>();
      flag && values.size() == 2 && flag.getValue().getType().isSignlessInteger(1))
    return select(flag.getValue(), values[1], values[0]);
  mlir::Value result = values.back();
  for (size_t i = values.size() - 1; i-- > 0;)
    result = select(compare(Predicate::eq, index, intConstant(static_cast<int64_t>(i))), values[i],
                    result);
  return result;
}

Val Expressions::branch(mlir::Value index, llvm::ArrayRef<Arm> arms,
                        const std::function<void(const Val &, const Val &)> &mismatch) {
  std::vector<Val> values;
  if (!regions.empty()) { // elements: everything is a scalar
    for (const Arm &arm : arms)
      values.push_back(arm());
    return merge(index, values, {}, mismatch);
  }
  std::vector<OwnedBlock> blocks;
  for (const Arm &arm : arms) {
    blocks.push_back(OwnedBlock(new mlir::Block()));
    BaseGuard inside(base, blocks.back().get());
    values.push_back(arm());
  }
  return merge(index, values, blocks, mismatch);
}

void Expressions::takeTypeMet(llvm::ArrayRef<Val *> arms,
                              llvm::MutableArrayRef<OwnedBlock> blocks) {
  auto isTensor = [](const Val *arm) { return arm->is(Kind::Tensor); };
  if (blocks.empty() || llvm::none_of(arms, isTensor) ||
      !llvm::all_of(arms, [&](const Val *arm) { return isTensor(arm) || arm->is(Kind::Number); }))
    return;
  const bool mixed = !llvm::all_of(arms, isTensor);
  if (mixed && llvm::any_of(arms, [&](const Val *arm) {
        return isTensor(arm) && arm->tensorType().getRank() > 0;
      }))
    return;
  const bool untyped = llvm::all_of(arms, [](const Val *arm) { return arm->untyped; });
  const auto met = llvm::find_if(arms, [&](const Val *candidate) {
    return llvm::all_of(arms,
                        [&](const Val *arm) { return converts(*arm, elementType(*candidate)); });
  });
  if (met == arms.end())
    return;
  const mlir::Type type = elementType(**met);
  for (size_t i = 0; i < arms.size(); ++i) {
    BaseGuard inside(base, blocks[i].get());
    if (elementType(*arms[i]) != type)
      *arms[i] = *convert(*arms[i], type);
    if (mixed)
      *arms[i] = boxed(*arms[i]);
    arms[i]->untyped = untyped;
  }
}

Val Expressions::merge(mlir::Value index, std::vector<Val> values,
                       llvm::MutableArrayRef<OwnedBlock> blocks,
                       const std::function<void(const Val &, const Val &)> &mismatch) {
  std::vector<std::vector<Val *>> leaves(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    flatten(values[i], leaves[i]);
    if (values[i].names != values[0].names || leaves[i].size() != leaves[0].size() ||
        values[i].grid != values[0].grid)
      mismatch(values[0], values[i]);
  }
  auto hoistFrom = [&](mlir::Value value, size_t arm) {
    if (!blocks.empty())
      hoist(value, blocks[arm].get());
  };
  std::vector<std::vector<mlir::Value>> yields(values.size());
  std::vector<std::vector<Dim>> types;
  std::vector<size_t> chosen; // leaves that become results of the choose
  // Axes whose number of elements pixels decide in some arm: the result has room for
  // any arm's, and the choose gives the number too. Tensors that share one share the other.
  struct Joined {
    std::vector<Dim> arms;
    Dim result;
    std::string once;
  };
  std::vector<Joined> joined;
  auto join = [&](const std::vector<Dim> &arms) {
    for (const Joined &known : joined)
      if (llvm::equal(known.arms, arms, [](const Dim &a, const Dim &b) {
            return a.size == b.size && a.axis == b.axis;
          }))
        return known.result;
    Joined axis{arms, {}, {}};
    std::vector<mlir::Value> rooms;
    for (const Dim &arm : arms) {
      rooms.push_back(room(arm));
      if (const Counted *counted = countedBy(arm); counted && axis.once.empty())
        axis.once = counted->once;
    }
    axis.result = roomFor(arms[0].axis.name, selectByIndex(index, rooms), arms[0].axis.metadata);
    joined.push_back(axis);
    return axis.result;
  };
  auto countOf = [&](const Dim &dim) {
    if (const Counted *counted = countedBy(dim))
      return counted->count;
    mlir::Value all = room(dim);
    return buildMap({}, base.getI64Type(), [&](ElementRegion &) { return all; });
  };
  // Rows, bytes and texts are handed over as they stand: no op makes one of two.
  auto refuseChoice = [&](const Val &value) {
    settle(index, "a choice between two of " + show(value));
    fail(hereRange, "this choice differs from sample to sample, and gives " + show(value),
         value.is(Kind::Row) ? "choose what is read of the rows: `if c then a.x else b.x`"
         : value.is(Kind::Bytes)
             ? "decode both sides: `if c then decode(a, rgb) else decode(b, rgb)`"
             : "choose a number");
  };
  for (size_t k = 0; k < leaves[0].size(); ++k) {
    Val &first = *leaves[0][k];
    const bool scalar = llvm::all_of(leaves, [&](auto &l) {
      return l[k]->is(Kind::Number) || (!regions.empty() && l[k]->is(Kind::Tensor));
    });
    if (scalar) {
      // One type for all arms; an untyped one follows the others.
      std::vector<mlir::Value> scalars;
      for (size_t i = 0; i < leaves.size(); ++i) {
        Val &other = *leaves[i][k];
        if (other.unit != first.unit)
          mismatch(values[0], values[i]);
        if (other.is(Kind::Tensor))
          other = number(elementHere(other.ir, hereRange));
        hoistFrom(other.ir, i);
      }
      const bool untyped = llvm::all_of(leaves, [&](auto &l) { return l[k]->untyped; });
      Val common = first;
      for (size_t i = 1; i < leaves.size(); ++i) {
        Val &other = *leaves[i][k];
        if (common.ir.getType() == other.ir.getType())
          common.untyped &= other.untyped;
        else if (std::optional<Val> converted = convert(common, other.ir.getType()))
          common = *converted;
        else if (!convert(other, common.ir.getType()))
          mismatch(values[0], values[i]);
      }
      for (size_t i = 0; i < leaves.size(); ++i) {
        std::optional<Val> converted = convert(*leaves[i][k], common.ir.getType());
        if (!converted)
          mismatch(values[0], values[i]);
        scalars.push_back(converted->ir);
      }
      first.ir = selectByIndex(index, scalars);
      first.untyped = untyped;
      continue;
    }
    if (first.is(Kind::Word)) {
      for (size_t i = 1; i < leaves.size(); ++i)
        if (leaves[i][k]->word != first.word)
          mismatch(values[0], values[i]);
      continue;
    }
    if (first.is(Kind::Table))
      fail(hereRange,
           "a table is chosen when compiling, and this choice differs from sample to sample",
           "`pick` takes a row of one table or of the other");
    if (first.is(Kind::Row) || first.is(Kind::Bytes) || first.is(Kind::Text)) {
      for (size_t i = 1; i < leaves.size(); ++i) {
        if (leaves[i][k]->kind != first.kind)
          mismatch(values[0], values[i]);
        if (leaves[i][k]->ir != first.ir)
          refuseChoice(first);
      }
      continue; // the same, whatever is chosen
    }
    chosen.push_back(k);
    llvm::SmallVector<Val *> arms;
    for (auto &arm : leaves)
      arms.push_back(arm[k]);
    takeTypeMet(arms, blocks);
    std::vector<Dim> axes;
    if (first.is(Kind::Tensor)) {
      axes = dims(first.ir);
      for (size_t i = 1; i < leaves.size(); ++i) {
        Val &other = *leaves[i][k];
        if (!other.is(Kind::Tensor) || elementType(other) != elementType(first) ||
            other.tensorType().getRank() != first.tensorType().getRank())
          mismatch(values[0], values[i]);
        for (const Dim &dim : dims(other.ir))
          if (const Dim *mine = find(axes, dim.axis.name);
              !mine || mine->axis.metadata != dim.axis.metadata ||
              (mine->axis.isStatic() && dim.axis.isStatic() &&
               mine->axis.extent != dim.axis.extent))
            mismatch(values[0], values[i]);
      }
      // Extents: equal ones stay, others are selected like any scalar.
      for (Dim &axis : axes) {
        std::vector<Dim> mine;
        bool equal = true, isCounted = false;
        for (size_t i = 0; i < leaves.size(); ++i) {
          std::vector<Dim> all = dims(leaves[i][k]->ir);
          mine.push_back(*find(all, axis.axis.name));
          equal &= mine[i].axis == axis.axis && mine[i].size == axis.size;
          isCounted |= countedBy(mine[i]) != nullptr;
          if (mine[i].size)
            hoistFrom(mine[i].size, i);
        }
        if (equal)
          continue;
        if (isCounted) {
          axis = join(mine);
          continue;
        }
        std::vector<mlir::Value> sizes;
        for (const Dim &dim : mine)
          sizes.push_back(extent(dim));
        axis.size = selectByIndex(index, sizes);
        axis.axis.extent = axis.axis.bound = -1;
      }
    } else {
      for (size_t i = 1; i < leaves.size(); ++i)
        if (leaves[i][k]->kind != first.kind)
          mismatch(values[0], values[i]);
    }
    types.push_back(axes);
  }
  if (chosen.empty()) { // no op holds the arms
    for (size_t i = 0; i < blocks.size(); ++i)
      hoistChecks(blocks[i].get(),
                  compare(Predicate::ne, index, intConstant(static_cast<int64_t>(i))));
    return values[0];
  }

  llvm::SmallVector<mlir::Type> results;
  llvm::SmallVector<mlir::Value> sizes;
  std::vector<std::string> order;
  for (size_t c = 0; c < chosen.size(); ++c) {
    Val &first = *leaves[0][chosen[c]];
    results.push_back(first.is(Kind::Tensor) ? tensorOf(elementType(first), types[c])
                                             : first.ir.getType());
    llvm::append_range(sizes, sizesOf(types[c]));
  }
  for (size_t i = 0; i < leaves.size(); ++i) {
    BaseGuard inside(base, blocks[i].get());
    llvm::SmallVector<mlir::Value> yielded;
    for (size_t c = 0; c < chosen.size(); ++c) {
      mlir::Value value = leaves[i][chosen[c]]->ir;
      if (leaves[i][chosen[c]]->is(Kind::Tensor)) {
        std::vector<std::string> names;
        for (const Dim &dim : types[c])
          names.push_back(dim.axis.name);
        value = retype(permute(value, names), types[c]);
      }
      yielded.push_back(value);
    }
    for (const Joined &axis : joined)
      yielded.push_back(countOf(axis.arms[i]));
    base.create<pipe::YieldOp>(here, yielded);
  }
  results.append(joined.size(), pipe::NamedTensorType::get(&context, base.getI64Type(), {}));
  auto op = base.create<pipe::ChooseOp>(here, results, index, sizes,
                                        static_cast<unsigned>(blocks.size()));
  for (size_t i = 0; i < blocks.size(); ++i)
    op.getArms()[i].push_back(blocks[i].release());
  for (size_t c = 0; c < chosen.size(); ++c)
    leaves[0][chosen[c]]->ir = op.getResult(static_cast<unsigned>(c));
  for (auto [axis, count] : llvm::zip(joined, op.getResults().drop_front(chosen.size())))
    setCount(axis.result, count, axis.once);
  return values[0];
}

namespace {
/// What stands in a region before something is tried there.
struct RegionState {
  mlir::Operation *last;
  size_t inputs;
  llvm::DenseMap<mlir::Value, SortedPlace> sorted;

  explicit RegionState(const ElementRegion &region)
      : last(region.block->empty() ? nullptr : &region.block->back()), inputs(region.inputs.size()),
        sorted(region.sorted) {}

  /// Moves what was made since to the end of `rest`, and lets go of what it reads.
  void restore(ElementRegion &region, mlir::Block &rest) const {
    auto made = last ? std::next(last->getIterator()) : region.block->begin();
    rest.getOperations().splice(rest.end(), region.block->getOperations(), made,
                                region.block->end());
    for (mlir::Operation &op : rest)
      op.dropAllReferences();
    region.block->eraseArguments(static_cast<unsigned>(inputs),
                                 static_cast<unsigned>(region.inputs.size() - inputs));
    region.inputs.resize(inputs);
    region.sorted = sorted;
  }
};
} // namespace

/// What `expr` gives, of which only the type counts; null where it does not compile.
std::optional<Val> Expressions::evalTrial(const dsl::Expr &expr) {
  const size_t reported = diagnostics.count(), depth = regions.size();
  Restore count(draws.count);
  Restore ordinals(draws.ordinals);
  trials.push_back(OwnedBlock(new mlir::Block()));
  mlir::Block *block = trials.back().get();
  std::vector<RegionState> before;
  for (const ElementRegion *region : regions)
    before.emplace_back(*region);
  std::optional<Val> result;
  {
    BaseGuard inside(base, block);
    try {
      result = eval(expr);
    } catch (const Abort &) { // nobody asks for what it does
    } catch (const MakeStatic &) {
    } catch (const OuterElement &) {
    }
  }
  regions.resize(depth);
  for (auto [region, state] : llvm::zip(regions, before))
    state.restore(*region, *block);
  diagnostics.forget(reported);
  block->dropAllReferences();
  return result;
}

/// Numbers that are written down, and ints, in the side of an `if` that is taken when compiling
/// have the type that they would have if it were decided when running: that of the other side.
void Expressions::takeTypeOfOther(Val &taken, const dsl::Expr &other) {
  std::vector<Val *> mine, theirs;
  flatten(taken, mine);
  auto converts = [](const Val *leaf) {
    return leaf->is(Kind::Number) && (leaf->untyped || leaf->ir.getType().isSignlessInteger(64));
  };
  if (llvm::none_of(mine, converts))
    return;
  std::optional<Val> value = evalTrial(other);
  if (!value || value->names != taken.names)
    return;
  flatten(*value, theirs);
  for (auto [leaf, met] : llvm::zip(mine, theirs)) {
    if (!converts(leaf) || !(met->is(Kind::Number) || met->is(Kind::Tensor)))
      continue;
    if (std::optional<Val> converted = convert(*leaf, elementType(*met))) {
      const bool untyped = leaf->untyped && met->untyped;
      *leaf = *converted;
      leaf->untyped = untyped;
    }
  }
}

/// Returns the elements of either side that those of the condition choose; of records, those of
/// each field.
Val Expressions::chooseElements(const Val &condition, Val then, Val otherwise,
                                dsl::SourceRange range) {
  if (then.is(Kind::Record) && otherwise.is(Kind::Record) && then.names == otherwise.names) {
    for (auto [field, other] : llvm::zip(then.parts, otherwise.parts))
      field = chooseElements(condition, field, other, range);
    return then;
  }
  if (then.is(Kind::Record) || otherwise.is(Kind::Record))
    fail(range, "both sides of `if` must have one type, and these are " + show(then) + " and " +
                    show(otherwise));
  demandSameUnit("if", then, otherwise, range);
  mlir::Type type = unify("if", then, otherwise, range);
  const bool untyped = then.untyped && otherwise.untyped;
  Val result = lift(
      {condition, then, otherwise}, type, [&](auto v) { return select(v[0], v[1], v[2]); }, range);
  result.untyped = untyped;
  return result;
}

Val Expressions::evalIf(const dsl::IfExpr &expr) {
  Val condition = eval(*expr.condition);
  PlaceGuard guard(*this, expr.range);
  const bool isSmall = condition.is(Kind::Neighbours);
  if ((isSmall || (condition.is(Kind::Tensor) && regions.empty())) &&
      elementType(condition).isSignlessInteger(1)) {
    Val a = eval(*expr.thenValue), b = eval(*expr.elseValue);
    return chooseElements(condition, std::move(a), std::move(b), expr.range);
  }
  mlir::Value flag = demandBool(condition, expr.condition->range, "the condition of `if`");
  if (auto op = flag.getDefiningOp<pipe::ConstantOp>()) {
    const bool isTrue = !llvm::cast<mlir::IntegerAttr>(op.getValue()).getValue().isZero();
    Val taken = eval(isTrue ? *expr.thenValue : *expr.elseValue);
    takeTypeOfOther(taken, isTrue ? *expr.elseValue : *expr.thenValue);
    return taken;
  }
  mlir::Value index = cast(pipe::CastMode::value, flag, base.getI64Type());
  Arm arms[] = {[&]() { return eval(*expr.elseValue); }, [&]() { return eval(*expr.thenValue); }};
  return branch(index, arms, [&](const Val &otherwise, const Val &then) {
    settle(flag, "a branch whose sides have different types");
    error(expr.range, "both sides of `if` must have one type")
        .note(expr.thenValue->range, "this is " + show(then))
        .note(expr.elseValue->range, "this is " + show(otherwise));
    throw Abort{};
  });
}
