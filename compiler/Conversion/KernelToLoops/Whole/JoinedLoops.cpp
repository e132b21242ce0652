// SPDX-License-Identifier: Apache-2.0
//
// Reductions that the same loops make.
//
// Each is written as if it were alone, and then loops that go through the same indices become one.
// So there is one text for a reduction, whatever goes beside it, and any way to reduce can be
// joined.
#include "compiler/Conversion/KernelToLoops/Whole/JoinedLoops.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace penstock::conversion;

using Code = SmallVector<Operation *>;

/// Bounds are short expressions.
static constexpr int deepest = 8;

static bool areAlike(Value one, Value other, int depth = 0) {
  if (one == other)
    return true;
  Operation *op = one.getDefiningOp(), *twin = other.getDefiningOp();
  if (!op || !twin || depth == deepest || op->getName() != twin->getName() ||
      op->getAttrDictionary() != twin->getAttrDictionary() || op->getNumRegions() || !isPure(op) ||
      llvm::cast<OpResult>(one).getResultNumber() !=
          llvm::cast<OpResult>(other).getResultNumber() ||
      op->getNumOperands() != twin->getNumOperands() || one.getType() != other.getType())
    return false;
  return llvm::all_of(llvm::zip(op->getOperands(), twin->getOperands()), [&](auto pair) {
    return areAlike(std::get<0>(pair), std::get<1>(pair), depth + 1);
  });
}

static bool goAlike(scf::ForOp one, scf::ForOp other) {
  return areAlike(one.getLowerBound(), other.getLowerBound()) &&
         areAlike(one.getUpperBound(), other.getUpperBound()) &&
         areAlike(one.getStep(), other.getStep());
}

static SmallVector<size_t> loopsIn(const Code &code) {
  SmallVector<size_t> places;
  for (auto [place, op] : llvm::enumerate(code))
    if (llvm::isa<scf::ForOp>(op))
      places.push_back(place);
  return places;
}

/// Returns whether `op`, or what is inside, takes a result of one of `made`.
static bool uses(Operation *op, const llvm::SmallPtrSetImpl<Operation *> &made) {
  return op
      ->walk([&](Operation *inner) {
        return llvm::any_of(inner->getOperands(),
                            [&](Value operand) {
                              return operand.getDefiningOp() &&
                                     made.contains(operand.getDefiningOp());
                            })
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Returns whether `second`, up to each of its loops, may stand before the loop of `first` that it
/// goes with.
static bool mayMove(const Code &first, ArrayRef<size_t> loops, const Code &second,
                    ArrayRef<size_t> others) {
  for (size_t i = 0; i < loops.size(); ++i) {
    const llvm::SmallPtrSet<Operation *, 32> later(first.begin() + loops[i], first.end());
    const size_t begin = i ? others[i - 1] + 1 : 0;
    for (size_t place = begin; place <= others[i]; ++place)
      if (uses(second[place], later))
        return false;
  }
  return true;
}

/// Moves the body of `other` into that of `loop`, and returns both.
static std::pair<Code, Code> merge(scf::ForOp loop, scf::ForOp other) {
  OpBuilder b(loop);
  SmallVector<Value> state(loop.getInitArgs());
  llvm::append_range(state, other.getInitArgs());
  auto both = b.create<scf::ForOp>(loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(),
                                   loop.getStep(), state);
  Block *body = both.getBody();
  if (!body->empty())
    body->back().erase();
  Code codes[2];
  SmallVector<Value> next;
  size_t done = 0;
  for (size_t number = 0; number < 2; ++number) {
    scf::ForOp from = number ? other : loop;
    auto yield = llvm::cast<scf::YieldOp>(from.getBody()->getTerminator());
    from.getInductionVar().replaceAllUsesWith(both.getInductionVar());
    for (auto [i, argument] : llvm::enumerate(from.getRegionIterArgs()))
      argument.replaceAllUsesWith(both.getRegionIterArg(static_cast<unsigned>(done + i)));
    llvm::append_range(next, yield.getOperands());
    yield.erase();
    for (Operation &op : *from.getBody())
      codes[number].push_back(&op);
    body->getOperations().splice(body->end(), from.getBody()->getOperations());
    for (auto [i, result] : llvm::enumerate(from.getResults()))
      result.replaceAllUsesWith(both.getResult(static_cast<unsigned>(done + i)));
    done += from.getNumResults();
  }
  b.setInsertionPointToEnd(body);
  b.create<scf::YieldOp>(loop.getLoc(), next);
  loop.erase();
  other.erase();
  return {codes[0], codes[1]};
}

static void join(const Code &first, const Code &second) {
  const SmallVector<size_t> loops = loopsIn(first), others = loopsIn(second);
  if (loops.empty() || loops.size() != others.size() || !mayMove(first, loops, second, others))
    return;
  for (auto [one, other] : llvm::zip(loops, others))
    if (!goAlike(llvm::cast<scf::ForOp>(first[one]), llvm::cast<scf::ForOp>(second[other])))
      return;
  for (size_t i = 0; i < loops.size(); ++i) {
    for (size_t place = i ? others[i - 1] + 1 : 0; place < others[i]; ++place)
      second[place]->moveBefore(first[loops[i]]);
    const auto [inner, beside] =
        merge(llvm::cast<scf::ForOp>(first[loops[i]]), llvm::cast<scf::ForOp>(second[others[i]]));
    join(inner, beside);
  }
}

CodePlace penstock::conversion::endOf(Block *block) {
  return {block, block->empty() ? nullptr : &block->back()};
}

void penstock::conversion::joinLoops(CodePlace first, CodePlace second) {
  if (!first.block || first.block != second.block)
    return;
  Code codes[2];
  bool isSecond = first.behind == second.behind;
  for (auto op = first.behind ? std::next(first.behind->getIterator()) : first.block->begin();
       op != first.block->end(); ++op) {
    codes[isSecond].push_back(&*op);
    isSecond |= &*op == second.behind;
  }
  join(codes[0], codes[1]);
}
