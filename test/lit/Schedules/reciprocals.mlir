// RUN: penstock-opt %s --pipe-schedule-cpu=level=4 --split-input-file | FileCheck %s
// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 --split-input-file | FileCheck %s --check-prefix=DIVIDED
// RUN: penstock-opt %s --pipe-schedule-cpu=level=4 --pipe-kernel-to-loops --split-input-file | FileCheck %s --check-prefix=LOOPS
// REQUIRES: penstock-opt
// DIVIDED-NOT: reciprocals

// A division of 16 floats takes longer than three products and the look at whether these give its bits.
// CHECK: pipe.kernel @rows "pixels" schedule {level = 4 : i64, reciprocals}
// LOOPS-LABEL: func.func @rows
// LOOPS: llvm.intr.fma
// LOOPS: return
pipe.kernel @rows "pixels" {
^bb0(%x: !pipe.tensor<f32[h=8, w=32]>, %s: !pipe.tensor<f32[h=8]>):
  %0 = pipe.map (%x, %s) : (!pipe.tensor<f32[h=8, w=32]>, !pipe.tensor<f32[h=8]>) -> !pipe.tensor<f32[h=8, w=32]> {
  ^bb0(%p: f32, %q: f32, %h: i64, %w: i64):
    %f = pipe.binary div %p, %q : f32
    pipe.yield %f : f32
  }
  pipe.return %0 : !pipe.tensor<f32[h=8, w=32]>
}

// -----

// Constants have reciprocals of their own, and products have none.
// CHECK: pipe.kernel @constant "pixels" schedule {level = 4 : i64}
// CHECK: pipe.kernel @product "pixels" schedule {level = 4 : i64}
pipe.kernel @constant "pixels" {
^bb0(%x: !pipe.tensor<f32[h=8, w=32]>):
  %c = pipe.constant 2.290000e-01 : f32 -> f32
  %0 = pipe.map (%x) : (!pipe.tensor<f32[h=8, w=32]>) -> !pipe.tensor<f32[h=8, w=32]> {
  ^bb0(%p: f32, %h: i64, %w: i64):
    %f = pipe.binary div %p, %c : f32
    pipe.yield %f : f32
  }
  pipe.return %0 : !pipe.tensor<f32[h=8, w=32]>
}
pipe.kernel @product "pixels" {
^bb0(%x: !pipe.tensor<f32[h=8, w=32]>, %s: !pipe.tensor<f32[h=8]>):
  %0 = pipe.map (%x, %s) : (!pipe.tensor<f32[h=8, w=32]>, !pipe.tensor<f32[h=8]>) -> !pipe.tensor<f32[h=8, w=32]> {
  ^bb0(%p: f32, %q: f32, %h: i64, %w: i64):
    %f = pipe.binary mul %p, %q : f32
    pipe.yield %f : f32
  }
  pipe.return %0 : !pipe.tensor<f32[h=8, w=32]>
}
