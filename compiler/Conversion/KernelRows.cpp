//===- KernelRows.cpp - resampling by rows through a ring ------------------===//
//
// A weight of 22 bits is w = high * 2^11 + low with high of 12 bits and low of
// 11, so both halves are i16 and a multiply-add takes two taps at once. Sums of
// the halves are exact in i32, and so is their combination.
//
// Horizontally, the lanes of one 128-bit part are the channels of one pixel:
// every pixel has its own window of 16 source bytes, so any scale works, and
// one constant shuffle brings taps together. Four vectors of pixels, packed
// into one, are planar bytes. Vertically, lanes are columns of a plane.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/KernelEmitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

static NamedTensorType typeOf(Value tensor) { return llvm::cast<NamedTensorType>(tensor.getType()); }

/// Rows that one call computes at once, so that they share loads of tables.
static constexpr int64_t rowsAtOnce = 2;
/// Vectors of outputs that are packed into bytes together.
static constexpr int64_t packed = 4;

//===--- arithmetic ---------------------------------------------------------------===//

Value penstock::conversion::multiplyAdd(Lanes &l, Value pairs, Value weights) {
  const int64_t lanes = llvm::cast<VectorType>(pairs.getType()).getNumElements();
  auto halves = VectorType::get({2 * lanes}, l.b.getIntegerType(16));
  Value a = l.b.create<vector::BitCastOp>(l.loc, halves, pairs);
  Value w = l.b.create<vector::BitCastOp>(l.loc, halves, weights);
  const char *name = lanes == 4 ? "llvm.x86.sse2.pmadd.wd" : lanes == 8 ? "llvm.x86.avx2.pmadd.wd"
                                                                        : "llvm.x86.avx512.pmaddw.d.512";
  return l.intrinsic(name, pairs.getType(), {a, w});
}

Value penstock::conversion::combineHalves(Lanes &l, Value high, Value low) {
  Value sum = l.b.create<arith::AddIOp>(l.loc, l.shl(high, 11), low);
  return l.b.create<arith::ShRSIOp>(l.loc, sum, l.integerLike(sum, 22));
}

// The packing instructions clamp on the way, within each 128-bit part.
Value penstock::conversion::packBytes(Lanes &l, Memory &m, ArrayRef<Value> vectors) {
  const int64_t lanes = llvm::cast<VectorType>(vectors[0].getType()).getNumElements();
  const int kind = lanes == 4 ? 0 : lanes == 8 ? 1 : 2;
  static constexpr const char *toWords[] = {"llvm.x86.sse41.packusdw", "llvm.x86.avx2.packusdw",
                                            "llvm.x86.avx512.packusdw.512"};
  static constexpr const char *toBytes[] = {"llvm.x86.sse2.packuswb.128", "llvm.x86.avx2.packuswb",
                                            "llvm.x86.avx512.packuswb.512"};
  auto words = VectorType::get({2 * lanes}, l.b.getIntegerType(16));
  auto bytes = VectorType::get({4 * lanes}, l.b.getI8Type());
  Value low = l.intrinsic(toWords[kind], words, {vectors[0], vectors[1]});
  Value high = l.intrinsic(toWords[kind], words, {vectors[2], vectors[3]});
  Value packed = l.intrinsic(toBytes[kind], bytes, {low, high});
  SmallVector<int64_t> mask(4 * lanes);
  for (int64_t i = 0; i < 4 * lanes; ++i)
    mask[i] = i / 16 * 16 + i % 4 * 4 + i % 16 / 4;
  return l.b.create<vector::BitCastOp>(l.loc, vectors[0].getType(), m.shuffle(packed, packed, mask));
}

static Value splatOf(Lanes &l, Value scalar, int64_t lanes) {
  return l.b.create<vector::SplatOp>(l.loc, VectorType::get({lanes}, scalar.getType()), scalar);
}

//===--- tables -------------------------------------------------------------------===//

/// Finds the taps that are not 0, and packs them. A window of `steps` pairs
/// starting at `starts` lies inside start .. start + taps, up to one tap.
FailureOr<PackedTaps> KernelEmitter::packTaps(Value weights, Value start, Value outputs, int64_t perBlock,
                                              llvm::function_ref<Value(Value, Value, Value)> slotOf) {
  Value taps = extent(weights, 1), zero = l.i64(0), one = l.i64(1);
  Value count = extent(weights, 0);
  // 8 bytes for a pair of taps: as many as there are taps is enough.
  const int64_t fixed = (typeOf(weights).getAxes()[0].extent + perBlock - 1) / perBlock * perBlock;
  auto starts = scratchBytes(8 * fixed, {});
  auto pairs = scratchBytes(8 * fixed, TensorAxis{weights, 1});
  if (failed(starts) || failed(pairs))
    return failure();
  auto weightAt = [&](Value o, Value k) {
    return emit(weights, {m.uniform(o), m.uniform(k)}).value;
  };
  // The longest run from the first to the last weight that is not 0.
  auto longest = b.create<scf::ForOp>(l.loc, zero, count, one, ValueRange{one},
                                      [&](OpBuilder &, Location, Value o, ValueRange carried) {
    auto ends = b.create<scf::ForOp>(l.loc, zero, taps, one, ValueRange{taps, zero},
                                     [&](OpBuilder &, Location, Value k, ValueRange inner) {
      Value used = l.cmp(CmpIPredicate::ne, weightAt(o, k), l.i32(0));
      b.create<scf::YieldOp>(l.loc, ValueRange{l.pick(used, l.minS(inner[0], k), inner[0]),
                                               l.pick(used, l.add(k, one), inner[1])});
    });
    Value first = l.minS(ends.getResult(0), l.sub(taps, one));
    m.storePlain(first, m.address(*starts, l.shl(o, 3)));
    Value length = l.sub(ends.getResult(1), first);
    b.create<scf::YieldOp>(l.loc, l.maxS(carried[0], length));
  });
  Value length = longest.getResult(0);
  Value steps = b.create<arith::ShRUIOp>(l.loc, l.add(length, one), one);
  forLoop(zero, outputs, 1, [&](Value o) {
    // Outputs past the last one repeat it, with weights of 0.
    Value known = l.minS(o, l.sub(count, one));
    Value real = l.cmp(CmpIPredicate::slt, o, count);
    Value place = m.address(*starts, l.shl(known, 3));
    Value first = l.minS(m.loadPlain(b.getI64Type(), place), l.sub(taps, length));
    Value from = emit(start, {m.uniform(known)}).value;
    from = l.add(b.create<arith::ExtSIOp>(l.loc, b.getI64Type(), from), first);
    // A second visit of the last output would add its start again.
    m.storePlain(l.pick(real, from, zero), m.address(*starts, l.shl(o, 3)));
    forLoop(zero, steps, 1, [&](Value step) {
      auto half = [&](int64_t which) {
        Value k = l.add(l.shl(step, 1), l.i64(which));
        Value inside = l.andInt(real, l.cmp(CmpIPredicate::slt, k, length));
        Value clamped = l.minS(l.add(first, k), l.sub(taps, one));
        return l.pick(inside, weightAt(known, clamped), l.i32(0));
      };
      Value w0 = half(0), w1 = half(1);
      auto join = [&](Value x, Value y) { return l.orInt(l.andInt(x, l.i32(0xFFFF)), l.shl(y, 16)); };
      auto high = [&](Value w) { return b.create<arith::ShRSIOp>(l.loc, w, l.i32(11)).getResult(); };
      auto low = [&](Value w) { return l.andInt(w, l.i32(2047)); };
      Value slot = m.address(*pairs, slotOf(o, step, steps));
      m.storePlain(join(high(w0), high(w1)), slot);
      m.storePlain(join(low(w0), low(w1)), m.address(slot, l.i64(4)));
    });
  });
  return PackedTaps{steps, *starts, *pairs};
}

//===--- the horizontal pass ------------------------------------------------------===//

/// Where element (0, 0, 0) of u8[rows, columns, channels] lies and how far rows
/// are apart, if columns are `channels` bytes apart and channels one.
static std::optional<std::pair<Value, Value>> denseRows(Lanes &l, Memory &m, Value tensor,
                                                        llvm::DenseMap<Value, Buffer> &buffers,
                                                        llvm::function_ref<LaneValue(Value)> scalar,
                                                        int64_t channels) {
  // The indices of three probes: lanes along rows, columns and channels.
  const int64_t rank = typeOf(tensor).getRank();
  SmallVector<Index> at(rank, m.constant(0));
  SmallVector<SmallVector<Index>> probes(rank, at);
  for (int64_t axis = 0; axis < rank; ++axis)
    probes[axis][axis].stride = 1;
  while (!buffers.count(tensor)) {
    auto view = tensor.getDefiningOp<ViewOp>();
    if (!view)
      return std::nullopt;
    SmallVector<Index> symbols;
    for (Value symbol : view.getSymbols())
      symbols.push_back(m.uniform(scalar(symbol).value));
    auto apply = [&](SmallVector<Index> &indices) {
      SmallVector<Index> inner;
      for (AffineExpr expr : view.getMap().getResults())
        inner.push_back(m.affine(expr, indices, symbols));
      indices = inner;
    };
    apply(at);
    for (auto &probe : probes)
      apply(probe);
    tensor = view.getInput();
  }
  const Buffer &buffer = buffers[tensor];
  if (!buffer.element.isUnsignedInteger(8))
    return std::nullopt;
  Value offset = l.i64(0), rowStride = l.i64(0);
  std::optional<int64_t> bytes[3] = {0, 0, 0};
  for (size_t axis = 0; axis < at.size(); ++axis) {
    offset = l.add(offset, l.mul(at[axis].base, buffer.strides[axis]));
    for (int64_t probe = 0; probe < rank; ++probe) {
      const Index &index = probes[probe][axis];
      if (!index.affine())
        return std::nullopt;
      if (probe == 0)
        rowStride = l.add(rowStride, l.mul(l.i64(index.stride), buffer.strides[axis]));
      else if (index.stride && !buffer.known[axis])
        return std::nullopt;
      else if (index.stride)
        *bytes[probe] += index.stride * *buffer.known[axis];
    }
  }
  if (*bytes[1] != channels || (rank == 3 && *bytes[2] != 1))
    return std::nullopt;
  return std::pair(m.address(buffer.pointer, offset), rowStride);
}

/// Sets up a ring for `op` where its form allows: false where it does not, and
/// the value is then stored whole.
FailureOr<bool> KernelEmitter::prepareRing(ResampleOp op) {
  NamedTensorType type = typeOf(op.getResult());
  const int64_t rank = type.getRank();
  if (op.getNumerics() != Numerics::pillow || rank < 2 || rank > 3 || type.axisIndex(op.getAxis()) != 1)
    return false;
  const Axis &columns = type.getAxes()[1];
  const int64_t channels = rank == 3 ? type.getAxes()[2].extent : 1;
  if (!columns.isStatic() || channels < 1 || channels > 4)
    return false;
  auto source = denseRows(l, m, op.getInput(), buffers, [&](Value v) { return scalar(v); }, channels);
  if (!source)
    return false;
  const int64_t parts = vectorBytes / 16, perBlock = packed * parts;
  const int64_t padded = (columns.extent + perBlock - 1) / perBlock * perBlock;
  // {high, low} of outputs j and j + 1 lie side by side in the part of their pixel.
  auto slotOf = [&](Value o, Value step, Value steps) {
    Value block = b.create<arith::DivUIOp>(l.loc, o, l.i64(perBlock));
    Value rest = b.create<arith::RemUIOp>(l.loc, o, l.i64(perBlock));
    Value part = l.shrU(rest, 2), j = l.andInt(rest, l.i64(3));
    Value row = l.add(l.mul(l.add(l.mul(block, steps), step), l.i64(2)), l.shrU(j, 1));
    return l.add(l.add(l.mul(row, l.i64(vectorBytes)), l.shl(part, 4)), l.shl(l.andInt(j, l.i64(1)), 3));
  };
  auto taps = packTaps(op.getWeights(), op.getStart(), l.i64(padded), perBlock, slotOf);
  if (failed(taps))
    return failure();
  forLoop(l.i64(0), l.i64(padded), 1, [&](Value o) { // in bytes from now on
    Value place = m.address(taps->starts, l.shl(o, 3));
    m.storePlain(l.mul(m.loadPlain(b.getI64Type(), place), l.i64(channels)), place);
  });

  RowRing ring;
  ring.channels = channels;
  const int64_t plane = (padded + 63) / 64 * 64, row = plane * channels;
  ring.planeBytes = l.i64(plane);
  ring.rowBytes = l.i64(row);
  ring.source = source->first;
  ring.sourceStride = source->second;
  ring.rows = extent(op.getResult(), 0);
  ring.columns = l.i64(padded);
  ring.offsets = taps->starts;
  ring.weights = taps->pairs;
  ring.steps = taps->steps;
  rings[op.getResult()] = ring;
  return true;
}

/// Memory of the ring: a power of two of rows, above what one output row reads.
LogicalResult KernelEmitter::openRing(RowRing &ring, ResampleOp vertical) {
  Value taps = extent(vertical.getWeights(), 1);
  const int64_t row = *Lanes::constantOf(ring.rowBytes);
  // Twice taps + rowsAtOnce + 1 holds the next power of two.
  auto spare = scratchBytes(2 * (rowsAtOnce + 2) * (row + 8), {});
  auto pointer = scratchBytes(2 * (row + 8), TensorAxis{vertical.getWeights(), 1});
  if (failed(pointer) || failed(spare))
    return failure();
  // `spare` comes first, so that the ring may start there and run on.
  Value start = *spare;
  auto grown = b.create<scf::WhileOp>(
      l.loc, TypeRange{b.getI64Type()}, ValueRange{l.i64(4)},
      [&](OpBuilder &, Location, ValueRange state) {
        Value small = l.cmp(CmpIPredicate::slt, state[0], l.add(taps, l.i64(rowsAtOnce + 1)));
        b.create<scf::ConditionOp>(l.loc, small, state);
      },
      [&](OpBuilder &, Location, ValueRange state) {
        b.create<scf::YieldOp>(l.loc, ValueRange{l.shl(state[0], 1)});
      });
  Value size = grown.getResult(0);
  ring.mask = l.sub(size, l.i64(1));
  ring.tags = start;
  ring.pointer = m.address(start, l.andInt(l.add(l.shl(size, 3), l.i64(63)), l.i64(-64)));
  forLoop(l.i64(0), size, 1, [&](Value i) {
    m.storePlain(l.i64(-1), m.address(ring.tags, l.shl(i, 3)));
  });
  return success();
}

/// `count` vectors of pixels, one source row: the bytes of each pixel's window.
static Value windows(Lanes &l, Memory &m, Value row, ArrayRef<Value> offsets, int64_t extra) {
  Value joined;
  for (Value offset : offsets) {
    Value window = m.loadPlain(VectorType::get({16}, l.b.getI8Type()),
                               m.address(row, l.add(offset, l.i64(extra))));
    if (!joined) {
      joined = window;
      continue;
    }
    const int64_t size = llvm::cast<VectorType>(joined.getType()).getNumElements();
    SmallVector<int64_t> mask(size + 16);
    for (size_t i = 0; i < mask.size(); ++i)
      mask[i] = static_cast<int64_t>(i);
    joined = m.shuffle(joined, window, mask);
  }
  return joined;
}

/// The function that fills rows first .. first + count of the ring.
func::FuncOp KernelEmitter::rowFunction(int64_t channels) {
  const std::string name =
      (kernel.getSymName() + ".rows" + llvm::Twine(channels)).str();
  auto module = function->getParentOfType<ModuleOp>();
  if (auto present = module.lookupSymbol<func::FuncOp>(name))
    return present;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfter(function);
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  Type i64 = b.getI64Type();
  // source, stride, offsets, weights, steps, columns, ring, tags, mask,
  // plane, row bytes, first, count, rows
  auto type = b.getFunctionType({pointer, i64, pointer, pointer, i64, i64, pointer, pointer, i64, i64, i64,
                                 i64, i64, i64}, {});
  auto result = b.create<func::FuncOp>(l.loc, name, type);
  result.setPrivate();
  Block *block = result.addEntryBlock();
  b.setInsertionPointToStart(block);
  auto arg = [&](unsigned i) -> Value { return block->getArgument(i); };
  Value source = arg(0), stride = arg(1), offsets = arg(2), weights = arg(3), steps = arg(4), columns = arg(5);
  Value ring = arg(6), tags = arg(7), mask = arg(8), plane = arg(9), rowBytes = arg(10), first = arg(11);
  Value end = l.minS(l.add(first, arg(12)), arg(13)), last = l.sub(arg(13), l.i64(1));
  const int64_t parts = vectorBytes / 16, perBlock = packed * parts, lanes = 4 * parts;
  auto lanesType = VectorType::get({lanes}, b.getI32Type());
  Value zeroBytes = b.create<arith::ConstantOp>(
      l.loc, b.getZeroAttr(VectorType::get({vectorBytes}, b.getI8Type())));

  // i32 lane c of a part: taps t and t + 1 of channel c, as two i16.
  auto pairMask = [&](int64_t tap) {
    SmallVector<int64_t> shuffle(vectorBytes, vectorBytes);
    for (int64_t part = 0; part < parts; ++part)
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t t = 0; t < 2; ++t)
          shuffle[part * 16 + c * 4 + 2 * t] = part * 16 + (tap + t) * channels + c;
    return shuffle;
  };
  auto broadcast = [&](Value table, int64_t which) {
    SmallVector<int64_t> shuffle(lanes);
    for (int64_t i = 0; i < lanes; ++i)
      shuffle[i] = i / 4 * 4 + which;
    return m.shuffle(table, table, shuffle);
  };

  /// Rows `from` to the ring, with `fixed` pairs of taps (0: as many as `steps`).
  auto computeRows = [&](ArrayRef<Value> from, ArrayRef<Value> to, int64_t fixed) {
    Value stepCount = fixed ? l.i64(fixed) : steps;
    Value tableBytes = l.mul(stepCount, l.i64(2 * vectorBytes));
    Value blocks = b.create<arith::DivUIOp>(l.loc, columns, l.i64(perBlock));
    forLoop(l.i64(0), blocks, 1, [&](Value number) {
      Value base = l.mul(number, l.i64(perBlock));
      Value offsetPlace = m.address(offsets, l.shl(base, 3));
      Value table = m.address(weights, l.mul(number, tableBytes));
      SmallVector<SmallVector<Value>> vectors(from.size());
      for (int64_t j = 0; j < packed; ++j) {
        SmallVector<Value> places;
        for (int64_t part = 0; part < parts; ++part)
          places.push_back(m.loadPlain(b.getI64Type(), m.address(offsetPlace, l.i64(8 * (part * packed + j)))));
        Value zero = l.splat(b.create<arith::ConstantOp>(l.loc, b.getZeroAttr(lanesType)));
        Value half = b.create<arith::ConstantOp>(l.loc, DenseElementsAttr::get(lanesType, int32_t{1 << 21}));
        SmallVector<Value> sums; // high and low per row
        for (size_t r = 0; r < from.size(); ++r)
          sums.append({zero, half});
        auto weightsAt = [&](Value step) {
          Value bytesIn = l.add(l.mul(step, l.i64(2 * vectorBytes)), l.i64(j / 2 * vectorBytes));
          Value both = m.loadPlain(lanesType, m.address(table, bytesIn));
          return std::pair(broadcast(both, j % 2 * 2), broadcast(both, j % 2 * 2 + 1));
        };
        auto addStep = [&](SmallVector<Value> &into, ArrayRef<Value> window, Value step, int64_t tap) {
          auto [high, low] = weightsAt(step);
          for (size_t r = 0; r < from.size(); ++r) {
            Value taps = m.shuffle(window[r], zeroBytes, pairMask(tap));
            taps = b.create<vector::BitCastOp>(l.loc, lanesType, taps);
            into[2 * r] = b.create<arith::AddIOp>(l.loc, into[2 * r], multiplyAdd(l, taps, high));
            into[2 * r + 1] = b.create<arith::AddIOp>(l.loc, into[2 * r + 1], multiplyAdd(l, taps, low));
          }
        };
        // 16 bytes hold the taps of so many steps.
        const int64_t perWindow = std::max<int64_t>(1, 16 / (2 * channels));
        if (fixed) {
          SmallVector<Value> window(from.size());
          for (int64_t step = 0; step < fixed; ++step) {
            if (step % perWindow == 0)
              for (size_t r = 0; r < from.size(); ++r)
                window[r] = windows(l, m, from[r], places, 2 * channels * step);
            addStep(sums, window, l.i64(step), 2 * (step % perWindow));
          }
        } else {
          auto loop = b.create<scf::ForOp>(l.loc, l.i64(0), steps, l.i64(1), sums,
                                           [&](OpBuilder &, Location, Value step, ValueRange carried) {
            SmallVector<Value> window, inner(carried);
            Value shift = l.mul(step, l.i64(2 * channels));
            for (size_t r = 0; r < from.size(); ++r)
              window.push_back(windows(l, m, m.address(from[r], shift), places, 0));
            addStep(inner, window, step, 0);
            b.create<scf::YieldOp>(l.loc, inner);
          });
          sums.assign(loop.getResults().begin(), loop.getResults().end());
        }
        for (size_t r = 0; r < from.size(); ++r)
          vectors[r].push_back(combineHalves(l, sums[2 * r], sums[2 * r + 1]));
      }
      // i32 lane c of part p now has the bytes of channel c of four neighbours.
      for (size_t r = 0; r < from.size(); ++r) {
        Value bytes = packBytes(l, m, vectors[r]);
        for (int64_t c = 0; c < channels; ++c) {
          Value place = m.address(to[r], l.add(l.mul(plane, l.i64(c)), base));
          if (parts == 1) {
            b.create<LLVM::StoreOp>(l.loc, b.create<vector::ExtractOp>(l.loc, bytes, c).getResult(), place, 1);
            continue;
          }
          SmallVector<int64_t> pick(parts);
          for (int64_t part = 0; part < parts; ++part)
            pick[part] = part * 4 + c;
          m.storePlain(m.shuffle(bytes, bytes, pick), place);
        }
      }
    });
  };

  auto walk = b.create<scf::WhileOp>(
      l.loc, TypeRange{i64}, ValueRange{first},
      [&](OpBuilder &, Location, ValueRange state) {
        b.create<scf::ConditionOp>(l.loc, l.cmp(CmpIPredicate::slt, state[0], end), state);
      },
      [&](OpBuilder &, Location, ValueRange state) {
        Value row = state[0];
        auto slot = [&](Value r) { return l.andInt(r, mask); };
        Value tag = m.address(tags, l.shl(slot(row), 3));
        Value present = l.cmp(CmpIPredicate::eq, m.loadPlain(i64, tag), row);
        auto choice = b.create<scf::IfOp>(l.loc, TypeRange{i64}, present, true);
        b.setInsertionPointToStart(choice.thenBlock());
        b.create<scf::YieldOp>(l.loc, l.add(row, l.i64(1)));
        b.setInsertionPointToStart(choice.elseBlock());
        SmallVector<Value> from, to;
        for (int64_t r = 0; r < rowsAtOnce; ++r) {
          Value number = l.minS(l.add(row, l.i64(r)), last);
          m.storePlain(number, m.address(tags, l.shl(slot(number), 3)));
          from.push_back(m.address(source, l.mul(number, stride)));
          to.push_back(m.address(ring, l.mul(slot(number), rowBytes)));
        }
        std::function<void(int64_t)> byCount = [&](int64_t fixed) {
          if (fixed > 3) {
            computeRows(from, to, 0);
            return;
          }
          auto branchOp = b.create<scf::IfOp>(l.loc, l.cmp(CmpIPredicate::eq, steps, l.i64(fixed)), true);
          OpBuilder::InsertionGuard deeper(b);
          b.setInsertionPointToStart(branchOp.thenBlock());
          computeRows(from, to, fixed);
          b.setInsertionPointToStart(branchOp.elseBlock());
          byCount(fixed + 1);
        };
        byCount(1);
        b.create<scf::YieldOp>(l.loc, l.add(row, l.i64(rowsAtOnce)));
        b.setInsertionPointAfter(choice);
        b.create<scf::YieldOp>(l.loc, choice.getResult(0));
      });
  (void)walk;
  b.create<func::ReturnOp>(l.loc);
  return result;
}

//===--- the vertical pass ----------------------------------------------------------===//

/// Tables and ring of a vertical pass over rows of a ring.
LogicalResult KernelEmitter::prepareVertical(ResampleOp op) {
  auto found = rings.find(op.getInput());
  if (found == rings.end() || op.getNumerics() != Numerics::pillow ||
      typeOf(op.getResult()).axisIndex(op.getAxis()) != 0 || !typeOf(op.getResult()).getAxes()[0].isStatic())
    return success();
  if (found->second.pointer)
    return success(); // two readers of one ring: the second recomputes
  RowRing &ring = found->second;
  if (failed(openRing(ring, op)))
    return failure();
  auto slotOf = [&](Value o, Value step, Value steps) {
    return l.shl(l.add(l.mul(o, steps), step), 3);
  };
  auto taps = packTaps(op.getWeights(), op.getStart(), extent(op.getWeights(), 0), 1, slotOf);
  if (failed(taps))
    return failure();
  auto state = scratchBytes(8, {});
  if (failed(state))
    return failure();
  m.storePlain(l.i64(-1), *state);
  verticals[op.getResult()] = {*taps, *state};
  return success();
}

std::optional<LaneValue> KernelEmitter::emitVertical(ResampleOp op, ArrayRef<Index> at) {
  auto found = verticals.find(op.getResult());
  if (found == verticals.end() || l.lanes < 8 || !at[0].uniform() || !at[1].affine() || at[1].stride != 1 ||
      (at.size() == 3 && !at[2].uniform()))
    return std::nullopt;
  const RowRing &ring = rings[op.getInput()];
  const VerticalPass &pass = found->second;
  Value o = at[0].base, steps = pass.taps.steps;
  Value first = m.loadPlain(b.getI64Type(), m.address(pass.taps.starts, l.shl(o, 3)));
  // Neighbouring vectors of one output row find their rows done.
  Value isNew = l.cmp(CmpIPredicate::ne, m.loadPlain(b.getI64Type(), pass.state), first);
  auto fill = b.create<scf::IfOp>(l.loc, isNew, false);
  {
    func::FuncOp rows = rowFunction(ring.channels);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(fill.thenBlock());
    m.storePlain(first, pass.state);
    b.create<func::CallOp>(l.loc, rows,
                           ValueRange{ring.source, ring.sourceStride, ring.offsets, ring.weights, ring.steps,
                                      ring.columns, ring.pointer, ring.tags, ring.mask, ring.planeBytes,
                                      ring.rowBytes, first, l.shl(steps, 1), ring.rows});
  }
  const int64_t lanes = l.lanes, chunk = std::min<int64_t>(lanes, vectorBytes / 4), chunks = lanes / chunk;
  Value column = at[1].base;
  if (at.size() == 3)
    column = l.add(column, l.mul(at[2].base, ring.planeBytes));
  Value base = m.address(ring.pointer, column);
  auto bytesType = VectorType::get({chunk}, b.getI8Type());
  auto lanesType = VectorType::get({chunk}, b.getI32Type());
  SmallVector<Value> sums;
  for (int64_t c = 0; c < chunks; ++c)
    sums.append({b.create<arith::ConstantOp>(l.loc, b.getZeroAttr(lanesType)),
                 b.create<arith::ConstantOp>(l.loc, DenseElementsAttr::get(lanesType, int32_t{1 << 21}))});
  Value weights = m.address(pass.taps.pairs, l.shl(l.mul(o, steps), 3));
  auto loop = b.create<scf::ForOp>(l.loc, l.i64(0), steps, l.i64(1), sums,
                                   [&](OpBuilder &, Location, Value step, ValueRange carried) {
    Value slot = m.address(weights, l.shl(step, 3));
    Value high = splatOf(l, m.loadPlain(b.getI32Type(), slot), chunk);
    Value low = splatOf(l, m.loadPlain(b.getI32Type(), m.address(slot, l.i64(4))), chunk);
    auto rowAt = [&](int64_t which) {
      Value row = l.add(first, l.add(l.shl(step, 1), l.i64(which)));
      return m.address(base, l.mul(l.andInt(row, ring.mask), ring.rowBytes));
    };
    Value row0 = rowAt(0), row1 = rowAt(1);
    SmallVector<Value> next(carried);
    for (int64_t c = 0; c < chunks; ++c) {
      auto wide = [&](Value row) -> Value {
        Value bytes = m.loadPlain(bytesType, m.address(row, l.i64(c * chunk)));
        return b.create<arith::ExtUIOp>(l.loc, lanesType, bytes);
      };
      Value taps = l.orInt(wide(row0), l.shl(wide(row1), 16));
      next[2 * c] = b.create<arith::AddIOp>(l.loc, next[2 * c], multiplyAdd(l, taps, high));
      next[2 * c + 1] = b.create<arith::AddIOp>(l.loc, next[2 * c + 1], multiplyAdd(l, taps, low));
    }
    b.create<scf::YieldOp>(l.loc, next);
  });
  Value joined;
  for (int64_t c = 0; c < chunks; ++c) {
    Value v = combineHalves(l, loop.getResult(2 * c), loop.getResult(2 * c + 1));
    v = l.minS(l.maxS(v, l.integerLike(v, 0)), l.integerLike(v, 255));
    if (!joined) {
      joined = v;
      continue;
    }
    SmallVector<int64_t> mask((c + 1) * chunk);
    for (size_t i = 0; i < mask.size(); ++i)
      mask[i] = static_cast<int64_t>(i);
    joined = m.shuffle(joined, v, mask);
  }
  LaneValue whole{joined, b.getI32Type(), Interval::of(0, 255)};
  return l.cast(CastMode::value, whole, typeOf(op.getResult()).getElementType());
}
