// RUN: penstock compile %s --no-cache --from schedule --emit cuda | FileCheck %s
// REQUIRES: penstock

// Elements are numbered row-major: an index is what is left after division by the extents behind it. That of rows is known
// when a tile is made, so a product with it is spelled.
// CHECK: for (u32 at = threadIdx.x, end = (u32)2 * 64 * [[ROWS:v[0-9]+]]; at < end; at += blockDim.x) {
// CHECK-NEXT: const i64 h = at % (u32)[[ROWS]];
// CHECK-NEXT: const i64 w = at / (u32)[[ROWS]] % 64;
// CHECK-NEXT: const i64 x = at / ((u32)[[ROWS]] * 64);
pipe.kernel @planes "pixels" schedule {mapping = "tile", threads = 64 : i64, tile = {h = 5 : i64}, rows = 8 : i64} {
^bb0(%x: !pipe.tensor<u8[h=64, w=64]>):
  %0 = pipe.map (%x) {schedule = "shared"} : (!pipe.tensor<u8[h=64, w=64]>) -> !pipe.tensor<u8[h=64, w=64]> {
  ^bb0(%p: ui8, %h: i64, %w: i64):
    %q = pipe.unary bit_not %p : ui8
    pipe.yield %q : ui8
  }
  %1 = pipe.view %0 by affine_map<(d0, d1, d2) -> (d2, d1)> [] : !pipe.tensor<u8[h=64, w=64]> -> !pipe.tensor<u8[x=2, w=64, h=64]>
  pipe.return %1 : !pipe.tensor<u8[x=2, w=64, h=64]>
}
