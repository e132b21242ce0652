// SPDX-License-Identifier: Apache-2.0
//
// Which loops compute a tensor, as the schedule says.
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

LoopShape penstock::conversion::shapeFrom(LoopsAttr loops, NamedTensorType type) {
  LoopShape shape;
  shape.laneAxis = type.getRank() - 1;
  shape.arms = 1;
  shape.bounded = shape.strides = shape.rows = false;
  if (!loops)
    return shape;
  if (loops.getAlong())
    shape.laneAxis = type.axisIndex(loops.getAlong());
  if (loops.getUnroll())
    shape.unrollAxis = type.axisIndex(loops.getUnroll());
  if (loops.getAcross())
    shape.acrossAxis = type.axisIndex(loops.getAcross());
  shape.lanes = loops.getLanes();
  shape.arms = loops.getArms();
  shape.bounded = loops.hasVersion("bounded");
  shape.strides = loops.hasVersion("strides");
  shape.rows = loops.hasVersion("rows");
  shape.tail = loops.getTail();
  return shape;
}

LoopShape penstock::conversion::shapeOf(Value computed) {
  auto result = llvm::dyn_cast<OpResult>(computed);
  return shapeFrom(result ? loopsOf(result) : LoopsAttr(), typeOf(computed));
}

LoopShape penstock::conversion::shapeOf(const Site &site, OpOperand &stored) {
  return site.buffer(stored.get()) ? shapeFrom(copyLoopsOf(stored), typeOf(stored.get()))
                                   : shapeOf(stored.get());
}
