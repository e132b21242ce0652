// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 | FileCheck %s
// REQUIRES: penstock-opt

// Rows that only a vertical pass reads are streamed through a ring.
// CHECK-LABEL: pipe.kernel @streams_rows "pixels" schedule {level = 3 : i64}
pipe.kernel @streams_rows "pixels" {
^bb0(%image: !pipe.tensor<u8[h=9, w=9, c=3]>, %w: !pipe.tensor<i32[w=4, k=5]>, %s: !pipe.tensor<i32[w=4]>,
     %v: !pipe.tensor<i32[h=4, k=5]>, %t: !pipe.tensor<i32[h=4]>):
  // CHECK: pipe.resample pillow {{.*}} along "w" {{.*}} {{[{].*}}schedule = "ring"}
  %0 = pipe.resample pillow %image along "w" with %w, %s
      : !pipe.tensor<u8[h=9, w=9, c=3]>, !pipe.tensor<i32[w=4, k=5]>, !pipe.tensor<i32[w=4]>
      -> !pipe.tensor<u8[h=9, w=4, c=3]>
  // CHECK: pipe.resample pillow {{.*}} along "h"
  // CHECK-NOT: schedule =
  %1 = pipe.resample pillow %0 along "h" with %v, %t
      : !pipe.tensor<u8[h=9, w=4, c=3]>, !pipe.tensor<i32[h=4, k=5]>, !pipe.tensor<i32[h=4]>
      -> !pipe.tensor<u8[h=4, w=4, c=3]>
  pipe.return %1 : !pipe.tensor<u8[h=4, w=4, c=3]>
}

// A value that a window reads several times is stored, one that is only moved is not.
// CHECK-LABEL: pipe.kernel @stores_what_a_window_reads
pipe.kernel @stores_what_a_window_reads "pixels" {
^bb0(%x: !pipe.tensor<u8[w=16]>):
  // CHECK: pipe.map{{.*}} {{[{].*}}schedule = "scratch"}
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=16]>) -> !pipe.tensor<u8[w=16]> {
  ^bb0(%p: ui8, %w: i64):
    %q = pipe.unary bit_not %p : ui8
    pipe.yield %q : ui8
  }
  // CHECK: pipe.view
  // CHECK-NOT: schedule =
  %1 = pipe.view %0 by affine_map<(d0) -> (-d0 + 15)> [] : !pipe.tensor<u8[w=16]> -> !pipe.tensor<u8[w=16]>
  %2 = pipe.window edge %1 over ["w"] low [-1] high [1] : !pipe.tensor<u8[w=16]> -> !pipe.tensor<u8[w=16]> {
  ^bb0(%a: ui8, %b: ui8, %c: ui8, %w: i64):
    %m = pipe.binary max %a, %c : ui8
    pipe.yield %m : ui8
  }
  pipe.return %2 : !pipe.tensor<u8[w=16]>
}

// Pieces whose axes are merged are loads at constants along what is reduced: both read them where
// they lie.
// CHECK-LABEL: pipe.kernel @reads_merged_pieces_twice
pipe.kernel @reads_merged_pieces_twice "pixels" {
^bb0(%x: !pipe.tensor<u8[h=16, w=16]>):
  // CHECK: pipe.map
  // CHECK-NOT: schedule = "scratch"
  // CHECK: pipe.reduce max {{.*}}schedule = "inline"
  // CHECK: pipe.reduce argmax {{.*}}schedule = "inline"
  %two = pipe.constant 2 : i64 -> i64
  %0 = pipe.map () : () -> !pipe.tensor<f32[h=8, i=4, w=8]> {
  ^bb0(%h: i64, %i: i64, %w: i64):
    %a = pipe.binary div %i, %two : i64
    %b = pipe.binary rem %i, %two : i64
    %y = pipe.binary mul %h, %two : i64
    %z = pipe.binary mul %w, %two : i64
    %row = pipe.binary add %y, %a : i64
    %column = pipe.binary add %z, %b : i64
    %p = pipe.load %x[%row, %column] : !pipe.tensor<u8[h=16, w=16]> -> ui8
    %q = pipe.cast value %p : ui8 -> f32
    pipe.yield %q : f32
  }
  %1 = pipe.reduce max %0 over ["i"] : !pipe.tensor<f32[h=8, i=4, w=8]> -> !pipe.tensor<f32[h=8, w=8]>
  %2 = pipe.reduce argmax %0 over ["i"] : !pipe.tensor<f32[h=8, i=4, w=8]> -> !pipe.tensor<i64[h=8, w=8]>
  pipe.return %1, %2 : !pipe.tensor<f32[h=8, w=8]>, !pipe.tensor<i64[h=8, w=8]>
}

// Of places that lanes divide, each is computed once.
// CHECK-LABEL: pipe.kernel @stores_what_lanes_divide
pipe.kernel @stores_what_lanes_divide "pixels" {
^bb0(%x: !pipe.tensor<f32[h=16, w=16]>):
  // CHECK: pipe.map{{.*}} {{[{].*}}schedule = "scratch"}
  %three = pipe.constant 3 : i64 -> i64
  %0 = pipe.map () : () -> !pipe.tensor<f32[i=4, w=16]> {
  ^bb0(%i: i64, %w: i64):
    %column = pipe.binary div %w, %three : i64
    %p = pipe.load %x[%i, %column] : !pipe.tensor<f32[h=16, w=16]> -> f32
    pipe.yield %p : f32
  }
  %1 = pipe.reduce max %0 over ["i"] : !pipe.tensor<f32[i=4, w=16]> -> !pipe.tensor<f32[w=16]>
  %2 = pipe.reduce argmax %0 over ["i"] : !pipe.tensor<f32[i=4, w=16]> -> !pipe.tensor<i64[w=16]>
  pipe.return %1, %2 : !pipe.tensor<f32[w=16]>, !pipe.tensor<i64[w=16]>
}

// A row that ends little behind a vector has a short last one, which is more code: not where
// it would save little.
// CHECK-LABEL: pipe.kernel @ends_rows_narrow
pipe.kernel @ends_rows_narrow "pixels" {
^bb0(%x: !pipe.tensor<f32[h=9, w=40]>, %y: !pipe.tensor<f32[h=9, w=112]>, %z: !pipe.tensor<f32[h=9, w=28]>):
  // CHECK: pipe.map(%arg0) {loops = #schedule.loops<along = "w", lanes = 32, tail = narrow>}
  %0 = pipe.map (%x) : (!pipe.tensor<f32[h=9, w=40]>) -> !pipe.tensor<f32[h=9, w=40]> {
  ^bb0(%p: f32, %h: i64, %w: i64):
    %q = pipe.binary mul %p, %p : f32
    pipe.yield %q : f32
  }
  // CHECK: pipe.map(%arg1) {loops = #schedule.loops<along = "w", lanes = 32, tail = overlap>}
  %1 = pipe.map (%y) : (!pipe.tensor<f32[h=9, w=112]>) -> !pipe.tensor<f32[h=9, w=112]> {
  ^bb0(%p: f32, %h: i64, %w: i64):
    %q = pipe.binary mul %p, %p : f32
    pipe.yield %q : f32
  }
  // CHECK: pipe.map(%arg2) {loops = #schedule.loops<along = "w", lanes = 32, tail = overlap>}
  %2 = pipe.map (%z) : (!pipe.tensor<f32[h=9, w=28]>) -> !pipe.tensor<f32[h=9, w=28]> {
  ^bb0(%p: f32, %h: i64, %w: i64):
    %q = pipe.binary mul %p, %p : f32
    pipe.yield %q : f32
  }
  pipe.return %0, %1, %2 : !pipe.tensor<f32[h=9, w=40]>, !pipe.tensor<f32[h=9, w=112]>, !pipe.tensor<f32[h=9, w=28]>
}

// A value that iterations read is stored before them, and within one as elsewhere.
// CHECK-LABEL: pipe.kernel @stores_what_a_loop_reads
pipe.kernel @stores_what_a_loop_reads "pixels" {
^bb0(%x: !pipe.tensor<u8[w=16]>, %n: i64):
  // CHECK: pipe.map{{.*}} {{[{].*}}schedule = "scratch"}
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=16]>) -> !pipe.tensor<u8[w=16]> {
  ^bb0(%p: ui8, %w: i64):
    %q = pipe.unary bit_not %p : ui8
    pipe.yield %q : ui8
  }
  // CHECK: pipe.repeat
  %1 = pipe.repeat %n bound 3 (%x) : (!pipe.tensor<u8[w=16]>) -> !pipe.tensor<u8[w=16]> {
  ^bb0(%i: i64, %now: !pipe.tensor<u8[w=16]>):
    // CHECK: pipe.map{{.*}} {{[{].*}}schedule = "scratch"}
    %2 = pipe.map (%now, %0) : (!pipe.tensor<u8[w=16]>, !pipe.tensor<u8[w=16]>) -> !pipe.tensor<u8[w=16]> {
    ^bb0(%p: ui8, %q: ui8, %w: i64):
      %s = pipe.binary add %p, %q : ui8
      pipe.yield %s : ui8
    }
    // CHECK: pipe.view
    %3 = pipe.view %2 by affine_map<(d0) -> (-d0 + 15)> [] : !pipe.tensor<u8[w=16]> -> !pipe.tensor<u8[w=16]>
    // CHECK: pipe.map
    // CHECK-NOT: schedule =
    %4 = pipe.map (%2, %3) : (!pipe.tensor<u8[w=16]>, !pipe.tensor<u8[w=16]>) -> !pipe.tensor<u8[w=16]> {
    ^bb0(%p: ui8, %q: ui8, %w: i64):
      %s = pipe.binary max %p, %q : ui8
      pipe.yield %s : ui8
    }
    pipe.yield %4 : !pipe.tensor<u8[w=16]>
  }
  pipe.return %1 : !pipe.tensor<u8[w=16]>
}

// A schedule given by hand stays.
// CHECK-LABEL: pipe.kernel @keeps_a_schedule "pixels" schedule {level = 2 : i64}
pipe.kernel @keeps_a_schedule "pixels" schedule {level = 2 : i64} {
^bb0(%x: !pipe.tensor<u8[w=16]>):
  pipe.return %x : !pipe.tensor<u8[w=16]>
}
