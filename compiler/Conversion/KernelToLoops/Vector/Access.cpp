// SPDX-License-Identifier: Apache-2.0
//
// Where lanes lie in memory.
#include "compiler/Conversion/KernelToLoops/Vector/Access.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

//===--- indices ----------------------------------------------------------------===//

/// Of a lane from its index' base, where that is known.
int64_t penstock::conversion::offsetOf(const Index &index, int64_t lane) {
  return index.period ? lane / index.period * index.stride + lane % index.period * index.inner
                      : lane * index.stride;
}

bool penstock::conversion::areRuns(const Lanes &l, const Index &apart, int64_t size) {
  constexpr int64_t fewest = 4;
  return apart.stride == size && llvm::isPowerOf2_64(apart.period) && l.lanes % apart.period == 0 &&
         l.lanes / apart.period >= fewest;
}

/// Returns whether a number is known not to be negative.
static bool isNatural(Value value) {
  if (auto known = Lanes::constantOf(value))
    return *known >= 0;
  if (auto argument = llvm::dyn_cast<BlockArgument>(value)) {
    auto loop = llvm::dyn_cast_if_present<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && argument == loop.getInductionVar() && isNatural(loop.getLowerBound());
  }
  Operation *op = value.getDefiningOp();
  return llvm::isa<arith::AddIOp, arith::MulIOp, arith::MinSIOp>(op) &&
         llvm::all_of(op->getOperands(), isNatural);
}

/// How far an index lies behind a multiple of its stride, plus the same for all such indices: this
/// much is taken off it. 0 where nothing tells.
static int64_t takePhase(const Lanes &l, Index &index) {
  auto known = Lanes::constantOf(index.base);
  auto sum = known ? nullptr : index.base.getDefiningOp<arith::AddIOp>();
  const auto offset = sum ? Lanes::constantOf(sum.getRhs()) : known;
  if (!offset || *offset < 0)
    return 0;
  const int64_t phase = *offset % index.stride;
  Value rest = l.i64(*offset - phase);
  index.base = sum ? l.add(sum.getLhs(), rest) : rest;
  return phase;
}

/// How many elements side by side, in each lane, come from the same registers.
static int64_t sharedBeside(const Memory &memory, const Buffer &buffer, const Access &access) {
  constexpr int64_t few = 4;
  const int64_t size = scalarBytes(buffer.element);
  if (!access.laneBytes || access.runtimeBytes || *access.laneBytes % size != 0)
    return few;
  const int64_t step = *access.laneBytes / size;
  return (buffer.roomy || buffer.constant) && memory.takesApart(size, step) ? step : few;
}

namespace {
/// Lanes that go through two axes, where it is known how far apart all pieces lie.
struct Pieces {
  Index apart;             ///< in bytes
  std::optional<int> turn; ///< the axis whose stride is the runtime's
};
} // namespace

/// `takesTurns`: neighbours may lie in runs that are as far apart as the runtime says, such as
/// planes of an input.
static std::optional<Pieces> piecesOf(const Memory &memory, const Buffer &buffer,
                                      ArrayRef<Index> at, bool takesTurns) {
  if (memory.live || llvm::none_of(at, [](const Index &index) { return index.period != 0; }))
    return std::nullopt;
  Pieces pieces{memory.constant(0), std::nullopt};
  for (auto [axis, where] : llvm::enumerate(at)) {
    if (where.uniform())
      continue;
    Index index = where;
    index.base = memory.l.i64(0);
    if (index.vector || index.runtimeStride)
      return std::nullopt;
    if (buffer.known[axis])
      pieces.apart =
          memory.add(pieces.apart, memory.mul(index, memory.constant(*buffer.known[axis])));
    else if (takesTurns && index.period && !index.stride && !pieces.turn)
      pieces.turn = static_cast<int>(axis);
    else
      return std::nullopt;
  }
  const Index &apart = pieces.apart;
  if (pieces.turn && !(apart.period == at[*pieces.turn].period && !apart.inner &&
                       areRuns(memory.l, apart, scalarBytes(buffer.element))))
    return std::nullopt;
  return pieces;
}

Access penstock::conversion::accessOf(const Lanes &l, const Memory &memory, const Buffer &buffer,
                                      ArrayRef<Index> at, bool takesTurns) {
  Access access;
  access.base = l.i64(0);
  access.laneBytes = 0;
  const int64_t size = scalarBytes(buffer.element);
  Value vectorPart;
  const auto pieces = piecesOf(memory, buffer, at, takesTurns);
  for (auto [axis, where] : llvm::enumerate(at)) {
    Index index = where;
    Value stride = buffer.strides[axis];
    if (pieces && !index.uniform()) {
      access.base = l.add(access.base, l.mul(index.base, stride));
      if (pieces->turn == static_cast<int>(axis))
        access.turns = l.mul(l.i64(index.inner), stride);
      continue;
    }
    if (index.vector || index.period) {
      Value part = l.mul(memory.numbers(index), l.splat(stride));
      vectorPart = vectorPart ? l.add(vectorPart, part) : part;
      continue;
    }
    // Every second (third, fourth) element from a known one on: those between can share loads.
    const bool isNear = buffer.roomy && index.stride >= 2 && index.stride <= 4;
    const bool isApart = (buffer.roomy || buffer.constant) &&
                         memory.takesApart(size, index.stride) && isNatural(index.base);
    if (axis + 1 == at.size() && buffer.known[axis] == size && index.affine() &&
        (isNear || isApart))
      access.phase = takePhase(l, index) * size;
    // An element of a small dense axis: loads of its neighbours can be shared.
    auto number = Lanes::constantOf(index.base);
    const int64_t near = sharedBeside(memory, buffer, access);
    if (number && axis + 1 == at.size() && buffer.known[axis] == size && index.uniform() &&
        *number >= 0 && *number < near)
      access.phase = *number * size;
    else
      access.base = l.add(access.base, l.mul(index.base, stride));
    if (index.uniform())
      continue;
    if (!index.runtimeStride && buffer.known[axis] && access.laneBytes && !access.runtimeBytes) {
      *access.laneBytes += index.stride * *buffer.known[axis];
      continue;
    }
    Value lane = index.runtimeStride ? index.runtimeStride : l.i64(index.stride);
    Value bytes = l.mul(lane, stride);
    Value sofar = access.runtimeBytes ? access.runtimeBytes : l.i64(*access.laneBytes);
    access.runtimeBytes = l.add(sofar, bytes);
  }
  if (pieces && pieces->apart.vector)
    vectorPart = pieces->apart.vector;
  if (vectorPart) {
    Value lane = access.runtimeBytes ? access.runtimeBytes : l.i64(*access.laneBytes);
    access.offsets = l.add(vectorPart, l.mul(l.iota(), l.splat(lane)));
  }
  if (pieces && !vectorPart) {
    access.laneBytes = pieces->apart.stride;
    if (pieces->apart.period)
      access.pieces = pieces->apart;
  }
  if (access.runtimeBytes || vectorPart || access.pieces.period)
    access.laneBytes.reset();
  for (auto [axis, index] : llvm::enumerate(at)) {
    if (!access.laneBytes || !index.uniform())
      continue;
    const auto number = Lanes::constantOf(index.base);
    const bool isPhase = axis + 1 == at.size() && number && access.phase == *number * size;
    // Of axes further in than the lanes' the stride is known; 0 where there is room for one row
    // only.
    const bool isOuter = !buffer.known[axis] || *buffer.known[axis] == 0 ||
                         std::abs(*buffer.known[axis]) >= std::abs(*access.laneBytes);
    access.fromStart &= isPhase || isOuter || number == 0;
  }
  return access;
}
