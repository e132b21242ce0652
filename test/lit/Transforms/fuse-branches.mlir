// RUN: penstock-opt %s --pipe-fuse --canonicalize --split-input-file | FileCheck %s

// An arm with a window is a guarded kernel; the other yields its input.
// CHECK: pipe.kernel @k0
// CHECK: pipe.window
// CHECK: pipe.kernel @k1
// CHECK: pipe.view
// CHECK-LABEL: pipe.pipeline @cuts_arms_into_kernels
// CHECK: %[[COIN:.*]] = pipe.compare
// CHECK: %[[SOFT:.*]] = pipe.launch @k0(%[[X:.*]]) scalars() guard(%[[COIN]])
// CHECK: %[[SWITCH:.*]] = pipe.switch %{{.*}}(%[[X]], %[[SOFT]])
// CHECK: pipe.launch @k1(%[[SWITCH]])
pipe.pipeline @cuts_arms_into_kernels seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<u8[w=8]>, i = i64} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<u8[w=8]>
  %i = pipe.field %row "i" : i64
  %batch = pipe.constant 2 : i64 -> i64
  %coin = pipe.compare lt %i, %batch : i64
  %index = pipe.cast value %coin : i1 -> i64
  %0 = pipe.choose %index -> !pipe.tensor<u8[w=8]> {
    pipe.yield %x : !pipe.tensor<u8[w=8]>
  }, {
    %1 = pipe.window edge %x over ["w"] low [-1] high [0] : !pipe.tensor<u8[w=8]> -> !pipe.tensor<u8[w=8]> {
    ^bb0(%p: ui8, %q: ui8, %k: i64):
      %m = pipe.binary max %p, %q : ui8
      pipe.yield %m : ui8
    }
    pipe.yield %1 : !pipe.tensor<u8[w=8]>
  }
  pipe.batch size(%batch) last drop {
    pipe.output "a" %0 axes ["n", "w"] stored ["n", "w"] : !pipe.tensor<u8[w=8]>
  }
}

// -----

// Pointwise arms stay a choice inside the kernel.
// CHECK: pipe.kernel @k0
// CHECK: pipe.choose
// CHECK-NOT: pipe.kernel
// CHECK-LABEL: pipe.pipeline @keeps_pointwise_arms
// CHECK-NOT: pipe.switch
pipe.pipeline @keeps_pointwise_arms seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<u8[w=8]>, i = i64} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<u8[w=8]>
  %i = pipe.field %row "i" : i64
  %batch = pipe.constant 2 : i64 -> i64
  %0 = pipe.choose %i -> !pipe.tensor<u8[w=8]> {
    pipe.yield %x : !pipe.tensor<u8[w=8]>
  }, {
    %1 = pipe.map (%x) : (!pipe.tensor<u8[w=8]>) -> !pipe.tensor<u8[w=8]> {
    ^bb0(%p: ui8, %k: i64):
      %q = pipe.unary bit_not %p : ui8
      pipe.yield %q : ui8
    }
    pipe.yield %1 : !pipe.tensor<u8[w=8]>
  }
  pipe.batch size(%batch) last drop {
    pipe.output "a" %0 axes ["n", "w"] stored ["n", "w"] : !pipe.tensor<u8[w=8]>
  }
}

// -----

// A repeat of windows is unrolled; the second runs only if the count says.
// CHECK: pipe.kernel @k0
// CHECK-LABEL: pipe.pipeline @writes_a_repeat_out
// CHECK: pipe.launch @k0{{.*}} guard(
// CHECK: pipe.switch
// CHECK: pipe.launch @k0{{.*}} guard(
// CHECK: pipe.switch
pipe.pipeline @writes_a_repeat_out seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<u8[w=8]>, i = i64} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<u8[w=8]>
  %i = pipe.field %row "i" : i64
  %batch = pipe.constant 2 : i64 -> i64
  %0 = pipe.repeat %i bound 2 (%x) : (!pipe.tensor<u8[w=8]>) -> (!pipe.tensor<u8[w=8]>) {
  ^bb0(%n: i64, %y: !pipe.tensor<u8[w=8]>):
    %1 = pipe.window edge %y over ["w"] low [-1] high [0] : !pipe.tensor<u8[w=8]> -> !pipe.tensor<u8[w=8]> {
    ^bb0(%p: ui8, %q: ui8, %k: i64):
      %m = pipe.binary max %p, %q : ui8
      pipe.yield %m : ui8
    }
    pipe.yield %1 : !pipe.tensor<u8[w=8]>
  }
  pipe.batch size(%batch) last drop {
    pipe.output "a" %0 axes ["n", "w"] stored ["n", "w"] : !pipe.tensor<u8[w=8]>
  }
}

// -----

// A peer's value is a stage boundary, a scalar of a peer too.
// CHECK: pipe.kernel @weights0
// CHECK: pipe.kernel @k0
// CHECK-LABEL: pipe.pipeline @boxes_scalars_of_peers
// CHECK: %[[BOX:.*]] = pipe.launch @weights0() scalars(%{{.*}} : i64)
// CHECK: pipe.batch
// CHECK: %[[PEER:.*]] = pipe.peer %[[BOX]][%{{.*}}] : !pipe.tensor<i64[]>
// CHECK: %[[SUM:.*]] = pipe.launch @k0(%[[PEER]])
// CHECK: pipe.output "a" %[[SUM]]
pipe.pipeline @boxes_scalars_of_peers seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {i = i64} : !pipe.text
  %row = pipe.row sequential %table
  %i = pipe.field %row "i" : i64
  %batch = pipe.constant 2 : i64 -> i64
  pipe.batch size(%batch) last drop {
    %slot = pipe.context slot
    %0 = pipe.peer %i[%slot] : i64 -> i64
    %1 = pipe.binary add %i, %0 : i64
    pipe.output "a" %1 axes ["n"] stored ["n"] : i64
  }
}

// -----

// A value that another sample reads is made whether or not this one takes the arm.
// CHECK-LABEL: pipe.pipeline @peers_read_inside_an_arm
// CHECK: %[[SOFT:.*]] = pipe.launch @k0(%{{.*}}) scalars() {{.*}}:
// CHECK: pipe.batch
// CHECK: %[[PEER:.*]] = pipe.peer %[[SOFT]]
// CHECK: pipe.launch @k1(%[[PEER]]) scalars() guard(
// CHECK: pipe.switch
pipe.pipeline @peers_read_inside_an_arm seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<u8[w=8]>, i = i64} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<u8[w=8]>
  %i = pipe.field %row "i" : i64
  %batch = pipe.constant 2 : i64 -> i64
  pipe.batch size(%batch) last drop {
    %slot = pipe.context slot
    %0 = pipe.choose %i -> !pipe.tensor<u8[w=8]> {
      pipe.yield %x : !pipe.tensor<u8[w=8]>
    }, {
      %1 = pipe.window edge %x over ["w"] low [-1] high [0] : !pipe.tensor<u8[w=8]> -> !pipe.tensor<u8[w=8]> {
      ^bb0(%p: ui8, %q: ui8, %k: i64):
        %m = pipe.binary max %p, %q : ui8
        pipe.yield %m : ui8
      }
      %2 = pipe.peer %1[%slot] : !pipe.tensor<u8[w=8]> -> !pipe.tensor<u8[w=8]>
      %3 = pipe.window edge %2 over ["w"] low [0] high [1] : !pipe.tensor<u8[w=8]> -> !pipe.tensor<u8[w=8]> {
      ^bb0(%p: ui8, %q: ui8, %k: i64):
        %m = pipe.binary max %p, %q : ui8
        pipe.yield %m : ui8
      }
      pipe.yield %3 : !pipe.tensor<u8[w=8]>
    }
    pipe.output "a" %0 axes ["n", "w"] stored ["n", "w"] : !pipe.tensor<u8[w=8]>
  }
}

// -----

// A check inside an arm that does not run cannot fail.
// CHECK-LABEL: pipe.pipeline @a_check_asks_only_in_its_arm
// CHECK: %[[RUNS:.*]] = pipe.compare ge
// CHECK: %[[FITS:.*]] = pipe.compare lt
// CHECK: %[[NOT:.*]] = pipe.unary bit_not %[[RUNS]] : i1
// CHECK: %[[GOOD:.*]] = pipe.binary bit_or %[[FITS]], %[[NOT]] : i1
// CHECK: pipe.check %[[GOOD]], "{0} is not below {1}"
pipe.pipeline @a_check_asks_only_in_its_arm seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<u8[w=8]>, i = i64} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<u8[w=8]>
  %i = pipe.field %row "i" : i64
  %batch = pipe.constant 2 : i64 -> i64
  %0 = pipe.choose %i -> !pipe.tensor<u8[w=8]> {
    pipe.yield %x : !pipe.tensor<u8[w=8]>
  }, {
    %five = pipe.constant 5 : i64 -> i64
    %fits = pipe.compare lt %i, %five : i64
    pipe.check %fits, "{0} is not below {1}" (%i, %five)
    %1 = pipe.map (%x) : (!pipe.tensor<u8[w=8]>) -> !pipe.tensor<u8[w=8]> {
    ^bb0(%p: ui8, %k: i64):
      %q = pipe.unary bit_not %p : ui8
      pipe.yield %q : ui8
    }
    pipe.yield %1 : !pipe.tensor<u8[w=8]>
  }
  pipe.batch size(%batch) last drop {
    pipe.output "a" %0 axes ["n", "w"] stored ["n", "w"] : !pipe.tensor<u8[w=8]>
  }
}

// -----

// So do the repetitions of an arm: what stands before them is made there alone, and a check asks only there.
// CHECK-LABEL: pipe.pipeline @repeats_in_an_arm
// CHECK: %[[COIN:.*]] = pipe.compare
// CHECK: pipe.launch @{{.*}} guard(%[[COIN]])
// CHECK: %[[ELSE:.*]] = pipe.unary bit_not %[[COIN]]
// CHECK: %[[ASKED:.*]] = pipe.binary bit_or %{{.*}}, %[[ELSE]]
// CHECK: pipe.check %[[ASKED]]
// CHECK: pipe.launch @{{.*}} guard(%[[COIN]])
// CHECK: pipe.switch
pipe.pipeline @repeats_in_an_arm seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<u8[w=8]>, i = i64} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<u8[w=8]>
  %i = pipe.field %row "i" : i64
  %batch = pipe.constant 2 : i64 -> i64
  %once = pipe.constant 1 : i64 -> i64
  %coin = pipe.compare lt %i, %batch : i64
  %fine = pipe.compare gt %i, %batch : i64
  %index = pipe.cast value %coin : i1 -> i64
  %0 = pipe.choose %index -> !pipe.tensor<u8[w=8]> {
    pipe.yield %x : !pipe.tensor<u8[w=8]>
  }, {
    %1 = pipe.scan max %x along "w" : !pipe.tensor<u8[w=8]> -> !pipe.tensor<u8[w=8]>
    %2 = pipe.repeat %once bound 1 (%1) : (!pipe.tensor<u8[w=8]>) -> !pipe.tensor<u8[w=8]> {
    ^bb0(%k: i64, %t: !pipe.tensor<u8[w=8]>):
      pipe.check %fine, "{0} is not above {1}" (%i, %batch)
      %3 = pipe.scan max %t along "w" : !pipe.tensor<u8[w=8]> -> !pipe.tensor<u8[w=8]>
      pipe.yield %3 : !pipe.tensor<u8[w=8]>
    }
    pipe.yield %2 : !pipe.tensor<u8[w=8]>
  }
  pipe.batch size(%batch) last drop {
    pipe.output "a" %0 axes ["n", "w"] stored ["n", "w"] : !pipe.tensor<u8[w=8]>
  }
}

// -----

// A pointwise scope is given its sample's key and fields as numbers.
// CHECK: pipe.kernel @k0
// CHECK-NOT: pipe.key sample
// CHECK-NOT: pipe.field
// CHECK-LABEL: pipe.pipeline @draws_in_a_repeat
// CHECK: pipe.key sample
// CHECK: pipe.field %{{.*}} "i"
// CHECK: pipe.launch @k0
pipe.pipeline @draws_in_a_repeat seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<i64[w=8]>, i = i64} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<i64[w=8]>
  %batch = pipe.constant 2 : i64 -> i64
  %0 = pipe.repeat %batch bound 2 (%x) : (!pipe.tensor<i64[w=8]>) -> !pipe.tensor<i64[w=8]> {
  ^bb0(%k: i64, %t: !pipe.tensor<i64[w=8]>):
    %key = pipe.key sample
    %mixed = pipe.key_mix %key, %k
    %i = pipe.field %row "i" : i64
    %1 = pipe.map(%t) : (!pipe.tensor<i64[w=8]>) -> !pipe.tensor<i64[w=8]> {
    ^bb0(%p: i64, %w: i64):
      %d = pipe.draw integer %mixed(%i, %batch : i64, i64) at(%w) id 7 path "p/x" : i64
      %q = pipe.binary add %p, %d : i64
      pipe.yield %q : i64
    }
    pipe.yield %1 : !pipe.tensor<i64[w=8]>
  }
  pipe.batch size(%batch) last drop {
    pipe.output "a" %0 axes ["n", "w"] stored ["n", "w"] : !pipe.tensor<i64[w=8]>
  }
}
