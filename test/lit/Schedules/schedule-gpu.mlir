// RUN: penstock-opt %s --pipe-schedule-gpu | FileCheck %s
// REQUIRES: penstock-opt

// Elements that nothing else waits for: any number of blocks.
// CHECK-LABEL: pipe.kernel @spreads_elements "pixels" schedule {mapping = "grid", threads = 256 : i64}
pipe.kernel @spreads_elements "pixels" {
^bb0(%x: !pipe.tensor<u8[w=16]>):
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=16]>) -> !pipe.tensor<u8[w=16]> {
  ^bb0(%p: ui8, %w: i64):
    %q = pipe.unary bit_not %p : ui8
    pipe.yield %q : ui8
  }
  pipe.return %0 : !pipe.tensor<u8[w=16]>
}

// A value that a window reads several times is stored first: one block in passes.
// CHECK-LABEL: pipe.kernel @stores_first "pixels" schedule {mapping = "block", threads = 256 : i64}
pipe.kernel @stores_first "pixels" {
^bb0(%x: !pipe.tensor<u8[w=16]>):
  // CHECK: pipe.map{{.*}} {{[{].*}}schedule = "scratch"
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=16]>) -> !pipe.tensor<u8[w=16]> {
  ^bb0(%p: ui8, %w: i64):
    %q = pipe.unary bit_not %p : ui8
    pipe.yield %q : ui8
  }
  %1 = pipe.window edge %0 over ["w"] low [-1] high [1] : !pipe.tensor<u8[w=16]> -> !pipe.tensor<u8[w=16]> {
  ^bb0(%a: ui8, %b: ui8, %c: ui8, %w: i64):
    %m = pipe.binary max %a, %c : ui8
    pipe.yield %m : ui8
  }
  pipe.return %1 : !pipe.tensor<u8[w=16]>
}

// Results of long runs get a warp each, of short ones a thread, which of few elements computes them
// where they are read.
// CHECK-LABEL: pipe.kernel @counts_runs "pixels" schedule {mapping = "grid"
pipe.kernel @counts_runs "pixels" {
^bb0(%x: !pipe.tensor<f32[h=64, w=33, c=3]>):
  // CHECK: pipe.reduce sum {{.*}} over ["h"] {schedule = "warps"}
  %0 = pipe.reduce sum %x over ["h"] : !pipe.tensor<f32[h=64, w=33, c=3]> -> !pipe.tensor<f32[w=33, c=3]>
  // CHECK: pipe.reduce sum {{.*}} over ["w"] {schedule = "threads"}
  %1 = pipe.reduce sum %x over ["w"] : !pipe.tensor<f32[h=64, w=33, c=3]> -> !pipe.tensor<f32[h=64, c=3]>
  // CHECK: pipe.reduce sum {{.*}} over ["c"] {{.*}}schedule = "inline"}
  %2 = pipe.reduce sum %x over ["c"] : !pipe.tensor<f32[h=64, w=33, c=3]> -> !pipe.tensor<f32[h=64, w=33]>
  pipe.return %0, %1, %2 : !pipe.tensor<f32[w=33, c=3]>, !pipe.tensor<f32[h=64, c=3]>, !pipe.tensor<f32[h=64, w=33]>
}

// All threads of a block make a result of many elements, unless these have an order or their results are many.
// CHECK-LABEL: pipe.kernel @counts_pictures "pixels" schedule {mapping = "grid"
pipe.kernel @counts_pictures "pixels" {
^bb0(%x: !pipe.tensor<u8[h=64, w=64, c=3]>, %y: !pipe.tensor<f32[h=64, w=64]>):
  // CHECK: pipe.reduce max {{.*}} over ["h", "w"] {schedule = "block"}
  %0 = pipe.reduce max %x over ["h", "w"] : !pipe.tensor<u8[h=64, w=64, c=3]> -> !pipe.tensor<u8[c=3]>
  // CHECK: pipe.reduce max {{.*}} over ["h", "c"] {schedule = "warps"}
  %1 = pipe.reduce max %x over ["h", "c"] : !pipe.tensor<u8[h=64, w=64, c=3]> -> !pipe.tensor<u8[w=64]>
  // CHECK: pipe.reduce sum {{.*}} over ["h", "w"] {schedule = "warps"}
  %2 = pipe.reduce sum %y over ["h", "w"] : !pipe.tensor<f32[h=64, w=64]> -> !pipe.tensor<f32[]>
  // CHECK: pipe.reduce argmax {{.*}} over ["h", "w"] {schedule = "warps"}
  %3 = pipe.reduce argmax %y over ["h", "w"] : !pipe.tensor<f32[h=64, w=64]> -> !pipe.tensor<i64[]>
  pipe.return %0, %1, %2, %3 : !pipe.tensor<u8[c=3]>, !pipe.tensor<u8[w=64]>, !pipe.tensor<f32[]>, !pipe.tensor<i64[]>
}

// A thread makes the channels of a pixel, and as many pixels as share weights or fill an access. Along the axis that is
// resampled each has weights of its own.
// CHECK-LABEL: pipe.kernel @makes_pixels "pixels"
pipe.kernel @makes_pixels "pixels" {
^bb0(%x: !pipe.tensor<u8[h=9, w=?, c=3]>, %weights: !pipe.tensor<i32[w=16, k=?]>, %start: !pipe.tensor<i32[w=16]>):
  // CHECK: pipe.resample {{.*}} {vector = {c = 3 : i64}}
  %0 = pipe.resample pillow %x along "w" with %weights, %start : !pipe.tensor<u8[h=9, w=?, c=3]>, !pipe.tensor<i32[w=16, k=?]>, !pipe.tensor<i32[w=16]> -> !pipe.tensor<u8[h=9, w=16, c=3]>
  // CHECK: pipe.view {{.*}} {vector = {c = 3 : i64, w = 16 : i64}}
  %1 = pipe.view %x by affine_map<(c, h, w) -> (h, w, c)> [] : !pipe.tensor<u8[h=9, w=?, c=3]> -> !pipe.tensor<u8[c=3, h=9, w=16]>
  pipe.return %0, %1 : !pipe.tensor<u8[h=9, w=16, c=3]>, !pipe.tensor<u8[c=3, h=9, w=16]>
}

// Of few elements, all threads of a block make some; of wide ones, a thread reads no more bytes than it would write.
// CHECK-LABEL: pipe.kernel @spreads_tables "pixels" schedule {mapping = "block"
pipe.kernel @spreads_tables "pixels" {
^bb0(%x: !pipe.tensor<u8[c=3, bin=256]>, %y: !pipe.tensor<f64[h=512, w=64]>):
  %most = pipe.reduce max %x over ["bin"] : !pipe.tensor<u8[c=3, bin=256]> -> !pipe.tensor<u8[c=3]>
  // CHECK: pipe.map{{.*}} {vector = {bin = 4 : i64}}
  %0 = pipe.map (%x) : (!pipe.tensor<u8[c=3, bin=256]>) -> !pipe.tensor<u8[c=3, bin=256]> {
  ^bb0(%p: ui8, %c: i64, %bin: i64):
    %m = pipe.load %most[%c] : !pipe.tensor<u8[c=3]> -> ui8
    %q = pipe.binary sub %m, %p : ui8
    pipe.yield %q : ui8
  }
  // CHECK: pipe.cast {{.*}} {vector = {w = 4 : i64}}
  %1 = pipe.cast value %y : !pipe.tensor<f64[h=512, w=64]> -> !pipe.tensor<f32[h=512, w=64]>
  pipe.return %0, %1 : !pipe.tensor<u8[c=3, bin=256]>, !pipe.tensor<f32[h=512, w=64]>
}

// The host makes tables, and runs setup.
// CHECK-LABEL: pipe.kernel @tables "pixels" attributes {weights}
pipe.kernel @tables "pixels" attributes {weights} {
^bb0(%in: i64):
  %out = pipe.constant 4 : i64 -> i64
  %taps = pipe.constant 5 : i64 -> i64
  %w, %s = pipe.weights bilinear %in to %out antialias(true) sizes(%taps) : !pipe.tensor<i32[w=4, k=?]>, !pipe.tensor<i32[w=4]>
  pipe.return %w, %s : !pipe.tensor<i32[w=4, k=?]>, !pipe.tensor<i32[w=4]>
}

// A schedule given by hand stays.
// CHECK-LABEL: pipe.kernel @keeps_a_schedule "pixels" schedule {mapping = "block", threads = 64 : i64}
pipe.kernel @keeps_a_schedule "pixels" schedule {mapping = "block", threads = 64 : i64} {
^bb0(%x: !pipe.tensor<u8[w=16]>):
  pipe.return %x : !pipe.tensor<u8[w=16]>
}

// Rows of a first pass that a tile of output rows reads fit shared memory: blocks make tiles of 16 rows, of one frame where
// rows of all frames are too many. Taps read pixels and tables several times: these are copied first.
// CHECK-LABEL: pipe.kernel @makes_tiles "pixels" schedule {copied = {bytes = 20272 : i64, inputs = array<i64: 0, 1, 2>}, mapping = "tile", resident = 3 : i64, rows = 36 : i64, threads = 224 : i64, tile = {h = 16 : i64, t = 1 : i64}}
pipe.kernel @makes_tiles "pixels" {
^bb0(%x: !pipe.tensor<u8[t=8, h=?, w=?, c=3]>, %wx: !pipe.tensor<i32[w=224, k=?]>, %sx: !pipe.tensor<i32[w=224]>, %wy: !pipe.tensor<i32[h=224, k=?]>, %sy: !pipe.tensor<i32[h=224]>, %rows: i64):
  // CHECK: pipe.resample {{.*}}schedule = "shared"
  %0 = pipe.resample pillow %x along "w" with %wx, %sx sizes(%rows) : !pipe.tensor<u8[t=8, h=?, w=?, c=3]>, !pipe.tensor<i32[w=224, k=?]>, !pipe.tensor<i32[w=224]> -> !pipe.tensor<u8[t=8, h=?, w=224, c=3]>
  %1 = pipe.resample pillow %0 along "h" with %wy, %sy : !pipe.tensor<u8[t=8, h=?, w=224, c=3]>, !pipe.tensor<i32[h=224, k=?]>, !pipe.tensor<i32[h=224]> -> !pipe.tensor<u8[t=8, h=224, w=224, c=3]>
  pipe.return %1 : !pipe.tensor<u8[t=8, h=224, w=224, c=3]>
}

// The stored map reads each element once: nothing is copied. The window decides how many rows a tile reads.
// CHECK-LABEL: pipe.kernel @copies_nothing "pixels" schedule {mapping = "tile", rows = 17 : i64, threads = 256 : i64, tile = {h = 16 : i64}}
pipe.kernel @copies_nothing "pixels" {
^bb0(%x: !pipe.tensor<u8[h=64, w=64]>):
  %0 = pipe.map (%x) : (!pipe.tensor<u8[h=64, w=64]>) -> !pipe.tensor<u8[h=64, w=64]> {
  ^bb0(%p: ui8, %h: i64, %w: i64):
    %q = pipe.unary bit_not %p : ui8
    pipe.yield %q : ui8
  }
  %1 = pipe.window edge %0 over ["h"] low [0] high [1] : !pipe.tensor<u8[h=64, w=64]> -> !pipe.tensor<u8[h=64, w=64]> {
  ^bb0(%a: ui8, %b: ui8, %h: i64, %w: i64):
    %m = pipe.binary max %a, %b : ui8
    pipe.yield %m : ui8
  }
  pipe.return %1 : !pipe.tensor<u8[h=64, w=64]>
}

// Of what is read row by row there is room for the rows of a tile, and for more of the rest.
// CHECK-LABEL: pipe.kernel @reads_row_by_row "pixels" schedule {copied = {bytes = 20272 : i64, inputs = array<i64: 0, 1, 2, 3, 4>}, mapping = "tile", resident = 4 : i64, rows = 28 : i64, threads = 224 : i64, tile = {h = 8 : i64}}
pipe.kernel @reads_row_by_row "pixels" {
^bb0(%x: !pipe.tensor<u8[h=?, w=?, c=3]>, %wx: !pipe.tensor<i32[w=224, k=?]>, %sx: !pipe.tensor<i32[w=224]>, %wy: !pipe.tensor<i32[h=224, k=?]>, %sy: !pipe.tensor<i32[h=224]>, %rows: i64):
  // CHECK: pipe.resample {{.*}} along "w" {{.*}}], schedule = "shared"
  %0 = pipe.resample pillow %x along "w" with %wx, %sx sizes(%rows) : !pipe.tensor<u8[h=?, w=?, c=3]>, !pipe.tensor<i32[w=224, k=?]>, !pipe.tensor<i32[w=224]> -> !pipe.tensor<u8[h=?, w=224, c=3]>
  // CHECK: pipe.resample {{.*}} along "h" {{.*}}rows = 8 : i64, schedule = "shared"
  %1 = pipe.resample pillow %0 along "h" with %wy, %sy : !pipe.tensor<u8[h=?, w=224, c=3]>, !pipe.tensor<i32[h=224, k=?]>, !pipe.tensor<i32[h=224]> -> !pipe.tensor<u8[h=224, w=224, c=3]>
  %2 = pipe.view %1 by affine_map<(d0, d1, d2) -> (d0, -d1 + 223, d2)> [] : !pipe.tensor<u8[h=224, w=224, c=3]> -> !pipe.tensor<u8[h=224, w=224, c=3]>
  pipe.return %1, %2 : !pipe.tensor<u8[h=224, w=224, c=3]>, !pipe.tensor<u8[h=224, w=224, c=3]>
}

// A tile of one plane has more rows; small tables are copied, and take what they take.
// CHECK-LABEL: pipe.kernel @makes_planes "pixels" schedule {copied = {bytes = 16 : i64, inputs = array<i64: 1>}, mapping = "tile", rows = 44 : i64, threads = 256 : i64, tile = {c = 1 : i64, h = 16 : i64}}
pipe.kernel @makes_planes "pixels" {
^bb0(%x: !pipe.tensor<u8[c=3, h=224, w=224]>, %t: !pipe.tensor<f32[k=3]>):
  %0 = pipe.map (%x) : (!pipe.tensor<u8[c=3, h=224, w=224]>) -> !pipe.tensor<f32[c=3, h=224, w=224]> {
  ^bb0(%p: ui8, %c: i64, %h: i64, %w: i64):
    %q = pipe.cast value %p : ui8 -> f32
    pipe.yield %q : f32
  }
  %two = pipe.constant 2 : i64 -> i64
  %1 = pipe.window reflect %0 over ["h"] low [-14] high [14] : !pipe.tensor<f32[c=3, h=224, w=224]> -> !pipe.tensor<f32[c=3, h=224, w=224]> {
  ^bb0(%n0: f32, %n1: f32, %n2: f32, %n3: f32, %n4: f32, %n5: f32, %n6: f32, %n7: f32, %n8: f32, %n9: f32, %n10: f32, %n11: f32, %n12: f32, %n13: f32, %n14: f32, %n15: f32, %n16: f32, %n17: f32, %n18: f32, %n19: f32, %n20: f32, %n21: f32, %n22: f32, %n23: f32, %n24: f32, %n25: f32, %n26: f32, %n27: f32, %n28: f32, %c: i64, %h: i64, %w: i64):
    %f = pipe.load %t[%two] : !pipe.tensor<f32[k=3]> -> f32
    %m = pipe.binary mul %n0, %f : f32
    %a = pipe.binary add %m, %n28 : f32
    pipe.yield %a : f32
  }
  pipe.return %1 : !pipe.tensor<f32[c=3, h=224, w=224]>
}

// Nobody can tell which rows a gather reads.
// CHECK-LABEL: pipe.kernel @reads_any_row "pixels" schedule {mapping = "block", threads = 256 : i64}
pipe.kernel @reads_any_row "pixels" {
^bb0(%x: !pipe.tensor<u8[h=64, w=64]>, %v: f64):
  %0 = pipe.map (%x) : (!pipe.tensor<u8[h=64, w=64]>) -> !pipe.tensor<u8[h=64, w=64]> {
  ^bb0(%p: ui8, %h: i64, %w: i64):
    %q = pipe.unary bit_not %p : ui8
    pipe.yield %q : ui8
  }
  %1 = pipe.gather nearest edge %0 over ["h"] : !pipe.tensor<u8[h=64, w=64]> -> !pipe.tensor<u8[h=64, w=64]> {
  ^bb0(%h: i64, %w: i64):
    pipe.yield %v : f64
  }
  pipe.return %1 : !pipe.tensor<u8[h=64, w=64]>
}
