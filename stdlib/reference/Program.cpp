// SPDX-License-Identifier: Apache-2.0
//
// A module as numbered registers.
#include "stdlib/reference/Program.h"
#include "mlir/IR/BuiltinOps.h"
#include "stdlib/reference/Machine.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

namespace penstock::reference {

void fault(mlir::Operation *op, const std::string &text) {
  std::string message;
  llvm::raw_string_ostream stream(message);
  stream << op->getName() << " at " << op->getLoc() << ": " << text;
  throw Fault(message);
}

DType dtypeOf(mlir::Type type) {
  const llvm::StringRef name = pipe::scalarName(type);
  for (int i = 0; i <= static_cast<int>(DType::boolean); ++i)
    if (name == llvm::StringRef(nameOf(static_cast<DType>(i))))
      return static_cast<DType>(i);
  throw Fault("a type that is no scalar");
}

Program::Program(mlir::ModuleOp module, const std::string &name) {
  for (auto candidate : module.getOps<pipe::PipelineOp>()) {
    if (!name.empty() && candidate.getSymName() != name)
      continue;
    if (pipeline)
      throw Fault("the module has several pipelines; name one");
    pipeline = candidate;
  }
  if (!pipeline)
    throw Fault("the module has no pipeline `" + name + "`");

  body = translate(pipeline.getBody().front());
  for (auto kernel : module.getOps<pipe::KernelOp>()) {
    kernels[kernel.getSymName()] = translate(kernel.getBody().front());
    // Another pipeline's kernels name it.
    if (auto owner = kernel->getAttrOfType<mlir::StringAttr>("pipeline");
        owner && owner.getValue() != pipeline.getSymName())
      continue;
    if (kernel.getKind() == "rows")
      rows.push_back(kernel.getSymName().str());
    if (kernel.getKind() == "select")
      select.push_back(kernel.getSymName().str());
    if (kernel.getKind() == "setup")
      setup.push_back(kernel.getSymName().str());
  }
  index(body);
}

void Program::index(const Block &block) {
  for (const Instruction &instruction : block.body) {
    for (unsigned result : instruction.results)
      definitions[result] = &instruction;
    for (const Block &region : instruction.regions)
      index(region);
  }
}

Block Program::translate(mlir::Block &source) {
  Block block;
  for (mlir::BlockArgument argument : source.getArguments())
    block.arguments.push_back(numbers[argument] = registers++);
  for (mlir::Operation &op : source) {
    if (op.hasTrait<mlir::OpTrait::IsTerminator>()) {
      for (mlir::Value operand : op.getOperands())
        block.results.push_back(numbers.lookup(operand));
      continue;
    }
    Instruction instruction;
    instruction.op = &op;
    for (mlir::Value operand : op.getOperands())
      instruction.operands.push_back(numbers.lookup(operand));
    for (mlir::Value result : op.getResults())
      instruction.results.push_back(numbers[result] = registers++);
    if (op.getNumResults() > 0 && pipe::isScalarType(op.getResult(0).getType()))
      instruction.type = dtypeOf(op.getResult(0).getType());
    for (mlir::Region &region : op.getRegions())
      instruction.regions.push_back(translate(region.front()));
    bind(instruction);
    block.body.push_back(std::move(instruction));
  }
  return block;
}

void bind(Instruction &instruction) {
#define ONE(NAME) .Case<pipe::NAME##Op>([&](auto) { instruction.one = run##NAME; })
#define ALL(NAME) .Case<pipe::NAME##Op>([&](auto) { instruction.all = run##NAME; })
  llvm::TypeSwitch<mlir::Operation *>(instruction.op)
      // scalars
      ONE(Constant) ONE(Unary) ONE(Binary) ONE(Compare) ONE(Select) ONE(Cast) ONE(Load)
      // samples
      ONE(Param) ALL(Source) ONE(Length) ONE(Row) ONE(RowIndex) ONE(Admit) ONE(Pick) ONE(Field)
          ONE(FieldExtent) ONE(FieldElement) ONE(Fields) ONE(Probe) ONE(Decode) ONE(Encode)
              ONE(Recompress) ONE(Key) ONE(KeyView) ONE(KeyMix) ONE(Draw) ONE(Context) ONE(Check)
      // scopes
      ALL(Choose) ALL(Repeat) ALL(Search) ALL(Each) ALL(Batch) ALL(Peer) ALL(Peers) ONE(Output)
      // tensors
      ONE(View) ONE(Pad) ONE(Concat) ONE(Stack) ONE(Place) ONE(Map) ONE(Window) ONE(Gather)
          ONE(Taps) ONE(Weights) ONE(Resample) ONE(Reduce) ONE(Scan) ONE(Histogram) ONE(Contract)
              ONE(Fft) ONE(Compact) ONE(Group) ONE(ReduceBy) ONE(Sort) ONE(RankBy) ONE(Scatter)
                  ONE(Filter)
      // kernels
      ONE(Extent) ONE(Launch) ONE(Switch) ONE(Entry) ONE(SetEntry) ONE(KeyNumbers) ONE(KeyOf)
          .Default([](mlir::Operation *op) { fault(op, "has no meaning in a pipeline"); });
#undef ONE
#undef ALL
}

} // namespace penstock::reference
