// RUN: penstock-opt %s --split-input-file --verify-diagnostics
// REQUIRES: penstock-opt

// Ways to multiply that no code can be made for.

// C1 of #schedule.contract.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=40, freq=64]>, %m: !pipe.tensor<f32[freq=64, mel=16]>):
  // expected-error @below {{C1: 12 lanes, 1 beside, 0 rows of bands; known are powers of two up to 64, 16 and 64, and no bands}}
  %0 = pipe.contract %x by %m {contract = #schedule.contract<along = "mel", lanes = 12, sums = memory>} : !pipe.tensor<f32[t=40, freq=64]>, !pipe.tensor<f32[freq=64, mel=16]> -> !pipe.tensor<f32[t=40, mel=16]>
  pipe.return %0 : !pipe.tensor<f32[t=40, mel=16]>
}

// -----

// C2 of #schedule.contract.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=40, freq=64]>, %m: !pipe.tensor<f32[freq=64, mel=16]>):
  // expected-error @below {{C2: 8 lanes along "mel", 2 beside along "mel"; each has an axis of its own}}
  %0 = pipe.contract %x by %m {contract = #schedule.contract<along = "mel", lanes = 8, unroll = "mel", beside = 2, sums = memory>} : !pipe.tensor<f32[t=40, freq=64]>, !pipe.tensor<f32[freq=64, mel=16]> -> !pipe.tensor<f32[t=40, mel=16]>
  pipe.return %0 : !pipe.tensor<f32[t=40, mel=16]>
}

// -----

// kernel, C18.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=40, freq=64]>, %m: !pipe.tensor<f32[freq=64, mel=16]>):
  // expected-error @below {{has `contract = 4 : i64` (C18); it is a `#schedule.contract`, of a pipe.contract}}
  %0 = pipe.contract %x by %m {contract = 4 : i64} : !pipe.tensor<f32[t=40, freq=64]>, !pipe.tensor<f32[freq=64, mel=16]> -> !pipe.tensor<f32[t=40, mel=16]>
  pipe.return %0 : !pipe.tensor<f32[t=40, mel=16]>
}

// -----

// kernel, C18.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=?, freq=64]>, %m: !pipe.tensor<f32[freq=64, mel=16]>, %t: i64):
  // expected-error @below {{(C18); `along` and `unroll` name axes of the result, with as many elements, known when compiling, as are made together}}
  %0 = pipe.contract %x by %m sizes(%t) {contract = #schedule.contract<along = "mel", lanes = 8, unroll = "t", beside = 4, sums = memory>} : !pipe.tensor<f32[t=?, freq=64]>, !pipe.tensor<f32[freq=64, mel=16]> -> !pipe.tensor<f32[t=?, mel=16]>
  pipe.return %0 : !pipe.tensor<f32[t=?, mel=16]>
}

// -----

// kernel, C18.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=40, freq=64]>, %m: !pipe.tensor<f32[freq=64, mel=16]>):
  // expected-error @below {{(C18); `along` and `unroll` name axes of the result, with as many elements, known when compiling, as are made together}}
  %0 = pipe.contract %x by %m {contract = #schedule.contract<along = "mel", lanes = 32, sums = memory>} : !pipe.tensor<f32[t=40, freq=64]>, !pipe.tensor<f32[freq=64, mel=16]> -> !pipe.tensor<f32[t=40, mel=16]>
  pipe.return %0 : !pipe.tensor<f32[t=40, mel=16]>
}

// -----

// kernel, C18.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=40, freq=64]>, %m: !pipe.tensor<f32[freq=64, mel=16]>):
  // expected-error @below {{(C18); what is unrolled are 1 to 64 products, and 256 of all results together}}
  %0 = pipe.contract %x by %m {contract = #schedule.contract<along = "mel", lanes = 8, unroll = "t", beside = 8, sums = unrolled>} : !pipe.tensor<f32[t=40, freq=64]>, !pipe.tensor<f32[freq=64, mel=16]> -> !pipe.tensor<f32[t=40, mel=16]>
  pipe.return %0 : !pipe.tensor<f32[t=40, mel=16]>
}

// -----

// kernel, C18.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=40, freq=31]>, %m: !pipe.tensor<f32[freq=31, mel=16]>):
  // expected-error @below {{(C18); partial sums in registers, or stored, are of 32 products at least, known when compiling}}
  %0 = pipe.contract %x by %m {contract = #schedule.contract<along = "mel", lanes = 8, sums = registers>} : !pipe.tensor<f32[t=40, freq=31]>, !pipe.tensor<f32[freq=31, mel=16]> -> !pipe.tensor<f32[t=40, mel=16]>
  pipe.return %0 : !pipe.tensor<f32[t=40, mel=16]>
}

// -----

// kernel, C19.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<i32[t=40, freq=64]>, %m: !pipe.tensor<i32[freq=64, mel=16]>):
  // expected-error @below {{(C19); bands are of floats, which fill 16, 32 or 64 bytes, with lanes along the matrix's columns, and `unroll` along another axis}}
  %0 = pipe.contract %x by %m {contract = #schedule.contract<along = "mel", lanes = 8, unroll = "t", sums = memory, bands = 8>} : !pipe.tensor<i32[t=40, freq=64]>, !pipe.tensor<i32[freq=64, mel=16]> -> !pipe.tensor<i32[t=40, mel=16]>
  pipe.return %0 : !pipe.tensor<i32[t=40, mel=16]>
}

// -----

// kernel, C19.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=40, freq=64]>, %m: !pipe.tensor<f32[freq=64, mel=16]>):
  // expected-error @below {{(C19); bands are of floats, which fill 16, 32 or 64 bytes, with lanes along the matrix's columns, and `unroll` along another axis}}
  %0 = pipe.contract %x by %m {contract = #schedule.contract<along = "t", lanes = 8, unroll = "mel", sums = memory, bands = 8>} : !pipe.tensor<f32[t=40, freq=64]>, !pipe.tensor<f32[freq=64, mel=16]> -> !pipe.tensor<f32[t=40, mel=16]>
  pipe.return %0 : !pipe.tensor<f32[t=40, mel=16]>
}

// -----

// kernel, C19.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=7, freq=64]>, %m: !pipe.tensor<f32[freq=64, mel=16]>):
  // expected-error @below {{(C19); what is summed, what is transposed, and the matrix's columns are as many as rows of bands, and no more go beside}}
  %0 = pipe.contract %x by %m {contract = #schedule.contract<along = "mel", lanes = 8, unroll = "t", sums = memory, bands = 8>} : !pipe.tensor<f32[t=7, freq=64]>, !pipe.tensor<f32[freq=64, mel=16]> -> !pipe.tensor<f32[t=7, mel=16]>
  pipe.return %0 : !pipe.tensor<f32[t=7, mel=16]>
}

// -----

// kernel, C19.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=40, freq=64]>, %m: !pipe.tensor<f32[freq=64, mel=16]>):
  // expected-error @below {{(C19); what is summed, what is transposed, and the matrix's columns are as many as rows of bands, and no more go beside}}
  %0 = pipe.contract %x by %m {contract = #schedule.contract<along = "mel", lanes = 8, unroll = "t", beside = 16, sums = memory, bands = 8>} : !pipe.tensor<f32[t=40, freq=64]>, !pipe.tensor<f32[freq=64, mel=16]> -> !pipe.tensor<f32[t=40, mel=16]>
  pipe.return %0 : !pipe.tensor<f32[t=40, mel=16]>
}
