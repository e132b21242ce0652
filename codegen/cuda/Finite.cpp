// SPDX-License-Identifier: Apache-2.0
#include "codegen/cuda/Finite.h"
#include "compiler/Dialect/PipeDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock;

/// A float that is larger is not followed, so that no product of two overflows.
static constexpr double largest = 1e18;
/// Largest finite f16: larger values are infinities there, and two of these may make a NaN.
static constexpr double largestHalf = 65504;
/// Operations that are looked through, one behind the other.
static constexpr int deepest = 12;

/// No element's magnitude is larger; nothing where that is not known.
static std::optional<double> magnitudeOf(Value value, int depth) {
  auto both = [&](Value a, Value b, auto combine) -> std::optional<double> {
    const auto left = magnitudeOf(a, depth + 1), right = magnitudeOf(b, depth + 1);
    if (!left || !right)
      return std::nullopt;
    return combine(*left, *right);
  };
  auto larger = [](double a, double b) { return std::max(a, b); };
  Operation *op = value.getDefiningOp();
  if (!op || depth > deepest)
    return std::nullopt;
  const auto found = llvm::TypeSwitch<Operation *, std::optional<double>>(op)
                         .Case([&](pipe::ConstantOp typed) -> std::optional<double> {
                           auto number = llvm::dyn_cast<FloatAttr>(typed.getValue());
                           if (!number || !number.getValue().isFinite())
                             return std::nullopt;
                           return std::abs(number.getValueAsDouble());
                         })
                         .Case([&](pipe::CastOp typed) -> std::optional<double> {
                           Type from = typed.getValue().getType();
                           if (typed.getMode() == pipe::CastMode::bits)
                             return std::nullopt;
                           if (auto integer = llvm::dyn_cast<IntegerType>(from))
                             return std::exp2(integer.getWidth());
                           return magnitudeOf(typed.getValue(), depth + 1);
                         })
                         .Case([&](pipe::SelectOp typed) {
                           return both(typed.getOnTrue(), typed.getOnFalse(), larger);
                         })
                         .Case([&](pipe::BinaryOp typed) -> std::optional<double> {
                           switch (typed.getKind()) {
                           case pipe::BinaryKind::add:
                           case pipe::BinaryKind::sub:
                             return both(typed.getLhs(), typed.getRhs(), std::plus<double>());
                           case pipe::BinaryKind::mul:
                             return both(typed.getLhs(), typed.getRhs(), std::multiplies<double>());
                           case pipe::BinaryKind::min:
                           case pipe::BinaryKind::max:
                             return both(typed.getLhs(), typed.getRhs(), larger);
                           default:
                             return std::nullopt;
                           }
                         })
                         .Default([](Operation *) { return std::nullopt; });
  return found && *found <= (value.getType().isF16() ? largestHalf : largest) ? found
                                                                              : std::nullopt;
}

bool penstock::codegen::isFinite(Value value) {
  return llvm::isa<FloatType>(value.getType()) && magnitudeOf(value, 0).has_value();
}
