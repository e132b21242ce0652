// RUN: penstock-opt %s --split-input-file --verify-diagnostics
// REQUIRES: penstock-opt

// Faults that the verifiers of ops that move, join, map and resample refuse.

// view, C3.
func.func @a_size_for_each_dynamic_axis(%x: !pipe.tensor<u8[w=?]>) {
  // expected-error @below {{has 0 sizes for 1 dynamic axes}}
  %0 = pipe.view %x by affine_map<(d0) -> (d0)> [] : !pipe.tensor<u8[w=?]> -> !pipe.tensor<u8[w=?]>
  return
}

// -----

// view, C1.
func.func @view_maps_axes_to_axes(%x: !pipe.tensor<u8[h=4, w=4]>) {
  // expected-error @below {{has a map of 1 dimensions, 0 symbols and 1 results for 1 result axes, 0 symbols and 2 input axes}}
  %0 = pipe.view %x by affine_map<(d0) -> (d0)> [] : !pipe.tensor<u8[h=4, w=4]> -> !pipe.tensor<u8[w=4]>
  return
}

// -----

// view, C2.
func.func @view_keeps_elements(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{changes the element type from u8 to f32}}
  %0 = pipe.view %x by affine_map<(d0) -> (d0)> [] : !pipe.tensor<u8[w=4]> -> !pipe.tensor<f32[w=4]>
  return
}

// -----

// pad, C1.
func.func @pad_has_an_amount_for_each_axis(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{has 0 amounts for 1 axes}}
  %0 = pipe.pad edge %x over ["w"] low() : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=6]>
  return
}

// -----

// pad, C1.
func.func @pad_goes_over_its_axes(%x: !pipe.tensor<u8[w=4]>, %n: i64) {
  // expected-error @below {{speaks of axis `h`, which '!pipe.tensor<u8[w=4]>' does not have}}
  %0 = pipe.pad edge %x over ["h"] low(%n) : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=6]>
  return
}

// -----

// pad, C2.
func.func @a_constant_border_has_a_fill(%x: !pipe.tensor<u8[w=4]>, %n: i64) {
  // expected-error @below {{has a fill value exactly when the border is constant}}
  %0 = pipe.pad constant %x over ["w"] low(%n) : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=6]>
  return
}

// -----

// pad, C2.
func.func @a_fill_has_the_element_type(%x: !pipe.tensor<u8[w=4]>, %n: i64) {
  // expected-error @below {{fills '!pipe.tensor<u8[w=4]>' with i64}}
  %0 = pipe.pad constant %x over ["w"] low(%n) fill(%n : i64) : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=6]>
  return
}

// -----

// pad, C3.
func.func @pad_keeps_the_axes(%x: !pipe.tensor<u8[w=4]>, %n: i64) {
  // expected-error @below {{changes the axes}}
  %0 = pipe.pad edge %x over ["w"] low(%n) : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[h=6]>
  return
}

// -----

// concat, C1.
func.func @concat_has_inputs() {
  // expected-error @below {{has no input}}
  %0 = "pipe.concat"() <{axis = "w", operandSegmentSizes = array<i32: 0, 0>}> : () -> !pipe.tensor<u8[w=8]>
  return
}

// -----

// concat, C1.
func.func @concat_joins_like_with_like(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{joins '!pipe.tensor<u8[w=4]>' into '!pipe.tensor<f32[w=8]>'}}
  %0 = pipe.concat "w" (%x, %x) : !pipe.tensor<u8[w=4]>, !pipe.tensor<u8[w=4]> -> !pipe.tensor<f32[w=8]>
  return
}

// -----

// concat, C1.
func.func @concat_goes_along_an_axis(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{speaks of axis `h`, which '!pipe.tensor<u8[w=8]>' does not have}}
  %0 = pipe.concat "h" (%x, %x) : !pipe.tensor<u8[w=4]>, !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=8]>
  return
}

// -----

// stack, C1.
func.func @stack_has_inputs() {
  // expected-error @below {{has no input}}
  %0 = "pipe.stack"() <{axis = "v", operandSegmentSizes = array<i32: 0, 0>}> : () -> !pipe.tensor<u8[v=0]>
  return
}

// -----

// stack, C1.
func.func @stack_takes_equal_types(%x: !pipe.tensor<u8[w=4]>, %y: !pipe.tensor<u8[w=5]>) {
  // expected-error @below {{stacks '!pipe.tensor<u8[w=5]>' into '!pipe.tensor<u8[v=2, w=4]>'}}
  %0 = pipe.stack "v" (%x, %y) : !pipe.tensor<u8[w=4]>, !pipe.tensor<u8[w=5]> -> !pipe.tensor<u8[v=2, w=4]>
  return
}

// -----

// stack, C1.
func.func @stack_adds_one_axis(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{adds axis `v` of 2 to get '!pipe.tensor<u8[v=3, w=4]>'}}
  %0 = pipe.stack "v" (%x, %x) : !pipe.tensor<u8[w=4]>, !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[v=3, w=4]>
  return
}

// -----

// place, C1.
func.func @place_keeps_the_base(%x: !pipe.tensor<u8[w=4]>, %p: !pipe.tensor<f32[w=2]>, %n: i64) {
  // expected-error @below {{writes '!pipe.tensor<f32[w=2]>' into '!pipe.tensor<u8[w=4]>' to get '!pipe.tensor<u8[w=4]>'}}
  %0 = pipe.place %p into %x over ["w"] at(%n) : !pipe.tensor<f32[w=2]>, !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=4]>
  return
}

// -----

// place, C2.
func.func @place_has_an_offset_for_each_axis(%x: !pipe.tensor<u8[w=4]>, %p: !pipe.tensor<u8[w=2]>) {
  // expected-error @below {{has 0 offsets for 1 axes}}
  %0 = pipe.place %p into %x over ["w"] at() : !pipe.tensor<u8[w=2]>, !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=4]>
  return
}

// -----

// map, C1.
func.func @map_has_the_axes_of_its_inputs(%x: !pipe.tensor<u8[h=4]>) {
  // expected-error @below {{has an input with axis `h`, which '!pipe.tensor<u8[w=4]>' does not have}}
  %0 = pipe.map (%x) : (!pipe.tensor<u8[h=4]>) -> !pipe.tensor<u8[w=4]> {
  ^bb0(%p: ui8, %w: i64):
    pipe.yield %p : ui8
  }
  return
}

// -----

// map, C1.
func.func @map_has_the_extents_of_its_inputs(%x: !pipe.tensor<u8[w=5]>) {
  // expected-error @below {{has an input with extent 5 along `w`, where the result has 4}}
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=5]>) -> !pipe.tensor<u8[w=4]> {
  ^bb0(%p: ui8, %w: i64):
    pipe.yield %p : ui8
  }
  return
}

// -----

// map, C2.
func.func @a_region_takes_elements_then_places(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{has a region whose arguments are not the elements, then one i64 per axis of the result}}
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<u8[w=4]> {
  ^bb0(%p: ui8):
    pipe.yield %p : ui8
  }
  return
}

// -----

// map, C3.
func.func @a_region_yields_an_element(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{yields other types than its result asks for}}
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<u8[w=4]> {
  ^bb0(%p: ui8, %w: i64):
    pipe.yield %w : i64
  }
  return
}

// -----

// window, C1.
func.func @window_has_pairs_of_offsets(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{has no pair of offsets for each axis}}
  %0 = pipe.window edge %x over ["w"] low [0] high [0, 0] : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=4]> {
  ^bb0(%p: ui8, %w: i64):
    pipe.yield %p : ui8
  }
  return
}

// -----

// window, C1.
func.func @window_has_neighbours(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{has an empty neighbourhood along `w`}}
  %0 = pipe.window edge %x over ["w"] low [1] high [-1] : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=4]> {
  ^bb0(%p: ui8, %w: i64):
    pipe.yield %p : ui8
  }
  return
}

// -----

// window, C4.
func.func @window_has_an_argument_for_each_neighbour(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{has a neighbourhood that its region has no arguments for}}
  %0 = pipe.window edge %x over ["w"] low [0] high [9223372036854775807] : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=4]> {
  ^bb0(%p: ui8, %w: i64):
    pipe.yield %p : ui8
  }
  return
}

// -----

// window, C2.
func.func @window_keeps_the_axes(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{maps '!pipe.tensor<u8[w=4]>' to other axes '!pipe.tensor<u8[w=5]>'}}
  %0 = pipe.window edge %x over ["w"] low [0] high [0] : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=5]> {
  ^bb0(%p: ui8, %w: i64):
    pipe.yield %p : ui8
  }
  return
}

// -----

// window, C3.
func.func @a_constant_border_of_windows_has_a_fill(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{has a fill value exactly when the border is constant}}
  %0 = pipe.window constant %x over ["w"] low [0] high [0] : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=4]> {
  ^bb0(%p: ui8, %w: i64):
    pipe.yield %p : ui8
  }
  return
}

// -----

// gather, C2.
func.func @a_fill_is_an_element(%x: !pipe.tensor<u8[w=4]>, %n: i64, %at: f64) {
  // expected-error @below {{fills '!pipe.tensor<u8[w=4]>' with i64}}
  %0 = pipe.gather nearest constant %x over ["w"] fill(%n : i64) : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=4]> {
  ^bb0(%w: i64):
    pipe.yield %at : f64
  }
  return
}

// -----

// gather, C3.
func.func @coordinates_are_f64(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{yields other types than its result asks for}}
  %0 = pipe.gather nearest edge %x over ["w"] : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=4]> {
  ^bb0(%w: i64):
    pipe.yield %w : i64
  }
  return
}

// -----

// gather, C1.
func.func @gather_keeps_the_other_axes(%x: !pipe.tensor<u8[w=4, c=3]>) {
  // expected-error @below {{reads '!pipe.tensor<u8[w=4, c=3]>' along axis `c`, which '!pipe.tensor<u8[h=4]>' does not have}}
  %0 = pipe.gather nearest edge %x over ["w"] : !pipe.tensor<u8[w=4, c=3]> -> !pipe.tensor<u8[h=4]> {
  ^bb0(%h: i64):
    pipe.yield %h : i64
  }
  return
}

// -----

// weights, C1.
func.func @weights_are_a_table_with_its_starts(%n: i64) {
  // expected-error @below {{has results '!pipe.tensor<f32[w=4, k=2]>' and '!pipe.tensor<i32[w=4]>'}}
  %0, %1 = pipe.weights bilinear %n to %n antialias(true) : !pipe.tensor<f32[w=4, k=2]>, !pipe.tensor<i32[w=4]>
  return
}

// -----

// resample, C1.
func.func @resample_goes_along_its_weights(%x: !pipe.tensor<u8[w=4]>, %t: !pipe.tensor<i32[h=4, k=2]>, %s: !pipe.tensor<i32[w=4]>) {
  // expected-error @below {{has weights '!pipe.tensor<i32[h=4, k=2]>' and starts '!pipe.tensor<i32[w=4]>' along `w` of '!pipe.tensor<u8[w=4]>'}}
  %0 = pipe.resample pillow %x along "w" with %t, %s : !pipe.tensor<u8[w=4]>, !pipe.tensor<i32[h=4, k=2]>, !pipe.tensor<i32[w=4]> -> !pipe.tensor<u8[w=4]>
  return
}

// -----

// resample, C2.
func.func @pillow_weighs_bytes_with_integers(%x: !pipe.tensor<u8[w=4]>, %t: !pipe.tensor<f64[w=4, k=2]>, %s: !pipe.tensor<i32[w=4]>) {
  // expected-error @below {{cannot use weights of f64 on u8 in `pillow` numerics}}
  %0 = pipe.resample pillow %x along "w" with %t, %s : !pipe.tensor<u8[w=4]>, !pipe.tensor<f64[w=4, k=2]>, !pipe.tensor<i32[w=4]> -> !pipe.tensor<u8[w=4]>
  return
}

// -----

// resample, C3.
func.func @resample_keeps_the_axes(%x: !pipe.tensor<u8[w=4]>, %t: !pipe.tensor<i32[w=4, k=2]>, %s: !pipe.tensor<i32[w=4]>) {
  // expected-error @below {{changes the axes}}
  %0 = pipe.resample pillow %x along "w" with %t, %s : !pipe.tensor<u8[w=4]>, !pipe.tensor<i32[w=4, k=2]>, !pipe.tensor<i32[w=4]> -> !pipe.tensor<u8[h=4]>
  return
}

// -----

// encode, C1.
func.func @an_image_has_rows_and_columns(%x: !pipe.tensor<u8[t=4, h=4, w=4]>, %q: i64) {
  // expected-error @below {{makes an image of '!pipe.tensor<u8[t=4, h=4, w=4]>'}}
  %0, %1 = pipe.encode jpeg %x quality(%q) : !pipe.tensor<u8[t=4, h=4, w=4]> -> !pipe.tensor<u8[byte=9]>, !pipe.tensor<i64[]>
  return
}

// -----

// encode, C2.
func.func @a_file_is_bytes_and_a_count(%x: !pipe.tensor<u8[h=4, w=4]>, %q: i64) {
  // expected-error @below {{has results '!pipe.tensor<i8[byte=9]>' and '!pipe.tensor<i64[]>'}}
  %0, %1 = pipe.encode jpeg %x quality(%q) : !pipe.tensor<u8[h=4, w=4]> -> !pipe.tensor<i8[byte=9]>, !pipe.tensor<i64[]>
  return
}

// -----

// encode, C3.
func.func @png_has_no_quality(%x: !pipe.tensor<u8[h=4, w=4, c=3]>, %q: i64) {
  // expected-error @below {{has a quality exactly when it makes a JPEG file}}
  %0, %1 = pipe.encode png %x quality(%q) : !pipe.tensor<u8[h=4, w=4, c=3]> -> !pipe.tensor<u8[byte=9]>, !pipe.tensor<i64[]>
  return
}

// -----

// recompress, C1.
func.func @recompress_keeps_the_type(%x: !pipe.tensor<u8[h=4, w=4]>, %q: i64) {
  // expected-error @below {{makes an image of '!pipe.tensor<u8[h=4, w=4]>', and gives '!pipe.tensor<u8[h=4, w=5]>'}}
  %0 = pipe.recompress %x quality(%q) : !pipe.tensor<u8[h=4, w=4]> -> !pipe.tensor<u8[h=4, w=5]>
  return
}
