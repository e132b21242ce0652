// SPDX-License-Identifier: Apache-2.0
//
// Rates of a machine and typical sizes of its data, parsed from JSON.
#pragma once

#include "compiler/Analysis/TransferCost.h"
#include "llvm/Support/Error.h"
#include <string>

namespace penstock::api {

struct Machine {
  std::string name = "an EPYC of 2021 with an H200";
  analysis::MachineRates rates;
  analysis::TypicalData typical;

  /// Defaults, without a file.
  Machine();
  /// Parses JSON as docs/cuda.md describes it; absent entries have the defaults. The error names
  /// the entry that is wrong.
  static llvm::Expected<Machine> parse(llvm::StringRef json);
};

} // namespace penstock::api
