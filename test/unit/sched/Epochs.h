// SPDX-License-Identifier: Apache-2.0
//
// Samples that a session delivers, as text.
#pragma once

#include "runtime/sched/Session.h"

#include <string>
#include <vector>

namespace penstock::test {

using namespace penstock::runtime;

/// Results of next(), one line per sample.
struct Epoch {
  std::vector<std::string> samples; // "position row hash"
  std::string error;
};

inline std::string line(const Batch &batch, int64_t slot) {
  return std::to_string(batch.epoch()) + "/" + std::to_string(batch.positions()[size_t(slot)]) +
         " row " + std::to_string(batch.rows()[size_t(slot)]) + " " +
         std::to_string(batch.contentHash(slot));
}

/// Up to the end of the epoch, or `batches`.
inline Epoch readEpoch(Session &session, int64_t batches = INT64_MAX) {
  Epoch epoch;
  for (int64_t i = 0; i < batches; ++i) {
    auto batch = session.next();
    if (!batch) {
      epoch.error = batch.error().message;
      break;
    }
    if (!*batch)
      break;
    for (int64_t slot = 0; slot < (*batch)->count(); ++slot)
      epoch.samples.push_back(line(**batch, slot));
  }
  return epoch;
}

} // namespace penstock::test
