// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 | FileCheck %s
// REQUIRES: penstock-opt

// Channels share their places: where and how far behind is computed once, and read by all.
// CHECK-LABEL: pipe.kernel @shares_places
pipe.kernel @shares_places "pixels" {
^bb0(%x: !pipe.tensor<f32[c=16, t=100]>, %at: !pipe.tensor<f64[k=40]>):
  // CHECK: %[[FIRST:.*]] = pipe.map() {{.*}}schedule = "scratch"} : () -> !pipe.tensor<i64[k=40]>
  // CHECK-NEXT: ^bb0(%[[K:.*]]: i64):
  // CHECK-NEXT: %[[AT:.*]] = pipe.load %arg1[%[[K]]]
  // CHECK: pipe.unary floor
  // CHECK: %[[SECOND:.*]] = pipe.map() {{.*}}schedule = "scratch"} : () -> !pipe.tensor<i64[k=40]>
  // CHECK: %[[BEHIND:.*]] = pipe.map() {{.*}}schedule = "scratch"} : () -> !pipe.tensor<f64[k=40]>
  // CHECK: pipe.map(%[[FIRST]], %[[SECOND]], %[[BEHIND]])
  // CHECK-NEXT: ^bb0(%[[I:.*]]: i64, %[[J:.*]]: i64, %[[D:.*]]: f64, %[[C:.*]]: i64, %{{.*}}: i64):
  // CHECK-NEXT: %[[V:.*]] = pipe.load %arg0[%[[C]], %[[I]]]
  // CHECK-NEXT: pipe.cast value %[[V]] : f32 -> f64
  // CHECK-NEXT: %[[W:.*]] = pipe.load %arg0[%[[C]], %[[J]]]
  // CHECK-NEXT: pipe.cast value %[[W]] : f32 -> f64
  // CHECK-NEXT: pipe.binary sub
  // CHECK-NEXT: pipe.binary mul %{{.*}}, %[[D]]
  // CHECK-NEXT: pipe.binary add
  // CHECK-NEXT: pipe.cast value %{{.*}} : f64 -> f32
  // CHECK-NEXT: pipe.yield
  %0 = pipe.gather linear edge %x over ["t"] : !pipe.tensor<f32[c=16, t=100]> -> !pipe.tensor<f32[c=16, k=40]> {
  ^bb0(%c: i64, %k: i64):
    %p = pipe.load %at[%k] : !pipe.tensor<f64[k=40]> -> f64
    pipe.yield %p : f64
  }
  pipe.return %0 : !pipe.tensor<f32[c=16, k=40]>
}

// Whether the place lies outside is shared as well; the other coordinate differs for each element.
// CHECK-LABEL: pipe.kernel @fills_outside
pipe.kernel @fills_outside "pixels" {
^bb0(%x: !pipe.tensor<u8[h=16, w=16]>, %fill: ui8):
  // CHECK: pipe.map() {{.*}}schedule = "scratch"} : () -> !pipe.tensor<i64[w=16]>
  // CHECK: %[[INSIDE:.*]] = pipe.map() {{.*}}schedule = "scratch"} : () -> !pipe.tensor<bool[w=16]>
  // CHECK: pipe.compare ge
  // CHECK: pipe.compare lt
  // CHECK-NOT: schedule = "scratch"
  // CHECK: pipe.map(%{{.*}}, %[[INSIDE]])
  // CHECK: pipe.select %{{.*}}, %{{.*}}, %arg1 : ui8
  %half = pipe.constant 0.5 : f64 -> f64
  %0 = pipe.gather nearest constant %x over ["h", "w"] fill (%fill : ui8) : !pipe.tensor<u8[h=16, w=16]> -> !pipe.tensor<u8[h=16, w=16]> {
  ^bb0(%h: i64, %w: i64):
    %i = pipe.cast value %h : i64 -> f64
    %j = pipe.cast value %w : i64 -> f64
    %s = pipe.binary add %i, %j : f64
    %t = pipe.binary mul %j, %half : f64
    pipe.yield %s, %t : f64, f64
  }
  pipe.return %0 : !pipe.tensor<u8[h=16, w=16]>
}

// Places of each element alone, of few that share them, and borders that repeat stay as they are.
// CHECK-LABEL: pipe.kernel @keeps_own_places
// CHECK-COUNT-3: pipe.gather
pipe.kernel @keeps_own_places "pixels" {
^bb0(%x: !pipe.tensor<f32[h=16, w=16]>, %y: !pipe.tensor<f32[c=3, w=16]>):
  %0 = pipe.gather linear edge %x over ["h", "w"] : !pipe.tensor<f32[h=16, w=16]> -> !pipe.tensor<f32[h=16, w=16]> {
  ^bb0(%h: i64, %w: i64):
    %i = pipe.cast value %h : i64 -> f64
    %j = pipe.cast value %w : i64 -> f64
    %s = pipe.binary add %i, %j : f64
    %t = pipe.binary sub %i, %j : f64
    pipe.yield %s, %t : f64, f64
  }
  %1 = pipe.gather linear edge %y over ["w"] : !pipe.tensor<f32[c=3, w=16]> -> !pipe.tensor<f32[c=3, w=16]> {
  ^bb0(%c: i64, %w: i64):
    %j = pipe.cast value %w : i64 -> f64
    pipe.yield %j : f64
  }
  %2 = pipe.gather linear reflect %x over ["w"] : !pipe.tensor<f32[h=16, w=16]> -> !pipe.tensor<f32[h=16, w=16]> {
  ^bb0(%h: i64, %w: i64):
    %j = pipe.cast value %w : i64 -> f64
    pipe.yield %j : f64
  }
  pipe.return %0, %1, %2 : !pipe.tensor<f32[h=16, w=16]>, !pipe.tensor<f32[c=3, w=16]>, !pipe.tensor<f32[h=16, w=16]>
}
