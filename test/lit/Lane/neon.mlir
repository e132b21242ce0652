// RUN: penstock-opt %s --pipe-loops-to-llvm=level=64 | FileCheck %s
// REQUIRES: penstock-opt

// The ops of the dialect that 64-bit ARM has, and their instructions there.

// CHECK-LABEL: llvm.func @sums
func.func @sums(%a: vector<8xi16>, %b: vector<8xi16>) -> vector<4xi32> {
  // CHECK-DAG: %[[A0:.*]] = llvm.shufflevector %arg0, %arg0 [0, 1, 2, 3]
  // CHECK-DAG: %[[B0:.*]] = llvm.shufflevector %arg1, %arg1 [0, 1, 2, 3]
  // CHECK: %[[LOW:.*]] = llvm.call_intrinsic "llvm.aarch64.neon.smull.v4i32"(%[[A0]], %[[B0]])
  // CHECK-DAG: %[[A1:.*]] = llvm.shufflevector %arg0, %arg0 [4, 5, 6, 7]
  // CHECK-DAG: %[[B1:.*]] = llvm.shufflevector %arg1, %arg1 [4, 5, 6, 7]
  // CHECK: %[[HIGH:.*]] = llvm.call_intrinsic "llvm.aarch64.neon.smull.v4i32"(%[[A1]], %[[B1]])
  // CHECK: llvm.call_intrinsic "llvm.aarch64.neon.addp.v4i32"(%[[LOW]], %[[HIGH]])
  %0 = lane.dot_pairs %a, %b : vector<8xi16> -> vector<4xi32>
  return %0 : vector<4xi32>
}

// Places that tbl would answer with 0 are brought below the number of bytes first.
// CHECK-LABEL: llvm.func @by_number
// CHECK-SAME: %[[LOW:.*]]: vector<16xi8>, %[[HIGH:.*]]: vector<16xi8>, %[[PLACES:.*]]: vector<16xi8>, %[[INTS:.*]]: vector<4xi32>
func.func @by_number(%low: vector<16xi8>, %high: vector<16xi8>, %places: vector<16xi8>, %ints: vector<4xi32>) -> (vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<4xi32>) {
  // CHECK: %[[M0:.*]] = llvm.mlir.constant(dense<-113> : vector<16xi8>)
  // CHECK: %[[P0:.*]] = llvm.and %[[PLACES]], %[[M0]]
  // CHECK: "llvm.aarch64.neon.tbl1.v16i8"(%[[LOW]], %[[P0]])
  %0 = lane.shuffle_parts %low, %places : vector<16xi8>
  // CHECK: %[[M1:.*]] = llvm.mlir.constant(dense<15> : vector<16xi8>)
  // CHECK: %[[P1:.*]] = llvm.and %[[PLACES]], %[[M1]]
  // CHECK: "llvm.aarch64.neon.tbl1.v16i8"(%[[LOW]], %[[P1]])
  %1 = lane.permute %low, %places : vector<16xi8>
  // CHECK: %[[M2:.*]] = llvm.mlir.constant(dense<31> : vector<16xi8>)
  // CHECK: %[[P2:.*]] = llvm.and %[[PLACES]], %[[M2]]
  // CHECK: "llvm.aarch64.neon.tbl2.v16i8"(%[[LOW]], %[[HIGH]], %[[P2]])
  %2 = lane.permute_two %low, %high, %places : vector<16xi8>
  // CHECK: %[[M3:.*]] = llvm.mlir.constant(dense<7> : vector<4xi32>)
  // CHECK: %[[P3:.*]] = llvm.and %[[INTS]], %[[M3]]
  // CHECK: llvm.mlir.constant(dense<67372036> : vector<4xi32>)
  // CHECK: llvm.mlir.constant(dense<50462976> : vector<4xi32>)
  // CHECK: "llvm.aarch64.neon.tbl2.v16i8"
  %3 = lane.permute_two %ints, %ints, %ints : vector<4xi32>
  return %0, %1, %2, %3 : vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<4xi32>
}

// Of half a register: places count modulo 8.
// CHECK-LABEL: llvm.func @of_few
// CHECK-SAME: %[[BYTES:.*]]: vector<8xi8>, %[[PLACES:.*]]: vector<8xi8>
func.func @of_few(%bytes: vector<8xi8>, %places: vector<8xi8>) -> vector<8xi8> {
  // CHECK-DAG: %[[WHOLE:.*]] = llvm.shufflevector %[[BYTES]], %[[BYTES]] [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
  // CHECK-DAG: %[[MASK:.*]] = llvm.mlir.constant(dense<7> : vector<8xi8>)
  // CHECK: %[[WITHIN:.*]] = llvm.and %[[PLACES]], %[[MASK]]
  // CHECK: %[[AT:.*]] = llvm.shufflevector %[[WITHIN]], %[[WITHIN]]
  // CHECK: %[[TAKEN:.*]] = llvm.call_intrinsic "llvm.aarch64.neon.tbl1.v16i8"(%[[WHOLE]], %[[AT]])
  // CHECK: llvm.shufflevector %[[TAKEN]], %[[TAKEN]] [0, 1, 2, 3, 4, 5, 6, 7]
  %0 = lane.permute %bytes, %places : vector<8xi8>
  return %0 : vector<8xi8>
}

// CHECK-LABEL: llvm.func @narrow
func.func @narrow(%a: vector<4xi32>, %b: vector<8xi16>) -> (vector<8xi16>, vector<16xi8>) {
  // CHECK: "llvm.aarch64.neon.sqxtun.v4i16"
  // CHECK: "llvm.aarch64.neon.sqxtun.v4i16"
  %0 = lane.pack %a, %a : vector<4xi32> -> vector<8xi16>
  // CHECK: "llvm.aarch64.neon.sqxtun.v8i8"
  // CHECK: "llvm.aarch64.neon.sqxtun.v8i8"
  %1 = lane.pack %b, %b : vector<8xi16> -> vector<16xi8>
  return %0, %1 : vector<8xi16>, vector<16xi8>
}

// CHECK-LABEL: llvm.func @floats
func.func @floats(%a: vector<4xf32>, %b: vector<4xf32>) -> (vector<4xf32>, vector<4xf32>, vector<4xf32>) {
  // CHECK: "llvm.aarch64.neon.fminnm.v4f32"
  %0 = lane.min_number %a, %b : vector<4xf32>
  // CHECK: "llvm.aarch64.neon.fmaxnm.v4f32"
  %1 = lane.max_number %a, %b : vector<4xf32>
  // CHECK: %[[NAN:.*]] = llvm.fcmp "uno" %arg0, %arg0
  // CHECK: %[[OTHER:.*]] = llvm.mlir.constant(dense<0x7F800000> : vector<4xf32>)
  // CHECK: llvm.select %[[NAN]], %[[OTHER]], %arg0
  %2 = lane.replace_nan infinity %a : vector<4xf32>
  return %0, %1, %2 : vector<4xf32>, vector<4xf32>, vector<4xf32>
}
