// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 | FileCheck %s
// REQUIRES: penstock-opt

// Three rows for every column, then three columns of those.
// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0, d1, d2) -> (d0 * 2 + d1, d2 + 1)>
// CHECK-DAG: #[[COLUMNS:.*]] = affine_map<(d0, d1, d2) -> (d0, d1 * 2 + d2)>
// CHECK-DAG: #[[PIXELROWS:.*]] = affine_map<(d0, d1, d2, d3) -> (d0 * 2 + d1, d2 + 1, d3)>
// CHECK-DAG: #[[BESIDE:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1 + d3, d2)>
// CHECK-DAG: #[[APART:.*]] = affine_map<(d0, d1, d2) -> (d0, d1 * 2, d2)>
// CHECK-LABEL: pipe.kernel @rows_before_columns
pipe.kernel @rows_before_columns "pixels" {
^bb0(%x: !pipe.tensor<f32[h=21, w=22]>):
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: %[[V:.*]] = pipe.view %{{.*}} by #[[ROWS]][] : <f32[h=21, w=22]> -> <f32[h=10, i=3, w=21]>
  // CHECK-NEXT: %[[R:.*]] = pipe.reduce max %[[V]] over ["i"] {{.*}}schedule = "ring"{{.*}} -> <f32[h=10, w=21]>
  // CHECK-NEXT: %[[W:.*]] = pipe.view %[[R]] by #[[COLUMNS]][] : <f32[h=10, w=21]> -> <f32[h=10, w=10, j=3]>
  // CHECK-NEXT: pipe.reduce max %[[W]] over ["j"] {{.*}} -> <f32[h=10, w=10]>
  %0 = pipe.view %x by affine_map<(d0, d1, d2, d3) -> (d0 * 2 + d1, d2 * 2 + d3 + 1)> []
      : !pipe.tensor<f32[h=21, w=22]> -> !pipe.tensor<f32[h=10, i=3, w=10, j=3]>
  %1 = pipe.reduce max %0 over ["i", "j"] : !pipe.tensor<f32[h=10, i=3, w=10, j=3]> -> !pipe.tensor<f32[h=10, w=10]>
  pipe.return %1 : !pipe.tensor<f32[h=10, w=10]>
}

// The order of a sum of floats is part of its meaning.
// CHECK-LABEL: pipe.kernel @sums_of_floats_stay
pipe.kernel @sums_of_floats_stay "pixels" {
^bb0(%x: !pipe.tensor<f32[h=30, w=30]>):
  // CHECK: pipe.reduce sum {{.*}} over ["i", "j"]
  %0 = pipe.view %x by affine_map<(d0, d1, d2, d3) -> (d0 * 3 + d1, d2 * 3 + d3)> []
      : !pipe.tensor<f32[h=30, w=30]> -> !pipe.tensor<f32[h=10, i=3, w=10, j=3]>
  %1 = pipe.reduce sum %0 over ["i", "j"] : !pipe.tensor<f32[h=10, i=3, w=10, j=3]> -> !pipe.tensor<f32[h=10, w=10]>
  pipe.return %1 : !pipe.tensor<f32[h=10, w=10]>
}

// Tiles of a power of two are added up where they lie.
// CHECK-LABEL: pipe.kernel @tiles_stay
pipe.kernel @tiles_stay "pixels" {
^bb0(%x: !pipe.tensor<i32[h=40, w=40]>):
  // CHECK: pipe.reduce sum {{.*}} over ["i", "j"]
  %0 = pipe.view %x by affine_map<(d0, d1, d2, d3) -> (d0 * 4 + d1, d2 * 4 + d3)> []
      : !pipe.tensor<i32[h=40, w=40]> -> !pipe.tensor<i32[h=10, i=4, w=10, j=4]>
  %1 = pipe.reduce sum %0 over ["i", "j"] : !pipe.tensor<i32[h=10, i=4, w=10, j=4]> -> !pipe.tensor<i32[h=10, w=10]>
  pipe.return %1 : !pipe.tensor<i32[h=10, w=10]>
}

// At every column of pixels; each piece takes one.
// CHECK-LABEL: pipe.kernel @rows_of_pixels
pipe.kernel @rows_of_pixels "pixels" {
^bb0(%x: !pipe.tensor<u8[h=21, w=22, c=3]>):
  // CHECK: %[[V:.*]] = pipe.view %{{.*}} by #[[PIXELROWS]][] : {{.*}} -> <u8[h=10, i=3, w=21, c=3]>
  // CHECK: %[[R:.*]] = pipe.reduce max %[[V]] over ["i"] {{.*}}schedule = "ring"{{.*}} -> <u8[h=10, w=21, c=3]>
  // CHECK: %[[W:.*]] = pipe.view %[[R]] by #[[BESIDE]][] : {{.*}} -> <u8[h=10, w=19, c=3, j=3]>
  // CHECK: %[[S:.*]] = pipe.reduce max %[[W]] over ["j"] {{.*}}schedule = "ring"{{.*}} -> <u8[h=10, w=19, c=3]>
  // CHECK: pipe.view %[[S]] by #[[APART]][] {{.*}}: {{.*}} -> <u8[h=10, w=10, c=3]>
  %0 = pipe.view %x by affine_map<(d0, d1, d2, d3, d4) -> (d0 * 2 + d1, d2 * 2 + d3 + 1, d4)> []
      : !pipe.tensor<u8[h=21, w=22, c=3]> -> !pipe.tensor<u8[h=10, i=3, w=10, j=3, c=3]>
  %1 = pipe.reduce max %0 over ["i", "j"] : !pipe.tensor<u8[h=10, i=3, w=10, j=3, c=3]> -> !pipe.tensor<u8[h=10, w=10, c=3]>
  pipe.return %1 : !pipe.tensor<u8[h=10, w=10, c=3]>
}

// Lanes go through many channels.
// CHECK-LABEL: pipe.kernel @many_channels_stay
pipe.kernel @many_channels_stay "pixels" {
^bb0(%x: !pipe.tensor<i32[h=30, w=30, c=5]>):
  // CHECK: pipe.reduce sum {{.*}} over ["i", "j"]
  %0 = pipe.view %x by affine_map<(d0, d1, d2, d3, d4) -> (d0 * 3 + d1, d2 * 3 + d3, d4)> []
      : !pipe.tensor<i32[h=30, w=30, c=5]> -> !pipe.tensor<i32[h=10, i=3, w=10, j=3, c=5]>
  %1 = pipe.reduce sum %0 over ["i", "j"] : !pipe.tensor<i32[h=10, i=3, w=10, j=3, c=5]> -> !pipe.tensor<i32[h=10, w=10, c=5]>
  pipe.return %1 : !pipe.tensor<i32[h=10, w=10, c=5]>
}

// Turned channels are no run with their pixels.
// CHECK-LABEL: pipe.kernel @turned_channels_stay
pipe.kernel @turned_channels_stay "pixels" {
^bb0(%x: !pipe.tensor<i32[h=30, w=30, c=3]>):
  // CHECK: pipe.reduce sum {{.*}} over ["i", "j"]
  %0 = pipe.view %x by affine_map<(d0, d1, d2, d3, d4) -> (d0 * 3 + d1, d2 * 3 + d3, -d4 + 2)> []
      : !pipe.tensor<i32[h=30, w=30, c=3]> -> !pipe.tensor<i32[h=10, i=3, w=10, j=3, c=3]>
  %1 = pipe.reduce sum %0 over ["i", "j"] : !pipe.tensor<i32[h=10, i=3, w=10, j=3, c=3]> -> !pipe.tensor<i32[h=10, w=10, c=3]>
  pipe.return %1 : !pipe.tensor<i32[h=10, w=10, c=3]>
}
