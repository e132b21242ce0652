// SPDX-License-Identifier: Apache-2.0
//
// One pipe.kernel as loops over threads.
#pragma once

#include "compiler/Analysis/RowRegions.h"
#include "compiler/Conversion/KernelToGpu/IndexMath.h"
#include "compiler/Conversion/TensorType.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace penstock::conversion {

/// Emits the body of a kernel as what the threads of one sample do: nests of
/// `scf.parallel`, whose elements are distributed over the threads, and barriers
/// between them. Arithmetic stays in the scalar ops of the dialect: what they
/// mean is the business of whoever prints them.
///
/// As in KernelToLoops, a tensor is a function of its indices, and what a
/// schedule stores is computed once, where it stands.
class GpuEmitter {
public:
  /// Checks get the ids from `nextCheck` on.
  GpuEmitter(pipe::KernelOp kernel, mlir::func::FuncOp function, int64_t &nextCheck);

  mlir::LogicalResult run();

private:
  using Indices = llvm::ArrayRef<mlir::Value>; // of index type, one per axis

  /// Elements in memory, in a memref of one dimension.
  struct Buffer {
    mlir::Value memory;
    llvm::SmallVector<mlir::Value> strides;     ///< in elements, one per axis
    llvm::SmallVector<mlir::Value> origin = {}; ///< indices of the first element; empty or null: 0
    int64_t alignment = 0; ///< bytes, of the first element; 0: that of its type
    bool hasSlack = false; ///< bytes around it may be read (PST_DEVICE_SLACK)
  };

  /// Some of a tensor: along each axis `count` places from `low` on; null: all.
  struct Part {
    llvm::SmallVector<mlir::Value> low, count;
    bool isSingle; ///< each element by itself
  };
  struct RowRange {
    mlir::Value low, high; ///< the first, and the one after the last
  };
  /// Axes of which a tile has one place.
  using Places = llvm::SmallVector<std::pair<const analysis::RowRegions *, mlir::Value>>;

  // GpuEmitter.cpp: arguments, temporaries, the order of things.
  void addArguments();
  void addTensorArgument(mlir::Value tensor, pipe::NamedTensorType type, const std::string &name,
                         int64_t number, int64_t outsideBatch);
  mlir::Value addArgument(mlir::Type type, const std::string &name, llvm::StringRef from,
                          int64_t tensor, int64_t axis);
  struct TensorAxis {
    mlir::Value tensor;
    int64_t axis;
  };
  /// Scratch memory for `each` elements at every place of some axes, side by side.
  mlir::FailureOr<Buffer> array(mlir::Type element, llvm::ArrayRef<TensorAxis> axes,
                                int64_t each = 1);
  mlir::FailureOr<Buffer> temporary(mlir::Value tensor);
  mlir::FailureOr<Buffer> bufferFor(mlir::Value tensor);
  mlir::LogicalResult statement(mlir::Operation &op);
  mlir::LogicalResult store(mlir::Operation &op);
  mlir::LogicalResult choose(pipe::ChooseOp op);
  mlir::LogicalResult repeat(pipe::RepeatOp op);
  mlir::LogicalResult check(pipe::CheckOp op);
  mlir::LogicalResult finish(pipe::ReturnOp op);
  void barrier();
  void guarded(llvm::function_ref<void()> body);
  void when(mlir::Value condition, llvm::function_ref<void()> body);
  void moveTo(mlir::Location location);

  // GpuLoops.cpp
  /// A nest over a tensor's domain whose elements are distributed over `workers`:
  /// "threads", or "warps", 32 threads that go through the body together.
  void nest(llvm::ArrayRef<std::string> axes, llvm::ArrayRef<mlir::Value> extents,
            llvm::StringRef workers, llvm::function_ref<void(Indices)> body);
  /// The nest over a tensor's own domain, one element for each thread.
  void over(mlir::Value tensor, llvm::function_ref<void(Indices)> body);
  /// Without a part, by all threads of the sample; else by those of the block.
  void fill(mlir::Value tensor, const Buffer &to, const Part &part = {});
  llvm::SmallVector<mlir::Value>
  loop(mlir::Value low, mlir::Value high, int64_t step, mlir::ValueRange inits,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> body);
  mlir::Value branch(mlir::Value condition, mlir::Type type, llvm::function_ref<mlir::Value()> yes,
                     llvm::function_ref<mlir::Value()> no);
  /// The value of arm `index`, clamped to 0 ..< count.
  llvm::SmallVector<mlir::Value>
  oneOf(mlir::Value index, int64_t count, mlir::TypeRange types,
        llvm::function_ref<llvm::SmallVector<mlir::Value>(int64_t)> arm);
  mlir::Value extent(mlir::Value tensor, int64_t axis);
  mlir::Value load(const Buffer &buffer, Indices at);
  void save(mlir::Value value, const Buffer &buffer, Indices at);
  mlir::Value place(const Buffer &buffer, Indices at);

  /// Calls a function that whoever prints the kernel supplies.
  mlir::Value call(llvm::StringRef name, mlir::Type result, mlir::ValueRange operands);
  mlir::Value moved(llvm::StringRef name, mlir::Value index, mlir::Value size);

  // GpuElements.cpp: the element of a tensor at given indices.
  mlir::Value element(mlir::Value tensor, Indices at);
  mlir::Value makeElement(mlir::Value tensor, Indices at);
  mlir::Value constantElement(pipe::ConstantOp op, Indices at);
  mlir::Value tableOf(mlir::DenseElementsAttr elements, mlir::Type element);
  mlir::Value mapped(pipe::MapOp op, Indices at);
  mlir::Value padded(pipe::PadOp op, Indices at);
  mlir::Value windowed(pipe::WindowOp op, Indices at);
  mlir::Value joined(pipe::ConcatOp op, Indices at);
  mlir::Value placed(pipe::PlaceOp op, Indices at);
  mlir::Type sumTypeOf(pipe::ResampleOp op);
  /// The element whose taps add up to `sum`.
  mlir::Value resampledFrom(pipe::ResampleOp op, mlir::Value sum);
  /// Where a border takes an index; with `constant`, narrows `inside`.
  mlir::Value bordered(mlir::Value index, mlir::Value extent, pipe::Border border,
                       mlir::Value &inside);

  // GpuVectors.cpp: a box of elements, `counts` along each axis from `at` on, row-major.
  mlir::LogicalResult checkVectors();
  /// The box that a thread makes of a value that is stored.
  llvm::SmallVector<int64_t> vectorOf(mlir::Value tensor);
  llvm::SmallVector<mlir::Value> moved(Indices at, llvm::ArrayRef<int64_t> place);
  llvm::SmallVector<mlir::Value> elements(mlir::Value tensor, Indices at,
                                          llvm::ArrayRef<int64_t> counts);
  llvm::SmallVector<mlir::Value> makeElements(mlir::Value tensor, Indices at,
                                              llvm::ArrayRef<int64_t> counts);
  llvm::SmallVector<mlir::Value> viewed(pipe::ViewOp op, Indices at,
                                        llvm::ArrayRef<int64_t> counts);
  llvm::SmallVector<mlir::Value> mapped(pipe::MapOp op, Indices at, llvm::ArrayRef<int64_t> counts);
  llvm::SmallVector<mlir::Value> resampled(pipe::ResampleOp op, Indices at,
                                           llvm::ArrayRef<int64_t> counts);
  llvm::SmallVector<mlir::Value> load(const Buffer &buffer, Indices at,
                                      llvm::ArrayRef<int64_t> counts);
  /// A power of two that divides the address of an element, in bytes.
  int64_t alignmentOf(const Buffer &buffer, Indices at);
  void save(llvm::ArrayRef<mlir::Value> values, const Buffer &buffer, Indices at,
            llvm::ArrayRef<int64_t> counts);

  // GpuTiles.cpp
  mlir::LogicalResult tiles();
  void tile(const analysis::RowRegions &rows, RowRange now, const Places &singles);
  mlir::Value halved(const analysis::RowRegions &rows, mlir::Value low, mlir::Value high);
  mlir::Value fits(const analysis::RowRegions &rows, RowRange now);
  RowRange insideOf(RowRange rows, mlir::Value size, pipe::Border border);
  RowRange rowsRead(const analysis::RowStep &step, RowRange rows);
  llvm::MapVector<mlir::Value, RowRange> rowsStored(const analysis::RowRegions &regions,
                                                    RowRange tile);
  Buffer sharedRows(mlir::Value tensor, int64_t rowAxis, llvm::ArrayRef<int64_t> single,
                    int64_t rows);
  Part partOf(mlir::Value tensor, int64_t rowAxis, RowRange rows, const Places &singles);

  // GpuGather.cpp
  mlir::Value gathered(pipe::GatherOp op, Indices at);
  mlir::Value interpolated(pipe::GatherOp op, llvm::ArrayRef<mlir::Value> coordinates, Indices at);

  // GpuScalars.cpp: regions of scalars.
  mlir::LogicalResult scalars(mlir::Block &block);
  mlir::LogicalResult scalar(mlir::Operation &op);
  /// The values that a block ends with, after its ops.
  llvm::SmallVector<mlir::Value> results(mlir::Block &block);
  mlir::Value loaded(pipe::LoadOp op);
  void search(pipe::SearchOp op);
  mlir::Value number(mlir::Value scalar) { return map.lookupOrDefault(scalar); }
  /// An i64 scalar as an index, and back.
  mlir::Value asIndex(mlir::Value scalar) { return x.toIndex(number(scalar)); }
  mlir::Value constant(mlir::TypedAttr value, mlir::Type type);
  mlir::Value zeroOf(mlir::Type type);
  mlir::Value i64(int64_t number) { return constant(b.getI64IntegerAttr(number), b.getI64Type()); }
  mlir::Value binary(pipe::BinaryKind kind, mlir::Value a, mlir::Value b);
  mlir::Value cast(mlir::Value value, mlir::Type type);
  mlir::Value isTrue(mlir::Value number) { return cast(number, b.getI1Type()); }
  mlir::Value real(double value);

  // GpuReduce.cpp
  void reduce(pipe::ReduceOp op, const Buffer &to);
  /// One result, by the thread itself or by its warp.
  mlir::Value reduced(pipe::ReduceOp op, Indices outer);
  mlir::Value combined(pipe::ReduceKind kind, mlir::Value a, mlir::Value c);
  mlir::Value startOf(pipe::ReduceKind kind, mlir::Type type);
  mlir::Value shuffled(mlir::Value value, int64_t distance);
  std::pair<mlir::Value, mlir::Value> bestOf(pipe::ReduceKind kind, mlir::Type type,
                                             mlir::Value first, mlir::Value count, int64_t step,
                                             llvm::function_ref<mlir::Value(mlir::Value)> at);
  std::pair<mlir::Value, mlir::Value> better(pipe::ReduceKind kind,
                                             std::pair<mlir::Value, mlir::Value> a,
                                             std::pair<mlir::Value, mlir::Value> c);
  mlir::Value laneSum(mlir::Type type, mlir::Value count,
                      llvm::function_ref<mlir::Value(mlir::Value)> at);
  void scan(pipe::ScanOp op, const Buffer &to);
  void histogram(pipe::HistogramOp op, const Buffer &to);
  void contract(pipe::ContractOp op, const Buffer &to);
  void sort(pipe::SortOp op, const Buffer &to);

  // GpuGroup.cpp: in passes, over arrays that workspace() made before.
  mlir::FailureOr<llvm::SmallVector<Buffer>> workspace(mlir::Operation &op);
  void running(mlir::Value count, const Buffer &sums,
               llvm::function_ref<mlir::Value(mlir::Value)> number,
               llvm::function_ref<void(mlir::Value, mlir::Value, mlir::Value)> visit,
               llvm::function_ref<void(mlir::Value)> whole);
  void compact(pipe::CompactOp op, llvm::ArrayRef<Buffer> to, llvm::ArrayRef<Buffer> work);
  void group(pipe::GroupOp op, llvm::ArrayRef<Buffer> to, llvm::ArrayRef<Buffer> work);
  void reduceBy(pipe::ReduceByOp op, const Buffer &to, llvm::ArrayRef<Buffer> work);

  // GpuFft.cpp
  void fft(pipe::FftOp op, const Buffer &to, llvm::ArrayRef<Buffer> work);

  pipe::KernelOp kernel;
  mlir::func::FuncOp function;
  int64_t &nextCheck;
  mlir::OpBuilder b;
  IndexMath x;
  mlir::Location loc;
  mlir::IRMapping map;                         ///< scalars of the kernel to emitted ones
  llvm::DenseMap<mlir::Value, Buffer> buffers; ///< tensors in memory
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> argumentExtents;
  llvm::SmallVector<Buffer> outputs;
  llvm::DenseMap<mlir::Value, size_t> outputOf;
  mlir::Value taken;         ///< whether the arm around is taken; null outside of arms
  bool failedInside = false; ///< an op inside a region was refused
  mlir::Value shared;        ///< dynamic shared memory
  int64_t sharedUsed = 0, storedRows = 0;
  llvm::DenseMap<mlir::Value, Buffer> sharedBuffers; ///< of what is stored for a tile
  llvm::DenseSet<mlir::Value> tiled;                 ///< outputs that tiles have made
  llvm::DenseMap<mlir::Value, int64_t> multiples;    ///< numbers that divide indices
  int64_t runs = 0;                                  ///< of neighbours that are loaded together
  mlir::Value scratch, scratchUsed;
  int64_t scratchFixed = 0;
  llvm::SmallVector<mlir::Attribute> scratchTerms;
  std::string mapping;
  int64_t threads = 0; ///< of a block
};

/// What is stored in shared memory begins where an access of 16 bytes may.
inline constexpr int64_t sharedAlign = 16;

/// The 32 lanes of a warp, and of a float sum.
inline constexpr int64_t warpLanes = 32;

} // namespace penstock::conversion
