// SPDX-License-Identifier: Apache-2.0
//
// A generated pipeline in the language.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "stdlib/reference/Interpreter.h"
#include <functional>
#include <optional>
#include <string>

namespace penstock::differential {

/// `module` as a `.pipe` file over raw columns, each a parameter of its name;
/// nothing where an op, or the place where it stands, has no spelling. Draws
/// are other draws there, for their ids follow from their paths.
std::optional<std::string> pipeText(mlir::ModuleOp module);

/// Returns the fault of an imported module, or nothing.
using Differs =
    std::function<std::optional<std::string>(mlir::ModuleOp, const reference::BatchInputs &)>;

/// Writes `folder`/case.pipe, the columns that it reads and the right outputs
/// of its samples, and returns the text and how to see the fault with the
/// command line; or why there is no such file.
std::string writePipe(mlir::ModuleOp module, const reference::BatchInputs &inputs,
                      const std::string &folder, const Differs &differs);

} // namespace penstock::differential
