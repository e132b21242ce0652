// RUN: penstock-opt %s --pipe-schedule-cpu=level=4 --split-input-file | FileCheck %s
// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 --split-input-file | FileCheck %s --check-prefix=CACHED
// RUN: penstock-opt %s --pipe-schedule-cpu=level=4 --pipe-kernel-to-loops --split-input-file | FileCheck %s --check-prefix=LOOPS
// REQUIRES: penstock-opt
// CACHED-NOT: streaming

// 2,048 samples of 1 KiB: no cache of a core holds two such batches. Stores are
// whole registers at their alignment.
// CHECK: pipe.kernel @k0 "pixels" schedule {dense = array<i64: 0, 1>, level = 4 : i64, streaming}
// LOOPS-LABEL: func.func @k0
// LOOPS: llvm.store {{.*}} {alignment = 64 : i64, nontemporal} : vector<16xf32>
// LOOPS: else
// LOOPS-NOT: nontemporal
// LOOPS: return
pipe.kernel @k0 "pixels" {
^bb0(%x: !pipe.tensor<u8[h=8, w=32]>):
  %0 = pipe.map (%x) : (!pipe.tensor<u8[h=8, w=32]>) -> !pipe.tensor<f32[h=8, w=32]> {
  ^bb0(%p: ui8, %h: i64, %w: i64):
    %f = pipe.cast value %p : ui8 -> f32
    pipe.yield %f : f32
  }
  pipe.return %0 : !pipe.tensor<f32[h=8, w=32]>
}
pipe.pipeline @large seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %size = pipe.param "size" default(2048 : i64) : i64
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<u8[h=8, w=32]>} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<u8[h=8, w=32]>
  %0 = pipe.launch @k0 (%x) scalars() : (!pipe.tensor<u8[h=8, w=32]>) -> !pipe.tensor<f32[h=8, w=32]>
  pipe.batch size(%size) last drop {
    pipe.output "a" %0 axes ["n", "h", "w"] stored ["n", "h", "w"] : !pipe.tensor<f32[h=8, w=32]>
  }
}

// -----

// One sample less than that stays in the caches.
// CHECK: pipe.kernel @k0 "pixels" schedule {dense = array<i64: 0, 1>, level = 4 : i64}
// LOOPS-LABEL: func.func @k0
// LOOPS-NOT: nontemporal
pipe.kernel @k0 "pixels" {
^bb0(%x: !pipe.tensor<u8[h=8, w=32]>):
  %0 = pipe.map (%x) : (!pipe.tensor<u8[h=8, w=32]>) -> !pipe.tensor<f32[h=8, w=32]> {
  ^bb0(%p: ui8, %h: i64, %w: i64):
    %f = pipe.cast value %p : ui8 -> f32
    pipe.yield %f : f32
  }
  pipe.return %0 : !pipe.tensor<f32[h=8, w=32]>
}
pipe.pipeline @small seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %size = pipe.constant 2047 : i64 -> i64
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<u8[h=8, w=32]>} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<u8[h=8, w=32]>
  %0 = pipe.launch @k0 (%x) scalars() : (!pipe.tensor<u8[h=8, w=32]>) -> !pipe.tensor<f32[h=8, w=32]>
  pipe.batch size(%size) last drop {
    pipe.output "a" %0 axes ["n", "h", "w"] stored ["n", "h", "w"] : !pipe.tensor<f32[h=8, w=32]>
  }
}
