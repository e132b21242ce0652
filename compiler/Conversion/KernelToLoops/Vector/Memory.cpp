//===- Memory.cpp - index arithmetic, contiguous and strided access --------===//
//
// Pointers are LLVM's, not memrefs: a memref descriptor doubles the time from
// IR to code and says nothing that the buffer does not know already.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/KernelToLoops/Vector/Memory.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

//===--- indices ----------------------------------------------------------------===//

/// Of a lane from its index' base, where that is known.
static int64_t offsetOf(const Index &index, int64_t lane) {
  return index.period ? lane / index.period * index.stride + lane % index.period * index.inner
                      : lane * index.stride;
}

/// Both with the longer period; false where they go through their axes differently.
static bool align(Index &a, Index &b) {
  if (a.runtimeStride || b.runtimeStride || (a.period && b.period && a.period != b.period))
    return false;
  const int64_t period = std::max(a.period, b.period);
  for (Index *index : {&a, &b})
    if (!index->period) {
      index->inner = index->stride;
      index->stride *= period;
      index->period = period;
    }
  return true;
}

Value Memory::numbers(const Index &index) {
  if (index.vector)
    return index.vector;
  if (index.uniform() || l.lanes == 1)
    return index.base;
  if (index.period) {
    SmallVector<int64_t> offsets(l.lanes);
    for (int64_t lane = 0; lane < l.lanes; ++lane)
      offsets[lane] = offsetOf(index, lane);
    auto type = VectorType::get({l.lanes}, l.b.getI64Type());
    return l.add(l.splat(index.base),
                 l.b.create<arith::ConstantOp>(
                     l.loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(offsets))));
  }
  Value stride = index.runtimeStride ? index.runtimeStride : l.i64(index.stride);
  return l.add(l.splat(index.base), l.mul(l.iota(), l.splat(stride)));
}

Value Memory::realNumbers(const Index &index) {
  if (index.uniform() || !index.affine() || l.lanes == 1)
    return {};
  SmallVector<int32_t> steps(l.lanes);
  for (int64_t lane = 0; lane < l.lanes; ++lane)
    steps[lane] = static_cast<int32_t>(lane * index.stride);
  auto type = VectorType::get({l.lanes}, l.b.getI32Type());
  Value offsets = l.b.create<arith::ConstantOp>(l.loc, DenseElementsAttr::get(type, ArrayRef<int32_t>(steps)));
  Value base = l.b.create<arith::TruncIOp>(l.loc, l.b.getI32Type(), index.base);
  return l.b.create<arith::SIToFPOp>(l.loc, VectorType::get({l.lanes}, l.b.getF32Type()),
                                     l.add(l.splat(base), offsets));
}

Index Memory::of(Value numbers) {
  if (llvm::isa<VectorType>(numbers.getType()))
    return {{}, 0, {}, numbers};
  return uniform(numbers);
}

Index Memory::add(const Index &a, const Index &b) {
  if (a.vector || b.vector)
    return of(l.add(numbers(a), numbers(b)));
  if (a.period || b.period) {
    Index x = a, y = b;
    if (!align(x, y))
      return of(l.add(numbers(a), numbers(b)));
    Index sum{l.add(a.base, b.base), x.stride + y.stride, {}, {}, x.period, x.inner + y.inner};
    if (sum.stride == sum.inner * sum.period) // one run through both
      sum = {sum.base, sum.inner, {}, {}};
    return sum;
  }
  Index sum{l.add(a.base, b.base), a.stride + b.stride, {}, {}};
  if (a.runtimeStride || b.runtimeStride) {
    auto strideOf = [&](const Index &i) { return i.runtimeStride ? i.runtimeStride : l.i64(i.stride); };
    sum.runtimeStride = l.add(strideOf(a), strideOf(b));
    sum.stride = 0;
  }
  return sum;
}

Index Memory::mul(const Index &a, const Index &b) {
  const Index &factor = a.uniform() ? a : b, &other = a.uniform() ? b : a;
  if (!factor.uniform() || other.vector)
    return of(l.mul(numbers(a), numbers(b)));
  Index product{l.mul(other.base, factor.base), 0, {}, {}};
  if (other.uniform())
    return product;
  auto known = Lanes::constantOf(factor.base);
  if (other.period) {
    if (!known)
      return of(l.mul(numbers(a), numbers(b)));
    if (*known)
      product = {product.base, other.stride * *known, {}, {}, other.period, other.inner * *known};
    return product;
  }
  if (known && !other.runtimeStride)
    product.stride = other.stride * *known;
  else
    product.runtimeStride =
        l.mul(other.runtimeStride ? other.runtimeStride : l.i64(other.stride), factor.base);
  return product;
}

Index Memory::affine(AffineExpr expr, ArrayRef<Index> dims, ArrayRef<Index> symbols) {
  if (auto constantExpr = llvm::dyn_cast<AffineConstantExpr>(expr))
    return constant(constantExpr.getValue());
  if (auto dim = llvm::dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = llvm::dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = llvm::cast<AffineBinaryOpExpr>(expr);
  Index lhs = affine(binary.getLHS(), dims, symbols), rhs = affine(binary.getRHS(), dims, symbols);
  if (binary.getKind() == AffineExprKind::Add)
    return add(lhs, rhs);
  if (binary.getKind() == AffineExprKind::Mul)
    return mul(lhs, rhs);
  // Affine division and remainder round down, for positive divisors.
  Value x = numbers(lhs), y = numbers(rhs);
  l.match(x, y);
  Value zero = l.integerLike(y, 0), one = l.integerLike(y, 1);
  Value safe = l.pick(l.cmp(CmpIPredicate::sle, y, zero), one, y);
  Value rest = l.remS(x, safe);
  Value negative = l.cmp(CmpIPredicate::slt, rest, zero);
  if (binary.getKind() == AffineExprKind::Mod)
    return of(l.pick(negative, l.add(rest, safe), rest));
  if (binary.getKind() == AffineExprKind::FloorDiv)
    return of(l.pick(negative, l.sub(l.divS(x, safe), one), l.divS(x, safe)));
  Value positive = l.cmp(CmpIPredicate::sgt, rest, zero); // ceil
  return of(l.pick(positive, l.add(l.divS(x, safe), one), l.divS(x, safe)));
}

Index Memory::clamp(const Index &index, Value extent) {
  Value last = l.maxS(l.sub(extent, l.i64(1)), l.i64(0));
  Value number = numbers(index);
  return of(l.minS(l.maxS(number, l.integerLike(number, 0)), last));
}

//===--- plain access -----------------------------------------------------------===//

Value Memory::address(Value pointer, Value bytes) {
  if (auto known = Lanes::constantOf(bytes); known && *known == 0)
    return pointer;
  auto type = LLVM::LLVMPointerType::get(l.b.getContext());
  return l.b.create<LLVM::GEPOp>(l.loc, type, l.b.getI8Type(), pointer,
                                 ArrayRef<LLVM::GEPArg>{bytes});
}
Value Memory::loadPlain(Type type, Value address, bool constant) {
  Type element = getElementTypeOrSelf(type);
  const unsigned align = llvm::isa<VectorType>(type) ? element.getIntOrFloatBitWidth() / 8
                         : llvm::isa<LLVM::LLVMPointerType>(type)
                             ? 8
                             : std::max(1u, type.getIntOrFloatBitWidth() / 8);
  // Vectors, and elements of user memory, need no alignment beyond a byte.
  return l.b.create<LLVM::LoadOp>(l.loc, type, address, llvm::isa<VectorType>(type) ? 1 : align,
                                  /*isVolatile=*/false, /*isNonTemporal=*/false, /*isInvariant=*/constant);
}
static unsigned vectorAlign(Type type) {
  auto vector = llvm::cast<VectorType>(type);
  return static_cast<unsigned>(vector.getNumElements()) * vector.getElementTypeBitWidth() / 8;
}
/// The conversion from f32 that made the bits of f16 in `value`, if one did.
static arith::TruncFOp narrowing(Value value) {
  auto bits = value.getDefiningOp<arith::BitcastOp>();
  return bits ? bits.getIn().getDefiningOp<arith::TruncFOp>() : nullptr;
}

void Memory::storePlain(Value value, Value address, bool streaming) {
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
  const unsigned align =
      llvm::isa<VectorType>(type) ? (streaming ? vectorAlign(type) : 1) : std::max(1u, type.getIntOrFloatBitWidth() / 8);
  l.b.create<LLVM::StoreOp>(l.loc, value, address, align, /*isVolatile=*/false,
                            /*isNonTemporal=*/streaming && llvm::isa<VectorType>(type));
}
Value Memory::shuffle(Value a, Value b, ArrayRef<int64_t> mask) {
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

Value Memory::fromMemory(Value value, Type element) {
  if (!element.isSignlessInteger(1))
    return value;
  return l.cmp(CmpIPredicate::ne, value, l.integerLike(value, 0));
}
Value Memory::toMemory(LaneValue value) {
  value = l.canonical(value);
  if (!value.type.isSignlessInteger(1))
    return value.value;
  return l.b.create<arith::ExtUIOp>(l.loc, l.like(value.value, l.b.getI8Type()), value.value);
}

//===--- access by lanes --------------------------------------------------------===//

namespace {
/// Where the lanes of an access lie.
struct Access {
  Value base;                       // bytes of lane 0
  std::optional<int64_t> laneBytes; // between lanes, where known
  Value runtimeBytes;               // between lanes, where it is known when running
  Value offsets;                    // vector of bytes, where it is neither
  Index pieces;                     // between lanes that go through two axes; period 0: they do not
  int64_t phase = 0;                // bytes that an interleaved axis adds to a common start
  bool fromStart = true;            // the common start is one: all between two lanes lies behind it
};
} // namespace

/// Whether a number is known not to be negative.
static bool isNatural(Value value) {
  if (auto known = Lanes::constantOf(value))
    return *known >= 0;
  if (auto argument = llvm::dyn_cast<BlockArgument>(value)) {
    auto loop = llvm::dyn_cast_if_present<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && argument == loop.getInductionVar() && isNatural(loop.getLowerBound());
  }
  Operation *op = value.getDefiningOp();
  return llvm::isa<arith::AddIOp, arith::MulIOp, arith::MinSIOp>(op) && llvm::all_of(op->getOperands(), isNatural);
}

/// How far an index lies behind a multiple of its stride, plus the same for all such indices: this
/// much is taken off it. 0 where nothing tells.
static int64_t takePhase(Lanes &l, Index &index) {
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

static Access accessOf(Lanes &l, Memory &memory, const Buffer &buffer, ArrayRef<Index> at) {
  Access access;
  access.base = l.i64(0);
  access.laneBytes = 0;
  const int64_t size = scalarBytes(buffer.element);
  Value vectorPart;
  const bool inPieces = llvm::any_of(at, [](const Index &index) { return index.period != 0; });
  bool known = inPieces && !memory.live; // where all pieces lie
  for (auto [axis, index] : llvm::enumerate(at))
    known &= index.uniform() || (!index.vector && !index.runtimeStride && buffer.known[axis]);
  Index apart = memory.constant(0);
  for (auto [axis, where] : llvm::enumerate(at)) {
    Index index = where;
    Value stride = buffer.strides[axis];
    if (known && !index.uniform()) {
      Index lanes = index;
      lanes.base = l.i64(0);
      apart = memory.add(apart, memory.mul(lanes, memory.constant(*buffer.known[axis])));
      access.base = l.add(access.base, l.mul(index.base, stride));
      continue;
    }
    if (index.vector || index.period) {
      Value part = l.mul(memory.numbers(index), l.splat(stride));
      vectorPart = vectorPart ? l.add(vectorPart, part) : part;
      continue;
    }
    // Every second (third, fourth) element from a known one on: those between can share loads.
    const bool isNear = buffer.roomy && index.stride >= 2 && index.stride <= 4;
    const bool isApart = (buffer.roomy || buffer.constant) && memory.takesApart(size, index.stride) && isNatural(index.base);
    if (axis + 1 == at.size() && buffer.known[axis] == size && index.affine() && (isNear || isApart))
      access.phase = takePhase(l, index) * size;
    // An element of a small dense axis: loads of its neighbours can be shared.
    auto number = Lanes::constantOf(index.base);
    if (number && axis + 1 == at.size() && buffer.known[axis] == size && index.uniform() &&
        *number >= 0 && *number < 4)
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
  if (known && apart.vector)
    vectorPart = apart.vector;
  if (vectorPart) {
    Value lane = access.runtimeBytes ? access.runtimeBytes : l.i64(*access.laneBytes);
    access.offsets = l.add(vectorPart, l.mul(l.iota(), l.splat(lane)));
  }
  if (known && !vectorPart) {
    access.laneBytes = apart.stride;
    if (apart.period)
      access.pieces = apart;
  }
  if (access.runtimeBytes || vectorPart || access.pieces.period)
    access.laneBytes.reset();
  for (auto [axis, index] : llvm::enumerate(at)) {
    if (!access.laneBytes || !index.uniform())
      continue;
    const auto number = Lanes::constantOf(index.base);
    const bool isPhase = axis + 1 == at.size() && number && access.phase == *number * size;
    // Of axes further in than the lanes' the stride is known; 0 where there is room for one row only.
    const bool isOuter = !buffer.known[axis] || *buffer.known[axis] == 0 ||
                         std::abs(*buffer.known[axis]) >= std::abs(*access.laneBytes);
    access.fromStart &= isPhase || isOuter || number == 0;
  }
  return access;
}

/// Lanes at `bytes` apart, 1 to 4 elements forwards or backwards; null for
/// others. `address` is that of lane 0, less `phase` bytes. With `onlyLanes` nothing is read
/// behind the last lane, or little if the buffer is `roomy`: what lies between two lanes may not exist there.
Value Memory::loadStrided(Type type, int64_t size, Value address, int64_t bytes, int64_t phase, bool constant,
                          bool onlyLanes, bool roomy) {
  if (bytes % size != 0 || phase % size != 0)
    return {};
  const int64_t step = bytes / size, magnitude = std::abs(step), lanes = l.lanes;
  int64_t first = phase / size;
  if (takesApart(size, step)) {
    const bool shares = (roomy || constant) && first < step;
    return shares ? loadApart(type, size, address, step, first, constant, true)
                  : loadApart(type, size, this->address(address, l.i64(phase)), step, 0, constant, false);
  }
  if (magnitude < 1 || magnitude > 4)
    return {};
  if (first >= magnitude || onlyLanes) { // not an interleaved axis after all
    address = this->address(address, l.i64(phase));
    first = 0;
  }
  if (step < 0)
    address = this->address(address, l.i64((lanes - 1) * bytes));
  const int64_t read = onlyLanes && !roomy ? (lanes - 1) * magnitude + 1 : lanes * magnitude;
  Value whole = loadPlain(VectorType::get({read}, type), address, constant);
  if (step == 1)
    return whole;
  SmallVector<int64_t> mask(lanes);
  for (int64_t lane = 0; lane < lanes; ++lane)
    mask[lane] = (step < 0 ? lanes - 1 - lane : lane) * magnitude + first;
  return shuffle(whole, whole, mask);
}

/// Runs of elements, or elements that are repeated.
Value Memory::loadPieces(Type type, Value address, const Index &apart, bool constant) {
  const int64_t size = std::max<int64_t>(type.getIntOrFloatBitWidth() / 8, 1),
                pieces = l.lanes / apart.period;
  SmallVector<int64_t> order(l.lanes);
  if (apart.inner == 0 && apart.stride == size) {
    for (int64_t lane = 0; lane < l.lanes; ++lane)
      order[lane] = lane / apart.period;
    Value each = loadPlain(VectorType::get({pieces}, type), address, constant);
    return shuffle(each, each, order);
  }
  if (apart.inner != size || apart.period < 4) {
    Value all =
        l.b.create<arith::ConstantOp>(l.loc, l.b.getZeroAttr(VectorType::get({l.lanes}, type)));
    for (int64_t lane = 0; lane < l.lanes; ++lane)
      all = l.b.create<vector::InsertOp>(
          l.loc, loadPlain(type, this->address(address, l.i64(offsetOf(apart, lane))), constant),
          all, lane);
    return all;
  }
  Value all;
  for (int64_t piece = 0; piece < pieces; ++piece) {
    Value next = loadPlain(VectorType::get({apart.period}, type),
                           this->address(address, l.i64(piece * apart.stride)), constant);
    order.assign((piece + 1) * apart.period, 0);
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = static_cast<int64_t>(i);
    all = all ? shuffle(all, next, order) : next;
  }
  return all;
}

/// The load of an input that all numbers of an index are, one for each lane and made wider; null for others.
static LLVM::LoadOp loadBehind(ArrayRef<Index> at) {
  const Index *moving = nullptr;
  for (const Index &index : at) {
    if (!index.uniform() && moving)
      return {};
    moving = index.uniform() ? moving : &index;
  }
  auto widened = moving && moving->vector ? moving->vector.getDefiningOp<arith::ExtUIOp>() : nullptr;
  auto load = widened ? widened.getIn().getDefiningOp<LLVM::LoadOp>() : nullptr;
  return load && load.getInvariant() ? load : nullptr;
}

LaneValue Memory::load(const Buffer &buffer, ArrayRef<Index> at) {
  const int64_t size = scalarBytes(buffer.element);
  Type memoryType = buffer.element.isSignlessInteger(1) ? l.b.getI8Type() : registerType(buffer.element);
  Access access = accessOf(l, *this, buffer, at);
  auto finish = [&](Value value) { return l.wrap(fromMemory(value, buffer.element), buffer.element); };
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
                             access.pieces, buffer.constant));
  auto vectorType = VectorType::get({l.lanes}, memoryType);
  auto gather = [&](llvm::function_ref<Value(int64_t)> addressOf) {
    Value result = l.b.create<arith::ConstantOp>(l.loc, l.b.getZeroAttr(vectorType));
    for (int64_t lane = 0; lane < l.lanes; ++lane)
      result = l.b.create<vector::InsertOp>(l.loc, loadPlain(memoryType, addressOf(lane), buffer.constant), result, lane);
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
    return finish(l.pick(liveMask(*live), all, l.b.create<arith::ConstantOp>(l.loc, l.b.getZeroAttr(vectorType))));
  }
  if (access.offsets) {
    Value start = address(buffer.pointer, l.add(access.base, l.i64(access.phase)));
    // Taking numbers out of a vector costs as much as inserting what they lead to: they are loaded once more.
    if (LLVM::LoadOp numbers = live ? nullptr : loadBehind(at)) {
      auto type = llvm::cast<VectorType>(numbers.getType());
      const int64_t bytes = type.getElementTypeBitWidth() / 8;
      const size_t axis = static_cast<size_t>(llvm::find_if(at, [](const Index &index) { return !index.uniform(); }) - at.begin());
      return finish(gather([&](int64_t lane) {
        Value number = loadPlain(type.getElementType(), address(numbers.getAddr(), l.i64(lane * bytes)), true);
        number = l.b.create<arith::ExtUIOp>(l.loc, l.b.getI64Type(), number);
        return address(start, l.mul(number, buffer.strides[axis]));
      }));
    }
    return finish(gather([&](int64_t lane) {
      return address(start, l.b.create<vector::ExtractOp>(l.loc, access.offsets, lane));
    }));
  }
  if (access.laneBytes) {
    // Interleaved numbers are mostly widened; what is not needed of both forms
    // goes away.
    Value wide;
    if (noSign && access.fromStart && std::abs(*access.laneBytes) != size &&
        std::abs(*access.laneBytes) <= 4 * size)
      wide = loadWindows(buffer, access.base, size, *access.laneBytes, access.phase);
    Value start = address(buffer.pointer, access.base);
    if (Value v = loadStrided(memoryType, size, start, *access.laneBytes, access.phase, buffer.constant,
                              !access.fromStart, buffer.roomy)) {
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
  // A distance known when running only: forwards and backwards (a flip) are
  // worth a branch, the rest is gathered.
  Value start = address(buffer.pointer, access.base);
  const int64_t dense = buffer.known.empty() || !buffer.known.back() ? size : *buffer.known.back();
  SmallVector<int64_t> distances{dense, -dense};
  for (auto [axis, known] : llvm::enumerate(buffer.known))
    if (known && at[axis].runtimeStride && *known != dense && *known <= 4 * size)
      distances = {*known, -*known};
  std::function<Value(size_t)> choose = [&](size_t number) -> Value {
    if (number == distances.size())
      return gather([&](int64_t lane) {
        return address(start, l.add(l.mul(access.runtimeBytes, l.i64(lane)), l.i64(access.phase)));
      });
    Value same = l.cmp(CmpIPredicate::eq, access.runtimeBytes, l.i64(distances[number]));
    auto branch = l.b.create<scf::IfOp>(l.loc, TypeRange{vectorType}, same, true);
    OpBuilder::InsertionGuard guard(l.b);
    l.b.setInsertionPointToStart(branch.thenBlock());
    Value fast = loadStrided(memoryType, size, start, distances[number], access.phase, buffer.constant);
    l.b.create<scf::YieldOp>(l.loc, fast);
    l.b.setInsertionPointToStart(branch.elseBlock());
    l.b.create<scf::YieldOp>(l.loc, choose(number + 1));
    return branch.getResult(0);
  };
  return finish(choose(0));
}

void Memory::store(const Buffer &buffer, ArrayRef<Index> at, LaneValue value) {
  const int64_t size = scalarBytes(buffer.element);
  Access access = accessOf(l, *this, buffer, at);
  Value base = l.add(access.base, l.i64(access.phase));
  Value plain = toMemory(value);
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

void Memory::storeInterleaved(const Buffer &buffer, ArrayRef<Index> at, ArrayRef<LaneValue> values) {
  if (values.empty()) // of an axis without elements
    return;
  Access access = accessOf(l, *this, buffer, at);
  const int64_t count = static_cast<int64_t>(values.size()), lanes = l.lanes;
  SmallVector<Value> plain;
  for (LaneValue value : values)
    plain.push_back(l.splat(toMemory(value)));
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
