// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 --pipe-kernel-to-loops | FileCheck %s
// REQUIRES: penstock-opt

// A table of hashes of twice as many places as there may be groups, searched from the key's place on; numbers
// and keys have four bytes.
// CHECK-LABEL: func.func @groups(
// CHECK: arith.xori
// CHECK: arith.muli
// CHECK: scf.while
// CHECK: arith.cmpi eq
// CHECK: scf.if
// CHECK: llvm.store {{.*}} : i32
// CHECK: llvm.store {{.*}} : i32
// CHECK: return
pipe.kernel @groups "pixels" {
^bb0(%x: !pipe.tensor<i32[k=90]>):
  %0, %1, %2 = pipe.group %x along "k" limit 4 : <i32[k=90]> -> <i64[k=90]>, <i64[m=4]>, <i64[]>
  pipe.return %0, %1, %2 : !pipe.tensor<i64[k=90]>, !pipe.tensor<i64[m=4]>, !pipe.tensor<i64[]>
}
