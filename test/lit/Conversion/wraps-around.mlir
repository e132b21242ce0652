// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 --pipe-kernel-to-loops --split-input-file | FileCheck %s
// REQUIRES: penstock-opt

// An i64 that wraps around is clamped on both sides, also where the result is further off than a
// double can tell: of -2^63 there is no positive number, 2^63 - 1 and 1 are -2^63.
// CHECK-LABEL: func.func @magnitude
// CHECK-DAG: arith.maxsi {{.*}} : i64
// CHECK-DAG: arith.minsi {{.*}} : i64
// CHECK: return
pipe.kernel @magnitude "pixels" {
^bb0(%x: !pipe.tensor<i64[w=3]>):
  %0 = pipe.map (%x) : (!pipe.tensor<i64[w=3]>) -> !pipe.tensor<i8[w=3]> {
  ^bb0(%p: i64, %w: i64):
    %a = pipe.unary abs %p : i64
    %c = pipe.cast clamp %a : i64 -> i8
    pipe.yield %c : i8
  }
  pipe.return %0 : !pipe.tensor<i8[w=3]>
}

// -----

// CHECK-LABEL: func.func @opposite
// CHECK-DAG: arith.maxsi {{.*}} : i64
// CHECK-DAG: arith.minsi {{.*}} : i64
// CHECK: return
pipe.kernel @opposite "pixels" {
^bb0(%x: !pipe.tensor<i64[w=3]>):
  %zero = pipe.constant 0 : i64 -> i64
  %0 = pipe.map (%x) : (!pipe.tensor<i64[w=3]>) -> !pipe.tensor<i8[w=3]> {
  ^bb0(%p: i64, %w: i64):
    %low = pipe.binary min %p, %zero : i64
    %a = pipe.unary neg %low : i64
    %c = pipe.cast clamp %a : i64 -> i8
    pipe.yield %c : i8
  }
  pipe.return %0 : !pipe.tensor<i8[w=3]>
}

// -----

// CHECK-LABEL: func.func @one_more
// CHECK-DAG: arith.maxsi {{.*}} : i64
// CHECK-DAG: arith.minsi {{.*}} : i64
// CHECK: return
pipe.kernel @one_more "pixels" {
^bb0(%x: !pipe.tensor<i64[w=3]>):
  %zero = pipe.constant 0 : i64 -> i64
  %one = pipe.constant 1 : i64 -> i64
  %0 = pipe.map (%x) : (!pipe.tensor<i64[w=3]>) -> !pipe.tensor<u8[w=3]> {
  ^bb0(%p: i64, %w: i64):
    %high = pipe.binary max %p, %zero : i64
    %a = pipe.binary add %high, %one : i64
    %c = pipe.cast clamp %a : i64 -> ui8
    pipe.yield %c : ui8
  }
  pipe.return %0 : !pipe.tensor<u8[w=3]>
}
