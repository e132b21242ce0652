// SPDX-License-Identifier: Apache-2.0
//
// State of the importer: frames, regions, calls in progress.
#pragma once

#include "compiler/Import/Values/Value.h"
#include "llvm/ADT/DenseMap.h"

#include <map>
#include <memory>
#include <optional>
#include <set>

namespace penstock::importer {

/// An error was reported; the statement is given up.
struct Abort {};
/// Parameters that are compiled in, with the property that each decides.
using StaticParameters = std::map<std::string, std::string, std::less<>>;
/// Thrown where these parameters must be static: import starts again.
struct MakeStatic {
  std::set<std::string> names;
  std::string reason; ///< the property that they decide: "the extent of axis `h`"
};

/// Ends the name of an axis that no text can write, and that is of one place only.
inline constexpr char insideMark = '\'';

/// The region of an op would use the element of a region around it.
struct OuterElement {};

/// An axis whose extent a parameter's type states, and the axis that was given.
struct StatedExtent {
  const dsl::AxisType *axis;
  Dim given;
  dsl::SourceRange range; ///< of the argument
};

/// The names one function body, or the pipeline, sees.
struct Frame {
  const dsl::File *file = nullptr;
  std::string function; ///< empty: the pipeline
  std::map<std::string, Val, std::less<>> values;
  std::map<std::string, dsl::SourceRange, std::less<>> definitions; ///< for notes
  /// By parameter: the argument, null where it stood before `|>`, and its place.
  std::map<std::string, std::pair<const dsl::Expr *, dsl::SourceRange>, std::less<>> given;
  std::map<std::string, std::string, std::less<>> axes; ///< parameters of type axis
  std::map<std::string, mlir::Type, std::less<>> generics;
  std::map<std::string, Dim, std::less<>> extents; ///< of the axes in parameter types
  std::vector<StatedExtent> stated;                ///< of which samples may differ
};

/// The region of a map, window or gather while it is built, not yet in an op.
/// A place that `sort` gave: which of `elements`, whose places begin at `low`, lies there in order.
struct SortedPlace {
  std::vector<mlir::Value> elements;
  int64_t low = 0;
  mlir::Value element;
};

struct ElementRegion {
  std::vector<Dim> domain;
  mlir::Block *block = nullptr;
  std::vector<mlir::Value> inputs; ///< block arguments 0 .. inputs.size()
  std::vector<mlir::Value> coordinates;
  bool takesInputs = true; ///< window and gather read captured tensors by load
  llvm::DenseMap<mlir::Value, SortedPlace> sorted; ///< by place
};

/// A block that is not yet in an op. An error may leave users of its values
/// behind, which must not outlive it.
struct BlockDeleter {
  void operator()(mlir::Block *block) const {
    block->dropAllDefinedValueUses();
    delete block;
  }
};
using OwnedBlock = std::unique_ptr<mlir::Block, BlockDeleter>;

/// A step of the key of a scope that draws: the index of its repetition.
struct KeyStep {
  mlir::Value index;
  int64_t views = 0; ///< of an `each`; 0: a repeat or a search
};

/// A call in progress; the innermost one is last.
struct CallSite {
  dsl::SourceRange range; ///< of the name in the caller
  std::string function;
  const dsl::FnDecl *fn = nullptr;
  mlir::LocationAttr place; ///< of that name, and of the calls around it
  size_t frame = 0;         ///< of the function
};

/// An argument as given.
struct Argument {
  Val value;
  std::string name;                ///< empty: by position
  const dsl::Expr *expr = nullptr; ///< null: the value before `|>`
  dsl::SourceRange range;          ///< for errors: the argument; before `|>`, the stage
  dsl::SourceRange made = {};      ///< before `|>`: where the value was made

  /// Returns the place of notes about the value.
  dsl::SourceRange origin() const { return made.valid() ? made : range; }
};

/// Restores a value at the end of a scope, after an Abort too.
template <typename T> struct Restore {
  explicit Restore(T &target) : target(target), saved(target) {}
  Restore(T &target, T value) : target(target), saved(target) { target = std::move(value); }
  ~Restore() { target = std::move(saved); }
  T &target;
  T saved;
};

/// Names end with their body: an extent that one hides is seen again, and one that was
/// nothing is a word again.
class BinderScope {
public:
  explicit BinderScope(std::vector<Frame> &frames) : frames(frames), depth(frames.size() - 1) {}
  ~BinderScope() {
    for (auto &[name, value] : hidden)
      if (value)
        frames[depth].values[name] = std::move(*value);
      else
        frames[depth].values.erase(name);
  }
  /// Hides a name, before it gets its value.
  void hide(const std::string &name) {
    const auto found = frames[depth].values.find(name);
    hidden.emplace(name, found == frames[depth].values.end() ? std::nullopt
                                                             : std::optional<Val>(found->second));
  }

private:
  std::vector<Frame> &frames;
  size_t depth;
  std::map<std::string, std::optional<Val>> hidden; ///< null: there was none
};

/// Moves the sample's builder for a scope.
struct BaseGuard {
  BaseGuard(mlir::OpBuilder &builder, mlir::Block *block) : guard(builder) {
    builder.setInsertionPointToEnd(block);
  }
  mlir::OpBuilder::InsertionGuard guard;
};

} // namespace penstock::importer
