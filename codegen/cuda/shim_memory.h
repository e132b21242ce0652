// SPDX-License-Identifier: Apache-2.0
//
// Shadow memory: the last accesses to each byte, for shim.h.
//
// The text is compiled with -DPST_WATCHED -fsanitize=thread, whose callbacks are in
// shim_callbacks.cpp, and not those of the sanitizer's runtime: they know blocks and barriers. Two
// threads race for a byte that one of them writes, unless both do so by an atomic operation, or a
// barrier of their block lies between, or one of their warp. Blocks have none in common but a
// sample's (pst_barrier): whatever two of them touch in between, nobody may write. Nor may anybody
// read what nobody wrote, or touch what is in no region. -fsanitize=alignment sees wide accesses
// off their boundaries.
#pragma once

#include "shim_launch.h"

/// In the library of the text alone.
#define PST_SHIM __attribute__((visibility("hidden")))

// Of the thread that runs.
PST_SHIM extern bool pst_watching;
PST_SHIM extern unsigned pst_me, pst_my_sample, pst_my_phase, pst_my_warp_phase;
PST_SHIM extern unsigned short pst_my_block, pst_my_met;
PST_SHIM extern uintptr_t pst_my_stack, pst_my_stack_end;
PST_SHIM extern unsigned *pst_here; // blockIdx of the block at hand: x, y

PST_SHIM extern pst_shim_fault pst_fault; // the first
PST_SHIM extern bool pst_faulty;
/// Notes the first fault and ends the launch.
PST_SHIM void pst_report(const char *what, uintptr_t pc);
/// Ends the running thread, and the launch with it (shim_threads.cpp).
PST_SHIM void pst_leave_block();

enum pst_kind { PST_READ, PST_WRITE, PST_ATOMIC, PST_ATOMIC_READ };
/// The running thread accesses bytes, by the instruction before `pc`.
PST_SHIM void pst_access(const void *pointer, size_t bytes, pst_kind kind, uintptr_t pc);

//===--- a launch ---------------------------------------------------------------===//

PST_SHIM void pst_watch(const pst_shim_launch &launch, void *dynamic);
/// A block begins. `alone`: no other of its sample has begun that has not ended.
PST_SHIM void pst_watch_block(bool alone);
/// Returns the bytes of a block's own memory and its shadow.
PST_SHIM size_t pst_own_bytes();
/// Keeps it at `kept` while another block runs, or brings it back.
PST_SHIM void pst_keep_own(unsigned char *kept, bool back);
PST_SHIM void pst_watch_no_more();
