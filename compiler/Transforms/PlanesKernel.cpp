// SPDX-License-Identifier: Apache-2.0
//
// Upsampling and colour conversion as libjpeg-turbo does it (jdsample.c, fancy; jdcolor.c), as ops.
//
// Its cases are one formula here: along a halved axis a pixel is 3/4 of its own chroma sample and
// 1/4 of the nearer neighbour, which at the picture's edge is the sample itself (a load clamps its
// index), rounded up and down in turn. So there is no branch, and all samplings are one kernel.
#include "compiler/Transforms/PlanesKernel.h"
#include "compiler/Dialect/ScalarBuilder.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::transforms {

namespace {

/// Emits the body of the map.
class PixelEmitter {
public:
  PixelEmitter(OpBuilder &builder, Location loc) : builder(builder), loc(loc), math(builder, loc) {}

  /// A pixel's place along an axis of chroma.
  struct Place {
    Value own, beside;          ///< samples
    Value isHalved, isOdd;      ///< 1 or 0, in i32
    Value weight, besideWeight; ///< 3 and 1, or 1 and 0
  };
  Place placeOf(Value pixel, Value phase, Value isHalved) {
    const Value at = math.add(pixel, phase), one = math.constant(1);
    const Value isOdd = math.logicalAnd(at, isHalved);
    const Value own = math.binary(BinaryKind::shr, at, isHalved);
    const Value step = math.sub(math.add(isOdd, isOdd), isHalved); // 1, -1, or 0
    const Value halved = narrow(isHalved);
    return {own,
            math.add(own, step),
            halved,
            narrow(isOdd),
            math.add(narrow(one), math.add(halved, halved)),
            halved};
  }

  /// The upsampled value, less 128.
  Value chroma(Value plane, const Place &row, const Place &column) {
    auto down = [&](Value at) {
      return blend(load(plane, row.own, at), load(plane, row.beside, at), row);
    };
    const Value sum = blend(down(column.own), down(column.beside), column);
    // Of both axes 8 for an even column and 7 for an odd one; of one axis 1 and 2.
    const Value odd = math.add(row.isOdd, column.isOdd);
    const Value halves = math.add(row.isHalved, column.isHalved);
    const Value isBoth = math.compare(Predicate::eq, halves, number(2));
    const Value isAny = math.binary(BinaryKind::min, halves, number(1));
    const Value rounding =
        math.select(isBoth, math.sub(number(8), column.isOdd), math.add(isAny, odd));
    const Value shift = math.add(halves, halves);
    return math.sub(math.binary(BinaryKind::shr, math.add(sum, rounding), shift), number(128));
  }

  /// One channel, as u8.
  Value colour(Value luma, Value blue, Value red, Value channel) {
    auto ofChannel = [&](int32_t r, int32_t g, int32_t b) {
      return math.selectByIndex(channel, {number(r), number(g), number(b)});
    };
    // jdcolor.c's FIX(): 65536 times 1.402, 0.34414, 0.71414 and 1.772.
    const Value fromBlue = math.mul(ofChannel(0, -22554, 116130), blue);
    const Value fromRed = math.mul(ofChannel(91881, -46802, 0), red);
    const Value sum = math.add(math.add(fromBlue, fromRed), number(1 << 15));
    const Value value = math.add(narrow(luma), math.binary(BinaryKind::shr, sum, number(16)));
    return builder.create<CastOp>(loc, builder.getIntegerType(8, false), CastMode::clamp, value,
                                  ValueRange());
  }

private:
  Value number(int32_t value) {
    return builder.create<ConstantOp>(loc, builder.getI32Type(), builder.getI32IntegerAttr(value));
  }
  Value narrow(Value value) { return math.cast(value, builder.getI32Type()); }
  Value load(Value plane, Value row, Value column) {
    return narrow(builder.create<LoadOp>(loc, builder.getIntegerType(8, false), plane,
                                         ValueRange{row, column}));
  }
  Value blend(Value own, Value beside, const Place &place) {
    return math.add(math.mul(own, place.weight), math.mul(beside, place.besideWeight));
  }

  OpBuilder &builder;
  Location loc;
  ScalarBuilder math;
};

} // namespace

KernelOp makePlanesKernel(OpBuilder &builder, Location loc, NamedTensorType pixels) {
  OpBuilder::InsertionGuard guard(builder);
  auto kernel = builder.create<KernelOp>(loc, "planes", "pixels", DictionaryAttr());
  Block *body = builder.createBlock(&kernel.getBody());
  const Type byte = pixels.getElementType(), i64 = builder.getI64Type();
  auto plane = [&](StringRef rows, StringRef columns) {
    Axis axes[2];
    axes[0].name = rows.str();
    axes[1].name = columns.str();
    return body->addArgument(NamedTensorType::get(builder.getContext(), byte, axes), loc);
  };
  const auto &axes = pixels.getAxes();
  const Value luma = plane(axes[0].name, axes[1].name);
  const Value blue = plane("chroma_h", "chroma_w"), red = plane("chroma_h", "chroma_w");
  Value top = body->addArgument(i64, loc), left = body->addArgument(i64, loc);
  Value halvesRows = body->addArgument(i64, loc), halvesColumns = body->addArgument(i64, loc);
  ScalarBuilder math(builder, loc);
  SmallVector<Value> sizes;
  for (int64_t axis : pixels.dynamicAxes())
    sizes.push_back(math.extent(luma, axis));
  auto map = builder.create<MapOp>(loc, pixels, ValueRange{luma}, sizes);
  Block *element =
      builder.createBlock(&map.getBody(), {}, {byte, i64, i64, i64}, {loc, loc, loc, loc});
  PixelEmitter emitter(builder, loc);
  const auto row = emitter.placeOf(element->getArgument(1), top, halvesRows);
  const auto column = emitter.placeOf(element->getArgument(2), left, halvesColumns);
  const Value result = emitter.colour(element->getArgument(0), emitter.chroma(blue, row, column),
                                      emitter.chroma(red, row, column), element->getArgument(3));
  builder.create<YieldOp>(loc, result);
  builder.setInsertionPointToEnd(body);
  builder.create<ReturnOp>(loc, ValueRange{map.getResult()});
  return kernel;
}

void crossAsPlanes(ModuleOp module) {
  KernelOp kernel;
  module.walk([&](DecodeOp decode) {
    auto type = llvm::cast<NamedTensorType>(decode.getType());
    if (!decode.mayCrossAsPlanes())
      return;
    if (!kernel) {
      OpBuilder builder(module.getContext());
      kernel = makePlanesKernel(builder, decode.getLoc(), type);
      SymbolTable(module).insert(kernel, module.getBody()->begin());
    }
    if (kernel.getBody().front().getTerminator()->getOperand(0).getType() == type)
      decode.setPlanes(kernel.getSymName());
  });
}

} // namespace penstock::transforms
