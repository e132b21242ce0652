// RUN: penstock-opt %s --pipe-kernel-to-gpu --split-input-file --verify-diagnostics

// Each thread's pixels are its own, whatever it makes of their channels.
pipe.kernel @in_place "pixels" schedule {held = {at = 64 : i64, tensors = array<i64: 0, 1>}, mapping = "grid", threads = 64 : i64} {
^bb0(%x: !pipe.tensor<u8[h=4, w=32, c=3]>):
  %r = pipe.view %x by affine_map<(h, w) -> (h, w, 0)> [] : !pipe.tensor<u8[h=4, w=32, c=3]> -> !pipe.tensor<u8[h=4, w=32]>
  %y = pipe.map (%x, %r) {vector = {c = 3 : i64, w = 16 : i64}} : (!pipe.tensor<u8[h=4, w=32, c=3]>, !pipe.tensor<u8[h=4, w=32]>) -> !pipe.tensor<u8[h=4, w=32, c=3]> {
  ^bb0(%a: ui8, %b: ui8, %h: i64, %w: i64, %c: i64):
    %z = pipe.binary sub %a, %b : ui8
    pipe.yield %z : ui8
  }
  pipe.return %y : !pipe.tensor<u8[h=4, w=32, c=3]>
}

// -----

// One element a thread.
pipe.kernel @single "pixels" schedule {held = {at = 64 : i64, tensors = array<i64: 0, 1>}, mapping = "grid", threads = 64 : i64} {
^bb0(%x: !pipe.tensor<u8[w=48]>):
  %y = pipe.map (%x) : (!pipe.tensor<u8[w=48]>) -> !pipe.tensor<u8[w=48]> {
  ^bb0(%a: ui8, %w: i64):
    pipe.yield %a : ui8
  }
  pipe.return %y : !pipe.tensor<u8[w=48]>
}

// -----

// expected-error @below {{holds input 0 where its output is held, and does not store in place}}
pipe.kernel @turned "pixels" schedule {held = {at = 64 : i64, tensors = array<i64: 0, 1>}, mapping = "grid", threads = 64 : i64} {
^bb0(%x: !pipe.tensor<u8[w=48]>):
  %y = pipe.view %x by affine_map<(w) -> (47 - w)> [] : !pipe.tensor<u8[w=48]> -> !pipe.tensor<u8[w=48]>
  pipe.return %y : !pipe.tensor<u8[w=48]>
}

// -----

// A thread has one channel of a pixel of which it reads all.
// expected-error @below {{holds input 0 where its output is held, and does not store in place}}
pipe.kernel @channels "pixels" schedule {held = {at = 64 : i64, tensors = array<i64: 0, 1>}, mapping = "grid", threads = 64 : i64} {
^bb0(%x: !pipe.tensor<u8[h=4, w=32, c=3]>):
  %y = pipe.view %x by affine_map<(h, w, c) -> (h, w, 2 - c)> [] : !pipe.tensor<u8[h=4, w=32, c=3]> -> !pipe.tensor<u8[h=4, w=32, c=3]>
  pipe.return %y : !pipe.tensor<u8[h=4, w=32, c=3]>
}

// -----

// Rows of 40 pixels are no strips of 16.
// expected-error @below {{holds input 0 where its output is held, and does not store in place}}
pipe.kernel @odd "pixels" schedule {held = {at = 64 : i64, tensors = array<i64: 0, 1>}, mapping = "grid", threads = 64 : i64} {
^bb0(%x: !pipe.tensor<u8[h=4, w=40]>):
  %y = pipe.map (%x) {along = "w", vector = {w = 16 : i64}} : (!pipe.tensor<u8[h=4, w=40]>) -> !pipe.tensor<u8[h=4, w=40]> {
  ^bb0(%a: ui8, %h: i64, %w: i64):
    pipe.yield %a : ui8
  }
  pipe.return %y : !pipe.tensor<u8[h=4, w=40]>
}

// -----

// Boxes of 4 pixels begin at no boundary of 16 bytes.
// expected-error @below {{holds input 0 where its output is held, and does not store in place}}
pipe.kernel @narrow "pixels" schedule {held = {at = 64 : i64, tensors = array<i64: 0, 1>}, mapping = "grid", threads = 64 : i64} {
^bb0(%x: !pipe.tensor<u8[h=4, w=32, c=3]>):
  %y = pipe.map (%x) {vector = {c = 3 : i64, w = 4 : i64}} : (!pipe.tensor<u8[h=4, w=32, c=3]>) -> !pipe.tensor<u8[h=4, w=32, c=3]> {
  ^bb0(%a: ui8, %h: i64, %w: i64, %c: i64):
    pipe.yield %a : ui8
  }
  pipe.return %y : !pipe.tensor<u8[h=4, w=32, c=3]>
}

// -----

// What is looked up lies anywhere.
// expected-error @below {{holds input 0 where its output is held, and does not store in place}}
pipe.kernel @looked_up "pixels" schedule {held = {at = 64 : i64, tensors = array<i64: 0, 1>}, mapping = "grid", threads = 64 : i64} {
^bb0(%x: !pipe.tensor<u8[w=48]>):
  %y = pipe.map (%x) : (!pipe.tensor<u8[w=48]>) -> !pipe.tensor<u8[w=48]> {
  ^bb0(%a: ui8, %w: i64):
    %i = pipe.cast value %a : ui8 -> i64
    %b = pipe.load %x[%i] : !pipe.tensor<u8[w=48]> -> ui8
    pipe.yield %b : ui8
  }
  pipe.return %y : !pipe.tensor<u8[w=48]>
}

// -----

// The second picture lies there, too, and is read before.
// expected-error @below {{holds input 1 where its output is held, and does not store in place}}
pipe.kernel @second "pixels" schedule {held = {at = 64 : i64, tensors = array<i64: 0, 1, 2>}, mapping = "grid", threads = 64 : i64} {
^bb0(%x: !pipe.tensor<u8[w=48]>, %z: !pipe.tensor<u8[w=48]>):
  %t = pipe.view %z by affine_map<(w) -> (47 - w)> [] : !pipe.tensor<u8[w=48]> -> !pipe.tensor<u8[w=48]>
  %y = pipe.map (%x, %t) : (!pipe.tensor<u8[w=48]>, !pipe.tensor<u8[w=48]>) -> !pipe.tensor<u8[w=48]> {
  ^bb0(%a: ui8, %b: ui8, %w: i64):
    pipe.yield %b : ui8
  }
  pipe.return %y : !pipe.tensor<u8[w=48]>
}

// -----

// expected-error @below {{makes one place along an axis of which a thread makes several}}
pipe.kernel @parts "pixels" schedule {mapping = "grid", part, threads = 64 : i64} {
^bb0(%x: !pipe.tensor<u8[v=2, w=48]>):
  %y = pipe.map (%x) {vector = {v = 2 : i64}} : (!pipe.tensor<u8[v=2, w=48]>) -> !pipe.tensor<u8[v=2, w=48]> {
  ^bb0(%a: ui8, %v: i64, %w: i64):
    pipe.yield %a : ui8
  }
  pipe.return %y : !pipe.tensor<u8[v=2, w=48]>
}
