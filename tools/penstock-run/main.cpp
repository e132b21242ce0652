// SPDX-License-Identifier: Apache-2.0
//
// The penstock-run command: bundles, where nothing is compiled.

#include "api/c/penstock.h"
#include "tools/penstock/Commands.h"
#include "tools/penstock/Memory.h"
#include "tools/penstock/Streams.h"

#include <string>

using namespace penstock::cli;

int main(int argc, char **argv) {
  holdStandardStreams();
  sayWhenMemoryEnds();
  shareArenas();
  CommandLine line("Runs a pipeline that `penstock compile -o` has compiled. It needs no compiler.",
                   "penstock-run", (std::string("penstock-run ") + pst_version()).c_str(),
                   "penstock-run train.pstk --set root=photos");
  addRunBundle(line);
  return finish(line.run(argc, argv));
}
