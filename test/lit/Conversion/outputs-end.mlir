// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 --pipe-kernel-to-loops | FileCheck %s
// REQUIRES: penstock-opt

// Every third number of an output that was just made: nothing is read behind the last one.
// CHECK-LABEL: func.func @reads_an_output_again
// CHECK: llvm.load {{.*}} -> vector<94xi32>
// CHECK-NOT: vector<96xi32>
// CHECK: return
pipe.kernel @reads_an_output_again "pixels" {
^bb0(%x: !pipe.tensor<i32[h=40, w=94]>):
  %0 = pipe.reduce sum %x over ["h"] : !pipe.tensor<i32[h=40, w=94]> -> !pipe.tensor<i32[w=94]>
  %1 = pipe.view %0 by affine_map<(d0) -> (d0 * 3)> [] : !pipe.tensor<i32[w=94]> -> !pipe.tensor<i32[w=32]>
  pipe.return %0, %1 : !pipe.tensor<i32[w=94]>, !pipe.tensor<i32[w=32]>
}
