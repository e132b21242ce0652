// RUN: penstock-opt %s --pipe-narrow | FileCheck %s

// CHECK-LABEL: func.func @normalises_with_a_product_and_a_sum
func.func @normalises_with_a_product_and_a_sum(%x: !pipe.tensor<u8[c=2, w=4]>) -> !pipe.tensor<f16[c=2, w=4]> {
  // CHECK: pipe.map(%arg0, %{{.*}}, %{{.*}})
  // CHECK-NEXT: ^bb0(%[[P:.*]]: ui8, %[[A:.*]]: f32, %[[B:.*]]: f32, %{{.*}}: i64, %{{.*}}: i64):
  // CHECK-NEXT: %[[F:.*]] = pipe.cast value %[[P]] : ui8 -> f32
  // CHECK-NEXT: %[[Q:.*]] = pipe.binary mul %[[F]], %[[A]] : f32
  // CHECK-NEXT: %[[R:.*]] = pipe.binary add %[[Q]], %[[B]] : f32
  // CHECK-NEXT: %[[H:.*]] = pipe.cast value %[[R]] : f32 -> f16
  // CHECK-NEXT: pipe.yield %[[H]] : f16
  %mean = pipe.constant dense<[4.850000e-01, 4.560000e-01]> : tensor<2xf32> -> !pipe.tensor<f32[c=2]>
  %std = pipe.constant dense<[2.290000e-01, 2.240000e-01]> : tensor<2xf32> -> !pipe.tensor<f32[c=2]>
  %full = pipe.constant 255.0 : f32 -> f32
  %0 = pipe.map (%x, %mean, %std)
      : (!pipe.tensor<u8[c=2, w=4]>, !pipe.tensor<f32[c=2]>, !pipe.tensor<f32[c=2]>) -> !pipe.tensor<f16[c=2, w=4]> {
  ^bb0(%p: ui8, %m: f32, %s: f32, %c: i64, %w: i64):
    %f = pipe.cast value %p : ui8 -> f32
    %q = pipe.binary div %f, %full : f32
    %d = pipe.binary sub %q, %m : f32
    %r = pipe.binary div %d, %s : f32
    %h = pipe.cast value %r : f32 -> f16
    pipe.yield %h : f16
  }
  return %0 : !pipe.tensor<f16[c=2, w=4]>
}

// In f32 every rounding of the chain shows.
// CHECK-LABEL: func.func @keeps_f32
func.func @keeps_f32(%x: !pipe.tensor<u8[w=4]>) -> !pipe.tensor<f32[w=4]> {
  // CHECK: pipe.map
  // CHECK-SAME: "keeps its arithmetic: no product and sum give the same bits for all 256 inputs"
  // CHECK: pipe.binary div
  // CHECK: pipe.binary div
  %full = pipe.constant 255.0 : f32 -> f32
  %mean = pipe.constant 4.850000e-01 : f32 -> f32
  %std = pipe.constant 2.290000e-01 : f32 -> f32
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<f32[w=4]> {
  ^bb0(%p: ui8, %w: i64):
    %f = pipe.cast value %p : ui8 -> f32
    %q = pipe.binary div %f, %full : f32
    %d = pipe.binary sub %q, %mean : f32
    %r = pipe.binary div %d, %std : f32
    pipe.yield %r : f32
  }
  return %0 : !pipe.tensor<f32[w=4]>
}

// CHECK-LABEL: func.func @keeps_what_depends_on_the_sample
func.func @keeps_what_depends_on_the_sample(%x: !pipe.tensor<u8[w=4]>, %by: f32) -> !pipe.tensor<f16[w=4]> {
  // CHECK: pipe.binary div %{{.*}}, %arg1
  %full = pipe.constant 255.0 : f32 -> f32
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<f16[w=4]> {
  ^bb0(%p: ui8, %w: i64):
    %f = pipe.cast value %p : ui8 -> f32
    %q = pipe.binary div %f, %full : f32
    %d = pipe.binary div %q, %by : f32
    %r = pipe.binary sub %d, %by : f32
    %h = pipe.cast value %r : f32 -> f16
    pipe.yield %h : f16
  }
  return %0 : !pipe.tensor<f16[w=4]>
}

// CHECK-LABEL: func.func @keeps_what_is_no_line
func.func @keeps_what_is_no_line(%x: !pipe.tensor<u8[w=4]>) -> !pipe.tensor<f16[w=4]> {
  // CHECK: pipe.unary sqrt
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<f16[w=4]> {
  ^bb0(%p: ui8, %w: i64):
    %f = pipe.cast value %p : ui8 -> f32
    %q = pipe.unary sqrt %f : f32
    %d = pipe.binary mul %q, %f : f32
    %h = pipe.cast value %d : f32 -> f16
    pipe.yield %h : f16
  }
  return %0 : !pipe.tensor<f16[w=4]>
}

// Sums of bytes are whole numbers that f32 has all of.
// CHECK-LABEL: func.func @sums_integers
func.func @sums_integers(%x: !pipe.tensor<u8[h=9, w=4]>) -> !pipe.tensor<f32[h=9]> {
  // CHECK-NEXT: %[[WIDE:.*]] = pipe.cast value %arg0 : !pipe.tensor<u8[h=9, w=4]> -> !pipe.tensor<u16[h=9, w=4]>
  // CHECK-NEXT: %[[SUM:.*]] = pipe.reduce sum %[[WIDE]] over ["w"] {{.*}} : <u16[h=9, w=4]> -> <u16[h=9]>
  // CHECK-NEXT: %[[REAL:.*]] = pipe.cast value %[[SUM]] : !pipe.tensor<u16[h=9]> -> !pipe.tensor<f32[h=9]>
  // CHECK-NEXT: return %[[REAL]]
  %0 = pipe.cast value %x : !pipe.tensor<u8[h=9, w=4]> -> !pipe.tensor<f32[h=9, w=4]>
  %1 = pipe.reduce sum %0 over ["w"] : !pipe.tensor<f32[h=9, w=4]> -> !pipe.tensor<f32[h=9]>
  return %1 : !pipe.tensor<f32[h=9]>
}

// Floats on the way are whole numbers, too.
// CHECK-LABEL: func.func @sums_what_was_converted_twice
func.func @sums_what_was_converted_twice(%x: !pipe.tensor<u8[h=9, w=4]>, %y: !pipe.tensor<u8[h=9, w=4]>)
    -> (!pipe.tensor<f64[h=9]>, !pipe.tensor<f64[h=9]>) {
  // CHECK-NEXT: %[[WIDE:.*]] = pipe.cast value %arg0 : !pipe.tensor<u8[h=9, w=4]> -> !pipe.tensor<u16[h=9, w=4]>
  // CHECK-NEXT: pipe.reduce sum %[[WIDE]] over ["w"] {{.*}} : <u16[h=9, w=4]> -> <u16[h=9]>
  // CHECK-NEXT: pipe.cast value %{{.*}} : !pipe.tensor<u16[h=9]> -> !pipe.tensor<f64[h=9]>
  %0 = pipe.cast value %x : !pipe.tensor<u8[h=9, w=4]> -> !pipe.tensor<f32[h=9, w=4]>
  %1 = pipe.cast value %0 : !pipe.tensor<f32[h=9, w=4]> -> !pipe.tensor<f64[h=9, w=4]>
  %2 = pipe.reduce sum %1 over ["w"] : !pipe.tensor<f64[h=9, w=4]> -> !pipe.tensor<f64[h=9]>
  // f16 has not all of them, nor is every f32 whole.
  // CHECK: pipe.reduce sum {{.*}} : <f64[h=9, w=4]> -> <f64[h=9]>
  %3 = pipe.cast value %y : !pipe.tensor<u8[h=9, w=4]> -> !pipe.tensor<f16[h=9, w=4]>
  %4 = pipe.cast value %3 : !pipe.tensor<f16[h=9, w=4]> -> !pipe.tensor<f64[h=9, w=4]>
  %5 = pipe.reduce sum %4 over ["w"] : !pipe.tensor<f64[h=9, w=4]> -> !pipe.tensor<f64[h=9]>
  return %2, %5 : !pipe.tensor<f64[h=9]>, !pipe.tensor<f64[h=9]>
}

// 300 x 300 bytes may add up to more than 2^24; those of i16 do with 512.
// CHECK-LABEL: func.func @keeps_sums_that_round
func.func @keeps_sums_that_round(%x: !pipe.tensor<u8[h=300, w=300]>, %y: !pipe.tensor<i16[w=513]>, %z: !pipe.tensor<i16[w=512]>)
    -> (!pipe.tensor<f32[]>, !pipe.tensor<f32[]>, !pipe.tensor<f32[]>) {
  // CHECK: pipe.reduce sum {{.*}} -> <f32[]>
  // CHECK: pipe.reduce sum {{.*}} -> <f32[]>
  // CHECK: pipe.reduce sum {{.*}} -> <i32[]>
  %0 = pipe.cast value %x : !pipe.tensor<u8[h=300, w=300]> -> !pipe.tensor<f32[h=300, w=300]>
  %1 = pipe.reduce sum %0 over ["h", "w"] : !pipe.tensor<f32[h=300, w=300]> -> !pipe.tensor<f32[]>
  %2 = pipe.cast value %y : !pipe.tensor<i16[w=513]> -> !pipe.tensor<f32[w=513]>
  %3 = pipe.reduce sum %2 over ["w"] : !pipe.tensor<f32[w=513]> -> !pipe.tensor<f32[]>
  %4 = pipe.cast value %z : !pipe.tensor<i16[w=512]> -> !pipe.tensor<f32[w=512]>
  %5 = pipe.reduce sum %4 over ["w"] : !pipe.tensor<f32[w=512]> -> !pipe.tensor<f32[]>
  return %1, %3, %5 : !pipe.tensor<f32[]>, !pipe.tensor<f32[]>, !pipe.tensor<f32[]>
}
