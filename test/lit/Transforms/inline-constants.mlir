// RUN: penstock-opt %s --pipe-inline-constants | FileCheck %s

// CHECK-LABEL: func.func @takes_the_known_arm
func.func @takes_the_known_arm(%a: !pipe.tensor<u8[w=4]>, %b: !pipe.tensor<u8[w=4]>) -> !pipe.tensor<u8[w=4]> {
  // CHECK-NOT: pipe.choose
  // CHECK: return %arg1
  %seven = pipe.constant 7 : i64 -> i64
  %0 = pipe.choose %seven -> !pipe.tensor<u8[w=4]> {
    pipe.yield %a : !pipe.tensor<u8[w=4]>
  }, {
    pipe.yield %b : !pipe.tensor<u8[w=4]>
  }
  return %0 : !pipe.tensor<u8[w=4]>
}

// CHECK-LABEL: func.func @selects_scalars
func.func @selects_scalars(%i: i64, %a: i64) -> i64 {
  // CHECK: %[[SUM:.*]] = pipe.binary add %arg1, %arg1
  // CHECK: %[[SECOND:.*]] = pipe.compare ge %arg0
  // CHECK: %[[R:.*]] = pipe.select %[[SECOND]], %[[SUM]], %arg1
  // CHECK: return %[[R]]
  %0 = pipe.choose %i -> i64 {
    pipe.yield %a : i64
  }, {
    %s = pipe.binary add %a, %a : i64
    pipe.yield %s : i64
  }
  return %0 : i64
}

// CHECK-LABEL: func.func @keeps_loops_behind_branches
func.func @keeps_loops_behind_branches(%i: i64, %a: i64) -> i64 {
  // CHECK: pipe.choose
  %0 = pipe.choose %i -> i64 {
    pipe.yield %a : i64
  }, {
    %s = pipe.repeat %a bound 9 (%a) : (i64) -> (i64) {
    ^bb0(%n: i64, %c: i64):
      %d = pipe.binary add %c, %n : i64
      pipe.yield %d : i64
    }
    pipe.yield %s : i64
  }
  return %0 : i64
}

// CHECK-LABEL: func.func @parts_scalars_from_tensors
func.func @parts_scalars_from_tensors(%i: i64, %x: !pipe.tensor<u8[w=4]>, %y: !pipe.tensor<u8[w=4]>) -> (i64, !pipe.tensor<u8[w=4]>) {
  // CHECK: %[[T:.*]] = pipe.choose %arg0 -> !pipe.tensor<u8[w=4]>
  // CHECK: %[[N:.*]] = pipe.select
  // CHECK: return %[[N]], %[[T]]
  %one = pipe.constant 1 : i64 -> i64
  %0:2 = pipe.choose %i -> i64, !pipe.tensor<u8[w=4]> {
    pipe.yield %i, %x : i64, !pipe.tensor<u8[w=4]>
  }, {
    pipe.yield %one, %y : i64, !pipe.tensor<u8[w=4]>
  }
  return %0#0, %0#1 : i64, !pipe.tensor<u8[w=4]>
}

// A scalar that a loop carries beside tensors is known in setup; its body still reads it.
// CHECK-LABEL: func.func @parts_carried_scalars
func.func @parts_carried_scalars(%i: i64, %x: !pipe.tensor<u8[w=4]>, %a: ui8) -> (!pipe.tensor<u8[w=4]>, ui8) {
  // CHECK: %[[S:.*]] = pipe.repeat %arg0 bound 3(%arg2) : (ui8) -> ui8
  // CHECK-NOT: pipe.map
  // CHECK: %[[T:.*]]:2 = pipe.repeat %arg0 bound 3(%arg1, %arg2)
  // CHECK: pipe.map
  // CHECK: return %[[T]]#0, %[[S]]
  %0:2 = pipe.repeat %i bound 3 (%x, %a) : (!pipe.tensor<u8[w=4]>, ui8) -> (!pipe.tensor<u8[w=4]>, ui8) {
  ^bb0(%n: i64, %t: !pipe.tensor<u8[w=4]>, %s: ui8):
    %m = pipe.map (%t) : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<u8[w=4]> {
    ^bb0(%p: ui8, %w: i64):
      %q = pipe.binary add %p, %s : ui8
      pipe.yield %q : ui8
    }
    %r = pipe.binary add %s, %s : ui8
    pipe.yield %m, %r : !pipe.tensor<u8[w=4]>, ui8
  }
  return %0#0, %0#1 : !pipe.tensor<u8[w=4]>, ui8
}

// The arm holds a view then, and the check speaks of that arm alone.
// CHECK-LABEL: func.func @checks_leave_their_arm
func.func @checks_leave_their_arm(%c: i1, %a: i64, %x: !pipe.tensor<u8[w=4]>) -> !pipe.tensor<u8[w=4]> {
  // CHECK: %[[SMALL:.*]] = pipe.compare lt %arg1
  // CHECK: %[[OTHER:.*]] = pipe.unary bit_not %arg0
  // CHECK: %[[HOLDS:.*]] = pipe.binary bit_or %[[SMALL]], %[[OTHER]]
  // CHECK: pipe.check %[[HOLDS]], "too large"
  // CHECK: pipe.choose
  // CHECK-NOT: pipe.check
  // CHECK: return
  %i = pipe.cast value %c : i1 -> i64
  %four = pipe.constant 4 : i64 -> i64
  %0 = pipe.choose %i -> !pipe.tensor<u8[w=4]> {
    pipe.yield %x : !pipe.tensor<u8[w=4]>
  }, {
    %ok = pipe.compare lt %a, %four : i64
    pipe.check %ok, "too large"(%a, %four)
    %v = pipe.view %x by affine_map<(d0) -> (-d0 + 3)> [] : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=4]>
    pipe.yield %v : !pipe.tensor<u8[w=4]>
  }
  return %0 : !pipe.tensor<u8[w=4]>
}
