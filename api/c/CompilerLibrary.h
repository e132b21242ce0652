// SPDX-License-Identifier: Apache-2.0
//
// The compiler, loaded when it is needed.
#pragma once

#include "api/c/Compilation.h"
#include "runtime/core/Status.h"

namespace penstock::api {

/// The compiler's library: the file of a fixed name beside this library.
std::string compilerPath();

/// Starts a compilation. The first one loads the compiler's library, and with it
/// MLIR, LLVM and ANTLR; it stays loaded. The error says why it cannot be.
runtime::Result<std::unique_ptr<Compilation>> startCompilation(const CompileRequest &request);

/// Lays out the text of the request. Loads the compiler's library, too.
runtime::Result<std::unique_ptr<Written>> writeFormatted(const CompileRequest &request);
/// Lists the operators, as JSON. Loads the compiler's library, too.
runtime::Result<std::unique_ptr<Written>> writeOperators();

} // namespace penstock::api
