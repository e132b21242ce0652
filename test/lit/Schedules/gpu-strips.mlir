// RUN: penstock-opt %s --pipe-schedule-gpu | FileCheck %s
// REQUIRES: penstock-opt

// A flip that a sample decides: a word of each row, in strips; all channels of a pixel where planes lie words apart.
// CHECK-LABEL: pipe.kernel @flips_by_sample "pixels"
pipe.kernel @flips_by_sample "pixels" {
^bb0(%x: !pipe.tensor<u8[h=?, w=?, c=3]>, %sign: i64, %from: i64):
  // CHECK: pipe.view {{.*}} {along = "w", vector = {c = 3 : i64, w = 16 : i64}}
  %0 = pipe.view %x by affine_map<(c, h, w)[s0, s1] -> (h, w * s0 + s1, c)> [%sign, %from] : !pipe.tensor<u8[h=?, w=?, c=3]> -> !pipe.tensor<u8[c=3, h=8, w=64]>
  // CHECK: pipe.view {{.*}} {along = "w", vector = {w = 16 : i64}}
  %1 = pipe.view %x by affine_map<(c, h, w)[s0, s1] -> (h, w * s0 + s1, c)> [%sign, %from] : !pipe.tensor<u8[h=?, w=?, c=3]> -> !pipe.tensor<u8[c=3, h=75, w=75]>
  pipe.return %0, %1 : !pipe.tensor<u8[c=3, h=8, w=64]>, !pipe.tensor<u8[c=3, h=75, w=75]>
}

// Words of what is stored; maps and views that only put axes elsewhere are looked through. What is the same for all of a
// row is no row.
// CHECK-LABEL: pipe.kernel @normalizes "pixels"
pipe.kernel @normalizes "pixels" {
^bb0(%x: !pipe.tensor<u8[h=?, w=?, c=3]>, %mean: !pipe.tensor<f32[c=3]>, %rows: i64, %columns: i64):
  %0 = pipe.map (%x, %mean) sizes(%rows, %columns) : (!pipe.tensor<u8[h=?, w=?, c=3]>, !pipe.tensor<f32[c=3]>) -> !pipe.tensor<f32[h=?, w=?, c=3]> {
  ^bb0(%p: ui8, %m: f32, %h: i64, %w: i64, %c: i64):
    %f = pipe.cast value %p : ui8 -> f32
    %q = pipe.binary sub %f, %m : f32
    pipe.yield %q : f32
  }
  %1 = pipe.view %0 by affine_map<(c, h, w) -> (h, w, c)> [] sizes(%rows, %columns) : !pipe.tensor<f32[h=?, w=?, c=3]> -> !pipe.tensor<f32[c=3, h=?, w=?]>
  // CHECK: pipe.cast {{.*}} {along = "w", vector = {w = 8 : i64}}
  %2 = pipe.cast value %1 sizes(%rows, %columns) : !pipe.tensor<f32[c=3, h=?, w=?]> -> !pipe.tensor<f16[c=3, h=?, w=?]>
  pipe.return %2 : !pipe.tensor<f16[c=3, h=?, w=?]>
}

// Rows may end at a padding, in whatever arm of a choice.
// CHECK-LABEL: pipe.kernel @pads "pixels"
pipe.kernel @pads "pixels" {
^bb0(%x: !pipe.tensor<u8[h=32, w=32]>, %low: i64, %which: i64, %zero: ui8):
  %0 = pipe.pad constant %x over ["h", "w"] low(%low, %low) fill(%zero : ui8) : !pipe.tensor<u8[h=32, w=32]> -> !pipe.tensor<u8[h=40, w=40]>
  %1 = pipe.view %0 by affine_map<(h, w)[s0] -> (h + s0, w + s0)> [%low] : !pipe.tensor<u8[h=40, w=40]> -> !pipe.tensor<u8[h=32, w=32]>
  // CHECK: pipe.choose {{.*}} {along = "w", vector = {w = 16 : i64}}
  %2 = pipe.choose %which -> !pipe.tensor<u8[h=32, w=32]> {
    pipe.yield %1 : !pipe.tensor<u8[h=32, w=32]>
  }, {
    pipe.yield %x : !pipe.tensor<u8[h=32, w=32]>
  }
  pipe.return %2 : !pipe.tensor<u8[h=32, w=32]>
}

// A box of known extents that loads words wherever rows begin stays a box.
// CHECK-LABEL: pipe.kernel @keeps_boxes "pixels"
// CHECK-NOT: along
pipe.kernel @keeps_boxes "pixels" {
^bb0(%x: !pipe.tensor<u8[h=?, w=?, c=3]>, %top: i64):
  // CHECK: pipe.view {{.*}} {vector = {c = 3 : i64, w = 16 : i64}}
  %0 = pipe.view %x by affine_map<(c, h, w)[s0] -> (h + s0, w + s0, c)> [%top] : !pipe.tensor<u8[h=?, w=?, c=3]> -> !pipe.tensor<u8[c=3, h=8, w=64]>
  pipe.return %0 : !pipe.tensor<u8[c=3, h=8, w=64]>
}

// Threads that are neighbours read neighbours where a row has gaps, or is none, or what it has is looked up.
// CHECK-LABEL: pipe.kernel @reads_no_rows "pixels"
// CHECK-NOT: along
// CHECK: pipe.return
pipe.kernel @reads_no_rows "pixels" {
^bb0(%x: !pipe.tensor<u8[h=?, w=?]>, %rows: i64, %columns: i64, %n: i64):
  %0 = pipe.view %x by affine_map<(h, w) -> (h, w * 2)> [] sizes(%rows, %columns) : !pipe.tensor<u8[h=?, w=?]> -> !pipe.tensor<u8[h=?, w=?]>
  %1 = pipe.view %x by affine_map<(h, w) -> (w, h)> [] sizes(%columns, %rows) : !pipe.tensor<u8[h=?, w=?]> -> !pipe.tensor<u8[h=?, w=?]>
  %2 = pipe.view %x by affine_map<(h, w) -> (h, w floordiv 2)> [] sizes(%rows, %columns) : !pipe.tensor<u8[h=?, w=?]> -> !pipe.tensor<u8[h=?, w=?]>
  %3 = pipe.pad edge %x over ["w"] low(%n) sizes(%rows, %columns) : !pipe.tensor<u8[h=?, w=?]> -> !pipe.tensor<u8[h=?, w=?]>
  %4 = pipe.map (%x) sizes(%rows, %columns) : (!pipe.tensor<u8[h=?, w=?]>) -> !pipe.tensor<u8[h=?, w=?]> {
  ^bb0(%p: ui8, %h: i64, %w: i64):
    %q = pipe.load %x[%h, %w] : !pipe.tensor<u8[h=?, w=?]> -> ui8
    %r = pipe.binary max %p, %q : ui8
    pipe.yield %r : ui8
  }
  pipe.return %0, %1, %2, %3, %4 : !pipe.tensor<u8[h=?, w=?]>, !pipe.tensor<u8[h=?, w=?]>, !pipe.tensor<u8[h=?, w=?]>, !pipe.tensor<u8[h=?, w=?]>, !pipe.tensor<u8[h=?, w=?]>
}

// A word holds whole pixels of two or four channels, and none of three.
// CHECK-LABEL: pipe.kernel @makes_whole_pixels "pixels"
pipe.kernel @makes_whole_pixels "pixels" {
^bb0(%x: !pipe.tensor<u8[h=?, w=?, c=4]>, %y: !pipe.tensor<u8[h=?, w=?, c=3]>, %sign: i64, %rows: i64, %columns: i64):
  // CHECK: pipe.view {{.*}} {along = "w", vector = {c = 4 : i64, w = 4 : i64}}
  %0 = pipe.view %x by affine_map<(h, w, c)[s0] -> (h, w * s0, c)> [%sign] sizes(%rows, %columns) : !pipe.tensor<u8[h=?, w=?, c=4]> -> !pipe.tensor<u8[h=?, w=?, c=4]>
  // CHECK: pipe.view
  // CHECK-NOT: along
  // CHECK: pipe.return
  %1 = pipe.view %y by affine_map<(h, w, c)[s0] -> (h, w * s0, c)> [%sign] sizes(%rows, %columns) : !pipe.tensor<u8[h=?, w=?, c=3]> -> !pipe.tensor<u8[h=?, w=?, c=3]>
  pipe.return %0, %1 : !pipe.tensor<u8[h=?, w=?, c=4]>, !pipe.tensor<u8[h=?, w=?, c=3]>
}

// The outermost axis lies where the runtime says. A choice of several values has no one schedule.
// CHECK-LABEL: pipe.kernel @has_no_strips "pixels"
// CHECK-NOT: along
// CHECK: pipe.return
pipe.kernel @has_no_strips "pixels" {
^bb0(%x: !pipe.tensor<f32[n=?, c=2]>, %y: !pipe.tensor<u8[w=?]>, %n: i64):
  %0 = pipe.view %x by affine_map<(n, c)[s0] -> (n * s0, c)> [%n] sizes(%n) : !pipe.tensor<f32[n=?, c=2]> -> !pipe.tensor<f32[n=?, c=2]>
  %1, %2 = pipe.choose %n sizes(%n, %n) -> !pipe.tensor<u8[w=?]>, !pipe.tensor<u8[w=?]> {
    pipe.yield %y, %y : !pipe.tensor<u8[w=?]>, !pipe.tensor<u8[w=?]>
  }
  pipe.return %0, %1, %2 : !pipe.tensor<f32[n=?, c=2]>, !pipe.tensor<u8[w=?]>, !pipe.tensor<u8[w=?]>
}
