// RUN: penstock-opt %s | penstock-opt | FileCheck %s
// REQUIRES: penstock-opt

// Kernels and what runs them, written and read back.

// CHECK-LABEL: pipe.kernel @k0 "pixels"
pipe.kernel @k0 "pixels" {
^bb0(%x: !pipe.tensor<u8[h=?, w=4]>, %s: i64):
  // CHECK: pipe.extent %{{.*}} "h" : <u8[h=?, w=4]>
  %n = pipe.extent %x "h" : !pipe.tensor<u8[h=?, w=4]>
  // CHECK: pipe.view %{{.*}} by #map[] sizes(%{{.*}}) : <u8[h=?, w=4]> -> <u8[h=?, w=4]>
  %0 = pipe.view %x by affine_map<(d0, d1) -> (d0, 3 - d1)> [] sizes(%n) : !pipe.tensor<u8[h=?, w=4]> -> !pipe.tensor<u8[h=?, w=4]>
  // CHECK: pipe.return %{{.*}} : !pipe.tensor<u8[h=?, w=4]>
  pipe.return %0 : !pipe.tensor<u8[h=?, w=4]>
}

// CHECK-LABEL: pipe.kernel @setup "setup"
pipe.kernel @setup "setup" {
  // CHECK: pipe.key sample
  %key = pipe.key sample
  // CHECK: pipe.key_numbers %{{.*}}
  %s, %p, %e, %v = pipe.key_numbers %key
  // CHECK: pipe.set_entry 12, %{{.*}} : i64
  pipe.set_entry 12, %s : i64
  // CHECK: pipe.entry 11 : f64
  %0 = pipe.entry 11 : f64
  // CHECK: pipe.key_of %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}
  %again = pipe.key_of %s, %p, %e, %v
  // CHECK: pipe.return
  pipe.return
}

// CHECK-LABEL: func.func @launches
func.func @launches(%x: !pipe.tensor<u8[h=?, w=4]>, %n: i64, %run: i1, %flag: !llvm.ptr) {
  // CHECK: pipe.launch @k0 once(%{{.*}}) scalars(%{{.*}} : i64) sizes(%{{.*}}) guard(%{{.*}}) : (!pipe.tensor<u8[h=?, w=4]>) -> !pipe.tensor<u8[h=?, w=4]>
  %0 = pipe.launch @k0 once (%x) scalars(%n : i64) sizes(%n) guard(%run) : (!pipe.tensor<u8[h=?, w=4]>) -> !pipe.tensor<u8[h=?, w=4]>
  // CHECK: pipe.launch @k0(%{{.*}}) scalars(%{{.*}} : i64) sizes(%{{.*}}) {group = 1 : i64} :
  %2 = pipe.launch @k0 (%x) scalars(%n : i64) sizes(%n) {group = 1 : i64} : (!pipe.tensor<u8[h=?, w=4]>) -> !pipe.tensor<u8[h=?, w=4]>
  // CHECK: pipe.switch %{{.*}}(%{{.*}}, %{{.*}}) : !pipe.tensor<u8[h=?, w=4]>, !pipe.tensor<u8[h=?, w=4]> -> <u8[h=?, w=4]>
  %1 = pipe.switch %n (%0, %x) : !pipe.tensor<u8[h=?, w=4]>, !pipe.tensor<u8[h=?, w=4]> -> !pipe.tensor<u8[h=?, w=4]>
  // CHECK: pipe.cancellation_point %{{.*}} : !llvm.ptr
  pipe.cancellation_point %flag : !llvm.ptr
  return
}

// CHECK-LABEL: pipe.kernel @loops "pixels"
pipe.kernel @loops "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<u8[h=8, w=40, c=3]>):
  // CHECK: pipe.view {{.*}} {loops = #schedule.loops<along = "w", lanes = 32, unroll = "c", arms = 2, versions = ["strides", "rows"], tail = single>, schedule = "scratch"}
  %0 = pipe.view %x by affine_map<(d0, d1, d2) -> (d0, 39 - d1, d2)> [] {
    schedule = "scratch",
    loops = #schedule.loops<along = "w", lanes = 32, unroll = "c", arms = 2, versions = ["strides", "rows"], tail = single>
  } : !pipe.tensor<u8[h=8, w=40, c=3]> -> !pipe.tensor<u8[h=8, w=40, c=3]>
  // CHECK: pipe.return {{.*}} {copies = #schedule.loops<along = "w", lanes = 4, tail = overlap>}
  pipe.return %0 : !pipe.tensor<u8[h=8, w=40, c=3]> {copies = #schedule.loops<along = "w", lanes = 4, tail = overlap>}
}

// CHECK-LABEL: pipe.kernel @together "pixels" schedule {level = 3 : i64, together = [array<i64: 0, 1>]}
pipe.kernel @together "pixels" schedule {level = 3 : i64, together = [array<i64: 0, 1>]} {
^bb0(%x: !pipe.tensor<u8[w=40]>):
  %0 = pipe.cast value %x {loops = #schedule.loops<along = "w", lanes = 32, tail = overlap>} : !pipe.tensor<u8[w=40]> -> !pipe.tensor<f32[w=40]>
  %1 = pipe.cast value %x {loops = #schedule.loops<along = "w", lanes = 32, tail = overlap>} : !pipe.tensor<u8[w=40]> -> !pipe.tensor<i32[w=40]>
  pipe.return %0, %1 : !pipe.tensor<f32[w=40]>, !pipe.tensor<i32[w=40]>
}
