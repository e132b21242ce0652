// SPDX-License-Identifier: Apache-2.0
//
// Launch records of samples.

#include "runtime/core/LaunchRecord.h"

#include <gtest/gtest.h>

using namespace penstock;
using namespace penstock::runtime;

TEST(LaunchRecord, HoldsWhatItsFieldsNameInTheirOrder) {
  using plan::RecordValue;
  const plan::RecordField fields[] = {
      {RecordValue::scalar, 0, 0, 1}, {RecordValue::entry, 0, 0, 0},
      {RecordValue::stride, 1, 4, 1}, {RecordValue::data, 0, 4, 1},
      {RecordValue::extent, 2, 2, 0}, {RecordValue::scratch, 0, 0, 0},
      {RecordValue::stride, 0, 2, 0}, {RecordValue::data, 0, 2, 0}};
  uint16_t in[8];
  float out[8];
  char scratch;
  const pst_tensor tensors[] = {{in, {3, 4, 5}, {40, 10, 2}}, {out, {6, 7}, {-28, 8}}};
  const int64_t scalars[] = {11, -12};
  int64_t record[std::size(fields) + 1] = {};
  record[std::size(fields)] = 99;
  packRecord(fields, 5, tensors, scalars, &scratch, record);
  const auto address = [](const void *at) { return int64_t(reinterpret_cast<uintptr_t>(at)); };
  const int64_t expected[] = {-12, 5, 2, address(out), 5, address(&scratch), 20, address(in), 99};
  for (size_t i = 0; i < std::size(expected); ++i)
    EXPECT_EQ(record[i], expected[i]) << i;
}
