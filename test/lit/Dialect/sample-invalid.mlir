// RUN: penstock-opt %s --split-input-file --verify-diagnostics
// REQUIRES: penstock-opt

// What the verifiers of tables, media and types refuse.

func.func @arguments_have_names(%p: !pipe.text) {
  // expected-error @below {{has 1 arguments and 0 names}}
  %0 = pipe.source "raw" (%p) named [] columns {x = !pipe.tensor<u8[w=4]>} : !pipe.text
  return
}

// -----

func.func @columns_have_types(%p: !pipe.text) {
  // expected-error @below {{column `x` has no type}}
  %0 = pipe.source "raw" (%p) named ["x"] columns {x = 3} : !pipe.text
  return
}

// -----

func.func @settings_are_texts_or_integers(%p: !pipe.text) {
  // expected-error @below {{setting `s` is neither a text nor an integer}}
  %0 = pipe.source "raw" (%p) named ["x"] columns {x = !pipe.tensor<u8[w=4]>} {settings = {s = 1.0}} : !pipe.text
  return
}

// -----

func.func @admit_says_something() {
  // expected-error @below {{says nothing about rows}}
  pipe.admit
  return
}

// -----

func.func @a_region_has_four_ends(%b: !pipe.bytes, %n: i64) {
  // expected-error @below {{has a region of 2 numbers, not 4}}
  %0 = pipe.decode "image" "gray" %b sizes(%n, %n) region(%n, %n) : !pipe.tensor<u8[h=?, w=?]>
  return
}

// -----

func.func @a_field_has_sizes(%r: !pipe.row) {
  // expected-error @below {{has 0 sizes for 1 dynamic axes}}
  %0 = pipe.field %r "x" : !pipe.tensor<u8[w=?]>
  return
}
