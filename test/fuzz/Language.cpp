// SPDX-License-Identifier: Apache-2.0
//
// Any text through parser and name check: a correct file, or messages that say
// something, each at a place.
#include "dsl/Diagnostics/Render.h"
#include "test/fuzz/Fuzz.h"
#include "test/unit/dsl/Inputs.h"

using penstock::fuzz::require;
using namespace penstock::dsl;

/// Words of the parser generator, which no user should meet.
static constexpr const char *foreignWords[] = {
    "mismatched input", "extraneous input", "no viable alternative", "token recognition", "<EOF>"};

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string text(reinterpret_cast<const char *>(data), size);
  test::Checked checked(text);
  const std::string messages = checked.messages();
  require(checked.diagnostics.empty() == messages.empty(), "a message has a text", messages);
  for (const Diagnostic &diagnostic : checked.diagnostics.sorted()) {
    require(!diagnostic.message.empty(), "a message says something", messages);
    require(diagnostic.range.valid(), "a message has a place", messages);
    for (const char *word : foreignWords)
      require(diagnostic.message.find(word) == std::string::npos ||
                  text.find(word) != std::string::npos,
              "a message speaks the user's words", messages);
  }
  renderJson(checked.diagnostics, checked.sources);
  return 0;
}
