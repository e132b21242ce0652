// SPDX-License-Identifier: Apache-2.0
//
// Remarks on kernels, for `explain`.
#pragma once

#include "compiler/Analysis/FusionPlan.h"
#include <optional>
#include <string>
#include <vector>

namespace penstock::transforms {

/// Returns a type in the words of remarks: `u8[h=224, w=224, c=3:rgb]`.
std::string typeText(mlir::Value tensor);
/// Returns a size in the words of remarks: `3 x h x w bytes`.
std::string bytesOf(mlir::Value tensor);

/// For each kernel of a plan: what it holds, each tensor that goes in (with its
/// type and bytes, from where, whether its rows can arrive in bands or it must
/// be whole, and why it is not made inside) and each that comes out.
///
/// Looks at the ops before they move into kernels; remarks can be attached when
/// all kernels have their names.
class FuseRemarks {
public:
  FuseRemarks(const std::vector<analysis::FusionGroup> &groups, bool everyOp);

  /// Takes the kernel and the launch that `group` has become.
  void outlined(size_t group, pipe::KernelOp kernel, pipe::LaunchOp launch);
  /// Attaches the remarks to kernels and launches, and the sums to
  /// `pipeline`.
  void attach(pipe::PipelineOp pipeline) const;

private:
  /// A tensor that goes in: what it is, where from, how it is read, and why it
  /// is not made inside.
  struct Edge {
    std::string type, bytes;
    mlir::SmallVector<size_t> producers; ///< groups
    std::string source;                  ///< of a tensor that no kernel makes
    std::string how, apart;
    std::optional<size_t> waitsFor; ///< a group that runs in between
  };
  struct Group {
    std::string ops;
    std::vector<Edge> reads;
    std::vector<std::string> writes;
    pipe::KernelOp kernel; ///< null: nothing reads its results
    pipe::LaunchOp launch;
  };

  Edge edgeOf(mlir::Value tensor, const analysis::FusionGroup &group);
  std::string apart(mlir::Operation *producer, mlir::Value tensor,
                    const analysis::FusionGroup &group) const;
  std::string nameOf(size_t group) const;
  void attach(const Group &found) const;

  bool everyOp;
  const std::vector<analysis::FusionGroup> &plan;
  llvm::DenseMap<mlir::Operation *, size_t> groupOf;
  std::vector<Group> groups;
  std::string bytesRead, bytesWritten, temporaries;
};

} // namespace penstock::transforms
