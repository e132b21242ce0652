//===- KernelEmitter.h - one pipe.kernel as a function of loops -----------===//
#ifndef PENSTOCK_COMPILER_CONVERSION_KERNELEMITTER_H
#define PENSTOCK_COMPILER_CONVERSION_KERNELEMITTER_H

#include "compiler/Conversion/Memory.h"
#include "compiler/Conversion/Random.h"
#include "compiler/Conversion/RowStream.h"
#include "compiler/Conversion/Seen.h"
#include "compiler/Conversion/TapLoops.h"
#include "compiler/Conversion/TensorType.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SetVector.h"
#include <map>
#include <string>

namespace penstock::conversion {

/// Which loops compute a tensor: the axis along which lanes lie, and the
/// innermost axis that is unrolled, by position; -1: none.
struct LoopShape {
  int64_t laneAxis = -1;
  int64_t unrollAxis = -1;
  int64_t lanes = 1;
};

/// Axes that are small and unrolled, such as channels.
constexpr int64_t unrollBound = 4;

/// Half the width of a resampling filter.
double filterSupport(pipe::Filter filter);

/// Emits the body of a kernel. Tensors are functions of their indices: emit()
/// asks for the elements of a value at the indices of all lanes, and recursion
/// does the rest. Values that a schedule gives a buffer are computed once, where
/// they stand, and loaded after that.
class KernelEmitter {
public:
  KernelEmitter(pipe::KernelOp kernel, mlir::func::FuncOp function, int64_t &nextCheck);

  mlir::LogicalResult run();

private:
  // KernelEmitter.cpp: arguments, buffers, the order of things.
  void unpackArguments();
  LaneValue scalarFromSlot(mlir::Value address, mlir::Type type);
  mlir::Value slotAddress(int64_t number);
  /// The view of an argument, of whose axes axesOfRuntime() may lie anywhere; the others are dense.
  Buffer argumentBuffer(int64_t number, pipe::NamedTensorType type, int64_t outsideBatch = 0);
  /// A dense buffer in scratch; null on an extent that the plan cannot know.
  mlir::FailureOr<Buffer> scratchBuffer(mlir::Value tensor);
  /// Room for `bytes` times the extents of some axes.
  struct TensorAxis {
    mlir::Value tensor;
    int64_t axis;
  };
  mlir::FailureOr<mlir::Value> scratchBytes(int64_t bytes, llvm::ArrayRef<TensorAxis> axes);
  mlir::LogicalResult emitTopLevel(mlir::Operation &op);
  mlir::LogicalResult materialise(mlir::Operation &op);
  mlir::LogicalResult storeOutputs(pipe::ReturnOp op);
  // KernelRowTiles.cpp
  mlir::LogicalResult emitRowTiles(const pipe::Axis &rows, int64_t tile);
  void finish();

  // KernelScalars.cpp
  mlir::LogicalResult emitScalarOp(mlir::Operation &op);
  LaneValue scalar(mlir::Value value);
  void emitBlock(mlir::Block &block);
  void emitCheck(pipe::CheckOp op);
  void emitTaps(pipe::TapsOp op);
  KeyValue key(mlir::Value value);

  // KernelBranches.cpp
  void emitChoose(pipe::ChooseOp op);
  void emitRepeat(pipe::RepeatOp op);
  void emitSearch(pipe::SearchOp op);
  mlir::LogicalResult openChoose(pipe::ChooseOp op);
  LaneValue emitChosen(pipe::ChooseOp op, unsigned result, llvm::ArrayRef<Index> at);
  mlir::Value isTaken();
  mlir::LogicalResult materialiseRepeat(pipe::RepeatOp op);

  // KernelTensors.cpp
  LaneValue emit(mlir::Value tensor, llvm::ArrayRef<Index> at);
  void noteRead(llvm::ArrayRef<Index> at);
  LaneValue emitMap(pipe::MapOp op, llvm::ArrayRef<Index> at);
  LaneValue computeMap(pipe::MapOp op, llvm::ArrayRef<Index> at);
  LaneValue emitConcat(pipe::ConcatOp op, llvm::ArrayRef<Index> at);
  LaneValue emitStack(pipe::StackOp op, llvm::ArrayRef<Index> at);
  LaneValue emitPlace(pipe::PlaceOp op, llvm::ArrayRef<Index> at);
  mlir::Value readOnlyData(std::string bytes);
  LaneValue emitConstant(pipe::ConstantOp op, llvm::ArrayRef<Index> at);
  LaneValue emitResample(pipe::ResampleOp op, llvm::ArrayRef<Index> at);
  LaneValue emitLoad(pipe::LoadOp op);
  void bindCoordinates(mlir::Block &body, size_t first, llvm::ArrayRef<Index> at);
  mlir::Value extent(mlir::Value tensor, int64_t axis);

  // ByteTables.cpp
  bool emitByTables(pipe::MapOp op, llvm::ArrayRef<LaneValue> inputs, mlir::Value wanted);
  std::optional<LaneValue> loadByTable(pipe::LoadOp op, llvm::ArrayRef<Index> at);
  ByteTable tableOf(pipe::MapOp op, llvm::ArrayRef<LaneValue> inputs, mlir::Value byte, mlir::Value result,
                    mlir::Operation *place);

  // KernelBorders.cpp
  LaneValue emitPad(pipe::PadOp op, llvm::ArrayRef<Index> at);
  LaneValue emitWindow(pipe::WindowOp op, llvm::ArrayRef<Index> at);
  LaneValue neighbour(pipe::WindowOp op, llvm::ArrayRef<Index> at, llvm::ArrayRef<Index> offset, bool border);

  // KernelMargins.cpp
  /// Elements that a border makes up, stored around a tensor: so many along each axis.
  struct Margin {
    pipe::Border border;
    llvm::SmallVector<int64_t> low, high;
  };
  std::optional<Margin> marginOf(mlir::Value tensor, bool asCopy);
  bool hasMargin(pipe::WindowOp op);
  mlir::FailureOr<Buffer> marginBuffer(mlir::Value tensor, const Margin &margin);
  void copyBytes(mlir::Value to, mlir::Value from, int64_t bytes);
  void copyTensor(mlir::Value tensor, const Buffer &from, const Buffer &to);
  void fillMargins(mlir::Value tensor, const Buffer &buffer, const Margin &margin);
  void keepMargins(mlir::Value tensor, Buffer buffer, const Margin &margin);
  mlir::LogicalResult prepareMargins(pipe::WindowOp op);

  // KernelTaps.cpp
  const TapLoops *tapLoopsOf(pipe::WindowOp op);
  void emitTapLoop(const TapLoop &loop, bool vector, llvm::function_ref<LaneValue(mlir::Value)> neighbour);
  llvm::SmallVector<LaneValue> emitTerms(const TapLoop &loop, mlir::Value tap,
                                         llvm::function_ref<LaneValue(mlir::Value)> neighbour);
  std::optional<LaneValue> emitTurned(mlir::Value input, llvm::ArrayRef<Index> at, int64_t axis,
                                      int64_t reach, pipe::Border border);
  bool readsPlainly(mlir::Value value);
  bool readsPlainly(mlir::Value value, Seen &seen);
  /// The index at which a bordered read happens; `inside` is set (or narrowed)
  /// for a constant border.
  Index bordered(const Index &index, mlir::Value extent, pipe::Border border, mlir::Value &inside);
  LaneValue branch(mlir::Value condition, mlir::Type element, bool vector,
                   llvm::function_ref<LaneValue()> onTrue, llvm::function_ref<LaneValue()> onFalse);

  // KernelRows.cpp, RowTables.cpp: a horizontal and a vertical pass, row by row.
  struct RowStream {
    RowShape shape;
    mlir::Value descriptor;
    mlir::Value result; ///< the current row; null until the vertical pass is met
    mlir::func::FuncOp function;
    /// The row that code in this block has just asked for.
    mlir::Value madeFor;
    mlir::Block *madeIn = nullptr;
  };
  mlir::FailureOr<TapTable> packTaps(mlir::Value weights, mlir::Value start, const RowShape &shape,
                                     int64_t outputs);
  mlir::Value expandTaps(const TapTable &taps, const RowForm &form, mlir::Value offsets, mlir::Value tables);
  void setField(const RowStream &stream, RowField field, mlir::Value value);
  mlir::FailureOr<bool> prepareRing(pipe::ResampleOp op);
  mlir::LogicalResult openRing(const RowStream &stream, pipe::ResampleOp vertical);
  mlir::LogicalResult prepareVertical(pipe::ResampleOp op);
  std::optional<LaneValue> emitVertical(pipe::ResampleOp op, llvm::ArrayRef<Index> at);

  // KernelGather.cpp
  LaneValue emitGather(pipe::GatherOp op, llvm::ArrayRef<Index> at);

  // KernelLoops.cpp
  LoopShape defaultShape(mlir::Value tensor);
  bool isOfBytes(mlir::Value tensor, Seen &seen);
  bool readsInterleaved(mlir::Value tensor, llvm::StringRef name);
  void storeTensor(mlir::Value tensor, const Buffer &to, LoopShape shape, mlir::Value low,
                   mlir::Value high);
  void storeOrdinary(mlir::Value tensor, const Buffer &to, LoopShape shape, mlir::Value low,
                     mlir::Value high);
  void storeParts(pipe::ConcatOp op, const Buffer &to, mlir::Value low, mlir::Value high);
  void storeArm(mlir::Value tensor, const Buffer &to, LoopShape shape, mlir::Value low,
                   mlir::Value high);
  void storeNest(mlir::Value tensor, const Buffer &to, LoopShape shape, mlir::Value low,
                 mlir::Value high);
  bool storeRun(mlir::Value tensor, const Buffer &to, LoopShape shape, mlir::Value low, mlir::Value high);
  void storeRow(mlir::Value tensor, const Buffer &to, const LoopShape &shape, llvm::ArrayRef<Index> at,
                mlir::Value low, mlir::Value high);
  void storeVectors(mlir::Value tensor, const Buffer &to, const LoopShape &shape,
                    llvm::ArrayRef<Index> at, mlir::Value low, mlir::Value high);
  /// Gives `to` the range that storeLanes() has seen since it began.
  void noteWritten(Buffer &to);
  void storeLanes(mlir::Value tensor, const Buffer &to, const LoopShape &shape,
                  llvm::SmallVector<Index> at);
  /// Runs `body` with an index for as many lanes as there are, up to `lanes`; the last
  /// ones overlap those before them.
  void overLanes(mlir::Value from, mlir::Value size, int64_t lanes,
                 llvm::function_ref<void(Index)> body);
  mlir::Value forLoop(mlir::Value low, mlir::Value high, int64_t step,
                      llvm::function_ref<void(mlir::Value)> body);
  /// Carries values from one iteration to the next, and returns the last ones.
  llvm::SmallVector<mlir::Value> carryLoop(
      mlir::Value low, mlir::Value high, mlir::ValueRange inits,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> body);

  // KernelNests.cpp
  /// What the specialized arm of a choice gives; null for anything else.
  mlir::Value specializedArm(mlir::Value tensor);
  /// The choices below `tensor` whose branch is not resolved yet, outermost first.
  void unresolvedBranches(mlir::Value tensor, llvm::SetVector<mlir::Operation *> &found, Seen &seen);
  /// The numbers of the sample of which nothing is known and that make `value`, or the
  /// elements of a tensor; false where elements from memory are as unknown.
  bool unboundedScalars(mlir::Value value, llvm::SetVector<mlir::Value> &found, Seen &seen);
  /// The scalars that are distances between lanes in views below `tensor`.
  void laneStrides(mlir::Value tensor, llvm::ArrayRef<bool> withLanes, llvm::SetVector<mlir::Value> &found,
                   Seen &seen);
  /// Whether a row of a pad exists, as far as `axes` of it tell: those whose
  /// index is the same in the whole row.
  struct PadRow {
    mlir::Value exists;
    llvm::SmallVector<int64_t> axes;
  };
  /// The pads below `tensor`, and whether this row of them exists.
  void rowConditions(mlir::Value tensor, llvm::ArrayRef<Index> at,
                     llvm::MapVector<mlir::Operation *, PadRow> &found);

  // KernelReduce.cpp, KernelSums.cpp
  mlir::LogicalResult emitReduce(pipe::ReduceOp op);
  /// The 32 partial sums of a vector, added pairwise.
  LaneValue sumOfLanes(mlir::Value all, mlir::Type element);
  /// The same of several vectors: a vector of their sums.
  LaneValue sumsOfLanes(llvm::ArrayRef<mlir::Value> all, mlir::Type element);
  bool isOneRun(mlir::Value tensor, llvm::ArrayRef<llvm::StringRef> names);
  bool isOneRun(mlir::Value tensor, llvm::ArrayRef<llvm::StringRef> names, Seen &seen);
  /// Results that are made side by side: their places along an axis that stays.
  struct Beside {
    int64_t axis;
    llvm::SmallVector<Index> places;
    bool isRun = false; ///< all those of the axis, in one run with the reduced one
  };
  llvm::SmallVector<mlir::Value> deinterleaved(llvm::ArrayRef<mlir::Value> run);
  llvm::SmallVector<mlir::Value> sumVectors(pipe::ReduceOp op, llvm::SmallVector<Index> &at,
                                            llvm::ArrayRef<int64_t> over, const Beside &beside,
                                            llvm::ArrayRef<mlir::Value> extents);
  bool fillsLanes(pipe::ReduceOp op, mlir::Value extent, mlir::Type element);
  int64_t lanesOfPlaces(mlir::Type element);
  LaneValue placeInLanes(pipe::ReduceOp op, llvm::SmallVector<Index> &at, llvm::ArrayRef<int64_t> over,
                         llvm::ArrayRef<mlir::Value> extents);
  void reduceOneByOne(pipe::ReduceOp op, const Buffer &to);
  void sumRows(pipe::ReduceOp op, llvm::SmallVector<Index> &at, llvm::ArrayRef<int64_t> over,
               llvm::ArrayRef<mlir::Value> extents, mlir::Value partial,
               llvm::function_ref<void(mlir::Value)> addOne);
  llvm::SmallVector<LaneValue> reduceLanes(pipe::ReduceOp op, llvm::SmallVector<Index> &at,
                                           llvm::ArrayRef<int64_t> over, int64_t beside,
                                           llvm::ArrayRef<mlir::Value> extents, LaneValue start,
                                           llvm::function_ref<LaneValue(LaneValue, LaneValue)> combine);

  // KernelAcross.cpp
  std::optional<int64_t> elementsApart(mlir::Value tensor, int64_t axis);
  std::optional<int64_t> elementsApart(mlir::Value tensor, int64_t axis,
                                       std::map<Question, std::optional<int64_t>> &known);
  std::optional<int64_t> findElementsApart(mlir::Value tensor, int64_t axis,
                                           std::map<Question, std::optional<int64_t>> &known);
  int64_t costOf(mlir::Value tensor);
  /// The reduction in each lane, whose kept axes have the indices `at`.
  /// Whether it has no loops, and so needs no memory.
  bool isUnrolled(pipe::ReduceOp op);
  LaneValue emitReduced(pipe::ReduceOp op, llvm::ArrayRef<Index> at);
  bool takesApart(pipe::ReduceOp op, llvm::ArrayRef<Index> at);
  LaneValue reduceUnrolled(pipe::ReduceOp op, llvm::SmallVector<Index> at,
                             llvm::ArrayRef<int64_t> over, int64_t count);
  /// Lanes that go through a kept axis and the innermost reduced one: `size` elements
  /// of that for each result.
  struct Pieces {
    int64_t kept, reduced, size; // axes by position in the operand
  };
  std::optional<Pieces> piecesOf(pipe::ReduceOp op);
  std::optional<LaneValue> reducePieces(pipe::ReduceOp op, const Pieces &pieces,
                                        llvm::ArrayRef<Index> at);
  /// A reduction; or a minimum or maximum whose zeros are to be resolved, or what resolves them.
  enum class Found { whole, unresolved, leastBits };
  LaneValue reduceOnePiece(pipe::ReduceOp op, const Pieces &pieces, llvm::SmallVector<Index> at, Found what);
  LaneValue reduceInLoops(pipe::ReduceOp op, llvm::SmallVector<Index> at,
                          llvm::ArrayRef<int64_t> over);
  LaneValue comparable(LaneValue value, bool wantMin);
  LaneValue numberSoFar(mlir::Value value, mlir::Type type);
  int64_t mostElementsApart(pipe::ReduceOp op);
  int64_t laneAxisAcross(pipe::ReduceOp op);
  int64_t lanesAcross(mlir::Type element);
  /// Computes a reduction with lanes along an axis that stays; false where none suits.
  mlir::FailureOr<bool> reduceAcross(pipe::ReduceOp op);

  // KernelExtremes.cpp
  bool isExtreme(pipe::ReduceOp op);
  bool resolvesZerosLater(pipe::ReduceOp op);
  LaneValue withElement(pipe::ReduceOp op, LaneValue sofar, LaneValue value);
  mlir::Value anyUnresolved(const LaneValue &found);
  LaneValue bitsOf(pipe::ReduceOp op, LaneValue value);
  LaneValue leastBits(pipe::ReduceOp op, LaneValue sofar, LaneValue value);
  LaneValue mostBits(pipe::ReduceOp op, mlir::Type element);
  LaneValue withSign(pipe::ReduceOp op, LaneValue found, LaneValue least);
  LaneValue resolveZeros(pipe::ReduceOp op, LaneValue found,
                    llvm::function_ref<std::pair<LaneValue, LaneValue>(LaneValue)> again);
  llvm::SmallVector<mlir::Value> extentsOver(pipe::ReduceOp op, llvm::ArrayRef<int64_t> over);
  LaneValue resolveZerosInLoops(pipe::ReduceOp op, LaneValue found, llvm::SmallVector<Index> at,
                           llvm::ArrayRef<int64_t> over, llvm::ArrayRef<mlir::Value> extents);
  void resolveZerosOfLanes(pipe::ReduceOp op, llvm::SmallVector<LaneValue> &found, llvm::SmallVector<Index> &at,
                   llvm::ArrayRef<int64_t> over, int64_t beside, llvm::ArrayRef<mlir::Value> extents);

  // KernelReducedRows.cpp
  bool goesByRows(pipe::ReduceOp op);
  mlir::FailureOr<bool> prepareReducedRows(pipe::ReduceOp op);
  int64_t reducedRowsAhead(mlir::Value stored);
  void moveToReducedRow(mlir::Value stored, mlir::Value number);
  void storeReducedRows(mlir::Value stored, llvm::ArrayRef<Index> at);

  // KernelByRows.cpp
  int64_t axesInRun(mlir::Value tensor);
  static int64_t axesInRun(pipe::NamedTensorType type, const Buffer &buffer);
  int64_t rowAxes(pipe::ReduceOp op);
  mlir::LogicalResult reduceByRows(pipe::ReduceOp op, int64_t inRun, const Buffer &result);

  // KernelSumsAcross.cpp
  LaneValue sumInLoops(pipe::ReduceOp op, llvm::SmallVector<Index> at,
                       llvm::ArrayRef<int64_t> over);
  LaneValue sumInMemory(pipe::ReduceOp op, llvm::SmallVector<Index> at,
                        llvm::ArrayRef<int64_t> over);

  // KernelAlong.cpp, KernelTransposed.cpp, KernelHistogram.cpp, KernelWeights.cpp
  mlir::LogicalResult emitScan(pipe::ScanOp op);
  void scanLanes(pipe::ScanOp op, const Buffer &to, int64_t laneAxis, LaneValue factor);
  bool isRunOfPixels(pipe::ScanOp op, int64_t laneAxis);
  void scanPixels(pipe::ScanOp op, const Buffer &to, llvm::SmallVector<Index> at, int64_t laneAxis,
                  LaneValue factor);
  void scanRows(pipe::ScanOp op, const Buffer &to, LaneValue factor);
  void storeCanonical(const Buffer &to, llvm::SmallVector<Index> &at, int64_t along, mlir::Value columns,
                      mlir::Value any, int64_t rows, llvm::function_ref<void(int64_t)> moveToRow);
  /// Rows in the lanes: so many at a time; 0 where that does not fit.
  int64_t rowsInLanes(pipe::ScanOp op);
  void scanTransposed(pipe::ScanOp op, const Buffer &to, LaneValue factor, int64_t rows);
  LaneValue scanStep(pipe::ScanOp op, LaneValue sofar, LaneValue value, LaneValue factor);
  int64_t laneAxisOfScan(pipe::ScanOp op);
  mlir::LogicalResult emitHistogram(pipe::HistogramOp op);
  mlir::LogicalResult emitContract(pipe::ContractOp op);
  struct ContractShape {
    int64_t lane = -1, lanes = 1;   ///< axis of the result along which lanes lie
    int64_t block = -1, blocks = 1; ///< axis of the result of which so many are made at a time
  };
  ContractShape contractShape(pipe::ContractOp op);
  llvm::SmallVector<LaneValue> contractAt(pipe::ContractOp op, const ContractShape &shape,
                                          llvm::ArrayRef<llvm::SmallVector<Index>> at);
  mlir::LogicalResult emitWeights(pipe::WeightsOp op);

  // KernelFft.cpp, KernelGroup.cpp, KernelSort.cpp
  mlir::LogicalResult emitFft(pipe::FftOp op);
  mlir::LogicalResult emitCompact(pipe::CompactOp op);
  mlir::LogicalResult emitGroup(pipe::GroupOp op);
  mlir::LogicalResult emitReduceBy(pipe::ReduceByOp op);
  mlir::LogicalResult emitSort(pipe::SortOp op);

  /// Where a value that is computed as a whole goes: straight into the output if
  /// it is one, else into scratch. bufferFor() makes it the value's at once.
  /// `aligned`: with rows at the beginnings of lines, in scratch.
  mlir::FailureOr<Buffer> wholeBuffer(mlir::Value tensor, bool aligned = false);
  mlir::FailureOr<Buffer> bufferFor(mlir::Value tensor);

  pipe::KernelOp kernel;
  mlir::func::FuncOp function;
  int64_t &nextCheck;
  mlir::OpBuilder b;
  Lanes l;
  Memory m;
  Random random;
  bool streaming = false; ///< outputs bypass the caches where they are whole lines

  llvm::DenseMap<mlir::Value, LaneValue> scalars;
  llvm::DenseMap<mlir::Value, KeyValue> keys;
  llvm::DenseMap<mlir::Value, Buffer> buffers;
  llvm::DenseMap<mlir::Value, LaneValue> single; ///< tensors without axes, computed once
  llvm::DenseMap<mlir::Value, Index> coordinates;
  llvm::DenseMap<mlir::Value, RowStream> rings;     ///< by result of the horizontal pass
  llvm::DenseMap<mlir::Value, RowStream> verticals; ///< by result of the vertical pass
  /// Arm `number` of `count`, taken where the clamped `index` says so.
  struct Arm {
    mlir::Value index;
    int64_t number, count;
  };
  llvm::SmallVector<Arm> arms; // around the builder's place, within one block
  mlir::Block *top = nullptr;                  ///< where the operation at hand began
  mlir::Value partialSumsAt;                   ///< room for 32 vectors of the reduction at hand
  llvm::SmallVector<Buffer> outputs;           ///< of what the kernel returns
  llvm::SmallVector<std::pair<mlir::Value, Buffer>> tileOutputs; ///< of these, where the rows of a tile go
  std::map<std::string, ByteTable> byteTables; ///< by what they hold, and where
  /// Pads of which it is known, where a row is emitted, whether it exists: the
  /// axes that told, or nothing where it does not.
  llvm::DenseMap<mlir::Operation *, std::optional<llvm::SmallVector<int64_t>>> padRows;
  /// Elements of maps that exist already, by op, lanes and indices; they can be used
  /// in their block and in those inside of it.
  using ElementKey = std::vector<uintptr_t>;
  struct Element {
    LaneValue value;
    mlir::Block *block;
  };
  std::map<ElementKey, Element> elements;
  llvm::DenseMap<mlir::Value, Margin> margins;      ///< of tensors in `buffers`
  std::map<mlir::Operation *, TapLoops> tapLoops; ///< of wide windows
  /// The channel that storeLanes() writes, and whether one of them read what might
  /// be another's too.
  std::optional<int64_t> channel;
  bool readsShared = false;
  /// The arm of a choice that the loops at hand are written for.
  llvm::DenseMap<mlir::Operation *, int64_t> specializedArms;
  /// Room for some rows of a reduction, so many bytes apart.
  struct ReducedRows {
    pipe::ReduceOp op;
    mlir::Value room;
    int64_t bytes, together;
  };
  llvm::DenseMap<mlir::Value, llvm::SmallVector<ReducedRows>> reducedRows; ///< by what is stored of them
  /// Of what storeLanes() has written so far.
  std::optional<Interval> storedRange;
  mlir::Value args, tensors, slots, scratch, band[2];
  mlir::Value scratchUsed;
  int64_t scratchFixed = 0;
  llvm::SmallVector<mlir::Attribute> scratchTerms, checks;
  mlir::Block *exit = nullptr; // takes the check's id
  mlir::Value failureState;    // id of the first failed check inside a branch
};

} // namespace penstock::conversion

#endif
