// SPDX-License-Identifier: Apache-2.0
//
// Verifiers and folds of the scalar ops.
//
// Folding computes with runtime/abi/scalar.h, never with APFloat's or the
// host's libm's idea of an operation: a folded pipeline keeps its bits.
#include "compiler/Dialect/PipeDialect.h"
#include "runtime/abi/scalar.h"
#include <optional>

using namespace mlir;
using namespace penstock::pipe;
namespace scalar = penstock::scalar;

static bool isStorageOnly(Type type) { return type.isF16() || type.isBF16(); }

//===--- attributes to numbers and back -------------------------------------------===//

/// Calls `f` with a value of the C++ type of `type` (bool, integers, float,
/// double); null for storage types.
template <typename F> static Attribute dispatch(Type type, F f) {
  if (isBool(type))
    return f(bool{});
  if (type.isUnsignedInteger(8))
    return f(uint8_t{});
  if (type.isUnsignedInteger(16))
    return f(uint16_t{});
  if (type.isSignlessInteger(8))
    return f(int8_t{});
  if (type.isSignlessInteger(16))
    return f(int16_t{});
  if (type.isSignlessInteger(32))
    return f(int32_t{});
  if (type.isSignlessInteger(64))
    return f(int64_t{});
  if (type.isF32())
    return f(float{});
  if (type.isF64())
    return f(double{});
  return {};
}

template <typename T> static std::optional<T> number(Attribute attribute) {
  if constexpr (std::is_floating_point_v<T>) {
    auto value = llvm::dyn_cast_or_null<FloatAttr>(attribute);
    if (!value)
      return std::nullopt;
    if constexpr (std::is_same_v<T, float>)
      return value.getValue().convertToFloat();
    else
      return value.getValue().convertToDouble();
  } else {
    auto value = llvm::dyn_cast_or_null<IntegerAttr>(attribute);
    if (!value)
      return std::nullopt;
    return static_cast<T>(std::is_unsigned_v<T> ? value.getValue().getZExtValue()
                                                : value.getValue().getSExtValue());
  }
}

template <typename T> static Attribute attribute(Type type, T value) {
  if constexpr (std::is_same_v<T, float>)
    return FloatAttr::get(type, APFloat(value));
  else if constexpr (std::is_same_v<T, double>)
    return FloatAttr::get(type, APFloat(value));
  else
    return IntegerAttr::get(type, APInt(type.getIntOrFloatBitWidth(),
                                        static_cast<uint64_t>(static_cast<int64_t>(value)),
                                        std::is_signed_v<T>));
}

//===--- pipe.constant ------------------------------------------------------------===//

LogicalResult ConstantOp::verify() {
  Type type = getResult().getType();
  if (auto tensor = llvm::dyn_cast<NamedTensorType>(type)) { // C1
    auto elements = llvm::dyn_cast<DenseElementsAttr>(getValue());
    if (!elements)
      return emitOpError("needs an elements attribute for a tensor");
    if (elements.getElementType() != tensor.getElementType())
      return emitOpError() << "has elements of " << elements.getElementType() << " for the type "
                           << tensor;
    ArrayRef<int64_t> shape = elements.getType().getShape();
    bool same = shape.size() == tensor.getAxes().size();
    for (size_t i = 0; same && i < shape.size(); ++i)
      same = shape[i] == tensor.getAxes()[i].extent;
    return same ? success() : emitOpError("has elements of another shape than its type");
  }
  auto typed = llvm::cast<TypedAttr>(getValue());
  if (typed.getType() != type)
    return emitOpError() << "has a value of type " << typed.getType() << " for the type " << type;
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

//===--- pipe.unary ---------------------------------------------------------------===//

LogicalResult UnaryOp::verify() {
  Type type = getValue().getType();
  bool defined = false;
  switch (getKind()) { // C1
  case UnaryKind::neg:
  case UnaryKind::abs:
    defined = !isBool(type);
    break;
  case UnaryKind::bit_not:
    defined = !isFloat(type);
    break;
  default:
    defined = isFloat(type);
  }
  if (!defined || isStorageOnly(type))
    return emitOpError() << "`" << stringifyUnaryKind(getKind()) << "` is not defined on "
                         << scalarName(type);
  return success();
}

template <typename T> static std::optional<T> unary(UnaryKind kind, T a) {
  if constexpr (std::is_same_v<T, bool>) {
    return kind == UnaryKind::bit_not ? std::optional<T>(!a) : std::nullopt;
  } else {
    switch (kind) {
    case UnaryKind::neg:
      return scalar::neg(a);
    case UnaryKind::abs:
      return scalar::abs(a);
    default:
      break;
    }
    if constexpr (std::is_integral_v<T>)
      return kind == UnaryKind::bit_not ? std::optional<T>(static_cast<T>(~a)) : std::nullopt;
    else
      switch (kind) {
      case UnaryKind::floor:
        return std::floor(a);
      case UnaryKind::ceil:
        return std::ceil(a);
      case UnaryKind::trunc:
        return std::trunc(a);
      case UnaryKind::round:
        return scalar::round(a);
      case UnaryKind::round_away:
        return scalar::roundAway(a);
      case UnaryKind::sqrt:
        return std::sqrt(a);
      default:
        return std::nullopt;
      }
  }
}

OpFoldResult UnaryOp::fold(FoldAdaptor adaptor) {
  Type type = getType();
  return dispatch(type, [&](auto zero) -> Attribute {
    using T = decltype(zero);
    auto a = number<T>(adaptor.getValue());
    auto result = a ? unary<T>(getKind(), *a) : std::nullopt;
    return result ? attribute<T>(type, *result) : Attribute();
  });
}

//===--- pipe.binary --------------------------------------------------------------===//

LogicalResult BinaryOp::verify() {
  Type type = getLhs().getType();
  bool defined = false;
  switch (getKind()) {
  case BinaryKind::bit_and: // C1
  case BinaryKind::bit_or:
  case BinaryKind::bit_xor:
    defined = !isFloat(type);
    break;
  case BinaryKind::shl:
  case BinaryKind::shr:
    defined = !isFloat(type) && !isBool(type);
    break;
  default: // C2
    defined = !isBool(type);
  }
  if (!defined || isStorageOnly(type))
    return emitOpError() << "`" << stringifyBinaryKind(getKind()) << "` is not defined on "
                         << scalarName(type);
  return success();
}

template <typename T> static std::optional<T> binary(BinaryKind kind, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    switch (kind) {
    case BinaryKind::bit_and:
      return static_cast<T>(a & b);
    case BinaryKind::bit_or:
      return static_cast<T>(a | b);
    case BinaryKind::bit_xor:
      return static_cast<T>(a ^ b);
    default:
      break;
    }
  }
  if constexpr (std::is_same_v<T, bool>) {
    return std::nullopt;
  } else {
    switch (kind) {
    case BinaryKind::add:
      return scalar::add(a, b);
    case BinaryKind::sub:
      return scalar::sub(a, b);
    case BinaryKind::mul:
      return scalar::mul(a, b);
    case BinaryKind::div:
      return scalar::div(a, b);
    case BinaryKind::rem:
      return scalar::rem(a, b);
    case BinaryKind::min:
      return scalar::min(a, b);
    case BinaryKind::max:
      return scalar::max(a, b);
    default:
      break;
    }
    if constexpr (std::is_integral_v<T>) {
      if (kind == BinaryKind::shl)
        return scalar::shl(a, b);
      if (kind == BinaryKind::shr)
        return scalar::shr(a, b);
    }
    return std::nullopt;
  }
}

/// Returns whether `value` is the integer `wanted` (floats: identities such as x + 0
/// are not exact for -0, so they are left alone).
static bool isInteger(Attribute value, int64_t wanted) {
  auto integer = llvm::dyn_cast_or_null<IntegerAttr>(value);
  return integer && !integer.getType().isSignlessInteger(1) &&
         integer.getValue() == APInt(integer.getValue().getBitWidth(),
                                     static_cast<uint64_t>(wanted),
                                     /*isSigned=*/true);
}

OpFoldResult BinaryOp::fold(FoldAdaptor adaptor) {
  Type type = getType();
  if (Attribute folded = dispatch(type, [&](auto zero) -> Attribute {
        using T = decltype(zero);
        auto a = number<T>(adaptor.getLhs());
        auto b = number<T>(adaptor.getRhs());
        auto result = a && b ? binary<T>(getKind(), *a, *b) : std::nullopt;
        return result ? attribute<T>(type, *result) : Attribute();
      }))
    return folded;
  switch (getKind()) {
  case BinaryKind::add:
    if (isInteger(adaptor.getRhs(), 0))
      return getLhs();
    return isInteger(adaptor.getLhs(), 0) ? OpFoldResult(getRhs()) : OpFoldResult();
  case BinaryKind::sub:
    return isInteger(adaptor.getRhs(), 0) ? OpFoldResult(getLhs()) : OpFoldResult();
  case BinaryKind::mul:
    if (isInteger(adaptor.getRhs(), 1))
      return getLhs();
    return isInteger(adaptor.getLhs(), 1) ? OpFoldResult(getRhs()) : OpFoldResult();
  case BinaryKind::min:
  case BinaryKind::max:
    return getLhs() == getRhs() && !isFloat(type) ? OpFoldResult(getLhs()) : OpFoldResult();
  default:
    return {};
  }
}

//===--- pipe.compare, pipe.select ------------------------------------------------===//

OpFoldResult CompareOp::fold(FoldAdaptor adaptor) {
  Type type = getLhs().getType();
  Type result = getType();
  return dispatch(type, [&](auto zero) -> Attribute {
    using T = decltype(zero);
    auto a = number<T>(adaptor.getLhs());
    auto b = number<T>(adaptor.getRhs());
    if (!a || !b)
      return {};
    bool holds = false;
    switch (getPredicate()) {
    case Predicate::eq:
      holds = *a == *b;
      break;
    case Predicate::ne:
      holds = *a != *b;
      break;
    case Predicate::lt:
      holds = *a < *b;
      break;
    case Predicate::le:
      holds = *a <= *b;
      break;
    case Predicate::gt:
      holds = *a > *b;
      break;
    case Predicate::ge:
      holds = *a >= *b;
      break;
    }
    return attribute<bool>(result, holds);
  });
}

OpFoldResult SelectOp::fold(FoldAdaptor adaptor) {
  if (getOnTrue() == getOnFalse())
    return getOnTrue();
  if (auto condition = number<bool>(adaptor.getCondition()))
    return *condition ? getOnTrue() : getOnFalse();
  return {};
}

//===--- pipe.cast ----------------------------------------------------------------===//

LogicalResult CastOp::verify() {
  Type from = getValue().getType();
  Type to = getResult().getType();
  auto fromTensor = llvm::dyn_cast<NamedTensorType>(from);
  auto toTensor = llvm::dyn_cast<NamedTensorType>(to);
  if (static_cast<bool>(fromTensor) != static_cast<bool>(toTensor) ||
      (fromTensor && fromTensor.getAxes() != toTensor.getAxes())) // C1
    return emitOpError() << "cannot convert " << from << " to " << to;
  size_t dynamic = toTensor ? toTensor.dynamicAxes().size() : 0;
  if (getSizes().size() != dynamic)
    return emitOpError() << "has " << getSizes().size() << " sizes for " << dynamic
                         << " dynamic axes";
  Type fromElement = fromTensor ? fromTensor.getElementType() : from;
  Type toElement = toTensor ? toTensor.getElementType() : to;
  if (getMode() == CastMode::bits && // C2
      fromElement.getIntOrFloatBitWidth() != toElement.getIntOrFloatBitWidth())
    return emitOpError() << "`bits` needs types of one width, but they are "
                         << scalarName(fromElement) << " and " << scalarName(toElement);
  return success();
}

template <typename To, typename From> static std::optional<To> castTo(CastMode mode, From a) {
  if constexpr (std::is_same_v<To, From>) {
    return a;
  } else if (mode == CastMode::bits) {
    if constexpr (sizeof(To) == sizeof(From) && !std::is_same_v<To, bool> &&
                  !std::is_same_v<From, bool>) {
      if constexpr (std::is_floating_point_v<From>)
        if (a != a)
          return std::bit_cast<To>(scalar::canonicalNan<From>());
      return std::bit_cast<To>(a);
    } else
      return std::nullopt;
  } else if constexpr (std::is_same_v<To, bool>) {
    return a != From(0);
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(a);
  } else if constexpr (std::is_floating_point_v<From>) {
    return scalar::floatToInt<To>(a);
  } else {
    return mode == CastMode::clamp ? scalar::saturate<To>(a) : scalar::wrap<To>(a);
  }
}

/// `a` rounded once into a storage type.
template <typename From> static Attribute toStorage(Type to, From a) {
  uint16_t bits = 0;
  const bool half = to.isF16();
  if constexpr (std::is_floating_point_v<From>)
    bits = half ? scalar::toHalf(a) : scalar::toBfloat(a);
  else
    bits = half ? scalar::toHalf(scalar::oddDouble(static_cast<int64_t>(a)))
                : scalar::toBfloat(scalar::oddDouble(static_cast<int64_t>(a)));
  return FloatAttr::get(to,
                        APFloat(half ? APFloat::IEEEhalf() : APFloat::BFloat(), APInt(16, bits)));
}

/// The f32 number of a storage type's attribute.
static std::optional<float> fromStorage(Attribute attribute) {
  auto value = llvm::dyn_cast_or_null<FloatAttr>(attribute);
  if (!value)
    return std::nullopt;
  const auto bits = static_cast<uint16_t>(value.getValue().bitcastToAPInt().getZExtValue());
  return value.getType().isF16() ? scalar::fromHalf(bits) : scalar::fromBfloat(bits);
}

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  Type from = getValue().getType();
  Type to = getType();
  if (from == to)
    return getValue();
  if (!isScalarType(from) || !adaptor.getValue())
    return {};
  auto cast = [&](auto a) -> Attribute {
    using From = decltype(a);
    if (isStorageOnly(to))
      return getMode() == CastMode::bits ? Attribute() : toStorage(to, a);
    return dispatch(to, [&](auto toZero) -> Attribute {
      using To = decltype(toZero);
      auto result = castTo<To, From>(getMode(), a);
      return result ? attribute<To>(to, *result) : Attribute();
    });
  };
  if (isStorageOnly(from)) {
    auto a = fromStorage(adaptor.getValue());
    return a && getMode() != CastMode::bits ? cast(*a) : Attribute();
  }
  return dispatch(from, [&](auto fromZero) -> Attribute {
    auto a = number<decltype(fromZero)>(adaptor.getValue());
    return a ? cast(*a) : Attribute();
  });
}

//===--- pipe.load ----------------------------------------------------------------===//

LogicalResult LoadOp::verify() {
  auto type = llvm::cast<NamedTensorType>(getTensor().getType());
  if (static_cast<int64_t>(getIndices().size()) != type.getRank()) // C1
    return emitOpError() << "has " << getIndices().size() << " indices for " << type.getRank()
                         << " axes";
  if (getType() != type.getElementType())
    return emitOpError() << "reads " << scalarName(type.getElementType()) << ", not "
                         << scalarName(getType());
  return success();
}
