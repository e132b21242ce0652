// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 --pipe-kernel-to-loops | FileCheck %s
// REQUIRES: penstock-opt

// A merge sort of places: keys that order as the elements do, then runs of twice the length, from one half of the
// scratch memory to the other.
// CHECK-LABEL: func.func @sorts(
// CHECK: arith.cmpf oeq
// CHECK: arith.xori
// CHECK: scf.while
// CHECK: arith.shli
// CHECK: scf.for {{.*}} iter_args
// CHECK: arith.cmpi sle
// CHECK: arith.select
// CHECK: llvm.store {{.*}} : i64
pipe.kernel @sorts "pixels" {
^bb0(%x: !pipe.tensor<f32[t=9, k=100]>):
  %0 = pipe.sort %x along "k" : !pipe.tensor<f32[t=9, k=100]> -> !pipe.tensor<i64[t=9, k=100]>
  pipe.return %0 : !pipe.tensor<i64[t=9, k=100]>
}
