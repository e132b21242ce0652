// RUN: penstock-opt %s --pipe-fuse --canonicalize --split-input-file | FileCheck %s
// RUN: penstock-opt %s --pipe-fuse=every-op --canonicalize --split-input-file | FileCheck %s --check-prefix=APART

// Pointwise, halo and index ops and the reduction at the end: one kernel with
// two results. Each op apart: four.
// CHECK: pipe.kernel @k0 "pixels"
// CHECK: pipe.map
// CHECK: pipe.window
// CHECK: pipe.view
// CHECK: pipe.reduce
// CHECK: pipe.return %{{.*}}, %{{.*}} :
// CHECK-NOT: pipe.kernel
// CHECK-LABEL: pipe.pipeline @one_kernel
// CHECK: pipe.launch @k0
// CHECK-NOT: pipe.launch
// APART-COUNT-4: pipe.kernel
// APART-LABEL: pipe.pipeline @one_kernel
// APART-COUNT-4: pipe.launch
pipe.pipeline @one_kernel seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<u8[h=8, w=8]>} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<u8[h=8, w=8]>
  %batch = pipe.constant 2 : i64 -> i64
  %0 = pipe.map (%x) : (!pipe.tensor<u8[h=8, w=8]>) -> !pipe.tensor<u8[h=8, w=8]> {
  ^bb0(%p: ui8, %i: i64, %j: i64):
    %q = pipe.unary bit_not %p : ui8
    pipe.yield %q : ui8
  }
  %1 = pipe.window edge %0 over ["h"] low [-1] high [0] : !pipe.tensor<u8[h=8, w=8]> -> !pipe.tensor<u8[h=8, w=8]> {
  ^bb0(%p: ui8, %q: ui8, %i: i64, %j: i64):
    %m = pipe.binary max %p, %q : ui8
    pipe.yield %m : ui8
  }
  %2 = pipe.view %1 by affine_map<(d0, d1) -> (d1, d0)> [] : !pipe.tensor<u8[h=8, w=8]> -> !pipe.tensor<u8[w=8, h=8]>
  %3 = pipe.reduce max %1 over ["h", "w"] : !pipe.tensor<u8[h=8, w=8]> -> !pipe.tensor<u8[]>
  pipe.batch size(%batch) last drop {
    pipe.output "a" %2 axes ["n", "w", "h"] stored ["n", "w", "h"] : !pipe.tensor<u8[w=8, h=8]>
    pipe.output "b" %3 axes ["n"] stored ["n"] : !pipe.tensor<u8[]>
  }
}

// -----

// The result of a reduction is read one level later, with the element: two
// kernels. The map that only the second reads waits for it.
// CHECK: pipe.kernel @k0 "pixels"
// CHECK: pipe.reduce
// CHECK: pipe.kernel @k1 "pixels"
// CHECK-COUNT-2: pipe.map
// CHECK-LABEL: pipe.pipeline @a_reduction_is_a_barrier
// CHECK: %[[LEAST:.*]] = pipe.launch @k0(%[[X:.*]]) scalars()
// CHECK: pipe.launch @k1(%[[X]], %[[LEAST]])
pipe.pipeline @a_reduction_is_a_barrier seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<u8[w=80]>} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<u8[w=80]>
  %batch = pipe.constant 2 : i64 -> i64
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=80]>) -> !pipe.tensor<u8[w=80]> {
  ^bb0(%p: ui8, %i: i64):
    %q = pipe.unary bit_not %p : ui8
    pipe.yield %q : ui8
  }
  %1 = pipe.reduce min %x over ["w"] : !pipe.tensor<u8[w=80]> -> !pipe.tensor<u8[]>
  %2 = pipe.map (%0, %1) : (!pipe.tensor<u8[w=80]>, !pipe.tensor<u8[]>) -> !pipe.tensor<u8[w=80]> {
  ^bb0(%p: ui8, %l: ui8, %i: i64):
    %q = pipe.binary sub %p, %l : ui8
    pipe.yield %q : ui8
  }
  pipe.batch size(%batch) last drop {
    pipe.output "a" %2 axes ["n", "w"] stored ["n", "w"] : !pipe.tensor<u8[w=80]>
  }
}

// -----

// A gather reads a materialised tensor; what follows joins it.
// CHECK: pipe.kernel @k0 "pixels"
// CHECK-NEXT: ^bb0
// CHECK-NEXT: pipe.map
// CHECK: pipe.kernel @k1 "pixels"
// CHECK: pipe.gather
// CHECK: pipe.map
// CHECK-LABEL: pipe.pipeline @a_gather_reads_a_temporary
pipe.pipeline @a_gather_reads_a_temporary seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<u8[w=8]>} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<u8[w=8]>
  %batch = pipe.constant 2 : i64 -> i64
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=8]>) -> !pipe.tensor<u8[w=8]> {
  ^bb0(%p: ui8, %i: i64):
    %q = pipe.unary bit_not %p : ui8
    pipe.yield %q : ui8
  }
  %1 = pipe.gather nearest edge %0 over ["w"] : !pipe.tensor<u8[w=8]> -> !pipe.tensor<u8[w=8]> {
  ^bb0(%i: i64):
    %f = pipe.cast value %i : i64 -> f64
    pipe.yield %f : f64
  }
  %2 = pipe.map (%1) : (!pipe.tensor<u8[w=8]>) -> !pipe.tensor<u8[w=8]> {
  ^bb0(%p: ui8, %i: i64):
    %q = pipe.unary bit_not %p : ui8
    pipe.yield %q : ui8
  }
  pipe.batch size(%batch) last drop {
    pipe.output "a" %2 axes ["n", "w"] stored ["n", "w"] : !pipe.tensor<u8[w=8]>
  }
}

// -----

// Outputs keep the user's order, although the second is ready first.
// CHECK-LABEL: pipe.pipeline @outputs_keep_their_order
// CHECK: pipe.output "first"
// CHECK: pipe.output "second"
// CHECK: pipe.output "third"
pipe.pipeline @outputs_keep_their_order seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<u8[w=8]>} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<u8[w=8]>
  %batch = pipe.constant 2 : i64 -> i64
  pipe.batch size(%batch) last drop {
    %slot = pipe.context slot
    %0 = pipe.peer %x[%slot] : !pipe.tensor<u8[w=8]> -> !pipe.tensor<u8[w=8]>
    %1 = pipe.view %0 by affine_map<(d0) -> (-d0 + 7)> [] : !pipe.tensor<u8[w=8]> -> !pipe.tensor<u8[w=8]>
    pipe.output "first" %1 axes ["n", "w"] stored ["n", "w"] : !pipe.tensor<u8[w=8]>
    pipe.output "second" %x axes ["n", "w"] stored ["n", "w"] : !pipe.tensor<u8[w=8]>
    %2 = pipe.map (%1) : (!pipe.tensor<u8[w=8]>) -> !pipe.tensor<u8[w=8]> {
    ^bb0(%p: ui8, %i: i64):
      %q = pipe.unary bit_not %p : ui8
      pipe.yield %q : ui8
    }
    pipe.output "third" %2 axes ["n", "w"] stored ["n", "w"] : !pipe.tensor<u8[w=8]>
  }
}

// -----

// A view of the input that both sides of a barrier read is taken twice, not
// stored.
// CHECK: pipe.kernel @k0 "pixels"
// CHECK: pipe.view
// CHECK: pipe.return %{{.*}} : !pipe.tensor<u8[]>
// CHECK: pipe.kernel @k1 "pixels"
// CHECK: pipe.view
// CHECK-LABEL: pipe.pipeline @views_are_copied
// CHECK: %[[MOST:.*]] = pipe.launch @k0(%[[X:.*]]) scalars()
// CHECK: pipe.launch @k1(%[[X]], %[[MOST]])
// APART-LABEL: pipe.pipeline @views_are_copied
pipe.pipeline @views_are_copied seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<u8[w=80, c=3]>} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<u8[w=80, c=3]>
  %batch = pipe.constant 2 : i64 -> i64
  %0 = pipe.view %x by affine_map<(d0) -> (d0, 1)> [] : !pipe.tensor<u8[w=80, c=3]> -> !pipe.tensor<u8[w=80]>
  %1 = pipe.reduce max %0 over ["w"] : !pipe.tensor<u8[w=80]> -> !pipe.tensor<u8[]>
  %2 = pipe.map (%0, %1) : (!pipe.tensor<u8[w=80]>, !pipe.tensor<u8[]>) -> !pipe.tensor<u8[w=80]> {
  ^bb0(%p: ui8, %m: ui8, %i: i64):
    %q = pipe.binary sub %m, %p : ui8
    pipe.yield %q : ui8
  }
  pipe.batch size(%batch) last drop {
    pipe.output "a" %2 axes ["n", "w"] stored ["n", "w"] : !pipe.tensor<u8[w=80]>
  }
}
