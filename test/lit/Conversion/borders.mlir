// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 --pipe-kernel-to-loops --split-input-file | FileCheck %s
// REQUIRES: penstock-opt

// A pad along the lanes, cropped and mirrored: windows and one shuffle each, for
// either direction; only a distance that is no flip goes element by element. The
// pad's rows hold the fill alone.
// CHECK-LABEL: func.func @crops_a_padded_image
// CHECK: arith.cmpi eq, %{{.*}}, %{{.*}} : i64
// CHECK: scf.if
// CHECK-NOT: vector.insert
// CHECK: scf.for
// CHECK: scf.if
// CHECK-COUNT-8: llvm.load {{.*}} invariant {{.*}} -> vector<16xi8>
// CHECK: lane.shuffle_parts
// CHECK-NOT: vector.insert
// CHECK: llvm.store {{.*}} : vector<8xf32>
// CHECK: else
// CHECK-NOT: llvm.load {{.*}} vector
// CHECK: llvm.store
pipe.kernel @crops_a_padded_image "pixels" {
^bb0(%x: !pipe.tensor<u8[h=32, w=32, c=3]>, %top: i64, %left: i64, %step: i64, %start: i64):
  %four = pipe.constant 4 : i64 -> i64
  %black = pipe.constant 0 : ui8 -> ui8
  %0 = pipe.pad constant %x over ["h", "w"] low(%four, %four) fill(%black : ui8)
      : <u8[h=32, w=32, c=3]> -> <u8[h=40, w=40, c=3]>
  %1 = pipe.view %0 by affine_map<(d0, d1, d2)[s0, s1, s2, s3] -> (d1 + s0, d2 * s2 + s1 + s3, d0)>
      [%top, %left, %step, %start] : <u8[h=40, w=40, c=3]> -> <u8[c=3, h=32, w=32]>
  %2 = pipe.map (%1) : (!pipe.tensor<u8[c=3, h=32, w=32]>) -> !pipe.tensor<f32[c=3, h=32, w=32]> {
  ^bb0(%p: ui8, %c: i64, %h: i64, %w: i64):
    %f = pipe.cast value %p : ui8 -> f32
    pipe.yield %f : f32
  }
  pipe.return %2 : !pipe.tensor<f32[c=3, h=32, w=32]>
}

// -----

// A fill that is no zero is selected into the lanes that do not exist.
// CHECK-LABEL: func.func @fills
// CHECK: lane.shuffle_parts
// CHECK: arith.select {{.*}} : vector<32xi1>, vector<32xi32>
// CHECK: return
pipe.kernel @fills "pixels" {
^bb0(%x: !pipe.tensor<u8[w=30]>, %low: i64):
  %gray = pipe.constant 7 : ui8 -> ui8
  %0 = pipe.pad constant %x over ["w"] low(%low) fill(%gray : ui8) : <u8[w=30]> -> <u8[w=32]>
  %1 = pipe.map (%0) : (!pipe.tensor<u8[w=32]>) -> !pipe.tensor<f32[w=32]> {
  ^bb0(%p: ui8, %w: i64):
    %f = pipe.cast value %p : ui8 -> f32
    pipe.yield %f : f32
  }
  pipe.return %1 : !pipe.tensor<f32[w=32]>
}

// -----

// One element that all lanes read is there in lanes beyond the end, too: zeros are selected.
// CHECK-LABEL: func.func @fills_beside_one_element
// CHECK: arith.select {{.*}} : vector<32xi1>, vector<32xf32>
// CHECK: return
pipe.kernel @fills_beside_one_element "pixels" {
^bb0(%x: !pipe.tensor<f32[]>, %count: i64):
  %start = pipe.constant 0 : i64 -> i64
  %zero = pipe.constant 0.0 : f32 -> f32
  %0 = pipe.view %x by affine_map<(d0) -> ()> [] sizes(%count) : <f32[]> -> <f32[w=? max 32]>
  %1 = pipe.pad constant %0 over ["w"] low(%start) fill(%zero : f32) : <f32[w=? max 32]> -> <f32[w=32]>
  pipe.return %1 : !pipe.tensor<f32[w=32]>
}

// -----

// Whole rows of small numbers are summed in 32 bits, and no element by itself.
// CHECK-LABEL: func.func @sums_bytes
// CHECK: scf.for {{.*}} -> (vector<32xi32>
// CHECK: arith.addi {{.*}} : vector<32xi32>
// CHECK: arith.extsi {{.*}} : vector<32xi32> to vector<32xi64>
// CHECK-NOT: scf.for
// CHECK: return
pipe.kernel @sums_bytes "pixels" {
^bb0(%x: !pipe.tensor<u8[h=8, w=64, c=3]>):
  %0 = pipe.view %x by affine_map<(d0, d1) -> (d0, d1, 1)> [] : <u8[h=8, w=64, c=3]> -> <u8[h=8, w=64]>
  %1 = pipe.map (%0) : (!pipe.tensor<u8[h=8, w=64]>) -> !pipe.tensor<i64[h=8, w=64]> {
  ^bb0(%p: ui8, %h: i64, %w: i64):
    %f = pipe.cast value %p : ui8 -> i64
    pipe.yield %f : i64
  }
  %2 = pipe.reduce sum %1 over ["h", "w"] : <i64[h=8, w=64]> -> <i64[]>
  pipe.return %2 : !pipe.tensor<i64[]>
}

// -----

// A float sum adds whole vectors to its 32 partial sums.
// CHECK-LABEL: func.func @sums_floats
// CHECK: scf.for
// CHECK: arith.addf {{.*}} : vector<32xf32>
// CHECK-NOT: arith.addf {{.*}} : f32
// CHECK: return
pipe.kernel @sums_floats "pixels" {
^bb0(%x: !pipe.tensor<f32[h=8, w=64]>):
  %0 = pipe.reduce sum %x over ["h", "w"] : <f32[h=8, w=64]> -> <f32[]>
  pipe.return %0 : !pipe.tensor<f32[]>
}

// -----

// Bytes that come out of f32 and go back stay there: one truncation, no
// conversion to i32 and none back; a clamp is two instructions. The
// end of the chain is one fused multiply-add, proved on what the byte can be.
// CHECK-LABEL: func.func @stays_in_f32
// CHECK: llvm.intr.trunc
// CHECK: llvm.intr.fma
// CHECK-NOT: arith.divf
// CHECK: llvm.store {{.*}} : vector<16xi16>
pipe.kernel @stays_in_f32 "pixels" {
^bb0(%x: !pipe.tensor<u8[w=64]>, %amount: f32):
  %zero = pipe.constant 0.0 : f32 -> f32
  %full = pipe.constant 255.0 : f32 -> f32
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=64]>) -> !pipe.tensor<f16[w=64]> {
  ^bb0(%p: ui8, %w: i64):
    %f = pipe.cast value %p : ui8 -> f32
    %m = pipe.binary mul %amount, %f : f32
    %s = pipe.binary min %m, %full : f32
    %t = pipe.binary max %s, %zero : f32
    %u = pipe.cast value %t : f32 -> ui8
    %v = pipe.cast value %u : ui8 -> f32
    %q = pipe.binary div %v, %full : f32
    %r = pipe.cast value %q : f32 -> f16
    pipe.yield %r : f16
  }
  pipe.return %0 : !pipe.tensor<f16[w=64]>
}

// -----

// A pad of the kernel's own result: nothing can be read behind the last element of an output, so
// there are no windows of 16 bytes.
// CHECK-LABEL: func.func @pads_its_own_result
// CHECK-NOT: pshuf
// CHECK: vector.insert
// CHECK-NOT: pshuf
// CHECK: return
pipe.kernel @pads_its_own_result "pixels" {
^bb0(%x: !pipe.tensor<u16[w=?]>, %w: i64):
  %zero = pipe.constant 0 : i64 -> i64
  %fill = pipe.constant 7 : ui16 -> ui16
  %0 = pipe.concat "w"(%x, %x) sizes(%w)
      : !pipe.tensor<u16[w=?]>, !pipe.tensor<u16[w=?]> -> <u16[w=?]>
  %1 = pipe.pad constant %0 over ["w"] low(%zero) fill(%fill : ui16) : <u16[w=?]> -> <u16[w=30]>
  pipe.return %0, %1 : !pipe.tensor<u16[w=?]>, !pipe.tensor<u16[w=30]>
}

// -----

// A window over an axis that may be empty is computed only where the axis has elements: then
// none of its places is near to the padding. By itself, such a window is stored.
// CHECK-LABEL: func.func @pads_what_may_be_empty
// CHECK: arith.cmpi sgt
// CHECK: arith.remsi
pipe.kernel @pads_what_may_be_empty "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[w=?]>, %w: i64):
  %zero = pipe.constant 0 : i64 -> i64
  %fill = pipe.constant 7.0 : f32 -> f32
  %0 = pipe.window reflect %x over ["w"] low [-2] high [0] sizes(%w) : <f32[w=?]> -> <f32[w=?]> {
  ^bb0(%a: f32, %b: f32, %c: f32, %at: i64):
    %s = pipe.binary add %a, %b : f32
    pipe.yield %s : f32
  }
  %1 = pipe.pad constant %0 over ["w"] low(%zero) fill(%fill : f32) : <f32[w=?]> -> <f32[w=30]>
  pipe.return %1 : !pipe.tensor<f32[w=30]>
}
