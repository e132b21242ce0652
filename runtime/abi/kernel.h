/* SPDX-License-Identifier: Apache-2.0 */
/* How the runtime calls generated code.
 *
 * A kernel is `int32_t f(pst_kernel_args *)`. It never blocks, never calls
 * back, allocates nothing, and writes only its outputs, its scratch and
 * `failure`. It returns 0, or the id (> 0) of a check that failed (the plan
 * maps ids to messages and source lines), or PST_KERNEL_STOPPED.
 *
 * Select, setup and rows kernels have the parameter block; setup and rows kernels also the fields
 * that the plan names, as tensors.
 *
 * Stores to outputs may bypass the caches, and are then not ordered with later
 * ones: whoever hands outputs to another thread fences first, once for many
 * calls (a fence after each costs more than a small image).
 *
 * The same layout is used for every target and is frozen by
 * PST_KERNEL_ABI_VERSION, which plans and cached images carry.
 */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PST_KERNEL_ABI_VERSION 7
#define PST_MAX_RANK 8
/* The bytes of one tensor. */
#define PST_MAX_TENSOR_BYTES (INT64_C(1) << 40)

/* A tensor argument. Strides are in bytes. Code is made for tensors that are
 * dense but for the outermost axis (with it, where the kernel's schedule says
 * `dense`), or in outputs for the axes outside of n: other strides are not read.
 *
 * `data` is the address of the element with index 0 on every axis. Of a decoded
 * image only the requested region has values; elements outside may be read, but
 * no output depends on them. Storage of inputs and outputs is
 * aligned to 64 bytes unless the tensor is a view of user memory or a decoded
 * image; 64 readable bytes follow the last element of every input. */
typedef struct pst_tensor {
  void *data;
  int64_t extent[PST_MAX_RANK];
  int64_t stride[PST_MAX_RANK];
} pst_tensor;

typedef struct pst_kernel_args {
  /* Input tensors, then output tensors, in the kernel's order. */
  const pst_tensor *tensors;
  /* Pixel kernels: the scalar arguments in order. Select, setup and rows kernels:
   * the sample's whole parameter block, read and written.
   * Entries have 8 bytes: integers extended to i64 by their type, floats as
   * the bits of f64, bool as 0 or 1. */
  int64_t *scalars;
  /* At least the plan's scratch bytes, aligned to 64; contents undefined. */
  void *scratch;
  /* First and one past the last row of the outermost axis of the first output to
   * compute, clamped to its extent; {0, INT64_MAX} for all of it. Outputs with
   * another outermost axis are computed whole. */
  int64_t band[2];
  /* Written when a check fails: the two values of its message. */
  int64_t failure[2];
  /* Never null. Another thread sets it to stop the kernel: code that runs long
   * looks at it every few milliseconds, and where it is not 0, returns
   * PST_KERNEL_STOPPED and leaves anything in its outputs. */
  const volatile uint8_t *stop;
} pst_kernel_args;

#define PST_KERNEL_STOPPED (-1)

typedef int32_t (*pst_kernel)(pst_kernel_args *args);

/* A kernel on a CUDA device runs for many samples in one launch:
 *
 *   void k(const RECORD *samples, pst_sample_status *status)
 *
 * with grid (blocks, count), `threads` threads in a block and the plan's bytes of
 * dynamic shared memory. A RECORD is the kernel's own: entries of 8 bytes, those that
 * the kernel reads and no others, in the order of the plan (`RecordField` in plan.fbs). `samples`
 * has one for each sample that runs (those whose guard holds). count is at most
 * PST_MAX_GRID_Y: more samples take several launches.
 *
 * `status` is the batch's: an entry for what runs once for it, then one for each slot,
 * all 0 before the first launch. A kernel first looks at entry 0 and at its
 * sample's, and does nothing where a check has failed. So nothing runs on what a failed check
 * has left out. Kernels are launched in the order of the plan's steps, on one stream:
 * what they hand on is ordered by that, and so is memory that several temporaries share.
 *
 * Data of tensors and scratch are aligned to 64 bytes, those of outputs that are a
 * sample's part of a batch to their element. PST_DEVICE_SLACK bytes before the first and after the
 * last element of inputs may be read, and mean nothing. No kernel touches more, whatever the values
 * in its tensors are: a stray access would end everything in the process's context.
 *
 * `threads` is the kernel's own (a multiple of 32). `blocks` is 1 for kernels of
 * the mapping "block", and any number for "grid": elements are distributed over
 * as many threads as there are. Scratch is the sample's own, of the size that the plan says. */
#define PST_MAX_GRID_Y 65535
/* Launches that follow each other may be one:
 *
 *   void j(pst_joined_sample *samples, pst_sample_status *status)
 *
 * with grid (blocks, count), of one number of `threads`, and as much shared memory as the kernel
 * that takes most. For each sample that runs any of them there is a pst_joined_sample, followed by
 * as many pst_joined_step as launches were joined, of which the first `steps` count. The blocks of
 * a sample run these one after the other: kernels of the mapping "block" by the first block alone.
 * Where `barrier` is set, they first wait for each other, so that each sees what the others have
 * written; else the step touches nothing that one before it, since their last barrier, has written,
 * and writes nothing that such a step touches.
 *
 * Blocks that wait hold their places. GPUs begin blocks in the order of their numbers, x
 * first (CUDA does not promise it), so only those of the last sample that has begun can lack
 * others, which come as soon as any block ends: a sample has at most PST_MAX_JOINED_BLOCKS blocks,
 * and at most a quarter of those that the GPU has room for at once, as three other such launches
 * may wait beside.
 *
 * Or they are chains, between which nothing passes: there is a pst_joined_sample, with so many
 * pst_joined_step as the plan has `room`, for each chain of which a sample runs any, and one block
 * for each. `barrier` means nothing there. A picture at a time lies in the block's shared memory
 * (`held` of its kernels), which steps without a kernel bring there and away: PST_JOINED_LOAD and
 * PST_JOINED_STORE, where `record` is the picture in the device's memory, at a boundary of 16
 * bytes, and `barrier` how many words of 16 bytes it has. */
#define PST_MAX_JOINED_BLOCKS 8
#define PST_JOINED_LOAD 0xFFFFFFFEu
#define PST_JOINED_STORE 0xFFFFFFFFu

#define PST_DEVICE_SLACK 64

typedef struct pst_sample_status {
  int32_t check; /* id of the first check that failed; 0: none */
  int32_t reserved;
  int64_t values[2]; /* of its message */
} pst_sample_status;

typedef struct pst_joined_sample {
  int64_t entry;    /* of status */
  uint32_t arrived; /* 0; how its blocks wait for each other */
  uint32_t steps;   /* how many follow */
} pst_joined_sample;
typedef struct pst_joined_step {
  const void *record; /* of the step's kernel, in the device's memory */
  uint32_t body;      /* which kernel: its number in the launch; or a copy */
  uint32_t barrier;
} pst_joined_step;

/* Entries of every sample's parameter block that the runtime fills itself. */
enum pst_entry {
  PST_ENTRY_SEED = 0,
  PST_ENTRY_EPOCH = 1,
  PST_ENTRY_POSITION = 2,       /* of this sample in the epoch */
  PST_ENTRY_BATCH_POSITION = 3, /* of the rank's first slot of the batch */
  PST_ENTRY_SLOT = 4,           /* slot of this sample in the rank's batch */
  PST_ENTRY_COUNT = 5,          /* samples in the rank's batch */
  PST_ENTRY_TABLE_LENGTH = 6,   /* rows of the table of `for` */
  PST_FIRST_FREE_ENTRY = 8
};

#ifdef __cplusplus
}
#endif
