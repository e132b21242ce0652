// RUN: penstock-opt %s --split-input-file --verify-diagnostics --pipe-loops-to-llvm
// REQUIRES: penstock-opt

// dot_pairs, C1.
func.func @half_as_many_sums(%a: vector<8xi16>) {
  // expected-error @below {{gives other than one sum for two products}}
  %0 = lane.dot_pairs %a, %a : vector<8xi16> -> vector<8xi32>
  return
}

// -----

// pack, C1.
func.func @half_as_wide(%a: vector<8xi32>) {
  // expected-error @below {{gives other than the elements of both, half as wide}}
  %0 = lane.pack %a, %a : vector<8xi32> -> vector<16xi8>
  return
}

// -----

func.func @no_such_width(%a: vector<24xi8>) -> vector<24xi8> {
  // expected-error @below {{has no instruction on x86-64 for vectors of this width}}
  // expected-error @below {{failed to legalize operation 'lane.permute'}}
  %0 = lane.permute %a, %a : vector<24xi8>
  return %0 : vector<24xi8>
}
