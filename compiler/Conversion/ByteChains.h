//===- ByteChains.h - cheaper forms that 256 trials prove ------------------===//
#ifndef PENSTOCK_COMPILER_CONVERSION_BYTECHAINS_H
#define PENSTOCK_COMPILER_CONVERSION_BYTECHAINS_H

#include "compiler/Conversion/Lanes.h"

namespace penstock::conversion {

/// The result of `body` where that is a chain of f32 operations on one u8
/// argument, all others being constants: in a form without divisions that gives
/// the same bits for all 256 inputs. Nothing where `body` is no such chain, or
/// no cheaper form is equal.
///
/// Two forms are tried: one fused multiply-add for the whole chain, and for each
/// division by a constant a product with its reciprocal in two parts.
std::optional<LaneValue> emitByteChain(Lanes &lanes, mlir::Block &body,
                                       llvm::ArrayRef<LaneValue> arguments);

} // namespace penstock::conversion

#endif
