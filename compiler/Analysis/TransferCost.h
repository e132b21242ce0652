// SPDX-License-Identifier: Apache-2.0
//
// The costs of a transfer level: docs/rationale/device.md, "What a level costs".
#pragma once

#include "compiler/Analysis/TypicalSample.h"
#include "llvm/ADT/MapVector.h"

namespace penstock::analysis {

/// The costs of a sample on average, where kernels have their places.
struct CutCosts {
  /// Values that cross to the GPU, with their bytes, in the order of the pipeline.
  llvm::MapVector<mlir::Value, double> crossing;
  double bytesBack = 0;                         ///< outputs that a GPU makes and the host delivers
  double decoded = 0;                           ///< elements of what is decoded: 3 for a pixel
  double inPlanes = 0;                          ///< of these, those of which a GPU makes pixels
  double hostOperations = 0, gpuOperations = 0; ///< in units of an f32 addition
  double gpuBytes = 0;                          ///< that its kernels read and write
  double hostKernels = 0;                       ///< that run for a sample
  int64_t launches = 0;                         ///< on the GPU, for a batch
  double batch = 1;                             ///< samples of one

  double bytes() const;
};

/// The mean of `samples` imagined samples of a module at stage `kernels` behind
/// pipe-place-kernels. A pure function of its arguments.
CutCosts costsOf(mlir::ModuleOp module, const TypicalData &data, int samples);

/// How many launches on a GPU a batch is; those of a group are one.
int64_t launchesOf(mlir::ModuleOp module);

/// A machine's work in a second. Rates of the host are those of one thread. The defaults were
/// set by two pipelines on an EPYC (Zen 3) and an H200 (docs/cuda.md, "Which level").
struct MachineRates {
  double threads = 16;
  double hostOperations = 4e10;
  double decoded = 5e8; ///< elements
  double busBytes = 5e10;
  double gpuOperations = 7e12;
  double gpuBytes = 3.4e12;
  double launch = 3e-6;  ///< seconds
  double gpuShare = 0.1; ///< of its time that the training step leaves to the loader
};

/// Seconds for a sample. All three overlap, so the longest says how fast samples come.
struct CutTimes {
  double host = 0, bus = 0, gpu = 0;
  double slowest() const { return std::max({host, bus, gpu}); }
};
CutTimes timesOf(const CutCosts &costs, const MachineRates &rates);

/// The number of the level to take: among those whose samples come at most 2 % slower than the
/// fastest's, the one that leaves most of the GPU's time; the first of equals.
size_t bestOf(llvm::ArrayRef<CutTimes> levels);

} // namespace penstock::analysis
