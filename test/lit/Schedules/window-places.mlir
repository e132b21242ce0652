// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 | FileCheck %s
// RUN: sed 's/n7, \(.\)p6/n8, \1p6/' %s | penstock-opt --pipe-schedule-cpu=level=3 | FileCheck %s --check-prefix=OTHER
// RUN: sed 's/c7, \(.\)v7/c6, \1v7/' %s | penstock-opt --pipe-schedule-cpu=level=3 | FileCheck %s --check-prefix=OTHER
// RUN: sed 's/gt \(.\)v7/lt \1v7/' %s | penstock-opt --pipe-schedule-cpu=level=3 | FileCheck %s --check-prefix=OTHER
// RUN: sed 's/gt \(.\)v7/gt \1v8/' %s | penstock-opt --pipe-schedule-cpu=level=3 | FileCheck %s --check-prefix=OTHER
// REQUIRES: penstock-opt

// The place of the first greatest neighbour, link by link. One link that counts, compares or
// chooses otherwise makes another window of it.
// CHECK-NOT: pipe.window
// OTHER: pipe.window
pipe.kernel @k0 "pixels" {
^bb0(%x: !pipe.tensor<i32[t=100]>):
  %n0 = pipe.constant 0 : i64 -> i64
  %n1 = pipe.constant 1 : i64 -> i64
  %n2 = pipe.constant 2 : i64 -> i64
  %n3 = pipe.constant 3 : i64 -> i64
  %n4 = pipe.constant 4 : i64 -> i64
  %n5 = pipe.constant 5 : i64 -> i64
  %n6 = pipe.constant 6 : i64 -> i64
  %n7 = pipe.constant 7 : i64 -> i64
  %n8 = pipe.constant 8 : i64 -> i64
  %n9 = pipe.constant 9 : i64 -> i64
  %n10 = pipe.constant 10 : i64 -> i64
  %n11 = pipe.constant 11 : i64 -> i64
  %n12 = pipe.constant 12 : i64 -> i64
  %n13 = pipe.constant 13 : i64 -> i64
  %n14 = pipe.constant 14 : i64 -> i64
  %n15 = pipe.constant 15 : i64 -> i64
  %0 = pipe.window edge %x over ["t"] low [-8] high [7] : !pipe.tensor<i32[t=100]> -> !pipe.tensor<i64[t=100]> {
  ^bb0(%v0: i32, %v1: i32, %v2: i32, %v3: i32, %v4: i32, %v5: i32, %v6: i32, %v7: i32, %v8: i32, %v9: i32, %v10: i32, %v11: i32, %v12: i32, %v13: i32, %v14: i32, %v15: i32, %t: i64):
    %c1 = pipe.compare gt %v1, %v0 : i32
    %p1 = pipe.select %c1, %n1, %n0 : i64
    %b1 = pipe.select %c1, %v1, %v0 : i32
    %c2 = pipe.compare gt %v2, %b1 : i32
    %p2 = pipe.select %c2, %n2, %p1 : i64
    %b2 = pipe.select %c2, %v2, %b1 : i32
    %c3 = pipe.compare gt %v3, %b2 : i32
    %p3 = pipe.select %c3, %n3, %p2 : i64
    %b3 = pipe.select %c3, %v3, %b2 : i32
    %c4 = pipe.compare gt %v4, %b3 : i32
    %p4 = pipe.select %c4, %n4, %p3 : i64
    %b4 = pipe.select %c4, %v4, %b3 : i32
    %c5 = pipe.compare gt %v5, %b4 : i32
    %p5 = pipe.select %c5, %n5, %p4 : i64
    %b5 = pipe.select %c5, %v5, %b4 : i32
    %c6 = pipe.compare gt %v6, %b5 : i32
    %p6 = pipe.select %c6, %n6, %p5 : i64
    %b6 = pipe.select %c6, %v6, %b5 : i32
    %c7 = pipe.compare gt %v7, %b6 : i32
    %p7 = pipe.select %c7, %n7, %p6 : i64
    %b7 = pipe.select %c7, %v7, %b6 : i32
    %c8 = pipe.compare gt %v8, %b7 : i32
    %p8 = pipe.select %c8, %n8, %p7 : i64
    %b8 = pipe.select %c8, %v8, %b7 : i32
    %c9 = pipe.compare gt %v9, %b8 : i32
    %p9 = pipe.select %c9, %n9, %p8 : i64
    %b9 = pipe.select %c9, %v9, %b8 : i32
    %c10 = pipe.compare gt %v10, %b9 : i32
    %p10 = pipe.select %c10, %n10, %p9 : i64
    %b10 = pipe.select %c10, %v10, %b9 : i32
    %c11 = pipe.compare gt %v11, %b10 : i32
    %p11 = pipe.select %c11, %n11, %p10 : i64
    %b11 = pipe.select %c11, %v11, %b10 : i32
    %c12 = pipe.compare gt %v12, %b11 : i32
    %p12 = pipe.select %c12, %n12, %p11 : i64
    %b12 = pipe.select %c12, %v12, %b11 : i32
    %c13 = pipe.compare gt %v13, %b12 : i32
    %p13 = pipe.select %c13, %n13, %p12 : i64
    %b13 = pipe.select %c13, %v13, %b12 : i32
    %c14 = pipe.compare gt %v14, %b13 : i32
    %p14 = pipe.select %c14, %n14, %p13 : i64
    %b14 = pipe.select %c14, %v14, %b13 : i32
    %c15 = pipe.compare gt %v15, %b14 : i32
    %p15 = pipe.select %c15, %n15, %p14 : i64
    pipe.yield %p15 : i64
  }
  pipe.return %0 : !pipe.tensor<i64[t=100]>
}
