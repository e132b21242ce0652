// SPDX-License-Identifier: Apache-2.0
//
// Philox and the four kinds of draws.
//
// Words of 32 bits live in i64 registers, so that a product of two needs one
// multiplication.
#include "compiler/Conversion/KernelToLoops/Vector/Random.h"
#include "compiler/Conversion/KernelToLoops/Vector/Helpers.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

static constexpr int64_t mask32 = 0xFFFFFFFF;

Value Random::mix(Value state, Value value) {
  auto constant = [&](uint64_t bits) { return l.i64(static_cast<int64_t>(bits)); };
  Value z = l.add(l.add(state, constant(0x9E3779B97F4A7C15u)),
                  l.mul(value, constant(0xD1342543DE82EF95u)));
  z = l.mul(l.xorInt(z, l.shrU(z, 30)), constant(0xBF58476D1CE4E5B9u));
  z = l.mul(l.xorInt(z, l.shrU(z, 27)), constant(0x94D049BB133111EBu));
  return l.xorInt(z, l.shrU(z, 31));
}

KeyValue Random::withView(const KeyValue &key, Value view) {
  return {key.state, key.position, key.epoch, l.andInt(view, l.i64(0xFFFF))};
}

KeyValue Random::mixed(const KeyValue &key, Value index) {
  return {mix(key.state, index), key.position, key.epoch, key.view};
}

/// A draw for the whole sample calls what draws for elements inline: setup may have
/// hundreds of them.
Value Random::bits(const KeyValue &key, int64_t id, Value element) {
  SmallVector<Value> args{key.state, l.i64(id), key.position, key.epoch, key.view};
  if (element || llvm::any_of(args, [](Value arg) { return llvm::isa<VectorType>(arg.getType()); }))
    return rounds(key, l.i64(id), element);
  return l.b.create<func::CallOp>(l.loc, drawHelper(l.b, l.loc), args).getResult(0);
}

Value Random::rounds(const KeyValue &key, Value id, Value element) {
  Value mask = l.i64(mask32);
  Value k = mix(key.state, id);
  Value k0 = l.andInt(k, mask), k1 = l.shrU(k, 32);
  Value c0 = l.andInt(key.position, mask);
  Value c1 = l.orInt(l.andInt(l.shrU(key.position, 32), l.i64(0xFFFF)), l.shl(key.view, 16));
  Value c2 = l.andInt(key.epoch, mask);
  Value c3 = element ? l.andInt(l.shrU(element, 1), mask) : l.i64(0);
  for (int round = 0; round < 10; ++round) {
    Value a = l.mul(l.i64(0xD2511F53), c0), c = l.mul(l.i64(0xCD9E8D57), c2);
    Value n0 = l.xorInt(l.xorInt(l.shrU(c, 32), c1), k0);
    Value n2 = l.xorInt(l.xorInt(l.shrU(a, 32), c3), k1);
    c1 = l.andInt(c, mask);
    c3 = l.andInt(a, mask);
    c0 = n0;
    c2 = n2;
    k0 = l.andInt(l.add(k0, l.i64(0x9E3779B9)), mask);
    k1 = l.andInt(l.add(k1, l.i64(0xBB67AE85)), mask);
  }
  Value even = l.orInt(l.shl(c0, 32), c1);
  if (!element)
    return even;
  Value odd = l.orInt(l.shl(c2, 32), c3);
  Value isOdd = l.cmp(arith::CmpIPredicate::ne, l.andInt(element, l.i64(1)), l.i64(0));
  return l.pick(isOdd, odd, even);
}

Value Random::highProduct(Value x, Value y) {
  Value mask = l.i64(mask32);
  Value xh = l.shrU(x, 32), xl = l.andInt(x, mask), yh = l.shrU(y, 32), yl = l.andInt(y, mask);
  Value middle = l.add(l.mul(xh, yl), l.shrU(l.mul(xl, yl), 32));
  Value middle2 = l.add(l.mul(xl, yh), l.andInt(middle, mask));
  return l.add(l.add(l.mul(xh, yh), l.shrU(middle, 32)), l.shrU(middle2, 32));
}

LaneValue Random::draw(DrawKind kind, const KeyValue &key, int64_t id, ArrayRef<LaneValue> args,
                       Value element) {
  OpBuilder &b = l.b;
  Location loc = l.loc;
  Value word = bits(key, id, element);
  switch (kind) {
  case DrawKind::bits:
    return l.wrap(word, b.getI64Type());
  case DrawKind::uniform: {
    Value top = l.shrU(word, 11);
    Value unit = b.create<arith::SIToFPOp>(loc, l.like(top, b.getF64Type()), top);
    unit = b.create<arith::MulFOp>(loc, unit, l.floatLike(unit, 0x1p-53));
    Value low = args[0].value, high = args[1].value;
    l.match(low, high);
    l.match(low, unit);
    l.match(high, unit);
    Value width = b.create<arith::SubFOp>(loc, high, low);
    Value value = b.create<arith::AddFOp>(loc, low, b.create<arith::MulFOp>(loc, unit, width));
    Value below = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT, value, high);
    Interval range;
    if (args[0].range.within(-1e300, 1e300) && args[1].range.within(-1e300, 1e300))
      range = Interval::of(std::min(args[0].range.low, args[1].range.low),
                           std::max(args[0].range.high, args[1].range.high));
    return {l.pick(below, value, low), b.getF64Type(), range};
  }
  case DrawKind::integer: {
    Value low = args[0].value, end = args[1].value;
    Value offset = highProduct(word, l.sub(end, low));
    Value empty = l.cmp(arith::CmpIPredicate::sle, end, low);
    return l.wrap(l.pick(empty, low, l.add(low, offset)), b.getI64Type());
  }
  case DrawKind::permutation: {
    auto helper = permuteHelper(b, loc);
    Value n = args[0].value, i = args[1].value;
    auto call = [&](Value k, Value count, Value index) -> Value {
      return b.create<func::CallOp>(loc, helper, ValueRange{k, count, index}).getResult(0);
    };
    l.match(n, i);
    l.match(n, word);
    l.match(i, word);
    auto vector = llvm::dyn_cast<VectorType>(word.getType());
    if (!vector)
      return l.wrap(call(word, n, i), b.getI64Type());
    Value result = l.integerLike(word, 0);
    for (int64_t lane = 0; lane < vector.getNumElements(); ++lane) {
      auto at = [&](Value v) -> Value { return b.create<vector::ExtractOp>(loc, v, lane); };
      result = b.create<vector::InsertOp>(loc, call(at(word), at(n), at(i)), result, lane);
    }
    return l.wrap(result, b.getI64Type());
  }
  }
  llvm_unreachable("unknown draw");
}
