// SPDX-License-Identifier: Apache-2.0
//
// One batch in flight.
#pragma once

#include "runtime/abi/random.h"
#include "stdlib/reference/Program.h"

namespace penstock::reference {

struct Row {
  std::shared_ptr<Table> table;
  int64_t number = 0;
};

/// The value of a register.
using Value = std::variant<std::monostate, Scalar, TensorRef, random::Key, std::shared_ptr<Table>,
                           Row, Bytes, std::string>;

/// One sample of the batch.
struct Slot {
  int64_t number = 0; // in the rank's batch
  uint64_t position = 0;
  std::vector<Value> values;
  /// The parameter block of the kernels form, entries as in kernel.h.
  std::vector<int64_t> block;
  SampleResult result;

  bool failed() const { return result.failure.has_value(); }
};

class Machine {
public:
  Machine(const Program &program, const BatchInputs &inputs);

  const Program &program;
  const BatchInputs &inputs;
  std::vector<Slot> slots;
  std::vector<std::shared_ptr<Table>> tables; // by register, shared by all slots
  /// Rows that positions go over, if a list, `where` or weights choose them.
  struct Entries {
    std::vector<int64_t> rows;
    std::vector<double> weights;
  };
  std::optional<Entries> entries;

  /// Runs a block for some slots in step; a slot that fails drops out.
  void run(const Block &block, llvm::ArrayRef<Slot *> active);
  /// Runs a block for one slot (no peers inside).
  void run(const Block &block, Slot &slot);
  /// The value of a register in another slot: computed now if the slot did not
  /// come by there (a peer inside a branch that it does not take).
  const Value &demand(Slot &slot, unsigned number, mlir::Operation *user);
  /// Forgets the results of a block's ops.
  void forget(const Block &block, llvm::ArrayRef<Slot *> active);

  int64_t sampleCount() const;

  //===--- registers --------------------------------------------------------===//
  const Value &value(const Slot &slot, mlir::Value of) const {
    return slot.values[program.numberOf(of)];
  }
  const Scalar &scalar(const Slot &slot, mlir::Value of) const;
  int64_t integer(const Slot &slot, mlir::Value of) const { return scalar(slot, of).integer; }
  const Tensor &tensor(const Slot &slot, mlir::Value of) const;
  void set(Slot &slot, mlir::Value of, Value value) const {
    slot.values[program.numberOf(of)] = std::move(value);
  }
  void set(Slot &slot, mlir::Value of, Tensor tensor) const {
    set(slot, of, Value(std::make_shared<const Tensor>(std::move(tensor))));
  }
  /// A tensor of zeros of the type of `result`, whose dynamic extents are the
  /// size operands of its op.
  Tensor blank(const Slot &slot, mlir::Value result) const;
};

/// Position of each named axis in `tensor`.
std::vector<int64_t> axesOf(const Tensor &tensor, mlir::ArrayAttr names);

inline const Scalar &scalarIn(const Slot &slot, unsigned number) {
  return std::get<Scalar>(slot.values[number]);
}

/// Returns the index that `border` gives for index `i` of an extent; -1: the fill value.
int64_t borderIndex(pipe::Border border, int64_t i, int64_t extent);

// One function per op, by source file.
#define PENSTOCK_RUN_ONE(NAME) void run##NAME(Machine &, Slot &, const Instruction &)
#define PENSTOCK_RUN_ALL(NAME)                                                                     \
  void run##NAME(Machine &, llvm::ArrayRef<Slot *>, const Instruction &)
// ScalarOps.cpp
PENSTOCK_RUN_ONE(Constant);
PENSTOCK_RUN_ONE(Unary);
PENSTOCK_RUN_ONE(Binary);
PENSTOCK_RUN_ONE(Compare);
PENSTOCK_RUN_ONE(Select);
PENSTOCK_RUN_ONE(Cast);
PENSTOCK_RUN_ONE(Load);
// SampleOps.cpp
PENSTOCK_RUN_ONE(Param);
PENSTOCK_RUN_ALL(Source);
PENSTOCK_RUN_ONE(Length);
PENSTOCK_RUN_ONE(Row);
PENSTOCK_RUN_ONE(RowIndex);
PENSTOCK_RUN_ONE(Admit);
PENSTOCK_RUN_ONE(Pick);
PENSTOCK_RUN_ONE(Field);
PENSTOCK_RUN_ONE(FieldExtent);
PENSTOCK_RUN_ONE(FieldElement);
PENSTOCK_RUN_ONE(Fields);
PENSTOCK_RUN_ONE(Probe);
PENSTOCK_RUN_ONE(Decode);
PENSTOCK_RUN_ONE(Encode);
PENSTOCK_RUN_ONE(Recompress);
PENSTOCK_RUN_ONE(Key);
PENSTOCK_RUN_ONE(KeyView);
PENSTOCK_RUN_ONE(KeyMix);
PENSTOCK_RUN_ONE(Draw);
PENSTOCK_RUN_ONE(Context);
PENSTOCK_RUN_ONE(Check);
// ScopeOps.cpp
PENSTOCK_RUN_ALL(Choose);
PENSTOCK_RUN_ALL(Repeat);
PENSTOCK_RUN_ALL(Search);
PENSTOCK_RUN_ALL(Each);
PENSTOCK_RUN_ALL(Batch);
PENSTOCK_RUN_ALL(Peer);
PENSTOCK_RUN_ALL(Peers);
PENSTOCK_RUN_ONE(Output);
// IndexOps.cpp
PENSTOCK_RUN_ONE(View);
PENSTOCK_RUN_ONE(Pad);
PENSTOCK_RUN_ONE(Concat);
PENSTOCK_RUN_ONE(Stack);
PENSTOCK_RUN_ONE(Place);
// PointOps.cpp
PENSTOCK_RUN_ONE(Map);
PENSTOCK_RUN_ONE(Window);
PENSTOCK_RUN_ONE(Gather);
// ResampleOps.cpp
PENSTOCK_RUN_ONE(Taps);
PENSTOCK_RUN_ONE(Weights);
PENSTOCK_RUN_ONE(Resample);
// ReduceOps.cpp
PENSTOCK_RUN_ONE(Reduce);
PENSTOCK_RUN_ONE(Scan);
PENSTOCK_RUN_ONE(Histogram);
PENSTOCK_RUN_ONE(Contract);
PENSTOCK_RUN_ONE(ReduceBy);
// FourierOps.cpp
PENSTOCK_RUN_ONE(Fft);
// OrderOps.cpp
PENSTOCK_RUN_ONE(Compact);
PENSTOCK_RUN_ONE(Group);
PENSTOCK_RUN_ONE(Sort);
// PlaceOps.cpp
PENSTOCK_RUN_ONE(RankBy);
PENSTOCK_RUN_ONE(Scatter);
PENSTOCK_RUN_ONE(Filter);
// KernelOps.cpp
PENSTOCK_RUN_ONE(Extent);
PENSTOCK_RUN_ONE(Launch);
PENSTOCK_RUN_ONE(Switch);
PENSTOCK_RUN_ONE(Entry);
PENSTOCK_RUN_ONE(SetEntry);
PENSTOCK_RUN_ONE(KeyNumbers);
PENSTOCK_RUN_ONE(KeyOf);
#undef PENSTOCK_RUN_ONE
#undef PENSTOCK_RUN_ALL

/// The element that `pipe.load` reads: at the nearest index inside, 0 of an empty tensor.
Scalar loadedAt(const Tensor &tensor, llvm::function_ref<int64_t(size_t axis)> index);

/// Runs a kernel of the kind "select", "setup" or "rows" over the slot's block, and over the fields
/// that `pipe.fields` of that kind names.
std::optional<Failure> runEarlyKernel(Machine &machine, Slot &slot, const std::string &kernel,
                                      llvm::StringRef kind);

/// Runs a pipeline whose scalars were split off: parameters, select, rows and
/// headers, setup, then the rest (see kernel.h and plan.fbs).
void runSplit(Machine &machine, llvm::ArrayRef<Slot *> active);

} // namespace penstock::reference
