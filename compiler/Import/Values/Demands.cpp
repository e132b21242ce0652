// SPDX-License-Identifier: Apache-2.0
//
// Values of the kind that a place needs.
#include "compiler/Import/Values/Arithmetic.h"

using namespace penstock::importer;
using penstock::pipe::CastMode;

mlir::Value Arithmetic::demandBool(const Val &value, dsl::SourceRange range,
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

mlir::Value Arithmetic::demandIndex(const Val &value, dsl::SourceRange range,
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

mlir::Value Arithmetic::demandF64(const Val &value, dsl::SourceRange range,
                                  const std::string &what) {
  if (value.is(Kind::Poison))
    throw Abort{};
  if (value.is(Kind::Tensor) && regions.size()) {
    Val element = value;
    element.kind = Kind::Number;
    element.ir = elementHere(value.ir, range);
    return demandF64(element, range, what);
  }
  std::optional<Val> converted =
      value.is(Kind::Number) ? convert(value, base.getF64Type()) : std::nullopt;
  if (!converted && value.is(Kind::Number))
    fail(range, what + " is computed in f64, and this is " + show(value), "`f64(...)` converts");
  if (!converted)
    fail(range, what + " must be a number, and this is " + show(value));
  return converted->ir;
}

int64_t Arithmetic::demandInt(const Val &value, dsl::SourceRange range, const std::string &what) {
  mlir::Value index = demandIndex(value, range, what);
  std::optional<int64_t> number = staticInt(index, what);
  if (!number)
    fail(range,
         what + " must be known when compiling, and this is known only when the pipeline runs",
         "build it from constants and parameters");
  return *number;
}

std::pair<mlir::Value, mlir::Value> Arithmetic::demandEnds(const Val &ends, dsl::SourceRange range,
                                                           const std::string &start,
                                                           const std::string &end) {
  if (ends.parts[0].wasWhole) // what is wrong with it is the other's fault
    demandIndex(ends.parts[1], range, end);
  mlir::Value low = demandIndex(ends.parts[0], range, start);
  return {low, demandIndex(ends.parts[1], range, end)};
}

std::pair<int64_t, int64_t> Arithmetic::demandIntEnds(const Val &ends, dsl::SourceRange range,
                                                      const std::string &start,
                                                      const std::string &end) {
  if (ends.parts[0].wasWhole)
    demandInt(ends.parts[1], range, end);
  const int64_t low = demandInt(ends.parts[0], range, start);
  return {low, demandInt(ends.parts[1], range, end)};
}
