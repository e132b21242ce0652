// RUN: penstock-opt %s | penstock-opt | FileCheck %s
// RUN: penstock-opt %s --pipe-loops-to-llvm | FileCheck %s --check-prefix=X86
// REQUIRES: penstock-opt

// Every op of the dialect, printed and parsed, and its instruction on x86-64.

// CHECK-LABEL: func.func @sums
// X86-LABEL: llvm.func @sums
func.func @sums(%a: vector<8xi16>, %b: vector<16xi16>, %c: vector<32xi16>, %sum: vector<16xi32>) {
  // CHECK: lane.dot_pairs %{{.*}}, %{{.*}} : vector<8xi16> -> vector<4xi32>
  // X86: "llvm.x86.sse2.pmadd.wd"
  %0 = lane.dot_pairs %a, %a : vector<8xi16> -> vector<4xi32>
  // X86: "llvm.x86.avx2.pmadd.wd"
  %1 = lane.dot_pairs %b, %b : vector<16xi16> -> vector<8xi32>
  // X86: "llvm.x86.avx512.pmaddw.d.512"
  %2 = lane.dot_pairs %c, %c : vector<32xi16> -> vector<16xi32>
  // CHECK: lane.dot_quads %{{.*}}, %{{.*}}, %{{.*}} : vector<16xi32>
  // X86: "llvm.x86.avx512.vpdpbusd.512"
  %3 = lane.dot_quads %sum, %sum, %2 : vector<16xi32>
  return
}

// CHECK-LABEL: func.func @by_number
// X86-LABEL: llvm.func @by_number
// X86-SAME: %[[LOW:.*]]: vector<64xi8>, %[[HIGH:.*]]: vector<64xi8>, %[[PLACES:.*]]: vector<64xi8>, %{{.*}}: vector<16xi32>
func.func @by_number(%low: vector<64xi8>, %high: vector<64xi8>, %places: vector<64xi8>, %ints: vector<16xi32>) {
  // CHECK: lane.shuffle_parts %{{.*}}, %{{.*}} : vector<64xi8>
  // X86: "llvm.x86.avx512.pshuf.b.512"
  %0 = lane.shuffle_parts %low, %places : vector<64xi8>
  // CHECK: lane.permute %{{.*}}, %{{.*}} : vector<64xi8>
  // X86: "llvm.x86.avx512.permvar.qi.512"
  %1 = lane.permute %low, %places : vector<64xi8>
  // CHECK: lane.permute_two %{{.*}}, %{{.*}}, %{{.*}} : vector<64xi8>
  // X86: "llvm.x86.avx512.vpermi2var.qi.512"(%[[LOW]], %[[PLACES]], %[[HIGH]])
  %2 = lane.permute_two %low, %high, %places : vector<64xi8>
  // X86: "llvm.x86.avx512.vpermi2var.d.512"
  %3 = lane.permute_two %ints, %ints, %ints : vector<16xi32>
  return
}

// CHECK-LABEL: func.func @narrow
// X86-LABEL: llvm.func @narrow
func.func @narrow(%a: vector<8xi32>, %bytes: vector<32xi8>) -> i32 {
  // CHECK: lane.pack %{{.*}}, %{{.*}} : vector<8xi32> -> vector<16xi16>
  // X86: "llvm.x86.avx2.packusdw"
  %0 = lane.pack %a, %a : vector<8xi32> -> vector<16xi16>
  // X86: "llvm.x86.avx2.packuswb"
  %1 = lane.pack %0, %0 : vector<16xi16> -> vector<32xi8>
  // CHECK: lane.sign_mask %{{.*}} : vector<32xi8>
  // X86: "llvm.x86.avx2.pmovmskb"
  %2 = lane.sign_mask %bytes : vector<32xi8>
  return %2 : i32
}

// CHECK-LABEL: func.func @floats
// X86-LABEL: llvm.func @floats
func.func @floats(%a: vector<16xf32>, %b: vector<16xf32>, %n: vector<16xi32>) {
  // CHECK: lane.min_number %{{.*}}, %{{.*}} : vector<16xf32>
  // X86: llvm.mlir.constant(4 : i32)
  // X86: "llvm.x86.avx512.mask.range.ps.512"
  %0 = lane.min_number %a, %b : vector<16xf32>
  // CHECK: lane.max_number %{{.*}}, %{{.*}} : vector<16xf32>
  // X86: llvm.mlir.constant(5 : i32)
  // X86: "llvm.x86.avx512.mask.range.ps.512"
  %1 = lane.max_number %a, %b : vector<16xf32>
  // CHECK: lane.replace_nan canonical %{{.*}} : vector<16xf32>
  // X86: "llvm.x86.avx512.mask.fixupimm.ps.512"
  %2 = lane.replace_nan canonical %a : vector<16xf32>
  // CHECK: lane.convert_up %{{.*}} : vector<16xi32> -> vector<16xf32>
  // X86: "llvm.x86.avx512.uitofp.round.v16f32.v16i32"
  %3 = lane.convert_up %n : vector<16xi32> -> vector<16xf32>
  return
}
