// SPDX-License-Identifier: Apache-2.0
//
// The pass pipe-narrow.
//
// Nothing is derived: the 256 results of each channel are computed with the
// dialect's folders, and a pair (a, b) counts only if it gives all of them.
#include "compiler/Analysis/PointBody.h"
#include "compiler/Dialect/SmallReduction.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/Regions.h"
#include "runtime/abi/scalar.h"
#include <array>
#include <cmath>

namespace penstock::transforms {
#define GEN_PASS_DEF_NARROW
#include "compiler/Transforms/Passes.h.inc"
} // namespace penstock::transforms

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::transforms;
namespace analysis = penstock::analysis;
namespace scalar = penstock::scalar;
using analysis::ByteMap;

/// Steps of one ulp that are tried around the obvious `a` and `b`, each way.
static constexpr int reach = 12;

namespace {
/// The 256 results of a channel as bits, and the f32 values they are rounded
/// from.
struct Channel {
  std::array<uint32_t, 256> bits;
  std::array<float, 256> exact;
};
struct Line {
  float a, b;
};
} // namespace

static uint32_t bitsOf(Type type, float value) {
  if (type.isF16())
    return scalar::toHalf(value);
  if (type.isBF16())
    return scalar::toBfloat(value);
  return std::bit_cast<uint32_t>(value);
}

/// The f32 value that `value` is rounded from: the operand of its last cast.
static Value beforeRounding(Value value) {
  auto cast = value.getDefiningOp<CastOp>();
  return cast && cast.getMode() == CastMode::value && cast.getValue().getType().isF32()
             ? cast.getValue()
             : value;
}

static bool computeChannel(const ByteMap &map, int64_t at, Channel &channel) {
  MapOp op = map.map;
  Value yielded = op.getBody().front().getTerminator()->getOperand(0);
  Value source = beforeRounding(yielded);
  if (!source.getType().isF32())
    return false;
  for (int64_t byte = 0; byte < 256; ++byte) {
    DenseMap<Value, Attribute> values;
    auto result = llvm::dyn_cast_or_null<FloatAttr>(map.valueAt(byte, at, &values));
    auto exact = llvm::dyn_cast_or_null<FloatAttr>(values.lookup(source));
    if (!result || !exact)
      return false;
    channel.bits[byte] = static_cast<uint32_t>(result.getValue().bitcastToAPInt().getZExtValue());
    channel.exact[byte] = exact.getValue().convertToFloat();
  }
  return true;
}

/// `value` moved by `steps` neighbours in the order of floats.
static float moved(float value, int steps) {
  for (; steps > 0; --steps)
    value = std::nextafter(value, INFINITY);
  for (; steps < 0; ++steps)
    value = std::nextafter(value, -INFINITY);
  return value;
}

static bool fits(const Channel &channel, Type type, Line line) {
  // From the middle outwards would fail no earlier: errors are scattered.
  for (int byte = 0; byte < 256; ++byte) {
    const float product = static_cast<float>(byte) * line.a;
    if (bitsOf(type, product + line.b) != channel.bits[byte])
      return false;
  }
  return true;
}

static std::optional<Line> lineOf(const Channel &channel, Type type) {
  const double first = channel.exact[0];
  const double slope = (static_cast<double>(channel.exact[255]) - first) / 255;
  if (!std::isfinite(slope) || !std::isfinite(first))
    return std::nullopt;
  // Far from a line: no search.
  const double scale = std::fabs(first) + std::fabs(slope) * 255;
  for (int byte : {31, 64, 127, 200})
    if (std::fabs(first + slope * byte - channel.exact[byte]) > scale * 1e-3)
      return std::nullopt;
  for (int distance = 0; distance <= reach; ++distance)
    for (int da = -distance; da <= distance; ++da)
      for (int db = -distance; db <= distance; ++db) {
        if (std::max(std::abs(da), std::abs(db)) != distance)
          continue;
        const Line line{moved(static_cast<float>(slope), da), moved(static_cast<float>(first), db)};
        if (fits(channel, type, line))
          return line;
      }
  return std::nullopt;
}

/// A constant tensor over the channel axis, or a scalar where there is none.
static Value constants(OpBuilder &builder, const ByteMap &map, ArrayRef<float> values) {
  Type f32 = builder.getF32Type();
  Location loc = MapOp(map.map).getLoc();
  if (map.axis < 0)
    return builder.create<ConstantOp>(loc, f32, builder.getF32FloatAttr(values.front()));
  Axis axis = llvm::cast<NamedTensorType>(MapOp(map.map).getType()).getAxes()[map.axis];
  axis.metadata.clear();
  return builder.create<ConstantOp>(
      loc, NamedTensorType::get(f32, {axis}),
      DenseElementsAttr::get(RankedTensorType::get({static_cast<int64_t>(values.size())}, f32),
                             values));
}

static void narrow(MapOp map) {
  auto type = llvm::cast<NamedTensorType>(map.getType());
  Type element = type.getElementType();
  std::string reason;
  auto bytes = analysis::byteMapOf(map, reason);
  // cast, product, sum, and the rounding of a storage type
  const int64_t cost = element.isF32() ? 3 : 4;
  if (!bytes || !bytes->isConstant || !(element.isF16() || element.isBF16() || element.isF32()) ||
      analysis::costOf(map.getBody().front()) <= cost)
    return;
  SmallVector<float> a, b;
  for (int64_t at = 0; at < bytes->extent(); ++at) {
    Channel channel;
    if (!computeChannel(*bytes, at, channel))
      return;
    auto line = lineOf(channel, element);
    if (!line) {
      addRemark(map, "narrow",
                "keeps its arithmetic: no product and sum give the same bits "
                "for all 256 inputs");
      return;
    }
    a.push_back(line->a);
    b.push_back(line->b);
  }
  OpBuilder builder(map);
  Value slope = constants(builder, *bytes, a);
  Value offset = constants(builder, *bytes, b);
  SmallVector<Value> inputs{map.getInputs()[bytes->input]};
  if (bytes->axis >= 0)
    inputs.append({slope, offset});
  auto narrowed = builder.create<MapOp>(map.getLoc(), type, inputs, map.getSizes());
  Block *body = startBody(builder, narrowed);
  if (bytes->axis >= 0) {
    slope = body->getArgument(1);
    offset = body->getArgument(2);
  }
  Location loc = map.getLoc();
  Type f32 = builder.getF32Type();
  Value x = builder.create<CastOp>(loc, f32, CastMode::value, body->getArgument(0), ValueRange());
  x = builder.create<BinaryOp>(loc, f32, BinaryKind::mul, x, slope);
  x = builder.create<BinaryOp>(loc, f32, BinaryKind::add, x, offset);
  if (!element.isF32())
    x = builder.create<CastOp>(loc, element, CastMode::value, x, ValueRange());
  builder.create<YieldOp>(loc, x);
  if (Attribute remarks = map->getAttr("pipe.remarks"))
    narrowed->setAttr("pipe.remarks", remarks);
  addRemark(narrowed, "narrow",
            "one product and one sum per element: the same bits for all 256 "
            "inputs");
  map.replaceAllUsesWith(narrowed.getResult());
  map.erase();
}

/// The integers of `bits` that all sums of `count` elements of `element` are among.
static Type sumsOf(OpBuilder &builder, Type element, int64_t count, int64_t most) {
  const bool noSign = isUnsigned(element);
  const int64_t largest =
      (int64_t(1) << (element.getIntOrFloatBitWidth() - (noSign ? 0 : 1))) - (noSign ? 1 : 0);
  if (count > most / largest)
    return {};
  if (noSign ? count * largest <= 0xFFFF : count * largest <= 0x7FFF)
    return noSign ? builder.getIntegerType(16, /*isSigned=*/false) : builder.getIntegerType(16);
  return builder.getI32Type();
}

/// A sum of whole numbers as floats is exact, and the same in any order, where it cannot
/// exceed what the type has all integers of. It is taken in integers, and converted once.
static void sumWhole(ReduceOp sum) {
  Operation *first = sum.getValue().getDefiningOp();
  auto cast = llvm::dyn_cast_if_present<CastOp>(first);
  auto type = llvm::cast<NamedTensorType>(sum.getResult().getType());
  Type real = type.getElementType();
  const auto count = reducedElements(sum);
  if (sum.getKind() != ReduceKind::sum || !cast || cast.getMode() != CastMode::value || !count ||
      *count < 1 || !(real.isF32() || real.isF64()))
    return;
  // Floats between keep all integers of 16 bits.
  while (auto inner = cast.getValue().getDefiningOp<CastOp>()) {
    Type between = llvm::cast<NamedTensorType>(inner.getType()).getElementType();
    if (inner.getMode() != CastMode::value || !(between.isF32() || between.isF64()))
      break;
    cast = inner;
  }
  auto from = llvm::cast<NamedTensorType>(cast.getValue().getType());
  Type element = from.getElementType();
  if (!llvm::isa<IntegerType>(element) || element.isInteger(1) ||
      element.getIntOrFloatBitWidth() > 16)
    return;
  OpBuilder builder(sum);
  Type whole = sumsOf(builder, element, *count, real.isF32() ? int64_t(1) << 24 : INT32_MAX);
  if (!whole)
    return;
  Value wide = builder.create<CastOp>(cast.getLoc(), NamedTensorType::get(whole, from.getAxes()),
                                      CastMode::value, cast.getValue(), cast.getSizes());
  auto inner = builder.create<ReduceOp>(sum.getLoc(), NamedTensorType::get(whole, type.getAxes()),
                                        sum.getKind(), wide, sum.getOver(), sum.getSizes());
  auto result = builder.create<CastOp>(sum.getLoc(), type, CastMode::value, inner.getResult(),
                                       sum.getSizes());
  if (Attribute remarks = sum->getAttr("pipe.remarks"))
    inner->setAttr("pipe.remarks", remarks);
  addRemark(inner, "narrow", "adds integers, and converts their sum: it is exact");
  sum.replaceAllUsesWith(result.getResult());
  sum.erase();
  while (first && first->use_empty() && llvm::isa<CastOp>(first)) {
    Operation *behind = first->getOperand(0).getDefiningOp();
    first->erase();
    first = behind;
  }
}

namespace {
struct NarrowPass : penstock::transforms::impl::NarrowBase<NarrowPass> {
  void runOnOperation() override {
    SmallVector<MapOp> maps;
    getOperation()->walk([&](MapOp map) { maps.push_back(map); });
    for (MapOp map : maps)
      narrow(map);
    SmallVector<ReduceOp> sums;
    getOperation()->walk([&](ReduceOp sum) { sums.push_back(sum); });
    for (ReduceOp sum : sums)
      sumWhole(sum);
  }
};
} // namespace
