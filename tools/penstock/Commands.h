// SPDX-License-Identifier: Apache-2.0
//
// The commands. Each adds itself to the command line.
#pragma once

#include "tools/penstock/CommandLine.h"
#include <memory>

namespace penstock::cli {

void addAccelerate(CommandLine &line);
void addCheck(CommandLine &line);
void addCompile(CommandLine &line);
void addExplain(CommandLine &line);
void addIndex(CommandLine &line);
void addPack(CommandLine &line);
void addFmt(CommandLine &line);
void addOps(CommandLine &line);
void addRun(CommandLine &line);
void addRunBundle(CommandLine &line); ///< penstock-run
void addSample(CommandLine &line);
void addView(CommandLine &line);
void addBench(CommandLine &line);

} // namespace penstock::cli
