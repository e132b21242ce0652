// SPDX-License-Identifier: Apache-2.0
//
// Messages that are about no place in a file.
#pragma once

#include "api/c/Program.h"

namespace penstock::api {

/// One error, as text and as JSON.
Messages messageWithoutPlace(const std::string &message);

} // namespace penstock::api

struct pst_text {
  std::string data;
  penstock::api::Messages messages;
};
