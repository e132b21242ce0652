// RUN: penstock-opt %s | penstock-opt | FileCheck %s
// REQUIRES: penstock-opt

// Ops that move, join, map and resample, written and read back.

// CHECK-LABEL: func.func @moves
func.func @moves(%x: !pipe.tensor<u8[h=?, w=8, c=3]>, %top: i64, %fill: ui8, %n: i64) {
  // CHECK: pipe.view %{{.*}} by #map[%{{.*}}] : <u8[h=?, w=8, c=3]> -> <u8[h=4, w=8, c=3]>
  %0 = pipe.view %x by affine_map<(d0, d1, d2)[s0] -> (d0 + s0, d1, d2)> [%top] : !pipe.tensor<u8[h=?, w=8, c=3]> -> !pipe.tensor<u8[h=4, w=8, c=3]>
  // CHECK: pipe.pad constant %{{.*}} over ["h", "w"] low(%{{.*}}, %{{.*}}) fill(%{{.*}} : ui8) sizes(%{{.*}}) : <u8[h=4, w=8, c=3]> -> <u8[h=? max 9, w=10, c=3]>
  %1 = pipe.pad constant %0 over ["h", "w"] low(%top, %top) fill(%fill : ui8) sizes(%n) : !pipe.tensor<u8[h=4, w=8, c=3]> -> !pipe.tensor<u8[h=? max 9, w=10, c=3]>
  // CHECK: pipe.pad edge %{{.*}} over ["h"] low(%{{.*}}) : <u8[h=4, w=8, c=3]> -> <u8[h=6, w=8, c=3]>
  %2 = pipe.pad edge %0 over ["h"] low(%top) : !pipe.tensor<u8[h=4, w=8, c=3]> -> !pipe.tensor<u8[h=6, w=8, c=3]>
  return
}

// CHECK-LABEL: func.func @joins
func.func @joins(%x: !pipe.tensor<u8[w=2]>, %y: !pipe.tensor<u8[w=3]>, %at: i64) {
  // CHECK: pipe.concat "w"(%{{.*}}, %{{.*}}) : !pipe.tensor<u8[w=2]>, !pipe.tensor<u8[w=3]> -> <u8[w=5]>
  %0 = pipe.concat "w" (%x, %y) : !pipe.tensor<u8[w=2]>, !pipe.tensor<u8[w=3]> -> !pipe.tensor<u8[w=5]>
  // CHECK: pipe.stack "v"(%{{.*}}, %{{.*}}) : !pipe.tensor<u8[w=2]>, !pipe.tensor<u8[w=2]> -> <u8[v=2, w=2]>
  %1 = pipe.stack "v" (%x, %x) : !pipe.tensor<u8[w=2]>, !pipe.tensor<u8[w=2]> -> !pipe.tensor<u8[v=2, w=2]>
  // CHECK: pipe.place %{{.*}} into %{{.*}} over ["w"] at(%{{.*}}) : <u8[w=2]>, <u8[w=5]> -> <u8[w=5]>
  %2 = pipe.place %x into %0 over ["w"] at(%at) : !pipe.tensor<u8[w=2]>, !pipe.tensor<u8[w=5]> -> !pipe.tensor<u8[w=5]>
  return
}

// CHECK-LABEL: func.func @maps
func.func @maps(%x: !pipe.tensor<u8[w=4]>, %fill: ui8) {
  // CHECK: pipe.map(%{{.*}}) : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<u8[w=4]>
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<u8[w=4]> {
  ^bb0(%p: ui8, %w: i64):
    // CHECK: pipe.yield %{{.*}} : ui8
    pipe.yield %p : ui8
  }
  // CHECK: pipe.window constant %{{.*}} over ["w"] low [-1] high [0] fill(%{{.*}} : ui8) : <u8[w=4]> -> <u8[w=4]>
  %1 = pipe.window constant %x over ["w"] low [-1] high [0] fill(%fill : ui8) : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=4]> {
  ^bb0(%left: ui8, %here: ui8, %w: i64):
    // CHECK: pipe.yield %{{.*}} : ui8
    pipe.yield %left : ui8
  }
  // CHECK: pipe.gather linear edge %{{.*}} over ["w"] : <u8[w=4]> -> <u8[w=8]>
  %2 = pipe.gather linear edge %x over ["w"] : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=8]> {
  ^bb0(%w: i64):
    // CHECK: pipe.cast value %{{.*}} : i64 -> f64
    %at = pipe.cast value %w : i64 -> f64
    // CHECK: pipe.yield %{{.*}} : f64
    pipe.yield %at : f64
  }
  return
}

// CHECK-LABEL: func.func @resamples
func.func @resamples(%x: !pipe.tensor<u8[h=9, w=9]>, %in: i64, %out: i64) {
  // CHECK: pipe.taps bilinear %{{.*}} to %{{.*}} antialias(true)
  %0 = pipe.taps bilinear %in to %out antialias(true)
  // CHECK: pipe.weights bilinear %{{.*}} to %{{.*}} antialias(true) sizes(%{{.*}}) : <i32[w=4, k=?]>, <i32[w=4]>
  %1, %2 = pipe.weights bilinear %in to %out antialias(true) sizes(%0) : !pipe.tensor<i32[w=4, k=?]>, !pipe.tensor<i32[w=4]>
  // CHECK: pipe.resample pillow %{{.*}} along "w" with %{{.*}}, %{{.*}} : <u8[h=9, w=9]>, <i32[w=4, k=?]>, <i32[w=4]> -> <u8[h=9, w=4]>
  %3 = pipe.resample pillow %x along "w" with %1, %2 : !pipe.tensor<u8[h=9, w=9]>, !pipe.tensor<i32[w=4, k=?]>, !pipe.tensor<i32[w=4]> -> !pipe.tensor<u8[h=9, w=4]>
  return
}

// CHECK-LABEL: func.func @encodes
func.func @encodes(%x: !pipe.tensor<u8[h=8, w=8, c=3:rgb]>, %q: i64, %m: i64) {
  // CHECK: pipe.encode jpeg %{{.*}} quality(%{{.*}}) sizes(%{{.*}}) : <u8[h=8, w=8, c=3:rgb]> -> <u8[byte=?]>, <i64[]>
  %0, %1 = pipe.encode jpeg %x quality(%q) sizes(%m) : !pipe.tensor<u8[h=8, w=8, c=3:rgb]> -> !pipe.tensor<u8[byte=?]>, !pipe.tensor<i64[]>
  // CHECK: pipe.recompress %{{.*}} quality(%{{.*}}) : <u8[h=8, w=8, c=3:rgb]> -> <u8[h=8, w=8, c=3:rgb]>
  %2 = pipe.recompress %x quality(%q) : !pipe.tensor<u8[h=8, w=8, c=3:rgb]> -> !pipe.tensor<u8[h=8, w=8, c=3:rgb]>
  return
}
