// SPDX-License-Identifier: Apache-2.0
//
// Lanes that lie anywhere.
#include "compiler/Conversion/KernelToLoops/Vector/Access.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

Value penstock::conversion::gatherEach(const Memory &m, Type type, AddressOf addressOf,
                                       bool constant) {
  const Lanes &l = m.l;
  Value all =
      l.b.create<arith::ConstantOp>(l.loc, l.b.getZeroAttr(VectorType::get({l.lanes}, type)));
  for (int64_t lane = 0; lane < l.lanes; ++lane)
    all = l.b.create<vector::InsertOp>(l.loc, m.loadPlain(type, addressOf(lane), constant), all,
                                       lane);
  return all;
}

/// Numbers without sign are taken out of four bytes, which hold those of other channels as well:
/// these are read once for all. As bytes, LLVM inserts each four times where they are made wider.
LaneValue penstock::conversion::gather(const Memory &m, const Buffer &buffer, AddressOf addressOf,
                                       int64_t phase) {
  const Lanes &l = m.l;
  constexpr int64_t word = 4;
  const int64_t size = scalarBytes(buffer.element);
  auto behind = [&](int64_t bytes) {
    return [&, bytes](int64_t lane) { return m.address(addressOf(lane), l.i64(bytes)); };
  };
  if (!isUnsigned(buffer.element) || size >= word || !buffer.constant)
    return loaded(l, buffer,
                  gatherEach(m, inMemory(l, buffer.element), behind(phase), buffer.constant));
  const int64_t inWord = phase + size <= word ? phase : 0;
  Type number = l.b.getI32Type();
  Value all =
      l.b.create<arith::ConstantOp>(l.loc, l.b.getZeroAttr(VectorType::get({l.lanes}, number)));
  for (int64_t lane = 0; lane < l.lanes; ++lane) {
    Value four = l.b.create<LLVM::LoadOp>(l.loc, number, behind(phase - inWord)(lane),
                                          /*alignment=*/1, /*isVolatile=*/m.rare,
                                          /*isNonTemporal=*/false, /*isInvariant=*/!m.rare);
    all = l.b.create<vector::InsertOp>(l.loc, four, all, lane);
  }
  if (inWord)
    all = l.b.create<arith::ShRUIOp>(l.loc, all, l.integerLike(all, 8 * inWord));
  return loadedWide(l, buffer, l.andInt(all, l.integerLike(all, (int64_t{1} << (8 * size)) - 1)));
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
  return load && (load.getInvariant() || load->hasAttr(completeLoad)) ? load : nullptr;
}

LaneValue penstock::conversion::gatherOffsets(const Memory &m, const Buffer &buffer,
                                              ArrayRef<Index> at, const Access &access) {
  const Lanes &l = m.l;
  Value start = m.address(buffer.pointer, access.base);
  // Taking numbers out of a vector costs as much as inserting what they lead to: they are loaded
  // once more.
  if (LLVM::LoadOp numbers = m.live ? nullptr : loadBehind(at)) {
    auto type = llvm::cast<VectorType>(numbers.getType());
    const int64_t bytes = type.getElementTypeBitWidth() / 8;
    const auto axis = static_cast<size_t>(
        llvm::find_if(at, [](const Index &index) { return !index.uniform(); }) - at.begin());
    auto addressOf = [&](int64_t lane) {
      Value number =
          m.loadPlain(type.getElementType(), m.address(numbers.getAddr(), l.i64(lane * bytes)),
                      numbers.getInvariant());
      if (bytes < 8)
        number = l.b.create<arith::ExtUIOp>(l.loc, l.b.getI64Type(), number);
      return m.address(start, l.mul(number, buffer.strides[axis]));
    };
    return gather(m, buffer, addressOf, access.phase);
  }
  auto addressOf = [&](int64_t lane) {
    return m.address(start, l.b.create<vector::ExtractOp>(l.loc, access.offsets, lane));
  };
  return gather(m, buffer, addressOf, access.phase);
}
