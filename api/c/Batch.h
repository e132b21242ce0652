// SPDX-License-Identifier: Apache-2.0
//
// Implementation of pst_batch.
#pragma once

#include "api/c/Outputs.h"
#include "api/c/Process.h"
#include <memory>

namespace penstock::api {

/// A delivered batch, shared by its handle and the tensors that were made of it:
/// its memory goes back to the session with the last of them. In a forked child,
/// which has none of the session's threads, it never does.
class SharedBatch {
public:
  explicit SharedBatch(runtime::BatchPtr made) : batch(std::move(made)) {}
  ~SharedBatch() {
    if (!process.isThis())
      static_cast<void>(batch.release());
  }
  SharedBatch(const SharedBatch &) = delete;
  SharedBatch &operator=(const SharedBatch &) = delete;
  const runtime::Batch &operator*() const { return *batch; }
  const runtime::Batch *operator->() const { return batch.get(); }
  /// Orders the next use of its memory behind the work queued on a CUDA stream.
  void usedOn(void *stream) {
    if (process.isThis())
      batch->usedOn(stream);
  }

private:
  OwnProcess process;
  runtime::BatchPtr batch;
};

} // namespace penstock::api

struct pst_batch {
  explicit pst_batch(penstock::runtime::BatchPtr made)
      : batch(std::make_shared<penstock::api::SharedBatch>(std::move(made))),
        outputs((*batch)->outputs()) {}
  std::shared_ptr<penstock::api::SharedBatch> batch;
  penstock::api::Outputs outputs;
};
