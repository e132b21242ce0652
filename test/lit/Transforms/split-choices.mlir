// RUN: penstock-opt %s --pipe-split-choices | FileCheck %s

// Each tensor goes its own way, with the sizes of its own axes.
// CHECK-LABEL: func.func @flips_a_photo_and_its_boxes
// CHECK-SAME: %[[I:[a-z0-9]+]]: i64, %[[X:[a-z0-9]+]]: !pipe.tensor<u8[h=?, w=?]>, %[[Y:[a-z0-9]+]]: !pipe.tensor<f32[k=?]>, %[[H:[a-z0-9]+]]: i64, %[[W:[a-z0-9]+]]: i64, %[[K:[a-z0-9]+]]: i64
func.func @flips_a_photo_and_its_boxes(%i: i64, %x: !pipe.tensor<u8[h=?, w=?]>, %y: !pipe.tensor<f32[k=?]>, %h: i64, %w: i64, %k: i64) -> (!pipe.tensor<u8[h=?, w=?]>, !pipe.tensor<f32[k=?]>) {
  // CHECK: %[[PHOTO:.*]] = pipe.choose %[[I]] sizes(%[[H]], %[[W]]) -> !pipe.tensor<u8[h=?, w=?]> {
  // CHECK-NEXT: pipe.yield %[[X]]
  // CHECK-NEXT: }, {
  // CHECK-NEXT: %[[FLIPPED:.*]] = pipe.view %[[X]]
  // CHECK-NEXT: pipe.yield %[[FLIPPED]]
  // CHECK: %[[BOXES:.*]] = pipe.choose %[[I]] sizes(%[[K]]) -> !pipe.tensor<f32[k=?]> {
  // CHECK-NEXT: pipe.yield %[[Y]]
  // CHECK-NEXT: }, {
  // CHECK-NEXT: %[[MOVED:.*]] = pipe.map(%[[Y]])
  // CHECK: pipe.yield %[[MOVED]]
  // CHECK: return %[[PHOTO]], %[[BOXES]]
  %0:2 = pipe.choose %i sizes(%h, %w, %k) -> !pipe.tensor<u8[h=?, w=?]>, !pipe.tensor<f32[k=?]> {
    pipe.yield %x, %y : !pipe.tensor<u8[h=?, w=?]>, !pipe.tensor<f32[k=?]>
  }, {
    %f = pipe.view %x by affine_map<(h, w)[s0] -> (h, -w + s0)> [%w] sizes(%h, %w) : !pipe.tensor<u8[h=?, w=?]> -> !pipe.tensor<u8[h=?, w=?]>
    %m = pipe.map (%y) sizes(%k) : (!pipe.tensor<f32[k=?]>) -> !pipe.tensor<f32[k=?]> {
    ^bb0(%e: f32, %at: i64):
      %n = pipe.binary add %e, %e : f32
      pipe.yield %n : f32
    }
    pipe.yield %f, %m : !pipe.tensor<u8[h=?, w=?]>, !pipe.tensor<f32[k=?]>
  }
  return %0#0, %0#1 : !pipe.tensor<u8[h=?, w=?]>, !pipe.tensor<f32[k=?]>
}

// What an arm computes for two of three results, it computes once; views and pads it may repeat. A check fails once.
// CHECK-LABEL: func.func @computes_once
func.func @computes_once(%i: i64, %good: i1, %x: !pipe.tensor<f32[w=4]>) -> (!pipe.tensor<f32[w=4]>, !pipe.tensor<f32[w=4]>, !pipe.tensor<f32[w=4]>) {
  // CHECK: pipe.choose %{{.*}} -> !pipe.tensor<f32[w=4]>, !pipe.tensor<f32[w=4]> {
  // CHECK: pipe.check
  // CHECK: pipe.view
  // CHECK: pipe.map
  // CHECK: pipe.choose %{{.*}} -> !pipe.tensor<f32[w=4]> {
  // CHECK-NOT: pipe.check
  // CHECK-NOT: pipe.map
  // CHECK: pipe.view
  %0:3 = pipe.choose %i -> !pipe.tensor<f32[w=4]>, !pipe.tensor<f32[w=4]>, !pipe.tensor<f32[w=4]> {
    pipe.yield %x, %x, %x : !pipe.tensor<f32[w=4]>, !pipe.tensor<f32[w=4]>, !pipe.tensor<f32[w=4]>
  }, {
    pipe.check %good, "is bad"(%i, %i)
    %f = pipe.view %x by affine_map<(w) -> (-w + 3)> [] : !pipe.tensor<f32[w=4]> -> !pipe.tensor<f32[w=4]>
    %m = pipe.map (%f) : (!pipe.tensor<f32[w=4]>) -> !pipe.tensor<f32[w=4]> {
    ^bb0(%e: f32, %at: i64):
      %n = pipe.binary add %e, %e : f32
      pipe.yield %n : f32
    }
    %g = pipe.view %m by affine_map<(w) -> (-w + 3)> [] : !pipe.tensor<f32[w=4]> -> !pipe.tensor<f32[w=4]>
    pipe.yield %m, %f, %g : !pipe.tensor<f32[w=4]>, !pipe.tensor<f32[w=4]>, !pipe.tensor<f32[w=4]>
  }
  return %0#0, %0#1, %0#2 : !pipe.tensor<f32[w=4]>, !pipe.tensor<f32[w=4]>, !pipe.tensor<f32[w=4]>
}
