// SPDX-License-Identifier: Apache-2.0
//
// Scalar ops, and the two builders.
//
// Two builders are at work. Ops of the sample go to `base`, which moves into
// the arms of branches and the bodies of loops. Scalars inside the region of a
// map, window or gather go to the innermost such region that one of their
// operands belongs to, all others to `base`: what does not depend on the
// element is computed once.
#pragma once

#include "compiler/Import/Values/Places.h"

namespace penstock::importer {

class Scalars : public Places {
public:
  Scalars(mlir::MLIRContext &context, const dsl::Program &program,
          const dsl::SourceManager &sources, dsl::Diagnostics &diagnostics)
      : Places(context, program, sources, diagnostics), base(&context) {}

  mlir::OpBuilder base;
  std::vector<ElementRegion *> regions;

  mlir::OpBuilder endOf(mlir::Block *block) {
    mlir::OpBuilder builder(&context);
    builder.setInsertionPointToEnd(block);
    return builder;
  }
  mlir::OpBuilder builderFor(mlir::ValueRange operands);
  bool isElementLocal(mlir::Value value) const;

  mlir::Value intConstant(int64_t value);
  mlir::Value constant(mlir::Type type, double value);
  static Val number(mlir::Value value, bool untyped = false);
  mlir::Value binary(pipe::BinaryKind kind, mlir::Value a, mlir::Value b);
  mlir::Value compare(pipe::Predicate predicate, mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value cast(pipe::CastMode mode, mlir::Value value, mlir::Type to);
  /// Emits a check; null if the condition is known to hold.
  mlir::Operation *check(mlir::Value condition, const std::string &message, mlir::Value first,
                         mlir::Value second);

  // Numbers that import itself needs (Static.cpp).
  static std::optional<int64_t> constantInt(mlir::Value value);
  static std::optional<double> constantF64(mlir::Value value);
  /// As show(), but a number itself where it is a known integer.
  std::string showNumber(const Val &value) const;
  /// The number, or nothing if it is known per sample only. Throws MakeStatic
  /// where parameters stand in the way.
  /// \param decides  the purpose of the number, for messages.
  std::optional<int64_t> staticInt(mlir::Value value, const std::string &decides);
  /// Throws MakeStatic if `value` is built from parameters (and constants) alone.
  void settle(mlir::Value value, const std::string &decides);
  static bool dependsOnParametersOnly(mlir::Value value, std::set<std::string> &names);
  /// Returns whether what the value is made of shows that it is 0 or more: extents and their sums,
  /// `max(n, 0)`.
  static bool isNeverNegative(mlir::Value value);
  /// Returns a - b + constant, without terms that cancel.
  mlir::Value difference(mlir::Value a, mlir::Value b, int64_t constant);
};

} // namespace penstock::importer
