// SPDX-License-Identifier: Apache-2.0
//
// Pipelines that several tests run.
#pragma once

#include "runtime/core/FakeFileSystem.h"
#include "test/unit/sched/Epochs.h"
#include "test/unit/sched/PlanDraft.h"

#include <gtest/gtest.h>

namespace penstock::test {

/// raw(value: i64), with the value in slot 8.
Pipeline valuePipeline();

/// raw(value: i64, pixels: u8[a=3]) over memory. Outputs value, and noise: the
/// pixels plus a draw that depends on seed, epoch and position.
Pipeline memoryPipeline(plan::Order order = plan::Order::shuffled);

/// Columns for memoryPipeline(): row r has value 100 + r.
struct MemoryTable {
  explicit MemoryTable(int64_t rows) {
    for (int64_t r = 0; r < rows; ++r) {
      values.push_back(100 + r);
      for (int64_t i = 0; i < 3; ++i)
        pixels.push_back(uint8_t(r * 7 + i));
    }
  }
  SessionOptions options() const {
    SessionOptions options;
    const int64_t rows = int64_t(values.size());
    options.memory = {{"value", DType::i64, {rows}, values.data(), nullptr},
                      {"pixels", DType::u8, {rows, 3}, pixels.data(), nullptr}};
    options.threads = 2;
    return options;
  }
  std::vector<int64_t> values;
  std::vector<uint8_t> pixels;
};

/// image_folder(root), decoded around its centre; outputs image: u8[n, a=3]
/// (the first decoded pixel) and label.
Pipeline folderPipeline();

/// A folder with `count` images in two classes; image i has the colour
/// (10 i, 255 - 10 i, 100).
void fillFolder(FakeFileSystem &files, int count);
SessionOptions folderOptions(FakeFileSystem &files);

} // namespace penstock::test
