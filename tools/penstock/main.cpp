// SPDX-License-Identifier: Apache-2.0
//
// The penstock command.

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
  CommandLine line(
      "Penstock compiles the data side of a training job from a .pipe file and runs it.",
      "penstock", (std::string("penstock ") + pst_version()).c_str(),
      "penstock run examples/imagenet_train.pipe --set root=photos");
  addCheck(line);
  addRun(line);
  addCompile(line);
  addExplain(line);
  addSample(line);
  addView(line);
  addBench(line);
  addIndex(line);
  addPack(line);
  addFmt(line);
  addOps(line);
  addAccelerate(line);
  return finish(line.run(argc, argv));
}
