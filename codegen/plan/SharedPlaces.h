// SPDX-License-Identifier: Apache-2.0
//
// Buffers whose lives do not overlap.
#pragma once

#include "runtime/abi/plan_generated.h"

namespace penstock::codegen {

/// Gives decoded images and temporaries that are never alive at once the same
/// `place`. A buffer lives from the step that writes it (an image: from the
/// start) to the last step that reads it, also as the choice of an alias. What
/// other samples or later stages read keeps memory of its own.
void shareMemory(plan::PlanT &plan);

} // namespace penstock::codegen
