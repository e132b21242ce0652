// RUN: penstock-opt %s --split-input-file --verify-diagnostics --pipe-kernel-to-gpu
// REQUIRES: penstock-opt

// A schedule made by hand that cannot be kept.
pipe.kernel @needs_passes "pixels" schedule {mapping = "grid", threads = 256 : i64} {
^bb0(%x: !pipe.tensor<u8[w=16]>):
  // expected-error @below {{is computed before others read it, which needs the mapping "block"}}
  %0 = pipe.reduce max %x over ["w"] : !pipe.tensor<u8[w=16]> -> !pipe.tensor<u8[]>
  %1 = pipe.map (%x, %0) : (!pipe.tensor<u8[w=16]>, !pipe.tensor<u8[]>) -> !pipe.tensor<u8[w=16]> {
  ^bb0(%p: ui8, %m: ui8, %w: i64):
    %q = pipe.binary sub %m, %p : ui8
    pipe.yield %q : ui8
  }
  pipe.return %1 : !pipe.tensor<u8[w=16]>
}

// -----

// Every view is a launch of its own, or unrolled: none is left in a kernel.
pipe.kernel @views "pixels" schedule {mapping = "grid", threads = 256 : i64} {
^bb0(%x: !pipe.tensor<u8[w=16]>):
  // expected-error @below {{has no GPU code yet}}
  %0 = pipe.each "v" 2 -> !pipe.tensor<u8[v=2, w=16]> {
  ^bb0(%v: i64):
    pipe.yield %x : !pipe.tensor<u8[w=16]>
  }
  pipe.return %0 : !pipe.tensor<u8[v=2, w=16]>
}

// -----

// Passes of one block, also where the result is an output.
pipe.kernel @groups "pixels" schedule {mapping = "grid", threads = 256 : i64} {
^bb0(%x: !pipe.tensor<i32[k=9]>):
  // expected-error @below {{is computed before others read it, which needs the mapping "block"}}
  %0, %first, %n = pipe.group %x along "k" limit 4 : <i32[k=9]> -> <i64[k=9]>, <i64[m=4]>, <i64[]>
  pipe.return %0, %first, %n : !pipe.tensor<i64[k=9]>, !pipe.tensor<i64[m=4]>, !pipe.tensor<i64[]>
}

// -----

pipe.kernel @checks_each "pixels" schedule {mapping = "grid", threads = 256 : i64} {
^bb0(%x: !pipe.tensor<u8[w=16]>):
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=16]>) -> !pipe.tensor<u8[w=16]> {
  ^bb0(%p: ui8, %w: i64):
    %five = pipe.constant 5 : i64 -> i64
    %ok = pipe.compare lt %w, %five : i64
    // expected-error @below {{has no GPU code yet in this place}}
    pipe.check %ok, "element {0} is too far" (%w, %w)
    pipe.yield %p : ui8
  }
  pipe.return %0 : !pipe.tensor<u8[w=16]>
}

// -----

// A tensor that a loop carries is complete after each round.
pipe.kernel @carries "pixels" schedule {mapping = "grid", threads = 256 : i64} {
^bb0(%x: !pipe.tensor<u8[w=16]>, %n: i64):
  // expected-error @below {{carries tensors, which needs the mapping "block"}}
  %0 = pipe.repeat %n bound 4 (%x) : (!pipe.tensor<u8[w=16]>) -> !pipe.tensor<u8[w=16]> {
  ^bb0(%i: i64, %c: !pipe.tensor<u8[w=16]>):
    pipe.yield %c : !pipe.tensor<u8[w=16]>
  }
  pipe.return %0 : !pipe.tensor<u8[w=16]>
}

// -----

// A check that some arms only make would be made by some threads only.
pipe.kernel @checks_in_an_arm "pixels" schedule {mapping = "block", threads = 256 : i64} {
^bb0(%x: !pipe.tensor<u8[w=16]>, %n: i64):
  %ok = pipe.compare lt %n, %n : i64
  %0 = pipe.choose %n -> !pipe.tensor<u8[w=16]> {
    // expected-error @below {{inside a branch or a loop has no GPU code yet}}
    pipe.check %ok, "never" (%n, %n)
    pipe.yield %x : !pipe.tensor<u8[w=16]>
  }
  pipe.return %0 : !pipe.tensor<u8[w=16]>
}

// -----

pipe.kernel @makes_too_many "pixels" schedule {mapping = "grid", threads = 256 : i64} {
^bb0(%x: !pipe.tensor<u8[w=16]>):
  // expected-error @below {{whose `w` is to name an axis of known extent, and a number that divides it}}
  %0 = pipe.map (%x) {vector = {w = 5 : i64}} : (!pipe.tensor<u8[w=16]>) -> !pipe.tensor<u8[w=16]> {
  ^bb0(%p: ui8, %w: i64):
    pipe.yield %p : ui8
  }
  pipe.return %0 : !pipe.tensor<u8[w=16]>
}

// -----

pipe.kernel @goes_nowhere "pixels" schedule {mapping = "grid", threads = 256 : i64} {
^bb0(%x: !pipe.tensor<u8[h=16, w=16]>):
  // expected-error @below {{has the schedule `along`, which is to name an axis of its `vector`, in a kernel that makes no tiles}}
  %0 = pipe.map (%x) {along = "h", vector = {w = 16 : i64}} : (!pipe.tensor<u8[h=16, w=16]>) -> !pipe.tensor<u8[h=16, w=16]> {
  ^bb0(%p: ui8, %h: i64, %w: i64):
    pipe.yield %p : ui8
  }
  pipe.return %0 : !pipe.tensor<u8[h=16, w=16]>
}

// -----

pipe.kernel @turns_of_no_words "pixels" schedule {mapping = "grid", threads = 256 : i64} {
^bb0(%x: !pipe.tensor<u8[h=16, w=16]>):
  // expected-error @below {{has the schedule `unrolled`, which is to be a multiple of 4 that divides the number of elements along its strip}}
  %0 = pipe.map (%x) {along = "w", unrolled = 2 : i64, vector = {w = 16 : i64}} : (!pipe.tensor<u8[h=16, w=16]>) -> !pipe.tensor<u8[h=16, w=16]> {
  ^bb0(%p: ui8, %h: i64, %w: i64):
    pipe.yield %p : ui8
  }
  pipe.return %0 : !pipe.tensor<u8[h=16, w=16]>
}

// -----

pipe.kernel @turns_that_divide_nothing "pixels" schedule {mapping = "grid", threads = 256 : i64} {
^bb0(%x: !pipe.tensor<u8[h=16, w=16]>):
  // expected-error @below {{has the schedule `unrolled`, which is to be a multiple of 4 that divides the number of elements along its strip}}
  %0 = pipe.map (%x) {along = "w", unrolled = 12 : i64, vector = {w = 16 : i64}} : (!pipe.tensor<u8[h=16, w=16]>) -> !pipe.tensor<u8[h=16, w=16]> {
  ^bb0(%p: ui8, %h: i64, %w: i64):
    pipe.yield %p : ui8
  }
  pipe.return %0 : !pipe.tensor<u8[h=16, w=16]>
}

// -----

// expected-error @below {{nobody can tell which rows its outputs read along `h`}}
pipe.kernel @reads_any_row "pixels" schedule {mapping = "tile", threads = 64 : i64, tile = {h = 8 : i64}, rows = 32 : i64} {
^bb0(%x: !pipe.tensor<u8[h=64, w=64]>):
  %0 = pipe.map (%x) {schedule = "shared"} : (!pipe.tensor<u8[h=64, w=64]>) -> !pipe.tensor<u8[h=64, w=64]> {
  ^bb0(%p: ui8, %h: i64, %w: i64):
    pipe.yield %p : ui8
  }
  %one = pipe.constant 1 : i64 -> i64
  %1 = pipe.pad wrap %0 over ["h"] low(%one) : !pipe.tensor<u8[h=64, w=64]> -> !pipe.tensor<u8[h=66, w=64]>
  pipe.return %1 : !pipe.tensor<u8[h=66, w=64]>
}

// -----

// expected-error @below {{a thread makes several elements along `h`, an axis of the tile}}
pipe.kernel @vectors_along_rows "pixels" schedule {mapping = "tile", threads = 64 : i64, tile = {h = 8 : i64}, rows = 32 : i64} {
^bb0(%x: !pipe.tensor<u8[h=64, w=64]>):
  %0 = pipe.map (%x) {schedule = "shared", vector = {h = 4 : i64}} : (!pipe.tensor<u8[h=64, w=64]>) -> !pipe.tensor<u8[h=64, w=64]> {
  ^bb0(%p: ui8, %h: i64, %w: i64):
    pipe.yield %p : ui8
  }
  pipe.return %0 : !pipe.tensor<u8[h=64, w=64]>
}

// -----

// Rows that begin again at the other end are no box.
// expected-error @below {{has a schedule with `copied`, and nobody can tell which box of each of its `inputs` is read for what is stored}}
pipe.kernel @begins_again "pixels" schedule {mapping = "tile", threads = 64 : i64, tile = {h = 8 : i64}, rows = 32 : i64, copied = {bytes = 1024 : i64, inputs = array<i64: 0>}} {
^bb0(%x: !pipe.tensor<u8[h=64, w=64]>):
  %one = pipe.constant 1 : i64 -> i64
  %wide = pipe.pad wrap %x over ["w"] low(%one) : !pipe.tensor<u8[h=64, w=64]> -> !pipe.tensor<u8[h=64, w=66]>
  %0 = pipe.map (%wide) {schedule = "shared"} : (!pipe.tensor<u8[h=64, w=66]>) -> !pipe.tensor<u8[h=64, w=66]> {
  ^bb0(%p: ui8, %h: i64, %w: i64):
    pipe.yield %p : ui8
  }
  pipe.return %0 : !pipe.tensor<u8[h=64, w=66]>
}
