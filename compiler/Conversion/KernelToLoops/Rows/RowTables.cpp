// SPDX-License-Identifier: Apache-2.0
//
// Tap tables in the form that the loops load.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Rows/ResampledRows.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

/// The largest lane of a signed vector; a scalar is itself.
static Value largest(const Lanes &l, Value value) {
  if (!llvm::isa<VectorType>(value.getType()))
    return value;
  return l.b.create<vector::ReductionOp>(l.loc, vector::CombiningKind::MAXSI, value);
}

/// The digits of a weight, high first; bits above a digit's are anything.
static SmallVector<Value> digitsOf(const Lanes &l, const RowShape &shape, Value weight) {
  auto shift = [&](Value x, int64_t bits) {
    return l.b.create<arith::ShRSIOp>(l.loc, x, l.integerLike(x, bits)).getResult();
  };
  if (!shape.quads)
    return {shift(weight, 11), l.andInt(weight, l.integerLike(weight, 2047))};
  // Signed digits: the lower one is taken off with its sign.
  Value upper = shift(l.add(weight, l.integerLike(weight, 128)), 8);
  Value top = shift(l.add(upper, l.integerLike(upper, 128)), 8);
  return {top, upper, weight};
}

namespace {
/// Where taps are packed, and how.
struct TapPacker {
  const Site &inLanes;
  Value weights, start;
  const RowShape &shape;
  int64_t outputs, lanes, count; ///< of which have taps
  Value tapCount, zero, one;
  Value firsts, starts, words;
  OpBuilder &b = inLanes.ctx.b;
  const Lanes &l = inLanes.m.l;
  const Memory &m = inLanes.m;

  Value narrow(Value x) { return b.create<arith::TruncIOp>(l.loc, b.getI32Type(), x); }
  Value wide(Value x) { return b.create<arith::ExtSIOp>(l.loc, l.like(x, b.getI64Type()), x); }
  // The last vector overlaps the one before it.
  Index outputAt(Value o) { return {l.minS(o, l.i64(count - lanes)), lanes == 1 ? 0 : 1, {}, {}}; }
  Value place(Value array, const Index &o) { return m.address(array, l.shl(o.base, 2)); }
  Value longestRuns(Value none);
  void packDigits(Value o, Value none, Value length, Value steps);
};
} // namespace

/// The first taps that are not 0; returns how many there are, in each lane, to the last one.
Value TapPacker::longestRuns(Value none) {
  auto runs = b.create<scf::ForOp>(
      l.loc, zero, l.i64(count), l.i64(lanes), ValueRange{none},
      [&](OpBuilder &, Location, Value o, ValueRange longest) {
        const Index at = outputAt(o);
        Value last = l.splat(narrow(l.sub(tapCount, one)));
        auto ends = b.create<scf::ForOp>(
            l.loc, zero, tapCount, one, ValueRange{last, none},
            [&](OpBuilder &, Location, Value k, ValueRange carried) {
              Value weight = l.splat(emit(inLanes, weights, {at, m.of(l.splat(k))}).value);
              Value used = l.cmp(CmpIPredicate::ne, weight, l.integerLike(weight, 0));
              Value tap = l.splat(narrow(k));
              b.create<scf::YieldOp>(
                  l.loc, ValueRange{l.pick(used, l.minS(carried[0], tap), carried[0]),
                                    l.pick(used, l.add(tap, l.integerLike(tap, 1)), carried[1])});
            });
        m.storePlain(ends.getResult(0), place(firsts, at));
        Value run = l.sub(ends.getResult(1), ends.getResult(0));
        b.create<scf::YieldOp>(l.loc, l.maxS(longest[0], run));
      });
  return runs.getResult(0);
}

/// The digits of taps of the outputs from `o` on, step by step.
void TapPacker::packDigits(Value o, Value none, Value length, Value steps) {
  const int64_t plane = 4 * outputs;
  const Index at = outputAt(o);
  Value first =
      m.loadPlain(lanes == 1 ? Type(b.getI32Type()) : VectorType::get({lanes}, b.getI32Type()),
                  place(firsts, at));
  first = l.minS(first, l.splat(narrow(l.sub(tapCount, length))));
  Value from = l.splat(emit(inLanes, start, {at}).value);
  m.storePlain(l.add(from, first), place(starts, at));
  forLoop(inLanes, zero, steps, 1, [&](Value step) {
    // A digit enters at the top and is moved down by those of later taps.
    const int64_t bits = 32 / shape.taps();
    Value from = l.mul(step, l.i64(shape.taps()));
    auto joined = b.create<scf::ForOp>(
        l.loc, from, l.add(from, l.i64(shape.taps())), one,
        SmallVector<Value>(shape.digits(), none),
        [&](OpBuilder &, Location, Value k, ValueRange carried) {
          Value numbers = l.add(first, l.splat(narrow(k)));
          numbers = wide(l.minS(numbers, l.splat(narrow(l.sub(tapCount, one)))));
          Value weight = l.splat(emit(inLanes, weights, {at, m.of(numbers)}).value);
          Value inside = l.splat(l.cmp(CmpIPredicate::slt, k, length));
          SmallVector<Value> next =
              digitsOf(l, shape, l.pick(inside, weight, l.integerLike(weight, 0)));
          for (auto [digit, sofar] : llvm::zip(next, carried))
            digit = l.orInt(l.shrU(sofar, bits), l.shl(digit, 32 - bits));
          b.create<scf::YieldOp>(l.loc, next);
        });
    for (int64_t digit = 0; digit < shape.digits(); ++digit) {
      Value number = l.add(l.mul(step, l.i64(shape.digits())), l.i64(digit));
      m.storePlain(joined.getResult(digit),
                   place(m.address(words, l.mul(number, l.i64(plane))), at));
    }
  });
}

/// Finds the taps that are not 0, and cuts them. Taps start .. start + length
/// lie inside the axis for every output.
FailureOr<TapTable> penstock::conversion::packTaps(const Site &site, Value weights, Value start,
                                                   const RowShape &shape, int64_t outputs) {
  auto [ctx, b, l, m] = site.parts();
  const int64_t count = typeOf(weights).getAxes()[0].extent;
  const TensorAxis taps{weights, 1};
  auto firsts = scratchBytes(site, 4 * outputs, {});
  auto starts = scratchBytes(site, 4 * outputs, {});
  // A step has `digits` words, and there are at most as many steps as taps.
  auto words = scratchBytes(site, 4 * outputs * shape.digits(), taps);
  if (failed(firsts) || failed(starts) || failed(words))
    return failure();
  // Weights are gathered one by one: more lanes are only more code.
  int64_t lanes = std::min<int64_t>(shape.lanes(), 8);
  while (lanes > count)
    lanes /= 2;
  Value tapCount = extent(site, weights, 1), zero = l.i64(0), one = l.i64(1);
  const Site inLanes = site.withLanes(lanes);
  TapPacker pack{inLanes,  weights, start, shape,   outputs, lanes, count,
                 tapCount, zero,    one,   *firsts, *starts, *words};
  Value none = inLanes.m.l.splat(l.i32(0));
  Value longest = pack.longestRuns(none);
  Value length = l.maxS(pack.wide(largest(l, longest)), one);
  Value steps =
      b.create<arith::DivUIOp>(l.loc, l.add(length, l.i64(shape.taps() - 1)), l.i64(shape.taps()));
  const int64_t plane = 4 * outputs;
  forLoop(site, zero, l.i64(count), lanes,
          [&](Value o) { pack.packDigits(o, none, length, steps); });
  // Outputs past the last one repeat its start, with weights of 0.
  auto at = [&](Value array, Value o) { return m.address(array, l.shl(o, 2)); };
  forLoop(site, l.i64(count), l.i64(outputs), 1, [&](Value o) {
    m.storePlain(m.loadPlain(b.getI32Type(), at(*starts, l.i64(count - 1))), at(*starts, o));
    forLoop(site, zero, l.mul(steps, l.i64(shape.digits())), 1, [&](Value number) {
      m.storePlain(l.i32(0), at(m.address(*words, l.mul(number, l.i64(plane))), o));
    });
  });
  return TapTable{length, steps, *starts, *words, outputs};
}

/// Taps of columns to tables of lanes: offsets of windows, shuffles, digits.
/// Returns how far into its window a lane's taps begin at most (i32).
Value penstock::conversion::expandTaps(const Site &site, const TapTable &taps, const RowForm &form,
                                       Value offsets, Value tables) {
  auto [ctx, b, l, m] = site.parts();
  const RowShape &shape = form.shape;
  const int64_t lanes = shape.lanes(), block = shape.block(), bytes = shape.vectorBytes;
  auto columns = VectorType::get({block}, b.getI32Type());
  Value entry = l.mul(form.tableVectors(l, taps.steps), l.i64(bytes));
  Value none = constantLanes(l, SmallVector<int32_t>(lanes, 0));
  auto loop = b.create<scf::ForOp>(
      l.loc, l.i64(0), l.i64(taps.outputs / block), l.i64(1), ValueRange{none},
      [&](OpBuilder &, Location, Value number, ValueRange carried) {
        Value farthest = carried[0];
        auto columnsOf = [&](Value array) {
          return m.loadPlain(columns, m.address(array, l.mul(number, l.i64(4 * block))));
        };
        auto spread = [&](Value vector, int64_t v) {
          return m.shuffle(vector, vector,
                           llvm::map_to_vector(llvm::seq<int64_t>(0, lanes),
                                               [&](int64_t lane) { return form.column(v, lane); }));
        };
        Value starts = columnsOf(taps.starts);
        starts = l.mul(starts, l.integerLike(starts, shape.channels));
        Value blockOffsets = m.address(offsets, l.mul(number, l.i64(form.offsetBytes())));
        Value blockTable = m.address(tables, l.mul(number, l.mul(entry, l.i64(form.vectors()))));
        auto tableOf = [&](int64_t v) { return m.address(blockTable, l.mul(entry, l.i64(v))); };
        for (int64_t v = 0; v < form.vectors(); ++v) {
          Value place = l.add(
              spread(starts, v),
              constantLanes(l, llvm::map_to_vector(llvm::seq<int64_t>(0, lanes), [&](int64_t lane) {
                              return static_cast<int32_t>(form.channel(v, lane));
                            })));
          // The lowest of each group, in all of its lanes.
          Value base = place;
          for (int64_t distance = 1; distance < form.group(); distance *= 2) {
            Value other =
                m.shuffle(base, base,
                          llvm::map_to_vector(llvm::seq<int64_t>(0, lanes),
                                              [&](int64_t lane) { return lane ^ distance; }));
            base = l.minS(base, other);
          }
          for (int64_t g = 0; g < form.groups(); ++g) {
            Value first = b.create<vector::ExtractOp>(l.loc, base, g * form.group());
            m.storePlain(b.create<arith::ExtSIOp>(l.loc, b.getI64Type(), first),
                         m.address(blockOffsets, l.i64(8 * (v * form.groups() + g))));
          }
          Value relative = l.sub(place, base);
          farthest = l.maxS(farthest, relative);
          // Where a lane's taps lie: bytes, or words of a byte and a zero. Within
          // parts, a window's bytes are the part's.
          const int32_t c = static_cast<int32_t>(shape.channels);
          const int32_t factor = shape.quads ? 0x01010101 : 0x00010001;
          const int32_t shift = shape.quads ? c << 8 | 2 * c << 16 | 3 * c << 24
                                            : c << 16 | static_cast<int32_t>(0x80008000u);
          relative = l.add(l.mul(relative, l.integerLike(relative, factor)),
                           l.integerLike(relative, shift));
          m.storePlain(relative, tableOf(v));
          if (form.shuffles() == 2) {
            const int64_t further = shape.taps() * shape.channels * factor;
            m.storePlain(l.add(relative, l.integerLike(relative, further)),
                         m.address(tableOf(v), l.i64(bytes)));
          }
        }
        forLoop(site, l.i64(0), l.mul(taps.steps, l.i64(shape.digits())), 1, [&](Value digit) {
          Value words = columnsOf(m.address(taps.words, l.mul(digit, l.i64(4 * taps.outputs))));
          Value place = l.mul(l.add(digit, l.i64(form.shuffles())), l.i64(bytes));
          for (int64_t v = 0; v < form.vectors(); ++v)
            m.storePlain(spread(words, v), m.address(tableOf(v), place));
        });
        b.create<scf::YieldOp>(l.loc, farthest);
      });
  return largest(l, loop.getResult(0));
}
