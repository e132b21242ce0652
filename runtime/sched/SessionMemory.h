// SPDX-License-Identifier: Apache-2.0
//
// The memory that a session takes before its first sample.
#pragma once

#include "runtime/sched/BatchScheduler.h"

#include <cstdint>

namespace penstock::runtime {

/// Returns the memory that a session takes with `blocks` batches, whatever its samples are.
MemoryReport memoryOf(const Program &program, const BatchScheduler::Limits &limits,
                      const ScratchLimits &scratch, int64_t blocks);

/// Returns the bytes that a session may take: `given`, or, if that is 0, the machine's memory.
uint64_t budgetOf(uint64_t given);

/// Returns Limit if the report exceeds `given`, with the options to lower.
Status checkBudget(const MemoryReport &report, uint64_t given, const Program &program,
                   int prefetch);

/// Returns the number of batches that fit in the end, at least `blocks`.
int64_t mostBlocks(const MemoryReport &report, uint64_t given, const Program &program,
                   int64_t blocks);

} // namespace penstock::runtime
