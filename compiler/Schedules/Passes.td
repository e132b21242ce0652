// SPDX-License-Identifier: Apache-2.0
//
// Schedules --------------------------------*- tablegen.
#ifndef PENSTOCK_SCHEDULES_PASSES_TD
#define PENSTOCK_SCHEDULES_PASSES_TD

include "mlir/Pass/PassBase.td"

def ScheduleCpu : Pass<"pipe-schedule-cpu", "::mlir::ModuleOp"> {
  let summary = "Say how each kernel becomes loops for a CPU";
  let description = [{
    Puts a `schedule` dictionary on every kernel (the level, which says what the machine has) and
    `schedule = "scratch"` on the tensor definitions that are computed once,
    where they stand, instead of wherever an element of them is read. A term of
    maps that only the column decides becomes a definition of its own, as does
    one that takes long and depends on some of the axes, and a
    reduction over both axes of overlapping pieces becomes one over rows and one
    over columns; so does a window that reduces all its neighbours alike. What a
    map reads many times across its rows is stored transposed. A
    horizontal resampling that only a vertical one reads gets `"ring"`: its rows
    are computed when the vertical pass reaches them, and live in a ring; so
    does the reduction over rows, whose rows the one over columns reads.
    `streaming` says that outputs are stored past the caches: they only move and
    map, and no cache holds their batch. A kernel that has a schedule keeps it, so a schedule can be forced by hand.

    ```mlir
    pipe.kernel @k "pixels" schedule {level = 3 : i64} { ... }
    ```
  }];
  let options = [
    Option<"level", "level", "int", "3", "what code is made for, as compiler/Lane/Features.h numbers it: 2, 3, 4, 5 or 64">
  ];
}

def PlaceKernels : Pass<"pipe-place-kernels", "::mlir::ModuleOp"> {
  let summary = "Say which kernels a GPU runs";
  let description = [{
    Puts `place = "gpu"` on the kernels of pixels that a GPU can run and whose results nothing on
    the host reads: they are behind one frontier, which what is decoded, fields and
    tables cross once. Remarks say why a kernel stays.

    ```mlir
    pipe.kernel @k0 "pixels" {place = "gpu"} { ... }
    ```
  }];
}

def ScheduleGpu : Pass<"pipe-schedule-gpu", "::mlir::ModuleOp"> {
  let summary = "Say how each kernel of pixels becomes work for a GPU's threads";
  let description = [{
    Puts a `schedule` dictionary on every kernel of pixels but the tables, which
    the host makes: how many `threads` a block has, and the `mapping`. With
    "grid", the elements of a sample are spread over any number of blocks; with
    "block", one block does a sample in passes, with temporaries between them; with "tile", blocks make
    some rows of the outputs each, and the rows of what is stored that these read are `"shared"`, in shared memory.
    Of the inputs that `copied` names by their numbers a block copies what it reads into shared memory first.
    Definitions that are stored get `schedule = "scratch"` as for a CPU, and a
    reduction `schedule = "warps"` where each result has a warp of its own, or "block" where it has all threads of
    one: there are many elements, and their order does not matter. What is stored or
    returned says in `vector = {c = 3 : i64, w = 4 : i64}` how many elements along each axis a thread makes at once,
    or, with `along = "w"`, one after the other along that axis: what it loads and stores of a row are words of 16 bytes.

    ```mlir
    pipe.kernel @k "pixels" schedule {mapping = "grid", threads = 256 : i64} { ... }
    ```
  }];
  let options = [
    Option<"placed", "placed", "bool", "false", "only the kernels that pipe-place-kernels has put on a GPU">,
    Option<"threads", "threads", "int64_t", "256", "of a block">,
    Option<"shared", "shared", "int64_t", "45056", "bytes of shared memory that a block may take">,
    Option<"tileRows", "tile-rows", "int64_t", "16", "of output, that a block makes at most with the mapping tile">,
    Option<"tileAll", "tile-all", "bool", "false", "tiles also where they do not pay, to test them">,
    Option<"stripTurns", "strip-turns", "bool", "false", "strips go in turns also where there is little code, to test them">
  ];
}

def JoinLaunches : Pass<"pipe-join-launches", "::mlir::ModuleOp"> {
  let summary = "Make one launch of those that follow each other on a GPU";
  let description = [{
    A launch on a GPU costs some microseconds, and all samples wait for the slowest. Launches whose kernels have
    equally many threads get one `group`: the blocks of a sample run what it takes of the group in order, and wait
    for each other alone. Launches move behind what they read until those of a group follow each other. What runs once
    for a batch, and what reads other samples, stays apart. Launches that have a group keep it.

    ```mlir
    %1 = pipe.launch @k0 (%0) scalars() {group = 0 : i64} : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<u8[w=4]>
    ```
  }];
}

def HoldPictures : Pass<"pipe-hold-pictures", "::mlir::ModuleOp"> {
  let summary = "Leave pictures in a block's shared memory from one joined launch to the next";
  let description = [{
    Launches of a group that read what others of it make get one `chain`, which one block runs. Where their kernels
    store over a picture that they read, picture and result lie in the block's shared memory, and nothing of them
    goes through the GPU's; so do pictures that a kernel of the chain only reads. A launch that makes each part of its
    output of one chain runs in all of them, a `part` each. Pictures have room beside the 48 KiB that kernels may take
    for themselves; where one has none, it stays where it is. Launches that have a chain keep it.

    ```mlir
    pipe.kernel @k0 "pixels" schedule {held = {at = 49216 : i64, tensors = array<i64: 0, 1>}, mapping = "grid", threads = 1024 : i64} {
    %1 = pipe.launch @k0 (%0) scalars() {chain = 0 : i64, group = 0 : i64} : (!pipe.tensor<u8[w=4096]>) -> !pipe.tensor<u8[w=4096]>
    ```
  }];
  let options = [
    Option<"room", "room", "int64_t", "0", "bytes of shared memory that a block of the GPU may have">
  ];
}

#endif
