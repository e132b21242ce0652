// RUN: penstock-opt %s --pipe-split --canonicalize --cse --pipe-verify-kernels --split-input-file --verify-diagnostics | FileCheck %s

// Which rows take part is a kernel of its own, over metadata and parameters.
// CHECK: pipe.kernel @rows "rows"
// CHECK-DAG: %[[I:.*]] = pipe.entry [[FIELD:[0-9]+]] : i64
// CHECK-DAG: %[[LEAST:.*]] = pipe.entry [[PARAM:[0-9]+]] : i64
// CHECK: %[[KEEP:.*]] = pipe.compare ge %[[I]], %[[LEAST]] : i64
// CHECK: pipe.set_entry [[RESULT:[0-9]+]], %[[KEEP]] : i1
// CHECK-LABEL: pipe.pipeline @p
// CHECK: %[[ADMITTED:.*]] = pipe.entry [[RESULT]] : i1
// CHECK: %[[VALUE:.*]] = pipe.field %{{.*}} "i" : i64
// CHECK: pipe.set_entry [[FIELD]], %[[VALUE]] {by_rows} : i64
// CHECK: pipe.admit where %[[ADMITTED]]
pipe.pipeline @p seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %least = pipe.param "least" default(3 : i64) : i64
  %table = pipe.source "raw" (%root) named ["root"] columns {i = i64} : !pipe.text
  %row = pipe.row sequential %table
  %i = pipe.field %row "i" : i64
  %keep = pipe.compare ge %i, %least : i64
  pipe.admit where %keep
  %batch = pipe.constant 2 : i64 -> i64
  pipe.batch size(%batch) last drop {
    pipe.output "a" %i axes ["n"] stored ["n"] : i64
  }
}

// -----

// A value that samples and rows need is computed for both: neither has the other's block.
// CHECK: pipe.kernel @setup "setup"
// CHECK: %[[WEIGHT:.*]] = pipe.binary mul
// CHECK: pipe.set_entry [[RESULT:[0-9]+]], %[[WEIGHT]] : f64
// CHECK: pipe.kernel @rows "rows"
// CHECK: %[[WEIGHT:.*]] = pipe.binary mul
// CHECK: pipe.set_entry [[RESULT]], %[[WEIGHT]] : f64
// CHECK-LABEL: pipe.pipeline @shared
pipe.pipeline @shared seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = f64} : !pipe.text
  %row = pipe.row weighted %table
  %x = pipe.field %row "x" : f64
  %weight = pipe.binary mul %x, %x : f64
  pipe.admit weight %weight
  %batch = pipe.constant 2 : i64 -> i64
  pipe.batch size(%batch) last drop {
    pipe.output "w" %weight axes ["n"] stored ["n"] : f64
  }
}

// -----

pipe.pipeline @draws seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {i = i64} : !pipe.text
  %row = pipe.row sequential %table
  %i = pipe.field %row "i" : i64
  // expected-error @+1 {{`where`, weights and lengths are looked at once for each row of the table: this value is not known then}}
  %key = pipe.key sample
  %zero = pipe.constant 0 : i64 -> i64
  %drawn = pipe.draw integer %key (%zero, %i : i64, i64) id 7 path "where" : i64
  %keep = pipe.compare ge %i, %drawn : i64
  pipe.admit where %keep
  %batch = pipe.constant 2 : i64 -> i64
  pipe.batch size(%batch) last drop {
    pipe.output "a" %i axes ["n"] stored ["n"] : i64
  }
}

// -----

// Headers of the row's own file are read for that, and of no other row's.
// CHECK: pipe.kernel @rows "rows"
// CHECK: pipe.cast value %{{.*}} : i64 -> f64
// CHECK-LABEL: pipe.pipeline @headers
// CHECK: pipe.probe "wave" "samples" %{{.*}} {of_rows} : i64
pipe.pipeline @headers seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "file_list" (%root) named ["list"] columns {data = !pipe.bytes} : !pipe.text
  %row = pipe.row sequential %table
  %data = pipe.field %row "data" : !pipe.bytes
  %samples = pipe.probe "wave" "samples" %data : i64
  %length = pipe.cast value %samples : i64 -> f64
  pipe.admit length %length
  %limit = pipe.constant 100 : i64 -> i64
  %buckets = pipe.constant 2 : i64 -> i64
  pipe.batch size(%limit) buckets(%buckets) last drop {
    pipe.output "a" %samples axes ["n"] stored ["n"] : i64
  }
}

// -----

// The place of the pipeline's row is there for all of them, and what is picked by it goes with the row.
// CHECK: pipe.kernel @select "select"
// CHECK: %[[PLACE:.*]] = pipe.entry [[INDEX:[0-9]+]] : i64
// CHECK: %[[NEXT:.*]] = pipe.binary add %[[PLACE]]
// CHECK: pipe.set_entry [[WANTED:[0-9]+]], %[[NEXT]] : i64
// CHECK: pipe.kernel @rows "rows"
// CHECK: pipe.entry [[INDEX]] : i64
// CHECK-LABEL: pipe.pipeline @places
// CHECK: %[[PICKED:.*]] = pipe.entry [[WANTED]] : i64
// CHECK: %[[ROW_INDEX:.*]] = pipe.row_index
// CHECK: pipe.set_entry [[INDEX]], %[[ROW_INDEX]] {by_rows} : i64
// CHECK: pipe.pick %{{.*}}[%[[PICKED]]] {group = 0 : i64, of_row}
// CHECK: pipe.pick %{{.*}}[%{{[^]]*}}] {group = 1 : i64, of_batch}
pipe.pipeline @places seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %other = pipe.param "other" default(3 : i64) : i64
  %table = pipe.source "raw" (%root) named ["root"] columns {i = i64} : !pipe.text
  %row = pipe.row sequential %table
  %place = pipe.row_index %row
  %one = pipe.constant 1 : i64 -> i64
  %next = pipe.binary add %place, %one : i64
  %keep = pipe.compare ge %place, %one : i64
  pipe.admit where %keep
  %beside = pipe.pick %table[%next]
  %same = pipe.pick %table[%other]
  %i = pipe.field %beside "i" : i64
  %j = pipe.field %same "i" : i64
  %batch = pipe.constant 2 : i64 -> i64
  pipe.batch size(%batch) last drop {
    pipe.output "a" %i axes ["n"] stored ["n"] : i64
    pipe.output "b" %j axes ["n"] stored ["n"] : i64
  }
}

// -----

// Elements of fields are loads of setup and of rows, whose tensors are the fields: one that is there, and one that nothing else
// reads. The extent that is there is that of both.
// CHECK: pipe.kernel @setup "setup"
// CHECK-NEXT: ^bb0(%[[L:.*]]: !pipe.tensor<i64[k=? max 9]>):
// CHECK: pipe.load %[[L]][%{{.*}}]
// CHECK: pipe.kernel @rows "rows"
// CHECK-NEXT: ^bb0(%[[B:.*]]: !pipe.tensor<f32[w=4]>):
// CHECK: pipe.load %[[B]][%{{.*}}]
// CHECK-LABEL: pipe.pipeline @elements
// CHECK: %[[FB:.*]] = pipe.field %{{.*}} "b"
// CHECK-NEXT: pipe.fields "rows"(%[[FB]])
// CHECK-NEXT: pipe.field_extent
// CHECK-NEXT: pipe.set_entry
// CHECK-NEXT: %[[FL:.*]] = pipe.field %{{.*}} "l"
// CHECK-NEXT: pipe.fields "setup"(%[[FL]])
// CHECK-NOT: pipe.set_entry
// CHECK: pipe.batch
pipe.pipeline @elements seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {l = !pipe.tensor<i64[k=? max 9]>, b = !pipe.tensor<f32[w=4]>} : !pipe.text
  %row = pipe.row sequential %table
  %k = pipe.field_extent %row "l" "k"
  %one = pipe.constant 1 : i64 -> i64
  %last = pipe.binary sub %k, %one : i64
  %a = pipe.field_element %row "l"[%last] of !pipe.tensor<i64[k=? max 9]> : i64
  %b = pipe.field_element %row "b"[%one] of !pipe.tensor<f32[w=4]> : f32
  %zero = pipe.constant 0.0 : f32 -> f32
  %keep = pipe.compare gt %b, %zero : f32
  pipe.admit where %keep
  %batch = pipe.constant 2 : i64 -> i64
  pipe.batch size(%batch) last drop {
    pipe.output "a" %a axes ["n"] stored ["n"] : i64
  }
}

// -----

// What is picked by one draw goes together, also where a second draw joins two that were apart; what all samples of a batch
// pick is told. Where a picked row stands is known once it is there.
// CHECK-LABEL: pipe.pipeline @groups
// CHECK: pipe.pick %{{.*}} {group = 4 : i64}
// CHECK: pipe.pick %{{.*}} {group = 4 : i64}
// CHECK: pipe.pick %{{.*}} {group = 2 : i64}
// CHECK: pipe.pick %{{.*}} {group = 3 : i64, of_batch}
// CHECK: %[[BOTH:.*]] = pipe.pick %{{.*}} {group = 4 : i64}
// CHECK: %[[PLACE:.*]] = pipe.row_index %[[BOTH]]
// CHECK: pipe.set_entry {{[0-9]+}}, %[[PLACE]] : i64
pipe.pipeline @groups seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {i = i64} : !pipe.text
  %row = pipe.row sequential %table
  %own = pipe.field %row "i" : i64
  %key = pipe.key sample
  %of_batch = pipe.key batch
  %zero = pipe.constant 0 : i64 -> i64
  %many = pipe.constant 9 : i64 -> i64
  %a = pipe.draw integer %key (%zero, %many : i64, i64) id 1 path "p/a" : i64
  %b = pipe.draw integer %key (%zero, %many : i64, i64) id 2 path "p/b" : i64
  %c = pipe.draw integer %key (%zero, %many : i64, i64) id 3 path "p/c" : i64
  %d = pipe.draw integer %of_batch (%zero, %many : i64, i64) id 4 path "p/d" : i64
  %both = pipe.binary add %a, %b : i64
  %of_a = pipe.pick %table[%a]
  %of_b = pipe.pick %table[%b]
  %of_c = pipe.pick %table[%c]
  %of_d = pipe.pick %table[%d]
  %of_both = pipe.pick %table[%both]
  %va = pipe.field %of_a "i" : i64
  %vb = pipe.field %of_b "i" : i64
  %vc = pipe.field %of_c "i" : i64
  %vd = pipe.field %of_d "i" : i64
  %at = pipe.row_index %of_both
  %ab = pipe.binary add %va, %vb : i64
  %cd = pipe.binary add %vc, %vd : i64
  %abcd = pipe.binary add %ab, %cd : i64
  %all = pipe.binary add %abcd, %at : i64
  %sum = pipe.binary add %all, %own : i64
  %batch = pipe.constant 2 : i64 -> i64
  pipe.batch size(%batch) last drop {
    pipe.output "a" %sum axes ["n"] stored ["n"] : i64
  }
}
