// RUN: penstock-opt %s --pipe-sink-casts | FileCheck %s

// CHECK-LABEL: func.func @moves_the_view_first
func.func @moves_the_view_first(%x: !pipe.tensor<u8[w=9]>) -> !pipe.tensor<f32[w=4]> {
  // CHECK-NEXT: %[[VIEW:.*]] = pipe.view %arg0 by {{.*}} <u8[w=9]> -> <u8[w=4]>
  // CHECK-NEXT: %[[CAST:.*]] = pipe.cast value %[[VIEW]] : !pipe.tensor<u8[w=4]> -> !pipe.tensor<f32[w=4]>
  // CHECK-NEXT: return %[[CAST]]
  %0 = pipe.cast value %x : !pipe.tensor<u8[w=9]> -> !pipe.tensor<f32[w=9]>
  %1 = pipe.view %0 by affine_map<(d0) -> (d0 + 2)> []
      : !pipe.tensor<f32[w=9]> -> !pipe.tensor<f32[w=4]>
  return %1 : !pipe.tensor<f32[w=4]>
}

// CHECK-LABEL: func.func @moves_the_view_before_a_clamp
func.func @moves_the_view_before_a_clamp(%x: !pipe.tensor<u8[w=9]>) -> !pipe.tensor<i16[w=4]> {
  // CHECK-NEXT: %[[VIEW:.*]] = pipe.view %arg0 by {{.*}} <u8[w=9]> -> <u8[w=4]>
  // CHECK-NEXT: pipe.cast clamp %[[VIEW]] : !pipe.tensor<u8[w=4]> -> !pipe.tensor<i16[w=4]>
  %0 = pipe.cast clamp %x : !pipe.tensor<u8[w=9]> -> !pipe.tensor<i16[w=9]>
  %1 = pipe.view %0 by affine_map<(d0) -> (d0 + 2)> []
      : !pipe.tensor<i16[w=9]> -> !pipe.tensor<i16[w=4]>
  return %1 : !pipe.tensor<i16[w=4]>
}

// The flipped element draws what it drew before it was flipped.
// CHECK-LABEL: func.func @keeps_logical_coordinates
func.func @keeps_logical_coordinates(%x: !pipe.tensor<u8[w=4]>) -> !pipe.tensor<i64[w=4]> {
  // CHECK-DAG: %[[LAST:.*]] = pipe.constant 3 : i64
  // CHECK-DAG: %[[MINUS:.*]] = pipe.constant -1 : i64
  // CHECK: pipe.map(
  // CHECK: ^bb0(%{{.*}}: ui8, %[[W:.*]]: i64):
  // CHECK: %[[BACK:.*]] = pipe.binary mul %[[W]], %[[MINUS]]
  // CHECK: pipe.binary add %[[BACK]], %[[LAST]]
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<i64[w=4]> {
  ^bb0(%p: ui8, %w: i64):
    pipe.yield %w : i64
  }
  %1 = pipe.view %0 by affine_map<(d0) -> (-d0 + 3)> []
      : !pipe.tensor<i64[w=4]> -> !pipe.tensor<i64[w=4]>
  return %1 : !pipe.tensor<i64[w=4]>
}

// A value over some of the axes is viewed along those alone.
// CHECK-LABEL: func.func @views_broadcast_inputs_apart
func.func @views_broadcast_inputs_apart(%x: !pipe.tensor<f32[w=4, c=3]>, %m: !pipe.tensor<f32[c=3]>) -> !pipe.tensor<f32[c=3, w=2]> {
  // CHECK-NEXT: %[[VIEW:.*]] = pipe.view %arg0
  // CHECK-NEXT: pipe.map(%[[VIEW]], %arg1)
  %0 = pipe.map (%x, %m) : (!pipe.tensor<f32[w=4, c=3]>, !pipe.tensor<f32[c=3]>) -> !pipe.tensor<f32[w=4, c=3]> {
  ^bb0(%p: f32, %q: f32, %w: i64, %c: i64):
    %r = pipe.binary sub %p, %q : f32
    pipe.yield %r : f32
  }
  %1 = pipe.view %0 by affine_map<(d0, d1) -> (d1 + 1, d0)> []
      : !pipe.tensor<f32[w=4, c=3]> -> !pipe.tensor<f32[c=3, w=2]>
  return %1 : !pipe.tensor<f32[c=3, w=2]>
}

// Along the resampled axis to the tables, along the other to the input.
// CHECK-LABEL: func.func @splits_at_a_resample
func.func @splits_at_a_resample(%x: !pipe.tensor<u8[h=9, w=9]>, %k: !pipe.tensor<i32[w=4, k=5]>, %s: !pipe.tensor<i32[w=4]>)
    -> !pipe.tensor<u8[h=3, w=4]> {
  // CHECK-DAG: %[[WEIGHTS:.*]] = pipe.view %arg1
  // CHECK-DAG: %[[START:.*]] = pipe.view %arg2
  // CHECK-DAG: %[[INPUT:.*]] = pipe.view %arg0 by {{.*}} <u8[h=9, w=9]> -> <u8[h=3, w=9]>
  // CHECK: %[[R:.*]] = pipe.resample pillow %[[INPUT]] along "w" with %[[WEIGHTS]], %[[START]]
  // CHECK-NEXT: return %[[R]]
  %0 = pipe.resample pillow %x along "w" with %k, %s
      : !pipe.tensor<u8[h=9, w=9]>, !pipe.tensor<i32[w=4, k=5]>, !pipe.tensor<i32[w=4]> -> !pipe.tensor<u8[h=9, w=4]>
  %1 = pipe.view %0 by affine_map<(d0, d1) -> (d0 + 2, -d1 + 3)> []
      : !pipe.tensor<u8[h=9, w=4]> -> !pipe.tensor<u8[h=3, w=4]>
  return %1 : !pipe.tensor<u8[h=3, w=4]>
}

// CHECK-LABEL: func.func @leaves_a_transposition_behind_a_resample
func.func @leaves_a_transposition_behind_a_resample(%x: !pipe.tensor<u8[w=9, c=3]>, %k: !pipe.tensor<i32[w=4, k=5]>, %s: !pipe.tensor<i32[w=4]>)
    -> !pipe.tensor<u8[c=3, w=4]> {
  // CHECK-NEXT: %[[R:.*]] = pipe.resample pillow %arg0
  // CHECK-NEXT: pipe.view %[[R]]
  %0 = pipe.resample pillow %x along "w" with %k, %s
      : !pipe.tensor<u8[w=9, c=3]>, !pipe.tensor<i32[w=4, k=5]>, !pipe.tensor<i32[w=4]> -> !pipe.tensor<u8[w=4, c=3]>
  %1 = pipe.view %0 by affine_map<(d0, d1) -> (d1, d0)> []
      : !pipe.tensor<u8[w=4, c=3]> -> !pipe.tensor<u8[c=3, w=4]>
  return %1 : !pipe.tensor<u8[c=3, w=4]>
}

// CHECK-LABEL: func.func @stays_where_elements_are_read_twice
func.func @stays_where_elements_are_read_twice(%x: !pipe.tensor<i16[t=9]>) -> !pipe.tensor<f32[frame=3, t=4]> {
  // CHECK-NEXT: %[[CAST:.*]] = pipe.cast value %arg0
  // CHECK-NEXT: pipe.view %[[CAST]]
  // CHECK-SAME: "stays after the conversion: it reads elements twice"
  %0 = pipe.cast value %x : !pipe.tensor<i16[t=9]> -> !pipe.tensor<f32[t=9]>
  %1 = pipe.view %0 by affine_map<(d0, d1) -> (d0 * 2 + d1)> []
      : !pipe.tensor<f32[t=9]> -> !pipe.tensor<f32[frame=3, t=4]>
  return %1 : !pipe.tensor<f32[frame=3, t=4]>
}

// CHECK-LABEL: func.func @stays_where_others_use_the_conversion
func.func @stays_where_others_use_the_conversion(%x: !pipe.tensor<u8[w=9]>) -> (!pipe.tensor<f32[w=4]>, !pipe.tensor<f32[w=9]>) {
  // CHECK-NEXT: %[[CAST:.*]] = pipe.cast value %arg0
  // CHECK-NEXT: pipe.view %[[CAST]]
  // CHECK-SAME: "stays after the conversion, which others use too"
  %0 = pipe.cast value %x : !pipe.tensor<u8[w=9]> -> !pipe.tensor<f32[w=9]>
  %1 = pipe.view %0 by affine_map<(d0) -> (d0 + 2)> []
      : !pipe.tensor<f32[w=9]> -> !pipe.tensor<f32[w=4]>
  return %1, %0 : !pipe.tensor<f32[w=4]>, !pipe.tensor<f32[w=9]>
}

// Each sample stores bytes; who reads a peer converts what it reads.
// CHECK-LABEL: pipe.pipeline @peers_hand_on_bytes
// CHECK: %[[X:.*]] = pipe.field %{{.*}} "x"
// CHECK: pipe.batch
// CHECK: %[[PEER:.*]] = pipe.peer %[[X]][%{{.*}}] : !pipe.tensor<u8[w=4]>
// CHECK: pipe.cast value %[[PEER]] : !pipe.tensor<u8[w=4]> -> !pipe.tensor<f32[w=4]>
pipe.pipeline @peers_hand_on_bytes seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<u8[w=4]>} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<u8[w=4]>
  %0 = pipe.cast value %x : !pipe.tensor<u8[w=4]> -> !pipe.tensor<f32[w=4]>
  %batch = pipe.constant 2 : i64 -> i64
  pipe.batch size(%batch) last drop {
    %slot = pipe.context slot
    %1 = pipe.peer %0[%slot] : !pipe.tensor<f32[w=4]> -> !pipe.tensor<f32[w=4]>
    pipe.output "a" %1 axes ["n", "w"] stored ["n", "w"] : !pipe.tensor<f32[w=4]>
  }
}

// Of a peer's peer there is no buffer: what another sample makes of a peer's elements stays there.
// CHECK-LABEL: pipe.pipeline @peers_of_peers
// CHECK: pipe.batch
// CHECK: %[[PEER:.*]] = pipe.peer %{{.*}}[%{{.*}}] : !pipe.tensor<u8[w=4]>
// CHECK: %[[MADE:.*]] = pipe.cast value %[[PEER]]
// CHECK: pipe.peer %[[MADE]][%{{.*}}] : !pipe.tensor<f32[w=4]>
pipe.pipeline @peers_of_peers seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<u8[w=4]>} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<u8[w=4]>
  %batch = pipe.constant 2 : i64 -> i64
  pipe.batch size(%batch) last drop {
    %slot = pipe.context slot
    %0 = pipe.peer %x[%slot] : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=4]>
    %1 = pipe.cast value %0 : !pipe.tensor<u8[w=4]> -> !pipe.tensor<f32[w=4]>
    %2 = pipe.peer %1[%slot] : !pipe.tensor<f32[w=4]> -> !pipe.tensor<f32[w=4]>
    pipe.output "a" %2 axes ["n", "w"] stored ["n", "w"] : !pipe.tensor<f32[w=4]>
  }
}

// CHECK-LABEL: func.func @keeps_an_axis_of_one
func.func @keeps_an_axis_of_one(%x: !pipe.tensor<bool[w=4]>) -> !pipe.tensor<u8[a=1, w=4]> {
  // CHECK-NEXT: %[[VIEW:.*]] = pipe.view %arg0 {{.*}} <bool[w=4]> -> <bool[a=1, w=4]>
  // CHECK-NEXT: pipe.cast value %[[VIEW]]
  %0 = pipe.cast value %x : !pipe.tensor<bool[w=4]> -> !pipe.tensor<u8[w=4]>
  %1 = pipe.view %0 by affine_map<(d0, d1) -> (d1)> []
      : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[a=1, w=4]>
  return %1 : !pipe.tensor<u8[a=1, w=4]>
}

// One of the stacked values alone: the others are not needed.
// CHECK-LABEL: func.func @takes_one_of_a_stack
func.func @takes_one_of_a_stack(%a: !pipe.tensor<u8[w=4]>, %b: !pipe.tensor<u8[w=4]>) -> !pipe.tensor<u8[w=2]> {
  // CHECK-NEXT: %[[VIEW:.*]] = pipe.view %arg1 by {{.*}} <u8[w=4]> -> <u8[w=2]>
  // CHECK-NEXT: return %[[VIEW]]
  %0 = pipe.stack "v" (%a, %b) : !pipe.tensor<u8[w=4]>, !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[v=2, w=4]>
  %1 = pipe.view %0 by affine_map<(d0) -> (1, d0 + 2)> []
      : !pipe.tensor<u8[v=2, w=4]> -> !pipe.tensor<u8[w=2]>
  return %1 : !pipe.tensor<u8[w=2]>
}

// A stride over the stacked axis is not the whole stack, also of scalars.
// CHECK-LABEL: func.func @keeps_strides_of_stacks
func.func @keeps_strides_of_stacks(%a: !pipe.tensor<u8[]>, %b: !pipe.tensor<u8[]>) -> !pipe.tensor<u8[v=1]> {
  // CHECK: %[[S:.*]] = pipe.stack "v"(%arg0, %arg1)
  // CHECK: pipe.view %[[S]] by
  %0 = pipe.stack "v" (%a, %b) : !pipe.tensor<u8[]>, !pipe.tensor<u8[]> -> !pipe.tensor<u8[v=2]>
  %1 = pipe.view %0 by affine_map<(d0) -> (d0 * 2)> [] : !pipe.tensor<u8[v=2]> -> !pipe.tensor<u8[v=1]>
  return %1 : !pipe.tensor<u8[v=1]>
}

// CHECK-LABEL: func.func @stacks_before_converting
func.func @stacks_before_converting(%a: !pipe.tensor<u8[w=4]>, %b: !pipe.tensor<u8[w=4]>) -> !pipe.tensor<f32[v=2, w=4]> {
  // CHECK: %[[S:.*]] = pipe.stack "v"(%arg0, %arg1) : !pipe.tensor<u8[w=4]>
  // CHECK: pipe.map(%[[S]])
  // CHECK: ^bb0(%{{.*}}: ui8, %{{.*}}: i64, %[[W:.*]]: i64):
  // CHECK: pipe.cast value %[[W]] : i64 -> f32
  %0 = pipe.map (%a) : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<f32[w=4]> {
  ^bb0(%p: ui8, %w: i64):
    %f = pipe.cast value %p : ui8 -> f32
    %g = pipe.cast value %w : i64 -> f32
    %h = pipe.binary add %f, %g : f32
    pipe.yield %h : f32
  }
  %1 = pipe.map (%b) : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<f32[w=4]> {
  ^bb0(%p: ui8, %w: i64):
    %f = pipe.cast value %p : ui8 -> f32
    %g = pipe.cast value %w : i64 -> f32
    %h = pipe.binary add %f, %g : f32
    pipe.yield %h : f32
  }
  %2 = pipe.stack "v" (%0, %1) : !pipe.tensor<f32[w=4]>, !pipe.tensor<f32[w=4]> -> !pipe.tensor<f32[v=2, w=4]>
  return %2 : !pipe.tensor<f32[v=2, w=4]>
}

// A number that all elements share is not computed anew by a view.
// CHECK-LABEL: func.func @moves_through_a_map_with_one_image
func.func @moves_through_a_map_with_one_image(%x: !pipe.tensor<u8[w=4, c=3]>, %m: !pipe.tensor<u8[]>)
    -> (!pipe.tensor<u8[w=4]>, !pipe.tensor<u8[w=4]>) {
  // CHECK-NEXT: %[[A:.*]] = pipe.view %arg0
  // CHECK-NEXT: pipe.map(%[[A]], %arg1)
  // CHECK: %[[B:.*]] = pipe.view %arg0
  // CHECK-NEXT: pipe.map(%[[B]], %arg1)
  %0 = pipe.map (%x, %m) : (!pipe.tensor<u8[w=4, c=3]>, !pipe.tensor<u8[]>) -> !pipe.tensor<u8[w=4, c=3]> {
  ^bb0(%p: ui8, %q: ui8, %w: i64, %c: i64):
    %r = pipe.binary sub %p, %q : ui8
    pipe.yield %r : ui8
  }
  %1 = pipe.view %0 by affine_map<(d0) -> (d0, 0)> [] : !pipe.tensor<u8[w=4, c=3]> -> !pipe.tensor<u8[w=4]>
  %2 = pipe.view %0 by affine_map<(d0) -> (d0, 1)> [] : !pipe.tensor<u8[w=4, c=3]> -> !pipe.tensor<u8[w=4]>
  return %1, %2 : !pipe.tensor<u8[w=4]>, !pipe.tensor<u8[w=4]>
}

// Two images would be.
// CHECK-LABEL: func.func @stays_where_views_would_double_maps
func.func @stays_where_views_would_double_maps(%x: !pipe.tensor<u8[w=4, c=3]>, %y: !pipe.tensor<u8[w=4]>)
    -> (!pipe.tensor<u8[w=4]>, !pipe.tensor<u8[w=4]>) {
  // CHECK-NEXT: pipe.map(%arg0, %arg1)
  %0 = pipe.map (%x, %y) : (!pipe.tensor<u8[w=4, c=3]>, !pipe.tensor<u8[w=4]>) -> !pipe.tensor<u8[w=4, c=3]> {
  ^bb0(%p: ui8, %q: ui8, %w: i64, %c: i64):
    %r = pipe.binary sub %p, %q : ui8
    pipe.yield %r : ui8
  }
  // CHECK-COUNT-2: pipe.view
  %1 = pipe.view %0 by affine_map<(d0) -> (d0, 0)> [] : !pipe.tensor<u8[w=4, c=3]> -> !pipe.tensor<u8[w=4]>
  %2 = pipe.view %0 by affine_map<(d0) -> (d0, 1)> [] : !pipe.tensor<u8[w=4, c=3]> -> !pipe.tensor<u8[w=4]>
  return %1, %2 : !pipe.tensor<u8[w=4]>, !pipe.tensor<u8[w=4]>
}

// A view passes any number of maps: MLIR's driver takes ten rounds for granted.
// CHECK-LABEL: func.func @passes_a_long_chain
// CHECK-SAME: (%[[X:.*]]: !pipe.tensor<u8[w=9]>)
func.func @passes_a_long_chain(%x: !pipe.tensor<u8[w=9]>) -> !pipe.tensor<u8[w=4]> {
  // CHECK-NEXT: pipe.view %[[X]]
  // CHECK-COUNT-12: pipe.cast
  // CHECK-NEXT: return
  %0 = pipe.cast value %x : !pipe.tensor<u8[w=9]> -> !pipe.tensor<i16[w=9]>
  %1 = pipe.cast value %0 : !pipe.tensor<i16[w=9]> -> !pipe.tensor<u8[w=9]>
  %2 = pipe.cast value %1 : !pipe.tensor<u8[w=9]> -> !pipe.tensor<i16[w=9]>
  %3 = pipe.cast value %2 : !pipe.tensor<i16[w=9]> -> !pipe.tensor<u8[w=9]>
  %4 = pipe.cast value %3 : !pipe.tensor<u8[w=9]> -> !pipe.tensor<i16[w=9]>
  %5 = pipe.cast value %4 : !pipe.tensor<i16[w=9]> -> !pipe.tensor<u8[w=9]>
  %6 = pipe.cast value %5 : !pipe.tensor<u8[w=9]> -> !pipe.tensor<i16[w=9]>
  %7 = pipe.cast value %6 : !pipe.tensor<i16[w=9]> -> !pipe.tensor<u8[w=9]>
  %8 = pipe.cast value %7 : !pipe.tensor<u8[w=9]> -> !pipe.tensor<i16[w=9]>
  %9 = pipe.cast value %8 : !pipe.tensor<i16[w=9]> -> !pipe.tensor<u8[w=9]>
  %10 = pipe.cast value %9 : !pipe.tensor<u8[w=9]> -> !pipe.tensor<i16[w=9]>
  %11 = pipe.cast value %10 : !pipe.tensor<i16[w=9]> -> !pipe.tensor<u8[w=9]>
  %12 = pipe.view %11 by affine_map<(d0) -> (d0 + 2)> []
      : !pipe.tensor<u8[w=9]> -> !pipe.tensor<u8[w=4]>
  return %12 : !pipe.tensor<u8[w=4]>
}
