// SPDX-License-Identifier: Apache-2.0
//
// Functions over records that no overload takes whole: they go to each field.
#include "compiler/Import/Expressions/Expressions.h"
#include "dsl/AST/Printer.h"
#include "dsl/Diagnostics/Nearest.h"

using namespace penstock::importer;

using FnList = std::vector<const penstock::dsl::FnDecl *>;

/// Returns whether a parameter takes a record as it is.
static bool takesRecord(const penstock::dsl::TypeExpr &type) {
  return type.kind == penstock::dsl::TypeExpr::Kind::Record || type.name.text == "rect" ||
         type.name.text == "point";
}

/// Returns whether what is given for a name has a value for each of some fields, as
/// `fill = { mask = 255 }`: where no function takes a record there.
static bool isByField(const FnList &fns, const std::string &name) {
  return !fns.empty() && !name.empty() && llvm::none_of(fns, [&](const auto *fn) {
    return llvm::any_of(fn->params, [&](const penstock::dsl::Param &param) {
      return param.name.text == name && takesRecord(param.type);
    });
  });
}

static bool isByField(const FnList &fns, const Argument &arg) {
  return arg.value.is(Kind::Record) && isByField(fns, arg.name);
}

/// An op of its own that others come behind: those before may go, as checks do for which a better
/// one comes.
class Expressions::Mark {
public:
  explicit Mark(Expressions &in)
      : op(in.base.create<pipe::ConstantOp>(in.here, in.base.getI64Type(),
                                            in.base.getI64IntegerAttr(0))) {}
  ~Mark() { op->erase(); }
  Mark(const Mark &) = delete;
  Mark &operator=(const Mark &) = delete;
  mlir::Operation *operator*() const { return op; }

private:
  mlir::Operation *op;
};

/// The values that decide what is drawn behind a mark, by path: ends of a range, and constants and
/// what the tries of a search take from outside.
std::map<std::string, llvm::SmallVector<mlir::Value>>
Expressions::drawnFrom(const Mark &mark) const {
  std::map<std::string, llvm::SmallVector<mlir::Value>> result;
  for (auto at = std::next((*mark)->getIterator()); at != base.getInsertionPoint(); ++at) {
    if (auto draw = llvm::dyn_cast<pipe::DrawOp>(*at); draw && !draw.getElement()) {
      llvm::append_range(result[draw.getPath().str()], draw.getArgs());
    } else if (llvm::isa<pipe::SearchOp>(*at)) {
      llvm::SmallVector<mlir::Value> taken;
      at->walk([&](mlir::Operation *op) {
        for (mlir::Value operand : op->getOperands()) {
          mlir::Operation *around = operand.getParentBlock()->getParentOp();
          if (constantInt(operand) || !around || !at->isAncestor(around))
            taken.push_back(operand);
        }
      });
      at->walk([&](pipe::DrawOp first) {
        llvm::append_range(result[first.getPath().str()], taken);
        return mlir::WalkResult::interrupt();
      });
    }
  }
  return result;
}

void Expressions::demandSameDraws(const dsl::Name &name, FieldDraws &all, const std::string &field,
                                  const Mark &mark) {
  const auto fresh = drawnFrom(mark);
  PlaceGuard guard(*this, name.range);
  for (const auto &[path, values] : fresh) {
    const auto [known, isFirst] = all.try_emplace(path, field, values);
    const auto &[other, before] = known->second;
    if (isFirst || before.size() != values.size())
      continue;
    for (auto [a, b] : llvm::zip(before, values)) {
      if (a.getType() != b.getType() || !(a.getType().isF64() || a.getType().isInteger(64)) ||
          isSame(a, b))
        continue;
      const auto one = constantInt(a), two = constantInt(b);
      if (one && one == two)
        continue;
      const std::string text = quote(name.text) + " draws the same for the fields " + quote(other) +
                               " and " + quote(field) + ", and these differ in size: ";
      if (one && two)
        fail(name.range, text + std::to_string(*one) + " and " + std::to_string(*two) + " places",
             "bring them to one size before, or leave one out of the record");
      auto asInt = [&](mlir::Value value) { // a constant may stand inside of a search
        if (const auto known = constantInt(value))
          return intConstant(*known);
        return castTo(pipe::CastMode::value, Arithmetic::number(value, value.getType().isF64()),
                      base.getI64Type(), name.range)
            .ir;
      };
      const mlir::Value left = asInt(a), right = asInt(b);
      check(compare(pipe::Predicate::eq, left, right), text + "{0} and {1} places", left, right);
    }
  }
}

Val Expressions::callMatched(const dsl::Name &name, const FnList &fns, const dsl::FnDecl &fn,
                             Frame callee, const std::vector<Argument> &args) {
  const std::map<std::string, int> before = draws.ordinals;
  if (args.empty() || !args[0].value.is(Kind::Record) ||
      fn.params[0].type.kind != dsl::TypeExpr::Kind::Record)
    return callFn(fn, std::move(callee), name.range);
  const Mark mark(*this);
  Val result = callFn(fn, std::move(callee), name.range);
  if (!result.is(Kind::Record))
    return result;
  std::vector<Argument> rest = args;
  Val &beside = rest[0].value;
  beside.names.clear();
  beside.parts.clear();
  for (size_t i = 0; i < args[0].value.names.size(); ++i)
    if (const std::string &field = args[0].value.names[i]; !result.field(field)) {
      beside.names.push_back(field);
      beside.parts.push_back(args[0].value.parts[i]);
    }
  if (fns.size() > 1 && !beside.names.empty()) {
    const std::map<std::string, int> after = std::exchange(draws.ordinals, before);
    FieldDraws drawn;
    demandSameDraws(name, drawn, result.names.front(), mark);
    if (std::optional<Val> moved = callByField(name, fns, rest, drawn))
      beside = *moved;
    for (const auto &[path, count] : after)
      draws.ordinals[path] = std::max(draws.ordinals[path], count);
  }
  // In the order that they had, so that an `if` around the call finds the same type on both sides.
  Val ordered = result;
  ordered.names.clear();
  ordered.parts.clear();
  auto add = [&](const std::string &field) {
    const Val *part = result.field(field);
    ordered.names.push_back(field);
    ordered.parts.push_back(part ? *part : *beside.field(field));
  };
  for (const std::string &field : args[0].value.names)
    add(field);
  for (const std::string &field : result.names)
    if (!ordered.field(field))
      add(field);
  return ordered;
}

const Val &Expressions::demandField(const Val &record, const std::string &field,
                                    dsl::SourceRange range) {
  if (const Val *found = record.field(field))
    return *found;
  const std::string near = dsl::nearest(field, record.names);
  fail(range,
       "the record that this is for has no field " + quote(field) + ": it is " + show(record),
       near.empty() ? "" : quote(near));
}

std::optional<Val> Expressions::evalByField(const dsl::Expr &expr, const Val &record,
                                            const std::string &function, const std::string &name) {
  const auto *fields = expr.as<dsl::RecordExpr>();
  if (!fields || !record.is(Kind::Record) ||
      !isByField(program.findFns(*frame().file, function), name))
    return std::nullopt;
  Val result;
  result.kind = Kind::Record;
  for (const auto &field : fields->fields) {
    result.names.push_back(field.name.text);
    const Val &meant = demandField(record, field.name.text, field.name.range);
    std::optional<Val> deeper = evalByField(*field.value, meant, function, name);
    result.parts.push_back(deeper ? *deeper : evalArg(*field.value).value);
    if (result.parts.back().is(Kind::Poison))
      throw Abort{};
  }
  return result;
}

/// The arguments of one field's call: its own where one is given, or else none, for the default.
struct FieldCall {
  std::vector<Argument> args;
  const Argument *own = nullptr;    ///< an argument that is the field's own
  const Argument *others = nullptr; ///< one that only other fields have
};

static FieldCall callOf(const std::string &field, const FnList &fns,
                        const std::vector<Argument> &args) {
  FieldCall call{{args[0]}};
  call.args[0].value = *args[0].value.field(field);
  for (const Argument &arg : llvm::drop_begin(args)) {
    if (!isByField(fns, arg)) {
      call.args.push_back(arg);
      continue;
    }
    const Val *value = arg.value.field(field);
    if (!value) {
      call.others = &arg;
      continue;
    }
    call.own = &arg;
    call.args.push_back(arg);
    Argument &own = call.args.back();
    own.value = *value;
    own.expr = nullptr;
    if (const auto *record = arg.expr ? arg.expr->as<penstock::dsl::RecordExpr>() : nullptr)
      for (const auto &part : record->fields)
        if (part.name.text == field) {
          own.expr = part.value.get();
          own.range = part.value->range;
        }
  }
  return call;
}

/// Returns whether a value holds positions, which an op that moves pixels must move.
static bool holdsPositions(const Val &value) {
  static constexpr llvm::StringRef formats[] = {"xyxy", "xywh", "cxcywh", "yxyx", "xyzlwhr"};
  static constexpr llvm::StringRef points[] = {"xy", "yx", "xyv", "xyz", "zyx"};
  if (!value.is(Kind::Tensor))
    return false;
  return llvm::any_of(value.tensorType().getAxes(), [](const penstock::pipe::Axis &axis) {
    return llvm::is_contained(formats, axis.metadata) || llvm::is_contained(points, axis.name);
  });
}

/// Returns whether a function could take a tensor first, whatever else it is given.
bool Expressions::takesFirst(const dsl::FnDecl &fn, const std::vector<Argument> &given) {
  if (fn.params.empty() || fn.params[0].type.kind != dsl::TypeExpr::Kind::Tensor)
    return false;
  Frame callee;
  size_t position = 1;
  for (const Argument &arg : llvm::drop_begin(given)) { // axes that are parameters
    for (size_t i = 1; i < fn.params.size(); ++i) {
      const dsl::Param &param = fn.params[i];
      const bool meant = arg.name.empty() ? i == position : param.name.text == arg.name;
      if (meant && param.type.name.text == "axis" && arg.value.is(Kind::Word))
        callee.axes[param.name.text] = arg.value.word;
    }
    position += arg.name.empty();
  }
  Misfit unused;
  Val first = given[0].value;
  return matchTensor(fn, fn.params[0].type, given[0], first, callee, unused,
                     fn.params[0].name.text);
}

/// The axes along which a call moves elements, as far as that shows: it makes other extents, or
/// ops behind `mark` that warp or resample. What has these axes, too, cannot stay as it is.
std::set<std::string> Expressions::movedAxes(const Mark &mark, const Val &from, const Val &to) {
  std::set<std::string> moved;
  if (from.is(Kind::Tensor) && to.is(Kind::Tensor))
    for (const Dim &before : dims(from.ir))
      if (const Dim *after = find(dims(to.ir), before.axis.name);
          after && after->axis.extent != before.axis.extent)
        moved.insert(before.axis.name);
  auto look = [&](mlir::Operation *op) {
    if (auto gather = llvm::dyn_cast<pipe::GatherOp>(op)) {
      for (auto name : gather.getOver().getAsValueRange<mlir::StringAttr>())
        moved.insert(name.str());
    } else if (auto resample = llvm::dyn_cast<pipe::ResampleOp>(op)) {
      moved.insert(resample.getAxis().str());
    }
  };
  for (auto at = std::next((*mark)->getIterator()); at != base.getInsertionPoint(); ++at)
    at->walk(look);
  return moved;
}

std::optional<Val> Expressions::callByField(const dsl::Name &name, const FnList &fns,
                                            const std::vector<Argument> &args, FieldDraws &drawn) {
  Val result = args[0].value;
  for (const Argument &arg : llvm::drop_begin(args))
    if (isByField(fns, arg))
      for (const std::string &field : arg.value.names)
        demandField(result, field, arg.range);
  auto refuse = [&](size_t field, const std::string &why, const std::string &hint = {}) {
    auto report = error(name.range, quote(name.text) + " cannot " + why);
    report.note(args[0].origin(),
                quote(result.names[field]) + " is " + show(args[0].value.parts[field]));
    for (const dsl::FnDecl *fn : fns)
      report.note(fn->name.range, "this one takes " + signature(*fn));
    report.hint(hint);
    throw Abort{};
  };
  bool any = false;
  std::set<std::string> moved;
  struct Left {
    size_t field;
    bool byElement; ///< only its element type keeps it out
  };
  std::vector<Left> left;
  // All fields see the same draws, and what comes behind sees others than any of them.
  const std::map<std::string, int> before = draws.ordinals;
  std::map<std::string, int> after = before;
  auto noteDraws = [&]() {
    for (const auto &[path, count] : draws.ordinals)
      after[path] = std::max(after[path], count);
  };
  for (size_t i = 0; i < result.parts.size(); ++i) {
    const std::string &field = result.names[i];
    const FieldCall call = callOf(field, fns, args);
    const std::vector<Argument> &given = call.args;
    const Val &value = given[0].value;
    bool taken = false;
    Misfit best;
    best.score = -1;
    for (const dsl::FnDecl *fn : fns) {
      Misfit why;
      std::optional<Frame> callee = match(*fn, given, why);
      if (!callee) {
        if (why.score > best.score)
          best = std::move(why);
        continue;
      }
      draws.ordinals = before;
      const Mark mark(*this);
      result.parts[i] = callMatched(name, fns, *fn, std::move(*callee), given);
      moved.merge(movedAxes(mark, value, result.parts[i]));
      demandSameDraws(name, drawn, field, mark);
      taken = any = true;
      noteDraws();
      break;
    }
    if (!taken && value.is(Kind::Record)) { // goes to its fields in turn
      draws.ordinals = before;
      if (auto inner = callByField(name, fns, given, drawn)) {
        result.parts[i] = *inner;
        taken = any = true;
        noteDraws();
      }
    }
    if (taken)
      continue;
    if (holdsPositions(value))
      refuse(i, "move the field " + quote(field) + ", which holds positions");
    const bool fits = value.is(Kind::Tensor) && value.tensorType().getRank() > 0 &&
                      llvm::any_of(fns, [&](const auto *fn) { return takesFirst(*fn, given); });
    if (call.own || (fits && !call.others)) { // it is meant, whatever there is against it
      auto report = error(best.range.valid() ? best.range : name.range, best.message);
      report.note(args[0].origin(), "this is for the field " + quote(field) + ", " + show(value));
      for (auto &[where, text] : best.notes)
        report.note(where, text);
      report.hint(best.hint);
      throw Abort{};
    }
    if (call.others && value.is(Kind::Tensor) && value.tensorType().getRank() > 0)
      refuse(i, "do without " + quote(call.others->name) + " for the field " + quote(field),
             quote(call.others->name + " = { " + field + " = ... }") +
                 ", or leave the field out of the record");
    left.push_back({i, best.byElement == given.data()});
  }
  for (const Left &one : left) {
    const Val &value = result.parts[one.field];
    const std::string &field = result.names[one.field];
    if (any && one.byElement)
      refuse(one.field,
             "take the field " + quote(field) +
                 ", for its elements alone, and would leave it as it is",
             "convert its elements before, or leave the field out of the record");
    if (!value.is(Kind::Tensor))
      continue;
    for (const Dim &dim : dims(value.ir))
      if (moved.contains(dim.axis.name))
        refuse(one.field,
               "take the field " + quote(field) + ", and moves others along axis " +
                   quote(dim.axis.name) + ", which it has, too",
               "leave it out of the record if it shall stay");
  }
  draws.ordinals = std::move(after);
  return any ? std::optional<Val>(result) : std::nullopt;
}
