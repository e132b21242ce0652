// RUN: penstock-opt %s --split-input-file --pipe-fuse | FileCheck %s

// A value of all samples' values alone is computed once; a value that a sample adds to, for each.
// CHECK: pipe.kernel @k0
// CHECK: pipe.kernel @k1 "pixels"
// CHECK-NEXT: ^bb0(%[[ALL:.*]]: !pipe.tensor<f32[n=50, w=8]>):
// CHECK-NEXT: pipe.reduce sum %[[ALL]]
// CHECK-LABEL: pipe.pipeline @sums_once
// CHECK: %[[MINE:.*]] = pipe.launch @k0(%{{.*}}) scalars()
// CHECK: pipe.batch
// CHECK: %[[PEERS:.*]] = pipe.peers %[[MINE]] along "n"
// CHECK: %[[SUM:.*]] = pipe.launch @k1 once(%[[PEERS]])
// CHECK: %[[DOUBLE:.*]] = pipe.launch @k2 once(%[[SUM]])
// CHECK: %[[BOTH:.*]] = pipe.launch @k3(%{{.*}}, %[[DOUBLE]])
// CHECK: %[[COPY:.*]] = pipe.launch @k0(%[[DOUBLE]])
// CHECK: pipe.output "a" %[[BOTH]]
// CHECK: pipe.output "b" %[[COPY]]
pipe.pipeline @sums_once seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<f32[w=8]>} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<f32[w=8]>
  %batch = pipe.constant 50 : i64 -> i64
  pipe.batch size(%batch) last drop {
    %all = pipe.peers %x along "n" : !pipe.tensor<f32[w=8]> -> !pipe.tensor<f32[n=50, w=8]>
    %sum = pipe.reduce sum %all over ["n"] : !pipe.tensor<f32[n=50, w=8]> -> !pipe.tensor<f32[w=8]>
    %double = pipe.map (%sum) : (!pipe.tensor<f32[w=8]>) -> !pipe.tensor<f32[w=8]> {
    ^bb0(%p: f32, %k: i64):
      %0 = pipe.binary add %p, %p : f32
      pipe.yield %0 : f32
    }
    %both = pipe.map (%x, %double) : (!pipe.tensor<f32[w=8]>, !pipe.tensor<f32[w=8]>) -> !pipe.tensor<f32[w=8]> {
    ^bb0(%p: f32, %q: f32, %k: i64):
      %0 = pipe.binary add %p, %q : f32
      pipe.yield %0 : f32
    }
    pipe.output "a" %both axes ["n", "w"] stored ["n", "w"] : !pipe.tensor<f32[w=8]>
    pipe.output "b" %double axes ["n", "w"] stored ["n", "w"] : !pipe.tensor<f32[w=8]>
  }
}

// -----

// A guard that differs between samples does not hold up what they share; what is read of all is
// made whether or not a sample takes the arm; all samples' values of what they share are a view.
// CHECK-LABEL: pipe.pipeline @shared_in_an_arm
// CHECK: pipe.launch @k0(%{{.*}}) scalars() {{.*}}:
// CHECK: pipe.batch
// CHECK: pipe.peers
// CHECK-NOT: pipe.peers
// CHECK: pipe.launch @k1 once(%{{.*}}) scalars() {{.*}}:
// CHECK-NOT: guard
// CHECK: pipe.output "a"
pipe.pipeline @shared_in_an_arm seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<u8[w=8]>, i = i64} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<u8[w=8]>
  %i = pipe.field %row "i" : i64
  %batch = pipe.constant 50 : i64 -> i64
  pipe.batch size(%batch) last drop {
    %0 = pipe.choose %i -> !pipe.tensor<u8[w=8]> {
      pipe.yield %x : !pipe.tensor<u8[w=8]>
    }, {
      %1 = pipe.window edge %x over ["w"] low [-1] high [0] : !pipe.tensor<u8[w=8]> -> !pipe.tensor<u8[w=8]> {
      ^bb0(%p: ui8, %q: ui8, %k: i64):
        %m = pipe.binary max %p, %q : ui8
        pipe.yield %m : ui8
      }
      %2 = pipe.peers %1 along "n" : !pipe.tensor<u8[w=8]> -> !pipe.tensor<u8[n=50, w=8]>
      %3 = pipe.reduce max %2 over ["n"] : !pipe.tensor<u8[n=50, w=8]> -> !pipe.tensor<u8[w=8]>
      %4 = pipe.peers %3 along "n" : !pipe.tensor<u8[w=8]> -> !pipe.tensor<u8[n=50, w=8]>
      %5 = pipe.reduce min %4 over ["n"] : !pipe.tensor<u8[n=50, w=8]> -> !pipe.tensor<u8[w=8]>
      pipe.yield %5 : !pipe.tensor<u8[w=8]>
    }
    pipe.output "a" %0 axes ["n", "w"] stored ["n", "w"] : !pipe.tensor<u8[w=8]>
  }
}

// -----

// Nobody shares what a sample's place in the batch decides.
// CHECK-LABEL: pipe.pipeline @places_differ
// CHECK: %[[SLOT:.*]] = pipe.context slot
// CHECK: %[[SUM:.*]] = pipe.launch @k1 once(%{{.*}})
// CHECK: pipe.launch @k2(%[[SUM]]) scalars(%[[SLOT]]
// CHECK: pipe.output "a"
pipe.pipeline @places_differ seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<i64[w=8]>} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<i64[w=8]>
  %batch = pipe.constant 50 : i64 -> i64
  pipe.batch size(%batch) last drop {
    %all = pipe.peers %x along "n" : !pipe.tensor<i64[w=8]> -> !pipe.tensor<i64[n=50, w=8]>
    %sum = pipe.reduce sum %all over ["n"] : !pipe.tensor<i64[n=50, w=8]> -> !pipe.tensor<i64[w=8]>
    %slot = pipe.context slot
    %mine = pipe.map (%sum) : (!pipe.tensor<i64[w=8]>) -> !pipe.tensor<i64[w=8]> {
    ^bb0(%p: i64, %k: i64):
      %0 = pipe.binary add %p, %slot : i64
      pipe.yield %0 : i64
    }
    pipe.output "a" %mine axes ["n", "w"] stored ["n", "w"] : !pipe.tensor<i64[w=8]>
  }
}
