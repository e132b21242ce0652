// RUN: not penstock-opt %s --pipe-fuse 2>&1 | FileCheck %s
// REQUIRES: penstock-opt

// Setup of one sample cannot read what setup of another one computes.
// CHECK: fuse-invalid.mlir:20:10: error: an extent, an offset or a fill depends on a value of another sample, which is not known before pixels are made; compute it in every sample, and take the result from the other one
pipe.pipeline @p seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<u8[w=8]>} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<u8[w=8]>
  %key = pipe.key sample
  %zero = pipe.constant 0 : i64 -> i64
  %five = pipe.constant 5 : i64 -> i64
  %at = pipe.draw integer %key(%zero, %five : i64, i64) id 1 path "p/at" : i64
  %batch = pipe.constant 2 : i64 -> i64
  pipe.batch size(%batch) last drop {
    %slot = pipe.context slot
    %theirs = pipe.peer %at[%slot] : i64 -> i64

    %0 = pipe.view %x by affine_map<(d0)[s0] -> (d0 + s0)> [%theirs] : !pipe.tensor<u8[w=8]> -> !pipe.tensor<u8[w=4]>
    pipe.output "a" %0 axes ["n", "w"] stored ["n", "w"] : !pipe.tensor<u8[w=4]>
  }
}
