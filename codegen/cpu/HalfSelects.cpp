// SPDX-License-Identifier: Apache-2.0
//
// Choices between f16 numbers.
#include "codegen/cpu/HalfSelects.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"

void penstock::codegen::selectHalvesByBits(llvm::Module &module) {
  std::vector<llvm::SelectInst *> found;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *select = llvm::dyn_cast<llvm::SelectInst>(&instruction);
          select && select->getType()->isHalfTy())
        found.push_back(select);
  for (llvm::SelectInst *select : found) {
    llvm::IRBuilder<> b(select);
    auto bits = [&](llvm::Value *half) { return b.CreateBitCast(half, b.getInt16Ty()); };
    llvm::Value *chosen = b.CreateSelect(select->getCondition(), bits(select->getTrueValue()),
                                         bits(select->getFalseValue()));
    select->replaceAllUsesWith(b.CreateBitCast(chosen, select->getType()));
    select->eraseFromParent();
  }
}
