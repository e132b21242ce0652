// SPDX-License-Identifier: Apache-2.0
//
// Scalars on a small grid.
#include "compiler/Import/Values/Arithmetic.h"

using namespace penstock::importer;
using penstock::pipe::BinaryKind;
using penstock::pipe::ReduceKind;

Val Arithmetic::onGrid(const Val &value, const std::vector<Val::GridAxis> &grid,
                       dsl::SourceRange range) {
  std::vector<Dim> axes = dims(value.ir);
  const bool small = !axes.empty() && llvm::all_of(axes, [&](const Dim &axis) {
    return llvm::any_of(grid, [&](const Val::GridAxis &mine) {
      return mine.name == axis.axis.name && mine.extent == axis.axis.extent;
    });
  });
  if (!small) {
    // Its place would be that in the picture, not in the window.
    for (const Dim &axis : axes)
      for (const Val::GridAxis &mine : grid) {
        const Dim *around =
            regions.empty() ? nullptr : find(regions.back()->domain, axis.axis.name);
        if (mine.name == axis.axis.name && axis.axis.isStatic() &&
            mine.extent != axis.axis.extent && !(around && around->axis.extent == axis.axis.extent))
          fail(range, "the window has " + std::to_string(mine.extent) + " elements along axis " +
                          quote(mine.name) + ", and this tensor has " +
                          std::to_string(axis.axis.extent));
      }
    return number(elementHere(value.ir, range));
  }
  Val out;
  out.kind = Kind::Neighbours;
  mlir::DenseElementsAttr constants;
  if (auto op = value.ir.getDefiningOp<pipe::ConstantOp>())
    constants = llvm::dyn_cast<mlir::DenseElementsAttr>(op.getValue());
  int64_t count = 1;
  for (const Dim &axis : axes) {
    out.grid.push_back({axis.axis.name, 0, axis.axis.extent});
    count *= axis.axis.extent;
  }
  mlir::Type element = elementType(value);
  auto values = constants ? llvm::to_vector(constants.getValues<mlir::Attribute>())
                          : llvm::SmallVector<mlir::Attribute>();
  for (int64_t i = 0; i < count; ++i) {
    if (constants) {
      out.parts.push_back(number(base.create<pipe::ConstantOp>(
          here, element, llvm::cast<mlir::TypedAttr>(values[static_cast<size_t>(i)]))));
      continue;
    }
    std::map<std::string, mlir::Value> at;
    int64_t rest = i;
    for (size_t k = axes.size(); k-- > 0;) {
      at[axes[k].axis.name] = intConstant(rest % axes[k].axis.extent);
      rest /= axes[k].axis.extent;
    }
    out.parts.push_back(number(loadHere(value.ir, at, range)));
  }
  return out;
}

// Float sums give the bits of `pipe.reduce`: 32 lanes, then a tree. Adding the
// 0.0 that each lane starts from matters for -0.0 alone, so it is added once.
static mlir::Value floatSum(std::vector<mlir::Value> values,
                            const std::function<mlir::Value(mlir::Value, mlir::Value)> &add) {
  std::vector<mlir::Value> lanes(32);
  for (size_t i = 0; i < values.size(); ++i)
    lanes[i % 32] = lanes[i % 32] ? add(lanes[i % 32], values[i]) : values[i];
  for (size_t half = 16; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i)
      if (lanes[i + half])
        lanes[i] = add(lanes[i], lanes[i + half]);
  return lanes[0];
}

/// A float's bits, all but the sign turned over where it is set, or back.
mlir::Value Arithmetic::turned(mlir::Value bits) {
  mlir::Type type = bits.getType();
  const unsigned width = type.getIntOrFloatBitWidth();
  auto number = [&](const llvm::APInt &value) {
    return base.create<pipe::ConstantOp>(here, type, mlir::IntegerAttr::get(type, value))
        .getResult();
  };
  mlir::Value sign = binary(BinaryKind::shr, bits, number(llvm::APInt(width, width - 1)));
  return binary(BinaryKind::bit_xor, bits,
                binary(BinaryKind::bit_and, sign, number(llvm::APInt::getSignedMaxValue(width))));
}

mlir::Value Arithmetic::sortKey(mlir::Value x, bool nanLast) {
  auto real = llvm::dyn_cast<mlir::FloatType>(x.getType());
  if (x.getType().isSignlessInteger(1))
    return cast(pipe::CastMode::value, x, base.getIntegerType(8));
  if (!real)
    return x;
  mlir::Type type = base.getIntegerType(real.getWidth());
  mlir::Value key = turned(cast(pipe::CastMode::bits, x, type)); // NaN has bits beyond infinity's
  if (nanLast)
    return key;
  auto number = [&](const llvm::APInt &value) {
    return base.create<pipe::ConstantOp>(here, type, mlir::IntegerAttr::get(type, value))
        .getResult();
  };
  const auto infinity = llvm::APFloat::getInf(real.getFloatSemantics()).bitcastToAPInt();
  return select(compare(pipe::Predicate::gt, key, number(infinity)),
                number(llvm::APInt::getSignedMinValue(real.getWidth())), key);
}

mlir::Value Arithmetic::fromSortKey(mlir::Value key, mlir::Type type) {
  if (type.isSignlessInteger(1))
    return cast(pipe::CastMode::value, key, type);
  return llvm::isa<mlir::FloatType>(type) ? cast(pipe::CastMode::bits, turned(key), type) : key;
}

Val Arithmetic::reduceNeighbours(ReduceKind kind, const Val &value,
                                 const std::vector<std::string> &over, dsl::SourceRange range) {
  Val out;
  out.kind = Kind::Neighbours;
  for (const Val::GridAxis &axis : value.grid)
    if (!llvm::is_contained(over, axis.name))
      out.grid.push_back(axis);
  size_t groups = 1;
  for (const Val::GridAxis &axis : out.grid)
    groups *= static_cast<size_t>(axis.extent);
  std::vector<std::vector<mlir::Value>> members(groups);
  for (size_t i = 0; i < value.parts.size(); ++i) {
    size_t rest = i, group = 0, scale = 1;
    for (size_t k = value.grid.size(); k-- > 0;) {
      const auto extent = static_cast<size_t>(value.grid[k].extent);
      if (!llvm::is_contained(over, value.grid[k].name)) {
        group += rest % extent * scale;
        scale *= extent;
      }
      rest /= extent;
    }
    members[group].push_back(value.parts[i].ir);
  }
  mlir::Type element = elementType(value);
  const bool isFloat = llvm::isa<mlir::FloatType>(element);
  for (std::vector<mlir::Value> &group : members) {
    BinaryKind combine = kind == ReduceKind::min   ? BinaryKind::min
                         : kind == ReduceKind::max ? BinaryKind::max
                         : kind == ReduceKind::any ? BinaryKind::bit_or
                         : kind == ReduceKind::all ? BinaryKind::bit_and
                                                   : BinaryKind::add;
    if (kind == ReduceKind::argmin || kind == ReduceKind::argmax) {
      const bool least = kind == ReduceKind::argmin;
      mlir::Value place = intConstant(0), best = sortKey(group.front(), least);
      for (size_t i = 1; i < group.size(); ++i) {
        mlir::Value key = sortKey(group[i], least);
        mlir::Value better = compare(least ? pipe::Predicate::lt : pipe::Predicate::gt, key, best);
        place = select(better, intConstant(static_cast<int64_t>(i)), place);
        best = select(better, key, best);
      }
      out.parts.push_back(number(place));
      continue;
    }
    if (kind == ReduceKind::count)
      for (mlir::Value &flag : group)
        flag = cast(pipe::CastMode::value, flag, base.getI64Type());
    auto add = [&](mlir::Value a, mlir::Value b) { return binary(combine, a, b); };
    mlir::Value result;
    if (isFloat && kind == ReduceKind::sum) {
      result = add(constant(element, 0), floatSum(group, add));
    } else {
      for (mlir::Value member : group)
        result = result ? add(result, member) : member;
    }
    out.parts.push_back(number(result));
  }
  return out.grid.empty() ? out.parts.front() : out;
}
