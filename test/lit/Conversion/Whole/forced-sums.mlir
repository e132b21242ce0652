// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 --pipe-kernel-to-loops | FileCheck %s
// REQUIRES: penstock-opt

// The schedule says how many elements are added in 32 bits: none, three in each lane at a time, all of them.
// CHECK-LABEL: func.func @none(
// CHECK-NOT: arith.addi {{.*}} : vector<32xi32>
// CHECK-LABEL: func.func @some(
// CHECK: scf.for {{.*}} step %c96
// CHECK: scf.for {{.*}} step %c32{{.*}} -> (vector<32xi32>)
// CHECK: arith.trunci {{.*}} : vector<32xi64> to vector<32xi32>
// CHECK: arith.addi {{.*}} : vector<32xi32>
// CHECK: arith.addi {{.*}} : vector<32xi64>
// CHECK-LABEL: func.func @all(
// CHECK-NOT: arith.addi {{.*}} : vector<32xi64>
// CHECK: arith.addi {{.*}} : vector<32xi32>
// CHECK: arith.extsi {{.*}} : vector<32xi32> to vector<32xi64>
// CHECK: return
pipe.kernel @none "pixels" {
^bb0(%x: !pipe.tensor<bool[w=4096]>):
  %1 = pipe.reduce count %x over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32>} : !pipe.tensor<bool[w=4096]> -> !pipe.tensor<i64[]>
  pipe.return %1 : !pipe.tensor<i64[]>
}
pipe.kernel @some "pixels" {
^bb0(%x: !pipe.tensor<u8[w=4096]>):
  %0 = pipe.cast value %x : !pipe.tensor<u8[w=4096]> -> !pipe.tensor<i64[w=4096]>
  %1 = pipe.reduce sum %0 over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32, small = 3>} : !pipe.tensor<i64[w=4096]> -> !pipe.tensor<i64[]>
  pipe.return %1 : !pipe.tensor<i64[]>
}
pipe.kernel @all "pixels" {
^bb0(%x: !pipe.tensor<bool[w=4096]>):
  %1 = pipe.reduce count %x over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32, small = 128>} : !pipe.tensor<bool[w=4096]> -> !pipe.tensor<i64[]>
  pipe.return %1 : !pipe.tensor<i64[]>
}

// And whether partial sums of floats are carried by a loop, or read and written.
// CHECK-LABEL: func.func @in_memory(
// CHECK-NOT: -> (vector<32xf32>)
// CHECK: llvm.store {{.*}} : f32
// CHECK-LABEL: func.func @across_in_memory(
// CHECK-NOT: iter_args({{.*}}vector<8xf32>
// CHECK: llvm.load {{.*}} -> vector<8xf32>
// CHECK: return
pipe.kernel @in_memory "pixels" {
^bb0(%x: !pipe.tensor<f32[w=64]>):
  %1 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32, sums = memory>} : !pipe.tensor<f32[w=64]> -> !pipe.tensor<f32[]>
  pipe.return %1 : !pipe.tensor<f32[]>
}
pipe.kernel @across_in_memory "pixels" {
^bb0(%x: !pipe.tensor<f32[t=80, w=9]>):
  %1 = pipe.reduce sum %x over ["t"] {reduction = #schedule.reduction<way = across, along = "w", lanes = 8, sums = memory>} : !pipe.tensor<f32[t=80, w=9]> -> !pipe.tensor<f32[w=9]>
  pipe.return %1 : !pipe.tensor<f32[w=9]>
}
