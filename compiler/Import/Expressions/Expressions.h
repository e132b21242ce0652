// SPDX-License-Identifier: Apache-2.0
//
// Evaluation of expressions of the syntax tree.
//
// One class over several files, since every kind of expression may hold every
// other. It walks the tree and leaves the ops to the classes that it extends.
#pragma once

#include "compiler/Import/Intrinsics/Intrinsics.h"
#include "compiler/Import/Values/Draws.h"

#include <array>
#include <set>

namespace penstock::importer {

/// The option `index` of tables.
struct IndexOption {
  mlir::Value folder; ///< null: none is given
  bool keep = true;   ///< false for `index = off`
  bool build = false; ///< true for `index = auto`
};

class Expressions : public Intrinsics {
public:
  Expressions(mlir::MLIRContext &context, const dsl::Program &program,
              const dsl::SourceManager &sources, dsl::Diagnostics &diagnostics)
      : Intrinsics(context, program, sources, diagnostics), draws(*this) {}

  Draws draws;
  IndexOption index;
  std::optional<int64_t> batchSize; ///< where it is a constant

  Val eval(const dsl::Expr &expr);
  Argument evalArg(const dsl::Expr &expr);
  void demandFewParts(const Val &value, dsl::SourceRange range);
  void evalLet(const dsl::LetDecl &let);
  void bind(const dsl::Name &name, Val value);
  /// Returns whether a literal, which is finite, would be infinite in a type of floats.
  bool isInfiniteAs(const Val &value, const std::string &type);
  /// Fails where one would.
  void refuseInfinite(const Val &value, const std::string &type, dsl::SourceRange range,
                      const std::string &what);
  /// Checks and converts a value for a declared type.
  Val conform(Val value, const dsl::TypeExpr &type, dsl::SourceRange range,
              const std::string &what);
  /// The tensor of a nested list, of the type's axes but that named `without` (Declared.cpp).
  Val listOf(const Val &list, const dsl::TypeExpr &type, dsl::SourceRange range,
             llvm::StringRef without = {});

  /// A constant that nothing has asked for, for what is wrong with it.
  void evalIfUnused(const dsl::ConstDecl &constant);

private:
  // --- Leaves, names and blocks (Expressions.cpp)
  Val evalBlock(const dsl::Block &block);
  Val evalName(const dsl::NameExpr &name);
  Val evalField(const dsl::FieldExpr &field);
  Val evalQuantity(const dsl::QuantityLit &quantity);
  Val evalConst(const dsl::ConstDecl &constant, const dsl::File &file);
  Val builtinValue(const std::string &name);

  // --- Operators, slices and peers (Operators.cpp, Index.cpp)
  Val evalBehind(const dsl::BinaryExpr &expr, const Val &before);
  Val evalBinary(const dsl::BinaryExpr &expr);
  std::optional<bool> sameWord(const dsl::BinaryExpr &expr);
  Val evalUnary(const dsl::UnaryExpr &expr);
  Val evalIndex(const dsl::IndexExpr &index);
  /// \param which  the index along `n` of the values of all samples, if there is one.
  Val indexTensor(Val value, const std::vector<const dsl::AxisSetting *> &settings,
                  const Val &which, const dsl::Expr &source);
  /// The elements at the places of a list, along the same axis.
  mlir::Value placesOf(mlir::Value from, const Dim &axis, const Val &list, dsl::SourceRange range);
  /// A slice along an axis of which pixels decide an end.
  mlir::Value sliceByPixels(mlir::Value from, const Dim &axis, const Val &at,
                            dsl::SourceRange range);
  mlir::Value sortedElement(const Val &value, size_t axis, std::vector<int64_t> at,
                            mlir::Value place);
  /// The elements at computed places along an axis of a window.
  Val chosen(const Val &value, size_t axis, const Val &where, dsl::SourceRange range);
  void warnOfPlace(const dsl::Expr &index, const Val::GridAxis &axis);
  Val indexNeighbours(const Val &value, const dsl::IndexExpr &index);
  Val peer(const Val &value, mlir::Value slot, dsl::SourceRange range);

  // --- Scopes (Map.cpp, Window.cpp, Loops.cpp)
  Val evalMap(const dsl::MapExpr &map);
  /// A `map` of which the number `which` is taken of those that an element becomes; `form` is what
  /// the body gave.
  Val mapOnce(const dsl::MapExpr &map, const std::vector<Dim> &domain,
              const std::vector<Val> &values, size_t which, Val &form);
  /// A tensor for each number that an element becomes, in records and small tensors as the body
  /// gave them. `once` makes the one of a number, and tells what the body gave.
  Val forEachNumber(dsl::SourceRange range, llvm::function_ref<Val(size_t, Val &)> once);
  static const Val &numberAt(const Val &form, size_t number);
  Val inForm(const Val &form, const Val *&next, dsl::SourceRange range);
  Val stackAlong(const std::vector<Val> &parts, const std::string &axis, dsl::SourceRange range);
  /// Maps over the elements of a window, or a few made from an element, one by one.
  Val mapSmall(const dsl::MapExpr &map, std::vector<Val> values, bool isInner);
  /// Tensors that are being made of one element, and in how many bodies.
  struct SmallTensor {
    std::vector<Val::GridAxis> grid;
    size_t depth = 0;
  };
  std::vector<SmallTensor> smallTensors;
  Val together(const std::vector<Val> &forms, const std::vector<Val::GridAxis> &grid,
               dsl::SourceRange range);
  void takeOneType(std::vector<Val> &parts, dsl::SourceRange range);
  Val evalWindow(const dsl::WindowExpr &window);
  Val evalEach(const dsl::EachExpr &each);
  /// The first view's number, and how many there are.
  std::pair<int64_t, int64_t> viewsOf(const dsl::EachExpr &each);
  /// Evaluates `concat(each (...) { ... }, k)`.
  Val joinEach(const dsl::EachExpr &each, const dsl::Name &axis);
  Val joined(const std::vector<Val> &views, const dsl::Name &axis, const dsl::EachExpr &each);
  pipe::SearchOp createSearch(int64_t tries, OwnedBlock body, OwnedBlock otherwise,
                              mlir::Value accepts, llvm::SmallVector<mlir::Value> values,
                              llvm::SmallVector<mlir::Value> alternatives);
  Val evalSearch(const dsl::SearchExpr &search);
  /// The scalar that the body gives, of one element type.
  mlir::Value bodyScalar(const Val &value, dsl::SourceRange range, const char *what);

  // --- Stages and branches (Stages.cpp, Branches.cpp)
  Val evalPipe(const dsl::PipeExpr &pipe);
  /// \param origin  the maker of `value`: the input of the chain, or a stage.
  Val evalChain(Val value, dsl::SourceRange origin, const dsl::Chain &chain);
  Val evalStage(Val value, dsl::SourceRange origin, const dsl::Stage &stage);
  Val evalStageBody(Val value, dsl::SourceRange origin, const dsl::Stage &stage);
  std::string wholeWeights(const dsl::ChooseStage &stage);
  Val evalChoose(Val value, dsl::SourceRange origin, const dsl::ChooseStage &stage);
  Val evalRepeat(Val value, dsl::SourceRange origin, const dsl::RepeatStage &stage);
  /// One iteration of a `repeat`, in a block whose arguments are its number and the carried values.
  struct Iteration {
    OwnedBlock block;
    Val result;
    llvm::SmallVector<mlir::Value> sizes; ///< of the tensors that are carried
  };
  Iteration evalIteration(Val carried, dsl::SourceRange origin, const dsl::RepeatStage &stage);
  /// Makes tensors without axes of some numbers that a `repeat` carries.
  void takeAsTensors(Val &value, const std::map<size_t, mlir::Type> &numbers);
  /// Gives what an iteration made of a tensor the order of axes and the bounds that it had before.
  /// Returns the name of an axis whose extent may be another one, and then leaves it.
  std::string takeCarriedType(Val &after, const Val &before);
  /// Leaves that a `repeat` carries and that pixels decide, by its place and their number: a nested
  /// `repeat` is imported once more for each that is found around it, and not twice as often.
  std::map<const void *, std::map<size_t, mlir::Type>> madeOfPixels;
  Val evalIf(const dsl::IfExpr &expr);
  Val chooseElements(const Val &condition, Val then, Val otherwise, dsl::SourceRange range);
  std::optional<Val> evalTrial(const dsl::Expr &expr);
  void takeTypeOfOther(Val &taken, const dsl::Expr &other);
  llvm::DenseSet<const dsl::ConstDecl *> evaluated;
  /// What trials left behind: maps are keyed by addresses of values, so that nothing else may get
  /// these.
  std::vector<OwnedBlock> trials;
  using Arm = std::function<Val()>;
  /// One of several values, by number. `mismatch` reports that the first and
  /// another one do not fit, and throws.
  Val branch(mlir::Value index, llvm::ArrayRef<Arm> arms,
             const std::function<void(const Val &, const Val &)> &mismatch);
  Val merge(mlir::Value index, std::vector<Val> values, llvm::MutableArrayRef<OwnedBlock> blocks,
            const std::function<void(const Val &, const Val &)> &mismatch);
  /// Gives a tensor and what other arms have in its place one element type: literals take that of
  /// what they meet. Beside a tensor without axes a number is one, too.
  void takeTypeMet(llvm::ArrayRef<Val *> arms, llvm::MutableArrayRef<OwnedBlock> blocks);
  /// Moves a scalar's computation out of a block that is not yet in its op.
  static bool hoistable(mlir::Value value, mlir::Block *from);
  void hoist(mlir::Value value, mlir::Block *from);
  /// Moves the checks of a block that goes out here; they hold where `unless` does, too.
  void hoistChecks(mlir::Block *from, mlir::Value unless);
  mlir::Value selectByIndex(mlir::Value index, llvm::ArrayRef<mlir::Value> values);

  // --- Calls and draws (Calls.cpp, ByField.cpp, Distributions.cpp)
  Val evalCall(const dsl::CallExpr &call);
  /// Evaluates `f(x over [h, w])`: a reduction, or a function with a parameter of type `axes`.
  Val evalOver(const dsl::Name &name, std::vector<Argument> args, const dsl::AxisList &over,
               dsl::SourceRange range);
  /// \param function  `decode` takes types, such as `f32[k, f = 4]`.
  /// \param input     of a stage, what comes in front of its arguments.
  std::vector<Argument> evalArgs(const dsl::ArgList *args, const std::string &function = "",
                                 const Val *input = nullptr);
  /// Evaluates a type where a value stands; nothing if it is none.
  std::optional<Val> evalType(const dsl::Expr &expr);
  std::optional<Val> namesIn(const dsl::Expr &expr);
  Val callNamed(const dsl::Name &name, std::vector<Argument> args, dsl::SourceRange range);
  Val callFn(const dsl::FnDecl &fn, Frame callee, dsl::SourceRange range);
  /// Names that are axes of a function's own, or of those that it calls.
  const std::set<std::string> &ownAxes(const dsl::FnDecl &fn);
  std::map<const dsl::FnDecl *, std::set<std::string>> fnAxes;
  /// Gives axes that ride along other names inside, where the function has such of its own. Returns
  /// which.
  std::vector<std::string> renameRiding(const dsl::FnDecl &fn, Frame &callee);
  /// Gives them their names again in what it returns.
  Val renamedBack(Val value, const std::vector<std::string> &renamed, const dsl::FnDecl &fn,
                  dsl::SourceRange range);
  Val callBody(const dsl::FnDecl &fn, Frame callee, dsl::SourceRange range);
  class Mark;
  /// The first field for which each path was drawn, and the numbers that decided it.
  using FieldDraws = std::map<std::string, std::pair<std::string, llvm::SmallVector<mlir::Value>>>;
  std::map<std::string, llvm::SmallVector<mlir::Value>> drawnFrom(const Mark &mark) const;
  /// Fields that share a draw have one size, as far as what it is drawn from depends on theirs:
  /// else a picture and its mask would be cropped at other places.
  void demandSameDraws(const dsl::Name &name, FieldDraws &all, const std::string &field,
                       const Mark &mark);
  /// Calls a function over a record that no overload takes whole: field by field. `drawn` is what
  /// was drawn for fields before.
  std::optional<Val> callByField(const dsl::Name &name, const std::vector<const dsl::FnDecl *> &fns,
                                 const std::vector<Argument> &args, FieldDraws &drawn);
  /// Calls a function that takes some arguments. Where it takes a record, fields that it does not
  /// name go to its overloads, or ride along.
  Val callMatched(const dsl::Name &name, const std::vector<const dsl::FnDecl *> &fns,
                  const dsl::FnDecl &fn, Frame callee, const std::vector<Argument> &args);
  /// Evaluates what gives fields of a record an argument of their own, words too:
  /// `filter = { mask = nearest }`; nothing if it does not.
  std::optional<Val> evalByField(const dsl::Expr &expr, const Val &record,
                                 const std::string &function, const std::string &name);
  std::set<std::string> movedAxes(const Mark &mark, const Val &from, const Val &to);
  bool takesFirst(const dsl::FnDecl &fn, const std::vector<Argument> &given);
  const Val &demandField(const Val &record, const std::string &field, dsl::SourceRange range);
  static std::string signature(const dsl::FnDecl &fn);
  std::string showArgs(const std::vector<Argument> &args) const;
  std::string rangeHint(const dsl::Name &name, const std::vector<const dsl::FnDecl *> &fns,
                        const std::vector<Argument> &args);
  Val evalDraw(const dsl::DrawExpr &draw);
  Val drawOnce(const dsl::DrawExpr &draw, const std::vector<Argument> &args);
  /// Returns whether a sample can fail here, where a condition does not hold.
  bool canFail(mlir::Value condition) const;
  bool checksHere() const;
  bool isSameInTries(mlir::Value value) const;
  using Holds = std::function<mlir::Value(mlir::Value, mlir::Value)>;
  mlir::Operation *checkRange(const dsl::Expr &given, const Val &ends, const Holds &holds,
                              const std::string &message);

  // --- `check` (Check.cpp)
  Val evalCheck(const dsl::CallExpr &call);
  /// A value in a message: `, and this is {0}`, and the values of its marks.
  struct ShownValue {
    std::string text; ///< empty where it has no short text
    std::array<mlir::Value, 2> values;
  };
  ShownValue shownValue(const Val &value);
  /// As userPlaces(), but for values that the library made itself, the place of its call.
  std::vector<dsl::SourceRange> givenAt(const dsl::Expr &expr) const;

  // --- Whether a function takes some arguments (Matching.cpp)
  static std::string asNumber(dsl::UnitKind unit);
  /// Puts arguments into parameters; fills `why` and returns nothing if the
  /// function does not take them.
  struct Misfit {
    std::string message;
    std::vector<std::pair<dsl::SourceRange, std::string>> notes;
    std::string hint;
    dsl::SourceRange range;
    int score = 0; ///< how much fitted
    /// A tensor that has the axes that are wanted, and another element type.
    const Argument *byElement = nullptr;
  };
  std::optional<dsl::SourceRange> axisArgRange; ///< of the axis argument, for messages
  std::optional<Frame> match(const dsl::FnDecl &fn, const std::vector<Argument> &args, Misfit &why);
  /// In match(): tensors that are made of literals take the declared element type.
  bool literalsConvert = false;
  void convertLiterals(Val &value, const std::string &element);
  bool matchParam(const dsl::FnDecl &fn, const dsl::TypeExpr &type, const Argument &arg, Val value,
                  Frame &callee, Val &bound, Misfit &why, const std::string &name);
  bool matchTensor(const dsl::FnDecl &fn, const dsl::TypeExpr &type, const Argument &arg,
                   Val &value, Frame &callee, Misfit &why, const std::string &name);
  bool bindElement(const dsl::FnDecl &fn, const std::string &name, mlir::Type type, Frame &callee);
  /// Returns whether the extents that parameters' types state are those of the arguments, as far
  /// as that is known; leaves the others in `callee`.
  bool hasStatedExtents(const dsl::FnDecl &fn, Frame &callee, Misfit &why);
  /// The extent that a type states, in the frame at hand.
  mlir::Value statedExtent(const dsl::AxisType &axis);
  /// Returns false if an axis is known to have another extent than its type states, or more; checks
  /// what only samples know.
  bool demandStatedExtent(const dsl::AxisType &axis, const Dim &has, dsl::SourceRange range);
  template <typename Eval> auto inFrame(const Frame &frame, const Eval &eval) {
    frames.push_back(frame);
    struct Pop {
      std::vector<Frame> &frames;
      ~Pop() { frames.pop_back(); }
    } pop{frames};
    return eval();
  }
};

} // namespace penstock::importer
