// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 --pipe-kernel-to-loops | FileCheck %s
// REQUIRES: penstock-opt

// A counter for each group, 0 when the group is met first; an element of no group has -1.
// CHECK-LABEL: func.func @ranks(
// CHECK: scf.for {{.*}} iter_args
// CHECK: scf.if {{.*}} -> (i64, i64)
// CHECK: scf.for
// CHECK: arith.addi
// CHECK: llvm.store
// CHECK: } else {
// CHECK: scf.yield %c-1_i64,
// CHECK: return
pipe.kernel @ranks "pixels" {
^bb0(%g: !pipe.tensor<i64[k=90]>):
  %0 = pipe.rank_by %g along "k" : !pipe.tensor<i64[k=90]> -> !pipe.tensor<i64[k=90]>
  pipe.return %0 : !pipe.tensor<i64[k=90]>
}
