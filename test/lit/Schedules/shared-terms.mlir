// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 | FileCheck %s
// REQUIRES: penstock-opt

// A term that depends on the column alone is computed once for all rows.
// CHECK-LABEL: pipe.kernel @terms_of_columns
pipe.kernel @terms_of_columns "pixels" {
^bb0(%x: !pipe.tensor<f32[h=16, w=16, c=3]>, %by: f32):
  // CHECK: %[[COLUMN:.*]] = pipe.map() {{.*}}schedule = "scratch"} : () -> !pipe.tensor<f32[w=16]> {
  // CHECK-NEXT: ^bb0(%[[W:.*]]: i64):
  // CHECK-NEXT: %[[REAL:.*]] = pipe.cast value %[[W]] : i64 -> f32
  // CHECK-NEXT: %[[SQUARE:.*]] = pipe.binary mul %[[REAL]], %[[REAL]] : f32
  // CHECK-NEXT: %[[TERM:.*]] = pipe.binary mul %{{.*}}, %[[SQUARE]] : f32
  // CHECK-NEXT: pipe.yield %[[TERM]]
  // CHECK: pipe.map(%{{.*}}, %[[COLUMN]])
  // CHECK-NEXT: ^bb0(%[[P:.*]]: f32, %[[READ:.*]]: f32,
  %0 = pipe.map (%x) : (!pipe.tensor<f32[h=16, w=16, c=3]>) -> !pipe.tensor<f32[h=16, w=16, c=3]> {
  ^bb0(%p: f32, %h: i64, %w: i64, %c: i64):
    %i = pipe.cast value %h : i64 -> f32
    %j = pipe.cast value %w : i64 -> f32
    %jj = pipe.binary mul %j, %j : f32
    %t = pipe.binary mul %by, %jj : f32
    // CHECK-NEXT: pipe.cast
    // CHECK-NEXT: pipe.binary add %[[READ]]
    %s = pipe.binary add %t, %i : f32
    %q = pipe.binary mul %p, %s : f32
    pipe.yield %q : f32
  }
  pipe.return %0 : !pipe.tensor<f32[h=16, w=16, c=3]>
}

// A term that another one needs is read by that as well; what takes few operations more is no term.
// CHECK-LABEL: pipe.kernel @terms_of_terms
pipe.kernel @terms_of_terms "pixels" {
^bb0(%x: !pipe.tensor<f32[h=16, w=16]>):
  // CHECK: %[[CUBE:.*]] = pipe.map()
  // CHECK-COUNT-2: pipe.binary mul
  // CHECK: %[[NEXT:.*]] = pipe.map(%[[CUBE]])
  // CHECK-COUNT-2: pipe.binary mul
  // CHECK: pipe.map(%{{.*}}, %[[CUBE]], %[[NEXT]])
  // CHECK-NEXT: ^bb0(%{{[^:]*}}: f32, %[[READ:[^:]*]]: f32,
  // CHECK: %[[FOURTH:.*]] = pipe.binary mul %[[READ]], %{{.*}}
  // CHECK-NEXT: pipe.binary add %{{.*}}, %[[READ]]
  // CHECK-NEXT: pipe.binary add %{{.*}}, %[[FOURTH]]
  // CHECK-NEXT: pipe.binary add
  // CHECK-NEXT: pipe.yield
  %0 = pipe.map (%x) : (!pipe.tensor<f32[h=16, w=16]>) -> !pipe.tensor<f32[h=16, w=16]> {
  ^bb0(%p: f32, %h: i64, %w: i64):
    %j = pipe.cast value %w : i64 -> f32
    %jj = pipe.binary mul %j, %j : f32
    %jjj = pipe.binary mul %jj, %j : f32
    %jjjj = pipe.binary mul %jjj, %j : f32
    %jjjjj = pipe.binary mul %jjjj, %j : f32
    %a = pipe.binary add %p, %jjj : f32
    %b = pipe.binary add %a, %jjjj : f32
    %c = pipe.binary add %b, %jjjjj : f32
    pipe.yield %c : f32
  }
  pipe.return %0 : !pipe.tensor<f32[h=16, w=16]>
}

// A cast and an addition are not worth a table, nor are few rows.
// CHECK-LABEL: pipe.kernel @keeps_cheap_terms
// CHECK-NOT: schedule = "scratch"
pipe.kernel @keeps_cheap_terms "pixels" {
^bb0(%x: !pipe.tensor<f32[h=16, w=16]>, %y: !pipe.tensor<f32[h=2, w=16]>):
  %0 = pipe.map (%x) : (!pipe.tensor<f32[h=16, w=16]>) -> !pipe.tensor<f32[h=16, w=16]> {
  ^bb0(%p: f32, %h: i64, %w: i64):
    %j = pipe.cast value %w : i64 -> f32
    %jj = pipe.binary mul %j, %j : f32
    %q = pipe.binary add %p, %jj : f32
    pipe.yield %q : f32
  }
  %1 = pipe.map (%y) : (!pipe.tensor<f32[h=2, w=16]>) -> !pipe.tensor<f32[h=2, w=16]> {
  ^bb0(%p: f32, %h: i64, %w: i64):
    %j = pipe.cast value %w : i64 -> f32
    %jj = pipe.binary mul %j, %j : f32
    %jjj = pipe.binary mul %jj, %j : f32
    %q = pipe.binary add %p, %jjj : f32
    pipe.yield %q : f32
  }
  pipe.return %0, %1 : !pipe.tensor<f32[h=16, w=16]>, !pipe.tensor<f32[h=2, w=16]>
}

// A term that depends on a row's input alone is computed once for the row if it takes long; an addition is not.
// CHECK-LABEL: pipe.kernel @terms_of_rows
pipe.kernel @terms_of_rows "pixels" {
^bb0(%x: !pipe.tensor<f32[h=16, w=16]>, %s: !pipe.tensor<f32[h=16]>):
  // CHECK: %[[ROOT:.*]] = pipe.map(%{{.*}}) {{.*}}schedule = "scratch"} : (!pipe.tensor<f32[h=16]>) -> !pipe.tensor<f32[h=16]> {
  // CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %{{.*}}: i64):
  // CHECK-NEXT: %[[MORE:.*]] = pipe.binary add %[[S]]
  // CHECK-NEXT: %[[SQRT:.*]] = pipe.unary sqrt %[[MORE]]
  // CHECK-NEXT: pipe.yield %[[SQRT]]
  // CHECK: pipe.map(%{{.*}}, %{{.*}}, %[[ROOT]])
  // CHECK-NEXT: ^bb0(%[[P:[^:]*]]: f32, %[[Q:[^:]*]]: f32, %[[READ:[^:]*]]: f32,
  %e = pipe.constant 1.000000e-03 : f32 -> f32
  %0 = pipe.map (%x, %s) : (!pipe.tensor<f32[h=16, w=16]>, !pipe.tensor<f32[h=16]>) -> !pipe.tensor<f32[h=16, w=16]> {
  ^bb0(%p: f32, %q: f32, %h: i64, %w: i64):
    %more = pipe.binary add %q, %e : f32
    %root = pipe.unary sqrt %more : f32
    // CHECK-NEXT: pipe.binary div %[[P]], %[[READ]]
    // CHECK-NEXT: pipe.binary add %[[Q]], %{{.*}}
    // CHECK-NEXT: pipe.binary mul
    %y = pipe.binary div %p, %root : f32
    %less = pipe.binary add %q, %e : f32
    %z = pipe.binary mul %y, %less : f32
    pipe.yield %z : f32
  }
  pipe.return %0 : !pipe.tensor<f32[h=16, w=16]>
}

// Coordinates are read from a table that their columns have in common.
// CHECK-LABEL: pipe.kernel @terms_of_places
pipe.kernel @terms_of_places "pixels" {
^bb0(%x: !pipe.tensor<f32[h=16, w=16]>):
  // CHECK: %[[TABLE:.*]] = pipe.map() {{.*}}schedule = "scratch"} : () -> !pipe.tensor<f64[w=16]> {
  // CHECK: pipe.gather nearest edge
  // CHECK-NEXT: ^bb0(%{{.*}}: i64, %[[W:.*]]: i64):
  // CHECK-NEXT: %[[READ:.*]] = pipe.load %[[TABLE]][%[[W]]]
  // CHECK-NEXT: pipe.cast
  // CHECK-NEXT: pipe.binary add %{{.*}}, %[[READ]]
  // CHECK-NEXT: pipe.yield
  %0 = pipe.gather nearest edge %x over ["h", "w"] : <f32[h=16, w=16]> -> <f32[h=16, w=16]> {
  ^bb0(%h: i64, %w: i64):
    %i = pipe.cast value %h : i64 -> f64
    %j = pipe.cast value %w : i64 -> f64
    %jj = pipe.binary mul %j, %j : f64
    %root = pipe.unary sqrt %jj : f64
    %at = pipe.binary add %i, %root : f64
    pipe.yield %at, %at : f64, f64
  }
  pipe.return %0 : !pipe.tensor<f32[h=16, w=16]>
}
