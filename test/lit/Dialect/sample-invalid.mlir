// RUN: penstock-opt %s --split-input-file --verify-diagnostics
// REQUIRES: penstock-opt

// Faults that the verifiers of tables, media and types refuse.

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

// admit, C1.
func.func @admit_says_something() {
  // expected-error @below {{says nothing about rows}}
  pipe.admit
  return
}

// -----

// decode, C2.
func.func @a_region_has_two_ends_for_each_axis(%b: !pipe.bytes, %n: i64) {
  // expected-error @below {{has a region of 2 numbers, not 4}}
  %0 = pipe.decode "image" "gray" %b sizes(%n, %n) region ["h", "w"](%n, %n) : !pipe.tensor<u8[h=?, w=?]>
  return
}

// -----

// decode, C2.
func.func @a_region_is_along_axes_of_the_result(%b: !pipe.bytes, %n: i64) {
  // expected-error @below {{has a region along `h`, which is no axis of it or stands too late}}
  %0 = pipe.decode "image" "gray" %b sizes(%n, %n) region ["w", "h"] (%n, %n, %n, %n) : !pipe.tensor<u8[h=?, w=?]>
  return
}

// -----

// decode, C3.
func.func @planes_of_gray(%b: !pipe.bytes, %n: i64) {
  // expected-error @below {{has no planes: they are those of an image of any size in rgb of ui8}}
  %0 = pipe.decode "image" "gray" %b sizes(%n, %n) planes @planes : !pipe.tensor<u8[h=?, w=?]>
  return
}

// -----

// decode, C1.
func.func @a_medium_is_known(%b: !pipe.bytes, %n: i64) {
  // expected-error @below {{knows no medium `smell`}}
  %0 = pipe.decode "smell" "gray" %b sizes(%n, %n) : !pipe.tensor<u8[h=?, w=?]>
  return
}

// -----

// decode, C1.
func.func @a_format_is_known(%b: !pipe.bytes, %n: i64) {
  // expected-error @below {{knows no format `cmyk` of `image`}}
  %0 = pipe.decode "image" "cmyk" %b sizes(%n, %n) : !pipe.tensor<u8[h=?, w=?]>
  return
}

// -----

// decode, C1.
func.func @names_have_a_blank_between_two(%b: !pipe.bytes, %n: i64) {
  // expected-error @below {{knows no format `x  y` of `pcd`}}
  %0 = pipe.decode "pcd" "x  y" %b sizes(%n) : !pipe.tensor<f32[k=?, q=2]>
  return
}

// -----

// decode, C1.
func.func @a_video_is_asked_for_frames(%b: !pipe.bytes, %n: i64) {
  // expected-error @below {{is asked for 0 numbers, not 2}}
  %0 = pipe.decode "video" "gray" %b sizes(%n, %n) : !pipe.tensor<u8[t=3, h=?, w=?, c=1]>
  return
}

// -----

// probe, C1.
func.func @a_header_has_its_numbers(%b: !pipe.bytes) {
  // expected-error @below {{finds no `rate` in a header of `image`}}
  %0 = pipe.probe "image" "rate" %b : i64
  return
}

// -----

// probe, C1.
func.func @a_number_has_its_type(%b: !pipe.bytes) {
  // expected-error @below {{gives `height` as i64}}
  %0 = pipe.probe "image" "height" %b : f64
  return
}

// -----

func.func @a_field_has_sizes(%r: !pipe.row) {
  // expected-error @below {{has 0 sizes for 1 dynamic axes}}
  %0 = pipe.field %r "x" : !pipe.tensor<u8[w=?]>
  return
}

// -----

// field_element, C1.
func.func @elements_have_all_their_indices(%p: !pipe.text, %i: i64) {
  %t = pipe.source "raw" (%p) named ["x"] columns {x = !pipe.tensor<f32[h=2, w=4]>} : !pipe.text
  %r = pipe.row sequential %t
  // expected-error @below {{has 1 indices for '!pipe.tensor<f32[h=2, w=4]>'}}
  %0 = pipe.field_element %r "x"[%i] of !pipe.tensor<f32[h=2, w=4]> : f32
  return
}

// -----

// field_element, C1.
func.func @elements_are_of_their_type(%p: !pipe.text, %i: i64) {
  %t = pipe.source "raw" (%p) named ["x"] columns {x = !pipe.tensor<f32[w=4]>} : !pipe.text
  %r = pipe.row sequential %t
  // expected-error @below {{gives 'f64' of '!pipe.tensor<f32[w=4]>'}}
  %0 = pipe.field_element %r "x"[%i] of !pipe.tensor<f32[w=4]> : f64
  return
}

// -----

// fields, C1.
func.func @setup_has_fields(%x: !pipe.tensor<f32[w=4]>) {
  // expected-error @below {{has what is no field}}
  pipe.fields "setup"(%x) : !pipe.tensor<f32[w=4]>
  return
}
