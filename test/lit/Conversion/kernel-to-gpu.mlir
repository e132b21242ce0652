// RUN: penstock-opt %s --pipe-schedule-gpu --pipe-kernel-to-gpu --cse | FileCheck %s
// RUN: penstock-opt %s --pipe-schedule-gpu --pipe-kernel-to-gpu | penstock-opt --cse | FileCheck %s
// REQUIRES: penstock-opt

// Only arguments that something reads are left; each says where it comes from.
// CHECK-LABEL: func.func @mirrors(
// CHECK-SAME: %[[IN:.*]]: memref<?xui8>, %[[W:.*]]: index, %[[OUT:.*]]: memref<?xui8>)
// CHECK-SAME: {pipe.axis = 0 : i64, pipe.from = "extent", pipe.name = "in0_w", pipe.number = 0 : i64}
// CHECK-SAME: pipe.mapping = "grid"
// CHECK-NOT: gpu.barrier
// CHECK: scf.parallel (%[[I:.*]]) = (%{{.*}}) to (%[[W]])
// CHECK: %[[FROM:.*]] = arith.subi %{{.*}}, %[[I]]
// CHECK: %[[X:.*]] = memref.load %[[IN]][%[[FROM]]]
// CHECK: memref.store %[[X]], %[[OUT]][%[[I]]]
// CHECK: pipe.axes = ["w"], pipe.workers = "threads"
pipe.kernel @mirrors "pixels" schedule {mapping = "grid", threads = 256 : i64} {
^bb0(%x: !pipe.tensor<u8[w=?]>):
  %n = pipe.extent %x "w" : !pipe.tensor<u8[w=?]>
  %one = pipe.constant 1 : i64 -> i64
  %last = pipe.binary sub %n, %one : i64
  %0 = pipe.view %x by affine_map<(d0)[s0] -> (-d0 + s0)> [%last] sizes(%n) : !pipe.tensor<u8[w=?]> -> !pipe.tensor<u8[w=?]>
  pipe.return %0 : !pipe.tensor<u8[w=?]>
}

// A temporary, a barrier, and what the plan needs to know of its size.
// CHECK-LABEL: func.func @stores_first(
// CHECK-SAME: pipe.mapping = "block", pipe.scratch = [], pipe.scratch_fixed = 144 : i64
// CHECK: memref.view
// CHECK: scf.parallel
// CHECK: gpu.barrier
// CHECK: scf.parallel
pipe.kernel @stores_first "pixels" {
^bb0(%x: !pipe.tensor<u8[w=16]>):
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=16]>) -> !pipe.tensor<u8[w=16]> {
  ^bb0(%p: ui8, %w: i64):
    %q = pipe.unary bit_not %p : ui8
    pipe.yield %q : ui8
  }
  %1 = pipe.window edge %0 over ["w"] low [-1] high [1] : !pipe.tensor<u8[w=16]> -> !pipe.tensor<u8[w=16]> {
  ^bb0(%a: ui8, %b: ui8, %c: ui8, %w: i64):
    %m = pipe.binary max %a, %c : ui8
    pipe.yield %m : ui8
  }
  pipe.return %1 : !pipe.tensor<u8[w=16]>
}

// An element read twice is loaded once.
// CHECK-LABEL: func.func @loads_once(
// CHECK: memref.load
// CHECK-NOT: memref.load
// CHECK: return
pipe.kernel @loads_once "pixels" schedule {mapping = "grid", threads = 256 : i64} {
^bb0(%x: !pipe.tensor<f32[w=15]>):
  %0 = pipe.map (%x, %x) : (!pipe.tensor<f32[w=15]>, !pipe.tensor<f32[w=15]>) -> !pipe.tensor<f32[w=15]> {
  ^bb0(%p: f32, %q: f32, %w: i64):
    %r = pipe.binary mul %p, %q : f32
    pipe.yield %r : f32
  }
  pipe.return %0 : !pipe.tensor<f32[w=15]>
}

// Neighbours that a thread makes together are marked: one access may take them. Pixels that a view turns round
// are the same ones in another order.
// CHECK-LABEL: func.func @makes_pixels(
// CHECK: scf.parallel (%[[H:.*]], %[[W:.*]]) = ({{.*}}) to (%c5, %c4)
// CHECK: %[[AT:.*]] = arith.muli %[[W]], %c4
// CHECK-COUNT-12: memref.load {{.*}}pipe.run = array<i64: {{[0-9]+}}, 12, 0, 0>
// CHECK-COUNT-3: memref.store {{.*}}pipe.run = array<i64: {{[0-3]}}, 4>
// CHECK: memref.store {{.*}}pipe.run = array<i64: 3, 4>
// CHECK-COUNT-8: memref.store {{.*}}pipe.run = array<i64: {{[0-3]}}, 4>
// CHECK: pipe.axes = ["h", "w"], pipe.workers = "threads"
pipe.kernel @makes_pixels "pixels" {
^bb0(%x: !pipe.tensor<u8[h=5, w=16, c=3]>):
  %0 = pipe.view %x by affine_map<(c, h, w) -> (h, -w + 15, c)> [] : !pipe.tensor<u8[h=5, w=16, c=3]> -> !pipe.tensor<u8[c=3, h=5, w=16]>
  %1 = pipe.map (%0) {vector = {c = 3 : i64, w = 4 : i64}} : (!pipe.tensor<u8[c=3, h=5, w=16]>) -> !pipe.tensor<u8[c=3, h=5, w=16]> {
  ^bb0(%p: ui8, %c: i64, %h: i64, %w: i64):
    %q = pipe.unary bit_not %p : ui8
    pipe.yield %q : ui8
  }
  pipe.return %1 : !pipe.tensor<u8[c=3, h=5, w=16]>
}

// Of a tile, the rows that it reads are stored in shared memory, by the block; where they do not fit, the tile is halved, and in the
// end the rows are computed where they are read.
// CHECK-LABEL: func.func @tiles(
// CHECK-SAME: pipe.blocks = 8 : i64
// CHECK-SAME: pipe.mapping = "tile"
// CHECK-SAME: pipe.shared = 1280 : i64
// CHECK: gpu.dynamic_shared_memory
// CHECK: %[[BLOCK:.*]] = gpu.block_id x
// CHECK: %[[BLOCKS:.*]] = gpu.grid_dim x
// CHECK: scf.for %{{.*}} = %[[BLOCK]] to %c8{{.*}} step %[[BLOCKS]]
// CHECK: scf.while
// CHECK: scf.while
// CHECK: arith.cmpi sle, %{{.*}}, %c20
// CHECK: scf.if
// CHECK: scf.parallel
// CHECK: memref.store {{.*}} #gpu.address_space<workgroup>>
// CHECK: pipe.axes = ["h", "w"], pipe.narrow, pipe.workers = "block"
// CHECK: gpu.barrier
// CHECK: memref.load {{.*}} #gpu.address_space<workgroup>>
// CHECK: gpu.barrier
// CHECK: } else {
// CHECK-NOT: workgroup
// CHECK: return
pipe.kernel @tiles "pixels" schedule {mapping = "tile", threads = 64 : i64, tile = {h = 8 : i64}, rows = 20 : i64} {
^bb0(%x: !pipe.tensor<u8[h=64, w=64]>):
  %0 = pipe.map (%x) {schedule = "shared"} : (!pipe.tensor<u8[h=64, w=64]>) -> !pipe.tensor<u8[h=64, w=64]> {
  ^bb0(%p: ui8, %h: i64, %w: i64):
    %q = pipe.unary bit_not %p : ui8
    pipe.yield %q : ui8
  }
  %1 = pipe.window reflect %0 over ["h"] low [-9] high [9] : !pipe.tensor<u8[h=64, w=64]> -> !pipe.tensor<u8[h=64, w=64]> {
  ^bb0(%n0: ui8, %n1: ui8, %n2: ui8, %n3: ui8, %n4: ui8, %n5: ui8, %n6: ui8, %n7: ui8, %n8: ui8, %n9: ui8, %n10: ui8, %n11: ui8, %n12: ui8, %n13: ui8, %n14: ui8, %n15: ui8, %n16: ui8, %n17: ui8, %n18: ui8, %h: i64, %w: i64):
    %m = pipe.binary max %n0, %n18 : ui8
    pipe.yield %m : ui8
  }
  pipe.return %1 : !pipe.tensor<u8[h=64, w=64]>
}

// Where windows tell that the rows of every tile fit, nothing is asked.
// CHECK-LABEL: func.func @tiles_of_windows
// CHECK-NOT: scf.while
// CHECK-NOT: scf.if
// CHECK: return
pipe.kernel @tiles_of_windows "pixels" schedule {mapping = "tile", threads = 64 : i64, tile = {h = 8 : i64}, rows = 26 : i64} {
^bb0(%x: !pipe.tensor<u8[h=64, w=64]>):
  %0 = pipe.map (%x) {schedule = "shared"} : (!pipe.tensor<u8[h=64, w=64]>) -> !pipe.tensor<u8[h=64, w=64]> {
  ^bb0(%p: ui8, %h: i64, %w: i64):
    %q = pipe.unary bit_not %p : ui8
    pipe.yield %q : ui8
  }
  %1 = pipe.window reflect %0 over ["h"] low [-9] high [9] : !pipe.tensor<u8[h=64, w=64]> -> !pipe.tensor<u8[h=64, w=64]> {
  ^bb0(%n0: ui8, %n1: ui8, %n2: ui8, %n3: ui8, %n4: ui8, %n5: ui8, %n6: ui8, %n7: ui8, %n8: ui8, %n9: ui8, %n10: ui8, %n11: ui8, %n12: ui8, %n13: ui8, %n14: ui8, %n15: ui8, %n16: ui8, %n17: ui8, %n18: ui8, %h: i64, %w: i64):
    %m = pipe.binary max %n0, %n18 : ui8
    pipe.yield %m : ui8
  }
  pipe.return %1 : !pipe.tensor<u8[h=64, w=64]>
}

// A tile's part of an input is copied first: bytes in words of 16, which lie as far behind a boundary there as here;
// words one by one. Where a row does not fit, it is read where it lies.
// CHECK-LABEL: func.func @copies
// CHECK: memref.view
// CHECK: arith.cmpi sle, %{{.*}}, %c2048
// CHECK-NEXT: scf.if
// CHECK-NEXT: scf.parallel
// CHECK: memref.load %{{.*}} : memref<?xi32>
// CHECK: memref.store %{{.*}} : memref<?xi32, #gpu.address_space<workgroup>>
// CHECK: scf.for
// CHECK: %[[BEHIND:.*]] = func.call @pst_behind_word(%arg0
// CHECK: arith.addi {{.*}}%[[BEHIND]]
// CHECK: func.call @pst_copy_rows(
// CHECK-NEXT: gpu.barrier
// CHECK-NOT: memref.load %arg
// CHECK: gpu.barrier
// CHECK: } else {
// CHECK: memref.load %arg0
pipe.kernel @copies "pixels" schedule {mapping = "tile", threads = 64 : i64, tile = {h = 8 : i64}, rows = 32 : i64, copied = {bytes = 2048 : i64, inputs = array<i64: 0, 1, 2>}} {
^bb0(%x: !pipe.tensor<u8[h=64, w=?, c=3]>, %weights: !pipe.tensor<i32[w=16, k=?]>, %start: !pipe.tensor<i32[w=16]>):
  %0 = pipe.resample pillow %x along "w" with %weights, %start {schedule = "shared"} : !pipe.tensor<u8[h=64, w=?, c=3]>, !pipe.tensor<i32[w=16, k=?]>, !pipe.tensor<i32[w=16]> -> !pipe.tensor<u8[h=64, w=16, c=3]>
  %1 = pipe.window edge %0 over ["h"] low [0] high [1] : !pipe.tensor<u8[h=64, w=16, c=3]> -> !pipe.tensor<u8[h=64, w=16, c=3]> {
  ^bb0(%a: ui8, %b: ui8, %h: i64, %w: i64, %c: i64):
    %m = pipe.binary max %a, %b : ui8
    pipe.yield %m : ui8
  }
  pipe.return %1 : !pipe.tensor<u8[h=64, w=16, c=3]>
}

// A thread has a column: it reads up to eight weights once for a tile, which the block copies to where rows will lie, and goes
// through the rows of each step. As many rows as fit are told by how long one is. With more taps, each element is one by itself.
// CHECK-LABEL: func.func @columns
// CHECK: %[[TOGETHER:.*]] = call @pst_times(
// CHECK: %[[THREAD:.*]] = gpu.thread_id x
// CHECK: %[[COLUMN:.*]] = arith.remui %[[THREAD]], %c16
// CHECK: %[[FIRST:.*]] = arith.divui %[[THREAD]], %c16
// CHECK: %[[TAPS:.*]] = memref.view {{.*}} : memref<?xi8, #gpu.address_space<workgroup>> to memref<?xi32, #gpu.address_space<workgroup>>
// CHECK: func.call @pst_copy_table(%[[TAPS]], %arg{{[0-9]+}}, %c0{{.*}}, %c16
// CHECK-NEXT: gpu.barrier
// CHECK-COUNT-4: func.call @pst_tap(%[[TAPS]]
// CHECK: func.call @pst_high_bytes(
// CHECK-COUNT-4: func.call @pst_tap(%[[TAPS]]
// CHECK: func.call @pst_high_bytes(
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %{{.*}} step %[[TOGETHER]]
// CHECK: func.call @pst_copy_rows(
// CHECK-NEXT: gpu.barrier
// CHECK: arith.cmpi sle, %{{.*}}, %c4
// CHECK-NOT: func.call @pst_tap(
// CHECK: scf.for %{{.*}} = %[[FIRST]] to
// CHECK-COUNT-12: memref.load {{.*}}pipe.run = array<i64: {{[0-9]+}}, 12,
// CHECK-COUNT-3: func.call @pst_weigh(
// CHECK: } else {
// CHECK: arith.cmpi sle, %{{.*}}, %c8
// CHECK-COUNT-6: func.call @pst_weigh(
// CHECK: } else {
// CHECK-NOT: func.call @pst_weigh(
// CHECK: return
pipe.kernel @columns "pixels" schedule {mapping = "tile", threads = 64 : i64, tile = {h = 8 : i64}, rows = 20 : i64, copied = {inputs = array<i64: 0>, bytes = 8192 : i64}} {
^bb0(%x: !pipe.tensor<u8[h=64, w=?, c=3]>, %weights: !pipe.tensor<i32[w=16, k=?]>, %start: !pipe.tensor<i32[w=16]>):
  %0 = pipe.resample pillow %x along "w" with %weights, %start {schedule = "shared", vector = {c = 3 : i64}} : !pipe.tensor<u8[h=64, w=?, c=3]>, !pipe.tensor<i32[w=16, k=?]>, !pipe.tensor<i32[w=16]> -> !pipe.tensor<u8[h=64, w=16, c=3]>
  %1 = pipe.window edge %0 over ["h"] low [0] high [1] : !pipe.tensor<u8[h=64, w=16, c=3]> -> !pipe.tensor<u8[h=64, w=16, c=3]> {
  ^bb0(%a: ui8, %b: ui8, %h: i64, %w: i64, %c: i64):
    %m = pipe.binary max %a, %b : ui8
    pipe.yield %m : ui8
  }
  pipe.return %1 : !pipe.tensor<u8[h=64, w=16, c=3]>
}

// Where rows have no room for taps, each thread reads its own where they lie.
// CHECK-LABEL: func.func @columns_of_few_rows
// CHECK-NOT: pst_copy_table
// CHECK-COUNT-8: func.call @pst_tap{{_*}}(%arg
// CHECK: func.call @pst_copy_rows{{_*}}(
// CHECK: return
pipe.kernel @columns_of_few_rows "pixels" schedule {mapping = "tile", threads = 64 : i64, tile = {h = 8 : i64}, rows = 20 : i64, copied = {inputs = array<i64: 0>, bytes = 8192 : i64}} {
^bb0(%x: !pipe.tensor<u8[h=64, w=?]>, %weights: !pipe.tensor<i32[w=16, k=?]>, %start: !pipe.tensor<i32[w=16]>):
  %0 = pipe.resample pillow %x along "w" with %weights, %start {schedule = "shared"} : !pipe.tensor<u8[h=64, w=?]>, !pipe.tensor<i32[w=16, k=?]>, !pipe.tensor<i32[w=16]> -> !pipe.tensor<u8[h=64, w=16]>
  %1 = pipe.window edge %0 over ["h"] low [0] high [1] : !pipe.tensor<u8[h=64, w=16]> -> !pipe.tensor<u8[h=64, w=16]> {
  ^bb0(%a: ui8, %b: ui8, %h: i64, %w: i64):
    %m = pipe.binary max %a, %b : ui8
    pipe.yield %m : ui8
  }
  pipe.return %1 : !pipe.tensor<u8[h=64, w=16]>
}

// Tables of few taps are no copies where threads could hold them: without a copied picture, elements read them where they lie.
// CHECK-LABEL: func.func @columns_of_what_is_not_copied
// CHECK: memref.store {{.*}} : memref<?xi32, #gpu.address_space<workgroup>>
// CHECK: gpu.barrier
// CHECK-NOT: memref.load {{.*}} : memref<?xi32, #gpu.address_space<workgroup>>
// CHECK: return
pipe.kernel @columns_of_what_is_not_copied "pixels" schedule {mapping = "tile", threads = 64 : i64, tile = {h = 8 : i64}, rows = 20 : i64, copied = {inputs = array<i64: 1, 2>, bytes = 8192 : i64}} {
^bb0(%x: !pipe.tensor<u8[h=64, w=?, c=3]>, %weights: !pipe.tensor<i32[w=16, k=?]>, %start: !pipe.tensor<i32[w=16]>):
  %0 = pipe.resample pillow %x along "w" with %weights, %start {schedule = "shared", vector = {c = 3 : i64}} : !pipe.tensor<u8[h=64, w=?, c=3]>, !pipe.tensor<i32[w=16, k=?]>, !pipe.tensor<i32[w=16]> -> !pipe.tensor<u8[h=64, w=16, c=3]>
  %1 = pipe.window edge %0 over ["h"] low [0] high [1] : !pipe.tensor<u8[h=64, w=16, c=3]> -> !pipe.tensor<u8[h=64, w=16, c=3]> {
  ^bb0(%a: ui8, %b: ui8, %h: i64, %w: i64, %c: i64):
    %m = pipe.binary max %a, %b : ui8
    pipe.yield %m : ui8
  }
  pipe.return %1 : !pipe.tensor<u8[h=64, w=16, c=3]>
}
