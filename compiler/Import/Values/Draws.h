// SPDX-License-Identifier: Apache-2.0
//
// Random values, their paths and keys.
#pragma once

#include "compiler/Import/Values/Scalars.h"

namespace penstock::importer {

/// Makes draws. Where the walk stands decides a draw's path and key: whoever
/// enters such a scope changes the members for as long (Restore).
class Draws {
public:
  explicit Draws(Scalars &in) : in(in) {}

  Val draw(pipe::DrawKind kind, const std::string &name, llvm::ArrayRef<mlir::Value> args,
           mlir::Type type);
  /// Shows the numbers in `value` as what was drawn here, named by their fields
  /// or `last`. People want to see the normal variate and the accepted box, not
  /// the uniform numbers that they were made of.
  void show(const Val &value, const std::string &last);

  /// Returns whether this is the inside of a function of the prelude.
  bool inPrelude() const;

  std::string pipeline;
  std::string statement; ///< the let, option or output at hand
  std::vector<KeyStep> keySteps;
  std::string decidedStage; ///< the stage whose trailing `if` is evaluated
  mlir::Value element;      ///< of a draw with `per`
  bool perSample = false;   ///< a batch draw `per [n]`
  bool searching = false;   ///< in the tries of a search, or in its `else`
  /// In the tries of a search: where the outermost one begins, and its tries.
  mlir::OpBuilder::InsertPoint beforeSearch;
  mlir::Block *tries = nullptr;
  std::vector<mlir::Value> attempts; ///< the numbers of the tries, outermost first
  size_t stepsBefore = 0;            ///< of `keySteps`
  int64_t count = 0;                 ///< draws so far
  bool inOutput = false;             ///< in what an output delivers
  /// The call in an output, or what it delivers, that draws once for all samples of the batch.
  std::optional<CallSite> shared;
  std::map<std::string, int> ordinals; ///< how many have had a path
  /// In the elements of a small tensor, which are made one by one: the paths of what is drawn once
  /// for all of them, by the order of the draws in one.
  struct Shared {
    int depth = 0; ///< small tensors within each other
    std::map<std::string, size_t> done;
    std::map<std::string, std::vector<std::string>> paths;
  };
  Shared small;
  bool once = false; ///< what is drawn is drawn once for all of a small tensor

private:
  mlir::Value key();
  std::string pathHere(const std::string &last) const;
  /// As pathHere(), numbered apart from equal paths before.
  std::string nextPath(const std::string &last);
  /// The same, but one path for all elements of a small tensor.
  std::string sharedPath(const std::string &last);

  Scalars &in;
};

} // namespace penstock::importer
