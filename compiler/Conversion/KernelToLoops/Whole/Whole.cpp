// SPDX-License-Identifier: Apache-2.0
//
// Ops that are computed whole.
#include "compiler/Conversion/KernelToLoops/Whole/Whole.h"

using namespace mlir;
using namespace penstock::conversion;

namespace penstock::conversion {
#define WHOLE_OP(Name) void register##Name(WholeOps &all);
#include "compiler/Conversion/KernelToLoops/WholeOps.inc"
#undef WHOLE_OP
} // namespace penstock::conversion

WholeOps WholeOps::all() {
  WholeOps all;
#define WHOLE_OP(Name) register##Name(all);
#include "compiler/Conversion/KernelToLoops/WholeOps.inc"
#undef WHOLE_OP
  return all;
}

std::optional<LogicalResult> WholeOps::compute(const Site &site, Operation *op) const {
  auto found = known.find(op->getName().getStringRef());
  if (found == known.end())
    return std::nullopt;
  return found->second(site, op);
}
