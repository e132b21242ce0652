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
pipe.kernel @mirrors "pixels" {
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

// What is read twice at one place is loaded once.
// CHECK-LABEL: func.func @loads_once(
// CHECK: memref.load
// CHECK-NOT: memref.load
// CHECK: return
pipe.kernel @loads_once "pixels" {
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
