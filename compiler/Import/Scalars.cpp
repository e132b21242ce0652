//===- Scalars.cpp - building scalar ops ----------------------------------===//

#include "compiler/Import/Places.h"

using namespace penstock::importer;
using penstock::pipe::BinaryKind;
using penstock::pipe::CastMode;
using penstock::pipe::Predicate;

static bool isInside(mlir::Value value, mlir::Block *block) {
  mlir::Block *at = value.getParentBlock();
  while (at) {
    if (at == block)
      return true;
    mlir::Operation *op = at->getParentOp();
    at = op ? op->getBlock() : nullptr;
  }
  return false;
}

bool Importer::isElementLocal(mlir::Value value) const {
  return llvm::any_of(regions, [&](ElementRegion *r) { return isInside(value, r->block); });
}

mlir::OpBuilder Importer::builderFor(mlir::ValueRange operands) {
  for (size_t i = regions.size(); i-- > 0;)
    for (mlir::Value operand : operands)
      if (isInside(operand, regions[i]->block))
        return endOf(regions[i]->block);
  return base;
}

mlir::Value Importer::intConstant(int64_t value) {
  return base.create<pipe::ConstantOp>(here, base.getI64Type(), base.getI64IntegerAttr(value));
}

mlir::Value Importer::constant(mlir::Type type, double value) {
  if (llvm::isa<mlir::FloatType>(type))
    return base.create<pipe::ConstantOp>(here, type, base.getFloatAttr(type, value));
  return base.create<pipe::ConstantOp>(here, type,
                                       mlir::IntegerAttr::get(type, static_cast<int64_t>(value)));
}

Val Importer::number(mlir::Value value, bool loose) {
  Val result;
  result.kind = Kind::Number;
  result.ir = value;
  result.loose = loose;
  return result;
}

Val Importer::tensor(mlir::Value value) {
  Val result;
  result.kind = Kind::Tensor;
  result.ir = value;
  return result;
}

mlir::Value Importer::binary(BinaryKind kind, mlir::Value a, mlir::Value b) {
  return builderFor({a, b}).createOrFold<pipe::BinaryOp>(here, kind, a, b);
}

mlir::Value Importer::compare(Predicate predicate, mlir::Value a, mlir::Value b) {
  return builderFor({a, b}).createOrFold<pipe::CompareOp>(here, base.getI1Type(), predicate, a, b);
}

mlir::Value Importer::select(mlir::Value condition, mlir::Value a, mlir::Value b) {
  return builderFor({condition, a, b}).createOrFold<pipe::SelectOp>(here, condition, a, b);
}

mlir::Value Importer::cast(CastMode mode, mlir::Value value, mlir::Type to) {
  if (value.getType() == to)
    return value;
  return builderFor({value}).createOrFold<pipe::CastOp>(here, to, mode, value, mlir::ValueRange());
}

void Importer::check(mlir::Value condition, const std::string &message, mlir::Value first,
                     mlir::Value second) {
  if (auto op = condition.getDefiningOp<pipe::ConstantOp>())
    if (auto value = llvm::dyn_cast<mlir::IntegerAttr>(op.getValue());
        value && !value.getValue().isZero())
      return;
  base.create<pipe::CheckOp>(here, condition, message, first, second);
}

//===--- conversions ------------------------------------------------------===//

Val Importer::castTo(CastMode mode, const Val &value, mlir::Type to, dsl::SourceRange range) {
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
  return lift(
      {value}, to, [&](auto v) { return cast(mode, v[0], to); }, range);
}

/// Whether an integer constant keeps its value in an integer type.
static bool fits(mlir::Value value, mlir::Type to) {
  auto op = value.getDefiningOp<penstock::pipe::ConstantOp>();
  auto integer = llvm::dyn_cast<mlir::IntegerType>(to);
  if (!op || !integer)
    return false;
  const llvm::APInt &number = llvm::cast<mlir::IntegerAttr>(op.getValue()).getValue();
  return integer.isUnsigned() ? number.isIntN(integer.getWidth())
                              : number.isSignedIntN(integer.getWidth());
}

std::optional<Val> Importer::convert(const Val &value, mlir::Type to) {
  mlir::Type from = elementType(value);
  if (!from)
    return std::nullopt;
  if (from == to) {
    Val same = value;
    same.loose = false;
    return same;
  }
  const bool toFloat = llvm::isa<mlir::FloatType>(to);
  const bool isInt = from.isSignlessInteger(64);
  const bool allowed = toFloat ? isInt || (value.loose && from.isF64())
                               : value.is(Kind::Number) && value.loose && isInt &&
                                     !to.isSignlessInteger(1) && fits(value.ir, to);
  if (!allowed)
    return std::nullopt;
  return castTo(CastMode::value, value, to, {});
}

mlir::Type Importer::unify(const std::string &spelling, Val &a, Val &b, dsl::SourceRange range) {
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
  mlir::Type common;
  if (left == right)
    common = left;
  else if (isFloat(left) && isFloat(right))
    common = a.loose && !b.loose ? right : b.loose && !a.loose ? left : mlir::Type();
  else if (isInt(left) && isFloat(right))
    common = right;
  else if (isInt(right) && isFloat(left))
    common = left;
  else if (a.loose && isInt(left) && !isFloat(right) && fits(a.ir, right))
    common = right;
  else if (b.loose && isInt(right) && !isFloat(left) && fits(b.ir, left))
    common = left;
  if (!common) {
    std::string target = a.loose || b.loose ? "f32"
                         : isFloat(left)    ? show(left)
                         : isFloat(right)   ? show(right)
                                            : show(left);
    fail(range,
         quote(spelling) + " of " + show(a) + " and " + show(b) +
             ": element types do not convert by themselves",
         quote(target + "(...)") + " converts");
  }
  if (common.isF16() || common.isBF16()) // storage types: arithmetic is f32
    common = mlir::Float32Type::get(&context);
  const bool loose = common.isF64() && (a.loose || !isFloat(left)) && (b.loose || !isFloat(right));
  const bool looseInt = isInt(common) && a.loose && b.loose;
  a = castTo(CastMode::value, a, common, range);
  b = castTo(CastMode::value, b, common, range);
  a.loose = b.loose = loose || looseInt;
  return common;
}

mlir::Value Importer::demandBool(const Val &value, dsl::SourceRange range,
                                 const std::string &what) {
  if (value.is(Kind::Poison))
    throw Abort{};
  if (value.is(Kind::Tensor) && regions.size() && elementType(value).isSignlessInteger(1))
    return elementHere(value.ir, range);
  if (value.is(Kind::Tensor) && elementType(value).isSignlessInteger(1))
    fail(range, what + " depends on pixels, and must be known before them",
         "choose element by element with `map (...) { if ... then ... else ... }`");
  if (!value.is(Kind::Number) || !value.ir.getType().isSignlessInteger(1))
    fail(range, what + " must be true or false, and this is " + show(value),
         !value.is(Kind::Number) ? ""
         : llvm::isa<mlir::FloatType>(value.ir.getType())
             ? "`x > 0` compares; `chance(x)` is true with probability x"
             : "compare it: `x > 0`");
  return value.ir;
}

mlir::Value Importer::demandIndex(const Val &value, dsl::SourceRange range,
                                  const std::string &what) {
  if (value.is(Kind::Poison))
    throw Abort{};
  mlir::Value ir = value.ir;
  if (value.is(Kind::Tensor) && regions.size() && llvm::isa<mlir::IntegerType>(elementType(value)))
    ir = elementHere(ir, range);
  else if (value.is(Kind::Tensor) && value.tensorType().getRank() == 0)
    fail(range, what + " depends on pixels, and must be known before them",
         "it may depend on parameters, draws, headers and metadata");
  else if (!value.is(Kind::Number))
    fail(range, what + " must be a whole number, and this is " + show(value));
  if (!llvm::isa<mlir::IntegerType>(ir.getType()) || ir.getType().isSignlessInteger(1))
    fail(range, what + " must be a whole number, and this is " + show(value),
         "`int(round(x))` makes one");
  return cast(CastMode::value, ir, base.getI64Type());
}

mlir::Value Importer::demandF64(const Val &value, dsl::SourceRange range, const std::string &what) {
  if (value.is(Kind::Poison))
    throw Abort{};
  std::optional<Val> converted =
      value.is(Kind::Number) ? convert(value, base.getF64Type()) : std::nullopt;
  if (!converted)
    fail(range, what + " must be a number, and this is " + show(value),
         value.is(Kind::Number) ? "`f64(...)` converts" : "");
  return converted->ir;
}
