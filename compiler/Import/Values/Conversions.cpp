// SPDX-License-Identifier: Apache-2.0
//
// Conversions of element types.
#include "compiler/Import/Values/Arithmetic.h"

#include <cmath>

using namespace penstock::importer;
using penstock::pipe::CastMode;

Val Arithmetic::castTo(CastMode mode, const Val &value, mlir::Type to, dsl::SourceRange range) {
  mlir::Type from = elementType(value);
  if (!from)
    fail(range, "only numbers and tensors convert to " + show(to) + ", and this is " + show(value));
  if (mode == CastMode::bits && from.getIntOrFloatBitWidth() != to.getIntOrFloatBitWidth())
    fail(range, "the bits of " + show(from) + " do not fit " + show(to) +
                    ": both must have the same width");
  if (value.is(Kind::Tensor)) {
    if (from == to)
      return value;
    std::vector<Dim> axes = dims(value.ir);
    return tensor(
        base.create<pipe::CastOp>(here, tensorOf(to, axes), mode, value.ir, sizesOf(axes)));
  }
  if (value.is(Kind::Number))
    return number(cast(mode, value.ir, to));
  return lift({value}, to, [&](auto v) { return cast(mode, v[0], to); }, range);
}

/// Returns whether integer constants keep their value in an integer type: one, those that are
/// chosen from, those that are the elements of a map, and what such a map reads of another.
static bool fits(mlir::Value value, mlir::Type to) {
  auto integer = llvm::dyn_cast<mlir::IntegerType>(to);
  if (!integer)
    return false;
  llvm::DenseSet<mlir::Value> seen; // choices share what they choose from
  llvm::SmallVector<mlir::Value> open{value};
  while (!open.empty()) {
    mlir::Value next = open.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (auto select = next.getDefiningOp<penstock::pipe::SelectOp>()) {
      open.append({select->getOperand(1), select->getOperand(2)});
    } else if (auto map = next.getDefiningOp<penstock::pipe::MapOp>()) {
      open.push_back(map.getBody().front().getTerminator()->getOperand(0));
    } else if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(next)) {
      auto of = llvm::dyn_cast<penstock::pipe::MapOp>(argument.getOwner()->getParentOp());
      if (!of || argument.getArgNumber() >= of.getInputs().size())
        return false;
      open.push_back(of.getInputs()[argument.getArgNumber()]);
    } else {
      auto constant = next.getDefiningOp<penstock::pipe::ConstantOp>();
      auto number = constant ? llvm::dyn_cast<mlir::IntegerAttr>(constant.getValue()) : nullptr;
      if (!number || !(integer.isUnsigned() ? number.getValue().isIntN(integer.getWidth())
                                            : number.getValue().isSignedIntN(integer.getWidth())))
        return false;
    }
  }
  return true;
}

bool Arithmetic::converts(const Val &value, mlir::Type to) {
  mlir::Type from = elementType(value);
  if (!from || from == to)
    return from == to;
  const bool isInt = from.isSignlessInteger(64);
  if (llvm::isa<mlir::FloatType>(to))
    return isInt || (value.untyped && from.isF64());
  return value.untyped && isInt && !to.isSignlessInteger(1) && !value.is(Kind::Neighbours) &&
         fits(value.ir, to);
}

std::optional<Val> Arithmetic::convert(const Val &value, mlir::Type to) {
  if (!converts(value, to))
    return std::nullopt;
  if (elementType(value) == to) {
    Val same = value;
    same.untyped = false;
    return same;
  }
  return castTo(CastMode::value, value, to, {});
}

void Arithmetic::unifyEnds(Val &low, Val &high, dsl::SourceRange range) {
  auto isWhole = [](const Val &end) {
    mlir::Type type = elementType(end);
    return type && llvm::isa<mlir::IntegerType>(type);
  };
  const bool isLowWhole = isWhole(low), isHighWhole = isWhole(high);
  unify("..", low, high, range);
  low.wasWhole = isLowWhole && !isHighWhole;
  high.wasWhole = isHighWhole && !isLowWhole;
}

mlir::Type Arithmetic::unify(const std::string &spelling, Val &a, Val &b, dsl::SourceRange range) {
  mlir::Type left = elementType(a), right = elementType(b);
  if (!left || !right) {
    if (a.is(Kind::Poison) || b.is(Kind::Poison))
      throw Abort{};
    const Val &wrong = left ? b : a;
    fail(range, quote(spelling) + " takes numbers and tensors, and one side is " + show(wrong),
         wrong.is(Kind::List)
             ? "a list becomes a tensor by a declared type: `let x: f32[c] = [...]`"
             : "");
  }
  auto isFloat = [](mlir::Type type) { return llvm::isa<mlir::FloatType>(type); };
  auto isInt = [](mlir::Type type) { return type.isSignlessInteger(64); };
  // Types of storage, which are computed with as f32.
  auto isStored = [](mlir::Type type) { return type.isF16() || type.isBF16(); };
  mlir::Type common;
  if (left == right)
    common = left;
  else if ((isStored(left) && right.isF32()) || (left.isF32() && isStored(right)))
    common = mlir::Float32Type::get(&context);
  else if (isFloat(left) && isFloat(right))
    common = a.untyped && !b.untyped ? right : b.untyped && !a.untyped ? left : mlir::Type();
  else if (isInt(left) && isFloat(right))
    common = right;
  else if (isInt(right) && isFloat(left))
    common = left;
  else if (a.untyped && isInt(left) && !isFloat(right) && fits(a.ir, right))
    common = right;
  else if (b.untyped && isInt(right) && !isFloat(left) && fits(b.ir, left))
    common = left;
  auto refuseLarge = [&](const Val &number, mlir::Type type) {
    const std::optional<int64_t> constant =
        number.is(Kind::Number) && number.untyped && isInt(elementType(number))
            ? constantInt(number.ir)
            : std::nullopt;
    if (constant && llvm::isa<mlir::IntegerType>(type) && !type.isSignlessInteger(1))
      fail(range,
           quote(spelling) + " of " + show(a) + " and " + show(b) + ": " +
               std::to_string(*constant) + " does not fit " + show(type),
           quote(llvm::isInt<32>(*constant) && type.getIntOrFloatBitWidth() < 32 ? "i32(...)"
                                                                                 : "i64(...)") +
               " of the other side has room for it");
  };
  if (!common) {
    refuseLarge(a, right);
    refuseLarge(b, left);
    const bool hasBool = left.isSignlessInteger(1) || right.isSignlessInteger(1);
    const bool isWider = left.getIntOrFloatBitWidth() > right.getIntOrFloatBitWidth();
    std::string target =
        hasBool && !isFloat(left) && !isFloat(right)
            ? (a.untyped || b.untyped ? "i32" : show(left.isSignlessInteger(1) ? right : left))
        : a.untyped || b.untyped          ? "f32"
        : isFloat(left) == isFloat(right) ? show(isFloat(left) && !isWider ? right : left)
        : isFloat(left)                   ? show(left)
                                          : show(right);
    fail(range,
         quote(spelling) + " of " + show(a) + " and " + show(b) +
             ": element types do not convert by themselves",
         quote(target + "(...)") + " converts");
  }
  if (isStored(common))
    common = mlir::Float32Type::get(&context);
  for (const Val *side : {&a, &b}) {
    const std::optional<double> written = common.isF32() && side->is(Kind::Number) && side->untyped
                                              ? constantF64(side->ir)
                                              : std::nullopt;
    constexpr double roundsToInfinity = 0x1.ffffffp127; // half a step behind the largest f32
    if (written && std::isfinite(*written) && std::abs(*written) >= roundsToInfinity)
      fail(range,
           quote(spelling) + " of " + show(a) + " and " + show(b) +
               ": the number does not fit f32, which ends at 3.4e38",
           "`f64(...)` of the other side has room for it");
  }
  const bool untyped =
      common.isF64() && (a.untyped || !isFloat(left)) && (b.untyped || !isFloat(right));
  const bool untypedInt = isInt(common) && a.untyped && b.untyped;
  a = castTo(CastMode::value, a, common, range);
  b = castTo(CastMode::value, b, common, range);
  a.untyped = b.untyped = untyped || untypedInt;
  return common;
}
