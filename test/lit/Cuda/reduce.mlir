// RUN: penstock compile %s --no-cache --from kernels --emit cuda | FileCheck %s --match-full-lines --strict-whitespace
// REQUIRES: penstock

// A float sum: 32 lanes take every 32nd element, then a tree. Halves are added up as f32.
pipe.kernel @sum_of_rows "pixels" {
^bb0(%x: !pipe.tensor<f16[h=?, w=100]>):
  %n = pipe.extent %x "h" : !pipe.tensor<f16[h=?, w=100]>
  %0 = pipe.reduce sum %x over ["w"] sizes(%n) : !pipe.tensor<f16[h=?, w=100]> -> !pipe.tensor<f16[h=?]>
  pipe.return %0 : !pipe.tensor<f16[h=?]>
}

//CHECK:#include "penstock.cuh"
//CHECK:struct pst_sum_of_rows_sample {
//CHECK-NEXT:  i64 entry; // of status
//CHECK-NEXT:  const f16 *in0;
//CHECK-NEXT:  i64 in0_h;
//CHECK-NEXT:  i64 in0_stride_h;
//CHECK-NEXT:  f16 *out0;
//CHECK-NEXT:};
//CHECK-EMPTY:
//CHECK-NEXT:// Any number of blocks of 256 threads for each sample.
//CHECK-NEXT:PST_KERNEL __launch_bounds__(256) pst_sum_of_rows(const pst_sum_of_rows_sample *samples, pst_sample_status *status) {
//CHECK-NEXT:  const pst_sum_of_rows_sample &sample = samples[blockIdx.y];
//CHECK-NEXT:  if (pst_left_out(status, sample.entry))
//CHECK-NEXT:    return;
//CHECK-NEXT:  const f16 *in0 = pst_global(sample.in0);
//CHECK-NEXT:  const i64 in0_h = sample.in0_h;
//CHECK-NEXT:  const i64 in0_stride_h = sample.in0_stride_h;
//CHECK-NEXT:  f16 *out0 = pst_global(sample.out0);
//CHECK-NEXT:  // reduce.mlir:8 pipe.reduce
//CHECK-NEXT:  for (i64 h = pst_warp(); h < in0_h; h += pst_warps()) {
//CHECK-NEXT:    const i64 v0 = pst_lane();
//CHECK-NEXT:    f32 v1 = 0.0f;
//CHECK-NEXT:#pragma unroll 4
//CHECK-NEXT:    for (i64 k = v0; k < 100; k += 32) {
//CHECK-NEXT:      const f32 v2 = pst_half(in0[h * in0_stride_h + k]);
//CHECK-NEXT:      v1 = v1 + v2;
//CHECK-NEXT:    }
//CHECK-NEXT:    const f32 v3 = pst_shuffle_down(v1, 16);
//CHECK-NEXT:    const f32 v4 = v1 + v3;
//CHECK-NEXT:    const f32 v5 = pst_shuffle_down(v4, 8);
//CHECK-NEXT:    const f32 v6 = v4 + v5;
//CHECK-NEXT:    const f32 v7 = pst_shuffle_down(v6, 4);
//CHECK-NEXT:    const f32 v8 = v6 + v7;
//CHECK-NEXT:    const f32 v9 = pst_shuffle_down(v8, 2);
//CHECK-NEXT:    const f32 v10 = v8 + v9;
//CHECK-NEXT:    const f32 v11 = pst_shuffle_down(v10, 1);
//CHECK-NEXT:    const f32 v12 = pst_to_half(v10 + v11);
//CHECK-NEXT:    if (v0 == 0) {
//CHECK-NEXT:      out0[h] = pst_half_bits(v12);
//CHECK-NEXT:    }
//CHECK-NEXT:  }
//CHECK-NEXT:}
