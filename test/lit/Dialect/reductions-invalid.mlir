// RUN: penstock-opt %s --split-input-file --verify-diagnostics
// REQUIRES: penstock-opt

// Faults that the verifiers of reductions, scans, groups and transforms refuse.

// reduce, C1.
func.func @reduce_takes_axes_away(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{reduces '!pipe.tensor<u8[w=4]>' to '!pipe.tensor<u8[w=4]>'}}
  %0 = pipe.reduce max %x over ["w"] : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=4]>
  return
}

// -----

// reduce, C2.
func.func @reduce_keeps_elements(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{gives i64, not u8}}
  %0 = pipe.reduce argmax %x over ["w"] : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[]>
  return
}

// -----

// reduce, C2.
func.func @any_takes_truth_values(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{cannot combine u8}}
  %0 = pipe.reduce any %x over ["w"] : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[]>
  return
}

// -----

// scan, C1.
func.func @scan_keeps_the_type(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{accumulates '!pipe.tensor<u8[w=4]>' along `w` into '!pipe.tensor<u8[w=5]>'}}
  %0 = pipe.scan sum %x along "w" : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=5]>
  return
}

// -----

// scan, C2.
func.func @a_recurrence_has_a_factor(%x: !pipe.tensor<f32[w=4]>) {
  // expected-error @below {{has a factor, or factors, exactly when it is a recurrence}}
  %0 = pipe.scan recurrence %x along "w" : !pipe.tensor<f32[w=4]> -> !pipe.tensor<f32[w=4]>
  return
}

// -----

// scan, C2.
func.func @a_sum_has_no_factors(%x: !pipe.tensor<f32[w=4]>) {
  // expected-error @below {{has a factor, or factors, exactly when it is a recurrence}}
  %0 = pipe.scan sum %x along "w" factors(%x : !pipe.tensor<f32[w=4]>) : !pipe.tensor<f32[w=4]> -> !pipe.tensor<f32[w=4]>
  return
}

// -----

// scan, C2.
func.func @factors_are_those_of_the_value(%x: !pipe.tensor<f16[w=4]>) {
  // expected-error @below {{has factors '!pipe.tensor<f16[w=4]>' for '!pipe.tensor<f16[w=4]>'}}
  %0 = pipe.scan recurrence %x along "w" factors(%x : !pipe.tensor<f16[w=4]>) : !pipe.tensor<f16[w=4]> -> !pipe.tensor<f16[w=4]>
  return
}

// -----

// histogram, C1.
func.func @histogram_counts_integers(%x: !pipe.tensor<f32[w=4]>) {
  // expected-error @below {{needs integer keys and axes of its value}}
  %0 = pipe.histogram %x over ["w"] : !pipe.tensor<f32[w=4]> -> !pipe.tensor<i32[bin=8]>
  return
}

// -----

// histogram, C1.
func.func @histogram_adds_an_axis(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{counts into '!pipe.tensor<i64[bin=8]>'}}
  %0 = pipe.histogram %x over ["w"] : !pipe.tensor<u8[w=4]> -> !pipe.tensor<i64[bin=8]>
  return
}

// -----

// contract, C1.
func.func @contract_goes_along_the_matrix(%x: !pipe.tensor<u8[w=4]>, %m: !pipe.tensor<u8[w=4, k=2]>) {
  // expected-error @below {{multiplies '!pipe.tensor<u8[w=4]>' by '!pipe.tensor<u8[w=4, k=2]>' to get '!pipe.tensor<u8[k=2]>'}}
  %0 = pipe.contract %x by %m : !pipe.tensor<u8[w=4]>, !pipe.tensor<u8[w=4, k=2]> -> !pipe.tensor<u8[k=2]>
  return
}

// -----

// fft, C1.
func.func @fft_takes_floats_of_known_length(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{cannot transform '!pipe.tensor<u8[w=4]>' along `w`}}
  %0 = pipe.fft %x along "w" : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[freq=3, part=2]>
  return
}

// -----

// fft, C2.
func.func @fft_gives_half_and_one(%x: !pipe.tensor<f32[w=4]>) {
  // expected-error @below {{transforms '!pipe.tensor<f32[w=4]>' into '!pipe.tensor<f32[freq=4, part=2]>'}}
  %0 = pipe.fft %x along "w" : !pipe.tensor<f32[w=4]> -> !pipe.tensor<f32[freq=4, part=2]>
  return
}

// -----

// compact, C1.
func.func @compact_has_a_mask(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{selects along `w` with a mask of '!pipe.tensor<u8[w=4]>'}}
  %0, %1 = pipe.compact %x along "w" where %x : !pipe.tensor<u8[w=4]>, !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=4]>, !pipe.tensor<i64[]>
  return
}

// -----

// compact, C2.
func.func @compact_keeps_elements(%x: !pipe.tensor<u8[w=4]>, %m: !pipe.tensor<bool[w=4]>) {
  // expected-error @below {{keeps elements of '!pipe.tensor<u8[w=4]>' in '!pipe.tensor<f32[w=4]>'}}
  %0, %1 = pipe.compact %x along "w" where %m : !pipe.tensor<u8[w=4]>, !pipe.tensor<bool[w=4]> -> !pipe.tensor<f32[w=4]>, !pipe.tensor<i64[]>
  return
}

// -----

// group, C1.
func.func @group_has_integer_keys(%x: !pipe.tensor<f32[w=4]>) {
  // expected-error @below {{groups along `w` by '!pipe.tensor<f32[w=4]>'}}
  %0, %1, %2 = pipe.group %x along "w" limit 2 : <f32[w=4]> -> <i64[w=4]>, <i64[m=2]>, <i64[]>
  return
}

// -----

// group, C2.
func.func @group_has_a_mask(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{groups along `w` with a mask of '!pipe.tensor<u8[w=4]>'}}
  %0, %1, %2 = pipe.group %x along "w" where %x limit 2 : <u8[w=4]>, !pipe.tensor<u8[w=4]> -> <i64[w=4]>, <i64[m=2]>, <i64[]>
  return
}

// -----

// group, C3.
func.func @group_numbers_in_i64(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{has results '!pipe.tensor<i32[w=4]>', '!pipe.tensor<i64[m=2]>' and '!pipe.tensor<i64[]>'}}
  %0, %1, %2 = pipe.group %x along "w" limit 2 : <u8[w=4]> -> <i32[w=4]>, <i64[m=2]>, <i64[]>
  return
}

// -----

// group, C3.
func.func @group_has_room(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{has no room for a group}}
  %0, %1, %2 = pipe.group %x along "w" limit 0 : <u8[w=4]> -> <i64[w=4]>, <i64[m=2]>, <i64[]>
  return
}

// -----

// reduce_by, C1.
func.func @groups_are_numbers(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{groups along `w` by '!pipe.tensor<u8[w=4]>'}}
  %0 = pipe.reduce_by sum %x along "w" by %x : !pipe.tensor<u8[w=4]>, !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[m=2]>
  return
}

// -----

// reduce_by, C2.
func.func @reduce_by_replaces_the_axis(%x: !pipe.tensor<u8[w=4]>, %g: !pipe.tensor<i64[w=4]>) {
  // expected-error @below {{reduces '!pipe.tensor<u8[w=4]>' along `w` to '!pipe.tensor<u8[w=2]>'}}
  %0 = pipe.reduce_by sum %x along "w" by %g : !pipe.tensor<u8[w=4]>, !pipe.tensor<i64[w=4]> -> !pipe.tensor<u8[w=2]>
  return
}

// -----

// reduce_by, C3.
func.func @reduce_by_keeps_elements(%x: !pipe.tensor<u8[w=4]>, %g: !pipe.tensor<i64[w=4]>) {
  // expected-error @below {{cannot combine '!pipe.tensor<u8[w=4]>' into '!pipe.tensor<u8[m=2]>'}}
  %0 = pipe.reduce_by any %x along "w" by %g : !pipe.tensor<u8[w=4]>, !pipe.tensor<i64[w=4]> -> !pipe.tensor<u8[m=2]>
  return
}

// -----

// sort, C1.
func.func @sort_gives_places(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{sorts '!pipe.tensor<u8[w=4]>' along `w` into '!pipe.tensor<u8[w=4]>'}}
  %0 = pipe.sort %x along "w" : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=4]>
  return
}

// -----

// rank_by, C1.
func.func @ranks_are_of_numbers(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{numbers along `w` by '!pipe.tensor<u8[w=4]>' into '!pipe.tensor<i64[w=4]>'}}
  %0 = pipe.rank_by %x along "w" : !pipe.tensor<u8[w=4]> -> !pipe.tensor<i64[w=4]>
  return
}

// -----

// scatter, C1.
func.func @scatter_has_a_place_for_each_axis(%b: !pipe.tensor<u8[m=2, q=2]>, %x: !pipe.tensor<u8[w=4]>, %g: !pipe.tensor<i64[w=4]>) {
  // expected-error @below {{has 1 places for 2 axes}}
  %0 = pipe.scatter sum %b by %x along "w" over ["m", "q"] at (%g) : !pipe.tensor<u8[m=2, q=2]>, !pipe.tensor<u8[w=4]>, !pipe.tensor<i64[w=4]> -> !pipe.tensor<u8[m=2, q=2]>
  return
}

// -----

// scatter, C1.
func.func @scatter_is_over_axes_of_the_base(%b: !pipe.tensor<u8[m=2]>, %x: !pipe.tensor<u8[w=4]>, %g: !pipe.tensor<i64[w=4]>) {
  // expected-error @below {{`q`}}
  %0 = pipe.scatter sum %b by %x along "w" over ["q"] at (%g) : !pipe.tensor<u8[m=2]>, !pipe.tensor<u8[w=4]>, !pipe.tensor<i64[w=4]> -> !pipe.tensor<u8[m=2]>
  return
}

// -----

// scatter, C1.
func.func @places_are_numbers(%b: !pipe.tensor<u8[m=2]>, %x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{has places of '!pipe.tensor<u8[w=4]>' along `w`}}
  %0 = pipe.scatter sum %b by %x along "w" over ["m"] at (%x) : !pipe.tensor<u8[m=2]>, !pipe.tensor<u8[w=4]>, !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[m=2]>
  return
}

// -----

// scatter, C2.
func.func @scatter_counts_elements_apart_from_places(%b: !pipe.tensor<u8[w=4]>, %x: !pipe.tensor<u8[w=4]>, %g: !pipe.tensor<i64[w=4]>) {
  // expected-error @below {{moves '!pipe.tensor<u8[w=4]>' along `w` into '!pipe.tensor<u8[w=4]>'}}
  %0 = pipe.scatter sum %b by %x along "w" over ["w"] at (%g) : !pipe.tensor<u8[w=4]>, !pipe.tensor<u8[w=4]>, !pipe.tensor<i64[w=4]> -> !pipe.tensor<u8[w=4]>
  return
}

// -----

// scatter, C2.
func.func @values_have_the_other_axes(%b: !pipe.tensor<u8[m=2, c=3]>, %x: !pipe.tensor<u8[w=4]>, %g: !pipe.tensor<i64[w=4]>) {
  // expected-error @below {{moves '!pipe.tensor<u8[w=4]>' along `w` into '!pipe.tensor<u8[m=2, c=3]>'}}
  %0 = pipe.scatter sum %b by %x along "w" over ["m"] at (%g) : !pipe.tensor<u8[m=2, c=3]>, !pipe.tensor<u8[w=4]>, !pipe.tensor<i64[w=4]> -> !pipe.tensor<u8[m=2, c=3]>
  return
}

// -----

// scatter, C3.
func.func @scatter_keeps_elements(%b: !pipe.tensor<i32[m=2]>, %x: !pipe.tensor<u8[w=4]>, %g: !pipe.tensor<i64[w=4]>) {
  // expected-error @below {{combines '!pipe.tensor<i32[m=2]>' and '!pipe.tensor<u8[w=4]>' into '!pipe.tensor<i32[m=2]>'}}
  %0 = pipe.scatter sum %b by %x along "w" over ["m"] at (%g) : !pipe.tensor<i32[m=2]>, !pipe.tensor<u8[w=4]>, !pipe.tensor<i64[w=4]> -> !pipe.tensor<i32[m=2]>
  return
}

// -----

// scatter, C4.
func.func @halves_are_not_added(%b: !pipe.tensor<f16[m=2]>, %x: !pipe.tensor<f16[w=4]>, %g: !pipe.tensor<i64[w=4]>) {
  // expected-error @below {{cannot combine f16}}
  %0 = pipe.scatter sum %b by %x along "w" over ["m"] at (%g) : !pipe.tensor<f16[m=2]>, !pipe.tensor<f16[w=4]>, !pipe.tensor<i64[w=4]> -> !pipe.tensor<f16[m=2]>
  return
}

// -----

// filter, C1.
func.func @filters_are_of_floats(%x: !pipe.tensor<u8[w=4]>, %b: !pipe.tensor<f64[j=2]>) {
  // expected-error @below {{filters '!pipe.tensor<u8[w=4]>' along `w` into '!pipe.tensor<u8[w=4]>'}}
  %0 = pipe.filter %x along "w" by %b over %b : !pipe.tensor<u8[w=4]>, !pipe.tensor<f64[j=2]>, !pipe.tensor<f64[j=2]> -> !pipe.tensor<u8[w=4]>
  return
}

// -----

// filter, C2.
func.func @filters_have_an_order(%x: !pipe.tensor<f32[w=4]>, %b: !pipe.tensor<f64[j=65]>) {
  // expected-error @below {{filters by '!pipe.tensor<f64[j=65]>'}}
  %0 = pipe.filter %x along "w" by %b over %b : !pipe.tensor<f32[w=4]>, !pipe.tensor<f64[j=65]>, !pipe.tensor<f64[j=65]> -> !pipe.tensor<f32[w=4]>
  return
}
