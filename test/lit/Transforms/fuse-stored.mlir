// RUN: penstock-opt %s --pipe-fuse --canonicalize --split-input-file | FileCheck %s
// REQUIRES: penstock-opt

// The kernel writes memory order; the output keeps its axes.
// CHECK: pipe.kernel @k0 "pixels"
// CHECK-NOT: outside_n
// CHECK: pipe.map
// CHECK: pipe.view {{.*}}<u8[c=3, w=8]> -> <u8[w=8, c=3]>
// CHECK-LABEL: pipe.pipeline @in_memory_order
// CHECK: pipe.output "a" %{{.*}} axes ["n", "c", "w"] stored ["n", "w", "c"] : !pipe.tensor<u8[w=8, c=3]>
pipe.pipeline @in_memory_order seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<u8[c=3, w=8]>} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<u8[c=3, w=8]>
  %batch = pipe.constant 2 : i64 -> i64
  %0 = pipe.map (%x) : (!pipe.tensor<u8[c=3, w=8]>) -> !pipe.tensor<u8[c=3, w=8]> {
  ^bb0(%p: ui8, %i: i64, %j: i64):
    %q = pipe.unary bit_not %p : ui8
    pipe.yield %q : ui8
  }
  pipe.batch size(%batch) last drop {
    pipe.output "a" %0 axes ["n", "c", "w"] stored ["n", "w", "c"] : !pipe.tensor<u8[c=3, w=8]>
  }
}

// -----

// A single axis is not dense where n lies inside of it.
// CHECK: pipe.kernel @k0 "pixels" attributes {outside_n = array<i64: 1>
// CHECK-LABEL: pipe.pipeline @n_inside_the_only_axis
pipe.pipeline @n_inside_the_only_axis seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<u8[w=8]>} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<u8[w=8]>
  %batch = pipe.constant 2 : i64 -> i64
  pipe.batch size(%batch) last drop {
    pipe.output "a" %x axes ["w", "n"] stored ["w", "n"] : !pipe.tensor<u8[w=8]>
  }
}

// -----

// Strides of axes outside the batch's are known when running only.
// CHECK: pipe.kernel @k0 "pixels" attributes {outside_n = array<i64: 2>
// CHECK-LABEL: pipe.pipeline @n_inside_two_axes
pipe.pipeline @n_inside_two_axes seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<u8[c=3, w=8]>} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<u8[c=3, w=8]>
  %batch = pipe.constant 2 : i64 -> i64
  pipe.batch size(%batch) last drop {
    pipe.output "a" %x axes ["c", "w", "n"] stored ["c", "w", "n"] : !pipe.tensor<u8[c=3, w=8]>
  }
}

// -----

// Nor can another kernel read it there: it reads what is made besides.
// CHECK: pipe.kernel @k0 "pixels" attributes {outside_n = array<i64: 0, 1>
// CHECK-LABEL: pipe.pipeline @n_inside_what_is_read
// CHECK: %[[K0:.*]]:2 = pipe.launch @k0
// CHECK: pipe.launch @k1(%{{.*}}, %[[K0]]#0)
// CHECK: pipe.output "b" %[[K0]]#1
pipe.pipeline @n_inside_what_is_read seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<i64[w=8]>} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<i64[w=8]>
  %batch = pipe.constant 2 : i64 -> i64
  %0 = pipe.map (%x) : (!pipe.tensor<i64[w=8]>) -> !pipe.tensor<i64[w=8]> {
  ^bb0(%p: i64, %i: i64):
    %q = pipe.unary bit_not %p : i64
    pipe.yield %q : i64
  }
  %1 = pipe.map (%x) : (!pipe.tensor<i64[w=8]>) -> !pipe.tensor<i64[w=8]> {
  ^bb0(%p: i64, %i: i64):
    %q = pipe.load %0[%p] : <i64[w=8]> -> i64
    pipe.yield %q : i64
  }
  pipe.batch size(%batch) last drop {
    pipe.output "a" %1 axes ["n", "w"] stored ["n", "w"] : !pipe.tensor<i64[w=8]>
    pipe.output "b" %0 axes ["w", "n"] stored ["w", "n"] : !pipe.tensor<i64[w=8]>
  }
}
