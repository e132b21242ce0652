// RUN: penstock-opt %s --split-input-file --verify-diagnostics
// REQUIRES: penstock-opt

// What no table of bytes holds.

// kernel, C26.
pipe.kernel @k "pixels" schedule {level = 5 : i64} {
^bb0(%x: !pipe.tensor<u8[w=64]>, %f: f32):
  %0 = pipe.map(%x) : (!pipe.tensor<u8[w=64]>) -> !pipe.tensor<f32[w=64]> {
  ^bb0(%v: ui8, %i: i64):
    %1 = pipe.cast value %v : ui8 -> f32
    // expected-error @below {{has `table = true` (C26); it is true or false, of what gives a byte in a map, or a load of a byte at a byte's place}}
    %2 = pipe.binary mul %1, %f {table = true} : f32
    pipe.yield %2 : f32
  }
  pipe.return %0 : !pipe.tensor<f32[w=64]>
}

// -----

// kernel, C26.
pipe.kernel @k "pixels" schedule {level = 5 : i64} {
^bb0(%x: !pipe.tensor<u8[w=64]>, %t: !pipe.tensor<u8[k=255]>):
  %0 = pipe.map(%x) : (!pipe.tensor<u8[w=64]>) -> !pipe.tensor<u8[w=64]> {
  ^bb0(%v: ui8, %i: i64):
    %1 = pipe.cast value %v : ui8 -> i64
    // expected-error @below {{has `table = true` (C26)}}
    %2 = pipe.load %t[%1] {table = true} : !pipe.tensor<u8[k=255]> -> ui8
    pipe.yield %2 : ui8
  }
  pipe.return %0 : !pipe.tensor<u8[w=64]>
}

// -----

// kernel, C26.
pipe.kernel @k "pixels" schedule {level = 5 : i64} {
^bb0(%x: !pipe.tensor<u8[w=64]>):
  %0 = pipe.map(%x) : (!pipe.tensor<u8[w=64]>) -> !pipe.tensor<u8[w=64]> {
  ^bb0(%v: ui8, %i: i64):
    // expected-error @below {{has `table = 1 : i64` (C26)}}
    %1 = pipe.binary add %v, %v {table = 1 : i64} : ui8
    pipe.yield %1 : ui8
  }
  pipe.return %0 : !pipe.tensor<u8[w=64]>
}
