// SPDX-License-Identifier: Apache-2.0
//
// Outputs of a batch.
#include "compiler/Import/Pipeline/Pipeline.h"
#include "runtime/abi/kernel.h"
#include "llvm/Support/SaveAndRestore.h"
#include <utility>

using namespace penstock::importer;

/// People who write `row.image |> random_crop(32)` into an output want a crop for each sample; what
/// a batch is to share has a name.
void PipelineImport::warnOfShared(const dsl::OutputDecl &output) {
  if (!draws.shared)
    return;
  const CallSite call = *std::exchange(draws.shared, std::nullopt);
  const bool isCall = !call.function.empty() && call.range.file == output.value->range.file;
  diagnostics
      .warning(isCall ? call.range : output.value->range,
               (isCall ? quote(call.function) : "this") +
                   " draws once for all samples of a batch, as it stands in the batch block")
      .hint("a `let` before `batch` draws for each sample, and one inside says that all share it");
}

/// `output y: f32[n] = row.a / 2` of a whole number: the output makes a float of what is whole.
void PipelineImport::warnOfQuotient(const dsl::OutputDecl &output, const Val &value) {
  const auto *quotient = output.value->as<dsl::BinaryExpr>();
  mlir::Type made = elementType(value);
  if (quotient && quotient->op == dsl::BinaryOp::Div && value.is(Kind::Number) &&
      llvm::isa_and_present<mlir::IntegerType>(made) &&
      llvm::is_contained({"f16", "bf16", "f32", "f64"}, output.type.name.text))
    diagnostics
        .warning(quotient->opRange,
                 "`/` of whole numbers drops the fraction, before the output makes " +
                     quote(output.type.name.text) + " of what is left")
        .hint("`f32(x) / y`, or `f64(x) / y`, has the fraction");
}

void PipelineImport::importOutput(const dsl::OutputDecl &output) {
  draws.statement = output.name.text;
  Val value;
  {
    llvm::SaveAndRestore inside(draws.inOutput, true);
    value = eval(*output.value);
  }
  warnOfShared(output);
  PlaceGuard guard(*this, output.name.range);
  if (value.is(Kind::Poison))
    throw Abort{};
  warnOfQuotient(output, value);
  if (value.is(Kind::List) && output.type.kind != dsl::TypeExpr::Kind::Record)
    value = listOf(value, output.type, output.value->range, "n");
  if (!value.is(Kind::Tensor) && !value.is(Kind::Number)) {
    auto report =
        error(output.value->range, "an output is a number or a tensor, and this is " + show(value));
    if (value.is(Kind::Record))
      report.hint("one output for each field");
    throw Abort{};
  }
  if (output.type.kind == dsl::TypeExpr::Kind::Record)
    notYet(output.type.range, "an output of a record type");
  auto isBatch = [](const dsl::AxisType &axis) { return axis.name.text == "n"; };
  if (llvm::none_of(output.type.axes, isBatch)) {
    error(output.type.range, "output " + quote(output.name.text) + " lacks the batch axis `n`")
        .hint(
            quote(output.type.name.text + "[n" + (output.type.axes.empty() ? "" : ", ...") + "]"));
    throw Abort{};
  }
  if (output.ragged && output.type.axes.front().name.text != "n")
    fail(*output.ragged, "a ragged output has the batch axis `n` first",
         quote(output.type.name.text + "[n, ...]") + ", then the axis that differs");
  if (output.type.axes.size() > PST_MAX_RANK)
    fail(output.type.range,
         "output " + quote(output.name.text) + " has " + std::to_string(output.type.axes.size()) +
             " axes, and tensors have at most " + std::to_string(PST_MAX_RANK),
         "`merge(x, a, b)` makes one axis of two");
  OutputCounts counts;
  const Val shown = value;
  if (output.pad) // which is an element of the output
    value = outputElements(output, value, shown);
  value = outputElements(output, outputLayout(output, value, counts), shown);

  llvm::SmallVector<mlir::Attribute> axes, stored;
  for (const dsl::AxisType &axis : output.type.axes)
    axes.push_back(base.getStringAttr(axis.name.text));
  stored = axes;
  if (output.stored) {
    stored.clear();
    for (const dsl::Name &axis : output.stored->axes)
      stored.push_back(base.getStringAttr(axis.text));
  }
  const bool isFilled = isFilledByBatch(output);
  if (output.ragged || isFilled)
    demandRagged(output, stored);
  pipe::Place place = !output.place || output.place->target == dsl::Target::Auto
                          ? pipe::Place::automatic
                      : output.place->target == dsl::Target::Cpu ? pipe::Place::cpu
                                                                 : pipe::Place::gpu;
  llvm::SmallVector<mlir::Value> sizes;
  if (value.is(Kind::Tensor))
    sizes = sizesOf(dims(value.ir));
  base.create<pipe::OutputOp>(
      here, output.name.text, value.ir, sizes, base.getArrayAttr(axes), base.getArrayAttr(stored),
      output.ragged || isFilled, place, counts.counts,
      counts.counts.empty() ? nullptr : base.getArrayAttr(counts.axes),
      counts.counts.empty() ? nullptr : base.getDenseI64ArrayAttr(counts.limits),
      counts.counts.empty() ? nullptr : base.getArrayAttr(counts.messages),
      isFilled ? importFill(output) : mlir::TypedAttr());
}

bool PipelineImport::isFilledByBatch(const dsl::OutputDecl &output) const {
  return byLength && output.pad && llvm::any_of(output.type.axes, [](const dsl::AxisType &axis) {
           return axis.extentKind == dsl::ExtentKind::AtMost;
         });
}

/// What is written behind `pad`, as an element of the output.
Val PipelineImport::fillOf(const dsl::OutputDecl &output, mlir::Type element) {
  const Val fill = eval(*output.pad);
  if (std::optional<Val> converted = convert(fill, element))
    return *converted;
  const std::string its =
      show(element) + ", which the elements of output " + quote(output.name.text) + " are";
  if (const auto number = fill.is(Kind::Number) ? constantInt(fill.ir) : std::nullopt)
    fail(output.pad->range, "the padding " + std::to_string(*number) + " is no " + its);
  fail(output.pad->range, "the padding is " + show(fill) + ", and not " + its);
}

/// Returns the value that pads samples of an output to the longest of its batch, at run time.
mlir::TypedAttr PipelineImport::importFill(const dsl::OutputDecl &output) {
  mlir::Type element = elementNamed(output.type.name.text);
  const Val fill = fillOf(output, element);
  settle(fill.ir, "the padding of a batch by length");
  auto constant = fill.ir.getDefiningOp<pipe::ConstantOp>();
  if (!constant)
    fail(output.pad->range, "the padding of a batch by length is one number for all samples");
  return constant.getValue();
}

/// Declared axes against those of the value: order, names, extents.
Val PipelineImport::outputLayout(const dsl::OutputDecl &output, const Val &value,
                                 OutputCounts &counts) {
  std::vector<Dim> have;
  if (value.is(Kind::Tensor))
    have = dims(value.ir);
  const std::string what = "output " + quote(output.name.text);
  if (find(have, "n"))
    fail(output.value->range, "the value has an axis `n` of its own, and `n` is that of the batch",
         "`rename(x, n, m)` gives it another name");
  const dsl::AxisType *unknown = nullptr;
  std::vector<std::string> missing, order;
  for (const dsl::AxisType &axis : output.type.axes) {
    if (axis.name.text == "n")
      continue;
    const auto *literal = axis.extent ? axis.extent->as<dsl::IntLit>() : nullptr;
    if (!find(have, axis.name.text)) {
      if (axis.extentKind != dsl::ExtentKind::Exact || !literal || literal->value != 1)
        unknown = unknown ? unknown : &axis;
    } else {
      order.push_back(axis.name.text);
    }
  }
  for (const Dim &dim : have) {
    auto named = [&](const dsl::AxisType &axis) { return axis.name.text == dim.axis.name; };
    if (llvm::none_of(output.type.axes, named))
      missing.push_back(dim.axis.name);
  }
  auto list = [&]() {
    std::string text;
    for (const std::string &name : missing)
      text += (text.empty() ? "axis " : ", ") + quote(name);
    return text;
  };
  if (unknown || !missing.empty()) {
    std::string message = what;
    if (unknown)
      message += " names axis " + quote(unknown->name.text) +
                 (missing.empty() ? ", which its value does not have"
                                  : " and leaves out " + list() + " of its value");
    else
      message += " leaves out " + list() + " of its value";
    auto report = error(unknown ? unknown->name.range : output.type.range, message);
    noteValue(report, output.value.get(), value);
    if (unknown && missing.size() == 1)
      report.hint(quote(missing[0]));
    else if (const Dim *only = missing.size() == 1 ? find(have, missing[0]) : nullptr;
             only && only->axis.extent == 1)
      report.hint("`x[" + missing[0] + " = 0]` is the only one along it");
    throw Abort{};
  }
  if (value.is(Kind::Number) && order.size() + 1 == output.type.axes.size())
    return value;

  mlir::Value result = value.ir;
  if (value.is(Kind::Number))
    result = buildMap({}, value.ir.getType(), [&](ElementRegion &) { return value.ir; });
  result = permute(result, order);
  // Axes of extent 1 that the value lacks, and the extents that are declared.
  std::vector<Dim> now = dims(result), declared;
  llvm::SmallVector<mlir::AffineExpr> exprs(now.size());
  bool changed = false;
  for (const dsl::AxisType &axis : output.type.axes) {
    if (axis.name.text == "n")
      continue;
    const std::string &name = axis.name.text;
    size_t at = 0;
    while (at < now.size() && now[at].axis.name != name)
      ++at;
    if (at == now.size()) {
      declared.push_back({{name, 1, -1, ""}, {}});
      changed = true;
      continue;
    }
    exprs[at] = mlir::getAffineDimExpr(static_cast<unsigned>(declared.size()), &context);
    declared.push_back(now[at]);
  }
  if (changed)
    result = createView(result, declared, exprs, {});
  for (const dsl::AxisType &axis : output.type.axes)
    if (axis.name.text != "n")
      result = outputExtent(output, axis, result, value, counts);
  return tensor(result);
}

/// One axis differs from sample to sample, and the elements of a sample lie together.
void PipelineImport::demandRagged(const dsl::OutputDecl &output,
                                  llvm::ArrayRef<mlir::Attribute> stored) {
  const dsl::AxisType *differs = nullptr;
  for (const dsl::AxisType &axis : output.type.axes) {
    if (axis.extentKind != dsl::ExtentKind::AtMost)
      continue;
    if (differs)
      fail(axis.range,
           std::string(output.ragged
                           ? "a ragged output has"
                           : "an output that is filled up to the longest of its batch has") +
               " one axis that differs from sample to sample, and that is " +
               quote(differs->name.text),
           output.ragged ? "an output of its own with `pad 0`"
                         : "`extend` makes the other one the same in all samples");
    differs = &axis;
  }
  if (!differs)
    fail(*output.ragged,
         "no axis of output " + quote(output.name.text) + " differs from sample to sample",
         "`k <= 100` in its type, for at most so many");
  const std::string &name = differs->name.text;
  if (stored.front() != base.getStringAttr("n") || stored[1] != base.getStringAttr(name))
    fail(differs->range,
         std::string(output.ragged ? "a ragged output"
                                   : "an output that is filled up to the longest of its batch") +
             " is stored with axis " + quote(name) + " right behind `n`",
         quote("stored [n, " + name + (stored.size() > 2 ? ", ...]" : "]")));
}

mlir::Value PipelineImport::outputExtent(const dsl::OutputDecl &output, const dsl::AxisType &axis,
                                         mlir::Value value, const Val &shown,
                                         OutputCounts &counts) {
  const std::string &name = axis.name.text;
  const std::string what = "output " + quote(output.name.text);
  std::vector<Dim> all = dims(value);
  Dim mine = *find(all, name);
  if (axis.metadata && !mine.axis.metadata.empty() && axis.metadata->text != mine.axis.metadata) {
    auto report = error(axis.metadata->range,
                        what + " declares axis " + quote(name) + " as " + axis.metadata->text +
                            ", and that of its value is " + mine.axis.metadata);
    noteValue(report, output.value.get(), shown);
    throw Abort{};
  }
  const auto whole = axis.metadata ? extentOfFormat(axis.metadata->text) : std::nullopt;
  if (whole && mine.axis.isStatic() && *whole != mine.axis.extent) {
    auto report = error(axis.metadata->range,
                        what + " declares axis " + quote(name) + " as " + axis.metadata->text +
                            ", which has " + std::to_string(*whole) + " elements, and there are " +
                            std::to_string(mine.axis.extent));
    noteValue(report, output.value.get(), shown);
    throw Abort{};
  }
  if (axis.extentKind == dsl::ExtentKind::Free) {
    if (mine.axis.isStatic())
      return value;
    auto report =
        error(axis.range, "axis " + quote(name) + " of " + what +
                              " differs from sample to sample, and a batch needs one extent");
    noteValue(report, output.value.get(), shown);
    const bool isResized =
        shown.is(Kind::Tensor) && shown.ir.getDefiningOp<pipe::ResampleOp>() != nullptr;
    report.hint((isResized
                     ? "`resize(x, height, width)` makes both sides known, where with one the "
                       "other follows the picture"
                     : std::string("resize, crop or pad it")) +
                "; or " + quote(name + " <= 100") + " with `pad 0` or `ragged`");
    throw Abort{};
  }
  int64_t extent = demandInt(eval(*axis.extent), axis.extent->range, "an extent");
  if (extent < 0)
    fail(axis.extent->range,
         what + " declares " + std::to_string(extent) + " elements along axis " + quote(name));
  Dim wanted{{name, extent, -1, mine.axis.metadata}, {}};
  if (axis.extentKind == dsl::ExtentKind::Exact) {
    if (mine.axis.isStatic() && mine.axis.extent != extent) {
      auto report = error(axis.range, what + " declares " + std::to_string(extent) +
                                          " along axis " + quote(name) + ", and its value has " +
                                          std::to_string(mine.axis.extent));
      noteValue(report, output.value.get(), shown);
      throw Abort{};
    }
    if (mine.axis.isStatic())
      return value;
    if (const Counted *counted = countedBy(mine))
      failCounted(axis.range, mine, *counted);
    sameExtent(mine, wanted);
    *const_cast<Dim *>(find(all, name)) = wanted;
    return retype(value, all);
  }
  if (mine.axis.isStatic() && mine.axis.extent > extent) {
    auto report = error(axis.range, what + " declares at most " + std::to_string(extent) +
                                        " along axis " + quote(name) + ", and its value has " +
                                        std::to_string(mine.axis.extent));
    noteValue(report, output.value.get(), shown);
    throw Abort{};
  }
  if (const Counted *counted = countedBy(mine)) {
    counts.counts.push_back(counted->count);
    counts.axes.push_back(base.getStringAttr(name));
    counts.limits.push_back(extent);
    counts.messages.push_back(base.getStringAttr(what + " declares at most {1} along axis `" +
                                                 name + "`, and the sample has {0}"));
    value = existingOnly(output, value, mine, extent);
    all = dims(value);
    mine = *find(all, name);
  } else if (!mine.axis.isStatic())
    check(compare(pipe::Predicate::le, mine.size, intConstant(extent)),
          what + " declares at most {1} along axis `" + name + "`, and the sample has {0}",
          mine.size, intConstant(extent));
  if (output.ragged || isFilledByBatch(output)) {
    wanted.axis.extent = -1;
    wanted.axis.bound = extent;
    wanted.size = this->extent(mine);
    *const_cast<Dim *>(find(all, name)) = wanted;
    return retype(value, all);
  }
  if (mine.axis.isStatic() && mine.axis.extent == extent)
    return value;
  if (!output.pad) {
    error(axis.range, "axis " + quote(name) + " of " + what + " is shorter in some samples")
        .hint("`pad 0` fills it up, `ragged` delivers values and offsets");
    throw Abort{};
  }
  mlir::Type element = llvm::cast<pipe::NamedTensorType>(value.getType()).getElementType();
  const Val fill = fillOf(output, element);
  *const_cast<Dim *>(find(all, name)) = wanted;
  return base.create<pipe::PadOp>(here, tensorOf(element, all), pipe::Border::constant, value,
                                  base.getStrArrayAttr({name}), mlir::ValueRange{intConstant(0)},
                                  fill.ir, sizesOf(all));
}

/// Keeps what pixels leave of the room of an axis, in at most `extent` elements. Behind
/// that is the fill of `pad`; nobody sees what is behind the end of `ragged`.
mlir::Value PipelineImport::existingOnly(const dsl::OutputDecl &output, mlir::Value value,
                                         const Dim &axis, int64_t extent) {
  const std::string &name = axis.axis.name;
  if (output.pad && !isFilledByBatch(output)) {
    mlir::Type element = llvm::cast<pipe::NamedTensorType>(value.getType()).getElementType();
    value = onlyExisting(value, {name}, fillOf(output, element).ir);
  }
  mlir::Value size = binary(pipe::BinaryKind::min, intConstant(extent), room(axis));
  Dim cut = dim(name, size, axis.axis.metadata, output.type.range);
  if (!cut.axis.isStatic())
    cut.axis.bound = extent;
  return viewAxis(value, name, intConstant(0), 1, cut);
}

Val PipelineImport::outputElements(const dsl::OutputDecl &output, Val value, const Val &shown) {
  mlir::Type from = elementType(value), to = elementNamed(output.type.name.text);
  if (from == to)
    return value;
  auto isFloat = [](mlir::Type type) { return llvm::isa<mlir::FloatType>(type); };
  auto wider = [&]() {
    auto a = llvm::cast<mlir::IntegerType>(from), b = llvm::cast<mlir::IntegerType>(to);
    if (from.isSignlessInteger(1) || to.isSignlessInteger(1))
      return false;
    if (a.isUnsigned() == b.isUnsigned())
      return b.getWidth() >= a.getWidth();
    return a.isUnsigned() && b.getWidth() > a.getWidth();
  };
  const bool allowed = (isFloat(from) && isFloat(to)) ||
                       (!isFloat(from) && !isFloat(to) && wider()) ||
                       ((value.is(Kind::Number) || shown.untyped) && convert(shown, to));
  const std::optional<int64_t> written =
      shown.is(Kind::Number) && shown.untyped ? constantInt(shown.ir) : std::nullopt;
  if (!allowed && written && !isFloat(to) && !to.isSignlessInteger(1))
    fail(output.value->range, std::to_string(*written) + " does not fit " + show(to) +
                                  ", which output " + quote(output.name.text) + " is declared as");
  refuseInfinite(shown, output.type.name.text, output.value->range,
                 "output " + quote(output.name.text) + " is declared as " + show(to));
  if (!allowed) {
    auto report =
        error(output.type.name.range, "output " + quote(output.name.text) + " is declared as " +
                                          show(to) + ", and its value has " + show(from));
    noteValue(report, output.value.get(), shown);
    report.hint(from.isUnsignedInteger(8) && isFloat(to)
                    ? "`to_tensor` or `normalize` makes numbers of pixels"
                    : quote(output.type.name.text + "(...)") + " converts");
    throw Abort{};
  }
  return castTo(pipe::CastMode::value, value, to, output.type.range);
}
