// RUN: penstock-opt %s --pipe-collapse-tables | FileCheck %s

// sqrt(5 * x) / 2, truncated: 256 values, computed here.
// CHECK-LABEL: func.func @reads_a_constant
func.func @reads_a_constant(%x: !pipe.tensor<u8[w=4]>) -> !pipe.tensor<u8[w=4]> {
  // CHECK: %[[TABLE:.*]] = pipe.constant dense<"0x0001010102020202030303{{[0-9A-F]*}}11111111"> : tensor<256xui8> -> !pipe.tensor<u8[i=256]>
  // CHECK: pipe.map(%arg0)
  // CHECK-SAME: "reads a constant table of 256 entries"
  // CHECK-NEXT: ^bb0(%[[P:.*]]: ui8, %{{.*}}: i64):
  // CHECK-NEXT: %[[I:.*]] = pipe.cast value %[[P]] : ui8 -> i64
  // CHECK-NEXT: %[[V:.*]] = pipe.load %[[TABLE]][%[[I]]]
  // CHECK-NEXT: pipe.yield %[[V]] : ui8
  %five = pipe.constant 5.0 : f64 -> f64
  %two = pipe.constant 2.0 : f64 -> f64
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<u8[w=4]> {
  ^bb0(%p: ui8, %w: i64):
    %f = pipe.cast value %p : ui8 -> f64
    %q = pipe.binary mul %f, %five : f64
    %s = pipe.unary sqrt %q : f64
    %d = pipe.binary div %s, %two : f64
    %r = pipe.cast value %d : f64 -> ui8
    pipe.yield %r : ui8
  }
  return %0 : !pipe.tensor<u8[w=4]>
}

// CHECK-LABEL: func.func @computes_a_table_per_sample
func.func @computes_a_table_per_sample(%x: !pipe.tensor<u8[w=4, c=3]>, %by: f64) -> !pipe.tensor<u8[w=4, c=3]> {
  // CHECK: %[[TABLE:.*]] = pipe.map() : () -> !pipe.tensor<u8[i=256, c=3]>
  // CHECK-NEXT: ^bb0(%[[I:.*]]: i64, %{{.*}}: i64):
  // CHECK-NEXT: pipe.cast value %[[I]] : i64 -> ui8
  // CHECK: pipe.binary div %{{.*}}, %arg1
  // CHECK: pipe.map(%arg0)
  // CHECK-SAME: "reads a table of 256 entries, made once per sample"
  // CHECK-NEXT: ^bb0(%{{.*}}: ui8, %{{.*}}: i64, %[[C:.*]]: i64):
  // CHECK: pipe.load %[[TABLE]][%{{.*}}, %[[C]]]
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=4, c=3]>) -> !pipe.tensor<u8[w=4, c=3]> {
  ^bb0(%p: ui8, %w: i64, %c: i64):
    %f = pipe.cast value %p : ui8 -> f64
    %g = pipe.cast value %c : i64 -> f64
    %q = pipe.binary div %f, %by : f64
    %s = pipe.binary add %q, %g : f64
    %d = pipe.binary div %s, %by : f64
    %r = pipe.cast value %d : f64 -> ui8
    pipe.yield %r : ui8
  }
  return %0 : !pipe.tensor<u8[w=4, c=3]>
}

// Two operations are cheaper than a table.
// CHECK-LABEL: func.func @keeps_cheap_chains
func.func @keeps_cheap_chains(%x: !pipe.tensor<u8[w=4]>, %t: ui8) -> !pipe.tensor<u8[w=4]> {
  // CHECK-NOT: pipe.load
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<u8[w=4]> {
  ^bb0(%p: ui8, %w: i64):
    %n = pipe.unary bit_not %p : ui8
    %a = pipe.compare ge %p, %t : ui8
    %r = pipe.select %a, %n, %p : ui8
    pipe.yield %r : ui8
  }
  return %0 : !pipe.tensor<u8[w=4]>
}

// CHECK-LABEL: func.func @keeps_what_depends_on_the_position
func.func @keeps_what_depends_on_the_position(%x: !pipe.tensor<u8[w=400]>, %by: f64) -> !pipe.tensor<u8[w=400]> {
  // CHECK: pipe.map
  // CHECK-SAME: "computes each element: it depends on the position"
  // CHECK-NOT: pipe.load
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=400]>) -> !pipe.tensor<u8[w=400]> {
  ^bb0(%p: ui8, %w: i64):
    %f = pipe.cast value %p : ui8 -> f64
    %g = pipe.cast value %w : i64 -> f64
    %q = pipe.binary div %f, %by : f64
    %s = pipe.binary div %q, %g : f64
    %r = pipe.cast value %s : f64 -> ui8
    pipe.yield %r : ui8
  }
  return %0 : !pipe.tensor<u8[w=400]>
}

// A table of bytes is worth more than a wider one: what follows the byte is cheap.
// CHECK-LABEL: func.func @ends_at_a_byte
func.func @ends_at_a_byte(%x: !pipe.tensor<u8[w=4]>, %by: f64) -> !pipe.tensor<f32[w=4]> {
  // CHECK: %[[TABLE:.*]] = pipe.map() : () -> !pipe.tensor<u8[i=256]>
  // CHECK: %[[BYTES:.*]] = pipe.map(%arg0)
  // CHECK: pipe.load %[[TABLE]]
  // CHECK: pipe.map(%[[BYTES]])
  // CHECK-NOT: f64
  // CHECK: pipe.binary div %{{.*}} : f32
  // CHECK: return
  %k = pipe.constant 2.55e+02 : f32 -> f32
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<f32[w=4]> {
  ^bb0(%p: ui8, %w: i64):
    %f = pipe.cast value %p : ui8 -> f64
    %q = pipe.binary div %f, %by : f64
    %s = pipe.unary sqrt %q : f64
    %r = pipe.cast value %s : f64 -> ui8
    %g = pipe.cast value %r : ui8 -> f32
    %d = pipe.binary div %g, %k : f32
    pipe.yield %d : f32
  }
  return %0 : !pipe.tensor<f32[w=4]>
}

// Neither half is dear.
// CHECK-LABEL: func.func @keeps_two_cheap_halves
func.func @keeps_two_cheap_halves(%x: !pipe.tensor<u8[w=4]>, %by: f32) -> !pipe.tensor<f32[w=4]> {
  // CHECK-COUNT-1: pipe.map(%arg0)
  // CHECK-NOT: pipe.map
  // CHECK-NOT: pipe.load
  // CHECK: return
  %k = pipe.constant 2.55e+02 : f32 -> f32
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<f32[w=4]> {
  ^bb0(%p: ui8, %w: i64):
    %f = pipe.cast value %p : ui8 -> f32
    %q = pipe.binary div %f, %by : f32
    %q2 = pipe.binary mul %q, %by : f32
    %r = pipe.cast value %q2 : f32 -> ui8
    %g = pipe.cast value %r : ui8 -> f32
    %d = pipe.binary div %g, %k : f32
    %e = pipe.binary div %d, %k : f32
    pipe.yield %e : f32
  }
  return %0 : !pipe.tensor<f32[w=4]>
}
