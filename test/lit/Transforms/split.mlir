// RUN: penstock-opt %s --pipe-split --canonicalize --cse --pipe-verify-kernels --split-input-file --verify-diagnostics | FileCheck %s

// A value that picks a row is known before anything is fetched.
// CHECK: pipe.kernel @select "select"
// CHECK: %[[LENGTH:.*]] = pipe.entry 6 : i64
// CHECK: %[[DRAW:.*]] = pipe.draw integer %{{.*}}(%{{.*}}, %[[LENGTH]]
// CHECK: pipe.set_entry [[INDEX:[0-9]+]], %[[DRAW]] {draw = "p/other"} : i64
// CHECK: pipe.kernel @setup "setup"
// CHECK: %[[I:.*]] = pipe.entry [[FIELD:[0-9]+]] : i64
// CHECK: pipe.check
// CHECK: %[[SUM:.*]] = pipe.binary add %[[I]]
// CHECK: pipe.set_entry [[RESULT:[0-9]+]], %[[SUM]] : i64
// CHECK-LABEL: pipe.pipeline @p
// CHECK-SAME: slots
// CHECK-DAG: %[[ROW:.*]] = pipe.entry [[INDEX]] : i64
// CHECK-DAG: %[[OUT:.*]] = pipe.entry [[RESULT]] : i64
// CHECK: pipe.pick %{{.*}}[%[[ROW]]]
// CHECK: %[[LABEL:.*]] = pipe.field %{{.*}} "i" : i64
// CHECK: pipe.set_entry [[FIELD]], %[[LABEL]] : i64
// CHECK-NOT: pipe.binary
// CHECK: pipe.output "a" %[[OUT]]
pipe.pipeline @p seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {i = i64} : !pipe.text
  %row = pipe.row sequential %table
  %key = pipe.key sample
  %zero = pipe.constant 0 : i64 -> i64
  %length = pipe.length %table
  %which = pipe.draw integer %key (%zero, %length : i64, i64) id 7 path "p/other" : i64
  %other = pipe.pick %table[%which]
  %i = pipe.field %other "i" : i64
  %ok = pipe.compare ge %i, %zero : i64
  pipe.check %ok, "a label is {0}" (%i, %i)
  %one = pipe.constant 1 : i64 -> i64
  %next = pipe.binary add %i, %one : i64
  %batch = pipe.constant 2 : i64 -> i64
  pipe.batch size(%batch) last drop {
    pipe.output "a" %next axes ["n"] stored ["n"] : i64
  }
}

// -----

pipe.pipeline @picks_by_a_field seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {i = i64} : !pipe.text
  %row = pipe.row sequential %table
  // expected-note @+1 {{it depends on this value of a row}}
  %i = pipe.field %row "i" : i64
  // expected-error @+1 {{the number of a picked row must be known before any row is fetched: from parameters, draws, lengths of tables and the place of the pipeline's row}}
  %other = pipe.pick %table[%i]
  %j = pipe.field %other "i" : i64
  %batch = pipe.constant 2 : i64 -> i64
  pipe.batch size(%batch) last drop {
    pipe.output "a" %j axes ["n"] stored ["n"] : i64
  }
}

// -----

// The length of another table than that of `for` has an entry of its own, which select
// may read as well as setup.
// CHECK: pipe.kernel @select "select"
// CHECK: %[[COUNT:.*]] = pipe.entry [[COUNTS:[0-9]+]] : i64
// CHECK: pipe.draw integer %{{.*}}(%{{.*}}, %[[COUNT]]
// CHECK-LABEL: pipe.pipeline @lengths
// CHECK: %[[LENGTH:.*]] = pipe.length
// CHECK: pipe.set_entry [[COUNTS]], %[[LENGTH]] : i64
// CHECK: pipe.pick
// CHECK: pipe.output "b"
pipe.pipeline @lengths seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %other = pipe.source "csv" (%root) named ["root"] columns {i = i64} : !pipe.text
  %length = pipe.length %other
  %table = pipe.source "raw" (%root) named ["root"] columns {i = i64} : !pipe.text
  %row = pipe.row sequential %table
  %key = pipe.key sample
  %zero = pipe.constant 0 : i64 -> i64
  %which = pipe.draw integer %key (%zero, %length : i64, i64) id 7 path "p/other" : i64
  %picked = pipe.pick %other[%which]
  %i = pipe.field %picked "i" : i64
  %batch = pipe.constant 2 : i64 -> i64
  pipe.batch size(%batch) last drop {
    pipe.output "a" %i axes ["n"] stored ["n"] : i64
    pipe.output "b" %length axes ["n"] stored ["n"] : i64
  }
}
