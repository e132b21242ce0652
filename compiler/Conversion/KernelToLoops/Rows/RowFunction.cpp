// SPDX-License-Identifier: Apache-2.0
//
// One output row of a two-pass resampling.
//
// Source rows that the output row needs and the ring lacks are resampled
// horizontally, some at once, so that they share the loads of the tables. Packed
// vectors are then taken apart into planes, so that the vertical pass and its
// readers find neighbouring columns side by side.
#include "compiler/Conversion/KernelContract.h"
#include "compiler/Conversion/KernelToLoops/Rows/RowEmitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace penstock::conversion;
using arith::CmpIPredicate;

//===--- the horizontal pass ---------------------------------------------------------===//

/// The source bytes that the taps of one vector lie in.
Value RowEmitter::window(const RowForm &form, Value row, ArrayRef<Value> offsets, Value extra) {
  Value joined;
  for (Value offset : offsets) {
    Value bytes =
        m.loadPlain(vectorOf(form.windowBytes(), 8), m.address(row, l.add(offset, extra)));
    if (!joined) {
      joined = bytes;
      continue;
    }
    const int64_t size = llvm::cast<VectorType>(joined.getType()).getNumElements();
    joined = m.shuffle(joined, bytes, llvm::to_vector(llvm::seq<int64_t>(0, size + 16)));
  }
  return joined;
}

/// Words of one channel, in order of columns, from a block's packed words: part
/// by part, eight columns with `perColumn` elements each.
Value RowEmitter::channelOf(ArrayRef<Value> words, const RowForm &form, int64_t channel) {
  const int64_t per = form.perColumn();
  if (per == 1)
    return words[0];
  if (per == 2)
    return shuffleParts(
        l, words[0], words[1],
        llvm::map_to_vector(llvm::seq<int64_t>(0, 8), [&](int64_t p) { return 2 * p + channel; }));
  if (per == 4) {
    // The classic transposition; what it shares between channels is found again.
    auto quarter = [&](Value x, Value y) {
      Value low = interleave(l, x, y, false), high = interleave(l, x, y, true);
      return asElements(l, interleave(l, low, high, channel >= 2), 64);
    };
    Value front = quarter(words[0], words[1]), back = quarter(words[2], words[3]);
    return asElements(l, interleave(l, front, back, channel % 2), 16);
  }
  // Every element of a channel has a place of its own modulo 8: select, then order.
  SmallVector<int64_t> source(8), order(8);
  for (int64_t p = 0; p < 8; ++p) {
    const int64_t element = p * per + channel;
    source[element % 8] = element / 8;
    order[p] = element % 8;
  }
  Value merged = words[0];
  for (int64_t k = 1; k < per; ++k) {
    SmallVector<int64_t> pattern(8);
    for (int64_t p = 0; p < 8; ++p)
      pattern[p] = source[p] == k ? 8 + p : p;
    merged = shuffleParts(l, merged, words[k], pattern);
  }
  return shuffleParts(l, merged, merged, order);
}

/// The vectors of a block, clamped to bytes, to the planes of a ring row.
void RowEmitter::storeBlock(const RowForm &form, ArrayRef<Value> vectors, Value to, Value block) {
  SmallVector<Value> words;
  for (size_t i = 0; i < vectors.size(); i += 2)
    words.push_back(packWords(l, vectors[i], vectors[i + 1]));
  Value column = l.mul(block, l.i64(shape.block() * (shape.quads ? 1 : 2)));
  for (int64_t c = 0; c < shape.channels; ++c) {
    Value place = m.address(to, l.add(column, l.i64(c * shape.plane() * (shape.quads ? 1 : 2))));
    if (!form.wide()) {
      Value channel = channelOf(words, form, c);
      channel = l.shrU(channel, form.spareBits());
      if (shape.quads)
        channel = b.create<arith::TruncIOp>(l.loc, vectorOf(shape.block(), 8), channel);
      m.storePlain(channel, place);
      continue;
    }
    // Four vectors to a vector of bytes, whose elements one shuffle collects.
    SmallVector<Value> bytes;
    for (size_t i = 0; i < words.size(); i += 2)
      bytes.push_back(packBytes(l, words[i], words[std::min(i + 1, words.size() - 1)]));
    SmallVector<int64_t> mask;
    for (int64_t i = 0; i < 64; ++i) {
      const int64_t element = i % 32 * shape.channels + c, vector = element / 16,
                    lane = element % 16;
      mask.push_back(vector / 4 * 64 + lane / 4 * 16 + vector % 4 * 4 + lane % 4);
    }
    Value collected = m.shuffle(bytes.front(), bytes.back(), mask);
    m.storePlain(m.shuffle(collected, collected, llvm::to_vector(llvm::seq<int64_t>(0, 32))),
                 place);
  }
}

/// Source rows at `from` to ring rows at `to`, with `fixed` steps (0: as many as
/// the descriptor says), whose taps are in one window if `shared`.
void RowEmitter::resampleRows(const RowForm &form, ArrayRef<Value> from, ArrayRef<Value> to,
                              int64_t fixed, bool shared) {
  const int64_t bytes = shape.vectorBytes;
  Value steps = fixed ? l.i64(fixed) : field(RowField::steps);
  Value entry = l.mul(form.tableVectors(l, steps), l.i64(bytes));
  Value offsets = field(RowField::offsets), tables = field(RowField::tables);
  const VectorType lanes = vectorOf(bytes, 32);
  loop(l.i64(shape.plane() / shape.block()), 1, [&](Value block) {
    SmallVector<SmallVector<Value>> vectors(from.size());
    Value blockOffsets = m.address(offsets, l.mul(block, l.i64(form.offsetBytes())));
    Value blockTable = m.address(tables, l.mul(block, l.mul(entry, l.i64(form.vectors()))));
    for (int64_t v = 0; v < form.vectors(); ++v) {
      SmallVector<Value> places;
      for (int64_t g = 0; g < form.groups(); ++g)
        places.push_back(m.loadPlain(b.getI64Type(),
                                     m.address(blockOffsets, l.i64(8 * (v * form.groups() + g)))));
      Value table = m.address(blockTable, l.mul(entry, l.i64(v)));
      auto vectorAt = [&](Value number) {
        return m.loadPlain(lanes, m.address(table, l.mul(number, l.i64(bytes))));
      };
      auto digitAt = [&](Value step, int64_t digit) {
        return vectorAt(l.add(l.mul(step, l.i64(shape.digits())), l.i64(form.shuffles() + digit)));
      };
      auto windowOf = [&](size_t row, Value step) {
        return window(form, from[row], places, l.mul(step, l.i64(shape.taps() * shape.channels)));
      };
      if (fixed) {
        for (size_t row = 0; row < from.size(); ++row) {
          SmallVector<Value> taps;
          for (int64_t step = 0; step < fixed; ++step)
            taps.push_back(moveBytes(l, form.wide(), windowOf(row, l.i64(shared ? 0 : step)),
                                     vectorAt(l.i64(shared ? step : 0))));
          auto digitOf = [&](size_t step, int64_t digit) {
            return digitAt(l.i64(static_cast<int64_t>(step)), digit);
          };
          vectors[row].push_back(dotAll(l, shape, taps, form.spareBits(), digitOf));
        }
        continue;
      }
      Value shuffle = vectorAt(l.i64(0));
      SmallVector<Value> sums;
      for (size_t row = 0; row < from.size(); ++row)
        sums.append(firstSums(l, shape));
      auto loop =
          b.create<scf::ForOp>(l.loc, l.i64(0), steps, l.i64(1), sums,
                               [&](OpBuilder &, Location, Value step, ValueRange carried) {
                                 SmallVector<Value> next(carried);
                                 for (size_t row = 0; row < from.size(); ++row) {
                                   Value taps =
                                       moveBytes(l, form.wide(), windowOf(row, step), shuffle);
                                   for (int64_t digit = 0; digit < shape.digits(); ++digit) {
                                     Value &sum = next[row * shape.digits() + digit];
                                     sum = addDot(l, shape, sum, taps, digitAt(step, digit));
                                   }
                                 }
                                 b.create<scf::YieldOp>(l.loc, next);
                               });
      loop->setAttr("pipe.short", b.getUnitAttr());
      for (size_t row = 0; row < from.size(); ++row)
        vectors[row].push_back(
            combineSums(l, shape, loop.getResults().slice(row * shape.digits(), shape.digits()),
                        form.spareBits()));
    }
    for (size_t row = 0; row < from.size(); ++row)
      storeBlock(form, vectors[row], to[row], block);
  });
}

/// Resamples what the ring lacks of the source rows `first` to `end`.
void RowEmitter::fillRing(Value first, Value end) {
  Type i64 = b.getI64Type();
  const int64_t count = shape.rowsAtOnce();
  Value mask = field(RowField::mask), tags = field(RowField::tags);
  Value last = l.sub(field(RowField::rows), l.i64(1));
  auto slot = [&](Value row) { return l.andInt(row, mask); };
  auto tagOf = [&](Value row) { return m.address(tags, l.shl(slot(row), 3)); };
  auto present = [&](Value row) {
    return l.cmp(CmpIPredicate::eq, m.loadPlain(i64, tagOf(row)), row);
  };
  b.create<scf::WhileOp>(
      l.loc, TypeRange{i64}, ValueRange{first},
      [&](OpBuilder &, Location, ValueRange state) {
        b.create<scf::ConditionOp>(l.loc, l.cmp(CmpIPredicate::slt, state[0], end), state);
      },
      [&](OpBuilder &, Location, ValueRange state) {
        Value row = state[0];
        auto choice = b.create<scf::IfOp>(l.loc, TypeRange{i64}, present(row), true);
        b.setInsertionPointToStart(choice.thenBlock());
        b.create<scf::YieldOp>(l.loc, l.add(row, l.i64(1)));
        b.setInsertionPointToStart(choice.elseBlock());
        // Where the next row is there already, rows are asked for upwards.
        Value above = l.maxS(l.sub(row, l.i64(count - 1)), l.i64(0));
        Value start = l.pick(present(l.add(row, l.i64(1))), above, row);
        SmallVector<Value> from, to;
        Value source = field(RowField::source), stride = field(RowField::sourceStride);
        Value ring = field(RowField::ring);
        auto numberOf = [&](Value r) { return l.minS(l.add(start, r), last); };
        auto add = [&](Value number) {
          from.push_back(m.address(source, l.mul(number, stride)));
          to.push_back(m.address(ring, l.mul(slot(number), l.i64(shape.ringRow()))));
        };
        for (int64_t r = 0; r < count; ++r) {
          Value number = numberOf(l.i64(r));
          m.storePlain(number, tagOf(number));
          add(number);
        }
        const RowForm dense{shape, true}, sparse{shape, false};
        Value variant = field(RowField::variant);
        auto bodies = [&] {
          auto byNumber = [&] {
            bySteps(variant, [&](int64_t fixed) { resampleRows(dense, from, to, fixed); });
          };
          if (dense.shuffles() == 1)
            return byNumber();
          Value shared = l.i64(static_cast<int64_t>(RowVariant::shared));
          either(
              l.cmp(CmpIPredicate::eq, variant, shared),
              [&] { resampleRows(dense, from, to, 2, true); }, byNumber);
        };
        if (shape.channels == 4 && !shape.quads)
          bodies(); // the two are one
        else
          either(l.cmp(CmpIPredicate::sge, variant, l.i64(0)), bodies, [&] {
            if (count == 2)
              return resampleRows(sparse, from, to, 0);
            // Two by two: rare, so that less code counts for more.
            loop(l.i64(count), 2, [&](Value r) {
              from.clear();
              to.clear();
              add(numberOf(r));
              add(numberOf(l.add(r, l.i64(1))));
              resampleRows(sparse, from, to, 0);
            });
          });
        b.create<scf::YieldOp>(l.loc, l.add(row, l.i64(1)));
        b.setInsertionPointAfter(choice);
        b.create<scf::YieldOp>(l.loc, choice.getResult(0));
      });
}

void RowEmitter::emit(Value row) {
  Value starts = field(RowField::rowStarts);
  Value first = m.loadPlain(b.getI32Type(), m.address(starts, l.shl(row, 2)));
  first = b.create<arith::ExtSIOp>(l.loc, b.getI64Type(), first);
  fillRing(first, l.minS(l.add(first, field(RowField::rowLength)), field(RowField::rows)));
  combineRows(row, first);
}

func::FuncOp penstock::conversion::rowFunction(const Lanes &l, func::FuncOp beside, StringRef name,
                                               const RowShape &shape) {
  auto module = beside->getParentOfType<ModuleOp>();
  if (auto present = module.lookupSymbol<func::FuncOp>(name))
    return present;
  OpBuilder::InsertionGuard guard(l.b);
  l.b.setInsertionPointAfter(beside);
  auto pointer = LLVM::LLVMPointerType::get(l.b.getContext());
  auto result =
      l.b.create<func::FuncOp>(l.loc, name, l.b.getFunctionType({pointer, l.b.getI64Type()}, {}));
  result.setPrivate();
  setStopFlag(result, 8 * static_cast<int64_t>(RowField::stop));
  Block *block = result.addEntryBlock();
  l.b.setInsertionPointToStart(block);
  Lanes single = l;
  single.lanes = 1;
  RowEmitter(single, shape, block->getArgument(0)).emit(block->getArgument(1));
  l.b.create<func::ReturnOp>(l.loc);
  return result;
}
