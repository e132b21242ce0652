// SPDX-License-Identifier: Apache-2.0
//
// Messages that are about no place in a file.
#pragma once

#include "api/c/Program.h"
#include "runtime/core/Status.h"

namespace penstock::api {

/// One error, as text and as JSON.
Messages messageWithoutPlace(const std::string &message);

} // namespace penstock::api

struct pst_text {
  std::string data;
  penstock::api::Messages messages;
};

namespace penstock::api {

/// Stores the message; returns the status of the error.
pst_status failWith(pst_text &text, const runtime::Error &why);

} // namespace penstock::api
