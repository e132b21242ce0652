// SPDX-License-Identifier: Apache-2.0
//
// Features of the levels of each architecture.
#pragma once

#include "compiler/Lane/Features.h"

namespace penstock::lane {

Features featuresOfX86(int64_t level);
Features featuresOfArm64();

} // namespace penstock::lane
