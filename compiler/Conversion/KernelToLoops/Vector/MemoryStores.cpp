// SPDX-License-Identifier: Apache-2.0
//
// How lanes are stored.
#include "compiler/Conversion/KernelToLoops/Vector/Access.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

static unsigned vectorAlign(Type type) {
  auto vector = llvm::cast<VectorType>(type);
  return static_cast<unsigned>(vector.getNumElements()) * vector.getElementTypeBitWidth() / 8;
}
/// The conversion from f32 that made the bits of f16 in `value`, if one did.
static arith::TruncFOp narrowing(Value value) {
  auto bits = value.getDefiningOp<arith::BitcastOp>();
  return bits ? bits.getIn().getDefiningOp<arith::TruncFOp>() : nullptr;
}

void Memory::storePlain(Value value, Value address, bool streaming) const {
  Type type = value.getType();
  // Register by register, upwards: LLVM splits the other way round, which costs
  // where stores are what limits.
  if (auto vector = llvm::dyn_cast<VectorType>(type)) {
    const int64_t size = std::max(1u, vector.getElementTypeBitWidth() / 8);
    // Half a register is what the conversion to f16 gives, and it can store that itself.
    arith::TruncFOp narrowed = l.has.storesHalves && !streaming ? narrowing(value) : nullptr;
    const int64_t fitting = l.has.lanesOf(narrowed ? 2 * size : size);
    const int64_t count = vector.getNumElements();
    if (count > fitting && count % fitting == 0) {
      for (int64_t first = 0; first < count; first += fitting) {
        SmallVector<int64_t> part(fitting);
        for (int64_t i = 0; i < fitting; ++i)
          part[i] = first + i;
        Value from = narrowed ? narrowed.getIn() : value;
        Value taken = shuffle(from, from, part);
        if (narrowed) {
          Value half = l.b.create<arith::TruncFOp>(l.loc, l.like(taken, l.b.getF16Type()), taken);
          taken = l.b.create<arith::BitcastOp>(l.loc, l.like(taken, vector.getElementType()), half);
        }
        storePlain(taken, this->address(address, l.i64(first * size)), streaming);
      }
      return;
    }
  }
  const unsigned align = llvm::isa<VectorType>(type)
                             ? (streaming ? vectorAlign(type) : 1)
                             : std::max(1u, type.getIntOrFloatBitWidth() / 8);
  l.b.create<LLVM::StoreOp>(l.loc, value, address, align, /*isVolatile=*/false,
                            /*isNonTemporal=*/streaming && llvm::isa<VectorType>(type));
}
static Value toMemory(const Lanes &l, LaneValue value) {
  value = l.canonical(value);
  if (!value.type.isSignlessInteger(1))
    return value.value;
  return l.b.create<arith::ExtUIOp>(l.loc, l.like(value.value, l.b.getI8Type()), value.value);
}

void Memory::store(const Buffer &buffer, ArrayRef<Index> at, LaneValue value) const {
  const int64_t size = scalarBytes(buffer.element);
  Access access = accessOf(l, *this, buffer, at);
  Value base = l.add(access.base, l.i64(access.phase));
  Value plain = toMemory(l, value);
  if (l.lanes == 1) {
    storePlain(plain, address(buffer.pointer, base));
    return;
  }
  plain = l.splat(plain);
  if (access.laneBytes && *access.laneBytes == size) {
    storePlain(plain, address(buffer.pointer, base), buffer.streaming);
    return;
  }
  const Index &pieces = access.pieces;
  if (pieces.period && pieces.inner == size) {
    for (int64_t lane = 0; lane < l.lanes; lane += pieces.period) {
      SmallVector<int64_t> part(pieces.period);
      for (int64_t i = 0; i < pieces.period; ++i)
        part[i] = lane + i;
      storePlain(shuffle(plain, plain, part),
                 address(buffer.pointer, l.add(base, l.i64(offsetOf(pieces, lane)))));
    }
    return;
  }
  for (int64_t lane = 0; lane < l.lanes; ++lane) {
    Value offset = pieces.period ? l.i64(offsetOf(pieces, lane))
                   : access.offsets
                       ? l.b.create<vector::ExtractOp>(l.loc, access.offsets, lane).getResult()
                   : access.laneBytes ? l.i64(lane * *access.laneBytes)
                                      : l.mul(access.runtimeBytes, l.i64(lane));
    storePlain(l.b.create<vector::ExtractOp>(l.loc, plain, lane),
               address(buffer.pointer, l.add(base, offset)));
  }
}

void Memory::storeInterleaved(const Buffer &buffer, ArrayRef<Index> at,
                              ArrayRef<LaneValue> values) const {
  if (values.empty()) // of an axis without elements
    return;
  Access access = accessOf(l, *this, buffer, at);
  const int64_t count = static_cast<int64_t>(values.size()), lanes = l.lanes;
  SmallVector<Value> plain;
  for (LaneValue value : values)
    plain.push_back(l.splat(toMemory(l, value)));
  Value joined = plain[0];
  for (int64_t c = 1; c < count; ++c) {
    SmallVector<int64_t> mask((c + 1) * lanes);
    for (size_t i = 0; i < mask.size(); ++i)
      mask[i] = static_cast<int64_t>(i);
    joined = shuffle(joined, plain[c], mask);
  }
  if (count > 1) {
    SmallVector<int64_t> mask(count * lanes);
    for (int64_t i = 0; i < count * lanes; ++i)
      mask[i] = (i % count) * lanes + i / count;
    joined = shuffle(joined, joined, mask);
  }
  storePlain(joined, address(buffer.pointer, access.base));
}
