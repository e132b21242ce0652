// SPDX-License-Identifier: Apache-2.0
//
// Candidates: implementations that must equal the reference.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "stdlib/reference/Interpreter.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace penstock::differential {

struct Outcome {
  /// The reason that the candidate refuses the pipeline; empty: it does not. A
  /// fault like any other.
  std::string refused;
  reference::BatchResult result = {};
};

struct Candidate {
  std::string name;
  /// May change the module, which is its own.
  std::function<Outcome(mlir::ModuleOp, const reference::BatchInputs &)> run;
};

/// A machine of another kind: a target's name, and a command that runs a penstock-kernel-server
/// there. None where both are empty.
struct Remote {
  std::string target, command;
};

std::vector<Candidate> allCandidates(const Remote &remote);
/// The module after each pass, and without one of them.
std::vector<Candidate> passCandidates();
/// Code generated for each level of this machine, and for `remote`'s.
std::vector<Candidate> jitCandidates(const Remote &remote);

/// Returns the first difference: the sample, the output, the element and both values. Nothing if
/// there is none.
std::optional<std::string> firstDifference(const reference::BatchResult &expected,
                                           const reference::BatchResult &found);

} // namespace penstock::differential
