// The commands. Each adds itself to the program and, when it was chosen, runs
// and leaves the exit code.
#pragma once

namespace CLI {
class App;
}

namespace penstock::cli {

void addCheck(CLI::App &app, int &exitCode);
void addCompile(CLI::App &app, int &exitCode);
void addExplain(CLI::App &app, int &exitCode);
void addIndex(CLI::App &app, int &exitCode);
void addPack(CLI::App &app, int &exitCode);
void addFmt(CLI::App &app, int &exitCode);
void addOps(CLI::App &app, int &exitCode);
void addRun(CLI::App &app, int &exitCode);
void addSample(CLI::App &app, int &exitCode);
void addView(CLI::App &app, int &exitCode);
void addBench(CLI::App &app, int &exitCode);

} // namespace penstock::cli
