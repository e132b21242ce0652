// SPDX-License-Identifier: Apache-2.0
//
// Ops without effects as C++ expressions.
//
// Every expression has exactly the type of its op's result: the functions of
// penstock.cuh are templates of it.
#include "codegen/cuda/KernelText.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include <charconv>

using namespace mlir;
using namespace penstock;
using namespace penstock::codegen;
using pipe::BinaryKind;
using pipe::CastMode;
using pipe::isFloat;
using pipe::UnaryKind;

static bool isStorage(Type type) { return type.isF16() || type.isBF16(); }
static bool isBool(Type type) { return type.isInteger(1); }
/// Returns whether C++ computes with another type than the operands'.
static bool isPromoted(Type type) { return !isFloat(type) && type.getIntOrFloatBitWidth() < 32; }

//===--- types and numbers -------------------------------------------------===//

std::string codegen::memoryType(Type type) {
  if (type.isIndex())
    return "i64";
  if (llvm::isa<pipe::KeyType>(type))
    return "pst_key";
  if (isBool(type))
    return "bool";
  return pipe::scalarName(type).str();
}

std::string codegen::registerType(Type type) { return isStorage(type) ? "f32" : memoryType(type); }

Expression codegen::realLiteral(APFloat value, Type type) {
  const bool isDouble = type.isF64();
  bool loses = false;
  value.convert(isDouble ? APFloat::IEEEdouble() : APFloat::IEEEsingle(),
                APFloat::rmNearestTiesToEven, &loses);
  if (!value.isFinite()) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << "pst_bits<" << (isDouble ? "f64" : "f32") << ">("
           << llvm::format_hex(value.bitcastToAPInt().getZExtValue(), 2)
           << (isDouble ? "ull)" : "u)");
    return {text, bindAll};
  }
  char digits[40]; // the shortest that is read back as the same number
  const auto written = isDouble ? std::to_chars(digits, std::end(digits), value.convertToDouble())
                                : std::to_chars(digits, std::end(digits), value.convertToFloat());
  std::string text(digits, written.ptr);
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  if (!isDouble)
    text += "f";
  return {text, text[0] == '-' ? int(bindUnary) : int(bindAll)};
}

Expression codegen::literal(Attribute value, Type type) {
  if (auto real = llvm::dyn_cast<FloatAttr>(value))
    return realLiteral(real.getValue(), type);
  const APInt bits = llvm::cast<IntegerAttr>(value).getValue();
  if (isBool(type))
    return {bits.getBoolValue() ? "true" : "false", bindAll};
  const int64_t number =
      pipe::isUnsigned(type) ? static_cast<int64_t>(bits.getZExtValue()) : bits.getSExtValue();
  if (type.isIndex() || type.isSignlessInteger(32)) {
    if (number == INT32_MIN || number == INT64_MIN)
      return {"(" + std::to_string(number + 1) + (type.isIndex() ? "ll" : "") + " - 1)", bindAll};
    return {std::to_string(number) + (number == static_cast<int32_t>(number) ? "" : "ll"),
            number < 0 ? bindUnary : bindAll};
  }
  if (type.isSignlessInteger(64)) {
    if (number == INT64_MIN)
      return {"(-9223372036854775807ll - 1)", bindAll};
    return {std::to_string(number) + "ll", number < 0 ? bindUnary : bindAll};
  }
  return {"(" + registerType(type) + ")" + std::to_string(number), bindUnary};
}

//===--- pieces ------------------------------------------------------------===//

std::string KernelText::use(Value value, int binding) {
  const Expression &expression = texts[value];
  return expression.binding >= binding ? expression.text : "(" + expression.text + ")";
}

Expression KernelText::infix(Value a, StringRef op, Value b, int binding) {
  return {use(a, binding) + " " + op.str() + " " + use(b, binding + 1), binding};
}

Expression KernelText::called(StringRef name, ValueRange operands) {
  std::string text = name.str() + "(";
  for (Value operand : operands)
    text += (text.back() == '(' ? "" : ", ") + use(operand, bindChoice);
  return {text + ")", bindAll};
}

//===--- scalar ops of pipe ------------------------------------------------===//

Expression KernelText::unary(pipe::UnaryOp op) {
  Type type = op.getType();
  if (op.getKind() == UnaryKind::bit_not) {
    const std::string text = (isBool(type) ? "!" : "~") + use(op.getValue(), bindUnary);
    return {isPromoted(type) && !isBool(type) ? "(" + registerType(type) + ")" + text : text,
            bindUnary};
  }
  if (op.getKind() == UnaryKind::neg && isFloat(type))
    return {"-" + use(op.getValue(), bindAll), bindUnary};
  return called(("pst_" + pipe::stringifyUnaryKind(op.getKind())).str(), op.getValue());
}

Expression KernelText::binary(pipe::BinaryOp op) {
  Type type = op.getType();
  const BinaryKind kind = op.getKind();
  auto written = [&](StringRef sign, int binding) {
    return infix(op.getLhs(), sign, op.getRhs(), binding);
  };
  if (isFloat(type)) {
    if (kind == BinaryKind::add || kind == BinaryKind::sub)
      return written(kind == BinaryKind::add ? "+" : "-", bindAdd);
    if (kind == BinaryKind::mul || kind == BinaryKind::div)
      return written(kind == BinaryKind::mul ? "*" : "/", bindMul);
  }
  if (kind == BinaryKind::bit_and || kind == BinaryKind::bit_or || kind == BinaryKind::bit_xor) {
    if (isBool(type))
      return kind == BinaryKind::bit_and  ? written("&&", bindAnd)
             : kind == BinaryKind::bit_or ? written("||", bindOr)
                                          : written("!=", bindEqual);
    const StringRef sign = kind == BinaryKind::bit_and  ? "&"
                           : kind == BinaryKind::bit_or ? "|"
                                                        : "^";
    Expression text{use(op.getLhs(), bindEqual) + " " + sign.str() + " " +
                        use(op.getRhs(), bindEqual),
                    bindBits};
    return isPromoted(type)
               ? Expression{"(" + registerType(type) + ")(" + text.text + ")", bindUnary}
               : text;
  }
  return called(("pst_" + pipe::stringifyBinaryKind(kind)).str(), op.getOperands());
}

/// Returns whether every number of an integer type is an f32, by a conversion that is cheap.
static bool isExact(Type type) {
  return !isFloat(type) && (type.isInteger(8) || type.isInteger(16));
}

/// Returns the sum that is all that `value` stands for: a byte of a resampling that is only wanted
/// as an f32. Null for anything else.
static Value sumOf(Value value) {
  auto call = value.getDefiningOp<func::CallOp>();
  if (!call || !isWantedAsSum(call))
    return {};
  return call.getOperand(0);
}

bool codegen::isWantedAsSum(func::CallOp call) {
  auto callee = call->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>(call.getCallee());
  return callee && conversion::deviceNameOf(callee) == "pst_pillow" &&
         llvm::all_of(call->getUsers(), [](Operation *user) {
           auto cast = llvm::dyn_cast<pipe::CastOp>(user);
           return cast && cast.getMode() != CastMode::bits && cast.getType().isF32();
         });
}

/// From another type: what the storage type holds, with one rounding.
std::string KernelText::rounded(StringRef function, Value value) {
  Type type = value.getType();
  if (isFloat(type))
    return function.str() + "(" + use(value) + ")";
  if (isExact(type))
    return function.str() + "(pst_exact(" + use(value) + "))";
  return function.str() + "((i64)" + use(value, bindUnary) + ")";
}

Expression KernelText::cast(pipe::CastOp op) {
  Value value = op.getValue();
  Type from = value.getType(), to = op.getType();
  const std::string target = registerType(to);
  if (from == to)
    return texts[value];
  if (op.getMode() == CastMode::bits) {
    std::string bits = use(value);
    if (isStorage(from))
      bits = (from.isF16() ? "pst_half_bits(" : "pst_brain_bits(") + bits + ")";
    else if (isFloat(from))
      bits = "pst_canonical(" + bits + ")";
    if (isStorage(to))
      return {(to.isF16() ? "pst_half((f16)(" : "pst_brain((bf16)(") + bits + "))", bindAll};
    if (isFloat(to) || (isFloat(from) && !isStorage(from)))
      return {"pst_bits<" + target + ">(" + bits + ")", bindAll};
    return {"(" + target + ")(" + bits + ")", bindUnary};
  }
  if (isBool(to))
    return {use(value, bindLess) + " != 0", bindEqual};
  if (isStorage(to))
    return {rounded(to.isF16() ? "pst_to_half" : "pst_to_brain", value), bindAll};
  if (!isFloat(to) && isFloat(from))
    return {"pst_to_int<" + target + ">(" + use(value) + ")", bindAll};
  if (!isFloat(to) && op.getMode() == CastMode::clamp)
    return {"pst_clamp<" + target + ">(" + use(value) + ")", bindAll};
  if (Value sum = to.isF32() ? sumOf(value) : Value())
    return called("pst_exact_pillow", sum);
  if (to.isF32() && isExact(from))
    return {"pst_exact(" + use(value) + ")", bindAll};
  if (target == registerType(from)) // a storage type widens in the register
    return texts[value];
  return {"(" + target + ")" + use(value, bindUnary), bindUnary};
}

Expression KernelText::draw(pipe::DrawOp op) {
  std::string text = ("pst_draw_" + pipe::stringifyDrawKind(op.getKind()) + "(").str() +
                     use(op.getKey()) + ", " + std::to_string(static_cast<uint64_t>(op.getId())) +
                     "ull, ";
  text += op.getElement() ? use(op.getElement()) : "0";
  for (Value argument : op.getArgs())
    text += ", " + use(argument);
  return {text + ")", bindAll};
}

std::optional<Expression> KernelText::pipeExpression(Operation &op) {
  return llvm::TypeSwitch<Operation *, std::optional<Expression>>(&op)
      .Case([&](pipe::ConstantOp typed) { return literal(typed.getValue(), typed.getType()); })
      .Case([&](pipe::UnaryOp typed) { return unary(typed); })
      .Case([&](pipe::BinaryOp typed) { return binary(typed); })
      .Case([&](pipe::CastOp typed) { return cast(typed); })
      .Case([&](pipe::DrawOp typed) { return draw(typed); })
      .Case([&](pipe::CompareOp typed) {
        static constexpr const char *signs[] = {"==", "!=", "<", "<=", ">", ">="};
        const auto number = static_cast<size_t>(typed.getPredicate());
        return infix(typed.getLhs(), signs[number], typed.getRhs(),
                     number < 2 ? bindEqual : bindLess);
      })
      .Case([&](pipe::SelectOp typed) {
        return Expression{use(typed.getCondition(), bindOr) + " ? " +
                              use(typed.getOnTrue(), bindOr) + " : " +
                              use(typed.getOnFalse(), bindChoice),
                          bindChoice};
      })
      .Case([&](pipe::KeyOfOp typed) { return called("pst_key_of", typed->getOperands()); })
      .Case([&](pipe::KeyViewOp typed) { return called("pst_key_view", typed->getOperands()); })
      .Case([&](pipe::KeyMixOp typed) { return called("pst_key_mix", typed->getOperands()); })
      .Default([](Operation *) { return std::nullopt; });
}

//===--- indices -----------------------------------------------------------===//

static const char *signOf(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return "==";
  case arith::CmpIPredicate::ne:
    return "!=";
  case arith::CmpIPredicate::slt:
    return "<";
  case arith::CmpIPredicate::sle:
    return "<=";
  case arith::CmpIPredicate::sgt:
    return ">";
  case arith::CmpIPredicate::sge:
    return ">=";
  default:
    return nullptr; // indices are signed
  }
}

/// Returns whether an index that is divided has 32 bits: the number of a turn of a loop whose end
/// is known, or what was left of one before.
static bool isNarrow(Value index) {
  if (Operation *op = index.getDefiningOp())
    return llvm::isa<arith::DivUIOp, arith::RemUIOp>(op) && isNarrow(op->getOperand(0));
  auto loop =
      llvm::dyn_cast<scf::ForOp>(llvm::cast<BlockArgument>(index).getOwner()->getParentOp());
  APInt end;
  return loop && index == loop.getInductionVar() &&
         matchPattern(loop.getUpperBound(), m_ConstantInt(&end)) && end.isIntN(32);
}

std::optional<Expression> KernelText::expression(Operation &op) {
  if (llvm::isa<pipe::PipeDialect>(op.getDialect()))
    return pipeExpression(op);
  using Made = std::optional<Expression>;
  auto operands = op.getOperands();
  auto written = [&](StringRef sign, int binding) -> Made {
    return infix(operands[0], sign, operands[1], binding);
  };
  return llvm::TypeSwitch<Operation *, Made>(&op)
      .Case([&](arith::ConstantOp typed) -> Made {
        return literal(typed.getValue(), typed.getType());
      })
      .Case([&](arith::IndexCastOp typed) -> Made {
        APInt number;
        if (matchPattern(typed.getIn(), m_ConstantInt(&number))) // exactly an i64
          return literal(IntegerAttr::get(typed.getType(), number.sextOrTrunc(64)),
                         typed.getType());
        return texts[typed.getIn()];
      })
      .Case([&](arith::AddIOp) { return written("+", bindAdd); })
      .Case([&](arith::SubIOp) { return written("-", bindAdd); })
      .Case([&](arith::MulIOp) { return written("*", bindMul); })
      .Case<arith::DivUIOp, arith::RemUIOp>([&](auto typed) -> Made { // of no negative number
        auto made = written(llvm::isa<arith::DivUIOp>(typed) ? "/" : "%", bindMul);
        if (!isNarrow(typed.getLhs()))
          return made;
        // Divided in 32 bits, and an index of 64 all the same: what is subtracted may be larger.
        return Expression{"(i64)((u32)" + made->text + ")", bindUnary};
      })
      .Case([&](arith::FloorDivSIOp) -> Made { return called("pst_floor_div", operands); })
      .Case([&](arith::MinSIOp) -> Made { return called("pst_index_min", operands); })
      .Case([&](arith::MaxSIOp) -> Made { return called("pst_index_max", operands); })
      .Case([&](arith::AndIOp) { return written("&&", bindAnd); })
      .Case([&](arith::OrIOp) { return written("||", bindOr); })
      .Case([&](arith::XOrIOp) { return written("!=", bindEqual); })
      .Case([&](arith::SelectOp typed) -> Made {
        return Expression{use(operands[0], bindOr) + " ? " + use(operands[1], bindOr) + " : " +
                              use(operands[2], bindChoice),
                          bindChoice};
      })
      .Case([&](arith::CmpIOp typed) -> Made {
        const char *sign = signOf(typed.getPredicate());
        if (!sign)
          return std::nullopt;
        const bool isEqual = typed.getPredicate() == arith::CmpIPredicate::eq ||
                             typed.getPredicate() == arith::CmpIPredicate::ne;
        return written(sign, isEqual ? bindEqual : bindLess);
      })
      .Case([&](gpu::ThreadIdOp) -> Made { return Expression{"(i64)threadIdx.x", bindUnary}; })
      .Case([&](gpu::LaneIdOp) -> Made { return Expression{"pst_lane()", bindAll}; })
      .Case([&](gpu::BlockIdOp) -> Made { return Expression{"(i64)blockIdx.x", bindUnary}; })
      .Case([&](gpu::GridDimOp) -> Made { return Expression{"(i64)gridDim.x", bindUnary}; })
      .Default([](Operation *) -> Made { return std::nullopt; });
}
