// SPDX-License-Identifier: Apache-2.0
//
// The words of the command line: commands, their options and their help. CLI11 reads
// them; CommandLine.cpp alone sees its header, which takes ten seconds to compile.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace penstock::cli {

/// Further properties of an option; each method returns it.
class Option {
public:
  explicit Option(CLI::Option *option) : option(option) {}

  Option &required();
  /// Sets the name that help shows for its value, such as `FILE`.
  Option &typeName(const char *name);
  /// Sets the heading that help lists it below.
  Option &group(const char *name);
  Option &oneOf(std::initializer_list<const char *> words);
  /// Restricts it to a whole number within these bounds, included.
  Option &within(int64_t least, int64_t most);
  /// Restricts it to a finite number above 0.
  Option &positive();
  /// Refuses both together.
  Option &excludes(const Option &other);
  /// Makes each value need the option's name again.
  Option &oneValueEach();

private:
  CLI::Option *option;
};

/// A word after `penstock`.
class Command {
public:
  explicit Command(CLI::App *command) : command(command) {}

  /// `names` as `-o,--output`, or `file` where it has no dashes. The value is written when the
  /// command line is read; it has to live until then.
  Option option(const char *names, std::string &value, const char *help);
  Option option(const char *names, std::vector<std::string> &value, const char *help);
  Option option(const char *names, int &value, const char *help);
  Option option(const char *names, uint32_t &value, const char *help);
  Option option(const char *names, int64_t &value, const char *help);
  Option option(const char *names, uint64_t &value, const char *help);
  Option option(const char *names, double &value, const char *help);
  Option option(const char *names, std::optional<int64_t> &value, const char *help);
  /// A number of bytes, with a unit as in 256M.
  Option bytes(const char *names, uint64_t &value, const char *help);
  Option flag(const char *name, bool &value, const char *help);
  /// The first word that is no option, and all behind it as they are: another program's command
  /// line.
  Option rest(std::vector<std::string> &words, const char *typeName, const char *help);

  /// Sets the function that runs the command and returns the exit code, and the last line of its
  /// help.
  void runs(const char *example, std::function<int()> run);

private:
  CLI::App *command;
};

/// All commands of a program.
class CommandLine {
public:
  CommandLine(const char *description, const char *name, const char *version, const char *example);
  ~CommandLine();
  CommandLine(const CommandLine &) = delete;

  Command command(const char *name, const char *description);
  /// Returns the command of a program that has one only, without a name.
  Command only();
  /// Reads the words and runs the command that they name: its exit code. Words that are wrong are
  /// said on stderr, and the exit code is that of a usage error.
  int run(int argc, char **argv);

private:
  CLI::App *app;
};

} // namespace penstock::cli
