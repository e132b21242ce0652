//===- Places.h - small things that every file of Import uses -------------===//
#ifndef PENSTOCK_COMPILER_IMPORT_PLACES_H
#define PENSTOCK_COMPILER_IMPORT_PLACES_H

#include "compiler/Import/Importer.h"

namespace penstock::importer {

inline std::string quote(std::string_view text) { return "`" + std::string(text) + "`"; }

/// Gives the ops created in a scope the place of an expression.
struct Importer::PlaceGuard {
  PlaceGuard(Importer &importer, dsl::SourceRange range)
      : importer(importer), saved(importer.here), savedRange(importer.hereRange) {
    importer.here = importer.place(range);
    importer.hereRange = range;
  }
  ~PlaceGuard() {
    importer.here = saved;
    importer.hereRange = savedRange;
  }
  Importer &importer;
  mlir::Location saved;
  dsl::SourceRange savedRange;
};

/// Restores a value at the end of a scope, after an Abort too.
template <typename T> struct Restore {
  explicit Restore(T &target) : target(target), saved(target) {}
  Restore(T &target, T value) : target(target), saved(target) { target = std::move(value); }
  ~Restore() { target = std::move(saved); }
  T &target;
  T saved;
};

/// Moves the sample's builder for a scope.
struct BaseGuard {
  BaseGuard(mlir::OpBuilder &builder, mlir::Block *block) : guard(builder) {
    builder.setInsertionPointToEnd(block);
  }
  mlir::OpBuilder::InsertionGuard guard;
};

} // namespace penstock::importer

#endif
