// RUN: penstock-opt %s --split-input-file --verify-diagnostics --pipe-loops-to-llvm=level=64
// REQUIRES: penstock-opt

func.func @of_another_width(%a: vector<32xi8>) -> vector<32xi8> {
  // expected-error @below {{has no instruction on 64-bit ARM for vectors of this width}}
  // expected-error @below {{failed to legalize operation 'lane.permute'}}
  %0 = lane.permute %a, %a : vector<32xi8>
  return %0 : vector<32xi8>
}

// -----

func.func @signs(%a: vector<16xi8>) -> i32 {
  // expected-error @below {{has no instruction on 64-bit ARM}}
  // expected-error @below {{failed to legalize operation 'lane.sign_mask'}}
  %0 = lane.sign_mask %a : vector<16xi8>
  return %0 : i32
}
