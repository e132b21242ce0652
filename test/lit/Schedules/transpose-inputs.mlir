// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 | FileCheck %s
// REQUIRES: penstock-opt

// The second matrix is read once for each row of the first one, and its rows lie across the lanes.
// CHECK: #[[TURNED:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: pipe.kernel @pairs
pipe.kernel @pairs "pixels" {
^bb0(%a: !pipe.tensor<f32[i=16, k=32]>, %b: !pipe.tensor<f32[j=64, k=32]>):
  // CHECK: %[[T:.*]] = pipe.view %{{.*}} by #[[TURNED]][] {{.*}}schedule = "scratch"{{.*}} -> <f32[k=32, j=64]>
  // CHECK: pipe.map(%{{.*}}, %[[T]])
  %0 = pipe.map(%a, %b) : (!pipe.tensor<f32[i=16, k=32]>, !pipe.tensor<f32[j=64, k=32]>) -> !pipe.tensor<f32[i=16, k=32, j=64]> {
  ^bb0(%p: f32, %q: f32, %i: i64, %k: i64, %j: i64):
    %d = pipe.binary sub %p, %q : f32
    pipe.yield %d : f32
  }
  pipe.return %0 : !pipe.tensor<f32[i=16, k=32, j=64]>
}

// Read once, a copy costs as much as it saves.
// CHECK-LABEL: pipe.kernel @read_once
pipe.kernel @read_once "pixels" {
^bb0(%a: !pipe.tensor<f32[k=32]>, %b: !pipe.tensor<f32[j=64, k=32]>):
  // CHECK-NOT: pipe.view
  // CHECK: pipe.return
  %0 = pipe.map(%a, %b) : (!pipe.tensor<f32[k=32]>, !pipe.tensor<f32[j=64, k=32]>) -> !pipe.tensor<f32[k=32, j=64]> {
  ^bb0(%p: f32, %q: f32, %k: i64, %j: i64):
    %d = pipe.binary sub %p, %q : f32
    pipe.yield %d : f32
  }
  pipe.return %0 : !pipe.tensor<f32[k=32, j=64]>
}

// Pixels' channels are taken apart in registers.
// CHECK-LABEL: pipe.kernel @near_enough
pipe.kernel @near_enough "pixels" {
^bb0(%a: !pipe.tensor<f32[i=16]>, %b: !pipe.tensor<f32[j=64, c=3]>):
  // CHECK-NOT: pipe.view
  // CHECK: pipe.return
  %0 = pipe.map(%a, %b) : (!pipe.tensor<f32[i=16]>, !pipe.tensor<f32[j=64, c=3]>) -> !pipe.tensor<f32[i=16, c=3, j=64]> {
  ^bb0(%p: f32, %q: f32, %i: i64, %c: i64, %j: i64):
    %d = pipe.binary sub %p, %q : f32
    pipe.yield %d : f32
  }
  pipe.return %0 : !pipe.tensor<f32[i=16, c=3, j=64]>
}

// Corners of many boxes, each read for each other box, and a matrix that is read across its rows.
// CHECK-LABEL: pipe.kernel @views_that_are_there
pipe.kernel @views_that_are_there "pixels" {
^bb0(%a: !pipe.tensor<f32[i=64]>, %b: !pipe.tensor<f32[j=64, c=4]>, %x: !pipe.tensor<f32[t=16, k=32]>, %y: !pipe.tensor<f32[j=64, k=32]>):
  // CHECK: %[[CORNER:.*]] = pipe.view %{{.*}} {{.*}}schedule = "scratch"{{.*}} -> <f32[j=64]>
  // CHECK: %[[FIRST:.*]] = pipe.view %{{.*}} {{.*}}<f32[i=64]> -> <f32[i=64]>
  // CHECK: pipe.map(%[[FIRST]], %[[CORNER]])
  // CHECK: %[[T:.*]] = pipe.view %{{.*}} {{.*}}schedule = "scratch"{{.*}} -> <f32[k=32, j=64]>
  // CHECK: pipe.contract %{{.*}} by %[[T]]
  %v = pipe.view %b by affine_map<(d0) -> (d0, 2)>[] : <f32[j=64, c=4]> -> <f32[j=64]>
  %u = pipe.view %a by affine_map<(d0) -> (63 - d0)>[] : <f32[i=64]> -> <f32[i=64]>
  %0 = pipe.map(%u, %v) : (!pipe.tensor<f32[i=64]>, !pipe.tensor<f32[j=64]>) -> !pipe.tensor<f32[i=64, j=64]> {
  ^bb0(%p: f32, %q: f32, %i: i64, %j: i64):
    %d = pipe.binary sub %p, %q : f32
    pipe.yield %d : f32
  }
  %w = pipe.view %y by affine_map<(d0, d1) -> (d1, d0)>[] : <f32[j=64, k=32]> -> <f32[k=32, j=64]>
  %1 = pipe.contract %x by %w : <f32[t=16, k=32]>, <f32[k=32, j=64]> -> <f32[t=16, j=64]>
  pipe.return %0, %1 : !pipe.tensor<f32[i=64, j=64]>, !pipe.tensor<f32[t=16, j=64]>
}

// A copy that leaves the near cache is none.
// CHECK-LABEL: pipe.kernel @large_matrix
pipe.kernel @large_matrix "pixels" {
^bb0(%x: !pipe.tensor<f32[t=16, k=1024]>, %y: !pipe.tensor<f32[j=1024, k=1024]>):
  // CHECK-NOT: schedule = "scratch"
  // CHECK: pipe.return
  %w = pipe.view %y by affine_map<(d0, d1) -> (d1, d0)>[] : <f32[j=1024, k=1024]> -> <f32[k=1024, j=1024]>
  %1 = pipe.contract %x by %w : <f32[t=16, k=1024]>, <f32[k=1024, j=1024]> -> <f32[t=16, j=1024]>
  pipe.return %1 : !pipe.tensor<f32[t=16, j=1024]>
}
