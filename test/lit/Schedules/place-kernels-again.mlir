// RUN: penstock-opt %s --pipe-place-kernels | FileCheck %s
// REQUIRES: penstock-opt

// A kernel of the host stays there; one that has been put on a GPU before stays where it is, too.
// CHECK: pipe.kernel @before "pixels" attributes {{.*}}it comes before what crosses to the GPU{{.*}}place = "cpu"
// CHECK: pipe.kernel @behind "pixels" attributes {place = "gpu"}
pipe.kernel @before "pixels" attributes {place = "cpu"} {
^bb0(%x: !pipe.tensor<u8[w=8]>):
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=8]>) -> !pipe.tensor<u8[w=8]> {
  ^bb0(%p: ui8, %i: i64):
    %q = pipe.unary bit_not %p : ui8
    pipe.yield %q : ui8
  }
  pipe.return %0 : !pipe.tensor<u8[w=8]>
}
pipe.kernel @behind "pixels" attributes {place = "gpu"} {
^bb0(%x: !pipe.tensor<u8[w=8]>):
  %0 = pipe.map (%x) : (!pipe.tensor<u8[w=8]>) -> !pipe.tensor<u8[w=8]> {
  ^bb0(%p: ui8, %i: i64):
    %q = pipe.unary neg %p : ui8
    pipe.yield %q : ui8
  }
  pipe.return %0 : !pipe.tensor<u8[w=8]>
}
