// RUN: penstock-opt %s --pipe-fuse --canonicalize --split-input-file | FileCheck %s

// A value less its mean is computed again in the second kernel, out of a cast that is, too; the
// mean is one number.
// CHECK: pipe.kernel @k1 "pixels"
// CHECK: ^bb0(%{{.*}}: !pipe.tensor<u8[w=80]>, %{{.*}}: !pipe.tensor<f32[]>):
// CHECK: pipe.cast
// CHECK: pipe.return %{{.*}} : !pipe.tensor<f32[]>
// CHECK: pipe.kernel @k2 "pixels"
// CHECK: ^bb0(%{{.*}}: !pipe.tensor<u8[w=80]>, %{{.*}}: !pipe.tensor<f32[]>, %{{.*}}: !pipe.tensor<f32[]>):
// CHECK-LABEL: pipe.pipeline @cheap_maps_are_copied
pipe.pipeline @cheap_maps_are_copied seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<u8[w=80]>} : !pipe.text
  %row = pipe.row sequential %table
  %b = pipe.field %row "x" : !pipe.tensor<u8[w=80]>
  %batch = pipe.constant 2 : i64 -> i64
  %x = pipe.cast value %b : !pipe.tensor<u8[w=80]> -> !pipe.tensor<f32[w=80]>
  %mean = pipe.reduce sum %x over ["w"] : !pipe.tensor<f32[w=80]> -> !pipe.tensor<f32[]>
  %d = pipe.map (%x, %mean) : (!pipe.tensor<f32[w=80]>, !pipe.tensor<f32[]>) -> !pipe.tensor<f32[w=80]> {
  ^bb0(%p: f32, %m: f32, %i: i64):
    %q = pipe.binary sub %p, %m : f32
    pipe.yield %q : f32
  }
  %most = pipe.reduce max %d over ["w"] : !pipe.tensor<f32[w=80]> -> !pipe.tensor<f32[]>
  %y = pipe.map (%d, %most) : (!pipe.tensor<f32[w=80]>, !pipe.tensor<f32[]>) -> !pipe.tensor<f32[w=80]> {
  ^bb0(%p: f32, %m: f32, %i: i64):
    %q = pipe.binary div %p, %m : f32
    pipe.yield %q : f32
  }
  pipe.batch size(%batch) last drop {
    pipe.output "a" %y axes ["n", "w"] stored ["n", "w"] : !pipe.tensor<f32[w=80]>
  }
}

// -----

// A quotient is stored.
// CHECK: pipe.kernel @k0 "pixels"
// CHECK: pipe.binary div
// CHECK: pipe.return %{{.*}}, %{{.*}} :
// CHECK: pipe.kernel @k1 "pixels"
// CHECK-NOT: pipe.binary div
// CHECK-LABEL: pipe.pipeline @divisions_are_not
pipe.pipeline @divisions_are_not seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<f32[w=80]>} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<f32[w=80]>
  %batch = pipe.constant 2 : i64 -> i64
  %d = pipe.map (%x) : (!pipe.tensor<f32[w=80]>) -> !pipe.tensor<f32[w=80]> {
  ^bb0(%p: f32, %i: i64):
    %seven = pipe.constant 7.0 : f32 -> f32
    %q = pipe.binary div %p, %seven : f32
    pipe.yield %q : f32
  }
  %most = pipe.reduce max %d over ["w"] : !pipe.tensor<f32[w=80]> -> !pipe.tensor<f32[]>
  %y = pipe.map (%d, %most) : (!pipe.tensor<f32[w=80]>, !pipe.tensor<f32[]>) -> !pipe.tensor<f32[w=80]> {
  ^bb0(%p: f32, %m: f32, %i: i64):
    %q = pipe.binary sub %p, %m : f32
    pipe.yield %q : f32
  }
  pipe.batch size(%batch) last drop {
    pipe.output "a" %y axes ["n", "w"] stored ["n", "w"] : !pipe.tensor<f32[w=80]>
  }
}

// -----

// A map of a kernel's result is as large as that: it is not copied, for which the result would be stored.
// CHECK: pipe.kernel @k0 "pixels"
// CHECK: pipe.window
// CHECK: pipe.binary mul
// CHECK: pipe.kernel @k1 "pixels"
// CHECK-NOT: {{pipe.window|pipe.binary mul}}
// CHECK-LABEL: pipe.pipeline @maps_of_windows_are_not
pipe.pipeline @maps_of_windows_are_not seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<f32[w=80]>} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<f32[w=80]>
  %batch = pipe.constant 2 : i64 -> i64
  %w = pipe.window edge %x over ["w"] low [-1] high [0] : !pipe.tensor<f32[w=80]> -> !pipe.tensor<f32[w=80]> {
  ^bb0(%p: f32, %q: f32, %i: i64):
    %r = pipe.binary sub %p, %q : f32
    pipe.yield %r : f32
  }
  %d = pipe.map (%w) : (!pipe.tensor<f32[w=80]>) -> !pipe.tensor<f32[w=80]> {
  ^bb0(%p: f32, %i: i64):
    %q = pipe.binary mul %p, %p : f32
    pipe.yield %q : f32
  }
  %most = pipe.reduce max %d over ["w"] : !pipe.tensor<f32[w=80]> -> !pipe.tensor<f32[]>
  %y = pipe.map (%d, %most) : (!pipe.tensor<f32[w=80]>, !pipe.tensor<f32[]>) -> !pipe.tensor<f32[w=80]> {
  ^bb0(%p: f32, %m: f32, %i: i64):
    %q = pipe.binary sub %p, %m : f32
    pipe.yield %q : f32
  }
  pipe.batch size(%batch) last drop {
    pipe.output "a" %y axes ["n", "w"] stored ["n", "w"] : !pipe.tensor<f32[w=80]>
  }
}
