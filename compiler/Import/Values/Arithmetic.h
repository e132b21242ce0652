// SPDX-License-Identifier: Apache-2.0
//
// Numbers, tensors and neighbours alike.
#pragma once

#include "compiler/Import/Values/Tensors.h"

namespace penstock::importer {

class Arithmetic : public Tensors {
public:
  using Tensors::Tensors;

  /// Applies a scalar function to numbers, tensors (by name) or neighbours.
  using ScalarFn = std::function<mlir::Value(llvm::ArrayRef<mlir::Value>)>;
  Val lift(llvm::ArrayRef<Val> operands, mlir::Type result, const ScalarFn &fn,
           dsl::SourceRange range);
  Val arithmetic(const std::string &spelling, Val a, Val b, dsl::SourceRange range);
  void demandSameUnit(const std::string &spelling, const Val &a, const Val &b,
                      dsl::SourceRange range);
  void demandUnitsCancel(pipe::BinaryKind kind, const std::string &spelling, const Val &a,
                         const Val &b, dsl::SourceRange range);
  void warnOfQuotient(const Val &a, const Val &b, dsl::SourceRange range);
  void warnOfScaling(const Val &a, const Val &b, mlir::Type type, dsl::SourceRange range);
  /// Returns an integer that sorts as the number does: -0 below +0, NaN after or before all.
  mlir::Value sortKey(mlir::Value x, bool nanLast);
  /// Returns the number that has this sort key, where NaN comes last.
  mlir::Value fromSortKey(mlir::Value key, mlir::Type type);
  Val reduceNeighbours(pipe::ReduceKind kind, const Val &value,
                       const std::vector<std::string> &over, dsl::SourceRange range);
  /// A small tensor spread over a neighbourhood.
  Val onGrid(const Val &tensor, const std::vector<Val::GridAxis> &grid, dsl::SourceRange range);

  // --- Conversions of element types (Conversions.cpp)
  Val castTo(pipe::CastMode mode, const Val &value, mlir::Type to, dsl::SourceRange range);
  /// Converts an untyped number, or an int to a float; nothing if not allowed.
  std::optional<Val> convert(const Val &value, mlir::Type to);
  /// Returns whether convert() does.
  static bool converts(const Val &value, mlir::Type to);
  /// Converts two operands to their common type and returns it; reports if there is none.
  mlir::Type unify(const std::string &spelling, Val &a, Val &b, dsl::SourceRange range);
  /// The same of the two ends of a range, of which each knows whether the other made it a fraction.
  void unifyEnds(Val &low, Val &high, dsl::SourceRange range);

  // --- Values of the kind that a place needs (Demands.cpp)
  mlir::Value demandBool(const Val &value, dsl::SourceRange range, const std::string &what);
  mlir::Value demandIndex(const Val &value, dsl::SourceRange range, const std::string &what);
  mlir::Value demandF64(const Val &value, dsl::SourceRange range, const std::string &what);
  int64_t demandInt(const Val &value, dsl::SourceRange range, const std::string &what);
  /// Both ends of a range, which messages call `start` and `end`.
  std::pair<mlir::Value, mlir::Value> demandEnds(const Val &ends, dsl::SourceRange range,
                                                 const std::string &start, const std::string &end);
  std::pair<int64_t, int64_t> demandIntEnds(const Val &ends, dsl::SourceRange range,
                                            const std::string &start, const std::string &end);

private:
  mlir::Value turned(mlir::Value bits);
};

} // namespace penstock::importer
