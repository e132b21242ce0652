// RUN: penstock-opt %s --pipe-merge-maps | FileCheck %s

// CHECK-LABEL: func.func @joins_a_chain
func.func @joins_a_chain(%x: !pipe.tensor<u8[w=4]>) -> !pipe.tensor<f16[w=4]> {
  // CHECK-NEXT: %[[M:.*]] = pipe.map(%arg0) : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<f16[w=4]> {
  // CHECK-NEXT: ^bb0(%[[P:.*]]: ui8, %{{.*}}: i64):
  // CHECK-NEXT: %[[N:.*]] = pipe.unary bit_not %[[P]] : ui8
  // CHECK-NEXT: %[[H:.*]] = pipe.cast value %[[N]] : ui8 -> f16
  // CHECK-NEXT: pipe.yield %[[H]] : f16
  // CHECK: return %[[M]]
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<u8[w=4]> {
  ^bb0(%p: ui8, %w: i64):
    %n = pipe.unary bit_not %p : ui8
    pipe.yield %n : ui8
  }
  %1 = pipe.cast value %0 : !pipe.tensor<u8[w=4]> -> !pipe.tensor<f16[w=4]>
  return %1 : !pipe.tensor<f16[w=4]>
}

// CHECK-LABEL: func.func @keeps_what_two_ops_use
func.func @keeps_what_two_ops_use(%x: !pipe.tensor<u8[w=4]>) -> (!pipe.tensor<f16[w=4]>, !pipe.tensor<f32[w=4]>) {
  // CHECK: pipe.map
  // CHECK-SAME: "stays apart: several ops use it"
  // CHECK-COUNT-2: pipe.cast value %{{.*}} : !pipe.tensor<u8[w=4]>
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<u8[w=4]> {
  ^bb0(%p: ui8, %w: i64):
    %n = pipe.unary bit_not %p : ui8
    pipe.yield %n : ui8
  }
  %1 = pipe.cast value %0 : !pipe.tensor<u8[w=4]> -> !pipe.tensor<f16[w=4]>
  %2 = pipe.cast value %0 : !pipe.tensor<u8[w=4]> -> !pipe.tensor<f32[w=4]>
  return %1, %2 : !pipe.tensor<f16[w=4]>, !pipe.tensor<f32[w=4]>
}

// CHECK-LABEL: func.func @computes_a_broadcast_value_once
func.func @computes_a_broadcast_value_once(%m: !pipe.tensor<f32[c=3]>, %x: !pipe.tensor<f32[w=4, c=3]>) -> !pipe.tensor<f32[w=4, c=3]> {
  // CHECK: pipe.map(%arg0)
  // CHECK-SAME: "stays apart: its user broadcasts it, and computes it once so"
  // CHECK: pipe.map(%arg1, %{{.*}})
  %0 = pipe.map (%m) : (!pipe.tensor<f32[c=3]>) -> !pipe.tensor<f32[c=3]> {
  ^bb0(%p: f32, %c: i64):
    %n = pipe.unary sqrt %p : f32
    pipe.yield %n : f32
  }
  %1 = pipe.map (%x, %0) : (!pipe.tensor<f32[w=4, c=3]>, !pipe.tensor<f32[c=3]>) -> !pipe.tensor<f32[w=4, c=3]> {
  ^bb0(%p: f32, %q: f32, %w: i64, %c: i64):
    %n = pipe.binary mul %p, %q : f32
    pipe.yield %n : f32
  }
  return %1 : !pipe.tensor<f32[w=4, c=3]>
}

// Axes meet by name, not by place.
// CHECK-LABEL: func.func @keeps_coordinates_by_name
func.func @keeps_coordinates_by_name(%x: !pipe.tensor<u8[h=2, w=4]>) -> !pipe.tensor<i64[w=4, h=2]> {
  // CHECK: ^bb0(%{{.*}}: ui8, %[[W:.*]]: i64, %[[H:.*]]: i64):
  // CHECK-NEXT: pipe.binary sub %[[H]], %[[W]] : i64
  %0 = pipe.map (%x) : (!pipe.tensor<u8[h=2, w=4]>) -> !pipe.tensor<i64[h=2, w=4]> {
  ^bb0(%p: ui8, %h: i64, %w: i64):
    %d = pipe.binary sub %h, %w : i64
    pipe.yield %d : i64
  }
  %1 = pipe.map (%0) : (!pipe.tensor<i64[h=2, w=4]>) -> !pipe.tensor<i64[w=4, h=2]> {
  ^bb0(%p: i64, %w: i64, %h: i64):
    pipe.yield %p : i64
  }
  return %1 : !pipe.tensor<i64[w=4, h=2]>
}
