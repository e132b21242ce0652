// RUN: penstock-opt %s --pipe-schedule-gpu --pipe-kernel-to-gpu --cse | FileCheck %s
// REQUIRES: penstock-opt

// A strip loads its row once, makes pixel after pixel in registers, and stores a word of each plane. It begins at a
// boundary of 16 bytes; what no strip has is made element by element, at the ends that the planes have in common.
// CHECK-LABEL: func.func @flips(
// CHECK-SAME: %[[IN:[a-z0-9]+]]: memref<?xui8>
// CHECK-SAME: %[[OUT:[a-z0-9]+]]: memref<?xui8>
// CHECK: %[[HEAD:.*]] = call @"pst_head<1, 16>"(%[[OUT]], %c0)
// CHECK: %[[ENDS:.*]] = call @"pst_ends<16>"(%[[HEAD]], %c64)
// CHECK: scf.parallel (%[[H:.*]], %[[W:.*]]) = ({{.*}}) to (%c8, %c4)
// CHECK: %[[BEGIN:.*]] = arith.addi %[[HEAD]],
// CHECK: %[[END:.*]] = arith.addi %[[BEGIN]], %c16
// CHECK: arith.cmpi sle, %[[END]], %c64
// CHECK: scf.if
// CHECK: %[[READ:.*]] = memref.alloca() {pipe.registers} : memref<48xui8>
// CHECK: call @"pst_take_row<3>{{_*}}"(%[[READ]], %[[IN]], {{.*}}, %[[SIGN:.*]])
// CHECK-NOT: pst_take_row
// CHECK: %[[MADE:.*]] = memref.alloca() {pipe.registers} : memref<48xui8>
// CHECK: scf.for %[[K:.*]] = %c0 to %c16 step %c1 {
// CHECK-NEXT: %[[PIXEL:.*]] = arith.muli %[[K]], %c3
// CHECK-COUNT-3: memref.load %[[READ]]
// CHECK: } {pipe.unrolled = 0 : i64}
// CHECK: call @"pst_put_row<16>{{_*}}"(%[[OUT]], {{.*}}, %[[MADE]], %c0)
// CHECK: call @"pst_put_row<16>{{_*}}"(%[[OUT]], {{.*}}, %[[MADE]], %c16)
// CHECK: call @"pst_put_row<16>{{_*}}"(%[[OUT]], {{.*}}, %[[MADE]], %c32)
// CHECK: scf.parallel (%[[C:.*]], %[[H2:.*]], %[[NUMBER:.*]]) = ({{.*}}) to (%c3, %c8, %[[ENDS]])
// CHECK: %[[AT:.*]] = func.call @"pst_loose<16>"(%[[NUMBER]], %[[HEAD]], %c64)
// CHECK: arith.cmpi slt, %[[AT]], %c64
// CHECK: memref.load %[[IN]]
// CHECK: memref.store
pipe.kernel @flips "pixels" {
^bb0(%x: !pipe.tensor<u8[h=?, w=?, c=3]>, %sign: i64, %from: i64):
  %0 = pipe.view %x by affine_map<(c, h, w)[s0, s1] -> (h, w * s0 + s1, c)> [%sign, %from] : !pipe.tensor<u8[h=?, w=?, c=3]> -> !pipe.tensor<u8[c=3, h=8, w=64]>
  pipe.return %0 : !pipe.tensor<u8[c=3, h=8, w=64]>
}

// Rows of 75 bytes begin anywhere, each of them.
// CHECK-LABEL: func.func @has_odd_rows(
// CHECK: scf.parallel (%[[C:.*]], %[[H:.*]], %[[W:.*]]) = ({{.*}}) to (%c3, %c75, %c4)
// CHECK: %[[ROW:.*]] = arith.muli %[[H]], %c75
// CHECK: %[[AT:.*]] = arith.addi {{.*}}, %[[ROW]]
// CHECK: %[[HEAD:.*]] = func.call @"pst_head<1, 16>"({{.*}}, %[[AT]])
// CHECK: scf.parallel ({{.*}}) to (%c3, %c75, %c30)
// CHECK: func.call @"pst_head<1, 16>"
// CHECK: func.call @"pst_loose<16>"
pipe.kernel @has_odd_rows "pixels" {
^bb0(%x: !pipe.tensor<u8[h=?, w=?, c=3]>, %sign: i64, %from: i64):
  %0 = pipe.view %x by affine_map<(c, h, w)[s0, s1] -> (h, w * s0 + s1, c)> [%sign, %from] : !pipe.tensor<u8[h=?, w=?, c=3]> -> !pipe.tensor<u8[c=3, h=75, w=75]>
  pipe.return %0 : !pipe.tensor<u8[c=3, h=75, w=75]>
}

// Which arm is taken is decided before anything is loaded; an arm that is padded fills its row up. Rows above and below are
// not read: they have no columns.
// CHECK-LABEL: func.func @decides_first(
// CHECK: scf.index_switch
// CHECK: %[[INSIDE:.*]] = arith.select {{.*}}, %c32, %c0
// CHECK: call @"pst_take_padded<1>"({{.*}}, %[[INSIDE]], {{.*}}) : (memref<16xui8>, memref<?xui8>, index, index, index, index, ui8)
// CHECK-NOT: scf.index_switch
// CHECK: call @"pst_put_row<16>{{_*}}"
// CHECK: default
// CHECK: call @"pst_take_row<1>{{_*}}"
// CHECK: call @"pst_put_row<16>{{_*}}"
pipe.kernel @decides_first "pixels" {
^bb0(%x: !pipe.tensor<u8[h=32, w=32]>, %low: i64, %which: i64, %zero: ui8):
  %0 = pipe.pad constant %x over ["w"] low(%low) fill(%zero : ui8) : !pipe.tensor<u8[h=32, w=32]> -> !pipe.tensor<u8[h=32, w=40]>
  %1 = pipe.pad constant %0 over ["h"] low(%low) fill(%zero : ui8) : !pipe.tensor<u8[h=32, w=40]> -> !pipe.tensor<u8[h=40, w=40]>
  %2 = pipe.view %1 by affine_map<(h, w)[s0] -> (h + s0, w + s0)> [%low] : !pipe.tensor<u8[h=40, w=40]> -> !pipe.tensor<u8[h=32, w=32]>
  %3 = pipe.choose %which -> !pipe.tensor<u8[h=32, w=32]> {
    pipe.yield %2 : !pipe.tensor<u8[h=32, w=32]>
  }, {
    pipe.yield %x : !pipe.tensor<u8[h=32, w=32]>
  }
  pipe.return %3 : !pipe.tensor<u8[h=32, w=32]>
}

// An input read at two places is read where it is needed, not as a strip.
// CHECK-LABEL: func.func @reads_two_rows(
// CHECK: scf.for
// CHECK: memref.load %arg0
// CHECK: memref.load %arg0
// CHECK: } {pipe.unrolled = 0 : i64}
pipe.kernel @reads_two_rows "pixels" schedule {mapping = "grid", threads = 64 : i64} {
^bb0(%x: !pipe.tensor<u8[h=?, w=?]>, %rows: i64, %columns: i64):
  %0 = pipe.map (%x) sizes(%rows, %columns) : (!pipe.tensor<u8[h=?, w=?]>) -> !pipe.tensor<u8[h=?, w=?]> {
  ^bb0(%p: ui8, %h: i64, %w: i64):
    %q = pipe.unary bit_not %p : ui8
    pipe.yield %q : ui8
  }
  %1 = pipe.view %0 by affine_map<(h, w) -> (-h + 7, w)> [] sizes(%rows, %columns) : !pipe.tensor<u8[h=?, w=?]> -> !pipe.tensor<u8[h=?, w=?]>
  %2 = pipe.map (%0, %1, %x) sizes(%rows, %columns) {along = "w", vector = {w = 16 : i64}} : (!pipe.tensor<u8[h=?, w=?]>, !pipe.tensor<u8[h=?, w=?]>, !pipe.tensor<u8[h=?, w=?]>) -> !pipe.tensor<u8[h=?, w=?]> {
  ^bb0(%p: ui8, %q: ui8, %r: ui8, %h: i64, %w: i64):
    %m = pipe.binary max %p, %q : ui8
    %n = pipe.binary max %m, %r : ui8
    pipe.yield %n : ui8
  }
  pipe.return %2 : !pipe.tensor<u8[h=?, w=?]>
}

// An element that is looked up lies anywhere: then the row itself is read where it is needed, too.
// CHECK-LABEL: func.func @looks_up(
// CHECK: scf.for
// CHECK: memref.load %arg0
// CHECK: memref.load %arg0
// CHECK: } {pipe.unrolled = 0 : i64}
pipe.kernel @looks_up "pixels" {
^bb0(%x: !pipe.tensor<u8[w=72]>, %sign: i64):
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=72]>) -> !pipe.tensor<u8[w=72]> {
  ^bb0(%p: ui8, %w: i64):
    %i = pipe.cast value %p : ui8 -> i64
    %q = pipe.load %x[%i] : !pipe.tensor<u8[w=72]> -> ui8
    %m = pipe.binary max %p, %q : ui8
    pipe.yield %m : ui8
  }
  pipe.return %0 : !pipe.tensor<u8[w=72]>
}

// A strip by hand, of any length.
// CHECK-LABEL: func.func @by_hand(
// CHECK: call @"pst_head<1, 6>"
// CHECK: call @"pst_put_row<6>{{_*}}"
// CHECK: call @"pst_loose<6>"
pipe.kernel @by_hand "pixels" schedule {mapping = "grid", threads = 64 : i64} {
^bb0(%x: !pipe.tensor<u8[h=8, w=64]>):
  %0 = pipe.map (%x) {along = "w", vector = {w = 6 : i64}} : (!pipe.tensor<u8[h=8, w=64]>) -> !pipe.tensor<u8[h=8, w=64]> {
  ^bb0(%p: ui8, %h: i64, %w: i64):
    %q = pipe.unary bit_not %p : ui8
    pipe.yield %q : ui8
  }
  pipe.return %0 : !pipe.tensor<u8[h=8, w=64]>
}

// In turns, elements move to the front of what was loaded, and results to that of what is stored: places in registers are known.
// CHECK-LABEL: func.func @goes_in_turns(
// CHECK: %[[READ:.*]] = memref.alloca() {pipe.registers} : memref<48xui8>
// CHECK: call @"pst_take_row<3>{{_*}}"(%[[READ]],
// CHECK: %[[MADE:.*]] = memref.alloca() {pipe.registers} : memref<48xui8>
// CHECK: scf.for {{.*}} = %c0 to %c4 step %c1 {
// CHECK: call @"pst_next<12>{{_*}}"(%[[MADE]])
// CHECK-NEXT: scf.for %[[K:.*]] = %c0 to %c4 step %c1 {
// CHECK-NEXT: %[[PIXEL:.*]] = arith.muli %[[K]], %c3
// CHECK: memref.load %[[READ]][%[[PIXEL]]]
// CHECK: %[[PLACE:.*]] = arith.addi %[[PIXEL]], %c36
// CHECK: memref.store {{.*}}, %[[MADE]][%[[PLACE]]]
// CHECK: } {pipe.unrolled = 0 : i64}
// CHECK-NEXT: call @"pst_next<12>{{_*}}"(%[[READ]])
// CHECK-NEXT: } {pipe.unrolled = 1 : i64}
// CHECK: call @"pst_put_row<48>{{_*}}"({{.*}}, %[[MADE]], %c0)
pipe.kernel @goes_in_turns "pixels" schedule {mapping = "grid", threads = 256 : i64} {
^bb0(%x: !pipe.tensor<u8[h=8, w=64, c=3]>):
  %0 = pipe.map (%x) {along = "w", unrolled = 4 : i64, vector = {c = 3 : i64, w = 16 : i64}} : (!pipe.tensor<u8[h=8, w=64, c=3]>) -> !pipe.tensor<u8[h=8, w=64, c=3]> {
  ^bb0(%p: ui8, %h: i64, %w: i64, %c: i64):
    %q = pipe.binary add %p, %p : ui8
    pipe.yield %q : ui8
  }
  pipe.return %0 : !pipe.tensor<u8[h=8, w=64, c=3]>
}
