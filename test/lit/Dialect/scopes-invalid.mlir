// RUN: penstock-opt %s --split-input-file --verify-diagnostics
// REQUIRES: penstock-opt

// Faults that the verifiers of branches, loops, views and outputs refuse.

// choose, C1.
func.func @choose_has_an_arm(%n: i64) {
  // expected-error @below {{has no arm}}
  %0 = "pipe.choose"(%n) : (i64) -> i64
  return
}

// -----

// choose, C1.
func.func @arms_yield_the_results(%n: i64, %y: f32) {
  // expected-error @below {{has a region that yields other types than the results}}
  %0 = pipe.choose %n -> i64 {
    pipe.yield %y : f32
  }
  return
}

// -----

// choose, C2.
func.func @choose_has_sizes(%n: i64, %x: !pipe.tensor<u8[w=?]>) {
  // expected-error @below {{has 0 sizes for 1 dynamic axes}}
  %0 = pipe.choose %n -> !pipe.tensor<u8[w=?]> {
    pipe.yield %x : !pipe.tensor<u8[w=?]>
  }
  return
}

// -----

// repeat, C1.
func.func @repeat_carries_its_results(%n: i64, %y: f32) {
  // expected-error @below {{carries other types than its results}}
  %0 = pipe.repeat %n bound 4 (%y) : (f32) -> i64 {
  ^bb0(%i: i64, %c: i64):
    pipe.yield %c : i64
  }
  return
}

// -----

// search, C1.
func.func @search_accepts_its_results(%n: i64, %ok: i1, %y: f32) {
  // expected-error @below {{accepts other types than its results}}
  %0 = pipe.search 3 -> i64 {
  ^bb0(%i: i64):
    pipe.accept %ok, %y : f32
  } otherwise {
    pipe.yield %n : i64
  }
  return
}

// -----

func.func @search_numbers_its_tries(%n: i64, %ok: i1) {
  // expected-error @below {{has a body whose argument is not the i64 number of the try}}
  %0 = pipe.search 3 -> i64 {
  ^bb0(%i: f32):
    pipe.accept %ok, %n : i64
  } otherwise {
    pipe.yield %n : i64
  }
  return
}

// -----

// each, C1.
func.func @each_yields_its_results(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{yields another number of values than it has results}}
  %0 = pipe.each "v" 2 -> !pipe.tensor<u8[v=2, w=4]> {
  ^bb0(%v: i64):
    pipe.yield %x, %x : !pipe.tensor<u8[w=4]>, !pipe.tensor<u8[w=4]>
  }
  return
}

// -----

// each, C1.
func.func @each_adds_its_axis(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{yields '!pipe.tensor<u8[w=4]>' for '!pipe.tensor<u8[v=3, w=4]>'}}
  %0 = pipe.each "v" 2 -> !pipe.tensor<u8[v=3, w=4]> {
  ^bb0(%v: i64):
    pipe.yield %x : !pipe.tensor<u8[w=4]>
  }
  return
}

// -----

// peer, C1.
func.func @a_peer_has_the_type(%x: !pipe.tensor<u8[w=4]>, %n: i64) {
  // expected-error @below {{reads '!pipe.tensor<u8[w=4]>' as '!pipe.tensor<u8[w=5]>'}}
  %0 = pipe.peer %x[%n] : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=5]>
  return
}

// -----

// peer, C1.
func.func @peers_are_in_a_batch(%x: !pipe.tensor<u8[w=4]>, %n: i64) {
  // expected-error @below {{stands outside a batch}}
  %0 = pipe.peer %x[%n] : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=4]>
  return
}

// -----

// peers, C1.
func.func @all_peers_are_in_a_batch(%x: !pipe.tensor<u8[w=4]>, %n: i64) {
  // expected-error @below {{stands outside a batch}}
  %0 = pipe.peers %x along "n" sizes(%n) : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[n=?, w=4]>
  return
}

// -----

// peers, C2.
pipe.pipeline @all_peers_have_the_axes seed 0 substitute 0.0 {
  %n = pipe.constant 2 : i64 -> i64
  pipe.batch size(%n) last drop {
    %x = pipe.constant dense<3> : tensor<4xui8> -> !pipe.tensor<u8[w=4]>
    // expected-error @below {{reads '!pipe.tensor<u8[w=4]>' of every sample as '!pipe.tensor<u8[m=2, w=4]>'}}
    %0 = pipe.peers %x along "n" : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[m=2, w=4]>
  }
}

// -----

func.func @an_output_names_its_axes(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{declares 1 axes for a value with 1}}
  pipe.output "x" %x axes ["n"] stored ["n"] : !pipe.tensor<u8[w=4]>
  return
}

// -----

func.func @an_output_has_sizes(%x: !pipe.tensor<u8[w=?]>) {
  // expected-error @below {{has 0 sizes for 1 dynamic axes}}
  pipe.output "x" %x axes ["n", "w"] stored ["n", "w"] : !pipe.tensor<u8[w=?]>
  return
}

// -----

// output, C1.
func.func @an_output_is_bounded(%x: !pipe.tensor<u8[w=?]>, %n: i64) {
  // expected-error @below {{has axis `w` of unknown extent; it must be static, or bounded and ragged}}
  pipe.output "x" %x sizes(%n) axes ["n", "w"] stored ["n", "w"] : !pipe.tensor<u8[w=?]>
  return
}

// -----

// output, C2.
func.func @counts_have_limits(%x: !pipe.tensor<u8[w=4]>, %c: !pipe.tensor<i64[]>) {
  // expected-error @below {{has 1 counts with other numbers of axes, limits and messages}}
  pipe.output "x" %x axes ["n", "w"] stored ["n", "w"] counts(%c : !pipe.tensor<i64[]>) of ["w"] limits [4, 5] messages ["m"] : !pipe.tensor<u8[w=4]>
  return
}

// -----

// output, C2.
func.func @counts_are_of_an_axis(%x: !pipe.tensor<u8[w=4]>, %c: !pipe.tensor<i64[]>) {
  // expected-error @below {{counts elements of an axis that it does not have, or not in i64}}
  pipe.output "x" %x axes ["n", "w"] stored ["n", "w"] counts(%c : !pipe.tensor<i64[]>) of ["h"] limits [4] messages ["m"] : !pipe.tensor<u8[w=4]>
  return
}

// -----

// output, C3.
func.func @a_fill_is_an_element(%x: !pipe.tensor<u8[w=? max 4]>, %n: i64) {
  // expected-error @below {{is filled up with what is no element of it, or not ragged}}
  pipe.output "x" %x sizes(%n) axes ["n", "w"] stored ["n", "w"] ragged fill -1.0 : f32 : !pipe.tensor<u8[w=? max 4]>
  return
}

// -----

// output, C3.
func.func @a_fill_is_for_what_is_ragged(%x: !pipe.tensor<u8[w=4]>) {
  // expected-error @below {{is filled up with what is no element of it, or not ragged}}
  pipe.output "x" %x axes ["n", "w"] stored ["n", "w"] fill 0 : ui8 : !pipe.tensor<u8[w=4]>
  return
}
