// SPDX-License-Identifier: Apache-2.0
//
// The checks of one file, for dsl/Sema itself; callers use Check.h.
//
// Two name spaces: values (constants, parameters, lets, binders, extents), in
// which nothing shadows anything of the same file, and functions, which can
// only be called. A file's own constants and functions come before those of
// modules, so that a library that grows breaks no program.
#pragma once

#include "dsl/Diagnostics/Quote.h"
#include "dsl/Sema/Check.h"
#include "dsl/Sema/InlinedSize.h"
#include "dsl/Sema/Shelf.h"

#include <functional>
#include <map>

namespace penstock::dsl {

class Checker {
public:
  Checker(const Program &program, const File &file, const Builtins &builtins, Shelf &shelf,
          InlinedSize &sizes, Diagnostics &diagnostics);

  /// Reports everything that is wrong with the names of this file.
  void run();

private:
  const Program &program;
  const File &file;
  const Builtins &builtins;
  Shelf &shelf;
  InlinedSize &sizes;
  Diagnostics &diagnostics;

  // --- Scopes (Scopes.cpp)
  struct Entry {
    std::string_view what; ///< "parameter", "value", "extent" ...
    SourceRange range;
  };
  using Scope = std::map<std::string, Entry, std::less<>>;
  std::vector<Scope> scopes;
  Builtins::Set generics;                                ///< element types of the function at hand
  std::map<std::string, SourceRange, std::less<>> later; ///< lets not reached yet
  bool incomplete = false; ///< a let without a name: unknown names prove nothing
  Builtins::Set lacking;   ///< modules that a `use` was asked for
  bool inPipeline = false, inBatch = false;
  std::map<std::string, std::vector<const NameExpr *>, std::less<>> constUses;
  const ConstDecl *currentConst = nullptr;
  struct FnCall {
    const FnDecl *callee;
    SourceRange range;
  };
  std::map<const FnDecl *, std::vector<FnCall>> fnCalls; ///< certain ones only
  const FnDecl *currentFn = nullptr;
  /// Whose size expressions are counted for.
  InlinedSize::Owner owner() const {
    return currentFn ? static_cast<InlinedSize::Owner>(currentFn) : currentConst;
  }
  /// Hints compare a name with all there are: not for each of thousands of errors.
  bool seeksNear() const { return diagnostics.count() <= 100; }
  bool isCounted() const { return currentFn || currentConst || inPipeline; }

  struct ScopeGuard {
    explicit ScopeGuard(Checker &checker) : checker(checker) { checker.scopes.emplace_back(); }
    ~ScopeGuard() { checker.scopes.pop_back(); }
    Checker &checker;
  };

  const Entry *findLocal(std::string_view name) const;
  void declare(const Name &name, std::string_view what);
  bool isElementType(std::string_view name) const;
  bool isKnownType(std::string_view name) const;
  bool isFunction(std::string_view name) const;
  bool isUnread(std::string_view name) const;
  bool isValue(std::string_view name) const;
  bool missesModule() const; ///< so that unknown names prove nothing
  /// Reports a name that a module in sight keeps to itself.
  bool refusePrivate(std::string_view name, SourceRange range);
  void unknownValue(const NameExpr &name);
  void unknownFunction(const Name &name);

  // --- Names of other libraries (Elsewhere.cpp)
  /// Reports a name that a module offers which the file does not use.
  bool lacksModule(const Name &name);
  /// `np.random` of `np.random.rand`; empty where no library of Python is meant.
  std::string libraryPath(const Expr &expr) const;
  void refuseLibrary(const std::string &path, const Name &name, SourceRange range);
  /// Returns the language's counterpart of a name of another library; empty: none is known.
  std::string ourWordsFor(const std::string &name) const;
  std::string ourMethodFor(const Expr &base, const std::string &name) const;
  /// A function in sight whose name differs in capitals and `_` only.
  std::string sameFunction(std::string_view name) const;

  // --- Declarations (Declarations.cpp, Cycles.cpp)
  void checkUses();
  void checkDuplicates();
  void checkConstCycles();
  void checkRecursion();
  void checkFn(const FnDecl &fn);
  void declareParams(const std::vector<Param> &params);
  void declareExtents(const TypeExpr &type, const std::vector<Param> &params);
  void checkType(const TypeExpr &type);
  void noteLater(const std::vector<LetDecl> &lets);
  void checkLet(const LetDecl &let);
  void checkBlock(const Block &block);

  // --- Pipelines (Pipelines.cpp)
  void checkPipeline(const PipelineDecl &pipeline);
  void checkOptions(const std::vector<OptionSetting> &options);
  void checkOrder(const Expr &order);
  void checkByLength(const PipelineDecl &pipeline);
  void checkBatch(const BatchDecl &batch);
  void checkOutput(const OutputDecl &output);

  // --- Expressions (Expressions.cpp)
  void check(const ExprPtr &expr);
  void check(const Expr &expr);
  void checkName(const NameExpr &name);
  void checkQuantity(const QuantityLit &quantity);
  void checkWindow(const WindowExpr &window);
  /// \param isWord  of a field's value: whether it is a word, and no name of a value.
  void checkFields(const RecordExpr &record, const std::function<bool(const Expr &)> &isWord);
  void checkMap(const MapExpr &map);
  void checkSearch(const SearchExpr &search);
  void checkDraw(const DrawExpr &draw);
  void checkStage(const Stage &stage);
  void checkAxes(const AxisList &axes);
  void checkAxisNames(const std::vector<AxisSetting> &settings);
  void checkAxisSettings(const std::vector<AxisSetting> &settings);

  // --- Calls (Calls.cpp)
  void checkCall(const CallExpr &call);
  void checkCallStage(const CallStage &stage);
  bool checkMethod(const Expr &base, const Name &method);
  void checkCallOfCall(const CallExpr &call);
  /// \param piped  1 if a value comes before the arguments, else 0.
  void checkCallOf(const Name &function, const ArgList *args, size_t piped);
  void checkArgs(const ArgList &args, const std::vector<const FnDecl *> &fns, size_t piped,
                 bool takesWords = false);
  void checkArity(const Name &function, const std::vector<const FnDecl *> &fns, const ArgList *args,
                  size_t piped);
  bool mayBeWord(const Arg &arg, size_t position, const std::vector<const FnDecl *> &fns) const;
};

} // namespace penstock::dsl
