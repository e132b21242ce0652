//===- ByteChains.cpp - pointwise chains of one byte, proved by trying all --===//
//
// The f32 division of a normalisation costs more than all the rest of it. A u8
// has 256 values, so whether a product does as well is not a question of error
// analysis: all of them are tried, with the constants at hand.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/ByteChains.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "runtime/abi/scalar.h"
#include <array>
#include <cmath>

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
namespace scalar = penstock::scalar;

namespace {
struct Step {
  BinaryKind kind;
  float constant;
  bool constantFirst;
};

struct Chain {
  size_t argument;       ///< the byte
  std::vector<Step> steps;
  Type result;           ///< f32, f16 or bf16

  float run(float x) const {
    for (const Step &step : steps) {
      const float a = step.constantFirst ? step.constant : x, c = step.constantFirst ? x : step.constant;
      x = step.kind == BinaryKind::add ? a + c : step.kind == BinaryKind::sub ? a - c
          : step.kind == BinaryKind::mul ? a * c : a / c;
    }
    return x;
  }
  /// The bits that are stored.
  uint32_t stored(float x) const {
    if (result.isF16())
      return scalar::toHalf(x);
    if (result.isBF16())
      return scalar::toBfloat(x);
    return std::bit_cast<uint32_t>(x);
  }
};

/// 1 / c as the nearest float and what that leaves.
struct Reciprocal {
  float high, low;
  explicit Reciprocal(float c)
      : high(static_cast<float>(1.0 / static_cast<double>(c))),
        low(static_cast<float>(1.0 / static_cast<double>(c) - static_cast<double>(high))) {}
  float divide(float x) const { return std::fma(x, high, x * low); }
};
} // namespace

static std::optional<float> constantFloat(Value value) {
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    if (auto number = llvm::dyn_cast<FloatAttr>(constant.getValue()); number && number.getType().isF32())
      return number.getValue().convertToFloat();
  return std::nullopt;
}

static std::optional<Chain> parse(Block &body, ArrayRef<LaneValue> arguments) {
  Chain chain{arguments.size(), {}, {}};
  DenseMap<Value, float> constants;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    if (auto number = constantFloat(argument.value))
      constants[body.getArgument(i)] = *number;
    else if (argument.type.isUnsignedInteger(8) && chain.argument == arguments.size())
      chain.argument = i;
    else
      return std::nullopt;
  }
  if (chain.argument == arguments.size())
    return std::nullopt;
  Value current = body.getArgument(chain.argument);
  bool isFloat = false;
  auto constantOf = [&](Value value) -> std::optional<float> {
    if (auto known = constants.find(value); known != constants.end())
      return known->second;
    if (auto constant = value.getDefiningOp<ConstantOp>())
      if (auto number = llvm::dyn_cast<FloatAttr>(constant.getValue()); number && number.getType().isF32())
        return number.getValue().convertToFloat();
    return std::nullopt;
  };
  for (Operation &op : body.without_terminator()) {
    if (llvm::isa<ConstantOp>(op))
      continue;
    if (auto cast = llvm::dyn_cast<CastOp>(op)) {
      Type to = cast.getType();
      if (cast.getValue() != current || cast.getMode() == CastMode::bits || chain.result)
        return std::nullopt;
      if (!isFloat && to.isF32())
        isFloat = true;
      else if (isFloat && (to.isF16() || to.isBF16()))
        chain.result = to;
      else
        return std::nullopt;
    } else if (auto binary = llvm::dyn_cast<BinaryOp>(op)) {
      const bool first = binary.getRhs() == current;
      auto constant = constantOf(first ? binary.getLhs() : binary.getRhs());
      if (!isFloat || chain.result || !constant || (!first && binary.getLhs() != current) ||
          binary.getKind() > BinaryKind::div)
        return std::nullopt;
      chain.steps.push_back({binary.getKind(), *constant, first});
    } else {
      return std::nullopt;
    }
    current = op.getResult(0);
  }
  if (!isFloat || body.getTerminator()->getOperand(0) != current)
    return std::nullopt;
  if (!chain.result)
    chain.result = Float32Type::get(current.getContext());
  return chain;
}

/// Scale and offset whose fused multiply-add stores the same bits for every
/// byte, searched within a few units in the last place.
static std::optional<std::pair<float, float>> asOneStep(const Chain &chain, bool fused) {
  std::array<uint32_t, 256> wanted;
  for (int x = 0; x < 256; ++x)
    wanted[x] = chain.stored(chain.run(static_cast<float>(x)));
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
          same = chain.stored(fused ? std::fma(f, s, t) : f * s + t) == wanted[x];
        }
        if (same)
          return std::pair(s, t);
      }
  return std::nullopt;
}

/// Whether every division may become a product with a two-part reciprocal.
static bool reciprocalsHold(const Chain &chain) {
  for (int byte = 0; byte < 256; ++byte) {
    float x = static_cast<float>(byte);
    for (const Step &step : chain.steps) {
      if (step.kind == BinaryKind::div && step.constantFirst)
        return false;
      Chain one{0, {step}, chain.result};
      const float exact = one.run(x);
      if (step.kind == BinaryKind::div &&
          std::bit_cast<uint32_t>(Reciprocal(step.constant).divide(x)) != std::bit_cast<uint32_t>(exact))
        return false;
      x = exact;
    }
  }
  return true;
}

std::optional<LaneValue> penstock::conversion::emitByteChain(Lanes &l, Block &body,
                                                             ArrayRef<LaneValue> arguments) {
  auto chain = parse(body, arguments);
  if (!chain)
    return std::nullopt;
  const bool divides = llvm::any_of(chain->steps, [](const Step &s) { return s.kind == BinaryKind::div; });
  if (!divides && chain->steps.size() < 2)
    return std::nullopt;
  const bool fused = l.level >= CpuLevel::v3;
  OpBuilder &b = l.b;
  LaneValue x = l.cast(CastMode::value, arguments[chain->argument], b.getF32Type());
  auto number = [&](float value) { return l.floatLike(x.value, static_cast<double>(value)); };
  auto madd = [&](Value v, float s, Value t) -> Value {
    if (fused)
      return b.create<LLVM::FMAOp>(l.loc, v, number(s), t);
    return b.create<arith::AddFOp>(l.loc, b.create<arith::MulFOp>(l.loc, v, number(s)), t);
  };
  double low = INFINITY, high = -INFINITY;
  for (int byte = 0; byte < 256; ++byte) {
    low = std::min<double>(low, chain->run(static_cast<float>(byte)));
    high = std::max<double>(high, chain->run(static_cast<float>(byte)));
  }
  if (!std::isfinite(low) || !std::isfinite(high))
    return std::nullopt;
  // Of the sums of the cheaper form, too.
  const Interval range = Interval::of(low - std::abs(low) * 1e-3 - 1e-3, high + std::abs(high) * 1e-3 + 1e-3);
  if (auto step = asOneStep(*chain, fused)) {
    Value v = madd(x.value, step->first, number(step->second));
    return l.cast(CastMode::value, {v, b.getF32Type(), range}, chain->result);
  }
  if (!fused || !divides || !reciprocalsHold(*chain))
    return std::nullopt;
  Value v = x.value;
  for (const Step &step : chain->steps) {
    Value c = number(step.constant), first = step.constantFirst ? c : v, second = step.constantFirst ? v : c;
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
  return l.cast(CastMode::value, {v, b.getF32Type(), range}, chain->result);
}
