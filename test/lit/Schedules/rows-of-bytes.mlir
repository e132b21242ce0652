// RUN: penstock-opt %s --pipe-schedule-cpu=level=2 | penstock-opt | FileCheck %s --check-prefixes=CHECK,SSE
// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 | penstock-opt | FileCheck %s --check-prefixes=CHECK,AVX2
// RUN: penstock-opt %s --pipe-schedule-cpu=level=4 | penstock-opt | FileCheck %s --check-prefixes=CHECK,AVX512
// REQUIRES: penstock-opt

// Rows of bytes that are reduced go two registers at a time, whatever their width; what is planned can be read again.
// CHECK-LABEL: pipe.kernel @rows
// CHECK: pipe.reduce max
// SSE-SAME: way = rows, lanes = 32
// AVX2-SAME: way = rows, lanes = 64
// AVX512-SAME: way = rows, lanes = 128
pipe.kernel @rows "pixels" {
^bb0(%x: !pipe.tensor<u8[h=300, w=400]>):
  %0 = pipe.reduce max %x over ["h"] : !pipe.tensor<u8[h=300, w=400]> -> !pipe.tensor<u8[w=400]>
  pipe.return %0 : !pipe.tensor<u8[w=400]>
}
