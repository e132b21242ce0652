// SPDX-License-Identifier: Apache-2.0
//
// Numbers that import itself needs.
#include "compiler/Import/Values/Scalars.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

using namespace penstock::importer;
using penstock::pipe::BinaryKind;

std::optional<int64_t> Scalars::constantInt(mlir::Value value) {
  auto op = value.getDefiningOp<pipe::ConstantOp>();
  auto integer = op ? llvm::dyn_cast<mlir::IntegerAttr>(op.getValue()) : mlir::IntegerAttr();
  if (!integer)
    return std::nullopt;
  return integer.getType().isUnsignedInteger() ? integer.getValue().getZExtValue()
                                               : integer.getValue().getSExtValue();
}

std::string Scalars::showNumber(const Val &value) const {
  const auto known =
      value.is(Kind::Number) && !value.unit && !value.ir.getType().isSignlessInteger(1)
          ? constantInt(value.ir)
          : std::nullopt;
  return known ? std::to_string(*known) : show(value);
}

std::optional<double> Scalars::constantF64(mlir::Value value) {
  auto op = value.getDefiningOp<pipe::ConstantOp>();
  auto number = op ? llvm::dyn_cast<mlir::FloatAttr>(op.getValue()) : mlir::FloatAttr();
  return number && number.getType().isF64() ? std::optional(number.getValueAsDouble())
                                            : std::nullopt;
}

bool Scalars::dependsOnParametersOnly(mlir::Value value, std::set<std::string> &names) {
  llvm::SmallVector<mlir::Value> work{value};
  llvm::DenseSet<mlir::Value> seen;
  while (!work.empty()) {
    mlir::Value next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    mlir::Operation *op = next.getDefiningOp();
    if (auto param = llvm::dyn_cast_if_present<pipe::ParamOp>(op))
      names.insert(param.getName().str());
    else if (!llvm::isa_and_present<pipe::ConstantOp, pipe::UnaryOp, pipe::BinaryOp,
                                    pipe::CompareOp, pipe::SelectOp, pipe::CastOp>(op))
      return false;
    else
      work.append(op->operand_begin(), op->operand_end());
  }
  return true;
}

void Scalars::settle(mlir::Value value, const std::string &decides) {
  MakeStatic demanded{{}, decides + userPlace()};
  if (dependsOnParametersOnly(value, demanded.names) && !demanded.names.empty())
    throw demanded;
}

std::optional<int64_t> Scalars::staticInt(mlir::Value value, const std::string &decides) {
  if (std::optional<int64_t> number = constantInt(value))
    return number;
  settle(value, decides);
  return std::nullopt;
}

bool Scalars::isNeverNegative(mlir::Value value) {
  llvm::SmallVector<mlir::Value> work{value};
  llvm::DenseSet<mlir::Value> seen;
  while (!work.empty()) {
    mlir::Value next = work.pop_back_val();
    mlir::Operation *op = next.getDefiningOp();
    const std::optional<int64_t> number = constantInt(next);
    if (!seen.insert(next).second || (number && *number >= 0) ||
        llvm::isa_and_present<pipe::FieldExtentOp, pipe::RowIndexOp>(op))
      continue;
    if (auto select = llvm::dyn_cast_if_present<pipe::SelectOp>(op)) {
      work.append({select.getOnTrue(), select.getOnFalse()});
      continue;
    }
    auto draw = llvm::dyn_cast_if_present<pipe::DrawOp>(op);
    if (draw && draw.getKind() == pipe::DrawKind::integer) {
      work.push_back(draw.getArgs()[0]); // its least number
      continue;
    }
    auto of = llvm::dyn_cast_if_present<pipe::BinaryOp>(op);
    if (!of)
      return false;
    const auto known = [](mlir::Value one) { return constantInt(one).value_or(-1) >= 0; };
    switch (of.getKind()) {
    case BinaryKind::max:
      if (!known(of.getLhs()) && !known(of.getRhs()))
        work.append({of.getLhs(), of.getRhs()});
      break;
    case BinaryKind::add:
    case BinaryKind::mul:
    case BinaryKind::div:
    case BinaryKind::min:
      work.append({of.getLhs(), of.getRhs()});
      break;
    default:
      return false;
    }
  }
  return true;
}

/// Returns whether two numbers are computed alike from the same ones: `i % 8` written twice.
static bool computedAlike(mlir::Value a, mlir::Value b, int &steps) {
  if (a == b)
    return true;
  mlir::Operation *one = a.getDefiningOp(), *other = b.getDefiningOp();
  using namespace penstock;
  if (!one || !other || --steps < 0 ||
      !llvm::isa<pipe::ConstantOp, pipe::UnaryOp, pipe::BinaryOp, pipe::CompareOp, pipe::SelectOp,
                 pipe::CastOp>(one))
    return false;
  return mlir::OperationEquivalence::isEquivalentTo(
      one, other,
      [&](mlir::Value x, mlir::Value y) { return mlir::success(computedAlike(x, y, steps)); },
      nullptr, mlir::OperationEquivalence::IgnoreLocations);
}

namespace {
/// A sum of integer values with factors. Exact: everything wraps modulo 2^64.
struct LinearSum {
  std::optional<int64_t> (*constantInt)(mlir::Value);
  llvm::MapVector<mlir::Value, int64_t> terms;
  int64_t constant = 0;

  void add(mlir::Value value, uint64_t factor) {
    if (std::optional<int64_t> number = constantInt(value)) {
      constant = static_cast<int64_t>(static_cast<uint64_t>(constant) +
                                      factor * static_cast<uint64_t>(*number));
      return;
    }
    if (auto op = value.getDefiningOp<penstock::pipe::BinaryOp>()) {
      switch (op.getKind()) {
      case BinaryKind::add:
        add(op.getLhs(), factor);
        return add(op.getRhs(), factor);
      case BinaryKind::sub:
        add(op.getLhs(), factor);
        return add(op.getRhs(), uint64_t{0} - factor);
      case BinaryKind::mul:
        if (std::optional<int64_t> number = constantInt(op.getRhs()))
          return add(op.getLhs(), factor * static_cast<uint64_t>(*number));
        if (std::optional<int64_t> number = constantInt(op.getLhs()))
          return add(op.getRhs(), factor * static_cast<uint64_t>(*number));
        break;
      default:
        break;
      }
    }
    int steps = 64;
    for (const auto &[known, of] : terms)
      if (computedAlike(known, value, steps)) {
        value = known;
        break;
      }
    int64_t &term = terms[value];
    term = static_cast<int64_t>(static_cast<uint64_t>(term) + factor);
  }
};
} // namespace

mlir::Value Scalars::difference(mlir::Value a, mlir::Value b, int64_t constant) {
  LinearSum sum{&Scalars::constantInt, {}, 0};
  sum.add(a, 1);
  sum.add(b, ~uint64_t{0});
  sum.constant =
      static_cast<int64_t>(static_cast<uint64_t>(sum.constant) + static_cast<uint64_t>(constant));
  size_t left = 0;
  for (auto &[value, factor] : sum.terms)
    left += factor != 0;
  if (left > 1) // no simpler than the plain difference
    return binary(BinaryKind::add, binary(BinaryKind::sub, a, b), intConstant(constant));
  mlir::Value result = intConstant(sum.constant);
  for (auto &[value, factor] : sum.terms)
    if (factor != 0)
      result = binary(BinaryKind::add, binary(BinaryKind::mul, value, intConstant(factor)), result);
  return result;
}
