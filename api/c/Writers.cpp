// SPDX-License-Identifier: Apache-2.0
//
// Texts that the compiler's library writes without compiling.
#include "api/c/Compilation.h"
#include "api/c/Operators.h"
#include "dsl/Diagnostics/Render.h"
#include "dsl/Format/Format.h"

using namespace penstock;
using namespace penstock::api;

Written *penstock_write_formatted(const CompileRequest &request) {
  dsl::SourceManager sources;
  dsl::Diagnostics diagnostics;
  const dsl::FileId file = sources.add(request.fileName, request.text);
  auto written = std::make_unique<Written>();
  written->text = dsl::formatFile(file, sources, diagnostics);
  written->messages = {dsl::renderText(diagnostics, sources),
                       dsl::renderJson(diagnostics, sources)};
  return written.release();
}

Written *penstock_write_operators() { return new Written{operatorsJson(), {}}; }
