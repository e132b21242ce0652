// SPDX-License-Identifier: Apache-2.0
//
// Rows that are sorted by one digit of their keys after the other.
//
// A key is the bits of an element, turned so that they order as unsigned numbers. From the lowest
// byte on, elements are put where others with a smaller byte leave off, and stay in their order
// where bytes are equal, so that they are in order after the highest one. How often each byte
// occurs is counted once, when keys are made; a byte that all keys have moves nothing.
#include "compiler/Conversion/KernelToLoops/Elements/Branches.h"
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Sort.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

static constexpr int64_t digitBits = 8, digitValues = 1 << digitBits;

namespace {
struct SortByDigits {
  SortByDigits(const Site &site, SortOp op, const Buffer &to);
  LogicalResult emitAll();

private:
  /// Elements on their way: their keys, and their places in the row.
  struct List {
    Value keys, places;
  };
  FailureOr<List> makeList() const;
  Value keyOf(LaneValue value) const;
  Value keyAt(const List &list, Value at) const {
    return m.loadPlain(key, m.address(list.keys, l.mul(at, l.i64(keyBytes))));
  }
  Value placeAt(const List &list, Value at) const {
    return m.loadPlain(place, m.address(list.places, l.mul(at, l.i64(placeBytes))));
  }
  void put(const List &list, Value at, Value number, Value from) const {
    m.storePlain(number, m.address(list.keys, l.mul(at, l.i64(keyBytes))));
    m.storePlain(from, m.address(list.places, l.mul(at, l.i64(placeBytes))));
  }
  /// The entry of a key's digit in the table of this digit.
  Value entryOf(Value number, Value digit) const;
  Value numberIn(Value entry) const { return m.loadPlain(b.getI64Type(), entry); }
  void readRow(SmallVector<Index> &at) const;
  void moveBy(Value digit, const List &from, const List &into) const;
  List sortRow() const;

  const Site &site;
  const Value input;
  const Buffer &to;
  OpBuilder &b = site.ctx.b;
  const Lanes &l = site.m.l;
  const Memory &m = site.m;
  const NamedTensorType type = typeOf(input);
  const int64_t along, keyBytes, placeBytes;
  const Type key = b.getIntegerType(static_cast<unsigned>(8 * keyBytes)),
             place = b.getIntegerType(static_cast<unsigned>(8 * placeBytes));
  Value count, tables;
  List here, there;
};

/// Halves are sorted as the floats that they are.
int64_t bytesOfDigits(Type element) {
  const int64_t bytes = scalarBytes(element);
  return llvm::isa<FloatType>(element) ? std::max<int64_t>(bytes, 4) : bytes;
}

int64_t bytesOfPlace(const Axis &axis) {
  const int64_t most = axis.isStatic() ? axis.extent : axis.bound;
  return most >= 0 && most <= INT32_MAX ? 4 : 8;
}
} // namespace

SortByDigits::SortByDigits(const Site &site, SortOp op, const Buffer &to)
    : site(site), input(op.getValue()), to(to), along(type.axisIndex(op.getAxis())),
      keyBytes(bytesOfDigits(type.getElementType())),
      placeBytes(bytesOfPlace(type.getAxes()[along])) {}

FailureOr<SortByDigits::List> SortByDigits::makeList() const {
  auto keys = scratchBytes(site, keyBytes, {{input, along}});
  auto places = scratchBytes(site, placeBytes, {{input, along}});
  if (failed(keys) || failed(places))
    return failure();
  return List{*keys, *places};
}

Value SortByDigits::keyOf(LaneValue value) const {
  const unsigned width = static_cast<unsigned>(8 * keyBytes);
  auto constant = [&](const APInt &bits) -> Value {
    return b.create<arith::ConstantOp>(l.loc, b.getIntegerAttr(key, bits));
  };
  Value top = constant(APInt::getSignMask(width));
  if (llvm::isa<FloatType>(value.type)) {
    if (width == 32)
      value = l.cast(CastMode::value, value, b.getF32Type());
    Value isNumber = l.compare(Predicate::eq, value, value).value;
    Value bits = b.create<arith::BitcastOp>(l.loc, key, value.value);
    // Below zero a larger magnitude is a smaller number.
    Value sign = b.create<arith::ShRSIOp>(l.loc, bits, constant(APInt(width, width - 1)));
    Value turned = l.xorInt(bits, l.orInt(sign, top));
    return l.pick(isNumber, turned, constant(APInt::getAllOnes(width)));
  }
  const bool isSigned = !value.type.isUnsignedInteger() && !value.type.isSignlessInteger(1);
  Value wide = l.cast(CastMode::value, value, b.getI64Type()).value;
  Value bits = width == 64 ? wide : b.create<arith::TruncIOp>(l.loc, key, wide).getResult();
  return isSigned ? l.xorInt(bits, top) : bits;
}

Value SortByDigits::entryOf(Value number, Value digit) const {
  Value wide =
      keyBytes == 8 ? number : b.create<arith::ExtUIOp>(l.loc, b.getI64Type(), number).getResult();
  Value shifted = b.create<arith::ShRUIOp>(l.loc, wide, l.mul(digit, l.i64(digitBits)));
  Value value = l.andInt(shifted, l.i64(digitValues - 1));
  return m.address(tables, l.shl(l.add(l.mul(digit, l.i64(digitValues)), value), 3));
}

void SortByDigits::readRow(SmallVector<Index> &at) const {
  forLoop(site, l.i64(0), l.i64(keyBytes * digitValues), 1,
          [&](Value i) { m.storePlain(l.i64(0), m.address(tables, l.shl(i, 3))); });
  forLoop(site, l.i64(0), count, 1, [&](Value i) {
    at[along] = m.uniform(i);
    Value number = keyOf(emit(site, input, at));
    put(here, i, number, placeBytes == 8 ? i : b.create<arith::TruncIOp>(l.loc, place, i));
    for (int64_t digit = 0; digit < keyBytes; ++digit) {
      Value entry = entryOf(number, l.i64(digit));
      m.storePlain(l.add(numberIn(entry), l.i64(1)), entry);
    }
  });
}

/// Puts elements in the order of a digit. The table has how often each value occurs, then where
/// the next element of this value goes.
void SortByDigits::moveBy(Value digit, const List &from, const List &into) const {
  carryLoop(site, l.i64(0), l.i64(digitValues), {l.i64(0)}, [&](Value value, ValueRange before) {
    Value entry = m.address(tables, l.shl(l.add(l.mul(digit, l.i64(digitValues)), value), 3));
    Value own = numberIn(entry);
    m.storePlain(before[0], entry);
    return SmallVector<Value>{l.add(before[0], own)};
  });
  forLoop(site, l.i64(0), count, 1, [&](Value i) {
    Value number = keyAt(from, i), entry = entryOf(number, digit), next = numberIn(entry);
    m.storePlain(l.add(next, l.i64(1)), entry);
    put(into, next, number, placeAt(from, i));
  });
}

SortByDigits::List SortByDigits::sortRow() const {
  // Of no elements there is no first one to look at.
  Value digits = l.pick(l.cmp(CmpIPredicate::sgt, count, l.i64(0)), l.i64(keyBytes), l.i64(0));
  SmallVector<Value> last = carryLoop(
      site, l.i64(0), digits, {here.keys, here.places, there.keys, there.places},
      [&](Value digit, ValueRange state) {
        const List from{state[0], state[1]}, into{state[2], state[3]};
        Value first = numberIn(entryOf(keyAt(from, l.i64(0)), digit));
        auto moves = b.create<scf::IfOp>(l.loc, state.getTypes(),
                                         l.cmp(CmpIPredicate::ne, first, count), true);
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(moves.thenBlock());
        moveBy(digit, from, into);
        b.create<scf::YieldOp>(l.loc, ValueRange{into.keys, into.places, from.keys, from.places});
        b.setInsertionPointToStart(moves.elseBlock());
        b.create<scf::YieldOp>(l.loc, state);
        return SmallVector<Value>(moves.getResults());
      });
  return {last[0], last[1]};
}

LogicalResult SortByDigits::emitAll() {
  auto one = makeList(), other = makeList();
  auto room = scratchBytes(site, keyBytes * digitValues * 8, {});
  if (failed(one) || failed(other) || failed(room))
    return failure();
  here = *one;
  there = *other;
  tables = *room;
  count = extent(site, input, along);
  SmallVector<Index> at(type.getRank());
  std::function<void(int64_t)> nest = [&](int64_t level) {
    if (level == along)
      return nest(level + 1);
    if (level < type.getRank())
      return (void)forLoop(site, l.i64(0), extent(site, input, level), 1, [&](Value i) {
        at[level] = m.uniform(i);
        nest(level + 1);
      });
    readRow(at);
    const List sorted = sortRow();
    forLoop(site, l.i64(0), count, 1, [&](Value i) {
      at[along] = m.uniform(i);
      LaneValue from = l.wrap(placeAt(sorted, i), place);
      m.store(to, at, l.cast(CastMode::value, from, b.getI64Type()));
    });
  };
  nest(0);
  return success();
}

LogicalResult penstock::conversion::sortByDigits(const Site &site, SortOp op, const Buffer &to) {
  return SortByDigits(site, op, to).emitAll();
}
