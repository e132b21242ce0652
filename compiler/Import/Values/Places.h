// SPDX-License-Identifier: Apache-2.0
//
// Source places of ops and messages.
//
// The first of the classes that import is made of; each adds words to those of
// the one before (README.md).
//
// An error is reported where it is found and thrown as Abort, which ends the
// statement; its name becomes Poison, whose uses are silent.
#pragma once

#include "compiler/Import/Values/Scope.h"
#include "dsl/AST/Program.h"
#include "dsl/Diagnostics/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/DenseMap.h"

namespace penstock::importer {

inline std::string quote(std::string_view text) { return "`" + std::string(text) + "`"; }

class Places {
public:
  Places(mlir::MLIRContext &context, const dsl::Program &program, const dsl::SourceManager &sources,
         dsl::Diagnostics &diagnostics);

  mlir::MLIRContext &context;
  const dsl::Program &program;
  dsl::Diagnostics &diagnostics;

  mlir::Location here;
  dsl::SourceRange hereRange; ///< the same, for messages
  std::vector<Frame> frames;
  std::vector<CallSite> calls;
  bool inBatch = false; ///< inside of the `batch` block

  Frame &frame() { return frames.back(); }

  mlir::Location place(dsl::SourceRange range);
  void enterCall(dsl::SourceRange range, const dsl::FnDecl &fn);
  /// Returns the place of a message about `range`: the user's line if it is in a library.
  dsl::SourceRange userRange(dsl::SourceRange range) const;
  /// Returns the function that the user's line calls, where `range` is inside of a library; or "".
  std::string calledByUser(dsl::SourceRange range) const;
  /// Returns the user's places of a value: where it stands, and, where that is a parameter, the
  /// argument; the last one is where the value was given. None of what the library made itself.
  std::vector<dsl::SourceRange> userPlaces(const dsl::Expr &expr) const;
  /// Returns the user's line at hand: ` (train.pipe:7:8)`.
  std::string userPlace() const;

  dsl::Diagnostics::Report error(dsl::SourceRange range, std::string message);
  [[noreturn]] void fail(dsl::SourceRange range, std::string message, std::string hint = {});
  /// Reports `flip` over axis `ww`, which its input does not have.
  [[noreturn]] void failAxis(dsl::SourceRange range, const std::string &what,
                             const std::string &axis, const Val &value, dsl::SourceRange origin);
  /// Says at the call that an axis of an argument rides along in the function at hand, if one does.
  void noteRiding(dsl::Diagnostics::Report &report) const;
  /// Returns whether an axis of this name rides along in a call at hand.
  bool ridesAlong(const std::string &axis) const;
  /// As fail(), with such a note.
  [[noreturn]] void failRiding(dsl::SourceRange range, std::string message, std::string hint = {});
  [[noreturn]] void notYet(dsl::SourceRange range, std::string what);
  /// Returns the text of a range.
  std::string_view textOf(dsl::SourceRange range) const {
    return sources.text(range.file).substr(range.begin, range.end - range.begin);
  }
  /// Attaches where the value of an expression comes from.
  void noteValue(dsl::Diagnostics::Report &report, const dsl::Expr *expr, const Val &value);

  // In the user's words (Show.cpp).
  std::string show(mlir::Type type) const;
  std::string show(const Val &value) const;

private:
  mlir::Location placeInFile(dsl::SourceRange range);
  std::string show(const std::vector<Dim> &dims, mlir::Type element) const;

  const dsl::SourceManager &sources;
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, mlir::LocationAttr>
      knownPlaces; ///< by file and offset
};

/// Gives the ops created in a scope the place of an expression.
struct PlaceGuard {
  PlaceGuard(Places &places, dsl::SourceRange range)
      : places(places), saved(places.here), savedRange(places.hereRange) {
    places.here = places.place(range);
    places.hereRange = range;
  }
  ~PlaceGuard() {
    places.here = saved;
    places.hereRange = savedRange;
  }
  Places &places;
  mlir::Location saved;
  dsl::SourceRange savedRange;
};

} // namespace penstock::importer
