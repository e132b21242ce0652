// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 | FileCheck %s
// REQUIRES: penstock-opt

// In an arm, a term moves in front of the choice: where it takes an eighth of what the arm would.
// CHECK-LABEL: pipe.kernel @terms_of_arms
pipe.kernel @terms_of_arms "pixels" {
^bb0(%x: !pipe.tensor<f32[h=16, w=16, c=5]>, %y: !pipe.tensor<f32[t=6, k=40]>, %which: i64, %seed: i64, %epoch: i64, %position: i64, %view: i64, %low: f64, %high: f64):
  // CHECK: %[[DRAWS:.*]] = pipe.map() {{.*}}schedule = "scratch"} : () -> !pipe.tensor<f64[c=5]> {
  // CHECK: pipe.choose
  // CHECK: pipe.map(%{{.*}}, %[[DRAWS]])
  // CHECK-NOT: pipe.draw
  // CHECK: pipe.choose
  // CHECK: pipe.draw
  %key = pipe.key_of %seed, %epoch, %position, %view
  %0 = pipe.choose %which -> !pipe.tensor<f32[h=16, w=16, c=5]> {
    %2 = pipe.map (%x) : (!pipe.tensor<f32[h=16, w=16, c=5]>) -> !pipe.tensor<f32[h=16, w=16, c=5]> {
    ^bb0(%p: f32, %h: i64, %w: i64, %c: i64):
      %u = pipe.draw uniform %key(%low, %high : f64, f64) at(%c) id 17 path "u" : f64
      %wide = pipe.cast value %p : f32 -> f64
      %q = pipe.binary add %wide, %u : f64
      %v = pipe.cast value %q : f64 -> f32
      pipe.yield %v : f32
    }
    pipe.yield %2 : !pipe.tensor<f32[h=16, w=16, c=5]>
  }, {
    pipe.yield %x : !pipe.tensor<f32[h=16, w=16, c=5]>
  }
  %1 = pipe.choose %which -> !pipe.tensor<f32[t=6, k=40]> {
    %2 = pipe.map (%y) : (!pipe.tensor<f32[t=6, k=40]>) -> !pipe.tensor<f32[t=6, k=40]> {
    ^bb0(%p: f32, %t: i64, %k: i64):
      %u = pipe.draw uniform %key(%low, %high : f64, f64) at(%k) id 18 path "v" : f64
      %wide = pipe.cast value %p : f32 -> f64
      %q = pipe.binary add %wide, %u : f64
      %v = pipe.cast value %q : f64 -> f32
      pipe.yield %v : f32
    }
    pipe.yield %2 : !pipe.tensor<f32[t=6, k=40]>
  }, {
    pipe.yield %y : !pipe.tensor<f32[t=6, k=40]>
  }
  pipe.return %0, %1 : !pipe.tensor<f32[h=16, w=16, c=5]>, !pipe.tensor<f32[t=6, k=40]>
}

// What the arm makes is not there in front of the choice.
// CHECK-LABEL: pipe.kernel @terms_of_what_an_arm_makes
// CHECK-NOT: in common
pipe.kernel @terms_of_what_an_arm_makes "pixels" {
^bb0(%x: !pipe.tensor<f32[h=16, w=16, c=5]>, %y: !pipe.tensor<f32[c=5]>, %which: i64):
  %0 = pipe.choose %which -> !pipe.tensor<f32[h=16, w=16, c=5]> {
    %1 = pipe.map (%y) : (!pipe.tensor<f32[c=5]>) -> !pipe.tensor<f32[c=5]> {
    ^bb0(%q: f32, %c: i64):
      %2 = pipe.binary add %q, %q : f32
      pipe.yield %2 : f32
    }
    %3 = pipe.map (%x, %1) : (!pipe.tensor<f32[h=16, w=16, c=5]>, !pipe.tensor<f32[c=5]>) -> !pipe.tensor<f32[h=16, w=16, c=5]> {
    ^bb0(%p: f32, %q: f32, %h: i64, %w: i64, %c: i64):
      %4 = pipe.unary sqrt %q : f32
      %5 = pipe.unary sqrt %4 : f32
      %6 = pipe.unary sqrt %5 : f32
      %7 = pipe.unary sqrt %6 : f32
      %8 = pipe.binary add %p, %7 : f32
      pipe.yield %8 : f32
    }
    pipe.yield %3 : !pipe.tensor<f32[h=16, w=16, c=5]>
  }, {
    pipe.yield %x : !pipe.tensor<f32[h=16, w=16, c=5]>
  }
  pipe.return %0 : !pipe.tensor<f32[h=16, w=16, c=5]>
}
