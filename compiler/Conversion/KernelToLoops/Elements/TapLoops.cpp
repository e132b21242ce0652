// SPDX-License-Identifier: Apache-2.0
//
// Terms that a window's body computes alike for many neighbours.
#include "compiler/Conversion/KernelToLoops/Elements/TapLoops.h"
#include "compiler/Conversion/KernelToLoops/Elements/TapChains.h"
#include "llvm/ADT/Sequence.h"
#include <map>

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

namespace {

class Finder {
public:
  Finder(Block &body, unsigned count) : body(body), alike(body, count) {}
  TapLoops run();

private:
  bool isNeighbour(Value value) const { return alike.isNeighbour(value); }
  bool isHere(Operation *op) const { return alike.isHere(op); }
  static int64_t numberOf(Value neighbour) { return TapChains::numberOf(neighbour); }
  void addLoop(ArrayRef<TapChain *> together);
  void orderLoops();

  Block &body;
  TapChains alike;
  llvm::DenseSet<Operation *> inChain;
  TapLoops found;
};

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
void Finder::addLoop(ArrayRef<TapChain *> together) {
  TapChain &front = *together.front();
  const TapTerm &term = front.terms[0];
  TapLoop loop;
  loop.first = front.first;
  loop.step = front.step;
  loop.term = term.ops;
  loop.reads = term.reads;
  loop.sums.push_back(
      {front.root.getKind(), {}, term.ops.empty() ? nullptr : term.ops.back(), front.start});
  if (front.start && isNeighbour(front.start))
    found.neighbours.insert(static_cast<unsigned>(numberOf(front.start)));
  else if (front.start && isHere(front.start.getDefiningOp()))
    loop.reads.insert(front.start);
  for (TapChain *chain : together) {
    loop.sums[0].results.push_back(chain->root.getResult());
    loop.end = std::max(loop.end, chain->end - chain->step + 1);
  }
  for (size_t h = 0; h < term.holes.size(); ++h) {
    if (front.staysThere(h)) { // read once, outside of the loop
      found.neighbours.insert(static_cast<unsigned>(numberOf(term.holes[h])));
      continue;
    }
    TapLoop::Hole hole;
    hole.type = term.holes[h].getType();
    if (isNeighbour(term.holes[h])) {
      hole.offset = numberOf(term.holes[h]) - front.first;
    } else {
      hole.constants.resize(static_cast<size_t>(loop.end - loop.first));
      for (TapChain *chain : together)
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
  std::vector<TapChain> chains;
  for (Operation &op : llvm::reverse(body)) {
    auto root = llvm::dyn_cast<BinaryOp>(op);
    TapChain chain;
    if (!root || inChain.contains(root) || !alike.find(root, chain))
      continue;
    for (BinaryOp link = root; link && isHere(link) && link.getKind() == root.getKind();
         link = link.getLhs().getDefiningOp<BinaryOp>()) {
      if (link.getResult() == chain.start)
        break;
      inChain.insert(link);
    }
    chains.push_back(std::move(chain));
  }
  // In the order of their firsts: each joins the loop that it continues.
  llvm::sort(chains, [](const TapChain &a, const TapChain &b) { return a.first < b.first; });
  std::vector<SmallVector<TapChain *>> groups;
  for (TapChain &chain : chains) {
    auto continues = [&](SmallVector<TapChain *> &group) {
      TapChain &last = *group.back(), &first = *group.front();
      return !last.start && !chain.start && last.first + 1 == chain.first &&
             chain.first < first.first + first.step && last.step == chain.step &&
             last.root.getKind() == chain.root.getKind() &&
             last.terms[0].shape == chain.terms[0].shape &&
             std::abs(chain.end - first.end) < chain.step &&
             llvm::all_of(
                 llvm::seq(last.terms[0].holes.size()),
                 [&](size_t hole) {
                   Value mine = last.terms[0].holes[hole], next = chain.terms[0].holes[hole];
                   if (last.staysThere(hole) || chain.staysThere(hole))
                     return mine == next && last.staysThere(hole) && chain.staysThere(hole);
                   return !llvm::isa<BlockArgument>(mine) || numberOf(mine) + 1 == numberOf(next);
                 });
    };
    auto group = llvm::find_if(groups, continues);
    if (group == groups.end())
      groups.push_back({&chain});
    else
      group->push_back(&chain);
  }
  for (const SmallVector<TapChain *> &group : groups) {
    int64_t end = 0;
    for (TapChain *chain : group)
      end = std::max(end, chain->end - chain->step + 1);
    // Each has a term for all of its numbers below the end.
    if (llvm::all_of(group, [&](TapChain *chain) { return chain->end >= end; }))
      addLoop(group);
    else
      for (TapChain *chain : group)
        addLoop(chain);
  }
  // The ops that are left: all that the result needs, short of the loops.
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
