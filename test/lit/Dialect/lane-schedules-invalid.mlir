// RUN: penstock-opt %s --split-input-file --verify-diagnostics
// REQUIRES: penstock-opt

// Lanes of weights, transforms and orders that no code can be made for.

// C1 of #schedule.weights.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%in: i64, %out: i64, %taps: i64):
  // expected-error @below {{C1: 3 lanes; known are powers of two up to 64}}
  %w, %s = pipe.weights bilinear %in to %out antialias(true) sizes(%taps) {weights = #schedule.weights<lanes = 3>} : !pipe.tensor<i32[w=16, k=?]>, !pipe.tensor<i32[w=16]>
  pipe.return %w, %s : !pipe.tensor<i32[w=16, k=?]>, !pipe.tensor<i32[w=16]>
}

// -----

// kernel, C20.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%in: i64, %out: i64, %taps: i64):
  // expected-error @below {{has `weights = 4 : i64` (C20); it is a `#schedule.weights`, of a pipe.weights}}
  %w, %s = pipe.weights bilinear %in to %out antialias(true) sizes(%taps) {weights = 4 : i64} : !pipe.tensor<i32[w=16, k=?]>, !pipe.tensor<i32[w=16]>
  pipe.return %w, %s : !pipe.tensor<i32[w=16, k=?]>, !pipe.tensor<i32[w=16]>
}

// -----

// kernel, C20.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%in: i64, %out: i64, %taps: i64):
  // expected-error @below {{(C20); several outputs at once are of a filter without sines, and at most as many as there are, a number known when compiling}}
  %w, %s = pipe.weights bilinear %in to %out antialias(true) sizes(%taps) {weights = #schedule.weights<lanes = 32>} : !pipe.tensor<i32[w=16, k=?]>, !pipe.tensor<i32[w=16]>
  pipe.return %w, %s : !pipe.tensor<i32[w=16, k=?]>, !pipe.tensor<i32[w=16]>
}

// -----

// kernel, C20.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%in: i64, %out: i64, %taps: i64):
  // expected-error @below {{(C20); several outputs at once are of a filter without sines, and at most as many as there are, a number known when compiling}}
  %w, %s = pipe.weights lanczos %in to %out antialias(true) sizes(%taps) {weights = #schedule.weights<lanes = 2>} : !pipe.tensor<i32[w=16, k=?]>, !pipe.tensor<i32[w=16]>
  pipe.return %w, %s : !pipe.tensor<i32[w=16, k=?]>, !pipe.tensor<i32[w=16]>
}

// -----

// C1 of #schedule.fft.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=20, k=64]>):
  // expected-error @below {{C1: 128 lanes; known are powers of two up to 64}}
  %0 = pipe.fft %x along "k" {fft = #schedule.fft<lanes = 128>} : !pipe.tensor<f32[t=20, k=64]> -> !pipe.tensor<f32[t=20, freq=33, part=2]>
  pipe.return %0 : !pipe.tensor<f32[t=20, freq=33, part=2]>
}

// -----

// C1 of #schedule.fft.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=20, k=64]>):
  // expected-error @below {{C1: 1 lane along "t"; transforms go side by side in 2 lanes or more}}
  %0 = pipe.fft %x along "k" {fft = #schedule.fft<along = "t">} : !pipe.tensor<f32[t=20, k=64]> -> !pipe.tensor<f32[t=20, freq=33, part=2]>
  pipe.return %0 : !pipe.tensor<f32[t=20, freq=33, part=2]>
}

// -----

// C2 of #schedule.fft.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=20, k=64]>):
  // expected-error @below {{C2: `across` stands without `along`}}
  %0 = pipe.fft %x along "k" {fft = #schedule.fft<lanes = 8, across = true>} : !pipe.tensor<f32[t=20, k=64]> -> !pipe.tensor<f32[t=20, freq=33, part=2]>
  pipe.return %0 : !pipe.tensor<f32[t=20, freq=33, part=2]>
}

// -----

// kernel, C21: results go in squares, where values do not.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=20, k=64]>):
  // expected-error @below {{(C21); squares have rows of 16, 32 or 64 bytes, and as many frequencies as lanes}}
  %0 = pipe.fft %x along "k" {fft = #schedule.fft<along = "t", lanes = 2, across = true>} : !pipe.tensor<f32[t=20, k=64]> -> !pipe.tensor<f32[t=20, freq=33, part=2]>
  pipe.return %0 : !pipe.tensor<f32[t=20, freq=33, part=2]>
}

// -----

// kernel, C21.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=20, k=64]>):
  // expected-error @below {{has `fft = "t"` (C21); it is a `#schedule.fft`, of a pipe.fft}}
  %0 = pipe.fft %x along "k" {fft = "t"} : !pipe.tensor<f32[t=20, k=64]> -> !pipe.tensor<f32[t=20, freq=33, part=2]>
  pipe.return %0 : !pipe.tensor<f32[t=20, freq=33, part=2]>
}

// -----

// kernel, C21.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=20, k=64]>):
  // expected-error @below {{(C21); `along` names an axis that the transform does not go along, of as many rows as there are lanes}}
  %0 = pipe.fft %x along "k" {fft = #schedule.fft<along = "k", lanes = 8>} : !pipe.tensor<f32[t=20, k=64]> -> !pipe.tensor<f32[t=20, freq=33, part=2]>
  pipe.return %0 : !pipe.tensor<f32[t=20, freq=33, part=2]>
}

// -----

// kernel, C21.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=7, k=64]>):
  // expected-error @below {{(C21); `along` names an axis that the transform does not go along, of as many rows as there are lanes}}
  %0 = pipe.fft %x along "k" {fft = #schedule.fft<along = "t", lanes = 8>} : !pipe.tensor<f32[t=7, k=64]> -> !pipe.tensor<f32[t=7, freq=33, part=2]>
  pipe.return %0 : !pipe.tensor<f32[t=7, freq=33, part=2]>
}

// -----

// kernel, C21.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=20, k=64]>):
  // expected-error @below {{(C21); squares have rows of 16, 32 or 64 bytes, and as many frequencies as lanes}}
  %0 = pipe.fft %x along "k" {fft = #schedule.fft<along = "t", lanes = 2>} : !pipe.tensor<f32[t=20, k=64]> -> !pipe.tensor<f32[t=20, freq=33, part=2]>
  pipe.return %0 : !pipe.tensor<f32[t=20, freq=33, part=2]>
}

// -----

// kernel, C21.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=20, k=12]>):
  // expected-error @below {{(C21); squares have rows of 16, 32 or 64 bytes, and as many frequencies as lanes}}
  %0 = pipe.fft %x along "k" {fft = #schedule.fft<along = "t", lanes = 8>} : !pipe.tensor<f32[t=20, k=12]> -> !pipe.tensor<f32[t=20, freq=7, part=2]>
  pipe.return %0 : !pipe.tensor<f32[t=20, freq=7, part=2]>
}

// -----

// C1 of #schedule.sort.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=20, k=64]>):
  // expected-error @below {{C1: 6 lanes; known are powers of two up to 64}}
  %0 = pipe.sort %x along "k" {sort = #schedule.sort<way = across, along = "t", lanes = 6>} : !pipe.tensor<f32[t=20, k=64]> -> !pipe.tensor<i64[t=20, k=64]>
  pipe.return %0 : !pipe.tensor<i64[t=20, k=64]>
}

// -----

// C1 of #schedule.sort.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=20, k=64]>):
  // expected-error @below {{C1: 4 lanes with the way "merged"; "merged" and "digits" have one, and others have 2 or more}}
  %0 = pipe.sort %x along "k" {sort = #schedule.sort<way = merged, lanes = 4>} : !pipe.tensor<f32[t=20, k=64]> -> !pipe.tensor<i64[t=20, k=64]>
  pipe.return %0 : !pipe.tensor<i64[t=20, k=64]>
}

// -----

// C2 of #schedule.sort.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=20, k=64]>):
  // expected-error @below {{C2: `along` does not stand with the way "transposed"; it does with "across" and "transposed"}}
  %0 = pipe.sort %x along "k" {sort = #schedule.sort<way = transposed, lanes = 4>} : !pipe.tensor<f32[t=20, k=64]> -> !pipe.tensor<i64[t=20, k=64]>
  pipe.return %0 : !pipe.tensor<i64[t=20, k=64]>
}

// -----

// C2 of #schedule.sort.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=20, k=64]>):
  // expected-error @below {{C2: `along` stands with the way "merged"; it does with "across" and "transposed"}}
  %0 = pipe.sort %x along "k" {sort = #schedule.sort<way = merged, along = "t">} : !pipe.tensor<f32[t=20, k=64]> -> !pipe.tensor<i64[t=20, k=64]>
  pipe.return %0 : !pipe.tensor<i64[t=20, k=64]>
}

// -----

// kernel, C22.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=20, k=64]>):
  // expected-error @below {{has `sort = 4 : i64` (C22); it is a `#schedule.sort`, of a pipe.sort}}
  %0 = pipe.sort %x along "k" {sort = 4 : i64} : !pipe.tensor<f32[t=20, k=64]> -> !pipe.tensor<i64[t=20, k=64]>
  pipe.return %0 : !pipe.tensor<i64[t=20, k=64]>
}

// -----

// kernel, C22.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=20, k=64]>):
  // expected-error @below {{(C22); `along` names an axis that is not sorted, of as many rows, known when compiling, as there are lanes}}
  %0 = pipe.sort %x along "k" {sort = #schedule.sort<way = across, along = "k", lanes = 4>} : !pipe.tensor<f32[t=20, k=64]> -> !pipe.tensor<i64[t=20, k=64]>
  pipe.return %0 : !pipe.tensor<i64[t=20, k=64]>
}

// -----

// kernel, C22.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=20, k=64]>):
  // expected-error @below {{(C22); `along` names an axis that is not sorted, of as many rows, known when compiling, as there are lanes}}
  %0 = pipe.sort %x along "k" {sort = #schedule.sort<way = across, along = "t", lanes = 32>} : !pipe.tensor<f32[t=20, k=64]> -> !pipe.tensor<i64[t=20, k=64]>
  pipe.return %0 : !pipe.tensor<i64[t=20, k=64]>
}

// -----

// kernel, C22.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=?, k=64]>):
  // expected-error @below {{(C22); `along` names an axis that is not sorted, of as many rows, known when compiling, as there are lanes}}
  %0 = pipe.sort %x along "k" {sort = #schedule.sort<way = across, along = "t", lanes = 4>} : !pipe.tensor<f32[t=?, k=64]> -> !pipe.tensor<i64[t=?, k=64]>
  pipe.return %0 : !pipe.tensor<i64[t=?, k=64]>
}

// -----

// kernel, C22.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=20, k=4097]>):
  // expected-error @below {{(C22); rows in lanes have 2 to 4096 elements, known when compiling, of 4 bytes or less}}
  %0 = pipe.sort %x along "k" {sort = #schedule.sort<way = across, along = "t", lanes = 4>} : !pipe.tensor<f32[t=20, k=4097]> -> !pipe.tensor<i64[t=20, k=4097]>
  pipe.return %0 : !pipe.tensor<i64[t=20, k=4097]>
}

// -----

// kernel, C22.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f64[t=20, k=64]>):
  // expected-error @below {{(C22); rows in lanes have 2 to 4096 elements, known when compiling, of 4 bytes or less}}
  %0 = pipe.sort %x along "k" {sort = #schedule.sort<way = across, along = "t", lanes = 4>} : !pipe.tensor<f64[t=20, k=64]> -> !pipe.tensor<i64[t=20, k=64]>
  pipe.return %0 : !pipe.tensor<i64[t=20, k=64]>
}

// -----

// kernel, C23.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=20, k=64]>):
  // expected-error @below {{(C23); squares lie along the last axis, of as many elements as there are lanes, and have rows of 16, 32 or 64 bytes}}
  %0 = pipe.sort %x along "t" {sort = #schedule.sort<way = transposed, along = "k", lanes = 4>} : !pipe.tensor<f32[t=20, k=64]> -> !pipe.tensor<i64[t=20, k=64]>
  pipe.return %0 : !pipe.tensor<i64[t=20, k=64]>
}

// -----

// kernel, C23.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=20, k=7]>):
  // expected-error @below {{(C23); squares lie along the last axis, of as many elements as there are lanes, and have rows of 16, 32 or 64 bytes}}
  %0 = pipe.sort %x along "k" {sort = #schedule.sort<way = transposed, along = "t", lanes = 8>} : !pipe.tensor<f32[t=20, k=7]> -> !pipe.tensor<i64[t=20, k=7]>
  pipe.return %0 : !pipe.tensor<i64[t=20, k=7]>
}

// -----

// kernel, C23.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=20, k=64]>):
  // expected-error @below {{(C23); squares lie along the last axis, of as many elements as there are lanes, and have rows of 16, 32 or 64 bytes}}
  %0 = pipe.sort %x along "k" {sort = #schedule.sort<way = transposed, along = "t", lanes = 16>} : !pipe.tensor<f32[t=20, k=64]> -> !pipe.tensor<i64[t=20, k=64]>
  pipe.return %0 : !pipe.tensor<i64[t=20, k=64]>
}
