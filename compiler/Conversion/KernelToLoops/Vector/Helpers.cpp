// SPDX-License-Identifier: Apache-2.0
//
// Fmod, sine, draws and the keyed permutation.
#include "compiler/Conversion/KernelToLoops/Vector/Helpers.h"
#include "compiler/Conversion/KernelToLoops/Vector/Lanes.h"
#include "compiler/Conversion/KernelToLoops/Vector/Random.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::conversion;
using arith::CmpFPredicate;
using arith::CmpIPredicate;

/// The private function `name` of the module, made by `body` at first use.
static func::FuncOp helper(OpBuilder &b, Location loc, StringRef name, FunctionType type,
                           llvm::function_ref<Value(const Lanes &, ValueRange)> body) {
  auto module = b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  if (auto present = module.lookupSymbol<func::FuncOp>(name))
    return present;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(module.getBody());
  auto function = b.create<func::FuncOp>(loc, name, type);
  function.setPrivate();
  Block *block = function.addEntryBlock();
  b.setInsertionPointToStart(block);
  Lanes lanes(b, loc, {});
  b.create<func::ReturnOp>(loc, body(lanes, block->getArguments()));
  return function;
}

// Long division on the mantissas: shift left, subtract, one bit of exponent
// difference at a time.
func::FuncOp penstock::conversion::fmodHelper(OpBuilder &b, Location loc) {
  Type f64 = b.getF64Type(), i64 = b.getI64Type();
  return helper(
      b, loc, "pst.fmod", b.getFunctionType({f64, f64}, {f64}),
      [&](const Lanes &l, ValueRange args) {
        Value a = args[0], c = args[1];
        Value x = b.create<LLVM::FAbsOp>(loc, a), y = b.create<LLVM::FAbsOp>(loc, c);
        Value inf = l.f64(std::numeric_limits<double>::infinity());
        Value zero = l.f64(0.0);
        Value valid = l.andInt(b.create<arith::CmpFOp>(loc, CmpFPredicate::OLT, x, inf),
                               b.create<arith::CmpFOp>(loc, CmpFPredicate::OGT, y, zero));
        Value bigger = b.create<arith::CmpFOp>(loc, CmpFPredicate::OGE, x, y);
        Value work = l.andInt(
            valid, l.andInt(bigger, b.create<arith::CmpFOp>(loc, CmpFPredicate::OLT, y, inf)));
        auto split = [&](Value v) {
          Value bits = b.create<arith::BitcastOp>(loc, i64, v);
          Value exponent = l.shrU(bits, 52);
          Value fraction = l.andInt(bits, l.i64((int64_t{1} << 52) - 1));
          Value normal = l.cmp(CmpIPredicate::ne, exponent, l.i64(0));
          Value mantissa = l.pick(normal, l.orInt(fraction, l.i64(int64_t{1} << 52)), fraction);
          return std::pair(l.pick(normal, exponent, l.i64(1)), mantissa);
        };
        auto computed = b.create<scf::IfOp>(loc, TypeRange{f64}, work, true);
        {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPointToStart(computed.thenBlock());
          auto [ex, mx] = split(x);
          auto [exponent, mantissa] = split(y);
          // The first bit of a subnormal divisor goes where a normal one has it: one subtraction is
          // then enough for each bit.
          Value up =
              l.sub(b.create<LLVM::CountLeadingZerosOp>(loc, i64, mantissa, false), l.i64(11));
          Value my = b.create<arith::ShLIOp>(loc, mantissa, up), ey = l.sub(exponent, up);
          Value steps = l.sub(ex, ey);
          auto reduce = [&](Value m, Value divisor) {
            Value less = l.sub(m, divisor);
            return l.pick(l.cmp(CmpIPredicate::sge, less, l.i64(0)), less, m);
          };
          Value divisor = my;
          auto loop =
              b.create<scf::ForOp>(loc, l.i64(0), steps, l.i64(1), ValueRange{reduce(mx, my)},
                                   [&](OpBuilder &, Location, Value, ValueRange carried) {
                                     Value doubled = l.shl(carried[0], 1);
                                     b.create<scf::YieldOp>(loc, reduce(doubled, divisor));
                                   });
          // The rest lies below 2^53 in units of y's last place: scaling back is
          // a product with a power of two, in two steps for tiny ones.
          Value rest = b.create<arith::SIToFPOp>(loc, f64, loop.getResult(0));
          Value shift = l.sub(ey, l.i64(1075));
          auto power = [&](Value e) {
            return b.create<arith::BitcastOp>(loc, f64, l.shl(l.add(e, l.i64(1023)), 52))
                .getResult();
          };
          Value half = b.create<arith::ShRSIOp>(loc, shift, l.i64(1));
          rest = b.create<arith::MulFOp>(loc, rest, power(half));
          rest = b.create<arith::MulFOp>(loc, rest, power(l.sub(shift, half)));
          b.create<scf::YieldOp>(loc, rest);
          b.setInsertionPointToStart(computed.elseBlock());
          b.create<scf::YieldOp>(loc, x);
        }
        Value result = b.create<LLVM::CopySignOp>(loc, computed.getResult(0), a);
        // A NaN or infinite dividend, a NaN or zero divisor: NaN.
        Value nan = b.create<arith::BitcastOp>(loc, f64, l.i64(0x7FF8000000000000));
        return l.pick(valid, result, nan);
      });
}

// scalar.h, sine: step by step.
func::FuncOp penstock::conversion::sineHelper(OpBuilder &b, Location loc) {
  Type f64 = b.getF64Type(), i64 = b.getI64Type();
  return helper(
      b, loc, "pst.sine", b.getFunctionType({f64, i64}, {f64}),
      [&](const Lanes &l, ValueRange args) {
        auto add = [&](Value x, Value y) -> Value { return b.create<arith::AddFOp>(loc, x, y); };
        auto sub = [&](Value x, Value y) -> Value { return b.create<arith::SubFOp>(loc, x, y); };
        auto mul = [&](Value x, Value y) -> Value { return b.create<arith::MulFOp>(loc, x, y); };
        auto number = [&](double x) { return l.f64(x); };
        /// c[0] + z (c[1] + z (...))
        auto polynomial = [&](Value z, ArrayRef<double> c) {
          Value sum = number(c.back());
          for (double next : llvm::reverse(c.drop_back()))
            sum = add(number(next), mul(z, sum));
          return sum;
        };
        Value x = args[0], turn = args[1];
        Value k = b.create<LLVM::RoundEvenOp>(loc, mul(x, number(6.36619772367581382433e-01)));
        Value r1 = sub(x, mul(k, number(1.57079632673412561417e+00)));
        Value w1 = mul(k, number(6.07710050630396597660e-11));
        Value r2 = sub(r1, w1), w2 = sub(sub(r1, r2), w1);
        Value w3 = mul(k, number(2.02226624871116645580e-21));
        Value r3 = sub(r2, w3), b3 = sub(r3, r2);
        Value lost = sub(sub(r2, sub(r3, b3)), add(w3, b3));
        Value rest = sub(add(w2, lost), mul(k, number(8.47842766036889956997e-32)));
        Value y = add(r3, rest), low = add(sub(r3, y), rest), z = mul(y, y), v = mul(z, y);
        Value r = polynomial(z, {8.33333333332248946124e-03, -1.98412698298579493134e-04,
                                 2.75573137070700676789e-06, -2.50507602534068634195e-08,
                                 1.58969099521155010221e-10});
        Value inner = sub(mul(z, sub(mul(number(0.5), low), mul(v, r))), low);
        Value s = sub(y, sub(inner, mul(v, number(-1.66666666666666324348e-01))));
        Value t = mul(z, polynomial(z, {4.16666666666666019037e-02, -1.38888888888741095749e-03,
                                        2.48015872894767294178e-05, -2.75573143513906633035e-07,
                                        2.08757232129817482790e-09, -1.13596475577881948265e-11}));
        Value half = mul(number(0.5), z), w = sub(number(1.0), half);
        Value c = add(w, add(sub(sub(number(1.0), w), half), sub(mul(z, t), mul(y, low))));
        Value q = l.andInt(l.add(b.create<arith::FPToSIOp>(loc, i64, k), turn), l.i64(3));
        Value even = l.cmp(CmpIPredicate::eq, l.andInt(q, l.i64(1)), l.i64(0));
        Value result = l.pick(even, s, c);
        result = l.pick(l.cmp(CmpIPredicate::slt, q, l.i64(2)), result,
                        b.create<arith::NegFOp>(loc, result));
        // The sign of a zero stays.
        Value zero = l.andInt(b.create<arith::CmpFOp>(loc, CmpFPredicate::OEQ, x, number(0.0)),
                              l.cmp(CmpIPredicate::eq, turn, l.i64(0)));
        return l.pick(zero, x, result);
      });
}

func::FuncOp penstock::conversion::drawHelper(OpBuilder &b, Location loc) {
  Type i64 = b.getI64Type();
  return helper(b, loc, "pst.draw", b.getFunctionType({i64, i64, i64, i64, i64}, {i64}),
                [](const Lanes &l, ValueRange args) {
                  return Random(l).rounds({args[0], args[2], args[3], args[4]}, args[1], {});
                });
}

// random.h, permute: eight Feistel rounds, walked along the cycle.
func::FuncOp penstock::conversion::permuteHelper(OpBuilder &b, Location loc) {
  Type i64 = b.getI64Type();
  return helper(
      b, loc, "pst.permute", b.getFunctionType({i64, i64, i64}, {i64}),
      [&](const Lanes &l, ValueRange args) {
        Value key = args[0], n = args[1], start = args[2];
        Value outside =
            l.orInt(l.cmp(CmpIPredicate::ule, n, l.i64(1)), l.cmp(CmpIPredicate::uge, start, n));
        Random random(l);
        auto whole = b.create<scf::IfOp>(loc, TypeRange{i64}, outside, true);
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(whole.thenBlock());
        b.create<scf::YieldOp>(loc, start);
        b.setInsertionPointToStart(whole.elseBlock());
        // half = number of steps until 2^(2 half) reaches n, at least 1, at most 32.
        auto halves = b.create<scf::ForOp>(
            loc, l.i64(1), l.i64(32), l.i64(1), ValueRange{l.i64(1)},
            [&](OpBuilder &, Location, Value, ValueRange carried) {
              Value half = carried[0];
              Value power = b.create<arith::ShLIOp>(loc, l.i64(1), l.shl(half, 1));
              Value small = l.cmp(CmpIPredicate::ult, power, n);
              b.create<scf::YieldOp>(loc, l.pick(small, l.add(half, l.i64(1)), half));
            });
        Value half = halves.getResult(0);
        Value mask = l.sub(b.create<arith::ShLIOp>(loc, l.i64(1), half), l.i64(1));
        auto walk = b.create<scf::WhileOp>(
            loc, TypeRange{i64}, ValueRange{start},
            [&](OpBuilder &, Location, ValueRange state) {
              Value left = b.create<arith::ShRUIOp>(loc, state[0], half);
              Value right = l.andInt(state[0], mask);
              for (int64_t round = 0; round < 8; ++round) {
                Value mixed = random.mix(l.add(key, l.i64(round)), right);
                Value next = l.xorInt(left, l.andInt(mixed, mask));
                left = right;
                right = next;
              }
              Value image = l.orInt(b.create<arith::ShLIOp>(loc, left, half), right);
              b.create<scf::ConditionOp>(loc, l.cmp(CmpIPredicate::uge, image, n),
                                         ValueRange{image});
            },
            [&](OpBuilder &, Location, ValueRange state) { b.create<scf::YieldOp>(loc, state); });
        b.create<scf::YieldOp>(loc, walk.getResult(0));
        b.setInsertionPointAfter(whole);
        return whole.getResult(0);
      });
}
