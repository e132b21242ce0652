// SPDX-License-Identifier: Apache-2.0
//
// What a machine does in a second, and what its data are like, as a file says it.
#pragma once

#include "compiler/Analysis/TransferCost.h"
#include "llvm/Support/Error.h"
#include <string>

namespace penstock::api {

struct Machine {
  std::string name = "an EPYC of 2021 with an H200";
  analysis::MachineRates rates;
  analysis::TypicalData typical;

  /// What is assumed without a file.
  Machine();
  /// JSON as docs/cuda.md says; what is not there is as in Machine(). The error says what is
  /// wrong with it, and where.
  static llvm::Expected<Machine> parse(llvm::StringRef json);
};

} // namespace penstock::api
