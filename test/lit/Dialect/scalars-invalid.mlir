// RUN: penstock-opt %s --split-input-file --verify-diagnostics
// REQUIRES: penstock-opt

// Faults that the verifiers of scalar ops refuse.

// constant, C1.
func.func @a_tensor_has_elements() {
  // expected-error @below {{needs an elements attribute for a tensor}}
  %0 = pipe.constant 1.0 : f32 -> !pipe.tensor<f32[w=2]>
  return
}

// -----

// constant, C1.
func.func @elements_have_the_type() {
  // expected-error @below {{has elements of 'f32' for the type '!pipe.tensor<f64[w=2]>'}}
  %0 = pipe.constant dense<1.0> : tensor<2xf32> -> !pipe.tensor<f64[w=2]>
  return
}

// -----

// constant, C1.
func.func @elements_have_the_shape() {
  // expected-error @below {{has elements of another shape than its type}}
  %0 = pipe.constant dense<1.0> : tensor<3xf32> -> !pipe.tensor<f32[w=2]>
  return
}

// -----

// constant, C1.
func.func @a_constant_has_its_type() {
  // expected-error @below {{has a value of type 'f32' for the type 'f64'}}
  %0 = pipe.constant 1.0 : f32 -> f64
  return
}

// -----

// unary, C1.
func.func @sqrt_takes_floats(%n: i64) {
  // expected-error @below {{`sqrt` is not defined on i64}}
  %0 = pipe.unary sqrt %n : i64
  return
}

// -----

// unary, C1.
func.func @halves_are_for_storage(%n: f16) {
  // expected-error @below {{`neg` is not defined on f16}}
  %0 = pipe.unary neg %n : f16
  return
}

// -----

// binary, C1.
func.func @shifts_take_integers(%n: f32) {
  // expected-error @below {{`shl` is not defined on f32}}
  %0 = pipe.binary shl %n, %n : f32
  return
}

// -----

// binary, C2.
func.func @sums_take_numbers(%b: i1) {
  // expected-error @below {{`add` is not defined on bool}}
  %0 = pipe.binary add %b, %b : i1
  return
}

// -----

// cast, C1.
func.func @tensors_become_tensors(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{cannot convert '!pipe.tensor<u8[w=4]>' to '!pipe.tensor<f32[w=5]>'}}
  %0 = pipe.cast value %x : !pipe.tensor<u8[w=4]> -> !pipe.tensor<f32[w=5]>
  return
}

// -----

// cast, C2.
func.func @bits_have_one_width(%n: i64) {
  // expected-error @below {{`bits` needs types of one width, but they are i64 and f32}}
  %0 = pipe.cast bits %n : i64 -> f32
  return
}

// -----

// load, C1.
func.func @an_index_for_each_axis(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{has 0 indices for 1 axes}}
  %0 = pipe.load %x[] : !pipe.tensor<u8[w=4]> -> ui8
  return
}

// -----

func.func @load_gives_an_element(%x: !pipe.tensor<u8[w=4]>, %n: i64) {
  // expected-error @below {{reads u8, not i64}}
  %0 = pipe.load %x[%n] : !pipe.tensor<u8[w=4]> -> i64
  return
}

// -----

// draw, C1.
func.func @a_draw_has_its_arguments(%k: !pipe.key) {
  // expected-error @below {{`uniform` has arguments or a result of other types}}
  %0 = pipe.draw uniform %k () id 17 path "p" : f64
  return
}

// -----

func.func @cast_without_size(%x: !pipe.tensor<u8[w=?]>) {
  // expected-error @below {{has 0 sizes for 1 dynamic axes}}
  %0 = pipe.cast value %x : !pipe.tensor<u8[w=?]> -> !pipe.tensor<f32[w=?]>
  return
}
