// SPDX-License-Identifier: Apache-2.0
//
// What a window's body does alike for many neighbours.
#include "compiler/Conversion/KernelToLoops/Elements/TapLoops.h"
#include "llvm/ADT/Sequence.h"
#include <map>

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

/// Terms from which on a chain is a loop.
static constexpr size_t fewTerms = 2;
/// Ops of a term, and uses from which on a value may be one that all terms read.
static constexpr size_t mostOps = 64;
static constexpr unsigned manyUses = 48;

namespace {

/// A term, told apart from others by `shape` but for its holes.
struct Term {
  std::vector<uintptr_t> shape;
  std::vector<Value> holes; ///< neighbours and constants
  llvm::SetVector<Operation *> ops;
  std::vector<std::pair<Operation *, unsigned>> places; ///< of the holes
  llvm::SetVector<Value> reads;                         ///< that the body computes
};

/// op(op(op(terms[0], terms[1]), terms[2]) ...
struct Chain {
  BinaryOp root;
  std::vector<Term> terms;
  int64_t first = 0, step = 0, end = 0;
};

class Finder {
public:
  Finder(Block &body, unsigned count) : body(body), count(count) {}
  TapLoops run();

private:
  bool isNeighbour(Value value) const {
    auto argument = llvm::dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == &body && argument.getArgNumber() < count;
  }
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
  bool isHere(Operation *op) const { return op && op->getBlock() == &body; }

  bool read(Value value, Term &term, bool shares, unsigned depth = 0);
  bool readHole(Value value, Operation *user, unsigned operand, Term &term);
  bool findChain(BinaryOp root, Chain &chain, bool shares);
  static bool isProgression(Chain &chain);
  static bool staysThere(const Chain &chain, size_t hole);
  void addLoop(ArrayRef<Chain *> together);
  void orderLoops();

  Block &body;
  const unsigned count;
  llvm::DenseSet<Operation *> inChain;
  TapLoops found;
};

bool Finder::readHole(Value value, Operation *user, unsigned operand, Term &term) {
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
bool Finder::read(Value value, Term &term, bool shares, unsigned depth) {
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
bool Finder::findChain(BinaryOp root, Chain &chain, bool shares) {
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
    Term term;
    if (!readHole(value, nullptr, 0, term) && !read(value, term, shares))
      return false;
    if (!shape.empty() && term.shape != shape)
      return false;
    shape = term.shape;
    chain.terms.push_back(std::move(term));
  }
  return isProgression(chain);
}

static int64_t numberOf(Value neighbour) {
  return llvm::cast<BlockArgument>(neighbour).getArgNumber();
}

/// Returns whether all terms read the same neighbour, such as the one in the middle.
bool Finder::staysThere(const Chain &chain, size_t hole) {
  Value first = chain.terms[0].holes[hole];
  return llvm::isa<BlockArgument>(first) &&
         llvm::all_of(chain.terms, [&](const Term &term) { return term.holes[hole] == first; });
}

/// Returns whether the neighbours of the terms follow each other at one distance.
bool Finder::isProgression(Chain &chain) {
  const std::vector<Value> &zero = chain.terms[0].holes, &one = chain.terms[1].holes;
  for (size_t h = 0; h < zero.size(); ++h) {
    if (!llvm::isa<BlockArgument>(zero[h]) || staysThere(chain, h))
      continue;
    const int64_t step = numberOf(one[h]) - numberOf(zero[h]);
    if (!chain.step) {
      chain.step = step;
      chain.first = numberOf(zero[h]);
    }
    for (size_t k = 0; k < chain.terms.size(); ++k)
      if (numberOf(chain.terms[k].holes[h]) != numberOf(zero[h]) + static_cast<int64_t>(k) * step)
        return false;
    if (step != chain.step)
      return false;
  }
  chain.end = chain.first + static_cast<int64_t>(chain.terms.size()) * chain.step;
  return chain.step > 0;
}

/// Returns whether a loop's terms and another's may be computed together: where they have an
/// operation in common for the first neighbour, it reads the same for all others.
static bool agree(const TapLoop &loop, const TapLoop &other) {
  if (loop.first != other.first || loop.step != other.step || loop.end != other.end ||
      loop.sums.front().results.size() != other.sums.front().results.size() ||
      loop.reads.size() != other.reads.size() ||
      !llvm::all_of(other.reads, [&](Value value) { return loop.reads.contains(value); }))
    return false;
  return llvm::all_of(other.term, [&](Operation *op) {
    return !loop.term.contains(op) || llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
      const std::pair place(op, operand.getOperandNumber());
      const auto mine = loop.places.find(place), theirs = other.places.find(place);
      if (mine == loop.places.end() || theirs == other.places.end())
        return mine == loop.places.end() && theirs == other.places.end();
      const TapLoop::Hole &x = loop.holes[mine->second], &y = other.holes[theirs->second];
      return x.offset == y.offset && x.constants == y.constants;
    });
  });
}

/// Chains of one shape, whose firsts follow each other, as one loop.
void Finder::addLoop(ArrayRef<Chain *> together) {
  Chain &front = *together.front();
  const Term &term = front.terms[0];
  TapLoop loop;
  loop.first = front.first;
  loop.step = front.step;
  loop.term = term.ops;
  loop.reads = term.reads;
  loop.sums.push_back({front.root.getKind(), {}, term.ops.empty() ? nullptr : term.ops.back()});
  for (Chain *chain : together) {
    loop.sums[0].results.push_back(chain->root.getResult());
    loop.end = std::max(loop.end, chain->end - chain->step + 1);
  }
  for (size_t h = 0; h < term.holes.size(); ++h) {
    if (staysThere(front, h)) { // read once, outside of the loop
      found.neighbours.insert(static_cast<unsigned>(numberOf(term.holes[h])));
      continue;
    }
    TapLoop::Hole hole;
    hole.type = term.holes[h].getType();
    if (isNeighbour(term.holes[h])) {
      hole.offset = numberOf(term.holes[h]) - front.first;
    } else {
      hole.constants.resize(static_cast<size_t>(loop.end - loop.first));
      for (Chain *chain : together)
        for (size_t k = 0; k < chain->terms.size(); ++k)
          hole.constants[static_cast<size_t>(chain->first - loop.first) +
                         k * static_cast<size_t>(loop.step)] =
              llvm::cast<TypedAttr>(
                  chain->terms[k].holes[h].getDefiningOp<ConstantOp>().getValue());
    }
    loop.places[term.places[h]] = loop.holes.size();
    loop.holes.push_back(std::move(hole));
  }
  auto same = llvm::find_if(found.loops, [&](const TapLoop &other) { return agree(other, loop); });
  if (same == found.loops.end()) {
    found.loops.push_back(std::move(loop));
    return;
  }
  // Of several sums, what their terms have in common is computed once.
  for (auto place : term.places) {
    const auto hole = loop.places.find(place);
    if (hole == loop.places.end())
      continue;
    if (!place.first)
      place.second = static_cast<unsigned>(same->sums.size());
    if (same->places.try_emplace(place, same->holes.size()).second)
      same->holes.push_back(loop.holes[hole->second]);
  }
  same->term.insert(loop.term.begin(), loop.term.end());
  same->sums.push_back(std::move(loop.sums[0]));
}

TapLoops Finder::run() {
  std::vector<Chain> chains;
  for (Operation &op : llvm::reverse(body)) {
    auto root = llvm::dyn_cast<BinaryOp>(op);
    Chain chain;
    if (!root || inChain.contains(root) ||
        !(findChain(root, chain, false) || findChain(root, chain, true)))
      continue;
    for (BinaryOp link = root; link && isHere(link) && link.getKind() == root.getKind();
         link = link.getLhs().getDefiningOp<BinaryOp>())
      inChain.insert(link);
    chains.push_back(std::move(chain));
  }
  // In the order of their firsts: each joins the loop that it continues.
  llvm::sort(chains, [](const Chain &a, const Chain &b) { return a.first < b.first; });
  std::vector<SmallVector<Chain *>> groups;
  for (Chain &chain : chains) {
    auto continues = [&](SmallVector<Chain *> &group) {
      Chain &last = *group.back(), &first = *group.front();
      return last.first + 1 == chain.first && chain.first < first.first + first.step &&
             last.step == chain.step && last.root.getKind() == chain.root.getKind() &&
             last.terms[0].shape == chain.terms[0].shape &&
             std::abs(chain.end - first.end) < chain.step &&
             llvm::all_of(
                 llvm::seq(last.terms[0].holes.size()),
                 [&](size_t hole) {
                   Value mine = last.terms[0].holes[hole], next = chain.terms[0].holes[hole];
                   if (staysThere(last, hole) || staysThere(chain, hole))
                     return mine == next && staysThere(last, hole) && staysThere(chain, hole);
                   return !llvm::isa<BlockArgument>(mine) || numberOf(mine) + 1 == numberOf(next);
                 });
    };
    auto group = llvm::find_if(groups, continues);
    if (group == groups.end())
      groups.push_back({&chain});
    else
      group->push_back(&chain);
  }
  for (const SmallVector<Chain *> &group : groups) {
    int64_t end = 0;
    for (Chain *chain : group)
      end = std::max(end, chain->end - chain->step + 1);
    // Each has a term for all of its numbers below the end.
    if (llvm::all_of(group, [&](Chain *chain) { return chain->end >= end; }))
      addLoop(group);
    else
      for (Chain *chain : group)
        addLoop(chain);
  }
  // What is left: all that the result needs, short of the loops.
  llvm::DenseSet<Operation *> made, needed;
  for (const TapLoop &loop : found.loops)
    for (const TapLoop::Sum &sum : loop.sums)
      for (Value result : sum.results)
        made.insert(result.getDefiningOp());
  SmallVector<Value> open(body.getTerminator()->operand_begin(),
                          body.getTerminator()->operand_end());
  for (const TapLoop &loop : found.loops)
    open.append(loop.reads.begin(), loop.reads.end());
  while (!open.empty()) {
    Value value = open.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (isNeighbour(value))
      found.neighbours.insert(llvm::cast<BlockArgument>(value).getArgNumber());
    if (!isHere(op) || made.contains(op) || !needed.insert(op).second)
      continue;
    op->walk([&](Operation *inner) { open.append(inner->operand_begin(), inner->operand_end()); });
  }
  for (Operation &op : body.without_terminator())
    if (needed.contains(&op))
      found.rest.push_back(&op);
  orderLoops();
  return std::move(found);
}

/// Each as soon as what it reads is made: whatever reads its results comes behind that.
void Finder::orderLoops() {
  llvm::DenseSet<Operation *> made;
  std::vector<TapLoop> ordered;
  for (size_t after = 0;; ++after) {
    auto isReady = [&](const TapLoop &loop) {
      return llvm::all_of(loop.reads, [&](Value v) { return made.contains(v.getDefiningOp()); });
    };
    for (auto next = found.loops.begin();
         (next = llvm::find_if(found.loops, isReady)) != found.loops.end();) {
      for (const TapLoop::Sum &sum : next->sums)
        for (Value result : sum.results)
          made.insert(result.getDefiningOp());
      next->after = after;
      ordered.push_back(std::move(*next));
      found.loops.erase(next);
    }
    if (after == found.rest.size())
      break;
    made.insert(found.rest[after]);
  }
  found.loops = std::move(ordered);
}

} // namespace

TapLoops penstock::conversion::findTapLoops(Block &body, unsigned count) {
  return Finder(body, count).run();
}
