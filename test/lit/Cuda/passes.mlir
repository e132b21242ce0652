// RUN: penstock compile %s --no-cache --from kernels --emit cuda | FileCheck %s
// REQUIRES: penstock

// Selection, groups and transforms are passes of one block.

// A run of elements for each thread, the sums of runs, the runs again; then what was kept.
// CHECK: // One block of 256 threads for each sample.
// CHECK-NEXT: pst_keeps(
// CHECK: for (i64 run = pst_thread(); run < 256; run += pst_threads()) {
// CHECK: __syncthreads();
// CHECK: for (i64 run = pst_thread(); run < 256; run += pst_threads()) {
// CHECK: if ([[KEEPS:v[0-9]+]] != 0) {
// CHECK-NEXT: [[LIST:t[0-9]+]][{{v[0-9]+}}] = k;
// CHECK: out1[0] =
// CHECK: __syncthreads();
// CHECK: const i64 [[COUNT:v[0-9]+]] = out1[0];
// CHECK: if (k < [[COUNT]]) {
// CHECK-NEXT: const i64 [[FROM:v[0-9]+]] = [[LIST]][k];
// CHECK-NEXT: in0[[[FROM]] * in0_stride_k + xyz];
pipe.kernel @keeps "pixels" {
^bb0(%x: !pipe.tensor<f32[k=?, xyz=3]>, %m: !pipe.tensor<bool[k=?]>, %n: i64):
  %r, %c = pipe.compact %x along "k" where %m sizes(%n) : !pipe.tensor<f32[k=?, xyz=3]>, !pipe.tensor<bool[k=?]> -> !pipe.tensor<f32[k=?, xyz=3]>, !pipe.tensor<i64[]>
  pipe.return %r, %c : !pipe.tensor<f32[k=?, xyz=3]>, !pipe.tensor<i64[]>
}

// Places of the table are claimed in any order, members listed in any order and then sorted.
// CHECK: pst_groups(
// CHECK: pst_claim([[TABLE:t[0-9]+]], 18, {{t[0-9]+}}, 1, k);
// CHECK: pst_next([[COUNTS:t[0-9]+]], {{v[0-9]+}});
// CHECK: pst_sort([[MEMBERS:t[0-9]+]], {{v[0-9]+}}, {{v[0-9]+}});
// CHECK-NEXT: }
// CHECK-NEXT: __syncthreads();
// CHECK: [[MEMBERS]][{{v[0-9]+ \+ k}}];
pipe.kernel @groups "pixels" {
^bb0(%x: !pipe.tensor<i32[k=9]>, %v: !pipe.tensor<u8[k=9]>):
  %s, %f, %c = pipe.group %x along "k" limit 4 : <i32[k=9]> -> <i64[k=9]>, <i64[m=4]>, <i64[]>
  %r = pipe.reduce_by max %v along "k" by %s : !pipe.tensor<u8[k=9]>, !pipe.tensor<i64[k=9]> -> !pipe.tensor<u8[m=4]>
  pipe.return %r, %c : !pipe.tensor<u8[m=4]>, !pipe.tensor<i64[]>
}

// A pass for each factor of 6, over all lines at once; one table of turns for all of them.
// CHECK: pst_transforms(
// CHECK: const i64 j = at % 6;
// CHECK: __syncthreads();
// CHECK: const i64 j = at / 1 % 3;
// CHECK: __syncthreads();
// CHECK: const i64 j = at / 2 % 1;
// CHECK: pst_table0[
// CHECK: __syncthreads();
// CHECK: const i64 freq = at % 7;
// CHECK-NOT: __syncthreads();
pipe.kernel @transforms "pixels" {
^bb0(%x: !pipe.tensor<f32[c=2, t=12]>):
  %r = pipe.fft %x along "t" : !pipe.tensor<f32[c=2, t=12]> -> !pipe.tensor<f32[c=2, freq=7, part=2]>
  pipe.return %r : !pipe.tensor<f32[c=2, freq=7, part=2]>
}

// Each place belongs to one thread, which goes through all elements in their order: the sum is that of
// the reference. The base is there before.
// CHECK: pst_scatters(
// CHECK: __syncthreads();
// CHECK: for (i64 run = pst_thread(); run < 256; run += pst_threads()) {
// CHECK: for (i64 {{[a-z0-9]+}} = 0; {{[a-z0-9]+}} < 9;
// CHECK: == run
// CHECK: out0[
pipe.kernel @scatters "pixels" {
^bb0(%b: !pipe.tensor<f32[m=4, xyz=3]>, %x: !pipe.tensor<f32[k=9, xyz=3]>, %g: !pipe.tensor<i64[k=9]>):
  %r = pipe.scatter sum %b by %x along "k" over ["m"] at (%g) : !pipe.tensor<f32[m=4, xyz=3]>, !pipe.tensor<f32[k=9, xyz=3]>, !pipe.tensor<i64[k=9]> -> !pipe.tensor<f32[m=4, xyz=3]>
  pipe.return %r : !pipe.tensor<f32[m=4, xyz=3]>
}
