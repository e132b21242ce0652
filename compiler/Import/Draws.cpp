//===- Draws.cpp - random values and their keys ---------------------------===//

#include "compiler/Dialect/Drawn.h"
#include "compiler/Import/Places.h"
#include "runtime/abi/random.h"

using namespace penstock::importer;
using penstock::pipe::BinaryKind;
using penstock::pipe::DrawKind;

std::string Importer::pathHere(const std::string &last) const {
  std::string path = pipelineName + "/" + outputName;
  for (const CallSite &call : calls)
    path += "/" + call.function;
  return path + "/" + last;
}

mlir::Value Importer::key() {
  const bool batch = inBatch && !perSample;
  mlir::Value key = base.create<pipe::KeyOp>(
      here, pipe::KeyType::get(&context), batch ? pipe::KeyScope::batch : pipe::KeyScope::sample);
  mlir::Value view; // nested views count row-major
  for (const KeyStep &step : keySteps) {
    if (step.views == 0)
      key = base.create<pipe::KeyMixOp>(here, key.getType(), key, step.index);
    else
      view = view ? binary(BinaryKind::add, binary(BinaryKind::mul, view, intConstant(step.views)),
                           step.index)
                  : step.index;
  }
  if (view)
    key = base.create<pipe::KeyViewOp>(here, key.getType(), key, view);
  return key;
}

std::string Importer::nextPath(const std::string &last) {
  std::string path = pathHere(last);
  if (int ordinal = ordinals[path]++)
    path += "#" + std::to_string(ordinal);
  return path;
}

bool Importer::inPrelude() const {
  return llvm::any_of(frames, [](const Frame &frame) {
    return frame.file && frame.file->moduleName == dsl::preludeName;
  });
}

/// `top`, `left` of a rect; `last` for what has no name.
static void leafNames(const Val &value, const std::string &last, std::vector<std::string> &names) {
  if (value.parts.empty())
    names.push_back(last);
  for (size_t i = 0; i < value.parts.size(); ++i)
    leafNames(value.parts[i], value.is(Kind::Record) ? value.names[i] : last, names);
}

void Importer::showDrawn(const Val &value, const std::string &last) {
  if (inPrelude() || !regions.empty() || drawElement)
    return;
  std::vector<std::string> names;
  leafNames(value, last, names);
  std::vector<Val *> leaves;
  Val copy = value;
  flatten(copy, leaves);
  for (size_t i = 0; i < leaves.size() && leaves.size() == names.size(); ++i)
    if (auto result = llvm::dyn_cast_if_present<mlir::OpResult>(leaves[i]->ir);
        result && leaves[i]->is(Kind::Number)) {
      std::vector<std::string> all(result.getOwner()->getNumResults());
      if (result.getOwner()->hasAttr("pipe.drawn"))
        for (auto [to, from] : llvm::zip(all, pipe::drawnNames(result.getOwner())))
          to = from.str();
      all[result.getResultNumber()] =
          nextPath(decidedStage.empty() ? names[i] : decidedStage + " if " + names[i]);
      pipe::setDrawn(result.getOwner(), all);
    }
}

Val Importer::drawOp(DrawKind kind, const std::string &name, llvm::ArrayRef<mlir::Value> args,
                     mlir::Type type) {
  std::string path = nextPath(name);
  llvm::SmallVector<mlir::Value> operands(args);
  if (drawElement)
    operands.push_back(drawElement);
  mlir::Value key = this->key();
  auto draw = builderFor(operands).create<pipe::DrawOp>(
      here, type, kind, key, args, drawElement, static_cast<uint64_t>(random::drawId(path)), path);
  ++drawCount;
  if (inPrelude()) // shown as what the prelude's function makes of it
    pipe::setDrawn(draw, {std::string()});
  else if (!decidedStage.empty() && !pipe::drawnNames(draw)[0].empty())
    showDrawn(number(draw), name);
  return number(draw, type.isF64());
}

Val Importer::drawOnce(const dsl::DrawExpr &draw, const std::vector<Argument> &args) {
  const std::string &name = draw.distribution.text;
  const dsl::SourceRange range = draw.distribution.range;
  auto rangeOf = [&]() -> const Val & {
    if (args.size() != 1 || !args[0].value.is(Kind::Range))
      fail(args.empty() ? range : args[0].range,
           "`draw " + name + "` takes a range such as `" + name + "(0 .. 10)`");
    return args[0].value;
  };
  if (name == "bits" && args.empty())
    return drawOp(DrawKind::bits, name, {}, base.getI64Type());
  if (name == "uniform") {
    const Val &ends = rangeOf();
    mlir::Value low = demandF64(ends.parts[0], args[0].range, "the start of the range");
    mlir::Value high = demandF64(ends.parts[1], args[0].range, "the end of the range");
    if (std::optional<double> first = constantF64(low), last = constantF64(high);
        first && last && !(*first <= *last))
      fail(args[0].range, "this range ends before it starts", "the lower number stands first");
    Val result = drawOp(DrawKind::uniform, name, {low, high}, base.getF64Type());
    result.unit = ends.parts[0].unit;
    return result;
  }
  if (name == "int") {
    const Val &ends = rangeOf();
    mlir::Value low = demandIndex(ends.parts[0], args[0].range, "the start of the range");
    mlir::Value high = demandIndex(ends.parts[1], args[0].range, "the end of the range");
    if (ends.closed)
      high = binary(BinaryKind::add, high, intConstant(1));
    if (std::optional<int64_t> first = constantInt(low), last = constantInt(high);
        first && last && *first >= *last)
      fail(args[0].range, "there is no whole number in this range", "`a ..= b` includes b");
    return drawOp(DrawKind::integer, name, {low, high}, base.getI64Type());
  }
  if (name == "permutation") {
    if (!inBatch || perSample || args.size() != 1)
      fail(range, "`draw permutation(n)` stands in the `batch` block, over its samples");
    mlir::Value count = demandIndex(args[0].value, args[0].range, "the size of a permutation");
    mlir::Value slot =
        base.create<pipe::ContextOp>(here, base.getI64Type(), pipe::ContextKind::slot);
    return drawOp(DrawKind::permutation, name, {count, slot}, base.getI64Type());
  }
  Val result = callNamed(draw.distribution, args, draw.range);
  result.loose = result.is(Kind::Number) && result.ir.getType().isF64();
  return result;
}

Val Importer::evalDraw(const dsl::DrawExpr &draw) {
  std::vector<Argument> args = evalArgs(draw.args ? &*draw.args : nullptr);
  PlaceGuard guard(*this, draw.range);
  if (!draw.per)
    return drawOnce(draw, args);
  std::vector<std::string> axes;
  for (const dsl::Name &axis : draw.per->axes) {
    if (inBatch && axis.text == "n")
      continue;
    if (axis.text == "n")
      fail(axis.range, "the batch axis `n` exists in the `batch` block only",
           "without `per [n]`, each sample draws its own value");
    axes.push_back(axisNamed(axis.text));
  }
  Restore<bool> scope(perSample, perSample || axes.size() < draw.per->axes.size());
  if (axes.empty())
    return drawOnce(draw, args);

  // One draw per element, numbered by its logical place.
  auto linear = [&](ElementRegion &region) {
    mlir::Value index;
    for (size_t i = 0; i < axes.size(); ++i) {
      size_t k = 0;
      while (k < region.domain.size() && region.domain[k].axis.name != axes[i])
        ++k;
      if (k == region.domain.size())
        fail(draw.per->axes[i].range,
             "`per` names axis " + quote(axes[i]) + ", over which nothing runs here",
             "the elements run over " + axisList(region.domain));
      mlir::Value at = region.coordinates[k];
      index = index ? binary(BinaryKind::add,
                             binary(BinaryKind::mul, index, extent(region.domain[k])), at)
                    : at;
    }
    return index;
  };
  auto element = [&](ElementRegion &region) {
    Restore<mlir::Value> at(drawElement, linear(region));
    Val value = drawOnce(draw, args);
    if (!value.is(Kind::Number))
      fail(draw.range, "a draw per element must be a number");
    return value;
  };
  if (!regions.empty())
    return element(*regions.back());
  std::vector<Dim> domain;
  for (size_t i = 0; i < axes.size(); ++i) {
    auto found = frame().values.find(axes[i]);
    if (found == frame().values.end() || !found->second.is(Kind::Number))
      fail(draw.per->axes[i].range, "the extent of axis " + quote(axes[i]) + " is not known here",
           "draw inside a `map` over a tensor that has the axis");
    domain.push_back(dim(axes[i], demandIndex(found->second, draw.per->axes[i].range, "an extent"),
                         "", draw.per->axes[i].range));
  }
  return tensor(buildMap(domain, {}, [&](ElementRegion &region) { return element(region).ir; }));
}
