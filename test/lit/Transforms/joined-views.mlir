// RUN: penstock-opt %s --pipe-compose-views --split-input-file | FileCheck %s
// REQUIRES: penstock-opt

// One channel of two pictures side by side, with rows and columns exchanged and the axis renamed.
// CHECK-DAG: #[[CHANNEL:.*]] = affine_map<(d0, d1) -> (d1, d0, 1)>
// CHECK-LABEL: func.func @channel
// CHECK-SAME: (%[[A:.*]]: !pipe.tensor<u8[h=4, w=5, c=3]>, %[[B:.*]]: !pipe.tensor<u8[h=4, w=2, c=3]>)
// CHECK: %[[X:.*]] = pipe.view %[[A]] by #[[CHANNEL]][] {{.*}} -> <u8[x=5, h=4]>
// CHECK: %[[Y:.*]] = pipe.view %[[B]] by #[[CHANNEL]][] {{.*}} -> <u8[x=2, h=4]>
// CHECK: pipe.concat "x"(%[[X]], %[[Y]]) {{.*}} -> <u8[x=7, h=4]>
func.func @channel(%a: !pipe.tensor<u8[h=4, w=5, c=3]>, %b: !pipe.tensor<u8[h=4, w=2, c=3]>) -> !pipe.tensor<u8[x=7, h=4]> {
  %0 = pipe.concat "w" (%a, %b) : !pipe.tensor<u8[h=4, w=5, c=3]>, !pipe.tensor<u8[h=4, w=2, c=3]> -> !pipe.tensor<u8[h=4, w=7, c=3]>
  %1 = pipe.view %0 by affine_map<(d0, d1) -> (d1, d0, 1)> [] : !pipe.tensor<u8[h=4, w=7, c=3]> -> !pipe.tensor<u8[x=7, h=4]>
  return %1 : !pipe.tensor<u8[x=7, h=4]>
}

// -----

// A part that ends in the second and begins in the first of three; the third is not read.
// CHECK-DAG: #[[FIRST:.*]] = affine_map<(d0) -> (d0 + 3)>
// CHECK-DAG: #[[SECOND:.*]] = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @part
// CHECK-SAME: (%[[A:.*]]: !pipe.tensor<f32[w=5]>, %[[B:.*]]: !pipe.tensor<f32[w=4]>,
// CHECK: %[[X:.*]] = pipe.view %[[A]] by #[[FIRST]][] {{.*}} -> <f32[w=2]>
// CHECK: %[[Y:.*]] = pipe.view %[[B]] by #[[SECOND]][] {{.*}} -> <f32[w=3]>
// CHECK: pipe.concat "w"(%[[X]], %[[Y]]) {{.*}} -> <f32[w=5]>
func.func @part(%a: !pipe.tensor<f32[w=5]>, %b: !pipe.tensor<f32[w=4]>, %c: !pipe.tensor<f32[w=6]>) -> !pipe.tensor<f32[w=5]> {
  %0 = pipe.concat "w" (%a, %b, %c) : !pipe.tensor<f32[w=5]>, !pipe.tensor<f32[w=4]>, !pipe.tensor<f32[w=6]> -> !pipe.tensor<f32[w=15]>
  %1 = pipe.view %0 by affine_map<(d0) -> (d0 + 3)> [] : !pipe.tensor<f32[w=15]> -> !pipe.tensor<f32[w=5]>
  return %1 : !pipe.tensor<f32[w=5]>
}

// -----

// A part of one alone is that part.
// CHECK: #[[PLACE:.*]] = affine_map<(d0) -> (d0 + 1)>
// CHECK-LABEL: func.func @one
// CHECK-SAME: , %[[B:[a-z0-9]+]]: !pipe.tensor<f32[w=4]>)
// CHECK: %[[X:.*]] = pipe.view %[[B]] by #[[PLACE]][] {{.*}} -> <f32[w=3]>
// CHECK-NEXT: return %[[X]]
func.func @one(%a: !pipe.tensor<f32[w=5]>, %b: !pipe.tensor<f32[w=4]>) -> !pipe.tensor<f32[w=3]> {
  %0 = pipe.concat "w" (%a, %b) : !pipe.tensor<f32[w=5]>, !pipe.tensor<f32[w=4]> -> !pipe.tensor<f32[w=9]>
  %1 = pipe.view %0 by affine_map<(d0) -> (d0 + 6)> [] : !pipe.tensor<f32[w=9]> -> !pipe.tensor<f32[w=3]>
  return %1 : !pipe.tensor<f32[w=3]>
}

// -----

// Every second element, a diagonal, and what others read too stay as they are.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-3: pipe.concat
// CHECK-COUNT-3: pipe.view
// CHECK-NOT: pipe.concat
func.func @others(%a: !pipe.tensor<f32[h=4, w=4]>) -> (!pipe.tensor<f32[h=4, w=4]>, !pipe.tensor<f32[h=4]>, !pipe.tensor<f32[h=4, w=2]>, !pipe.tensor<f32[h=4, w=8]>) {
  %0 = pipe.concat "w" (%a, %a) : !pipe.tensor<f32[h=4, w=4]>, !pipe.tensor<f32[h=4, w=4]> -> !pipe.tensor<f32[h=4, w=8]>
  %1 = pipe.concat "w" (%a, %a) : !pipe.tensor<f32[h=4, w=4]>, !pipe.tensor<f32[h=4, w=4]> -> !pipe.tensor<f32[h=4, w=8]>
  %2 = pipe.concat "w" (%a, %a) : !pipe.tensor<f32[h=4, w=4]>, !pipe.tensor<f32[h=4, w=4]> -> !pipe.tensor<f32[h=4, w=8]>
  %3 = pipe.view %0 by affine_map<(d0, d1) -> (d0, d1 * 2)> [] : !pipe.tensor<f32[h=4, w=8]> -> !pipe.tensor<f32[h=4, w=4]>
  %4 = pipe.view %1 by affine_map<(d0) -> (d0, d0)> [] : !pipe.tensor<f32[h=4, w=8]> -> !pipe.tensor<f32[h=4]>
  %5 = pipe.view %2 by affine_map<(d0, d1) -> (d0, d1 + 3)> [] : !pipe.tensor<f32[h=4, w=8]> -> !pipe.tensor<f32[h=4, w=2]>
  return %3, %4, %5, %2 : !pipe.tensor<f32[h=4, w=4]>, !pipe.tensor<f32[h=4]>, !pipe.tensor<f32[h=4, w=2]>, !pipe.tensor<f32[h=4, w=8]>
}
