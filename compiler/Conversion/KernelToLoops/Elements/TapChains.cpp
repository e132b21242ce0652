// SPDX-License-Identifier: Apache-2.0
//
// Like terms of a window's neighbours, combined one after the other.
#include "compiler/Conversion/KernelToLoops/Elements/TapChains.h"

#include <algorithm>

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

/// Terms from which on a chain is a loop, and one behind other terms.
static constexpr size_t fewTerms = 2, manyTerms = 48;
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

/// Returns whether the neighbours of the terms follow each other at one distance, of which all but
/// the last are known to.
static bool goesOn(TapChain &chain) {
  const size_t last = chain.terms.size() - 1;
  const std::vector<Value> &zero = chain.terms[0].holes, &holes = chain.terms[last].holes;
  if (last == 0)
    return true;
  for (size_t h = 0; h < zero.size(); ++h) {
    if (!llvm::isa<BlockArgument>(zero[h]))
      continue;
    const int64_t from = TapChains::numberOf(zero[h]);
    const int64_t step = TapChains::numberOf(chain.terms[1].holes[h]) - from;
    if (step && !chain.step) {
      chain.step = step;
      chain.first = from;
    }
    if ((step && step != chain.step) ||
        TapChains::numberOf(holes[h]) != from + static_cast<int64_t>(last) * step)
      return false;
  }
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

/// Fills `chain` with the terms that `root` ends with, from the first one on, and returns how many
/// are alike: as many as there are, or less.
size_t TapChains::alike(BinaryOp root, ArrayRef<Value> values, TapChain &chain, bool shares) const {
  chain = {};
  chain.root = root;
  for (Value value : values) {
    TapTerm term;
    if (!readHole(value, nullptr, 0, term) && !read(value, term, shares))
      break;
    if (!chain.terms.empty() && term.shape != chain.terms[0].shape)
      break;
    chain.terms.push_back(std::move(term));
    if (!goesOn(chain)) {
      chain.terms.pop_back();
      break;
    }
  }
  const size_t count = chain.terms.size();
  chain.end = chain.first + static_cast<int64_t>(count) * chain.step;
  return count;
}

/// Returns how many of the terms come before those that have the last one's shape: constants that
/// are 0 and 1 have left nothing of a term, or less.
size_t TapChains::othersBefore(ArrayRef<Value> values, bool shares) const {
  std::vector<uintptr_t> shape;
  size_t before = values.size();
  for (; before > 0; --before) {
    TapTerm term;
    Value value = values[before - 1];
    if (!readHole(value, nullptr, 0, term) && !read(value, term, shares))
      break;
    if (shape.empty())
      shape = term.shape;
    else if (term.shape != shape)
      break;
  }
  return before;
}

bool TapChains::find(BinaryOp root, TapChain &chain) {
  if (!hasStart(root) || tooLong.contains(root))
    return false;
  SmallVector<BinaryOp> links{root};
  SmallVector<Value> values;
  for (;;) {
    values.push_back(links.back().getRhs());
    auto next = links.back().getLhs().getDefiningOp<BinaryOp>();
    if (!next || !isHere(next) || next.getKind() != root.getKind())
      break;
    links.push_back(next);
  }
  values.push_back(links.back().getLhs());
  std::reverse(values.begin(), values.end());
  size_t longest = 0;
  for (bool shares : {false, true}) {
    longest = std::max(longest, alike(root, values, chain, shares));
    if (longest == values.size())
      return true;
  }
  for (bool shares : {false, true}) {
    const size_t before = othersBefore(values, shares), count = values.size() - before;
    if (before == 0 || count < manyTerms ||
        alike(root, ArrayRef(values).drop_front(before), chain, shares) != count)
      continue;
    chain.start = links[links.size() - before].getLhs();
    return true;
  }
  // The links before it end with fewer of the same terms.
  for (size_t i = 0; i < links.size() && (values.size() - i > longest || longest < fewTerms); ++i)
    tooLong.insert(links[i]);
  return false;
}
