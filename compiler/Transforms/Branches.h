// SPDX-License-Identifier: Apache-2.0
//
// A pipeline without branches, for the fusion.
#pragma once

#include "compiler/Analysis/OncePerBatch.h"
#include "compiler/Dialect/PipeDialect.h"
#include "llvm/ADT/DenseMap.h"

namespace penstock::transforms {

using Guards = llvm::DenseMap<mlir::Operation *, mlir::Value>;

/// Unrolls `repeat`: one choose per iteration, between its body and the values
/// so far. Draws of iteration i are named with `[i]`.
void unrollRepeat(pipe::RepeatOp repeat, Guards &guards);

/// Takes every choose and repeat of `pipeline` that is not pointwise apart: the
/// ops of the arms stand in the pipeline's own block, each with the condition
/// of its arm in the returned map, and a `pipe.switch` names the result. A
/// repeat is unrolled `bound` times.
///
/// Fails with an error where an arm yields a row or bytes.
mlir::FailureOr<Guards> flattenBranches(pipe::PipelineOp pipeline);

/// Moves all that no peer decides out of the batch, and makes tensors of what
/// depends on scalars of peers: a sample's setup cannot read another's. Fails
/// where an extent or an offset would have to.
mlir::LogicalResult hoistFromBatch(pipe::PipelineOp pipeline, Guards &guards);

/// Gives every output a value of its own that a kernel writes for each sample.
void separateOutputs(pipe::PipelineOp pipeline, const analysis::OncePerBatch &once);

/// Gives every `pipe.peers`, and every peer of a peer, a value of its own that a kernel writes for
/// each sample. If the value is the same for all samples, a peer is that value, and `pipe.peers` a
/// view of it.
void separatePeers(pipe::PipelineOp pipeline, const analysis::OncePerBatch &once);

} // namespace penstock::transforms
