// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 --pipe-kernel-to-loops | FileCheck %s
// REQUIRES: penstock-opt

// The state is carried in registers from element to element, in f64.
// CHECK-LABEL: func.func @filters(
// CHECK: arith.divf
// CHECK: scf.for {{.*}} iter_args({{.*}}, {{.*}}) -> (f64, f64)
// CHECK: arith.extf
// CHECK: arith.mulf
// CHECK: arith.subf
// CHECK: arith.truncf
// CHECK: return
pipe.kernel @filters "pixels" {
^bb0(%x: !pipe.tensor<f32[t=90]>, %b: !pipe.tensor<f64[j=3]>, %a: !pipe.tensor<f64[j=2]>):
  %0 = pipe.filter %x along "t" by %b over %a : !pipe.tensor<f32[t=90]>, !pipe.tensor<f64[j=3]>, !pipe.tensor<f64[j=2]> -> !pipe.tensor<f32[t=90]>
  pipe.return %0 : !pipe.tensor<f32[t=90]>
}

// That of two rows, of a row in each lane, and of a band in memory.
// CHECK-LABEL: func.func @rows_beside(
// CHECK: -> (f64, f64, f64, f64)
// CHECK-LABEL: func.func @rows_in_lanes(
// CHECK: -> (vector<8xf64>, vector<8xf64>)
// CHECK-LABEL: func.func @bands(
// CHECK: scf.for
// CHECK-COUNT-4: llvm.store {{.*}} : vector<4xf64>
// CHECK: scf.for
// CHECK: scf.for
// CHECK-COUNT-2: llvm.load {{.*}} -> vector<8xf64>
// CHECK: arith.truncf {{.*}} : vector<8xf64> to vector<8xf32>
// CHECK-COUNT-4: llvm.store {{.*}} : vector<4xf64>
// CHECK: return
pipe.kernel @rows_beside "pixels" {
^bb0(%x: !pipe.tensor<f32[c=2, t=90]>, %b: !pipe.tensor<f64[j=3]>, %a: !pipe.tensor<f64[j=2]>):
  %0 = pipe.filter %x along "t" by %b over %a : !pipe.tensor<f32[c=2, t=90]>, !pipe.tensor<f64[j=3]>, !pipe.tensor<f64[j=2]> -> !pipe.tensor<f32[c=2, t=90]>
  pipe.return %0 : !pipe.tensor<f32[c=2, t=90]>
}
pipe.kernel @rows_in_lanes "pixels" {
^bb0(%x: !pipe.tensor<f32[t=90, c=8]>, %b: !pipe.tensor<f64[j=3]>, %a: !pipe.tensor<f64[j=2]>):
  %0 = pipe.filter %x along "t" by %b over %a : !pipe.tensor<f32[t=90, c=8]>, !pipe.tensor<f64[j=3]>, !pipe.tensor<f64[j=2]> -> !pipe.tensor<f32[t=90, c=8]>
  pipe.return %0 : !pipe.tensor<f32[t=90, c=8]>
}
pipe.kernel @bands "pixels" {
^bb0(%x: !pipe.tensor<f32[t=90, c=37]>, %b: !pipe.tensor<f64[j=3]>, %a: !pipe.tensor<f64[j=2]>):
  %0 = pipe.filter %x along "t" by %b over %a {scan = #schedule.scan<way = across, along = "c", lanes = 8, band = 16>} : !pipe.tensor<f32[t=90, c=37]>, !pipe.tensor<f64[j=3]>, !pipe.tensor<f64[j=2]> -> !pipe.tensor<f32[t=90, c=37]>
  pipe.return %0 : !pipe.tensor<f32[t=90, c=37]>
}
