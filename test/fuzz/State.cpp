// SPDX-License-Identifier: Apache-2.0
//
// State lines, as a user may have edited them.
#include "runtime/sched/State.h"
#include "test/fuzz/Fuzz.h"

using penstock::fuzz::require;
using namespace penstock::runtime;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const auto state = SessionState::parse({reinterpret_cast<const char *>(data), size});
  if (!state) {
    require(!state.error().message.empty(), "a refusal has a reason");
    return 0;
  }
  require(state->position >= 0 && state->bad >= 0, "counts are not negative");
  const auto again = SessionState::parse(state->text());
  require(again.ok() && again->text() == state->text(), "a state reads back as it was written");
  return 0;
}
