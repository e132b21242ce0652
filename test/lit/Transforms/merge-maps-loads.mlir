// RUN: penstock-opt %s --pipe-merge-maps | FileCheck %s

// CHECK-LABEL: func.func @computes_where_it_is_merged
func.func @computes_where_it_is_merged(%x: !pipe.tensor<f32[c=4, j=8]>, %m: !pipe.tensor<f32[c=4]>) -> !pipe.tensor<f32[c=32]> {
  // CHECK: %[[M:.*]] = pipe.map() : () -> !pipe.tensor<f32[c=32]> {
  // CHECK: %[[C:.*]] = pipe.binary div
  // CHECK: %[[J:.*]] = pipe.binary rem
  // CHECK: %[[P:.*]] = pipe.load %arg0[%[[C]], %[[J]]]
  // CHECK: %[[Q:.*]] = pipe.load %arg1[%[[C]]]
  // CHECK: pipe.binary sub %[[P]], %[[Q]] : f32
  // CHECK: return %[[M]]
  %0 = pipe.map (%x, %m) : (!pipe.tensor<f32[c=4, j=8]>, !pipe.tensor<f32[c=4]>) -> !pipe.tensor<f32[c=4, j=8]> {
  ^bb0(%p: f32, %q: f32, %c: i64, %j: i64):
    %d = pipe.binary sub %p, %q : f32
    pipe.yield %d : f32
  }
  %1 = pipe.map () : () -> !pipe.tensor<f32[c=32]> {
  ^bb0(%at: i64):
    %eight = pipe.constant 8 : i64 -> i64
    %c = pipe.binary div %at, %eight : i64
    %j = pipe.binary rem %at, %eight : i64
    %v = pipe.load %0[%c, %j] : !pipe.tensor<f32[c=4, j=8]> -> f32
    pipe.yield %v : f32
  }
  return %1 : !pipe.tensor<f32[c=32]>
}

// An index outside is that of the nearest element, also for coordinates.
// CHECK-LABEL: func.func @keeps_what_is_read_outside
func.func @keeps_what_is_read_outside(%x: !pipe.tensor<f32[w=8]>) -> !pipe.tensor<f32[w=8]> {
  // CHECK: %[[M:.*]] = pipe.map(%arg0)
  // CHECK: pipe.load %[[M]]
  %0 = pipe.map (%x) : (!pipe.tensor<f32[w=8]>) -> !pipe.tensor<f32[w=8]> {
  ^bb0(%p: f32, %w: i64):
    %i = pipe.cast value %w : i64 -> f32
    %d = pipe.binary sub %p, %i : f32
    pipe.yield %d : f32
  }
  %1 = pipe.map () : () -> !pipe.tensor<f32[w=8]> {
  ^bb0(%at: i64):
    %one = pipe.constant 1 : i64 -> i64
    %next = pipe.binary add %at, %one : i64
    %v = pipe.load %0[%next] : !pipe.tensor<f32[w=8]> -> f32
    pipe.yield %v : f32
  }
  return %1 : !pipe.tensor<f32[w=8]>
}

// CHECK-LABEL: func.func @computes_repeated_elements_once
func.func @computes_repeated_elements_once(%x: !pipe.tensor<f32[w=8]>) -> !pipe.tensor<f32[w=16]> {
  // CHECK: %[[M:.*]] = pipe.map(%arg0)
  // CHECK: pipe.load %[[M]]
  %0 = pipe.map (%x) : (!pipe.tensor<f32[w=8]>) -> !pipe.tensor<f32[w=8]> {
  ^bb0(%p: f32, %w: i64):
    %d = pipe.unary sqrt %p : f32
    pipe.yield %d : f32
  }
  %1 = pipe.map () : () -> !pipe.tensor<f32[w=16]> {
  ^bb0(%at: i64):
    %two = pipe.constant 2 : i64 -> i64
    %half = pipe.binary div %at, %two : i64
    %v = pipe.load %0[%half] : !pipe.tensor<f32[w=8]> -> f32
    pipe.yield %v : f32
  }
  return %1 : !pipe.tensor<f32[w=16]>
}

// Bytes are stored rather than the floats that they are made of.
// CHECK-LABEL: func.func @keeps_what_is_smaller
func.func @keeps_what_is_smaller(%x: !pipe.tensor<f32[w=4, j=2]>) -> !pipe.tensor<u8[w=8]> {
  // CHECK: %[[M:.*]] = pipe.cast clamp %arg0
  // CHECK: pipe.load %[[M]]
  %0 = pipe.cast clamp %x : !pipe.tensor<f32[w=4, j=2]> -> !pipe.tensor<u8[w=4, j=2]>
  %1 = pipe.map () : () -> !pipe.tensor<u8[w=8]> {
  ^bb0(%at: i64):
    %two = pipe.constant 2 : i64 -> i64
    %w = pipe.binary div %at, %two : i64
    %j = pipe.binary rem %at, %two : i64
    %v = pipe.load %0[%w, %j] : !pipe.tensor<u8[w=4, j=2]> -> ui8
    pipe.yield %v : ui8
  }
  return %1 : !pipe.tensor<u8[w=8]>
}

// CHECK-LABEL: func.func @reads_one_whole_tensor_for_one
func.func @reads_one_whole_tensor_for_one(%x: !pipe.tensor<f32[w=4, j=2]>, %y: !pipe.tensor<f32[w=4, j=2]>) -> !pipe.tensor<f32[w=8]> {
  // CHECK: %[[M:.*]] = pipe.map(%arg0, %arg1)
  // CHECK: pipe.load %[[M]]
  %0 = pipe.map (%x, %y) : (!pipe.tensor<f32[w=4, j=2]>, !pipe.tensor<f32[w=4, j=2]>) -> !pipe.tensor<f32[w=4, j=2]> {
  ^bb0(%p: f32, %q: f32, %w: i64, %j: i64):
    %d = pipe.binary add %p, %q : f32
    pipe.yield %d : f32
  }
  %1 = pipe.map () : () -> !pipe.tensor<f32[w=8]> {
  ^bb0(%at: i64):
    %two = pipe.constant 2 : i64 -> i64
    %w = pipe.binary div %at, %two : i64
    %j = pipe.binary rem %at, %two : i64
    %v = pipe.load %0[%w, %j] : !pipe.tensor<f32[w=4, j=2]> -> f32
    pipe.yield %v : f32
  }
  return %1 : !pipe.tensor<f32[w=8]>
}
