// SPDX-License-Identifier: Apache-2.0
//
// Mistakes of users, and every word of the messages about them.
//
// test/dsl/mistakes/<class>/<name>.pipe is the mistake, <name>.txt the messages. Set
// PENSTOCK_UPDATE_GOLDEN=1 to write the texts anew, and read the difference.
#include "test/unit/dsl/Inputs.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace penstock::dsl::test {
namespace {

class Mistake : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Mistake, IsExplained) {
  std::filesystem::path golden = std::filesystem::path(GetParam()).replace_extension(".txt");
  std::string messages = Checked(readFile(GetParam()), GetParam().filename().string()).messages();
  EXPECT_NE(messages, "");
  if (std::getenv("PENSTOCK_UPDATE_GOLDEN"))
    std::ofstream(golden, std::ios::binary) << messages;
  EXPECT_EQ(messages, readFile(golden));
}

std::string nameOf(const testing::TestParamInfo<std::filesystem::path> &info) {
  std::string name = info.param.stem().string();
  for (char &c : name)
    if (c == '-')
      c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Mistake, testing::ValuesIn(pipeFiles("mistakes")), nameOf);

} // namespace
} // namespace penstock::dsl::test
