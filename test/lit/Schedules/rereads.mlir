// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 | FileCheck %s
// REQUIRES: penstock-opt

// Frames that overlap read each element several times: what takes long is stored for them, also where only the sample
// knows how many there are.
// CHECK-LABEL: pipe.kernel @overlapping_frames
pipe.kernel @overlapping_frames "pixels" {
^bb0(%x: !pipe.tensor<f32[t=96]>, %y: !pipe.tensor<f32[t=?]>, %length: i64, %frames: i64):
  // CHECK: pipe.map(%arg0) {{.*}}a view reads its elements several times{{.*}}schedule = "scratch"
  // CHECK: pipe.map(%arg1) sizes({{.*}}a view reads its elements several times{{.*}}schedule = "scratch"
  %0 = pipe.map (%x) : (!pipe.tensor<f32[t=96]>) -> !pipe.tensor<f32[t=96]> {
  ^bb0(%p: f32, %t: i64):
    %1 = pipe.unary sqrt %p : f32
    %2 = pipe.unary sqrt %1 : f32
    %3 = pipe.unary sqrt %2 : f32
    %4 = pipe.unary sqrt %3 : f32
    %5 = pipe.unary sqrt %4 : f32
    pipe.yield %5 : f32
  }
  %6 = pipe.view %0 by affine_map<(d0, d1) -> (d0 * 8 + d1)> [] : <f32[t=96]> -> <f32[t=9, k=32]>
  %7 = pipe.map (%y) sizes(%length) : (!pipe.tensor<f32[t=?]>) -> !pipe.tensor<f32[t=?]> {
  ^bb0(%p: f32, %t: i64):
    %1 = pipe.unary sqrt %p : f32
    %2 = pipe.unary sqrt %1 : f32
    %3 = pipe.unary sqrt %2 : f32
    %4 = pipe.unary sqrt %3 : f32
    %5 = pipe.unary sqrt %4 : f32
    %8 = pipe.unary sqrt %5 : f32
    pipe.yield %8 : f32
  }
  %9 = pipe.view %7 by affine_map<(d0, d1) -> (d0 * 16 + d1)> [] sizes(%frames) : <f32[t=?]> -> <f32[t=?, k=32]>
  pipe.return %6, %9 : !pipe.tensor<f32[t=9, k=32]>, !pipe.tensor<f32[t=?, k=32]>
}

// Frames side by side read each element once.
// CHECK-LABEL: pipe.kernel @frames_side_by_side
// CHECK-NOT: schedule = "scratch"
pipe.kernel @frames_side_by_side "pixels" {
^bb0(%y: !pipe.tensor<f32[t=?]>, %length: i64, %frames: i64):
  %0 = pipe.map (%y) sizes(%length) : (!pipe.tensor<f32[t=?]>) -> !pipe.tensor<f32[t=?]> {
  ^bb0(%p: f32, %t: i64):
    %1 = pipe.unary sqrt %p : f32
    %2 = pipe.unary sqrt %1 : f32
    %3 = pipe.unary sqrt %2 : f32
    %4 = pipe.unary sqrt %3 : f32
    %5 = pipe.unary sqrt %4 : f32
    %6 = pipe.unary sqrt %5 : f32
    pipe.yield %6 : f32
  }
  %7 = pipe.view %0 by affine_map<(d0, d1) -> (d0 * 32 + d1)> [] sizes(%frames) : <f32[t=?]> -> <f32[t=?, k=32]>
  pipe.return %7 : !pipe.tensor<f32[t=?, k=32]>
}

// Two roots are computed for each of three frames as fast as they are stored and loaded.
// CHECK-LABEL: pipe.kernel @keeps_cheap_elements
// CHECK-NOT: schedule = "scratch"
pipe.kernel @keeps_cheap_elements "pixels" {
^bb0(%x: !pipe.tensor<f32[t=96]>):
  %0 = pipe.map (%x) : (!pipe.tensor<f32[t=96]>) -> !pipe.tensor<f32[t=96]> {
  ^bb0(%p: f32, %t: i64):
    %1 = pipe.unary sqrt %p : f32
    %2 = pipe.unary sqrt %1 : f32
    pipe.yield %2 : f32
  }
  %3 = pipe.view %0 by affine_map<(d0, d1) -> (d0 * 8 + d1)> [] : <f32[t=96]> -> <f32[t=9, k=32]>
  pipe.return %3 : !pipe.tensor<f32[t=9, k=32]>
}

// Of how many elements a fixed number of frames is, nobody knows.
// CHECK-LABEL: pipe.kernel @frames_of_a_part
// CHECK-NOT: schedule = "scratch"
pipe.kernel @frames_of_a_part "pixels" {
^bb0(%y: !pipe.tensor<f32[t=?]>, %length: i64):
  %0 = pipe.map (%y) sizes(%length) : (!pipe.tensor<f32[t=?]>) -> !pipe.tensor<f32[t=?]> {
  ^bb0(%p: f32, %t: i64):
    %1 = pipe.unary sqrt %p : f32
    %2 = pipe.unary sqrt %1 : f32
    %3 = pipe.unary sqrt %2 : f32
    %4 = pipe.unary sqrt %3 : f32
    %5 = pipe.unary sqrt %4 : f32
    %6 = pipe.unary sqrt %5 : f32
    pipe.yield %6 : f32
  }
  %7 = pipe.view %0 by affine_map<(d0, d1) -> (d0 * 16 + d1)> [] : <f32[t=?]> -> <f32[t=5, k=32]>
  pipe.return %7 : !pipe.tensor<f32[t=5, k=32]>
}
