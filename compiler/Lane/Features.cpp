// SPDX-License-Identifier: Apache-2.0
//
// Levels of all architectures.
#include "compiler/Lane/Architectures.h"
#include "runtime/abi/level.h"

using namespace penstock;
using namespace penstock::lane;

Features lane::featuresOf(int64_t number) {
  switch (level::architectureOf(number)) {
  case level::Architecture::x86:
    return featuresOfX86(number);
  case level::Architecture::arm64:
    return featuresOfArm64();
  }
}
