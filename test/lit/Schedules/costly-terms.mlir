// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 | FileCheck %s
// REQUIRES: penstock-opt

// What is drawn for each channel is drawn once for all rows and columns.
// CHECK-LABEL: pipe.kernel @draws_of_channels
pipe.kernel @draws_of_channels "pixels" {
^bb0(%x: !pipe.tensor<f32[h=16, w=16, c=5]>, %seed: i64, %epoch: i64, %position: i64, %view: i64, %low: f64, %high: f64):
  // CHECK: %[[DRAWS:.*]] = pipe.map() {{.*}}schedule = "scratch"} : () -> !pipe.tensor<f32[c=5]> {
  // CHECK-NEXT: ^bb0(%[[C:.*]]: i64):
  // CHECK-NEXT: %[[U:.*]] = pipe.draw uniform %{{.*}} at(%[[C]]) id 17
  // CHECK-NEXT: %[[NUMBER:.*]] = pipe.cast value %[[U]]
  // CHECK-NEXT: pipe.yield %[[NUMBER]]
  // CHECK: pipe.map(%{{.*}}, %[[DRAWS]])
  // CHECK-NOT: pipe.draw
  %key = pipe.key_of %seed, %epoch, %position, %view
  %0 = pipe.map (%x) : (!pipe.tensor<f32[h=16, w=16, c=5]>) -> !pipe.tensor<f32[h=16, w=16, c=5]> {
  ^bb0(%p: f32, %h: i64, %w: i64, %c: i64):
    %u = pipe.draw uniform %key(%low, %high : f64, f64) at(%c) id 17 path "u" : f64
    %v = pipe.cast value %u : f64 -> f32
    %q = pipe.binary add %p, %v : f32
    pipe.yield %q : f32
  }
  pipe.return %0 : !pipe.tensor<f32[h=16, w=16, c=5]>
}

// Channels are made together, and have what their pixel draws as it is.
// CHECK-LABEL: pipe.kernel @draws_of_pixels
// CHECK-NOT: schedule = "scratch"
pipe.kernel @draws_of_pixels "pixels" {
^bb0(%x: !pipe.tensor<f32[h=16, c=3]>, %seed: i64, %epoch: i64, %position: i64, %view: i64, %low: f64, %high: f64):
  %key = pipe.key_of %seed, %epoch, %position, %view
  %0 = pipe.map (%x) : (!pipe.tensor<f32[h=16, c=3]>) -> !pipe.tensor<f32[h=16, c=3]> {
  ^bb0(%p: f32, %h: i64, %c: i64):
    %u = pipe.draw uniform %key(%low, %high : f64, f64) at(%h) id 17 path "u" : f64
    %wide = pipe.cast value %p : f32 -> f64
    %q = pipe.binary add %wide, %u : f64
    %v = pipe.cast value %q : f64 -> f32
    pipe.yield %v : f32
  }
  pipe.return %0 : !pipe.tensor<f32[h=16, c=3]>
}

// Four roots are worth a table beyond the near cache, also of extents that only the sample knows; one is not.
// CHECK-LABEL: pipe.kernel @roots_of_pictures
pipe.kernel @roots_of_pictures "pixels" {
^bb0(%x: !pipe.tensor<f32[t=6, h=128, w=?]>, %y: !pipe.tensor<f32[h=128, w=?]>, %width: i64):
  // CHECK: %[[ROOTS:.*]] = pipe.map(%{{.*}}) sizes(%arg2) {{.*}}schedule = "scratch"} : (!pipe.tensor<f32[h=128, w=?]>) -> !pipe.tensor<f32[h=128, w=?]> {
  // CHECK-COUNT-4: pipe.unary sqrt
  // CHECK: pipe.yield
  // CHECK: pipe.map(%{{.*}}, %{{.*}}, %[[ROOTS]]) sizes
  // CHECK-NEXT: ^bb0(%[[P:[^:]*]]: f32, %[[Q:[^:]*]]: f32, %[[READ:[^:]*]]: f32,
  // CHECK-NEXT: %[[ONE:.*]] = pipe.unary sqrt %[[Q]]
  // CHECK-NEXT: pipe.binary add %[[READ]], %[[P]]
  %0 = pipe.map (%x, %y) sizes(%width) : (!pipe.tensor<f32[t=6, h=128, w=?]>, !pipe.tensor<f32[h=128, w=?]>) -> !pipe.tensor<f32[t=6, h=128, w=?]> {
  ^bb0(%p: f32, %q: f32, %t: i64, %h: i64, %w: i64):
    %1 = pipe.unary sqrt %q : f32
    %2 = pipe.unary sqrt %1 : f32
    %3 = pipe.unary sqrt %2 : f32
    %4 = pipe.unary sqrt %3 : f32
    %s = pipe.binary add %4, %p : f32
    %z = pipe.binary mul %s, %1 : f32
    pipe.yield %z : f32
  }
  pipe.return %0 : !pipe.tensor<f32[t=6, h=128, w=?]>
}

// What is loaded at a place is read as fast as a table of a few operations of it.
// CHECK-LABEL: pipe.kernel @keeps_short_terms_of_loads
// CHECK-NOT: schedule = "scratch"
pipe.kernel @keeps_short_terms_of_loads "pixels" {
^bb0(%x: !pipe.tensor<f32[h=32, w=64]>, %s: !pipe.tensor<f32[k=65]>):
  %one = pipe.constant 1 : i64 -> i64
  %0 = pipe.map (%x) : (!pipe.tensor<f32[h=32, w=64]>) -> !pipe.tensor<f32[h=32, w=64]> {
  ^bb0(%p: f32, %h: i64, %w: i64):
    %a = pipe.load %s[%w] : !pipe.tensor<f32[k=65]> -> f32
    %next = pipe.binary add %w, %one : i64
    %b = pipe.load %s[%next] : !pipe.tensor<f32[k=65]> -> f32
    %step = pipe.binary sub %b, %a : f32
    %z = pipe.binary mul %p, %step : f32
    pipe.yield %z : f32
  }
  pipe.return %0 : !pipe.tensor<f32[h=32, w=64]>
}
