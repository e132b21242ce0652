// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 --pipe-kernel-to-loops | FileCheck %s
// REQUIRES: penstock-opt

// Pieces of which there are none are no run of elements: each result is what a sum begins with.
// CHECK-LABEL: func.func @sums_no_rows
// CHECK: return
pipe.kernel @sums_no_rows "pixels" {
^bb0(%x: !pipe.tensor<i32[h=0, w=32]>):
  %0 = pipe.view %x by affine_map<(d0, d1, d2) -> (d0, d1 * 4 + d2)> []
      : !pipe.tensor<i32[h=0, w=32]> -> !pipe.tensor<i32[h=0, w=8, j=4]>
  %1 = pipe.reduce sum %0 over ["h", "j"]
      {reduction = #schedule.reduction<way = across, along = "w", lanes = 8, pieces = true>} : !pipe.tensor<i32[h=0, w=8, j=4]> -> !pipe.tensor<i32[w=8]>
  pipe.return %1 : !pipe.tensor<i32[w=8]>
}
