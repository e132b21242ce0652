// RUN: penstock-opt %s --pipe-remove-repeats | FileCheck %s
// RUN: awk 'BEGIN { print "func.func @long(%%i: i64) -> (i64, i64) {"; print "%%a = arith.muli %%i, %%i : i64"; for (i = 0; i < 9000; i++) print "%%b" i " = arith.constant " i " : i64"; print "%%c = arith.muli %%i, %%i : i64 return %%a, %%c : i64, i64 }" }' | penstock-opt --pipe-remove-repeats | FileCheck %s --check-prefix=LONG

// What a block has said is not said again, but in blocks that are too long to look through.

// CHECK-LABEL: func.func @repeats(
// CHECK-NEXT: %[[A:.*]] = arith.muli
// CHECK-NEXT: %[[X:.*]] = llvm.load
// CHECK-NEXT: llvm.store
// CHECK-NEXT: %[[Y:.*]] = llvm.load
// CHECK-NEXT: return %[[A]], %[[A]], %[[X]], %[[X]], %[[Y]]
func.func @repeats(%i: i64, %p: !llvm.ptr, %q: !llvm.ptr) -> (i64, i64, i64, i64, i64) {
  %a = arith.muli %i, %i : i64
  %b = arith.muli %i, %i : i64
  %x = llvm.load %p : !llvm.ptr -> i64
  %again = llvm.load %p : !llvm.ptr -> i64
  llvm.store %a, %q : i64, !llvm.ptr
  %y = llvm.load %p : !llvm.ptr -> i64
  return %a, %b, %x, %again, %y : i64, i64, i64, i64, i64
}

// LONG-LABEL: func.func @long(
// LONG: arith.muli
// LONG: arith.muli
