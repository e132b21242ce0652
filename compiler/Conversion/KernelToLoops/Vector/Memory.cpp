// SPDX-License-Identifier: Apache-2.0
//
// Index arithmetic, contiguous and strided access.
//
// Pointers are LLVM's, not memrefs: a memref descriptor doubles the time from
// IR to code and says nothing that the buffer does not know already.
#include "compiler/Conversion/KernelToLoops/Vector/Access.h"
#include "compiler/Conversion/KernelToLoops/Vector/LaneHalves.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

//===--- plain access -----------------------------------------------------------===//

Value Memory::address(Value pointer, Value bytes) const {
  if (auto known = Lanes::constantOf(bytes); known && *known == 0)
    return pointer;
  auto type = LLVM::LLVMPointerType::get(l.b.getContext());
  return l.b.create<LLVM::GEPOp>(l.loc, type, l.b.getI8Type(), pointer,
                                 ArrayRef<LLVM::GEPArg>{bytes});
}
Value Memory::loadPlain(Type type, Value address, bool constant) const {
  Type element = getElementTypeOrSelf(type);
  const unsigned align = llvm::isa<VectorType>(type) ? element.getIntOrFloatBitWidth() / 8
                         : llvm::isa<LLVM::LLVMPointerType>(type)
                             ? 8
                             : std::max(1u, type.getIntOrFloatBitWidth() / 8);
  // Vectors, and elements of user memory, need no alignment beyond a byte.
  return l.b.create<LLVM::LoadOp>(l.loc, type, address, llvm::isa<VectorType>(type) ? 1 : align,
                                  /*isVolatile=*/rare, /*isNonTemporal=*/false,
                                  /*isInvariant=*/constant && !rare);
}
Value Memory::shuffle(Value a, Value b, ArrayRef<int64_t> mask) const {
  auto sizeOf = [](Value v) { return llvm::cast<VectorType>(v.getType()).getNumElements(); };
  const int64_t left = sizeOf(a), size = std::max(left, sizeOf(b));
  // Vectors of two lengths would become a hundred operations on elements.
  auto widen = [&](Value v) -> Value {
    if (sizeOf(v) == size)
      return v;
    SmallVector<int64_t> all;
    for (int64_t i = 0; i < size; ++i)
      all.push_back(i % sizeOf(v));
    return l.b.create<vector::ShuffleOp>(l.loc, v, v, all);
  };
  SmallVector<int64_t> moved(mask);
  for (int64_t &from : moved)
    if (from >= left)
      from += size - left;
  return l.b.create<vector::ShuffleOp>(l.loc, widen(a), widen(b), moved);
}

static Value fromMemory(const Lanes &l, Value value, const Buffer &buffer) {
  Type element = buffer.element;
  if (element.isSignlessInteger(1))
    return l.cmp(CmpIPredicate::ne, value, l.integerLike(value, 0));
  return (element.isF16() || element.isBF16()) && !buffer.written ? canonicalBits(l, value, element)
                                                                  : value;
}

LaneValue penstock::conversion::loaded(const Lanes &l, const Buffer &buffer, Value bits) {
  return l.wrap(fromMemory(l, bits, buffer), buffer.element);
}

LaneValue penstock::conversion::loadedWide(const Lanes &l, const Buffer &buffer, Value wide) {
  const int64_t size = scalarBytes(buffer.element);
  Type type = l.like(wide, inMemory(l, buffer.element));
  Value bits = wide;
  if (size < 4)
    bits = l.b.create<arith::TruncIOp>(l.loc, l.like(wide, l.b.getIntegerType(8 * size)), wide);
  if (bits.getType() != type)
    bits = l.b.create<arith::BitcastOp>(l.loc, type, bits);
  LaneValue value = loaded(l, buffer, bits);
  value.wide = isUnsigned(buffer.element) && size < 4 ? wide : Value();
  return value;
}

/// A distance known when running only: forwards and backwards (a flip) are
/// worth a branch, the rest is gathered.
static Value loadEitherWay(const Memory &m, const Buffer &buffer, ArrayRef<Index> at,
                           const Access &access, VectorType type,
                           llvm::function_ref<Value(llvm::function_ref<Value(int64_t)>)> gather) {
  const Lanes &l = m.l;
  const int64_t size = scalarBytes(buffer.element);
  Value start = m.address(buffer.pointer, access.base);
  // 0 where an axis further in has no elements.
  const int64_t inner = buffer.known.empty() ? 0 : buffer.known.back().value_or(0),
                dense = inner ? inner : size;
  SmallVector<int64_t> distances{dense, -dense};
  for (auto [axis, known] : llvm::enumerate(buffer.known))
    if (known && *known && at[axis].runtimeStride && *known != dense && *known <= 4 * size)
      distances = {*known, -*known};
  std::function<Value(size_t)> choose = [&](size_t number) -> Value {
    if (number == distances.size())
      return gather([&](int64_t lane) {
        return m.address(start,
                         l.add(l.mul(access.runtimeBytes, l.i64(lane)), l.i64(access.phase)));
      });
    Value same = l.cmp(CmpIPredicate::eq, access.runtimeBytes, l.i64(distances[number]));
    auto branch = l.b.create<scf::IfOp>(l.loc, TypeRange{type}, same, true);
    OpBuilder::InsertionGuard guard(l.b);
    l.b.setInsertionPointToStart(branch.thenBlock());
    Value fast = m.loadStrided(type.getElementType(), size, start, distances[number], access.phase,
                               buffer.constant);
    l.b.create<scf::YieldOp>(l.loc, fast);
    l.b.setInsertionPointToStart(branch.elseBlock());
    l.b.create<scf::YieldOp>(l.loc, choose(number + 1));
    return branch.getResult(0);
  };
  return choose(0);
}

/// Elements that are repeated and lie a step apart, such as those of pixels: each is loaded once.
/// Null where lanes go through memory in another way.
static Value loadRepeated(const Memory &m, const Buffer &buffer, Type type, const Access &access,
                          bool mayEnd) {
  const Index &apart = access.pieces;
  const int64_t count = m.l.lanes / apart.period;
  if (apart.inner != 0 || access.turns || count < 2)
    return {};
  Memory fewer = m;
  fewer.l.lanes = count;
  Value each =
      fewer.loadStrided(type, scalarBytes(buffer.element), m.address(buffer.pointer, access.base),
                        apart.stride, access.phase, buffer.constant, mayEnd, buffer.roomy);
  if (!each)
    return {};
  SmallVector<int64_t> order(m.l.lanes);
  for (int64_t lane = 0; lane < m.l.lanes; ++lane)
    order[lane] = lane / apart.period;
  return m.shuffle(each, each, order);
}

LaneValue Memory::load(const Buffer &buffer, ArrayRef<Index> at) const {
  const int64_t size = scalarBytes(buffer.element);
  Type memoryType = inMemory(l, buffer.element);
  Access access = accessOf(l, *this, buffer, at, /*takesTurns=*/true);
  auto finish = [&](Value value) { return loaded(l, buffer, value); };
  const bool noSign = isUnsigned(buffer.element) && size < 4;
  if (access.laneBytes && (*access.laneBytes == 0 || l.lanes == 1)) {
    Value bytes = l.add(access.base, l.i64(access.phase));
    return finish(loadPlain(memoryType, address(buffer.pointer, bytes), buffer.constant));
  }
  // Behind what the kernel has written into an output, there may be nothing.
  const bool mayEnd = !access.fromStart || !(buffer.constant || buffer.roomy);
  if (access.pieces.period && l.lanes > 1) {
    if (Value repeated = loadRepeated(*this, buffer, memoryType, access, mayEnd))
      return finish(repeated);
    return finish(loadPieces(memoryType,
                             address(buffer.pointer, l.add(access.base, l.i64(access.phase))),
                             access.pieces, access.turns, buffer.constant));
  }
  auto vectorType = VectorType::get({l.lanes}, memoryType);
  auto gather = [&](llvm::function_ref<Value(int64_t)> addressOf) {
    return gatherEach(*this, memoryType, addressOf, buffer.constant);
  };
  // Offsets computed lane by lane are clamped already.
  if (live && !access.offsets) {
    if (access.laneBytes)
      if (Value wide = loadWindows(buffer, access.base, size, *access.laneBytes, access.phase))
        return loadedWide(l, buffer, wide);
    Value start = address(buffer.pointer, l.add(access.base, l.i64(access.phase)));
    Value apart = access.laneBytes ? l.i64(*access.laneBytes) : access.runtimeBytes;
    Value all = gather([&](int64_t lane) {
      return address(start, l.mul(apart, l.maxS(l.minS(l.i64(lane), live->last), live->first)));
    });
    return finish(l.pick(liveMask(*live), all,
                         l.b.create<arith::ConstantOp>(l.loc, l.b.getZeroAttr(vectorType))));
  }
  if (access.offsets)
    return gatherOffsets(*this, buffer, at, access);
  if (access.laneBytes) {
    // Interleaved numbers are mostly widened; what is not needed of both forms
    // goes away.
    Value wide;
    if (noSign && access.fromStart && std::abs(*access.laneBytes) != size &&
        std::abs(*access.laneBytes) <= 4 * size)
      wide = loadWindows(buffer, access.base, size, *access.laneBytes, access.phase);
    Value start = address(buffer.pointer, access.base);
    if (Value v = loadStrided(memoryType, size, start, *access.laneBytes, access.phase,
                              buffer.constant, mayEnd, buffer.roomy)) {
      if (auto load = v.getDefiningOp<LLVM::LoadOp>(); load && buffer.written)
        load->setAttr(completeLoad, l.b.getUnitAttr());
      LaneValue value = finish(v);
      value.wide = wide;
      if (Value pixels = access.fromStart ? loadPixels(buffer, at, access.base) : Value()) {
        value.sum.pixels = pixels;
        value.sum.weights[access.phase] = 1;
      }
      return value;
    }
    return penstock::conversion::gather(
        *this, buffer,
        [&](int64_t lane) { return address(start, l.i64(lane * *access.laneBytes)); },
        access.phase);
  }
  return finish(loadEitherWay(*this, buffer, at, access, vectorType, gather));
}
