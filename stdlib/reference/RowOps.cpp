// SPDX-License-Identifier: Apache-2.0
//
// Ops that choose the row at each position.
//
// The order itself is the caller's (BatchInputs::rowOf); lists, `where` and
// weights are the pipeline's. Rows are looked at one after the other, each with
// the pipeline's row bound to it.
#include "stdlib/reference/Machine.h"
#include <bit>

namespace penstock::reference {

static pipe::AdmitOp admission(Machine &machine) {
  pipe::PipelineOp pipeline = machine.program.pipeline;
  for (auto op : pipeline.getBody().getOps<pipe::AdmitOp>())
    return op;
  return {};
}

/// A slot as far as it is, with the pipeline's row bound to `row`.
static Slot lookAt(const Slot &slot, const Instruction &self, Row row) {
  Slot look = slot;
  look.values[self.results[0]] = std::move(row);
  return look;
}

/// The entries of the block that follow from the row, and the kernel over them.
static void runRows(Machine &machine, Slot &look, pipe::RowOp row) {
  for (const Instruction &instruction : machine.program.body.body) {
    mlir::Operation *op = instruction.op;
    if (auto set = llvm::dyn_cast<pipe::SetEntryOp>(op))
      op = set.getValue().getDefiningOp();
    auto field = llvm::dyn_cast_or_null<pipe::FieldOp>(op);
    auto extent = llvm::dyn_cast_or_null<pipe::FieldExtentOp>(op);
    auto probe = llvm::dyn_cast_or_null<pipe::ProbeOp>(op);
    auto place = llvm::dyn_cast_or_null<pipe::RowIndexOp>(op);
    if (probe && probe->hasAttr("of_rows"))
      machine.demand(look, machine.program.numberOf(probe.getData()), probe);
    const bool ofRow =
        (field && field.getRow() == row.getResult() && pipe::isScalarType(field.getType())) ||
        (extent && extent.getRow() == row.getResult()) || (probe && probe->hasAttr("of_rows")) ||
        (place && place.getRow() == row.getResult());
    if (ofRow)
      instruction.one(machine, look, instruction);
  }
  for (const std::string &kernel : machine.program.rows)
    runEarlyKernel(machine, look, kernel, "rows");
}

/// The value of an operand of `pipe.admit`, as an entry of the block.
static Scalar admitted(Machine &machine, Slot &look, mlir::Value value, pipe::AdmitOp op) {
  if (auto entry = value.getDefiningOp<pipe::EntryOp>()) {
    const int64_t bits = look.block[entry.getIndex()];
    return value.getType().isF64() ? realScalar(std::bit_cast<double>(bits))
                                   : boolScalar(bits != 0);
  }
  return std::get<Scalar>(machine.demand(look, machine.program.numberOf(value), op));
}

/// The rows that positions go over, and their weights.
static void findEntries(Machine &machine, const Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::RowOp>(self.op);
  const auto &table = std::get<std::shared_ptr<Table>>(slot.values[self.operands[0]]);
  machine.entries.emplace();
  std::vector<int64_t> candidates;
  if (mlir::Value list = op.getList())
    for (const llvm::APInt &row :
         llvm::cast<mlir::DenseElementsAttr>(list.getDefiningOp<pipe::ConstantOp>().getValue())
             .getValues<llvm::APInt>())
      candidates.push_back(row.getSExtValue());
  else
    for (int64_t row = 0; row < table->length(); ++row)
      candidates.push_back(row);
  pipe::AdmitOp admit = admission(machine);
  pipe::PipelineOp pipeline = machine.program.pipeline;
  for (int64_t row : candidates) {
    if (row < 0 || row >= table->length())
      fault(op, "the list has a row outside the table");
    if (admit) {
      Slot look = lookAt(slot, self, Row{table, row});
      if (pipeline.getSlots())
        runRows(machine, look, op);
      if (admit.getCondition() && !admitted(machine, look, admit.getCondition(), admit).integer)
        continue;
      if (admit.getWeight())
        machine.entries->weights.push_back(admitted(machine, look, admit.getWeight(), admit).real);
    }
    machine.entries->rows.push_back(row);
  }
}

void runRow(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::RowOp>(self.op);
  const auto &table = std::get<std::shared_ptr<Table>>(slot.values[self.operands[0]]);
  const bool wholeTable = !op.getList() && !admission(machine);
  if (!wholeTable && !machine.entries)
    findEntries(machine, slot, self);
  const int64_t length =
      wholeTable ? table->length() : static_cast<int64_t>(machine.entries->rows.size());
  if (length == 0)
    fault(op, "no row is left");
  int64_t entry = static_cast<int64_t>(slot.position) % length;
  if (op.getOrder() == pipe::OrderKind::weighted && machine.inputs.weightedRowOf)
    entry = machine.inputs.weightedRowOf(slot.position, machine.entries->weights);
  else if (machine.inputs.rowOf)
    entry = machine.inputs.rowOf(slot.position, length);
  if (entry < 0 || entry >= length)
    fault(op, "the order gives a row outside the table");
  slot.values[self.results[0]] =
      Row{table, wholeTable ? entry : machine.entries->rows[static_cast<size_t>(entry)]};
}

void runRowIndex(Machine &, Slot &slot, const Instruction &self) {
  slot.values[self.results[0]] = intScalar(std::get<Row>(slot.values[self.operands[0]]).number);
}

void runAdmit(Machine &, Slot &, const Instruction &) {} // read by runRow

} // namespace penstock::reference
