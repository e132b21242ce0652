// RUN: penstock-opt %s --pipe-unroll-each | FileCheck %s

// CHECK-LABEL: func.func @stacks_copies
func.func @stacks_copies(%x: !pipe.tensor<i64[w=4]>) -> !pipe.tensor<i64[v=2, w=4]> {
  // CHECK: %[[KEY:.*]] = pipe.key sample
  // CHECK: %[[V0:.*]] = pipe.constant 0 : i64
  // CHECK: %[[K0:.*]] = pipe.key_view %[[KEY]], %[[V0]]
  // CHECK: pipe.draw bits %[[K0]]
  // CHECK: %[[FIRST:.*]] = pipe.map
  // CHECK: %[[V1:.*]] = pipe.constant 1 : i64
  // CHECK: %[[K1:.*]] = pipe.key_view %[[KEY]], %[[V1]]
  // CHECK: pipe.draw bits %[[K1]]
  // CHECK: %[[SECOND:.*]] = pipe.map
  // CHECK: pipe.stack "v"(%[[FIRST]], %[[SECOND]])
  // CHECK-NOT: pipe.each
  %key = pipe.key sample
  %0 = pipe.each "v" 2 -> !pipe.tensor<i64[v=2, w=4]> {
  ^bb0(%v: i64):
    %k = pipe.key_view %key, %v
    %d = pipe.draw bits %k () id 1 path "p/d" : i64
    %y = pipe.map (%x) : (!pipe.tensor<i64[w=4]>) -> !pipe.tensor<i64[w=4]> {
    ^bb0(%p: i64, %w: i64):
      %q = pipe.binary add %p, %d : i64
      pipe.yield %q : i64
    }
    pipe.yield %y : !pipe.tensor<i64[w=4]>
  }
  return %0 : !pipe.tensor<i64[v=2, w=4]>
}

// CHECK-LABEL: func.func @unrolls_nested_ones
func.func @unrolls_nested_ones(%x: !pipe.tensor<i64[w=4]>) -> !pipe.tensor<i64[a=2, b=3, w=4]> {
  // CHECK-COUNT-2: pipe.stack "b"
  // CHECK: pipe.stack "a"
  // CHECK-NOT: pipe.each
  %0 = pipe.each "a" 2 -> !pipe.tensor<i64[a=2, b=3, w=4]> {
  ^bb0(%a: i64):
    %1 = pipe.each "b" 3 -> !pipe.tensor<i64[b=3, w=4]> {
    ^bb0(%b: i64):
      pipe.yield %x : !pipe.tensor<i64[w=4]>
    }
    pipe.yield %1 : !pipe.tensor<i64[b=3, w=4]>
  }
  return %0 : !pipe.tensor<i64[a=2, b=3, w=4]>
}
