//===- Importer.h - the elaborator, for compiler/Import itself ------------===//
//
// One class over several files, since every kind of expression may hold every
// other; a section per file. It exists once per round (see Import.cpp).
//
// An error is reported where it is found and thrown as Abort, which ends the
// statement; its name becomes Poison, whose uses are silent.
//
// Two builders are at work. Ops of the sample go to `base`, which moves into
// the arms of branches and the bodies of loops. Scalars inside the region of a
// map, window or gather go to the innermost such region that one of their
// operands belongs to, all others to `base`: what does not depend on the
// element is computed once.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_COMPILER_IMPORT_IMPORTER_H
#define PENSTOCK_COMPILER_IMPORT_IMPORTER_H

#include "compiler/Import/Import.h"
#include "compiler/Import/Scope.h"

#include <functional>

namespace penstock::importer {

class Importer {
public:
  Importer(mlir::MLIRContext &context, const dsl::Program &program,
           const dsl::SourceManager &sources, const ImportOptions &options,
           const StaticParameters &staticParameters, dsl::Diagnostics &diagnostics);

  /// Null after errors. Throws MakeStatic.
  mlir::OwningOpRef<mlir::ModuleOp> run(const dsl::PipelineDecl &pipeline);
  /// Whether a parameter's type leaves no choice: a range, a word.
  static bool isAlwaysStatic(const dsl::Param &param);

private:
  friend class SourceImport; // Sources.cpp
  using Args = llvm::ArrayRef<Argument>;

  mlir::MLIRContext &context;
  const dsl::Program &program;
  const dsl::SourceManager &sources;
  const ImportOptions &options;
  const StaticParameters &staticParameters;
  dsl::Diagnostics &diagnostics;

  mlir::OpBuilder base;
  mlir::Location here;
  dsl::SourceRange hereRange; ///< the same, for messages
  std::vector<Frame> frames;
  std::vector<CallSite> calls;
  std::vector<ElementRegion *> regions;
  /// Extents of the values that a repeat carries, which no op defines.
  std::map<void *, std::vector<Dim>> carriedDims;
  std::string numerics = "pillow";
  bool inBatch = false;
  std::optional<int64_t> batchSize; // where it is a constant

  Frame &frame() { return frames.back(); }

  // --- Messages and places (Places.cpp)
  mlir::Location place(dsl::SourceRange range) const;
  /// Where a message about `range` goes: the user's line if it is in a library.
  dsl::SourceRange userRange(dsl::SourceRange range) const;
  dsl::Diagnostics::Report error(dsl::SourceRange range, std::string message);
  [[noreturn]] void fail(dsl::SourceRange range, std::string message, std::string hint = {});
  /// `flip` over axis `ww`, which its input does not have.
  [[noreturn]] void failAxis(dsl::SourceRange range, const std::string &what,
                             const std::string &axis, const Val &value, dsl::SourceRange origin);
  [[noreturn]] void notYet(dsl::SourceRange range, std::string what);
  /// Attaches where the value of an expression comes from.
  void noteValue(dsl::Diagnostics::Report &report, const dsl::Expr *expr, const Val &value);
  struct PlaceGuard;

  // --- Types (Types.cpp)
  std::string show(mlir::Type type) const;
  std::string show(const Val &value) const;
  std::string show(const std::vector<Dim> &dims, mlir::Type element) const;
  mlir::Type elementType(const Val &value) const;
  mlir::Type elementNamed(const std::string &name) const;
  std::string axisNamed(const std::string &name) const;
  std::vector<Dim> dims(mlir::Value tensor);
  pipe::NamedTensorType tensorOf(mlir::Type element, const std::vector<Dim> &dims) const;
  static llvm::SmallVector<mlir::Value> sizesOf(const std::vector<Dim> &dims);
  static const Dim *find(const std::vector<Dim> &dims, const std::string &name);
  /// An axis whose extent is `size`; static if possible.
  Dim dim(const std::string &name, mlir::Value size, const std::string &metadata,
          dsl::SourceRange range);
  /// Reports where pixels decide how many elements there are.
  mlir::Value extent(const Dim &dim);
  /// Static extents that differ are false; others are checked per sample.
  bool sameExtent(const Dim &a, const Dim &b);
  /// Checks and converts a value for a declared type.
  Val conform(Val value, const dsl::TypeExpr &type, dsl::SourceRange range,
              const std::string &what);
  Val listOf(const Val &list, const dsl::TypeExpr &type, dsl::SourceRange range);

  // --- Axes whose number of elements pixels decide (Counted.cpp)
  /// Such an axis has room for all that there could be, and a count beside it.
  /// It is known by its room, a scalar that no other axis has.
  struct Counted {
    mlir::Value count; ///< i64, a tensor without axes
    std::string makes; ///< `compact keeps`, for messages
  };
  std::map<void *, Counted> countedAxes;
  const Counted *countedBy(const Dim &dim) const;
  /// What `extent` gives, and the room of such an axis.
  mlir::Value room(const Dim &dim);
  /// An axis with room for as many as `most`; its count is still to be given.
  Dim roomFor(const std::string &name, mlir::Value most, const std::string &metadata);
  [[noreturn]] void failCounted(dsl::SourceRange range, const Dim &dim, const Counted &counted);
  /// Refuses such an axis.
  void demandKnown(const std::vector<Dim> &all, const std::string &axis, dsl::SourceRange range);
  bool anyCounted(mlir::Value tensor, llvm::ArrayRef<std::string> axes);
  /// Whether each element along the axis exists: bool over it.
  mlir::Value existing(const Dim &dim);
  /// The tensor with `other` in place of what does not exist along some axes.
  mlir::Value onlyExisting(mlir::Value tensor, llvm::ArrayRef<std::string> axes, mlir::Value other);
  Val compact(Args args);
  Val group(Args args, dsl::SourceRange range);
  Val reduceGroups(pipe::ReduceKind kind, const Argument &arg, const std::vector<std::string> &over,
                   dsl::SourceRange range);

  // --- Static numbers (Static.cpp)
  /// The number, or nothing if it is known per sample only. Throws MakeStatic
  /// where parameters stand in the way.
  /// \param decides  what the number is for, as people are told.
  std::optional<int64_t> staticInt(mlir::Value value, const std::string &decides);
  /// Throws MakeStatic if `value` is built from parameters (and constants) alone.
  void settle(mlir::Value value, const std::string &decides);
  /// ` (train.pipe:7:8)`: the user's line at hand.
  std::string userPlace() const;
  int64_t demandInt(const Val &value, dsl::SourceRange range, const std::string &what);
  static std::optional<int64_t> constantInt(mlir::Value value);
  static std::optional<double> constantF64(mlir::Value value);
  bool dependsOnParametersOnly(mlir::Value value, std::set<std::string> &names);
  /// a - b + constant, with what cancels left out.
  mlir::Value difference(mlir::Value a, mlir::Value b, int64_t constant);

  // --- Parameters and options (Params.cpp)
  void bindParameters(const dsl::PipelineDecl &pipeline);
  Val bindParameter(const dsl::Param &param);
  /// Says of each parameter whether it is static, and why.
  void explainParameters(const dsl::PipelineDecl &pipeline, mlir::Operation *op);
  Val parseParameter(const dsl::Param &param, const std::string &text);

  // --- Pipeline, batch and outputs (Pipeline.cpp, Output.cpp)
  void importOption(const dsl::OptionSetting &option, int64_t &seed, double &substitute);
  void notYetHere(dsl::SourceRange range);
  void importSource(const dsl::PipelineDecl &pipeline);
  void importLet(const dsl::LetDecl &let);
  void evalLet(const dsl::LetDecl &let);
  void importBatch(const dsl::BatchDecl &batch);
  void importOutput(const dsl::OutputDecl &output);
  /// What `pipe.output` is told of axes whose number of elements pixels decide.
  struct OutputCounts {
    llvm::SmallVector<mlir::Value> counts;
    llvm::SmallVector<mlir::Attribute> axes, messages;
    llvm::SmallVector<int64_t> limits;
  };
  Val outputLayout(const dsl::OutputDecl &output, const Val &value, OutputCounts &counts);
  mlir::Value outputExtent(const dsl::OutputDecl &output, const dsl::AxisType &axis,
                           mlir::Value value, const Val &shown, OutputCounts &counts);
  mlir::Value existingOnly(const dsl::OutputDecl &output, mlir::Value value, const Dim &axis,
                           int64_t extent);
  Val outputElements(const dsl::OutputDecl &output, Val value, const Val &shown);
  /// The order's kind, and the rows of a list.
  std::pair<pipe::OrderKind, mlir::Value> importOrder(const dsl::Expr &order);
  /// What of `where` and weights says which rows take part.
  void importAdmission(const dsl::PipelineDecl &pipeline);
  mlir::Value indexFolder; ///< of the option `index`; null: none is given
  bool keepIndex = true;   ///< false for `index = off`
  bool buildIndex = false; ///< true for `index = auto`
  std::string pipelineName;
  std::string outputName; ///< of the let or output at hand, for draw paths

  // --- Expressions (Expressions.cpp)
  Val eval(const dsl::Expr &expr);
  Val evalBlock(const dsl::Block &block);
  Val evalName(const dsl::NameExpr &name);
  Val evalField(const dsl::FieldExpr &field);
  Val evalQuantity(const dsl::QuantityLit &quantity);
  Val evalConst(const dsl::ConstDecl &constant, const dsl::File &file);
  Val builtinValue(const std::string &name);
  void bind(const dsl::Name &name, Val value);

  // --- Scalars and arithmetic on tensors (Scalars.cpp)
  mlir::OpBuilder endOf(mlir::Block *block) {
    mlir::OpBuilder builder(&context);
    builder.setInsertionPointToEnd(block);
    return builder;
  }
  mlir::OpBuilder builderFor(mlir::ValueRange operands);
  bool isElementLocal(mlir::Value value) const;
  mlir::Value intConstant(int64_t value);
  mlir::Value constant(mlir::Type type, double value);
  Val number(mlir::Value value, bool loose = false);
  Val tensor(mlir::Value value);
  mlir::Value binary(pipe::BinaryKind kind, mlir::Value a, mlir::Value b);
  mlir::Value compare(pipe::Predicate predicate, mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value cast(pipe::CastMode mode, mlir::Value value, mlir::Type to);
  Val castTo(pipe::CastMode mode, const Val &value, mlir::Type to, dsl::SourceRange range);
  /// Converts a loose number, or an int to a float; null if not allowed.
  std::optional<Val> convert(const Val &value, mlir::Type to);
  /// Applies a scalar function to numbers, tensors (by name) or neighbours.
  using ScalarFn = std::function<mlir::Value(llvm::ArrayRef<mlir::Value>)>;
  Val lift(llvm::ArrayRef<Val> operands, mlir::Type result, const ScalarFn &fn,
           dsl::SourceRange range);
  /// A small tensor spread over a neighbourhood.
  Val onGrid(const Val &tensor, const std::vector<Val::GridAxis> &grid, dsl::SourceRange range);
  Val arithmetic(const std::string &spelling, Val a, Val b, dsl::SourceRange range);
  Val evalBinary(const dsl::BinaryExpr &expr);
  std::optional<bool> sameWord(const dsl::BinaryExpr &expr);
  Val evalUnary(const dsl::UnaryExpr &expr);
  /// The common type of two operands; reports.
  mlir::Type unify(const std::string &spelling, Val &a, Val &b, dsl::SourceRange range);
  mlir::Value demandBool(const Val &value, dsl::SourceRange range, const std::string &what);
  mlir::Value demandIndex(const Val &value, dsl::SourceRange range, const std::string &what);
  mlir::Value demandF64(const Val &value, dsl::SourceRange range, const std::string &what);
  void check(mlir::Value condition, const std::string &message, mlir::Value first,
             mlir::Value second);

  // --- Regions (Regions.cpp, Window.cpp, Loops.cpp)
  Val evalMap(const dsl::MapExpr &map);
  Val evalWindow(const dsl::WindowExpr &window);
  Val evalEach(const dsl::EachExpr &each);
  Val evalSearch(const dsl::SearchExpr &search);
  /// A map over `domain` whose body gets the coordinates.
  mlir::Value buildMap(const std::vector<Dim> &domain, mlir::Type element,
                       const std::function<mlir::Value(ElementRegion &)> &body);
  /// The element of a tensor at the innermost region's place.
  mlir::Value elementHere(mlir::Value tensor, dsl::SourceRange range);
  mlir::Value loadHere(mlir::Value tensor, const std::map<std::string, mlir::Value> &at,
                       dsl::SourceRange range);
  /// Builds a region: `body` gives what it yields, `create` makes the op that
  /// takes the block. Throws OuterElement if the body uses an outer region's.
  void inRegion(ElementRegion &region, llvm::ArrayRef<mlir::Type> elements,
                const std::function<std::vector<mlir::Value>()> &body,
                const std::function<void(mlir::Block *)> &create);
  static std::string axisList(const std::vector<Dim> &dims);
  pipe::Border borderNamed(const Argument &arg);
  /// The scalar that the body gives, of one element type.
  mlir::Value bodyScalar(const Val &value, dsl::SourceRange range, const char *what);
  /// Axes of all binders together.
  void addDims(std::vector<Dim> &domain, const std::vector<Dim> &more, dsl::SourceRange range);
  mlir::Value iota(const Dim &dim);
  Val reduceNeighbours(pipe::ReduceKind kind, const Val &value,
                       const std::vector<std::string> &over, dsl::SourceRange range);

  // --- Slices and picks (Index.cpp)
  Val evalIndex(const dsl::IndexExpr &index);
  Val indexTensor(Val value, const std::vector<const dsl::AxisSetting *> &settings,
                  const dsl::Expr &source);
  void checkInside(mlir::Value first, mlir::Value count, const Dim &axis, dsl::SourceRange range);
  mlir::AffineExpr affine(mlir::Value value, llvm::SmallVector<mlir::Value> &symbols);
  Val indexNeighbours(const Val &value, const dsl::IndexExpr &index);
  Val peer(const Val &value, mlir::Value slot, dsl::SourceRange range);
  /// One axis of a view in the making.
  mlir::Value viewAxis(mlir::Value tensor, const std::string &axis, mlir::Value first, int64_t step,
                       const Dim &result);
  mlir::Value pickAxis(mlir::Value tensor, const std::string &axis, mlir::Value index);
  mlir::Value permute(mlir::Value tensor, llvm::ArrayRef<std::string> order);
  mlir::Value retype(mlir::Value tensor, const std::vector<Dim> &dims);
  mlir::Value createView(mlir::Value tensor, const std::vector<Dim> &dims,
                         llvm::ArrayRef<mlir::AffineExpr> exprs, mlir::ValueRange symbols);

  // --- Stages and branches (Stages.cpp, Branches.cpp)
  Val evalPipe(const dsl::PipeExpr &pipe);
  /// \param origin  what made `value`: the input of the chain, or a stage.
  Val evalChain(Val value, dsl::SourceRange origin, const dsl::Chain &chain);
  Val evalStage(Val value, dsl::SourceRange origin, const dsl::Stage &stage);
  Val evalStageBody(Val value, dsl::SourceRange origin, const dsl::Stage &stage);
  Val evalChoose(Val value, dsl::SourceRange origin, const dsl::ChooseStage &stage);
  Val evalRepeat(Val value, dsl::SourceRange origin, const dsl::RepeatStage &stage);
  Val evalIf(const dsl::IfExpr &expr);
  using Arm = std::function<Val()>;
  /// One of several values, by number. `mismatch` reports that the first and
  /// another one do not fit, and throws.
  Val branch(mlir::Value index, llvm::ArrayRef<Arm> arms,
             const std::function<void(const Val &, const Val &)> &mismatch);
  Val merge(mlir::Value index, std::vector<Val> values, llvm::MutableArrayRef<OwnedBlock> blocks,
            const std::function<void(const Val &, const Val &)> &mismatch);
  /// Moves a scalar's computation out of a block that is not yet in its op.
  static bool hoistable(mlir::Value value, mlir::Block *from);
  void hoist(mlir::Value value, mlir::Block *from);
  mlir::Value selectByIndex(mlir::Value index, llvm::ArrayRef<mlir::Value> values);
  static void flatten(Val &value, std::vector<Val *> &leaves);

  // --- Calls (Calls.cpp, Matching.cpp)
  Val evalCall(const dsl::CallExpr &call);
  std::vector<Argument> evalArgs(const dsl::ArgList *args);
  Argument evalArg(const dsl::Expr &expr);
  Val callNamed(const dsl::Name &name, std::vector<Argument> args, dsl::SourceRange range);
  /// \param first  the first argument, whose unnamed fields ride along.
  Val callFn(const dsl::FnDecl &fn, Frame callee, const Val &first, dsl::SourceRange range);
  Val callBody(const dsl::FnDecl &fn, Frame callee, dsl::SourceRange range);
  /// A function over a record that no overload takes whole: field by field.
  std::optional<Val> callByField(const dsl::Name &name, const std::vector<const dsl::FnDecl *> &fns,
                                 const std::vector<Argument> &args);
  std::string showArgs(const std::vector<Argument> &args) const;
  /// Puts arguments into parameters; fills `why` and returns nothing if the
  /// function does not take them.
  struct Misfit {
    std::string message;
    std::vector<std::pair<dsl::SourceRange, std::string>> notes;
    std::string hint;
    dsl::SourceRange range;
    int score = 0; ///< how much fitted
  };
  std::optional<dsl::SourceRange> axisArgRange; ///< of the axis argument, for messages
  std::optional<Frame> match(const dsl::FnDecl &fn, const std::vector<Argument> &args, Misfit &why);
  bool matchParam(const dsl::FnDecl &fn, const dsl::TypeExpr &type, const Argument &arg, Val value,
                  Frame &callee, Val &bound, Misfit &why, const std::string &name);
  bool matchTensor(const dsl::FnDecl &fn, const dsl::TypeExpr &type, const Argument &arg,
                   Val &value, Frame &callee, Misfit &why, const std::string &name);
  bool bindElement(const dsl::FnDecl &fn, const std::string &name, mlir::Type type, Frame &callee);

  // --- Draws (Draws.cpp)
  Val evalDraw(const dsl::DrawExpr &draw);
  Val drawOnce(const dsl::DrawExpr &draw, const std::vector<Argument> &args);
  mlir::Value key();
  Val drawOp(pipe::DrawKind kind, const std::string &name, llvm::ArrayRef<mlir::Value> args,
             mlir::Type type);
  std::string pathHere(const std::string &last) const;
  /// The same, told apart from equal paths before.
  std::string nextPath(const std::string &last);
  /// Whether this is the inside of a function of the prelude.
  bool inPrelude() const;
  /// Shows the numbers in `value` as what was drawn here, named by their fields
  /// or `last`. People want to see the normal variate and the accepted box, not
  /// the uniform numbers that they were made of.
  void showDrawn(const Val &value, const std::string &last);
  int64_t drawCount = 0;    ///< draws so far
  std::string decidedStage; ///< the stage whose trailing `if` is evaluated
  std::vector<KeyStep> keySteps;
  std::map<std::string, int> ordinals;
  mlir::Value drawElement; ///< of a draw with `per`
  bool perSample = false;  ///< a batch draw `per [n]`

  // --- Intrinsics (Intrinsics.cpp, Reshape.cpp, Media.cpp; docs/intrinsics.md)
  static bool isIntrinsic(llvm::StringRef name);
  static bool isSource(llvm::StringRef name);
  Val callIntrinsic(const dsl::Name &name, const std::vector<Argument> &args,
                    dsl::SourceRange range);
  /// Arguments in the order of `names`; those not given are Poison. The first
  /// `required` must be there.
  std::vector<Argument> ordered(const std::string &function, const std::vector<Argument> &args,
                                llvm::ArrayRef<llvm::StringRef> names, size_t required,
                                dsl::SourceRange range);
  Val callType(mlir::Type type, const std::string &method, const std::vector<Argument> &args,
               dsl::SourceRange range);
  Val reduce(const dsl::Name &name, const std::vector<Argument> &args, const dsl::AxisList &over,
             dsl::SourceRange range);
  Val scalarFunction(const std::string &name, Args args, dsl::SourceRange range);
  std::string demandAxis(const Argument &arg, const Val *of, const std::string &function);
  std::string demandWord(const Argument &arg, llvm::ArrayRef<llvm::StringRef> words);
  const Val &demandTensor(const Argument &arg, const std::string &function);
  mlir::Value fillValue(const Argument &arg, mlir::Type element);
  Val extend(Args args, dsl::SourceRange range);
  Val resample(Args args, dsl::SourceRange range);
  mlir::Value inlineCoordinates(mlir::Value tensor);
  Val gather(const std::vector<Argument> &args, dsl::SourceRange range);
  Val frames_(Args args, dsl::SourceRange range);
  Val reverse(Args args, dsl::SourceRange range);
  Val rename(Args args, dsl::SourceRange range);
  Val join(bool stack, Args args, dsl::SourceRange range);
  Val placeInto(const std::vector<Argument> &args, dsl::SourceRange range);
  Val contract(Args args, dsl::SourceRange range);
  // Order.cpp
  /// What sorts last: the largest number, true, NaN.
  mlir::Value largest(mlir::Type type);
  Val sort(Args args);
  Val fft(Args args);
  Val scan(const std::string &name, Args args);
  Val decode(Args args, dsl::SourceRange range);
  Val encode(Args args);
  /// The pixels that went into `file`, as they come out of it.
  Val decodeEncoded(pipe::EncodeOp file, Args args, dsl::SourceRange range);
  mlir::Value imageToEncode(const Argument &arg);
  mlir::Value jpegQuality(const Argument &arg);
  mlir::Value encodedRoom(pipe::Codec format, mlir::Value height, mlir::Value width,
                          int64_t channels);
  Val pick(Args args, dsl::SourceRange range);
  Val source(const dsl::Name &name, const dsl::ArgList &args);
  mlir::Type columnType(const dsl::Expr &expr);
  Val rowField(const Val &row, const std::string &name, dsl::SourceRange range);
};

} // namespace penstock::importer

#endif
