// SPDX-License-Identifier: Apache-2.0
//
// Like terms of a window's neighbours, combined one after the other.
#include "compiler/Conversion/KernelToLoops/Elements/TapChains.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

/// Terms from which on a chain is a loop.
static constexpr size_t fewTerms = 2;
/// Ops of a term, and uses from which on a value may be one that all terms read.
static constexpr size_t mostOps = 64;
static constexpr unsigned manyUses = 48;

/// One that can lie in a table.
static bool isConstant(Value value) {
  Type type = value.getType();
  return value.getDefiningOp<ConstantOp>() &&
         (type.isF32() || type.isF64() || (llvm::isa<IntegerType>(type) && !type.isInteger(1)));
}
/// Combinations with a number that changes nothing (tapStart), so that the first term
/// is one of the loop's.
static bool hasStart(BinaryOp op) {
  Type type = op.getType();
  return (type.isF32() || type.isF64() || llvm::isa<IntegerType>(type)) &&
         llvm::is_contained({BinaryKind::add, BinaryKind::mul, BinaryKind::min, BinaryKind::max,
                             BinaryKind::bit_and, BinaryKind::bit_or, BinaryKind::bit_xor},
                            op.getKind());
}
bool TapChain::staysThere(size_t hole) const {
  Value first = terms[0].holes[hole];
  return llvm::isa<BlockArgument>(first) &&
         llvm::all_of(terms, [&](const TapTerm &term) { return term.holes[hole] == first; });
}

/// Returns whether the neighbours of the terms follow each other at one distance.
static bool isProgression(TapChain &chain) {
  const std::vector<Value> &zero = chain.terms[0].holes, &one = chain.terms[1].holes;
  for (size_t h = 0; h < zero.size(); ++h) {
    if (!llvm::isa<BlockArgument>(zero[h]) || chain.staysThere(h))
      continue;
    const int64_t step = TapChains::numberOf(one[h]) - TapChains::numberOf(zero[h]);
    if (!chain.step) {
      chain.step = step;
      chain.first = TapChains::numberOf(zero[h]);
    }
    for (size_t k = 0; k < chain.terms.size(); ++k)
      if (TapChains::numberOf(chain.terms[k].holes[h]) !=
          TapChains::numberOf(zero[h]) + static_cast<int64_t>(k) * step)
        return false;
    if (step != chain.step)
      return false;
  }
  chain.end = chain.first + static_cast<int64_t>(chain.terms.size()) * chain.step;
  return chain.step > 0;
}

bool TapChains::readHole(Value value, Operation *user, unsigned operand, TapTerm &term) const {
  if (!isNeighbour(value) && !isConstant(value))
    return false;
  term.shape.push_back(isNeighbour(value) ? 1 : 2);
  term.shape.push_back(reinterpret_cast<uintptr_t>(value.getType().getAsOpaquePointer()));
  term.holes.push_back(value);
  term.places.emplace_back(user, operand);
  return true;
}

/// False for what cannot be repeated in a loop. `shares`: values that many read are no part of the
/// term, but read by it.
bool TapChains::read(Value value, TapTerm &term, bool shares, unsigned depth) const {
  Operation *op = value.getDefiningOp();
  if (!isHere(op)) {
    term.shape.insert(term.shape.end(),
                      {3, reinterpret_cast<uintptr_t>(value.getAsOpaquePointer())});
    return true;
  }
  for (size_t i = 0; i < term.ops.size(); ++i)
    if (term.ops[i] == op) {
      term.shape.insert(term.shape.end(), {4, i});
      return true;
    }
  if (shares && llvm::hasNItemsOrMore(value.getUses(), manyUses) &&
      llvm::any_of(op->getOperands(),
                   [&](Value operand) { return isHere(operand.getDefiningOp()); })) {
    term.shape.insert(term.shape.end(),
                      {6, reinterpret_cast<uintptr_t>(value.getAsOpaquePointer())});
    term.reads.insert(value);
    return true;
  }
  if (op->getNumRegions() || op->getNumResults() != 1 || !isPure(op) || term.ops.size() > mostOps ||
      depth > mostOps)
    return false;
  auto add = [&](const void *part) { term.shape.push_back(reinterpret_cast<uintptr_t>(part)); };
  term.shape.push_back(5);
  add(op->getName().getAsOpaquePointer());
  add(op->getAttrDictionary().getAsOpaquePointer());
  add(op->getPropertiesAsAttribute().getAsOpaquePointer());
  add(value.getType().getAsOpaquePointer());
  for (OpOperand &operand : op->getOpOperands())
    if (!readHole(operand.get(), op, operand.getOperandNumber(), term) &&
        !read(operand.get(), term, shares, depth + 1))
      return false;
  term.ops.insert(op); // after its operands
  return true;
}

/// The terms of the same shape that `root` ends with, from the first one on.
bool TapChains::find(BinaryOp root, TapChain &chain, bool shares) const {
  if (!hasStart(root))
    return false;
  chain = {};
  chain.root = root;
  std::vector<Value> values;
  for (BinaryOp op = root;;) {
    values.push_back(op.getRhs());
    auto next = op.getLhs().getDefiningOp<BinaryOp>();
    if (!next || !isHere(next) || next.getKind() != root.getKind()) {
      values.push_back(op.getLhs());
      break;
    }
    op = next;
  }
  if (values.size() < fewTerms)
    return false;
  std::vector<uintptr_t> shape;
  for (Value value : llvm::reverse(values)) {
    TapTerm term;
    if (!readHole(value, nullptr, 0, term) && !read(value, term, shares))
      return false;
    if (!shape.empty() && term.shape != shape)
      return false;
    shape = term.shape;
    chain.terms.push_back(std::move(term));
  }
  return isProgression(chain);
}
