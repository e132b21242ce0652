// SPDX-License-Identifier: Apache-2.0
//
// The part of the fixture that knows MLIR.
#include "test/unit/stdlib/OneSample.h"
#include "compiler/Dialect/PipeDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

penstock::reference::BatchResult penstock::reference::runModule(const std::string &text,
                                                                const BatchInputs &inputs) {
  mlir::MLIRContext context;
  context.loadDialect<pipe::PipeDialect>();
  const auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return {"the text does not parse", {}};
  return Interpreter(*module).run(inputs);
}
