// RUN: penstock-opt %s --split-input-file --verify-diagnostics
// REQUIRES: penstock-opt

// Faults that the verifier of kernels and the tensor type refuse.

// expected-error @below {{has the unknown kind "voxels"}}
pipe.kernel @k "voxels" {
  pipe.return
}

// -----

// expected-error @below {{of kind "select" takes no arguments}}
pipe.kernel @k "select" {
^bb0(%x: !pipe.tensor<u8[w=4]>):
  pipe.return
}

// -----

// expected-error @below {{of kind "setup" takes no scalar arguments}}
pipe.kernel @k "setup" {
^bb0(%x: !pipe.tensor<u8[w=4]>, %n: i64):
  pipe.return
}

// -----

// expected-error @below {{has a tensor argument after a scalar one}}
pipe.kernel @k "pixels" {
^bb0(%n: i64, %x: !pipe.tensor<u8[w=4]>):
  pipe.return %x : !pipe.tensor<u8[w=4]>
}

// -----

// expected-error @below {{does not end in pipe.return}}
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<u8[w=4]>):
  pipe.yield %x : !pipe.tensor<u8[w=4]>
}

// -----

// expected-error @below {{of kind "codec" is not one codec whose results it returns}}
pipe.kernel @k "codec" {
^bb0(%x: !pipe.tensor<u8[h=4, w=4]>):
  pipe.return %x : !pipe.tensor<u8[h=4, w=4]>
}

// -----

// kernel, C1.
// expected-error @below {{has the schedule `level = 6 : i64`; a level is 2, 3, 4, 5 or 64, as i64}}
pipe.kernel @k "pixels" schedule {level = 6 : i64} {
^bb0(%x: !pipe.tensor<u8[w=4]>):
  pipe.return %x : !pipe.tensor<u8[w=4]>
}

// -----

// kernel, C1.
// expected-error @below {{has the schedule `level = 3 : i32`; a level is 2, 3, 4, 5 or 64, as i64}}
pipe.kernel @k "pixels" schedule {level = 3 : i32} {
^bb0(%x: !pipe.tensor<u8[w=4]>):
  pipe.return %x : !pipe.tensor<u8[w=4]>
}

// -----

// kernel, C1.
// expected-error @below {{has the schedule `streaming = 1 : i64`; `streaming` stands alone}}
pipe.kernel @k "pixels" schedule {streaming = 1 : i64} {
^bb0(%x: !pipe.tensor<u8[w=4]>):
  pipe.return %x : !pipe.tensor<u8[w=4]>
}

// -----

// kernel, C2.
// expected-error @below {{has the schedule `threads = 48 : i64`; a block has 32 to 1024 threads, a multiple of 32, as i64}}
pipe.kernel @k "pixels" schedule {mapping = "grid", threads = 48 : i64} {
^bb0(%x: !pipe.tensor<u8[w=4]>):
  pipe.return %x : !pipe.tensor<u8[w=4]>
}

// -----

// kernel, C2.
// expected-error @below {{has the schedule `mapping = "warp"`; a mapping is "grid", "block" or "tile"}}
pipe.kernel @k "pixels" schedule {mapping = "warp", threads = 64 : i64} {
^bb0(%x: !pipe.tensor<u8[w=4]>):
  pipe.return %x : !pipe.tensor<u8[w=4]>
}

// -----

// kernel, C4.
// expected-error @below {{has the schedule `row_tile = 9 : i64`; a tile has fewer rows than the kernel goes through, whose ops treat each row alone, as i64}}
pipe.kernel @k "pixels" schedule {level = 3 : i64, row_tile = 9 : i64} {
^bb0(%x: !pipe.tensor<f32[t=9, k=40]>):
  %0 = pipe.reduce sum %x over ["k"] : !pipe.tensor<f32[t=9, k=40]> -> !pipe.tensor<f32[t=9]>
  pipe.return %0 : !pipe.tensor<f32[t=9]>
}

// -----

// kernel, C4.
// expected-error @below {{has the schedule `row_tile = 4 : i64`; a tile has fewer rows than the kernel goes through, whose ops treat each row alone, as i64}}
pipe.kernel @k "pixels" schedule {level = 3 : i64, row_tile = 4 : i64} {
^bb0(%x: !pipe.tensor<f32[t=9, k=40]>):
  %0 = pipe.reduce sum %x over ["t"] : !pipe.tensor<f32[t=9, k=40]> -> !pipe.tensor<f32[k=40]>
  pipe.return %0 : !pipe.tensor<f32[k=40]>
}

// -----

// kernel, C5.
// expected-error @below {{a tile has 2 to 1024 rows of one axis, and one place of others, as i64}}
pipe.kernel @k "pixels" schedule {mapping = "tile", threads = 64 : i64, tile = {h = 4 : i64, w = 4 : i64}, rows = 8 : i64} {
^bb0(%x: !pipe.tensor<u8[w=4]>):
  pipe.return %x : !pipe.tensor<u8[w=4]>
}

// -----

// kernel, C5.
// expected-error @below {{has a schedule with some of the mapping "tile", `tile` and `rows`; they stand together}}
pipe.kernel @k "pixels" schedule {mapping = "grid", threads = 64 : i64, tile = {w = 4 : i64}, rows = 8 : i64} {
^bb0(%x: !pipe.tensor<u8[w=4]>):
  pipe.return %x : !pipe.tensor<u8[w=4]>
}

// -----

// kernel, C5.
pipe.kernel @k "pixels" schedule {mapping = "tile", threads = 64 : i64, tile = {w = 4 : i64}, rows = 8 : i64} {
^bb0(%x: !pipe.tensor<u8[w=4]>):
  // expected-error @below {{has `rows`; so many are stored of what is "shared", one or more, as i64}}
  %0 = pipe.view %x by affine_map<(d0) -> (d0)> [] {schedule = "scratch", rows = 4 : i64} : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=4]>
  pipe.return %0 : !pipe.tensor<u8[w=4]>
}

// -----

// kernel, C9.
// expected-error @below {{it has `bytes`, a multiple of 16, as i64, and `inputs`, ascending numbers of the kernel's tensors, as array<i64>}}
pipe.kernel @k "pixels" schedule {mapping = "tile", threads = 64 : i64, tile = {w = 4 : i64}, rows = 8 : i64, copied = {bytes = 64 : i64, inputs = array<i64: 0, 1>}} {
^bb0(%x: !pipe.tensor<u8[w=4]>, %n: i64):
  pipe.return %x : !pipe.tensor<u8[w=4]>
}

// -----

// kernel, C9.
// expected-error @below {{it has `bytes`, a multiple of 16, as i64}}
pipe.kernel @k "pixels" schedule {mapping = "tile", threads = 64 : i64, tile = {w = 4 : i64}, rows = 8 : i64, copied = {bytes = 60 : i64, inputs = array<i64: 0>}} {
^bb0(%x: !pipe.tensor<u8[w=4]>):
  pipe.return %x : !pipe.tensor<u8[w=4]>
}

// -----

// kernel, C9.
// expected-error @below {{has a schedule with `copied`, which needs the mapping "tile"}}
pipe.kernel @k "pixels" schedule {mapping = "grid", threads = 64 : i64, copied = {bytes = 64 : i64, inputs = array<i64: 0>}} {
^bb0(%x: !pipe.tensor<u8[w=4]>):
  pipe.return %x : !pipe.tensor<u8[w=4]>
}

// -----

// kernel, C2.
// expected-error @below {{has a schedule with one of `mapping` and `threads`; they stand together}}
pipe.kernel @k "pixels" schedule {mapping = "grid"} {
^bb0(%x: !pipe.tensor<u8[w=4]>):
  pipe.return %x : !pipe.tensor<u8[w=4]>
}

// -----

// kernel, C2.
// expected-error @below {{has a schedule with `resident`, which needs a `mapping`}}
pipe.kernel @k "pixels" schedule {resident = 4 : i64} {
^bb0(%x: !pipe.tensor<u8[w=4]>):
  pipe.return %x : !pipe.tensor<u8[w=4]>
}

// -----

// kernel, C2.
// expected-error @below {{has the schedule `resident = 33 : i64`; 1 to 32 blocks are on a multiprocessor at once, as i64}}
pipe.kernel @k "pixels" schedule {mapping = "grid", threads = 64 : i64, resident = 33 : i64} {
^bb0(%x: !pipe.tensor<u8[w=4]>):
  pipe.return %x : !pipe.tensor<u8[w=4]>
}

// -----

// expected-error @below {{has a schedule with `lanes`; known are `level`, `streaming`, `reciprocals`, `row_tile`, `dense`, `together`, `mapping`, `threads`, `resident`, `tile`, `rows`, `copied`, `held` and `part`}}
pipe.kernel @k "pixels" schedule {lanes = 16 : i64} {
^bb0(%x: !pipe.tensor<u8[w=4]>):
  pipe.return %x : !pipe.tensor<u8[w=4]>
}

// -----

// kernel, C3.
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<u8[w=4]>):
  // expected-error @below {{has the schedule "ring"; known are "scratch", "shared" in a tile, "ring" of a resample or reduce, "warps", "threads" and "block" of a reduce, and "inline" of one of at most 32 elements}}
  %0 = pipe.view %x by affine_map<(d0) -> (3 - d0)> [] {schedule = "ring"} : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=4]>
  pipe.return %0 : !pipe.tensor<u8[w=4]>
}

// -----

// expected-error @below {{has `outside_n` for other than its 1 results}}
pipe.kernel @k "pixels" attributes {outside_n = array<i64: 1, 1>} {
^bb0(%x: !pipe.tensor<u8[w=4]>):
  pipe.return %x : !pipe.tensor<u8[w=4]>
}

// -----

// tensor, C2.
// expected-error @below {{unknown element type `u128`}}
func.func private @element(!pipe.tensor<u128[w=4]>)

// -----

// tensor, C1.
// expected-error @below {{axis `w` stands twice}}
func.func private @axes(!pipe.tensor<u8[w=4, w=5]>)

// -----

// launch, C2.
func.func @launch_without_size(%x: !pipe.tensor<u8[w=?]>) {
  // expected-error @below {{has 0 sizes for 1 dynamic axes}}
  %0 = pipe.launch @k (%x) scalars() : (!pipe.tensor<u8[w=?]>) -> !pipe.tensor<u8[w=?]>
  return
}

// -----

// launch, C3.
func.func @launch_once_with_others(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{has a group, and runs once for a batch}}
  %0 = pipe.launch @k once (%x) scalars() {group = 0 : i64} : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<u8[w=4]>
  return
}

// -----

// launch, C3.
func.func @launch_with_a_negative_group(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{has a negative group}}
  %0 = pipe.launch @k (%x) scalars() {group = -1 : i64} : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<u8[w=4]>
  return
}

// -----

// kernel, C6.
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<u8[w=4]>):
  // expected-error @below {{has `copies = #schedule.loops<along = "h", lanes = 4, tail = overlap>` (C6); axes of it are those of '!pipe.tensor<u8[w=4]>'}}
  pipe.return %x : !pipe.tensor<u8[w=4]> {copies = #schedule.loops<along = "h", lanes = 4, tail = overlap>}
}

// -----

// kernel, C6.
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<u8[w=4]>):
  // expected-error @below {{has `copies = 4 : i64` (C6); it is one `#schedule.loops`, or `unit`, for each of 1}}
  pipe.return %x : !pipe.tensor<u8[w=4]> {copies = 4 : i64}
}

// -----

// kernel, C7.
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<u8[h=17, w=4]>):
  // expected-error @below {{(C7); `unroll` names an axis of at most 16 elements, known when compiling}}
  pipe.return %x : !pipe.tensor<u8[h=17, w=4]> {copies = #schedule.loops<along = "w", lanes = 4, unroll = "h", tail = overlap>}
}

// -----

// kernel, C8.
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<u8[w=9]>, %w: !pipe.tensor<i32[w=4, k=5]>, %s: !pipe.tensor<i32[w=4]>):
  // expected-error @below {{has the schedule "ring"; that takes Pillow's numerics along columns whose number is known, of up to four bytes side by side in memory}}
  %0 = pipe.resample pillow %x along "w" with %w, %s {schedule = "ring"}
      : !pipe.tensor<u8[w=9]>, !pipe.tensor<i32[w=4, k=5]>, !pipe.tensor<i32[w=4]> -> !pipe.tensor<u8[w=4]>
  pipe.return %0 : !pipe.tensor<u8[w=4]>
}

// -----

// C1 of #schedule.loops.
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<u8[w=4]>):
  // expected-error @below {{C1: 24 lanes; known are powers of two up to 64}}
  pipe.return %x : !pipe.tensor<u8[w=4]> {copies = #schedule.loops<along = "w", lanes = 24, tail = overlap>}
}

// -----

// C2 of #schedule.loops.
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<u8[w=4]>):
  // expected-error @below {{C2: loops for 17 combinations of arms; they are written for 1 to 16}}
  pipe.return %x : !pipe.tensor<u8[w=4]> {copies = #schedule.loops<along = "w", lanes = 4, arms = 17, tail = overlap>}
}

// -----

// C3 of #schedule.loops.
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<u8[w=4]>):
  // expected-error @below {{C3: the version "rows"; known are "bounded", "strides" and "rows", once each}}
  pipe.return %x : !pipe.tensor<u8[w=4]> {copies = #schedule.loops<along = "w", lanes = 4, versions = ["rows", "rows"], tail = overlap>}
}

// -----

// C4 of #schedule.loops, of squares.
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<f32[h=9, w=4]>):
  // expected-error @below {{C4: `across = "w"` beside 4 lanes along "w"; squares have two axes, and none is unrolled}}
  pipe.return %x : !pipe.tensor<f32[h=9, w=4]> {copies = #schedule.loops<along = "w", lanes = 4, across = "w", tail = overlap>}
}

// -----

// C4 of #schedule.loops.
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<u8[w=4]>):
  // expected-error @below {{C4: 4 lanes along "w", and `unroll = "w"`; lanes have an axis of their own}}
  pipe.return %x : !pipe.tensor<u8[w=4]> {copies = #schedule.loops<along = "w", lanes = 4, unroll = "w", tail = overlap>}
}

// -----

// kernel, C27.
// expected-error @below {{has the schedule `together = [array<i64: 0>]`; it has groups of two or more outputs that are computed there, with the same axes, of known extents, and the same loops: their numbers, ascending, as array<i64>}}
pipe.kernel @k "pixels" schedule {level = 3 : i64, together = [array<i64: 0>]} {
^bb0(%x: !pipe.tensor<u8[w=40]>):
  %0 = pipe.cast value %x {loops = #schedule.loops<along = "w", lanes = 32, tail = overlap>} : !pipe.tensor<u8[w=40]> -> !pipe.tensor<f32[w=40]>
  %1 = pipe.cast value %x {loops = #schedule.loops<along = "w", lanes = 32, tail = overlap>} : !pipe.tensor<u8[w=40]> -> !pipe.tensor<i32[w=40]>
  pipe.return %0, %1 : !pipe.tensor<f32[w=40]>, !pipe.tensor<i32[w=40]>
}

// -----

// kernel, C27.
// expected-error @below {{has the schedule `together = [array<i64: 1, 0>]`; it has groups of two or more outputs that are computed there, with the same axes, of known extents, and the same loops: their numbers, ascending, as array<i64>}}
pipe.kernel @k "pixels" schedule {level = 3 : i64, together = [array<i64: 1, 0>]} {
^bb0(%x: !pipe.tensor<u8[w=40]>):
  %0 = pipe.cast value %x {loops = #schedule.loops<along = "w", lanes = 32, tail = overlap>} : !pipe.tensor<u8[w=40]> -> !pipe.tensor<f32[w=40]>
  %1 = pipe.cast value %x {loops = #schedule.loops<along = "w", lanes = 32, tail = overlap>} : !pipe.tensor<u8[w=40]> -> !pipe.tensor<i32[w=40]>
  pipe.return %0, %1 : !pipe.tensor<f32[w=40]>, !pipe.tensor<i32[w=40]>
}

// -----

// kernel, C27.
// expected-error @below {{has the schedule `together = [array<i64: 0, 2>]`; it has groups of two or more outputs that are computed there, with the same axes, of known extents, and the same loops: their numbers, ascending, as array<i64>}}
pipe.kernel @k "pixels" schedule {level = 3 : i64, together = [array<i64: 0, 2>]} {
^bb0(%x: !pipe.tensor<u8[w=40]>):
  %0 = pipe.cast value %x {loops = #schedule.loops<along = "w", lanes = 32, tail = overlap>} : !pipe.tensor<u8[w=40]> -> !pipe.tensor<f32[w=40]>
  %1 = pipe.cast value %x {loops = #schedule.loops<along = "w", lanes = 32, tail = overlap>} : !pipe.tensor<u8[w=40]> -> !pipe.tensor<i32[w=40]>
  pipe.return %0, %1 : !pipe.tensor<f32[w=40]>, !pipe.tensor<i32[w=40]>
}

// -----

// kernel, C27.
// expected-error @below {{has the schedule `together = [array<i64: 0, 1>, array<i64: 0, 1>]`; it has groups of two or more outputs that are computed there, with the same axes, of known extents, and the same loops: their numbers, ascending, as array<i64>}}
pipe.kernel @k "pixels" schedule {level = 3 : i64, together = [array<i64: 0, 1>, array<i64: 0, 1>]} {
^bb0(%x: !pipe.tensor<u8[w=40]>):
  %0 = pipe.cast value %x {loops = #schedule.loops<along = "w", lanes = 32, tail = overlap>} : !pipe.tensor<u8[w=40]> -> !pipe.tensor<f32[w=40]>
  %1 = pipe.cast value %x {loops = #schedule.loops<along = "w", lanes = 32, tail = overlap>} : !pipe.tensor<u8[w=40]> -> !pipe.tensor<i32[w=40]>
  pipe.return %0, %1 : !pipe.tensor<f32[w=40]>, !pipe.tensor<i32[w=40]>
}

// -----

// kernel, C27.
// expected-error @below {{has the schedule `together = [array<i64: 0, 1>]`; it has groups of two or more outputs that are computed there, with the same axes, of known extents, and the same loops: their numbers, ascending, as array<i64>}}
pipe.kernel @k "pixels" schedule {level = 3 : i64, together = [array<i64: 0, 1>]} {
^bb0(%x: !pipe.tensor<u8[w=40]>):
  %0 = pipe.cast value %x {loops = #schedule.loops<along = "w", lanes = 32, tail = overlap>} : !pipe.tensor<u8[w=40]> -> !pipe.tensor<f32[w=40]>
  %1 = pipe.cast value %x {loops = #schedule.loops<along = "w", lanes = 16, tail = overlap>} : !pipe.tensor<u8[w=40]> -> !pipe.tensor<i32[w=40]>
  pipe.return %0, %1 : !pipe.tensor<f32[w=40]>, !pipe.tensor<i32[w=40]>
}

// -----

// kernel, C27.
// expected-error @below {{has the schedule `together = 0 : i64`; it has groups of two or more outputs that are computed there, with the same axes, of known extents, and the same loops: their numbers, ascending, as array<i64>}}
pipe.kernel @k "pixels" schedule {level = 3 : i64, together = 0 : i64} {
^bb0(%x: !pipe.tensor<u8[w=40]>):
  %0 = pipe.cast value %x {loops = #schedule.loops<along = "w", lanes = 32, tail = overlap>} : !pipe.tensor<u8[w=40]> -> !pipe.tensor<f32[w=40]>
  %1 = pipe.cast value %x {loops = #schedule.loops<along = "w", lanes = 32, tail = overlap>} : !pipe.tensor<u8[w=40]> -> !pipe.tensor<i32[w=40]>
  pipe.return %0, %1 : !pipe.tensor<f32[w=40]>, !pipe.tensor<i32[w=40]>
}

// -----

// kernel, C28.
// expected-error @below {{has the schedule `dense = array<i64: 0>`; it has tensors of several axes, all but the first of known extents: their numbers, inputs before outputs, ascending, as array<i64>}}
pipe.kernel @k "pixels" schedule {dense = array<i64: 0>, level = 3 : i64} {
^bb0(%x: !pipe.tensor<u8[w=40]>, %y: !pipe.tensor<u8[h=2, w=40]>):
  pipe.return %y : !pipe.tensor<u8[h=2, w=40]>
}

// -----

// kernel, C28.
// expected-error @below {{has the schedule `dense = array<i64: 0>`; it has tensors of several axes}}
pipe.kernel @k "pixels" schedule {dense = array<i64: 0>, level = 3 : i64} {
^bb0(%x: !pipe.tensor<u8[h=2, w=?]>):
  pipe.return %x : !pipe.tensor<u8[h=2, w=?]>
}

// -----

// kernel, C28.
// expected-error @below {{has the schedule `dense = array<i64: 1, 0>`; it has tensors of several axes}}
pipe.kernel @k "pixels" schedule {dense = array<i64: 1, 0>, level = 3 : i64} {
^bb0(%x: !pipe.tensor<u8[h=2, w=40]>, %y: !pipe.tensor<u8[h=2, w=40]>):
  pipe.return %y : !pipe.tensor<u8[h=2, w=40]>
}

// -----

// kernel, C28.
// expected-error @below {{has the schedule `dense = array<i64: 2>`; it has tensors of several axes}}
pipe.kernel @k "pixels" schedule {dense = array<i64: 2>, level = 3 : i64} {
^bb0(%x: !pipe.tensor<u8[h=2, w=40]>):
  pipe.return %x : !pipe.tensor<u8[h=2, w=40]>
}

// -----

// kernel, C28.
// expected-error @below {{has the schedule `dense = 0 : i64`; it has tensors of several axes}}
pipe.kernel @k "pixels" schedule {dense = 0 : i64, level = 3 : i64} {
^bb0(%x: !pipe.tensor<u8[h=2, w=40]>):
  pipe.return %x : !pipe.tensor<u8[h=2, w=40]>
}

// -----

// kernel, C30.
// expected-error @below {{has the schedule `held = {at = 8 : i64, tensors = array<i64: 0>}`; it has `at`, a multiple of 16, as i64, and `tensors` of known extents and a multiple of 16 bytes}}
pipe.kernel @k "pixels" schedule {held = {at = 8 : i64, tensors = array<i64: 0>}, mapping = "grid", threads = 64 : i64} {
^bb0(%x: !pipe.tensor<u8[w=16]>):
  pipe.return %x : !pipe.tensor<u8[w=16]>
}

// -----

// kernel, C30.
// expected-error @below {{has the schedule `held = {at = 16 : i64, tensors = array<i64: 0>}`; it has}}
pipe.kernel @k "pixels" schedule {held = {at = 16 : i64, tensors = array<i64: 0>}, mapping = "grid", threads = 64 : i64} {
^bb0(%x: !pipe.tensor<u8[w=24]>):
  pipe.return %x : !pipe.tensor<u8[w=24]>
}

// -----

// kernel, C30.
// expected-error @below {{has the schedule `held = {at = 16 : i64, tensors = array<i64: 2>}`; it has}}
pipe.kernel @k "pixels" schedule {held = {at = 16 : i64, tensors = array<i64: 2>}, mapping = "grid", threads = 64 : i64} {
^bb0(%x: !pipe.tensor<u8[w=16]>):
  pipe.return %x : !pipe.tensor<u8[w=16]>
}

// -----

// kernel, C30.
// expected-error @below {{has a schedule with `held`, which needs a `mapping`}}
pipe.kernel @k "pixels" schedule {held = {at = 16 : i64, tensors = array<i64: 0>}, level = 3 : i64} {
^bb0(%x: !pipe.tensor<u8[w=16]>):
  pipe.return %x : !pipe.tensor<u8[w=16]>
}

// -----

// kernel, C31.
// expected-error @below {{has a schedule with `part`, which needs the mapping "grid" and one output with axes}}
pipe.kernel @k "pixels" schedule {mapping = "block", part, threads = 64 : i64} {
^bb0(%x: !pipe.tensor<u8[w=16]>):
  pipe.return %x : !pipe.tensor<u8[w=16]>
}

// -----

// launch, C4.
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<u8[w=4]>):
  pipe.return %x : !pipe.tensor<u8[w=4]>
}
func.func @chain(%x: !pipe.tensor<u8[w=4]>) -> !pipe.tensor<u8[w=4]> {
  // expected-error @below {{has a chain, and no group, or a negative one}}
  %0 = pipe.launch @k (%x) scalars() {chain = 0 : i64} : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<u8[w=4]>
  return %0 : !pipe.tensor<u8[w=4]>
}
