// RUN: penstock-opt %s --pipe-merge-views | FileCheck %s

// CHECK: #[[FLIP:.*]] = affine_map<(d0)[s0, s1] -> (d0 * s0 + s1)>

// CHECK-LABEL: func.func @flips_by_a_scalar
// CHECK-SAME: (%[[X:.*]]: !pipe.tensor<u8[w=4]>, %[[COIN:.*]]: i1)
func.func @flips_by_a_scalar(%x: !pipe.tensor<u8[w=4]>, %coin: i1) -> !pipe.tensor<u8[w=4]> {
  // CHECK-DAG: %[[STEP:.*]] = pipe.select %[[COIN]], %{{.*}}, %{{.*}} : i64
  // CHECK-DAG: %[[OFFSET:.*]] = pipe.select %[[COIN]], %{{.*}}, %{{.*}} : i64
  // CHECK: %[[VIEW:.*]] = pipe.view %[[X]] by #[[FLIP]][%[[STEP]], %[[OFFSET]]]
  // CHECK-NOT: pipe.choose
  // CHECK: return %[[VIEW]]
  %i = pipe.cast value %coin : i1 -> i64
  %0 = pipe.choose %i -> !pipe.tensor<u8[w=4]> {
    pipe.yield %x : !pipe.tensor<u8[w=4]>
  }, {
    %f = pipe.view %x by affine_map<(d0) -> (-d0 + 3)> []
        : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=4]>
    pipe.yield %f : !pipe.tensor<u8[w=4]>
  }
  return %0 : !pipe.tensor<u8[w=4]>
}

// CHECK-LABEL: func.func @three_crops
func.func @three_crops(%x: !pipe.tensor<u8[w=9]>, %i: i64, %left: i64) -> !pipe.tensor<u8[w=4]> {
  // CHECK-COUNT-2: pipe.select
  // CHECK: pipe.view %arg0
  // CHECK-NOT: pipe.choose
  %0 = pipe.choose %i -> !pipe.tensor<u8[w=4]> {
    %a = pipe.view %x by affine_map<(d0) -> (d0)> []
        : !pipe.tensor<u8[w=9]> -> !pipe.tensor<u8[w=4]>
    pipe.yield %a : !pipe.tensor<u8[w=4]>
  }, {
    %a = pipe.view %x by affine_map<(d0)[s0] -> (d0 + s0)> [%left]
        : !pipe.tensor<u8[w=9]> -> !pipe.tensor<u8[w=4]>
    pipe.yield %a : !pipe.tensor<u8[w=4]>
  }, {
    %a = pipe.view %x by affine_map<(d0) -> (d0 + 5)> []
        : !pipe.tensor<u8[w=9]> -> !pipe.tensor<u8[w=4]>
    pipe.yield %a : !pipe.tensor<u8[w=4]>
  }
  return %0 : !pipe.tensor<u8[w=4]>
}

// CHECK-LABEL: func.func @keeps_arms_that_compute
func.func @keeps_arms_that_compute(%x: !pipe.tensor<u8[w=4]>, %i: i64) -> !pipe.tensor<u8[w=4]> {
  // CHECK: pipe.choose
  // CHECK-SAME: "stays a choice: its arms are not views of one tensor"
  %0 = pipe.choose %i -> !pipe.tensor<u8[w=4]> {
    pipe.yield %x : !pipe.tensor<u8[w=4]>
  }, {
    %f = pipe.map (%x) : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<u8[w=4]> {
    ^bb0(%p: ui8, %w: i64):
      %n = pipe.unary bit_not %p : ui8
      pipe.yield %n : ui8
    }
    pipe.yield %f : !pipe.tensor<u8[w=4]>
  }
  return %0 : !pipe.tensor<u8[w=4]>
}

// CHECK-LABEL: func.func @keeps_views_of_two_tensors
func.func @keeps_views_of_two_tensors(%x: !pipe.tensor<u8[w=4]>, %y: !pipe.tensor<u8[w=4]>, %i: i64) -> !pipe.tensor<u8[w=4]> {
  // CHECK: pipe.choose
  %0 = pipe.choose %i -> !pipe.tensor<u8[w=4]> {
    pipe.yield %x : !pipe.tensor<u8[w=4]>
  }, {
    pipe.yield %y : !pipe.tensor<u8[w=4]>
  }
  return %0 : !pipe.tensor<u8[w=4]>
}

// A view that stands before the choice is a view all the same.
// CHECK-LABEL: func.func @follows_views_out_of_the_arm
func.func @follows_views_out_of_the_arm(%i: i64, %x: !pipe.tensor<u8[w=9]>) -> !pipe.tensor<u8[w=4]> {
  // CHECK-NOT: pipe.choose
  // CHECK: %[[V:.*]] = pipe.view %arg1 by
  // CHECK-NOT: pipe.choose
  // CHECK: return %[[V]]
  %a = pipe.view %x by affine_map<(d0) -> (-d0 + 8)> [] : !pipe.tensor<u8[w=9]> -> !pipe.tensor<u8[w=4]>
  %0 = pipe.choose %i -> !pipe.tensor<u8[w=4]> {
    pipe.yield %a : !pipe.tensor<u8[w=4]>
  }, {
    %b = pipe.view %x by affine_map<(d0) -> (d0 + 1)> [] : !pipe.tensor<u8[w=9]> -> !pipe.tensor<u8[w=4]>
    pipe.yield %b : !pipe.tensor<u8[w=4]>
  }
  return %0 : !pipe.tensor<u8[w=4]>
}
