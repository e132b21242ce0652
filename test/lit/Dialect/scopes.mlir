// RUN: penstock-opt %s | penstock-opt | FileCheck %s
// REQUIRES: penstock-opt

// Pipelines, branches, loops and batches, written and read back.

// CHECK-LABEL: func.func @branches
func.func @branches(%i: i64, %x: !pipe.tensor<u8[w=4]>, %y: !pipe.tensor<u8[w=4]>) {
  // CHECK: pipe.choose %{{.*}} -> !pipe.tensor<u8[w=4]>
  %0 = pipe.choose %i -> !pipe.tensor<u8[w=4]> {
    // CHECK: pipe.yield %{{.*}} : !pipe.tensor<u8[w=4]>
    pipe.yield %x : !pipe.tensor<u8[w=4]>
  }, {
    // CHECK: pipe.yield %{{.*}} : !pipe.tensor<u8[w=4]>
    pipe.yield %y : !pipe.tensor<u8[w=4]>
  }
  // CHECK: pipe.repeat %{{.*}} bound 4(%{{.*}}) : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<u8[w=4]>
  %1 = pipe.repeat %i bound 4 (%x) : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<u8[w=4]> {
  ^bb0(%n: i64, %carried: !pipe.tensor<u8[w=4]>):
    // CHECK: pipe.yield %{{.*}} : !pipe.tensor<u8[w=4]>
    pipe.yield %carried : !pipe.tensor<u8[w=4]>
  }
  // CHECK: pipe.search 10 -> i64
  %2 = pipe.search 10 -> i64 {
  ^bb0(%n: i64):
    // CHECK: pipe.compare lt %{{.*}}, %{{.*}} : i64
    %ok = pipe.compare lt %n, %i : i64
    // CHECK: pipe.accept %{{.*}}, %{{.*}} : i64
    pipe.accept %ok, %n : i64
  } otherwise {
    // CHECK: pipe.yield %{{.*}} : i64
    pipe.yield %i : i64
  }
  // CHECK: pipe.each "v" 2 -> !pipe.tensor<u8[v=2, w=4]>
  %3 = pipe.each "v" 2 -> !pipe.tensor<u8[v=2, w=4]> {
  ^bb0(%v: i64):
    // CHECK: pipe.yield %{{.*}} : !pipe.tensor<u8[w=4]>
    pipe.yield %x : !pipe.tensor<u8[w=4]>
  }
  return
}

// CHECK-LABEL: pipe.pipeline @batches seed 3 substitute 5.000000e-02 hash 7 slots 9
pipe.pipeline @batches seed 3 substitute 5.000000e-02 hash 7 slots 9 {
  // CHECK: pipe.constant 2 : i64 -> i64
  %n = pipe.constant 2 : i64 -> i64
  // CHECK: pipe.constant dense<3> : tensor<4xui8> -> !pipe.tensor<u8[w=4]>
  %x = pipe.constant dense<3> : tensor<4xui8> -> !pipe.tensor<u8[w=4]>
  // CHECK: pipe.batch size(%{{.*}}) global last keep
  pipe.batch size(%n) global last keep {
    // CHECK: pipe.peer %{{.*}}[%{{.*}}] : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=4]>
    %0 = pipe.peer %x[%n] : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=4]>
    // CHECK: pipe.peers %{{.*}} along "n" sizes(%{{.*}}) : <u8[w=4]> -> <u8[n=?, w=4]>
    %1 = pipe.peers %x along "n" sizes(%n) : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[n=?, w=4]>
    // CHECK: pipe.output "x" %{{.*}} axes ["n", "w"] stored ["w", "n"] on gpu : !pipe.tensor<u8[w=4]>
    pipe.output "x" %0 axes ["n", "w"] stored ["w", "n"] on gpu : !pipe.tensor<u8[w=4]>
    // CHECK: pipe.output "n" %{{.*}} axes ["n"] stored ["n"] : i64
    pipe.output "n" %n axes ["n"] stored ["n"] : i64
  }
}

// CHECK-LABEL: pipe.pipeline @lengths
pipe.pipeline @lengths seed 3 substitute 5.000000e-02 {
  %n = pipe.constant 2 : i64 -> i64
  %x = pipe.constant dense<3> : tensor<4xui8> -> !pipe.tensor<u8[w=4]>
  %c = pipe.constant 4 : i64 -> i64
  %y = pipe.cast value %x : !pipe.tensor<u8[w=4]> -> !pipe.tensor<f32[w=4]>
  // CHECK: pipe.batch size(%{{.*}}) buckets(%{{.*}}) last keep
  pipe.batch size(%c) buckets(%n) last keep {
    %0 = pipe.view %y by affine_map<(d0) -> (d0)>[] sizes(%n) : <f32[w=4]> -> <f32[w=? max 4]>
    // CHECK: pipe.output "x" %{{.*}} sizes(%{{.*}}) axes ["n", "w"] stored ["n", "w"] ragged fill -1.000000e+00 : f32 : !pipe.tensor<f32[w=? max 4]>
    pipe.output "x" %0 sizes(%n) axes ["n", "w"] stored ["n", "w"] ragged fill -1.0 : f32 : !pipe.tensor<f32[w=? max 4]>
  }
}
