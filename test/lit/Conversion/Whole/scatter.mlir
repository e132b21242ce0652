// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 --pipe-kernel-to-loops | FileCheck %s
// REQUIRES: penstock-opt

// The base, then element after element; the four floats of a point go as one vector.
// CHECK-LABEL: func.func @scatters(
// CHECK: scf.for
// CHECK: arith.cmpi sge
// CHECK: scf.if
// CHECK: arith.addf {{.*}} : vector<4xf32>
// CHECK: return
pipe.kernel @scatters "pixels" {
^bb0(%b: !pipe.tensor<f32[m=8, xyz=4]>, %x: !pipe.tensor<f32[k=90, xyz=4]>, %g: !pipe.tensor<i64[k=90]>):
  %0 = pipe.scatter sum %b by %x along "k" over ["m"] at (%g) : !pipe.tensor<f32[m=8, xyz=4]>, !pipe.tensor<f32[k=90, xyz=4]>, !pipe.tensor<i64[k=90]> -> !pipe.tensor<f32[m=8, xyz=4]>
  pipe.return %0 : !pipe.tensor<f32[m=8, xyz=4]>
}

// From the last element on: the first one to come is stored last.
// CHECK-LABEL: func.func @takes_the_first(
// CHECK: arith.subi %c89_i64
// CHECK: scf.if
// CHECK-NOT: arith.addf
// CHECK: return
pipe.kernel @takes_the_first "pixels" {
^bb0(%b: !pipe.tensor<f32[m=8]>, %x: !pipe.tensor<f32[k=90]>, %g: !pipe.tensor<i64[k=90]>):
  %0 = pipe.scatter first %b by %x along "k" over ["m"] at (%g) : !pipe.tensor<f32[m=8]>, !pipe.tensor<f32[k=90]>, !pipe.tensor<i64[k=90]> -> !pipe.tensor<f32[m=8]>
  pipe.return %0 : !pipe.tensor<f32[m=8]>
}

// A base that is one number goes past the caches where they do not hold it, if it lies at a line.
// CHECK-LABEL: func.func @clears_what_is_far(
// CHECK: llvm.ptrtoint
// CHECK: scf.if
// CHECK: llvm.store {{.*}}nontemporal} : vector<8xf32>
// CHECK: } else {
// CHECK-NOT: nontemporal
// CHECK: return
pipe.kernel @clears_what_is_far "pixels" {
^bb0(%x: !pipe.tensor<f32[k=90, xyz=4]>, %g: !pipe.tensor<i64[k=90]>, %r: !pipe.tensor<i64[k=90]>):
  %zero = pipe.constant 0.0 : f32 -> f32
  %b = pipe.map() : () -> !pipe.tensor<f32[m=16000, r=32, xyz=4]> {
  ^bb0(%m: i64, %i: i64, %j: i64):
    pipe.yield %zero : f32
  }
  %0 = pipe.scatter first %b by %x along "k" over ["m", "r"] at (%g, %r) : !pipe.tensor<f32[m=16000, r=32, xyz=4]>, !pipe.tensor<f32[k=90, xyz=4]>, !pipe.tensor<i64[k=90]>, !pipe.tensor<i64[k=90]> -> !pipe.tensor<f32[m=16000, r=32, xyz=4]>
  pipe.return %0 : !pipe.tensor<f32[m=16000, r=32, xyz=4]>
}

// CHECK-LABEL: func.func @clears_what_is_near(
// CHECK-NOT: nontemporal
// CHECK: return
pipe.kernel @clears_what_is_near "pixels" {
^bb0(%x: !pipe.tensor<f32[k=90, xyz=4]>, %g: !pipe.tensor<i64[k=90]>, %r: !pipe.tensor<i64[k=90]>):
  %zero = pipe.constant 0.0 : f32 -> f32
  %b = pipe.map() : () -> !pipe.tensor<f32[m=8000, r=32, xyz=4]> {
  ^bb0(%m: i64, %i: i64, %j: i64):
    pipe.yield %zero : f32
  }
  %0 = pipe.scatter first %b by %x along "k" over ["m", "r"] at (%g, %r) : !pipe.tensor<f32[m=8000, r=32, xyz=4]>, !pipe.tensor<f32[k=90, xyz=4]>, !pipe.tensor<i64[k=90]>, !pipe.tensor<i64[k=90]> -> !pipe.tensor<f32[m=8000, r=32, xyz=4]>
  pipe.return %0 : !pipe.tensor<f32[m=8000, r=32, xyz=4]>
}

// Integers are added up in four tables, of which three begin with zeros; the last elements are the first one's.
// CHECK-LABEL: func.func @takes_turns(
// CHECK: vector<8xi32>
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c1000_i64 step %c4_i64
// CHECK-COUNT-4: scf.if
// CHECK: scf.for %{{.*}} = %c1000_i64{{.*}} to %c1003_i64
// CHECK-COUNT-3: arith.addi {{.*}} : vector<8xi32>
// CHECK: return
pipe.kernel @takes_turns "pixels" {
^bb0(%b: !pipe.tensor<i32[m=16]>, %x: !pipe.tensor<i32[k=1003]>, %g: !pipe.tensor<i64[k=1003]>):
  %0 = pipe.scatter sum %b by %x along "k" over ["m"] at (%g) : !pipe.tensor<i32[m=16]>, !pipe.tensor<i32[k=1003]>, !pipe.tensor<i64[k=1003]> -> !pipe.tensor<i32[m=16]>
  pipe.return %0 : !pipe.tensor<i32[m=16]>
}

// Of 32 values that are all 0 none is added up; the last 11 are not looked at before.
// CHECK-LABEL: func.func @skips_zeros(
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %[[WHOLE:[0-9]+]] step %c32_i64
// CHECK: lane.sign_mask
// CHECK: scf.if
// CHECK: scf.for
// CHECK: llvm.store {{.*}} : i32
// CHECK: scf.for %{{.*}} = %[[WHOLE]] to
// CHECK: return
pipe.kernel @skips_zeros "pixels" {
^bb0(%b: !pipe.tensor<i32[m=900]>, %x: !pipe.tensor<u8[k=1003]>, %g: !pipe.tensor<i64[k=1003]>):
  %zero = pipe.constant 0 : i32 -> i32
  %one = pipe.constant 7 : i32 -> i32
  %most = pipe.constant 200 : ui8 -> ui8
  %v = pipe.map(%x) : (!pipe.tensor<u8[k=1003]>) -> !pipe.tensor<i32[k=1003]> {
  ^bb0(%p: ui8, %k: i64):
    %votes = pipe.compare gt %p, %most : ui8
    %q = pipe.select %votes, %one, %zero : i32
    pipe.yield %q : i32
  }
  %0 = pipe.scatter sum %b by %v along "k" over ["m"] at (%g) : !pipe.tensor<i32[m=900]>, !pipe.tensor<i32[k=1003]>, !pipe.tensor<i64[k=1003]> -> !pipe.tensor<i32[m=900]>
  pipe.return %0 : !pipe.tensor<i32[m=900]>
}
