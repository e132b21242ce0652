// SPDX-License-Identifier: Apache-2.0
//
// The function that makes an output row.
#pragma once

#include "compiler/Conversion/KernelToLoops/Rows/RowStream.h"
#include "compiler/Conversion/KernelToLoops/Vector/Memory.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace penstock::conversion {

/// Emits it: rows of the ring along the one axis (RowFunction.cpp), then across them
/// (CombineRows.cpp).
class RowEmitter {
public:
  RowEmitter(const Lanes &lanes, const RowShape &shape, mlir::Value descriptor)
      : l(lanes), b(lanes.b), m(lanes), shape(shape), descriptor(descriptor) {}

  void emit(mlir::Value row);

private:
  mlir::Value field(RowField number) {
    mlir::Value place = m.address(descriptor, l.i64(8 * static_cast<int64_t>(number)));
    const bool isPointer = llvm::is_contained(
        {RowField::source, RowField::offsets, RowField::tables, RowField::ring, RowField::tags,
         RowField::rowStarts, RowField::rowWords, RowField::result},
        number);
    return m.loadPlain(isPointer ? mlir::Type(mlir::LLVM::LLVMPointerType::get(b.getContext()))
                                 : b.getI64Type(),
                       place);
  }
  void loop(mlir::Value high, int64_t step, llvm::function_ref<void(mlir::Value)> body) {
    auto op = b.create<mlir::scf::ForOp>(l.loc, l.i64(0), high, l.i64(step));
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(op.getBody());
    body(op.getInductionVar());
  }
  void either(mlir::Value condition, llvm::function_ref<void()> yes,
              llvm::function_ref<void()> no) {
    auto op = b.create<mlir::scf::IfOp>(l.loc, condition, true);
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(op.thenBlock());
    yes();
    b.setInsertionPointToStart(op.elseBlock());
    no();
  }
  /// `body` for every number of steps that is unrolled, and 0 for the rest.
  void bySteps(mlir::Value steps, llvm::function_ref<void(int64_t)> body, int64_t from = 1) {
    if (from > shape.mostUnrolled())
      return body(0);
    either(
        l.cmp(mlir::arith::CmpIPredicate::eq, steps, l.i64(from)), [&] { body(from); },
        [&] { bySteps(steps, body, from + 1); });
  }
  mlir::VectorType vectorOf(int64_t bytes, unsigned bits) {
    return mlir::VectorType::get({bytes * 8 / bits}, b.getIntegerType(bits));
  }

  void fillRing(mlir::Value first, mlir::Value end);
  void resampleRows(const RowForm &form, llvm::ArrayRef<mlir::Value> from,
                    llvm::ArrayRef<mlir::Value> to, int64_t fixed, bool shared = false);
  mlir::Value window(const RowForm &form, mlir::Value row, llvm::ArrayRef<mlir::Value> offsets,
                     mlir::Value extra);
  void storeBlock(const RowForm &form, llvm::ArrayRef<mlir::Value> vectors, mlir::Value to,
                  mlir::Value block);
  void storePart(mlir::Value bytes, mlir::Value place);
  mlir::Value channelOf(llvm::ArrayRef<mlir::Value> words, const RowForm &form, int64_t channel);
  void combineRows(mlir::Value row, mlir::Value first);
  llvm::SmallVector<mlir::Value> tapsOfRows(llvm::ArrayRef<mlir::Value> rows, mlir::Value at);
  void storeCombined(llvm::ArrayRef<mlir::Value> vectors, mlir::Value place);

  const Lanes &l;
  mlir::OpBuilder &b;
  Memory m;
  const RowShape &shape;
  mlir::Value descriptor;
};

} // namespace penstock::conversion
