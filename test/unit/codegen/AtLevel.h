// SPDX-License-Identifier: Apache-2.0
//
// A test that runs once per feature level of the CPU, as far as this machine goes.
#pragma once

#include "test/unit/codegen/JitModule.h"

#include <gtest/gtest.h>

namespace penstock::test {

/// The parameter is the number of a codegen::CpuLevel.
class AtLevel : public testing::TestWithParam<int> {
protected:
  void SetUp() override {
    if (GetParam() > static_cast<int>(codegen::Target::host().level))
      GTEST_SKIP() << "this machine lacks level " << GetParam();
  }
  std::unique_ptr<JitModule> compile(const std::string &text) {
    auto code = std::make_unique<JitModule>(
        text, codegen::Target{static_cast<codegen::CpuLevel>(GetParam())});
    EXPECT_TRUE(code->ok()) << code->errors();
    return code;
  }
};

} // namespace penstock::test
