// RUN: penstock-opt %s --pipe-add-cancellation-points | FileCheck %s
// RUN: penstock-opt %s --pipe-add-cancellation-points --pipe-loops-to-llvm | FileCheck %s --check-prefix=LLVM

// Loops look whether they shall stop where they may run long, and not where they end
// soon, or cannot stop.

func.func private @use(%i: i64)

// CHECK-LABEL: func.func @in_pieces(
// CHECK: %[[FLAG:.*]] = llvm.load
// CHECK: scf.for %[[FROM:.*]] = %{{.*}} to %[[END:.*]] step %[[PIECE:.*]] : i64 {
// CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[FROM]], %[[PIECE]]
// CHECK-NEXT: %[[TO:.*]] = arith.minsi %[[NEXT]], %[[END]]
// CHECK-NEXT: scf.for %{{.*}} = %[[FROM]] to %[[TO]] step
// CHECK-NEXT: func.call @use
// CHECK: arith.cmpi slt, %[[NEXT]], %[[END]]
// CHECK-NEXT: scf.if
// CHECK-NEXT: pipe.cancellation_point %[[FLAG]] : !llvm.ptr
// LLVM-LABEL: llvm.func @in_pieces(
// LLVM: %[[STOP:.*]] = llvm.load volatile %{{.*}} : !llvm.ptr -> i8
// LLVM: llvm.icmp "ne" %[[STOP]]
// LLVM: llvm.return %{{.*}} : i32
func.func @in_pieces(%args: !llvm.ptr, %n: i64) -> i32 attributes {pipe.stop = 56 : i64} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for %i = %zero to %n step %one : i64 {
    func.call @use(%i) : (i64) -> ()
  }
  %done = arith.constant 0 : i32
  return %done : i32
}

// CHECK-LABEL: func.func @outer_of_long(
// CHECK-COUNT-2: scf.for
// CHECK-NOT: scf.for
// CHECK: pipe.cancellation_point
// CHECK-NOT: pipe.cancellation_point
// CHECK: return
func.func @outer_of_long(%args: !llvm.ptr, %n: i64) -> i32 attributes {pipe.stop = 56 : i64} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %thousand = arith.constant 1000 : i64
  scf.for %i = %zero to %n step %one : i64 {
    scf.for %k = %zero to %thousand step %one : i64 {
      func.call @use(%k) : (i64) -> ()
      func.call @use(%i) : (i64) -> ()
      %a = arith.addi %i, %k : i64
      %b = arith.addi %a, %k : i64
      func.call @use(%b) : (i64) -> ()
    }
  }
  %done = arith.constant 0 : i32
  return %done : i32
}

// CHECK-LABEL: func.func @ends_soon(
// CHECK-NOT: pipe.cancellation_point
// CHECK: return
func.func @ends_soon(%args: !llvm.ptr, %n: i64) -> i32 attributes {pipe.stop = 56 : i64} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %most = arith.constant 5000 : i64
  %end = arith.minsi %n, %most : i64
  scf.for %i = %zero to %end step %one : i64 {
    func.call @use(%i) : (i64) -> ()
  }
  %done = arith.constant 0 : i32
  return %done : i32
}

// CHECK-LABEL: func.func @many_that_end_soon(
// CHECK-COUNT-2: pipe.cancellation_point
// CHECK-NOT: pipe.cancellation_point
// CHECK: return
func.func @many_that_end_soon(%args: !llvm.ptr) -> i32 attributes {pipe.stop = 56 : i64} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %most = arith.constant 800000 : i64
  scf.for %i = %zero to %most step %one : i64 {
    %a = arith.addi %i, %i : i64
  }
  scf.for %i = %zero to %most step %one : i64 {
    %a = arith.addi %i, %i : i64
  }
  scf.for %i = %zero to %most step %one : i64 {
    %a = arith.addi %i, %i : i64
  }
  scf.for %i = %zero to %most step %one : i64 {
    %a = arith.addi %i, %i : i64
  }
  %done = arith.constant 0 : i32
  return %done : i32
}

// CHECK-LABEL: func.func @until(
// CHECK: } do {
// CHECK: pipe.cancellation_point
// CHECK-NEXT: scf.yield
func.func @until(%args: !llvm.ptr, %n: i64) -> i32 attributes {pipe.stop = 56 : i64} {
  %one = arith.constant 1 : i64
  %last = scf.while (%i = %one) : (i64) -> i64 {
    %more = arith.cmpi slt, %i, %n : i64
    scf.condition(%more) %i : i64
  } do {
  ^bb0(%i: i64):
    %next = arith.addi %i, %i : i64
    scf.yield %next : i64
  }
  %done = arith.constant 0 : i32
  return %done : i32
}

// CHECK-LABEL: func.func private @cannot_stop(
// CHECK-NOT: pipe.cancellation_point
// CHECK: return
func.func private @cannot_stop(%n: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for %i = %zero to %n step %one : i64 {
    func.call @use(%i) : (i64) -> ()
  }
  return
}
