// RUN: penstock-opt %s --pipe-compose-views | FileCheck %s

// CHECK-DAG: #[[ADDED:.*]] = affine_map<(d0) -> (-d0 + 5)>
// CHECK-DAG: #[[SYMBOL:.*]] = affine_map<(d0)[s0] -> (d0 + s0)>
// CHECK-DAG: #[[BOTH:.*]] = affine_map<(d0, d1)[s0, s1] -> (d0 + s0 + s1, d1 + s0)>
// CHECK-DAG: #[[TURNED:.*]] = affine_map<(d0)[s0, s1] -> (d0 * s1 + s0)>
// CHECK-DAG: #[[REMAINDER:.*]] = affine_map<(d0)[s0, s1] -> ({{.*}} mod 3{{.*}})>
// CHECK-DAG: #[[INSIDE:.*]] = affine_map<(d0) -> (d0 + 1)>

// CHECK-LABEL: func.func @adds_offsets
// CHECK-SAME: (%[[X:.*]]: !pipe.tensor<u8[w=9]>)
func.func @adds_offsets(%x: !pipe.tensor<u8[w=9]>) -> !pipe.tensor<u8[w=4]> {
  // CHECK-NEXT: %[[VIEW:.*]] = pipe.view %[[X]] by #[[ADDED]][]
  // CHECK-NEXT: return %[[VIEW]]
  %0 = pipe.view %x by affine_map<(d0) -> (d0 + 2)> []
      : !pipe.tensor<u8[w=9]> -> !pipe.tensor<u8[w=5]>
  %1 = pipe.view %0 by affine_map<(d0) -> (-d0 + 3)> []
      : !pipe.tensor<u8[w=5]> -> !pipe.tensor<u8[w=4]>
  return %1 : !pipe.tensor<u8[w=4]>
}

// A corner of a corner is one number of the sample.
// CHECK-LABEL: func.func @adds_scalars_up
// CHECK-SAME: (%[[X:.*]]: !pipe.tensor<u8[w=9]>, %[[A:.*]]: i64, %[[B:.*]]: i64)
func.func @adds_scalars_up(%x: !pipe.tensor<u8[w=9]>, %a: i64, %b: i64) -> !pipe.tensor<u8[w=2]> {
  // CHECK-NEXT: %[[SUM:.*]] = pipe.binary add %[[A]], %[[B]] : i64
  // CHECK-NEXT: pipe.view %[[X]] by #[[SYMBOL]][%[[SUM]]]
  %0 = pipe.view %x by affine_map<(d0)[s0] -> (d0 + s0)> [%a]
      : !pipe.tensor<u8[w=9]> -> !pipe.tensor<u8[w=5]>
  %1 = pipe.view %0 by affine_map<(d0)[s0] -> (d0 + s0)> [%b]
      : !pipe.tensor<u8[w=5]> -> !pipe.tensor<u8[w=2]>
  return %1 : !pipe.tensor<u8[w=2]>
}

// A scalar that stands elsewhere too, or turns an axis, is no part of a sum.
// CHECK-LABEL: func.func @keeps_scalars_apart
// CHECK-SAME: (%[[X:.*]]: !pipe.tensor<u8[h=9, w=9]>, %[[A:.*]]: i64, %[[B:.*]]: i64)
func.func @keeps_scalars_apart(%x: !pipe.tensor<u8[h=9, w=9]>, %a: i64, %b: i64) -> !pipe.tensor<u8[h=2, w=2]> {
  // CHECK-NEXT: pipe.view %[[X]] by #[[BOTH]][%[[A]], %[[B]]]
  %0 = pipe.view %x by affine_map<(d0, d1)[s0] -> (d0 + s0, d1 + s0)> [%a]
      : !pipe.tensor<u8[h=9, w=9]> -> !pipe.tensor<u8[h=5, w=5]>
  %1 = pipe.view %0 by affine_map<(d0, d1)[s0] -> (d0 + s0, d1)> [%b]
      : !pipe.tensor<u8[h=5, w=5]> -> !pipe.tensor<u8[h=2, w=2]>
  return %1 : !pipe.tensor<u8[h=2, w=2]>
}

// What branches read lies in memory: there is one value, not the picture as it is and turned.
// CHECK-LABEL: func.func @reads_what_others_read
// CHECK-SAME: (%[[X:.*]]: !pipe.tensor<f32[w=9]>, %[[CHOICE:.*]]: i64)
func.func @reads_what_others_read(%x: !pipe.tensor<f32[w=9]>, %choice: i64) -> !pipe.tensor<f32[w=4]> {
  // CHECK-NEXT: %[[SUM:.*]] = pipe.map(%[[X]], %[[X]])
  // CHECK: %[[FLIPPED:.*]] = pipe.view %[[SUM]]
  // CHECK-NEXT: pipe.choose %[[CHOICE]]
  // CHECK: pipe.map(%[[FLIPPED]])
  // CHECK: pipe.view %[[FLIPPED]]
  %0 = pipe.map(%x, %x) : (!pipe.tensor<f32[w=9]>, !pipe.tensor<f32[w=9]>) -> !pipe.tensor<f32[w=9]> {
  ^bb0(%a: f32, %b: f32, %i: i64):
    %s = pipe.binary add %a, %b : f32
    pipe.yield %s : f32
  }
  %1 = pipe.view %0 by affine_map<(d0) -> (-d0 + 8)> []
      : !pipe.tensor<f32[w=9]> -> !pipe.tensor<f32[w=9]>
  %2 = pipe.choose %choice -> !pipe.tensor<f32[w=4]> {
    %3 = pipe.map(%1) : (!pipe.tensor<f32[w=9]>) -> !pipe.tensor<f32[w=9]> {
    ^bb0(%a: f32, %i: i64):
      %s = pipe.binary mul %a, %a : f32
      pipe.yield %s : f32
    }
    %4 = pipe.view %3 by affine_map<(d0) -> (d0 + 1)> []
        : !pipe.tensor<f32[w=9]> -> !pipe.tensor<f32[w=4]>
    pipe.yield %4 : !pipe.tensor<f32[w=4]>
  }, {
    %3 = pipe.view %1 by affine_map<(d0) -> (d0 + 2)> []
        : !pipe.tensor<f32[w=9]> -> !pipe.tensor<f32[w=4]>
    pipe.yield %3 : !pipe.tensor<f32[w=4]>
  }
  return %2 : !pipe.tensor<f32[w=4]>
}

// A flip of a flip goes one way from one start.
// CHECK-LABEL: func.func @multiplies_scalars_out
// CHECK-SAME: (%[[X:.*]]: !pipe.tensor<u8[w=9]>, %[[A:.*]]: i64, %[[B:.*]]: i64, %[[C:.*]]: i64, %[[D:.*]]: i64)
func.func @multiplies_scalars_out(%x: !pipe.tensor<u8[w=9]>, %a: i64, %b: i64, %c: i64, %d: i64) -> !pipe.tensor<u8[w=9]> {
  // CHECK-DAG: %[[WAY:.*]] = pipe.binary mul %[[C]], %[[A]] : i64
  // CHECK-DAG: %[[PART:.*]] = pipe.binary mul %[[D]], %[[A]] : i64
  // CHECK-DAG: %[[START:.*]] = pipe.binary add %[[PART]], %[[B]] : i64
  // CHECK: pipe.view %[[X]] by #[[TURNED]][%[[START]], %[[WAY]]]
  %0 = pipe.view %x by affine_map<(d0)[s0, s1] -> (d0 * s0 + s1)> [%a, %b]
      : !pipe.tensor<u8[w=9]> -> !pipe.tensor<u8[w=9]>
  %1 = pipe.view %0 by affine_map<(d0)[s0, s1] -> (d0 * s0 + s1)> [%c, %d]
      : !pipe.tensor<u8[w=9]> -> !pipe.tensor<u8[w=9]>
  return %1 : !pipe.tensor<u8[w=9]>
}

// CHECK-LABEL: func.func @keeps_a_remainder_of_scalars
// CHECK-SAME: (%[[X:.*]]: !pipe.tensor<u8[w=9]>, %[[A:.*]]: i64, %[[B:.*]]: i64)
func.func @keeps_a_remainder_of_scalars(%x: !pipe.tensor<u8[w=9]>, %a: i64, %b: i64) -> !pipe.tensor<u8[w=9]> {
  // CHECK-NEXT: pipe.view %[[X]] by #[[REMAINDER]][%[[A]], %[[B]]]
  %0 = pipe.view %x by affine_map<(d0)[s0, s1] -> (((d0 mod 3) * s0 + 1) * s1)> [%a, %b]
      : !pipe.tensor<u8[w=9]> -> !pipe.tensor<u8[w=9]>
  return %0 : !pipe.tensor<u8[w=9]>
}

// CHECK-LABEL: func.func @drops_identity
func.func @drops_identity(%x: !pipe.tensor<u8[w=9]>) -> !pipe.tensor<u8[w=9]> {
  // CHECK-NEXT: return %arg0
  %0 = pipe.view %x by affine_map<(d0) -> (d0)> []
      : !pipe.tensor<u8[w=9]> -> !pipe.tensor<u8[w=9]>
  return %0 : !pipe.tensor<u8[w=9]>
}

// CHECK-LABEL: func.func @keeps_a_crop_at_the_origin
func.func @keeps_a_crop_at_the_origin(%x: !pipe.tensor<u8[w=9]>) -> !pipe.tensor<u8[w=3]> {
  // CHECK-NEXT: pipe.view
  %0 = pipe.view %x by affine_map<(d0) -> (d0)> []
      : !pipe.tensor<u8[w=9]> -> !pipe.tensor<u8[w=3]>
  return %0 : !pipe.tensor<u8[w=3]>
}

// CHECK-LABEL: func.func @joins_pads
// CHECK: %[[THREE:.*]] = pipe.constant 3 : i64
// CHECK: pipe.pad edge %arg0 over ["w"] low(%[[THREE]])
// CHECK-NOT: pipe.pad
func.func @joins_pads(%x: !pipe.tensor<u8[w=9]>) -> !pipe.tensor<u8[w=14]> {
  %one = pipe.constant 1 : i64 -> i64
  %two = pipe.constant 2 : i64 -> i64
  %0 = pipe.pad edge %x over ["w"] low(%one)
      : !pipe.tensor<u8[w=9]> -> !pipe.tensor<u8[w=11]>
  %1 = pipe.pad edge %0 over ["w"] low(%two)
      : !pipe.tensor<u8[w=11]> -> !pipe.tensor<u8[w=14]>
  return %1 : !pipe.tensor<u8[w=14]>
}

// CHECK-LABEL: func.func @keeps_pads_of_other_values
// CHECK-COUNT-2: pipe.pad constant
func.func @keeps_pads_of_other_values(%x: !pipe.tensor<u8[w=9]>) -> !pipe.tensor<u8[w=14]> {
  %one = pipe.constant 1 : i64 -> i64
  %black = pipe.constant 0 : ui8 -> ui8
  %white = pipe.constant 255 : ui8 -> ui8
  %0 = pipe.pad constant %x over ["w"] low(%one) fill(%black : ui8)
      : !pipe.tensor<u8[w=9]> -> !pipe.tensor<u8[w=11]>
  %1 = pipe.pad constant %0 over ["w"] low(%one) fill(%white : ui8)
      : !pipe.tensor<u8[w=11]> -> !pipe.tensor<u8[w=14]>
  return %1 : !pipe.tensor<u8[w=14]>
}

// CHECK-LABEL: func.func @keeps_a_pad_of_a_cut
// CHECK-COUNT-2: pipe.pad edge
func.func @keeps_a_pad_of_a_cut(%x: !pipe.tensor<u8[w=9]>) -> !pipe.tensor<u8[w=9]> {
  %minus = pipe.constant -1 : i64 -> i64
  %one = pipe.constant 1 : i64 -> i64
  %0 = pipe.pad edge %x over ["w"] low(%minus)
      : !pipe.tensor<u8[w=9]> -> !pipe.tensor<u8[w=8]>
  %1 = pipe.pad edge %0 over ["w"] low(%one)
      : !pipe.tensor<u8[w=8]> -> !pipe.tensor<u8[w=9]>
  return %1 : !pipe.tensor<u8[w=9]>
}

// CHECK-LABEL: func.func @reads_inside_a_pad
func.func @reads_inside_a_pad(%x: !pipe.tensor<u8[w=9]>) -> !pipe.tensor<u8[w=4]> {
  // CHECK: %[[VIEW:.*]] = pipe.view %arg0 by #[[INSIDE]][]
  // CHECK-NEXT: return %[[VIEW]]
  %two = pipe.constant 2 : i64 -> i64
  %0 = pipe.pad edge %x over ["w"] low(%two)
      : !pipe.tensor<u8[w=9]> -> !pipe.tensor<u8[w=13]>
  %1 = pipe.view %0 by affine_map<(d0) -> (d0 + 3)> []
      : !pipe.tensor<u8[w=13]> -> !pipe.tensor<u8[w=4]>
  return %1 : !pipe.tensor<u8[w=4]>
}

// CHECK-LABEL: func.func @stays_where_it_may_read_the_border
func.func @stays_where_it_may_read_the_border(%x: !pipe.tensor<u8[w=9]>) -> !pipe.tensor<u8[w=4]> {
  // CHECK: %[[PAD:.*]] = pipe.pad edge
  // CHECK: pipe.view %[[PAD]]
  %two = pipe.constant 2 : i64 -> i64
  %0 = pipe.pad edge %x over ["w"] low(%two)
      : !pipe.tensor<u8[w=9]> -> !pipe.tensor<u8[w=13]>
  %1 = pipe.view %0 by affine_map<(d0) -> (d0 + 1)> []
      : !pipe.tensor<u8[w=13]> -> !pipe.tensor<u8[w=4]>
  return %1 : !pipe.tensor<u8[w=4]>
}

// Another order of a product's axes is one of its value's.
// CHECK-LABEL: func.func @turns_the_value_of_a_product
func.func @turns_the_value_of_a_product(%x: !pipe.tensor<f32[h=3, i=4, w=5]>, %m: !pipe.tensor<f32[i=4, u=2]>)
    -> !pipe.tensor<f32[h=3, w=5, u=2]> {
  // CHECK-NEXT: %[[TURNED:.*]] = pipe.view %arg0 {{.*}} -> <f32[h=3, w=5, i=4]>
  // CHECK-NEXT: %[[PRODUCT:.*]] = pipe.contract %[[TURNED]] by %arg1 {{.*}} -> <f32[h=3, w=5, u=2]>
  // CHECK-NEXT: return %[[PRODUCT]]
  %0 = pipe.contract %x by %m : <f32[h=3, i=4, w=5]>, <f32[i=4, u=2]> -> <f32[h=3, u=2, w=5]>
  %1 = pipe.view %0 by affine_map<(d0, d1, d2) -> (d0, d2, d1)> []
      : !pipe.tensor<f32[h=3, u=2, w=5]> -> !pipe.tensor<f32[h=3, w=5, u=2]>
  return %1 : !pipe.tensor<f32[h=3, w=5, u=2]>
}

// Merged axes of pieces are read where the pieces come from.
// CHECK-LABEL: func.func @loads_what_a_view_reads
func.func @loads_what_a_view_reads(%x: !pipe.tensor<f32[w=8]>) -> !pipe.tensor<f32[w=6]> {
  // CHECK-NOT: pipe.view
  // CHECK: pipe.map()
  // CHECK-NEXT: ^bb0(%[[W:.*]]: i64):
  // CHECK-NEXT: %[[PIECE:.*]] = pipe.binary div %[[W]], %{{.*}}
  // CHECK-NEXT: %[[IN:.*]] = pipe.binary rem %[[W]], %{{.*}}
  // CHECK: %[[FIRST:.*]] = pipe.binary mul %[[PIECE]], %{{.*}}
  // CHECK-NEXT: %[[AT:.*]] = pipe.binary add %[[FIRST]], %[[IN]]
  // CHECK-NEXT: pipe.load %arg0[%[[AT]]]
  %two = pipe.constant 2 : i64 -> i64
  %0 = pipe.view %x by affine_map<(d0, d1) -> (d0 * 3 + d1)> []
      : !pipe.tensor<f32[w=8]> -> !pipe.tensor<f32[k=3, j=2]>
  %1 = pipe.map() : () -> !pipe.tensor<f32[w=6]> {
  ^bb0(%w: i64):
    %k = pipe.binary div %w, %two : i64
    %j = pipe.binary rem %w, %two : i64
    %v = pipe.load %0[%k, %j] : <f32[k=3, j=2]> -> f32
    pipe.yield %v : f32
  }
  return %1 : !pipe.tensor<f32[w=6]>
}

// Beyond a view its last element is read, which may be another one than the input's.
// CHECK-LABEL: func.func @loads_beyond_a_view
func.func @loads_beyond_a_view(%x: !pipe.tensor<f32[w=8]>) -> !pipe.tensor<f32[w=6]> {
  // CHECK: %[[VIEW:.*]] = pipe.view
  // CHECK: pipe.load %[[VIEW]]
  %0 = pipe.view %x by affine_map<(d0) -> (d0 + 1)> []
      : !pipe.tensor<f32[w=8]> -> !pipe.tensor<f32[w=3]>
  %1 = pipe.map() : () -> !pipe.tensor<f32[w=6]> {
  ^bb0(%w: i64):
    %v = pipe.load %0[%w] : <f32[w=3]> -> f32
    pipe.yield %v : f32
  }
  return %1 : !pipe.tensor<f32[w=6]>
}
