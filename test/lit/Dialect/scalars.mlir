// RUN: penstock-opt %s | penstock-opt | FileCheck %s
// REQUIRES: penstock-opt

// Scalars, written and read back.

// CHECK-LABEL: func.func @numbers
func.func @numbers(%a: i64, %x: f64, %table: !pipe.tensor<u8[i=256]>) {
  // CHECK: pipe.constant 255 : i64 -> i64
  %0 = pipe.constant 255 : i64 -> i64
  // CHECK: pipe.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32> -> !pipe.tensor<f32[c=2]>
  %1 = pipe.constant dense<[1.0, 2.0]> : tensor<2xf32> -> !pipe.tensor<f32[c=2]>
  // CHECK: pipe.unary sqrt %{{.*}} : f64
  %2 = pipe.unary sqrt %x : f64
  // CHECK: pipe.binary rem %{{.*}}, %{{.*}} : i64
  %3 = pipe.binary rem %a, %0 : i64
  // CHECK: pipe.compare lt %{{.*}}, %{{.*}} : i64
  %4 = pipe.compare lt %a, %3 : i64
  // CHECK: pipe.select %{{.*}}, %{{.*}}, %{{.*}} : f64
  %5 = pipe.select %4, %x, %2 : f64
  // CHECK: pipe.cast clamp %{{.*}} : i64 -> ui8
  %6 = pipe.cast clamp %a : i64 -> ui8
  // CHECK: pipe.cast value %{{.*}} : !pipe.tensor<f32[c=2]> -> !pipe.tensor<f16[c=2]>
  %7 = pipe.cast value %1 : !pipe.tensor<f32[c=2]> -> !pipe.tensor<f16[c=2]>
  // CHECK: pipe.load %{{.*}}[%{{.*}}] : <u8[i=256]> -> ui8
  %8 = pipe.load %table[%a] : !pipe.tensor<u8[i=256]> -> ui8
  return
}
