// SPDX-License-Identifier: Apache-2.0
//
// The scalar ops on numbers.
#include "stdlib/reference/Arithmetic.h"
#include "runtime/abi/scalar.h"

using namespace penstock::reference;
using namespace penstock::pipe;
namespace scalar = penstock::scalar;

//===--- numbers of C++ types ----------------------------------------------===//

/// Calls `f` with a value of the type that computes for `type`.
template <typename F> static auto dispatch(DType type, F f) {
  switch (type) {
  case DType::u8:
    return f(uint8_t{});
  case DType::i8:
    return f(int8_t{});
  case DType::u16:
    return f(uint16_t{});
  case DType::i16:
    return f(int16_t{});
  case DType::i32:
    return f(int32_t{});
  case DType::i64:
    return f(int64_t{});
  case DType::f16:
  case DType::bf16:
  case DType::f32:
    return f(float{});
  case DType::f64:
    return f(double{});
  case DType::boolean:
    break;
  }
  return f(bool{});
}

template <typename T> static T get(const Scalar &value) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(value.real);
  else
    return static_cast<T>(value.integer);
}

template <typename T> static Scalar make(DType type, T value) {
  if constexpr (std::is_floating_point_v<T>)
    return realScalar(value, type);
  else
    return intScalar(static_cast<int64_t>(value), type);
}

//===--- operations --------------------------------------------------------===//

template <typename T> static T unaryOf(UnaryKind kind, T a) {
  if constexpr (std::is_same_v<T, bool>) {
    return !a;
  } else {
    if (kind == UnaryKind::neg)
      return scalar::neg(a);
    if (kind == UnaryKind::abs)
      return scalar::abs(a);
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(~a);
    } else {
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
      default:
        return std::sqrt(a);
      }
    }
  }
}

Scalar penstock::reference::unary(UnaryKind kind, const Scalar &a) {
  return dispatch(a.type, [&](auto zero) {
    using T = decltype(zero);
    return make<T>(a.type, unaryOf<T>(kind, get<T>(a)));
  });
}

template <typename T> static T binaryOf(BinaryKind kind, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (kind == BinaryKind::bit_and)
      return static_cast<T>(a & b);
    if (kind == BinaryKind::bit_or)
      return static_cast<T>(a | b);
    if (kind == BinaryKind::bit_xor)
      return static_cast<T>(a ^ b);
    if constexpr (!std::is_same_v<T, bool>) {
      if (kind == BinaryKind::shl)
        return scalar::shl(a, b);
      if (kind == BinaryKind::shr)
        return scalar::shr(a, b);
    }
  }
  if constexpr (std::is_same_v<T, bool>) {
    return a;
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
    default:
      return scalar::max(a, b);
    }
  }
}

Scalar penstock::reference::binary(BinaryKind kind, const Scalar &a, const Scalar &b) {
  return dispatch(a.type, [&](auto zero) {
    using T = decltype(zero);
    return make<T>(a.type, binaryOf<T>(kind, get<T>(a), get<T>(b)));
  });
}

template <typename T> static bool compareOf(Predicate predicate, T a, T b) {
  switch (predicate) {
  case Predicate::eq:
    return a == b;
  case Predicate::ne:
    return a != b;
  case Predicate::lt:
    return a < b;
  case Predicate::le:
    return a <= b;
  case Predicate::gt:
    return a > b;
  case Predicate::ge:
    return a >= b;
  }
  return false;
}

bool penstock::reference::compare(Predicate predicate, const Scalar &a, const Scalar &b) {
  return isFloat(a.type) ? compareOf(predicate, a.real, b.real)
                         : compareOf(predicate, a.integer, b.integer);
}

//===--- casts -------------------------------------------------------------===//

/// The bits of a number, sign-extended. A NaN shows the canonical bits: which
/// ones arithmetic leaves differs between processors.
static int64_t bitsOf(const Scalar &a) {
  switch (a.type) {
  case DType::f16:
    return scalar::toHalf(a.real);
  case DType::bf16:
    return scalar::toBfloat(a.real);
  case DType::f32: {
    const float value = static_cast<float>(a.real);
    return std::bit_cast<int32_t>(value != value ? scalar::canonicalNan<float>() : value);
  }
  case DType::f64:
    return std::bit_cast<int64_t>(a.real != a.real ? scalar::canonicalNan<double>() : a.real);
  default:
    return a.integer;
  }
}

static Scalar fromBits(int64_t bits, DType to) {
  switch (to) {
  case DType::f16:
    return realScalar(scalar::fromHalf(static_cast<uint16_t>(bits)), to);
  case DType::bf16:
    return realScalar(scalar::fromBfloat(static_cast<uint16_t>(bits)), to);
  case DType::f32:
    return realScalar(std::bit_cast<float>(static_cast<int32_t>(bits)), to);
  case DType::f64:
    return realScalar(std::bit_cast<double>(bits), to);
  default:
    return dispatch(to, [&](auto zero) {
      using T = decltype(zero);
      return make<T>(to, static_cast<T>(bits));
    });
  }
}

/// Every rounding here is one rounding from the exact number.
static Scalar toFloat(const Scalar &a, DType to) {
  const bool exact = isFloat(a.type);
  switch (to) {
  case DType::f16:
    return realScalar(
        scalar::fromHalf(scalar::toHalf(exact ? a.real : scalar::oddDouble(a.integer))), to);
  case DType::bf16:
    return realScalar(
        scalar::fromBfloat(scalar::toBfloat(exact ? a.real : scalar::oddDouble(a.integer))), to);
  case DType::f32:
    return realScalar(exact ? static_cast<float>(a.real) : static_cast<float>(a.integer), to);
  default:
    return realScalar(exact ? a.real : static_cast<double>(a.integer), to);
  }
}

Scalar penstock::reference::cast(CastMode mode, const Scalar &a, DType to) {
  if (a.type == to)
    return a;
  if (mode == CastMode::bits)
    return fromBits(bitsOf(a), to);
  if (to == DType::boolean)
    return boolScalar(isFloat(a.type) ? a.real != 0 : a.integer != 0);
  if (isFloat(to))
    return toFloat(a, to);
  return dispatch(to, [&](auto zero) {
    using To = decltype(zero);
    if constexpr (std::is_integral_v<To> && !std::is_same_v<To, bool>) {
      if (isFloat(a.type))
        return make<To>(to, scalar::floatToInt<To>(a.real));
      return make<To>(to, mode == CastMode::clamp ? scalar::saturate<To>(a.integer)
                                                  : scalar::wrap<To>(a.integer));
    } else {
      return Scalar();
    }
  });
}

Scalar penstock::reference::identityOfMin(DType type) {
  return dispatch(type, [&](auto zero) {
    using T = decltype(zero);
    return make<T>(type, std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity()
                                                     : std::numeric_limits<T>::max());
  });
}

Scalar penstock::reference::identityOfMax(DType type) {
  return dispatch(type, [&](auto zero) {
    using T = decltype(zero);
    return make<T>(type, std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                                     : std::numeric_limits<T>::lowest());
  });
}
