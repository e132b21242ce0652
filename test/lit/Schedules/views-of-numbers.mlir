// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 | FileCheck %s
// REQUIRES: penstock-opt

// A number that stands at each place of a row is no row of elements that lie apart: nothing is copied.
// CHECK-LABEL: pipe.kernel @numbers
// CHECK: %[[ROW:.*]] = pipe.view %{{.*}} by #{{.*}}[] : <f32[]> -> <f32[w=64]>
// CHECK: pipe.map(%{{.*}}, %[[ROW]])
pipe.kernel @numbers "pixels" {
^bb0(%x: !pipe.tensor<f32[h=64, w=64]>, %n: !pipe.tensor<f32[]>):
  %row = pipe.view %n by affine_map<(d0) -> ()> [] : !pipe.tensor<f32[]> -> !pipe.tensor<f32[w=64]>
  %y = pipe.map(%x, %row) : (!pipe.tensor<f32[h=64, w=64]>, !pipe.tensor<f32[w=64]>) -> !pipe.tensor<f32[h=64, w=64]> {
  ^bb0(%a: f32, %b: f32, %i: i64, %j: i64):
    %s = pipe.binary add %a, %b : f32
    pipe.yield %s : f32
  }
  pipe.return %y : !pipe.tensor<f32[h=64, w=64]>
}
