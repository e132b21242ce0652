// SPDX-License-Identifier: Apache-2.0
//
// Options of a session.
#pragma once

#include "runtime/abi/plan_generated.h"
#include "runtime/core/Clock.h"
#include "runtime/core/FileSystem.h"
#include "runtime/core/KernelTable.h"
#include "runtime/core/Plan.h"
#include "runtime/device/Device.h"
#include "runtime/sources/ExternalSource.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace penstock::runtime {

struct ParamValue {
  std::string name;
  /// An integer also serves for a parameter of type f64.
  std::variant<int64_t, double, bool, std::string> value;
};

/// A column of a table that the caller holds in memory.
struct MemoryColumn {
  std::string name; ///< of the column in the plan's source
  plan::DType type = plan::DType::none;
  std::vector<int64_t> extents; ///< rows first; C order
  const void *data = nullptr;
  std::shared_ptr<const void> owner; ///< keeps `data` alive; may be empty
};

/// The code of a pipeline whose values cross to a GPU at another level. It makes the same samples.
struct TransferLevel {
  std::string name; ///< as "resampled"
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const KernelTable> kernels;
  std::vector<DeviceImage> deviceCode;
};

/// Treatment of the positions that fill no whole batch at the end of an epoch.
enum class LastBatch {
  Drop, ///< they are left out
  Keep, ///< they are a smaller batch, in which ranks may have one sample less than others
  /// As Keep, but the epoch's first rows come again, so that all ranks have the same number: as
  /// DistributedSampler does.
  Pad
};

struct SessionOptions {
  std::vector<ParamValue> params;
  std::vector<MemoryColumn> memory;
  /// One for each `external_source` of the plan, in its order.
  std::vector<ExternalTable> external;

  std::optional<int64_t> seed;   ///< in place of the pipeline's
  std::optional<LastBatch> last; ///< likewise
  uint32_t epoch = 0;            ///< the first epoch
  /// The place of this process among those that share an epoch.
  uint32_t rank = 0;
  uint32_t world = 1;

  /// Fraction of bad samples allowed per rank and epoch, in place of the
  /// pipeline's; negative: fail at the first.
  std::optional<double> substitute;

  /// Threads that compute. 0: the processors that the affinity mask and cgroups
  /// allow, divided by `ranksHere`, the number of ranks on this machine.
  int threads = 0;
  int ranksHere = 1;
  /// Threads that wait for files. 0: as many as `files` has use for (8, and 32 where some are
  /// remote).
  int fetchThreads = 0;
  /// Batches in the making or ready. The caller may hold as many again.
  int prefetch = 2;
  /// Takes memory for more batches, up to the budget, if the caller holds more.
  bool growHeld = false;
  /// Samples whose bytes are fetched before their batch is begun. 0: 64, or two for each of the
  /// threads that fetch.
  int64_t fetchAhead = 0;

  /// Host memory in bytes that the fixed part may take, and the most that one
  /// sample's own buffers may take beside it. 0: no limit; 1 GiB.
  uint64_t memoryBudget = 0;
  uint64_t sampleMemory = 0;
  /// Fetched bytes that wait to be decoded. Above it only the batch that is due
  /// next fetches more. 0: the budget, at most 1 GiB.
  uint64_t fetchMemory = 0;

  /// Rows come from Session::giveRows(), not from the pipeline's order.
  bool callerOrders = false;
  /// If set, next() asks it for rows, on the thread that calls: stores the rows of one batch of
  /// `epoch` in `rows`, at most `capacity`. Returns their number; 0 at the end of the epoch;
  /// rowsNotYet; any other negative number is an error of the next() behind the last batch that
  /// is known, and it is asked again by the one after that.
  std::function<int64_t(uint32_t epoch, int64_t *rows, int64_t capacity)> nextRows;
  static constexpr int64_t rowsNotYet = -1;
  /// Rows that were asked for and not delivered are asked for again after restore(),
  /// and not kept in the state.
  bool askAgain = false;
  /// There will be no next(): an epoch may be without a batch.
  bool samplesOnly = false;

  /// The GPU that runs the plan's kernels of devices, and their code, and whose memory has the
  /// outputs on a device; null where there is neither.
  std::shared_ptr<Device> device;
  std::vector<DeviceImage> deviceCode;
  /// The level of the plan that the session opens with, and those that Session::setTransfer() goes
  /// to beside it.
  std::string transfer;
  std::vector<TransferLevel> transfers;
  /// Outputs that the plan has on a device are delivered in the host's memory all the same.
  bool outputsOnHost = false;
  /// A CUDA stream on which outputs on the device are used, where nobody says another one
  /// (Batch::usedOn()).
  void *stream = nullptr;

  /// The folder for the indexes of sources; empty: none is kept.
  std::string cacheFolder;
  /// Must outlive the session. Null is allowed where no source reads files.
  FileSystem *files = nullptr;
  /// Must outlive the session. Null: the real one.
  const Clock *clock = nullptr;
};

} // namespace penstock::runtime
