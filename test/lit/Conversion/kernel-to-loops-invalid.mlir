// RUN: penstock-opt %s --split-input-file --verify-diagnostics --pipe-kernel-to-loops
// REQUIRES: penstock-opt

// Every view is a launch of its own, or unrolled: none is left in a kernel.
pipe.kernel @views "pixels" {
^bb0(%x: !pipe.tensor<u8[w=16]>):
  // expected-error @below {{has no lowering to CPU code}}
  %0 = pipe.each "v" 2 -> !pipe.tensor<u8[v=2, w=16]> {
  ^bb0(%v: i64):
    pipe.yield %x : !pipe.tensor<u8[w=16]>
  }
  pipe.return %0 : !pipe.tensor<u8[v=2, w=16]>
}

// -----

// Room for temporaries is made before a kernel runs.
// expected-error @below {{needs a temporary whose extent the kernel itself computes; extents of temporaries are constants or arguments}}
pipe.kernel @own_extents "pixels" {
^bb0(%x: !pipe.tensor<i64[w=16]>):
  %zero = pipe.constant 0 : i64 -> i64
  %n = pipe.load %x[%zero] : !pipe.tensor<i64[w=16]> -> i64
  %0 = pipe.pad edge %x over ["w"] low(%zero) sizes(%n) : !pipe.tensor<i64[w=16]> -> !pipe.tensor<i64[w=?]>
  %1 = pipe.sort %0 along "w" sizes(%n) : !pipe.tensor<i64[w=?]> -> !pipe.tensor<i64[w=?]>
  %2 = pipe.reduce sum %1 over ["w"] : !pipe.tensor<i64[w=?]> -> !pipe.tensor<i64[]>
  pipe.return %2 : !pipe.tensor<i64[]>
}

// -----

pipe.kernel @apart "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[c=3, h=8, w=40]>):
  %0 = pipe.view %x by affine_map<(d0, d1, d2) -> (d0, d2, d1)> [] : !pipe.tensor<f32[c=3, h=8, w=40]> -> !pipe.tensor<f32[c=3, w=40, h=8]>
  // expected-error @below {{is scheduled with a run of `w`, `h`, which are not one run of elements where they are read}}
  %1 = pipe.reduce sum %0 over ["w", "h"] {reduction = #schedule.reduction<way = lanes, lanes = 32, run = 2>} : !pipe.tensor<f32[c=3, w=40, h=8]> -> !pipe.tensor<f32[c=3]>
  pipe.return %1 : !pipe.tensor<f32[c=3]>
}

// -----

pipe.kernel @no_registers_of_64_bytes "pixels" schedule {level = 4 : i64} {
^bb0(%x: !pipe.tensor<u8[w=64]>):
  %0 = pipe.map(%x) : (!pipe.tensor<u8[w=64]>) -> !pipe.tensor<u8[w=64]> {
  ^bb0(%v: ui8, %i: i64):
    // expected-error @below {{is scheduled with a table of bytes, which needs permutations of registers of 64 bytes}}
    %1 = pipe.binary add %v, %v {table = true} : ui8
    pipe.yield %1 : ui8
  }
  pipe.return %0 : !pipe.tensor<u8[w=64]>
}
