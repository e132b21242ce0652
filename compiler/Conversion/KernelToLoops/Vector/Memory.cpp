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

/// On a load of numbers from what was stored before the loops at hand.
static constexpr llvm::StringLiteral isComplete("pipe.complete");

static Value fromMemory(const Lanes &l, Value value, const Buffer &buffer) {
  Type element = buffer.element;
  if (element.isSignlessInteger(1))
    return l.cmp(CmpIPredicate::ne, value, l.integerLike(value, 0));
  return (element.isF16() || element.isBF16()) && !buffer.written ? canonicalBits(l, value, element)
                                                                  : value;
}

/// The load that all numbers of an index are, one for each lane, of an input made wider or of what
/// the kernel has stored; null for others.
static LLVM::LoadOp loadBehind(ArrayRef<Index> at) {
  const Index *moving = nullptr;
  for (const Index &index : at) {
    if (!index.uniform() && moving)
      return {};
    moving = index.uniform() ? moving : &index;
  }
  Operation *numbers = moving && moving->vector ? moving->vector.getDefiningOp() : nullptr;
  if (auto widened = llvm::dyn_cast_if_present<arith::ExtUIOp>(numbers))
    numbers = widened.getIn().getDefiningOp();
  auto load = llvm::dyn_cast_if_present<LLVM::LoadOp>(numbers);
  return load && (load.getInvariant() || load->hasAttr(isComplete)) ? load : nullptr;
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

/// Lanes that lie anywhere.
static Value loadAtOffsets(const Memory &m, const Buffer &buffer, ArrayRef<Index> at,
                           const Access &access,
                           llvm::function_ref<Value(llvm::function_ref<Value(int64_t)>)> gather) {
  const Lanes &l = m.l;
  Value start = m.address(buffer.pointer, l.add(access.base, l.i64(access.phase)));
  // Taking numbers out of a vector costs as much as inserting what they lead to: they are loaded
  // once more.
  if (LLVM::LoadOp numbers = m.live ? nullptr : loadBehind(at)) {
    auto type = llvm::cast<VectorType>(numbers.getType());
    const int64_t bytes = type.getElementTypeBitWidth() / 8;
    const size_t axis = static_cast<size_t>(
        llvm::find_if(at, [](const Index &index) { return !index.uniform(); }) - at.begin());
    return gather([&](int64_t lane) {
      Value number =
          m.loadPlain(type.getElementType(), m.address(numbers.getAddr(), l.i64(lane * bytes)),
                      numbers.getInvariant());
      if (bytes < 8)
        number = l.b.create<arith::ExtUIOp>(l.loc, l.b.getI64Type(), number);
      return m.address(start, l.mul(number, buffer.strides[axis]));
    });
  }
  return gather([&](int64_t lane) {
    return m.address(start, l.b.create<vector::ExtractOp>(l.loc, access.offsets, lane));
  });
}

LaneValue Memory::load(const Buffer &buffer, ArrayRef<Index> at) const {
  const int64_t size = scalarBytes(buffer.element);
  Type memoryType =
      buffer.element.isSignlessInteger(1) ? l.b.getI8Type() : registerType(buffer.element);
  Access access = accessOf(l, *this, buffer, at, /*takesTurns=*/true);
  auto finish = [&](Value value) { return l.wrap(fromMemory(l, value, buffer), buffer.element); };
  const bool noSign = isUnsigned(buffer.element) && size < 4;
  auto narrowed = [&](Value wide) {
    Value bits = wide;
    if (size < 4)
      bits = l.b.create<arith::TruncIOp>(l.loc, l.like(wide, l.b.getIntegerType(8 * size)), wide);
    if (bits.getType() != l.like(wide, memoryType))
      bits = l.b.create<arith::BitcastOp>(l.loc, l.like(wide, memoryType), bits);
    LaneValue value = finish(bits);
    value.wide = noSign ? wide : Value();
    return value;
  };
  if (access.laneBytes && (*access.laneBytes == 0 || l.lanes == 1)) {
    Value bytes = l.add(access.base, l.i64(access.phase));
    return finish(loadPlain(memoryType, address(buffer.pointer, bytes), buffer.constant));
  }
  if (access.pieces.period && l.lanes > 1)
    return finish(loadPieces(memoryType,
                             address(buffer.pointer, l.add(access.base, l.i64(access.phase))),
                             access.pieces, access.turns, buffer.constant));
  auto vectorType = VectorType::get({l.lanes}, memoryType);
  auto gather = [&](llvm::function_ref<Value(int64_t)> addressOf) {
    Value result = l.b.create<arith::ConstantOp>(l.loc, l.b.getZeroAttr(vectorType));
    for (int64_t lane = 0; lane < l.lanes; ++lane)
      result = l.b.create<vector::InsertOp>(
          l.loc, loadPlain(memoryType, addressOf(lane), buffer.constant), result, lane);
    return result;
  };
  // Offsets computed lane by lane are clamped already.
  if (live && !access.offsets) {
    if (access.laneBytes)
      if (Value wide = loadWindows(buffer, access.base, size, *access.laneBytes, access.phase))
        return narrowed(wide);
    Value start = address(buffer.pointer, l.add(access.base, l.i64(access.phase)));
    Value apart = access.laneBytes ? l.i64(*access.laneBytes) : access.runtimeBytes;
    Value all = gather([&](int64_t lane) {
      return address(start, l.mul(apart, l.maxS(l.minS(l.i64(lane), live->last), live->first)));
    });
    return finish(l.pick(liveMask(*live), all,
                         l.b.create<arith::ConstantOp>(l.loc, l.b.getZeroAttr(vectorType))));
  }
  if (access.offsets)
    return finish(loadAtOffsets(*this, buffer, at, access, gather));
  if (access.laneBytes) {
    // Interleaved numbers are mostly widened; what is not needed of both forms
    // goes away.
    Value wide;
    if (noSign && access.fromStart && std::abs(*access.laneBytes) != size &&
        std::abs(*access.laneBytes) <= 4 * size)
      wide = loadWindows(buffer, access.base, size, *access.laneBytes, access.phase);
    Value start = address(buffer.pointer, access.base);
    // Behind what the kernel has written into an output, there may be nothing.
    const bool mayEnd = !access.fromStart || !(buffer.constant || buffer.roomy);
    if (Value v = loadStrided(memoryType, size, start, *access.laneBytes, access.phase,
                              buffer.constant, mayEnd, buffer.roomy)) {
      if (auto load = v.getDefiningOp<LLVM::LoadOp>(); load && buffer.written)
        load->setAttr(isComplete, l.b.getUnitAttr());
      LaneValue value = finish(v);
      value.wide = wide;
      if (Value pixels = access.fromStart ? loadPixels(buffer, at, access.base) : Value()) {
        value.sum.pixels = pixels;
        value.sum.weights[access.phase] = 1;
      }
      return value;
    }
    return finish(gather([&](int64_t lane) {
      return address(start, l.i64(lane * *access.laneBytes + access.phase));
    }));
  }
  return finish(loadEitherWay(*this, buffer, at, access, vectorType, gather));
}
