// RUN: penstock-opt %s --pipe-kernel-to-gpu --cse | FileCheck %s
// RUN: penstock-opt %s --pipe-kernel-to-gpu | penstock-opt --cse | FileCheck %s
// REQUIRES: penstock-opt

// A block packs the taps of its rows, and a thread sums up words of rows that a tile stores: no loop over taps.
// CHECK-LABEL: func.func @sums_of_rows
// CHECK: %[[TABLE:.*]] = memref.view {{.*}} : memref<?xi8, #gpu.address_space<workgroup>> to memref<?xi32, #gpu.address_space<workgroup>>
// CHECK: func.call @pst_pack_row_taps(%[[TABLE]],
// CHECK: func.call @pst_pad_rows(
// CHECK-NEXT: gpu.barrier
// CHECK: scf.parallel
// CHECK: %[[SUMS:.*]] = memref.alloca() {pipe.registers} : memref<12xi32>
// CHECK-NEXT: %[[ENTRY:.*]] = arith.muli %{{.*}}, %c8
// CHECK: func.call @pst_sum_rows(%[[SUMS]], %[[TABLE]], %[[ENTRY]],
// CHECK-NOT: scf.for
// CHECK-COUNT-12: func.call @pst_pillow(
// CHECK: gpu.barrier
// CHECK-NEXT: } else {
// CHECK-NOT: pst_sum_rows
// CHECK: return
pipe.kernel @sums_of_rows "pixels" schedule {mapping = "tile", threads = 64 : i64, tile = {h = 8 : i64}, rows = 20 : i64, copied = {inputs = array<i64: 0>, bytes = 8192 : i64}} {
^bb0(%x: !pipe.tensor<u8[h=90, w=64, c=3]>, %weights: !pipe.tensor<i32[h=32, k=?]>, %start: !pipe.tensor<i32[h=32]>):
  %0 = pipe.map (%x) {schedule = "shared"} : (!pipe.tensor<u8[h=90, w=64, c=3]>) -> !pipe.tensor<u8[h=90, w=64, c=3]> {
  ^bb0(%p: ui8, %h: i64, %w: i64, %c: i64):
    %q = pipe.unary bit_not %p : ui8
    pipe.yield %q : ui8
  }
  %1 = pipe.resample pillow %0 along "h" with %weights, %start {vector = {w = 4 : i64, c = 3 : i64}} : !pipe.tensor<u8[h=90, w=64, c=3]>, !pipe.tensor<i32[h=32, k=?]>, !pipe.tensor<i32[h=32]> -> !pipe.tensor<u8[h=32, w=64, c=3]>
  pipe.return %1 : !pipe.tensor<u8[h=32, w=64, c=3]>
}

// Copies that are small give up no room.
// CHECK-LABEL: func.func @little_room
// CHECK-NOT: pst_sum_rows
// CHECK: return
pipe.kernel @little_room "pixels" schedule {mapping = "tile", threads = 64 : i64, tile = {h = 8 : i64}, rows = 20 : i64, copied = {inputs = array<i64: 0>, bytes = 2032 : i64}} {
^bb0(%x: !pipe.tensor<u8[h=90, w=64, c=3]>, %weights: !pipe.tensor<i32[h=32, k=?]>, %start: !pipe.tensor<i32[h=32]>):
  %0 = pipe.map (%x) {schedule = "shared"} : (!pipe.tensor<u8[h=90, w=64, c=3]>) -> !pipe.tensor<u8[h=90, w=64, c=3]> {
  ^bb0(%p: ui8, %h: i64, %w: i64, %c: i64):
    %q = pipe.unary bit_not %p : ui8
    pipe.yield %q : ui8
  }
  %1 = pipe.resample pillow %0 along "h" with %weights, %start {vector = {w = 4 : i64, c = 3 : i64}} : !pipe.tensor<u8[h=90, w=64, c=3]>, !pipe.tensor<i32[h=32, k=?]>, !pipe.tensor<i32[h=32]> -> !pipe.tensor<u8[h=32, w=64, c=3]>
  pipe.return %1 : !pipe.tensor<u8[h=32, w=64, c=3]>
}

// A word takes four rows.
// CHECK-LABEL: func.func @three_rows
// CHECK-NOT: pst_sum_rows
// CHECK: return
pipe.kernel @three_rows "pixels" schedule {mapping = "tile", threads = 64 : i64, tile = {h = 8 : i64}, rows = 3 : i64, copied = {inputs = array<i64: 0>, bytes = 8192 : i64}} {
^bb0(%x: !pipe.tensor<u8[h=90, w=64, c=3]>, %weights: !pipe.tensor<i32[h=32, k=?]>, %start: !pipe.tensor<i32[h=32]>):
  %0 = pipe.map (%x) {schedule = "shared"} : (!pipe.tensor<u8[h=90, w=64, c=3]>) -> !pipe.tensor<u8[h=90, w=64, c=3]> {
  ^bb0(%p: ui8, %h: i64, %w: i64, %c: i64):
    %q = pipe.unary bit_not %p : ui8
    pipe.yield %q : ui8
  }
  %1 = pipe.resample pillow %0 along "h" with %weights, %start {vector = {w = 4 : i64, c = 3 : i64}} : !pipe.tensor<u8[h=90, w=64, c=3]>, !pipe.tensor<i32[h=32, k=?]>, !pipe.tensor<i32[h=32]> -> !pipe.tensor<u8[h=32, w=64, c=3]>
  pipe.return %1 : !pipe.tensor<u8[h=32, w=64, c=3]>
}

// A window reads more rows than a tile has: there is no table of those.
// CHECK-LABEL: func.func @rows_around
// CHECK-NOT: pst_sum_rows
// CHECK: return
pipe.kernel @rows_around "pixels" schedule {mapping = "tile", threads = 64 : i64, tile = {h = 8 : i64}, rows = 20 : i64, copied = {inputs = array<i64: 0>, bytes = 8192 : i64}} {
^bb0(%x: !pipe.tensor<u8[h=90, w=64, c=3]>, %weights: !pipe.tensor<i32[h=32, k=?]>, %start: !pipe.tensor<i32[h=32]>):
  %0 = pipe.map (%x) {schedule = "shared"} : (!pipe.tensor<u8[h=90, w=64, c=3]>) -> !pipe.tensor<u8[h=90, w=64, c=3]> {
  ^bb0(%p: ui8, %h: i64, %w: i64, %c: i64):
    %q = pipe.unary bit_not %p : ui8
    pipe.yield %q : ui8
  }
  %1 = pipe.resample pillow %0 along "h" with %weights, %start : !pipe.tensor<u8[h=90, w=64, c=3]>, !pipe.tensor<i32[h=32, k=?]>, !pipe.tensor<i32[h=32]> -> !pipe.tensor<u8[h=32, w=64, c=3]>
  %2 = pipe.view %1 by affine_map<(d0, d1, d2) -> (d0 + 1, d1, d2)>[] : !pipe.tensor<u8[h=32, w=64, c=3]> -> !pipe.tensor<u8[h=31, w=64, c=3]>
  %3 = pipe.map (%2) {vector = {w = 4 : i64, c = 3 : i64}} : (!pipe.tensor<u8[h=31, w=64, c=3]>) -> !pipe.tensor<u8[h=31, w=64, c=3]> {
  ^bb0(%p: ui8, %h: i64, %w: i64, %c: i64):
    %q = pipe.unary bit_not %p : ui8
    pipe.yield %q : ui8
  }
  pipe.return %3 : !pipe.tensor<u8[h=31, w=64, c=3]>
}

// What is stored itself goes the same way, and its taps are not copied besides.
// CHECK-LABEL: func.func @stored_sums
// CHECK: func.call @pst_pack_row_taps(
// CHECK-NOT: memref.store {{.*}} : memref<?xi32, #gpu.address_space<workgroup>>
// CHECK: func.call @pst_sum_rows(
// CHECK-NOT: memref.store {{.*}} : memref<?xi32, #gpu.address_space<workgroup>>
// CHECK: return
pipe.kernel @stored_sums "pixels" schedule {mapping = "tile", threads = 64 : i64, tile = {h = 8 : i64}, rows = 20 : i64, copied = {inputs = array<i64: 0, 1, 2>, bytes = 8192 : i64}} {
^bb0(%x: !pipe.tensor<u8[h=90, w=64, c=3]>, %weights: !pipe.tensor<i32[h=32, k=?]>, %start: !pipe.tensor<i32[h=32]>):
  %0 = pipe.map (%x) {schedule = "shared"} : (!pipe.tensor<u8[h=90, w=64, c=3]>) -> !pipe.tensor<u8[h=90, w=64, c=3]> {
  ^bb0(%p: ui8, %h: i64, %w: i64, %c: i64):
    %q = pipe.unary bit_not %p : ui8
    pipe.yield %q : ui8
  }
  %1 = pipe.resample pillow %0 along "h" with %weights, %start {schedule = "shared", rows = 8 : i64, vector = {w = 4 : i64, c = 3 : i64}} : !pipe.tensor<u8[h=90, w=64, c=3]>, !pipe.tensor<i32[h=32, k=?]>, !pipe.tensor<i32[h=32]> -> !pipe.tensor<u8[h=32, w=64, c=3]>
  %2 = pipe.map (%1) {vector = {w = 4 : i64, c = 3 : i64}} : (!pipe.tensor<u8[h=32, w=64, c=3]>) -> !pipe.tensor<u8[h=32, w=64, c=3]> {
  ^bb0(%p: ui8, %h: i64, %w: i64, %c: i64):
    %q = pipe.unary bit_not %p : ui8
    pipe.yield %q : ui8
  }
  pipe.return %2 : !pipe.tensor<u8[h=32, w=64, c=3]>
}
