// SPDX-License-Identifier: Apache-2.0
//
// Semantic checks of a plan that is well-formed as a flatbuffer.
#pragma once

#include "runtime/abi/plan_generated.h"
#include "runtime/core/Status.h"

#include <cstddef>
#include <vector>

namespace penstock::runtime {

/// Checks everything that Plan promises (see Plan.h). Corrupt with the place
/// and the finding otherwise.
Status checkPlan(const plan::PlanT &tree);

/// Numbers of the steps in the order in which they run.
std::vector<size_t> stepsByStage(const plan::PlanT &tree);

} // namespace penstock::runtime
