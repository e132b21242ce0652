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

// A word holds whole pixels of two or four channels; of three, three words do.
// CHECK-LABEL: pipe.kernel @makes_whole_pixels "pixels"
pipe.kernel @makes_whole_pixels "pixels" {
^bb0(%x: !pipe.tensor<u8[h=?, w=?, c=4]>, %y: !pipe.tensor<u8[h=?, w=?, c=3]>, %sign: i64, %rows: i64, %columns: i64):
  // CHECK: pipe.view {{.*}} {along = "w", vector = {c = 4 : i64, w = 4 : i64}}
  %0 = pipe.view %x by affine_map<(h, w, c)[s0] -> (h, w * s0, c)> [%sign] sizes(%rows, %columns) : !pipe.tensor<u8[h=?, w=?, c=4]> -> !pipe.tensor<u8[h=?, w=?, c=4]>
  // CHECK: pipe.view {{.*}} {along = "w", vector = {c = 3 : i64, w = 16 : i64}}
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

// A box of a divided row has words of its own; where it had none, since much is computed of each element, a strip has.
// CHECK-LABEL: pipe.kernel @boxes_of_words "pixels"
pipe.kernel @boxes_of_words "pixels" {
^bb0(%x: !pipe.tensor<u8[h=5, w=32, c=3]>):
  // CHECK: pipe.map{{.*}} {vector = {c = 3 : i64, w = 16 : i64}}
  %0 = pipe.map (%x) : (!pipe.tensor<u8[h=5, w=32, c=3]>) -> !pipe.tensor<u8[h=5, w=32, c=3]> {
  ^bb0(%p: ui8, %h: i64, %w: i64, %c: i64):
    %q = pipe.binary add %p, %p : ui8
    pipe.yield %q : ui8
  }
  // CHECK: pipe.map{{.*}} {along = "w", vector = {c = 3 : i64, w = 16 : i64}}
  %1 = pipe.map (%x) : (!pipe.tensor<u8[h=5, w=32, c=3]>) -> !pipe.tensor<u8[h=5, w=32, c=3]> {
  ^bb0(%p: ui8, %h: i64, %w: i64, %c: i64):
    %q1 = pipe.binary add %p, %p : ui8
    %q2 = pipe.binary mul %q1, %p : ui8
    %q3 = pipe.binary add %q2, %q1 : ui8
    %q4 = pipe.binary mul %q3, %p : ui8
    %q5 = pipe.binary add %q4, %q2 : ui8
    %q6 = pipe.binary mul %q5, %p : ui8
    %q7 = pipe.binary add %q6, %q3 : ui8
    %q8 = pipe.binary mul %q7, %p : ui8
    %q9 = pipe.binary add %q8, %q4 : ui8
    %q10 = pipe.binary mul %q9, %p : ui8
    %q11 = pipe.binary add %q10, %q5 : ui8
    %q12 = pipe.binary mul %q11, %p : ui8
    pipe.yield %q12 : ui8
  }
  pipe.return %0, %1 : !pipe.tensor<u8[h=5, w=32, c=3]>, !pipe.tensor<u8[h=5, w=32, c=3]>
}

// Of much code there is that of four elements; of too much, no strip. Arms have code each of their own.
// CHECK-LABEL: pipe.kernel @much_code "pixels"
pipe.kernel @much_code "pixels" {
^bb0(%x: !pipe.tensor<u8[h=5, w=?, c=3]>, %y: !pipe.tensor<u8[h=5, w=?, c=3]>, %which: i64, %n: i64):
  // CHECK: pipe.map{{.*}} {along = "w", unrolled = 4 : i64, vector = {c = 3 : i64, w = 16 : i64}}
  %0 = pipe.map (%x) sizes(%n) : (!pipe.tensor<u8[h=5, w=?, c=3]>) -> !pipe.tensor<u8[h=5, w=?, c=3]> {
  ^bb0(%p: ui8, %h: i64, %w: i64, %c: i64):
    %q0 = pipe.binary add %p, %p : ui8
    %q1 = pipe.binary add %q0, %p : ui8
    %q2 = pipe.binary mul %q1, %p : ui8
    %q3 = pipe.binary add %q2, %p : ui8
    %q4 = pipe.binary mul %q3, %p : ui8
    %q5 = pipe.binary add %q4, %p : ui8
    %q6 = pipe.binary mul %q5, %p : ui8
    %q7 = pipe.binary add %q6, %p : ui8
    %q8 = pipe.binary mul %q7, %p : ui8
    %q9 = pipe.binary add %q8, %p : ui8
    %q10 = pipe.binary mul %q9, %p : ui8
    %q11 = pipe.binary add %q10, %p : ui8
    %q12 = pipe.binary mul %q11, %p : ui8
    %q13 = pipe.binary add %q12, %p : ui8
    %q14 = pipe.binary mul %q13, %p : ui8
    %q15 = pipe.binary add %q14, %p : ui8
    %q16 = pipe.binary mul %q15, %p : ui8
    %q17 = pipe.binary add %q16, %p : ui8
    %q18 = pipe.binary mul %q17, %p : ui8
    %q19 = pipe.binary add %q18, %p : ui8
    %q20 = pipe.binary mul %q19, %p : ui8
    %q21 = pipe.binary add %q20, %p : ui8
    %q22 = pipe.binary mul %q21, %p : ui8
    %q23 = pipe.binary add %q22, %p : ui8
    %q24 = pipe.binary mul %q23, %p : ui8
    %q25 = pipe.binary add %q24, %p : ui8
    %q26 = pipe.binary mul %q25, %p : ui8
    %q27 = pipe.binary add %q26, %p : ui8
    %q28 = pipe.binary mul %q27, %p : ui8
    %q29 = pipe.binary add %q28, %p : ui8
    %q30 = pipe.binary mul %q29, %p : ui8
    %q31 = pipe.binary add %q30, %p : ui8
    %q32 = pipe.binary mul %q31, %p : ui8
    %q33 = pipe.binary add %q32, %p : ui8
    %q34 = pipe.binary mul %q33, %p : ui8
    %q35 = pipe.binary add %q34, %p : ui8
    %q36 = pipe.binary mul %q35, %p : ui8
    %q37 = pipe.binary add %q36, %p : ui8
    %q38 = pipe.binary mul %q37, %p : ui8
    %q39 = pipe.binary add %q38, %p : ui8
    %q40 = pipe.binary mul %q39, %p : ui8
    %q41 = pipe.binary add %q40, %p : ui8
    %q42 = pipe.binary mul %q41, %p : ui8
    %q43 = pipe.binary add %q42, %p : ui8
    %q44 = pipe.binary mul %q43, %p : ui8
    %q45 = pipe.binary add %q44, %p : ui8
    %q46 = pipe.binary mul %q45, %p : ui8
    %q47 = pipe.binary add %q46, %p : ui8
    %q48 = pipe.binary mul %q47, %p : ui8
    %q49 = pipe.binary add %q48, %p : ui8
    pipe.yield %q49 : ui8
  }
  // CHECK: pipe.choose {{.*}} {along = "w", unrolled = 4 : i64, vector = {c = 3 : i64, w = 16 : i64}}
  %1 = pipe.choose %which sizes(%n) -> !pipe.tensor<u8[h=5, w=?, c=3]> {
    %2 = pipe.map (%x) sizes(%n) : (!pipe.tensor<u8[h=5, w=?, c=3]>) -> !pipe.tensor<u8[h=5, w=?, c=3]> {
    ^bb0(%p: ui8, %h: i64, %w: i64, %c: i64):
      %q0 = pipe.binary add %p, %p : ui8
      %q1 = pipe.binary add %q0, %p : ui8
      %q2 = pipe.binary mul %q1, %p : ui8
      %q3 = pipe.binary add %q2, %p : ui8
      %q4 = pipe.binary mul %q3, %p : ui8
      %q5 = pipe.binary add %q4, %p : ui8
      %q6 = pipe.binary mul %q5, %p : ui8
      %q7 = pipe.binary add %q6, %p : ui8
      %q8 = pipe.binary mul %q7, %p : ui8
      %q9 = pipe.binary add %q8, %p : ui8
      %q10 = pipe.binary mul %q9, %p : ui8
      %q11 = pipe.binary add %q10, %p : ui8
      %q12 = pipe.binary mul %q11, %p : ui8
      %q13 = pipe.binary add %q12, %p : ui8
      %q14 = pipe.binary mul %q13, %p : ui8
      %q15 = pipe.binary add %q14, %p : ui8
      %q16 = pipe.binary mul %q15, %p : ui8
      %q17 = pipe.binary add %q16, %p : ui8
      %q18 = pipe.binary mul %q17, %p : ui8
      %q19 = pipe.binary add %q18, %p : ui8
      %q20 = pipe.binary mul %q19, %p : ui8
      %q21 = pipe.binary add %q20, %p : ui8
      %q22 = pipe.binary mul %q21, %p : ui8
      %q23 = pipe.binary add %q22, %p : ui8
      %q24 = pipe.binary mul %q23, %p : ui8
      %q25 = pipe.binary add %q24, %p : ui8
      %q26 = pipe.binary mul %q25, %p : ui8
      %q27 = pipe.binary add %q26, %p : ui8
      %q28 = pipe.binary mul %q27, %p : ui8
      %q29 = pipe.binary add %q28, %p : ui8
      %q30 = pipe.binary mul %q29, %p : ui8
      %q31 = pipe.binary add %q30, %p : ui8
      %q32 = pipe.binary mul %q31, %p : ui8
      %q33 = pipe.binary add %q32, %p : ui8
      %q34 = pipe.binary mul %q33, %p : ui8
      %q35 = pipe.binary add %q34, %p : ui8
      %q36 = pipe.binary mul %q35, %p : ui8
      %q37 = pipe.binary add %q36, %p : ui8
      %q38 = pipe.binary mul %q37, %p : ui8
      %q39 = pipe.binary add %q38, %p : ui8
      %q40 = pipe.binary mul %q39, %p : ui8
      %q41 = pipe.binary add %q40, %p : ui8
      %q42 = pipe.binary mul %q41, %p : ui8
      %q43 = pipe.binary add %q42, %p : ui8
      %q44 = pipe.binary mul %q43, %p : ui8
      %q45 = pipe.binary add %q44, %p : ui8
      %q46 = pipe.binary mul %q45, %p : ui8
      %q47 = pipe.binary add %q46, %p : ui8
      %q48 = pipe.binary mul %q47, %p : ui8
      %q49 = pipe.binary add %q48, %p : ui8
      pipe.yield %q49 : ui8
    }
    pipe.yield %2 : !pipe.tensor<u8[h=5, w=?, c=3]>
  }, {
    pipe.yield %y : !pipe.tensor<u8[h=5, w=?, c=3]>
  }, {
    pipe.yield %y : !pipe.tensor<u8[h=5, w=?, c=3]>
  }, {
    pipe.yield %y : !pipe.tensor<u8[h=5, w=?, c=3]>
  }
  // What both arms read has code in both.
  %3 = pipe.map (%x) sizes(%n) : (!pipe.tensor<u8[h=5, w=?, c=3]>) -> !pipe.tensor<u8[h=5, w=?, c=3]> {
  ^bb0(%p: ui8, %h: i64, %w: i64, %c: i64):
    %q0 = pipe.binary add %p, %p : ui8
    %q1 = pipe.binary add %q0, %p : ui8
    %q2 = pipe.binary mul %q1, %p : ui8
    %q3 = pipe.binary add %q2, %p : ui8
    %q4 = pipe.binary mul %q3, %p : ui8
    %q5 = pipe.binary add %q4, %p : ui8
    %q6 = pipe.binary mul %q5, %p : ui8
    %q7 = pipe.binary add %q6, %p : ui8
    %q8 = pipe.binary mul %q7, %p : ui8
    %q9 = pipe.binary add %q8, %p : ui8
    %q10 = pipe.binary mul %q9, %p : ui8
    %q11 = pipe.binary add %q10, %p : ui8
    %q12 = pipe.binary mul %q11, %p : ui8
    %q13 = pipe.binary add %q12, %p : ui8
    %q14 = pipe.binary mul %q13, %p : ui8
    %q15 = pipe.binary add %q14, %p : ui8
    %q16 = pipe.binary mul %q15, %p : ui8
    %q17 = pipe.binary add %q16, %p : ui8
    %q18 = pipe.binary mul %q17, %p : ui8
    %q19 = pipe.binary add %q18, %p : ui8
    %q20 = pipe.binary mul %q19, %p : ui8
    %q21 = pipe.binary add %q20, %p : ui8
    %q22 = pipe.binary mul %q21, %p : ui8
    %q23 = pipe.binary add %q22, %p : ui8
    pipe.yield %q23 : ui8
  }
  // CHECK: pipe.choose {{.*}} {along = "w", unrolled = 4 : i64, vector = {c = 3 : i64, w = 16 : i64}}
  %4 = pipe.choose %which sizes(%n) -> !pipe.tensor<u8[h=5, w=?, c=3]> {
    pipe.yield %3 : !pipe.tensor<u8[h=5, w=?, c=3]>
  }, {
    pipe.yield %3 : !pipe.tensor<u8[h=5, w=?, c=3]>
  }
  pipe.return %0, %1, %4 : !pipe.tensor<u8[h=5, w=?, c=3]>, !pipe.tensor<u8[h=5, w=?, c=3]>, !pipe.tensor<u8[h=5, w=?, c=3]>
}
