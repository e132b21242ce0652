// RUN: penstock-opt %s --pipe-required-regions --cse --split-input-file | FileCheck %s

// CHECK-LABEL: pipe.pipeline @two_crops_of_one_decode
// The union of both, computed before the decode.
// CHECK: %[[TOP_A:.*]] = pipe.field %{{.*}} "a" : i64
// CHECK: %[[TOP_B:.*]] = pipe.field %{{.*}} "b" : i64
// CHECK-DAG: %[[END_A:.*]] = pipe.binary add %[[TOP_A]], %{{.*}} : i64
// CHECK-DAG: %[[END_B:.*]] = pipe.binary add %[[TOP_B]], %{{.*}} : i64
// CHECK-DAG: %[[LOW:.*]] = pipe.binary min %[[TOP_B]], %[[TOP_A]] : i64
// CHECK-DAG: %[[HIGH:.*]] = pipe.binary max %[[END_B]], %[[END_A]] : i64
// CHECK: pipe.decode {{.*}} region ["h", "w"](%[[LOW]], %{{.*}}, %[[HIGH]], %{{.*}})
// CHECK-SAME: "decodes the region that is read
pipe.pipeline @two_crops_of_one_decode seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "s" (%root) named ["root"] columns {data = !pipe.bytes, a = i64, b = i64} : !pipe.text
  %row = pipe.row sequential %table
  %data = pipe.field %row "data" : !pipe.bytes
  %h = pipe.probe "image" "height" %data : i64
  %w = pipe.probe "image" "width" %data : i64
  %x = pipe.decode "image" "gray" %data sizes(%h, %w) : !pipe.tensor<u8[h=?, w=?]>
  %a = pipe.field %row "a" : i64
  %b = pipe.field %row "b" : i64
  %batch = pipe.constant 2 : i64 -> i64
  %0 = pipe.view %x by affine_map<(d0, d1)[s0] -> (d0 + s0, d1)> [%a] : !pipe.tensor<u8[h=?, w=?]> -> !pipe.tensor<u8[h=8, w=8]>
  %1 = pipe.view %x by affine_map<(d0, d1)[s0] -> (d0 + s0, d1)> [%b] : !pipe.tensor<u8[h=?, w=?]> -> !pipe.tensor<u8[h=8, w=8]>
  pipe.batch size(%batch) last drop {
    pipe.output "a" %0 axes ["n", "h", "w"] stored ["n", "h", "w"] : !pipe.tensor<u8[h=8, w=8]>
    pipe.output "b" %1 axes ["n", "h", "w"] stored ["n", "h", "w"] : !pipe.tensor<u8[h=8, w=8]>
  }
}

// -----

// A window needs its neighbours, but nothing outside the image.
// CHECK-LABEL: pipe.pipeline @widens_by_the_halo
// CHECK: %[[H:.*]] = pipe.probe "image" "height"
// CHECK: %[[MINUS:.*]] = pipe.constant -1 : i64
// CHECK: %[[ABOVE:.*]] = pipe.binary add %{{.*}}, %[[MINUS]] : i64
// CHECK: %[[LOW:.*]] = pipe.binary max %[[ABOVE]], %{{.*}} : i64
// CHECK: %[[PLUS:.*]] = pipe.constant 1 : i64
// CHECK: %[[BELOW:.*]] = pipe.binary add %{{.*}}, %[[PLUS]] : i64
// CHECK: %[[HIGH:.*]] = pipe.binary min %[[BELOW]], %[[H]] : i64
// CHECK: pipe.decode {{.*}} region ["h", "w"](%[[LOW]], %{{.*}}, %[[HIGH]], %{{.*}})
pipe.pipeline @widens_by_the_halo seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "s" (%root) named ["root"] columns {data = !pipe.bytes, a = i64} : !pipe.text
  %row = pipe.row sequential %table
  %data = pipe.field %row "data" : !pipe.bytes
  %h = pipe.probe "image" "height" %data : i64
  %w = pipe.probe "image" "width" %data : i64
  %a = pipe.field %row "a" : i64
  %x = pipe.decode "image" "gray" %data sizes(%h, %w) : !pipe.tensor<u8[h=?, w=?]>
  %batch = pipe.constant 2 : i64 -> i64
  %soft = pipe.window edge %x over ["h"] low [-1] high [1] sizes(%h, %w) : !pipe.tensor<u8[h=?, w=?]> -> !pipe.tensor<u8[h=?, w=?]> {
  ^bb0(%p: ui8, %q: ui8, %r: ui8, %i: i64, %j: i64):
    %m = pipe.binary max %p, %r : ui8
    pipe.yield %m : ui8
  }
  %0 = pipe.view %soft by affine_map<(d0, d1)[s0] -> (d0 + s0, d1)> [%a] : !pipe.tensor<u8[h=?, w=?]> -> !pipe.tensor<u8[h=8, w=8]>
  pipe.batch size(%batch) last drop {
    pipe.output "a" %0 axes ["n", "h", "w"] stored ["n", "h", "w"] : !pipe.tensor<u8[h=8, w=8]>
  }
}

// -----

// CHECK-LABEL: pipe.pipeline @reductions_read_everything
// CHECK: pipe.decode
// CHECK-NOT: region(
// CHECK-SAME: "decodes the whole image: all of it is read"
pipe.pipeline @reductions_read_everything seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "s" (%root) named ["root"] columns {data = !pipe.bytes} : !pipe.text
  %row = pipe.row sequential %table
  %data = pipe.field %row "data" : !pipe.bytes
  %h = pipe.probe "image" "height" %data : i64
  %w = pipe.probe "image" "width" %data : i64
  %x = pipe.decode "image" "gray" %data sizes(%h, %w) : !pipe.tensor<u8[h=?, w=?]>
  %batch = pipe.constant 2 : i64 -> i64
  %least = pipe.reduce min %x over ["h", "w"] : !pipe.tensor<u8[h=?, w=?]> -> !pipe.tensor<u8[]>
  %0 = pipe.view %x by affine_map<(d0, d1) -> (d0, d1)> [] : !pipe.tensor<u8[h=?, w=?]> -> !pipe.tensor<u8[h=8, w=8]>
  pipe.batch size(%batch) last drop {
    pipe.output "a" %0 axes ["n", "h", "w"] stored ["n", "h", "w"] : !pipe.tensor<u8[h=8, w=8]>
    pipe.output "b" %least axes ["n"] stored ["n"] : !pipe.tensor<u8[]>
  }
}

// -----

// Scalars of an iteration are not known before the decode.
// CHECK-LABEL: pipe.pipeline @a_repeat_reads_everything
// CHECK: pipe.decode
// CHECK-NOT: region(
// CHECK-SAME: "decodes the whole image: all of it is read"
pipe.pipeline @a_repeat_reads_everything seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "s" (%root) named ["root"] columns {data = !pipe.bytes, a = i64} : !pipe.text
  %row = pipe.row sequential %table
  %data = pipe.field %row "data" : !pipe.bytes
  %h = pipe.probe "image" "height" %data : i64
  %w = pipe.probe "image" "width" %data : i64
  %a = pipe.field %row "a" : i64
  %x = pipe.decode "image" "gray" %data sizes(%h, %w) : !pipe.tensor<u8[h=?, w=?]>
  %batch = pipe.constant 2 : i64 -> i64
  %y = pipe.repeat %a bound 2 (%x) sizes(%h, %w) : (!pipe.tensor<u8[h=?, w=?]>) -> (!pipe.tensor<u8[h=?, w=?]>) {
  ^bb0(%n: i64, %c: !pipe.tensor<u8[h=?, w=?]>):
    %s = pipe.binary add %n, %n : i64
    %v = pipe.view %c by affine_map<(d0, d1)[s0] -> (d0 * s0, d1)> [%s] sizes(%h, %w) : !pipe.tensor<u8[h=?, w=?]> -> !pipe.tensor<u8[h=?, w=?]>
    pipe.yield %v : !pipe.tensor<u8[h=?, w=?]>
  }
  %0 = pipe.view %y by affine_map<(d0, d1) -> (d0, d1)> [] : !pipe.tensor<u8[h=?, w=?]> -> !pipe.tensor<u8[h=8, w=8]>
  pipe.batch size(%batch) last drop {
    pipe.output "a" %0 axes ["n", "h", "w"] stored ["n", "h", "w"] : !pipe.tensor<u8[h=8, w=8]>
  }
}

// -----

// All taps of the last element, and one row more for the rounding of its first.
// CHECK-LABEL: pipe.pipeline @counts_the_taps
// CHECK: %[[H:.*]] = pipe.probe "image" "height"
// CHECK: %[[TAPS:.*]] = pipe.taps
// CHECK: %[[ONE:.*]] = pipe.constant 1 : i64
// CHECK: %[[BEFORE:.*]] = pipe.binary sub %{{.*}}, %[[ONE]] : i64
// CHECK: %[[LAST:.*]] = pipe.binary sub %{{.*}}, %[[ONE]] : i64
// CHECK: pipe.cast value %[[LAST]] : i64 -> f64
// CHECK: %[[FIRST:.*]] = pipe.binary max %{{.*}}, %{{.*}} : i64
// CHECK: %[[END:.*]] = pipe.binary add %[[FIRST]], %[[TAPS]] : i64
// CHECK: %[[AFTER:.*]] = pipe.binary add %[[END]], %[[ONE]] : i64
// CHECK: %[[LOW:.*]] = pipe.binary max %[[BEFORE]], %{{.*}} : i64
// CHECK: %[[HIGH:.*]] = pipe.binary min %[[AFTER]], %[[H]] : i64
// CHECK: pipe.decode {{.*}} region ["h", "w"](%[[LOW]], %{{.*}}, %[[HIGH]], %{{.*}})
pipe.pipeline @counts_the_taps seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "s" (%root) named ["root"] columns {data = !pipe.bytes, a = i64} : !pipe.text
  %row = pipe.row sequential %table
  %data = pipe.field %row "data" : !pipe.bytes
  %h = pipe.probe "image" "height" %data : i64
  %w = pipe.probe "image" "width" %data : i64
  %a = pipe.field %row "a" : i64
  %out = pipe.constant 64 : i64 -> i64
  %k = pipe.taps bilinear %h to %out antialias(true)
  %weights, %start = pipe.weights bilinear %h to %out antialias(true) sizes(%k) : !pipe.tensor<i32[h=64, k=?]>, !pipe.tensor<i32[h=64]>
  %x = pipe.decode "image" "gray" %data sizes(%h, %w) : !pipe.tensor<u8[h=?, w=?]>
  %batch = pipe.constant 2 : i64 -> i64
  %small = pipe.resample pillow %x along "h" with %weights, %start sizes(%w) : !pipe.tensor<u8[h=?, w=?]>, !pipe.tensor<i32[h=64, k=?]>, !pipe.tensor<i32[h=64]> -> !pipe.tensor<u8[h=64, w=?]>
  %0 = pipe.view %small by affine_map<(d0, d1)[s0] -> (d0 + s0, d1)> [%a] : !pipe.tensor<u8[h=64, w=?]> -> !pipe.tensor<u8[h=8, w=8]>
  pipe.batch size(%batch) last drop {
    pipe.output "a" %0 axes ["n", "h", "w"] stored ["n", "h", "w"] : !pipe.tensor<u8[h=8, w=8]>
  }
}
