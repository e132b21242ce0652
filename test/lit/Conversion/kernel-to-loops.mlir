// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 --pipe-kernel-to-loops | FileCheck %s
// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 --pipe-kernel-to-loops --pipe-loops-to-llvm \
// RUN:   | FileCheck %s --check-prefix=LLVM
// REQUIRES: penstock-opt

// Lanes lie along the last axis; the map's arithmetic is on vectors.
// CHECK-LABEL: func.func @inverts(%{{.*}}: !llvm.ptr) -> i32
// CHECK-SAME: pipe.kind = "pixels"
// CHECK: scf.for
// CHECK: llvm.load {{.*}} -> vector<32xi8>
// CHECK: arith.xori {{.*}} : vector<32xi8>
// CHECK: llvm.store {{.*}} : vector<32xi8>
// LLVM-LABEL: llvm.func @inverts
pipe.kernel @inverts "pixels" {
^bb0(%x: !pipe.tensor<u8[w=64]>):
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=64]>) -> !pipe.tensor<u8[w=64]> {
  ^bb0(%p: ui8, %w: i64):
    %q = pipe.unary bit_not %p : ui8
    pipe.yield %q : ui8
  }
  pipe.return %0 : !pipe.tensor<u8[w=64]>
}

// A mirrored view is a load and a shuffle, not 32 loads.
// CHECK-LABEL: func.func @mirrors
// CHECK: llvm.load {{.*}} -> vector<32xi8>
// CHECK: vector.shuffle {{.*}} [31, 30,
// CHECK-NOT: vector.insert
// CHECK: return
pipe.kernel @mirrors "pixels" {
^bb0(%x: !pipe.tensor<u8[w=64]>):
  %0 = pipe.view %x by affine_map<(d0) -> (-d0 + 63)> [] : !pipe.tensor<u8[w=64]> -> !pipe.tensor<u8[w=64]>
  pipe.return %0 : !pipe.tensor<u8[w=64]>
}

// Planes from interleaved bytes: one load of three vectors, then stride-3 shuffles.
// CHECK-LABEL: func.func @takes_planes_apart
// CHECK: llvm.load {{.*}} -> vector<96xi8>
// CHECK: vector.shuffle {{.*}} [0, 3, 6, 9,
// CHECK: vector.shuffle {{.*}} [1, 4, 7, 10,
// CHECK: vector.shuffle {{.*}} [2, 5, 8, 11,
pipe.kernel @takes_planes_apart "pixels" {
^bb0(%x: !pipe.tensor<u8[h=2, w=64, c=3]>):
  %0 = pipe.view %x by affine_map<(d0, d1, d2) -> (d1, d2, d0)> []
      : !pipe.tensor<u8[h=2, w=64, c=3]> -> !pipe.tensor<u8[c=3, h=2, w=64]>
  pipe.return %0 : !pipe.tensor<u8[c=3, h=2, w=64]>
}

// A chain of one byte that 256 trials prove equal to one multiply-add.
// CHECK-LABEL: func.func @proves_a_chain
// CHECK-NOT: arith.divf
// CHECK: llvm.intr.fma
// CHECK-NOT: arith.divf
// CHECK: return
pipe.kernel @proves_a_chain "pixels" {
^bb0(%x: !pipe.tensor<u8[w=64]>):
  %full = pipe.constant 255.0 : f32 -> f32
  %mean = pipe.constant 4.850000e-01 : f32 -> f32
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=64]>) -> !pipe.tensor<f16[w=64]> {
  ^bb0(%p: ui8, %w: i64):
    %full_in = pipe.constant 255.0 : f32 -> f32
    %mean_in = pipe.constant 4.850000e-01 : f32 -> f32
    %f = pipe.cast value %p : ui8 -> f32
    %q = pipe.binary div %f, %full_in : f32
    %d = pipe.binary sub %q, %mean_in : f32
    %r = pipe.cast value %d : f32 -> f16
    pipe.yield %r : f16
  }
  pipe.return %0 : !pipe.tensor<f16[w=64]>
}

// The plan learns of scratch and checks from attributes.
// CHECK-LABEL: func.func @checks
// CHECK-SAME: pipe.checks = [{column = {{[0-9]+}} : i64, file = "{{.*}}", line = {{[0-9]+}} : i64, message = "too big: {0}"}]
pipe.kernel @checks "setup" {
  %n = pipe.entry 8 : i64
  %limit = pipe.constant 10 : i64 -> i64
  %fits = pipe.compare le %n, %limit : i64
  pipe.check %fits, "too big: {0}" (%n, %limit)
  pipe.return
}
