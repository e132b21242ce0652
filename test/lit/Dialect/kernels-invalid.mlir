// RUN: penstock-opt %s --split-input-file --verify-diagnostics
// REQUIRES: penstock-opt

// What the verifier of kernels and the tensor type refuse.

// expected-error @below {{has the unknown kind "voxels"}}
pipe.kernel @k "voxels" {
  pipe.return
}

// -----

// expected-error @below {{of kind "setup" takes no arguments}}
pipe.kernel @k "setup" {
^bb0(%n: i64):
  pipe.return
}

// -----

// expected-error @below {{has a tensor argument after a scalar one}}
pipe.kernel @k "pixels" {
^bb0(%n: i64, %x: !pipe.tensor<u8[w=4]>):
  pipe.return %x : !pipe.tensor<u8[w=4]>
}

// -----

// expected-error @below {{does not end in pipe.return}}
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<u8[w=4]>):
  pipe.yield %x : !pipe.tensor<u8[w=4]>
}

// -----

// expected-error @below {{of kind "codec" is not one codec whose results it returns}}
pipe.kernel @k "codec" {
^bb0(%x: !pipe.tensor<u8[h=4, w=4]>):
  pipe.return %x : !pipe.tensor<u8[h=4, w=4]>
}

// -----

// expected-error @below {{unknown element type `u128`}}
func.func private @element(!pipe.tensor<u128[w=4]>)

// -----

// expected-error @below {{axis `w` stands twice}}
func.func private @axes(!pipe.tensor<u8[w=4, w=5]>)
