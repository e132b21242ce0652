// RUN: penstock-opt %s | penstock-opt | FileCheck %s
// REQUIRES: penstock-opt

// Reductions, scans, groups and transforms, written and read back.

// CHECK-LABEL: func.func @reduces
func.func @reduces(%x: !pipe.tensor<f32[t=9, k=5]>, %b: !pipe.tensor<u8[t=9]>, %m: !pipe.tensor<f32[k=5, mel=4]>, %f: f64) {
  // CHECK: pipe.reduce argmax %{{.*}} over ["t", "k"] : <f32[t=9, k=5]> -> <i64[]>
  %0 = pipe.reduce argmax %x over ["t", "k"] : !pipe.tensor<f32[t=9, k=5]> -> !pipe.tensor<i64[]>
  // CHECK: pipe.scan recurrence %{{.*}} along "t" factor(%{{.*}}) : <f32[t=9, k=5]> -> <f32[t=9, k=5]>
  %1 = pipe.scan recurrence %x along "t" factor(%f) : !pipe.tensor<f32[t=9, k=5]> -> !pipe.tensor<f32[t=9, k=5]>
  // CHECK: pipe.scan recurrence %{{.*}} along "t" factors(%{{.*}} : !pipe.tensor<f32[t=9, k=5]>) : <f32[t=9, k=5]> -> <f32[t=9, k=5]>
  %own = pipe.scan recurrence %x along "t" factors(%1 : !pipe.tensor<f32[t=9, k=5]>) : !pipe.tensor<f32[t=9, k=5]> -> !pipe.tensor<f32[t=9, k=5]>
  // CHECK: pipe.histogram %{{.*}} over ["t"] : <u8[t=9]> -> <i32[bin=256]>
  %2 = pipe.histogram %b over ["t"] : !pipe.tensor<u8[t=9]> -> !pipe.tensor<i32[bin=256]>
  // CHECK: pipe.contract %{{.*}} by %{{.*}} : <f32[t=9, k=5]>, <f32[k=5, mel=4]> -> <f32[t=9, mel=4]>
  %3 = pipe.contract %x by %m : !pipe.tensor<f32[t=9, k=5]>, !pipe.tensor<f32[k=5, mel=4]> -> !pipe.tensor<f32[t=9, mel=4]>
  // CHECK: pipe.fft %{{.*}} along "t" : <f32[t=9, k=5]> -> <f32[freq=5, k=5, part=2]>
  %4 = pipe.fft %x along "t" : !pipe.tensor<f32[t=9, k=5]> -> !pipe.tensor<f32[freq=5, k=5, part=2]>
  return
}

// CHECK-LABEL: func.func @orders
func.func @orders(%x: !pipe.tensor<f32[k=9, xyz=3]>, %key: !pipe.tensor<i32[k=9]>, %mask: !pipe.tensor<bool[k=9]>) {
  // CHECK: pipe.compact %{{.*}} along "k" where %{{.*}} : <f32[k=9, xyz=3]>, <bool[k=9]> -> <f32[k=9, xyz=3]>, <i64[]>
  %0, %1 = pipe.compact %x along "k" where %mask : !pipe.tensor<f32[k=9, xyz=3]>, !pipe.tensor<bool[k=9]> -> !pipe.tensor<f32[k=9, xyz=3]>, !pipe.tensor<i64[]>
  // CHECK: pipe.group %{{.*}} along "k" where %{{.*}} limit 4 : <i32[k=9]>, !pipe.tensor<bool[k=9]> -> <i64[k=9]>, <i64[m=4]>, <i64[]>
  %2, %3, %4 = pipe.group %key along "k" where %mask limit 4 : <i32[k=9]>, !pipe.tensor<bool[k=9]> -> <i64[k=9]>, <i64[m=4]>, <i64[]>
  // CHECK: pipe.reduce_by sum %{{.*}} along "k" by %{{.*}} : <f32[k=9, xyz=3]>, <i64[k=9]> -> <f32[m=4, xyz=3]>
  %5 = pipe.reduce_by sum %x along "k" by %2 : !pipe.tensor<f32[k=9, xyz=3]>, !pipe.tensor<i64[k=9]> -> !pipe.tensor<f32[m=4, xyz=3]>
  // CHECK: pipe.sort %{{.*}} along "k" : <f32[k=9, xyz=3]> -> <i64[k=9, xyz=3]>
  %6 = pipe.sort %x along "k" : !pipe.tensor<f32[k=9, xyz=3]> -> !pipe.tensor<i64[k=9, xyz=3]>
  // CHECK: pipe.rank_by %{{.*}} along "k" : <i64[k=9]> -> <i64[k=9]>
  %7 = pipe.rank_by %2 along "k" : !pipe.tensor<i64[k=9]> -> !pipe.tensor<i64[k=9]>
  // CHECK: pipe.scatter sum %{{.*}} by %{{.*}} along "k" over ["m"] at(%{{.*}}) : <f32[m=4, xyz=3]>, <f32[k=9, xyz=3]>, !pipe.tensor<i64[k=9]> -> <f32[m=4, xyz=3]>
  %8 = pipe.scatter sum %5 by %x along "k" over ["m"] at (%2) : !pipe.tensor<f32[m=4, xyz=3]>, !pipe.tensor<f32[k=9, xyz=3]>, !pipe.tensor<i64[k=9]> -> !pipe.tensor<f32[m=4, xyz=3]>
  // CHECK: pipe.constant
  %9 = pipe.constant dense<1.0> : tensor<3xf64> -> !pipe.tensor<f64[j=3]>
  // CHECK: pipe.filter %{{.*}} along "k" by %{{.*}} over %{{.*}} : <f32[k=9, xyz=3]>, <f64[j=3]>, <f64[j=3]>
  %10 = pipe.filter %x along "k" by %9 over %9 : !pipe.tensor<f32[k=9, xyz=3]>, !pipe.tensor<f64[j=3]>, !pipe.tensor<f64[j=3]> -> !pipe.tensor<f32[k=9, xyz=3]>
  return
}
