// SPDX-License-Identifier: Apache-2.0
//
// Pointwise chains of one byte, proved by trying all.
//
// The f32 division of a normalisation costs more than all the rest of it. A u8
// has 256 values, so whether a product does as well is not a question of error
// analysis: all of them are tried, with the constants at hand.
#include "compiler/Conversion/KernelToLoops/Elements/ByteChains.h"
#include "compiler/Conversion/KernelToLoops/Vector/LaneFloats.h"
#include "compiler/Conversion/KernelToLoops/Vector/Reciprocal.h"
#include "compiler/Lane/LaneDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "runtime/abi/scalar.h"
#include <algorithm>
#include <array>
#include <cmath>

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
namespace scalar = penstock::scalar;

using Step = ByteChain::Step;

static float run(const ByteChain &chain, float x) {
  for (const Step &step : chain.steps) {
    const float a = step.constantFirst ? step.constant : x,
                c = step.constantFirst ? x : step.constant;
    x = step.kind == BinaryKind::add   ? a + c
        : step.kind == BinaryKind::sub ? a - c
        : step.kind == BinaryKind::mul ? a * c
                                       : a / c;
  }
  return x;
}

/// The bits that are stored.
static uint32_t stored(const ByteChain &chain, float x) {
  if (chain.result.isF16())
    return scalar::toHalf(x);
  if (chain.result.isBF16())
    return scalar::toBfloat(x);
  return std::bit_cast<uint32_t>(x);
}

std::optional<ByteChain>
penstock::conversion::findByteChain(Block &body,
                                    llvm::function_ref<std::optional<float>(Value)> constantOf) {
  ByteChain chain;
  Value current = body.getTerminator()->getOperand(0);
  chain.result = current.getType();
  auto take = [&](Operation *op, Value next) {
    chain.ops.insert(op);
    current = next;
  };
  if (auto cast = current.getDefiningOp<CastOp>();
      cast && (chain.result.isF16() || chain.result.isBF16()) && cast.getMode() != CastMode::bits)
    take(cast, cast.getValue());
  while (current.getType().isF32() && current.getParentBlock() == &body) {
    if (auto cast = current.getDefiningOp<CastOp>()) {
      if (!cast.getValue().getType().isUnsignedInteger(8) || cast.getMode() == CastMode::bits)
        return std::nullopt;
      take(cast, cast.getValue());
      chain.root = current;
      std::reverse(chain.steps.begin(), chain.steps.end());
      return chain;
    }
    auto binary = current.getDefiningOp<BinaryOp>();
    if (!binary || binary.getKind() > BinaryKind::div)
      return std::nullopt;
    auto lhs = constantOf(binary.getLhs()), rhs = constantOf(binary.getRhs());
    if (lhs.has_value() == rhs.has_value())
      return std::nullopt;
    chain.steps.push_back({binary.getKind(), lhs ? *lhs : *rhs, lhs.has_value()});
    take(binary, lhs ? binary.getRhs() : binary.getLhs());
  }
  return std::nullopt;
}

/// Scale and offset whose fused multiply-add stores the same bits for every
/// byte, searched within a few units in the last place.
static std::optional<std::pair<float, float>> asOneStep(const ByteChain &chain, bool fused) {
  std::array<uint32_t, 256> wanted;
  for (int x = 0; x < 256; ++x)
    wanted[x] = stored(chain, run(chain, static_cast<float>(x)));
  double scale = 1, offset = 0;
  for (const Step &step : chain.steps) {
    const double c = static_cast<double>(step.constant);
    switch (step.kind) {
    case BinaryKind::add:
      offset += c;
      break;
    case BinaryKind::sub:
      offset = step.constantFirst ? c - offset : offset - c;
      scale = step.constantFirst ? -scale : scale;
      break;
    case BinaryKind::mul:
      scale *= c;
      offset *= c;
      break;
    default:
      if (step.constantFirst)
        return std::nullopt;
      scale /= c;
      offset /= c;
    }
  }
  auto near = [](double value, int steps) {
    float f = static_cast<float>(value);
    for (int i = 0; i < std::abs(steps); ++i)
      f = std::nextafter(f, steps < 0 ? -INFINITY : INFINITY);
    return f;
  };
  constexpr int reach = 3;
  for (int distance = 0; distance <= reach; ++distance)
    for (int ds = -distance; ds <= distance; ++ds)
      for (int dt = -distance; dt <= distance; ++dt) {
        if (std::max(std::abs(ds), std::abs(dt)) != distance)
          continue;
        const float s = near(scale, ds), t = near(offset, dt);
        bool same = true;
        for (int x = 0; x < 256 && same; ++x) {
          const float f = static_cast<float>(x);
          same = stored(chain, fused ? std::fma(f, s, t) : f * s + t) == wanted[x];
        }
        if (same)
          return std::pair(s, t);
      }
  return std::nullopt;
}

/// Returns whether every division may become a product with a two-part reciprocal.
static bool reciprocalsHold(const ByteChain &chain) {
  for (int byte = 0; byte < 256; ++byte) {
    float x = static_cast<float>(byte);
    for (const Step &step : chain.steps) {
      if (step.kind == BinaryKind::div && step.constantFirst)
        return false;
      ByteChain one;
      one.steps = {step};
      const float exact = run(one, x);
      if (step.kind == BinaryKind::div &&
          std::bit_cast<uint32_t>(Reciprocal(step.constant).divide(x)) !=
              std::bit_cast<uint32_t>(exact))
        return false;
      x = exact;
    }
  }
  return true;
}

std::optional<CheaperChain>
penstock::conversion::proveByteChain(const ByteChain &chain, const penstock::lane::Features &has) {
  const bool divides =
      llvm::any_of(chain.steps, [](const Step &s) { return s.kind == BinaryKind::div; });
  if (!divides && chain.steps.size() < 2)
    return std::nullopt;
  double low = INFINITY, high = -INFINITY;
  for (int byte = 0; byte < 256; ++byte) {
    low = std::min<double>(low, run(chain, static_cast<float>(byte)));
    high = std::max<double>(high, run(chain, static_cast<float>(byte)));
  }
  if (!std::isfinite(low) || !std::isfinite(high))
    return std::nullopt;
  CheaperChain form;
  // Of the sums of the cheaper form, too.
  form.range = Interval::of(low - std::abs(low) * 1e-3 - 1e-3, high + std::abs(high) * 1e-3 + 1e-3);
  const bool fused = has.fusedMultiplyAdd;
  form.oneStep = asOneStep(chain, fused);
  if (form.oneStep || (fused && divides && reciprocalsHold(chain)))
    return form;
  return std::nullopt;
}

/// x / 255 * 2^32. A byte written four times is x / 255 * (2^32 - 1), an integer. What does not
/// fit the 24 bits of a float begins with the byte's own highest bit, so x / 255 * 2^32
/// is nearest to the float above: one conversion that rounds up.
static Value bytesBy255(const Lanes &l, const LaneValue &root) {
  SmallVector<int64_t> fourTimes;
  for (int64_t byte = 0; byte < 4 * l.lanes; ++byte)
    fourTimes.push_back(byte / 4);
  Value copies = l.b.create<vector::ShuffleOp>(l.loc, root.value, root.value, fourTimes);
  Value integers =
      l.b.create<vector::BitCastOp>(l.loc, l.like(root.value, l.b.getI32Type()), copies);
  Value scaled = perRegister(l, {integers}, [&](ValueRange parts) -> Value {
    return l.b.create<penstock::lane::ConvertUpOp>(l.loc, l.like(parts[0], l.b.getF32Type()),
                                                   parts[0]);
  });
  return scaled;
}

LaneValue penstock::conversion::emitByteChain(const Lanes &l, const ByteChain &chain,
                                              const CheaperChain &form, LaneValue root) {
  OpBuilder &b = l.b;
  Value v = l.cast(CastMode::value, root, b.getF32Type()).value;
  auto number = [&](float value) { return l.floatLike(v, static_cast<double>(value)); };
  auto madd = [&](Value x, float s, Value t) -> Value {
    if (l.has.fusedMultiplyAdd)
      return b.create<LLVM::FMAOp>(l.loc, x, number(s), t);
    return b.create<arith::AddFOp>(l.loc, b.create<arith::MulFOp>(l.loc, x, number(s)), t);
  };
  if (form.oneStep) {
    v = madd(v, form.oneStep->first, number(form.oneStep->second));
    return l.cast(CastMode::value, {v, b.getF32Type(), form.range}, chain.result);
  }
  ArrayRef<Step> steps = chain.steps;
  // Without a permutation of bytes, copying them takes longer than dividing. It is one more where
  // the load has widened the bytes already, and what a longer chain saves elsewhere waits for
  // memory.
  if (l.has.permuteBytes && l.has.convertUp && fillsRegisters(l, v) && steps.size() == 1 &&
      steps[0].kind == BinaryKind::div && steps[0].constant == 255) {
    Value scaled = bytesBy255(l, root);
    v = b.create<arith::MulFOp>(l.loc, scaled, l.floatLike(scaled, 0x1p-32));
    LaneValue quotient = l.cast(CastMode::value, {v, b.getF32Type(), form.range}, chain.result);
    if (quotient.value == v)
      quotient.scaled = scaled;
    return quotient;
  }
  for (const Step &step : steps) {
    Value c = number(step.constant), first = step.constantFirst ? c : v,
          second = step.constantFirst ? v : c;
    if (step.kind == BinaryKind::add)
      v = b.create<arith::AddFOp>(l.loc, first, second);
    else if (step.kind == BinaryKind::sub)
      v = b.create<arith::SubFOp>(l.loc, first, second);
    else if (step.kind == BinaryKind::mul)
      v = b.create<arith::MulFOp>(l.loc, first, second);
    else {
      const Reciprocal r(step.constant);
      v = madd(v, r.high, b.create<arith::MulFOp>(l.loc, v, number(r.low)));
    }
  }
  return l.cast(CastMode::value, {v, b.getF32Type(), form.range}, chain.result);
}
