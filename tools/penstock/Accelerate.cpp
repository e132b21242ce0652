// SPDX-License-Identifier: Apache-2.0
//
// penstock accelerate: hands over to the Python package, which runs a script.

#include "tools/penstock/Commands.h"
#include "tools/penstock/Options.h"
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <unistd.h>

using namespace penstock::cli;
namespace fs = std::filesystem;

namespace {
struct AccelerateState {
  int64_t compared = 0;
  bool module = false;
  std::vector<std::string> words; // the script and what it is given
};
} // namespace

// The first argument: where a checkout has the package, for those who have not installed it.
static constexpr const char *bootstrap = R"(
import sys
sys.path += [folder for folder in (sys.argv.pop(1),) if folder]
if not getattr(sys.flags, 'safe_path', False): # then no folder stands there
    sys.path[0] = ''
try:
    from penstock.accelerate.__main__ import main
except ModuleNotFoundError as error:
    if error.name not in ('penstock', 'penstock.accelerate'):
        raise
    sys.exit(f'penstock: error: {sys.executable} has no package `penstock`\n'
             'hint: `pip install .` in a checkout, or PYTHONPATH=api/python')
except ImportError as error:
    sys.exit(f'penstock: error: {error}')
main()
)";

/// `api/python` of the checkout that this program was built in; empty where it was installed.
static std::string packageOfCheckout() {
  std::error_code failure;
  const fs::path program = fs::read_symlink("/proc/self/exe", failure);
  for (fs::path folder = program.parent_path(); folder != folder.parent_path();
       folder = folder.parent_path())
    if (fs::exists(folder / "api" / "python" / "penstock" / "accelerate", failure))
      return (folder / "api" / "python").string();
  return {};
}

/// Does not come back where Python can be started.
static int accelerate(const AccelerateState &state) {
  if (state.words.empty()) {
    std::fprintf(stderr, "penstock: error: which script? `penstock accelerate train.py`\n");
    return exitUsage;
  }
  std::vector<std::string> words{"python3", "-c", bootstrap, packageOfCheckout()};
  if (state.compared > 0)
    words.insert(words.end(), {"--compare", std::to_string(state.compared)});
  if (state.module)
    words.push_back("-m");
  words.insert(words.end(), state.words.begin(), state.words.end());
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::signal(SIGPIPE, SIG_DFL); // main's handling is not the script's
  std::signal(SIGXFSZ, SIG_DFL);
  execvp("python3", arguments.data());
  std::fprintf(
      stderr,
      "penstock: error: cannot start `python3`: %s\n"
      "hint: the script runs in the Python that PATH has, with torch and the package `penstock`\n",
      std::strerror(errno));
  return exitError;
}

void penstock::cli::addAccelerate(CommandLine &line) {
  auto state = std::make_shared<AccelerateState>();
  Command command = line.command("accelerate", "Run a PyTorch script with Penstock's batches where "
                                               "its DataLoaders allow it; at its end, stderr has "
                                               "what was done with each (docs/accelerate.md)");
  command
      .option("--compare", state->compared,
              "The first N batches of each loader are also made by the original; where they "
              "differ, an exception ends the script")
      .typeName("N")
      .within(0, 1 << 30);
  command.flag("-m", state->module, "What follows is a module, as for python3 -m");
  command.rest(state->words, "SCRIPT", "The script, or module, and its arguments");
  command.runs("penstock accelerate train.py --epochs 90", [state] { return accelerate(*state); });
}
