// SPDX-License-Identifier: Apache-2.0
//
// Random values and their keys.
#include "compiler/Import/Values/Draws.h"
#include "compiler/Dialect/Drawn.h"
#include "runtime/abi/random.h"

using namespace penstock::importer;
using penstock::pipe::BinaryKind;
using penstock::pipe::DrawKind;

std::string Draws::pathHere(const std::string &last) const {
  std::string path = pipeline + "/" + statement;
  for (const CallSite &call : in.calls)
    path += "/" + call.function;
  return path + "/" + last;
}

mlir::Value Draws::key() {
  const bool batch = in.inBatch && !perSample;
  mlir::Value key =
      in.base.create<pipe::KeyOp>(in.here, pipe::KeyType::get(&in.context),
                                  batch ? pipe::KeyScope::batch : pipe::KeyScope::sample);
  mlir::Value view; // nested views count row-major
  for (const KeyStep &step : keySteps) {
    if (step.views == 0)
      key = in.base.create<pipe::KeyMixOp>(in.here, key.getType(), key, step.index);
    else
      view =
          view ? in.binary(BinaryKind::add,
                           in.binary(BinaryKind::mul, view, in.intConstant(step.views)), step.index)
               : step.index;
  }
  if (view)
    key = in.base.create<pipe::KeyViewOp>(in.here, key.getType(), key, view);
  return key;
}

std::string Draws::nextPath(const std::string &last) {
  std::string path = pathHere(last);
  if (int ordinal = ordinals[path]++)
    path += "#" + std::to_string(ordinal);
  return path;
}

std::string Draws::sharedPath(const std::string &last) {
  std::vector<std::string> &known = small.paths[pathHere(last)];
  const size_t number = small.done[pathHere(last)]++;
  if (number == known.size())
    known.push_back(nextPath(last));
  return known[number];
}

bool Draws::inPrelude() const {
  return llvm::any_of(in.frames, [](const Frame &frame) {
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

void Draws::show(const Val &value, const std::string &last) {
  if (inPrelude() || !in.regions.empty() || element)
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

Val Draws::draw(DrawKind kind, const std::string &name, llvm::ArrayRef<mlir::Value> args,
                mlir::Type type) {
  std::string path = once && !element ? sharedPath(name) : nextPath(name);
  llvm::SmallVector<mlir::Value> operands(args);
  if (element)
    operands.push_back(element);
  mlir::Value key = this->key();
  auto draw = in.builderFor(operands).create<pipe::DrawOp>(
      in.here, type, kind, key, args, element, static_cast<uint64_t>(random::drawId(path)), path);
  ++count;
  const bool differs = perSample || kind == DrawKind::permutation;
  if (inOutput && in.inBatch && !differs && !shared)
    shared = in.calls.empty() ? CallSite{} : in.calls.front();
  if (inPrelude()) // shown as what the prelude's function makes of it
    pipe::setDrawn(draw, {std::string()});
  else if (!decidedStage.empty() && !pipe::drawnNames(draw)[0].empty())
    show(Scalars::number(draw), name);
  return Scalars::number(draw, type.isF64());
}
