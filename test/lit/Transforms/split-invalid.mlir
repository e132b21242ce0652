// RUN: penstock-opt %s --pipe-split --split-input-file --verify-diagnostics
// REQUIRES: penstock-opt

// Values that setup computes cannot depend on pixels.
pipe.pipeline @pixels seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<i64[w=4]>} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<i64[w=4]>
  %zero = pipe.constant 0 : i64 -> i64
  %y = pipe.cast value %x : !pipe.tensor<i64[w=4]> -> !pipe.tensor<i32[w=4]>
  // expected-error @+1 {{this value is needed before pixels exist, but it depends on them}}
  %first = pipe.load %y[%zero] : !pipe.tensor<i32[w=4]> -> i32
  %batch = pipe.constant 2 : i64 -> i64
  pipe.batch size(%batch) last drop {
    pipe.output "a" %first axes ["n"] stored ["n"] : i32
  }
}
