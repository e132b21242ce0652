// SPDX-License-Identifier: Apache-2.0
#include "tools/penstock/CommandLine.h"
#include "tools/penstock/Options.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>

using namespace penstock::cli;

static constexpr const char *exitCodes =
    "Exit codes: 0 success; 1 the file, a parameter or the data is at fault; 2 the command\n"
    "line is at fault; 130 interrupted.\n"
    "Results go to stdout, messages and progress to stderr. Progress is shown on a terminal only.";

static void setFooter(CLI::App &command, const char *example) {
  command.footer(std::string(exitCodes) + "\n\nExample: " + example);
}

Option &Option::required() {
  option->required();
  return *this;
}

Option &Option::typeName(const char *name) {
  option->type_name(name);
  return *this;
}

Option &Option::group(const char *name) {
  option->group(name);
  return *this;
}

Option &Option::oneOf(std::initializer_list<const char *> words) {
  option->check(CLI::IsMember(std::vector<std::string>(words.begin(), words.end())));
  return *this;
}

/// All of the text as one number, or nothing.
template <typename Number> static std::optional<Number> numberIn(const std::string &text) {
  Number number = 0;
  const char *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

/// All of the text as a number of bytes: 64k, 256M, 1GiB, units of 1024 in either case.
static std::optional<uint64_t> bytesIn(const std::string &text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::optional<uint64_t> number = numberIn<uint64_t>(text.substr(0, digits));
  std::string unit = text.substr(digits);
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](unsigned char letter) { return std::tolower(letter); });
  const bool isPlain = unit.empty() || unit == "b";
  const size_t power = isPlain ? 0 : std::string_view("kmgtpe").find(unit[0]) + 1;
  const std::string rest = isPlain ? "" : unit.substr(1);
  const bool isUnit =
      isPlain || (power && (rest.empty() || rest == "b" || rest == "i" || rest == "ib"));
  if (!number || !isUnit)
    return std::nullopt;
  const uint64_t most = std::numeric_limits<uint64_t>::max() >> (10 * power);
  return *number <= most ? std::optional(*number << (10 * power)) : std::nullopt;
}

Option &Option::within(int64_t least, int64_t most) {
  const auto check = [least, most](const std::string &text) -> std::string {
    const std::optional<int64_t> number = numberIn<int64_t>(text);
    if (number && *number >= least && *number <= most)
      return {};
    constexpr int64_t largest = std::numeric_limits<int64_t>::max();
    const std::string wanted =
        most < largest ? " from " + std::to_string(least) + " to " + std::to_string(most)
        : least < 0    ? " of 64 bits"
                       : " of at least " + std::to_string(least);
    return "expected a whole number" + wanted + ", found `" + text + "`";
  };
  option->check(CLI::Validator(check, ""));
  return *this;
}

Option &Option::positive() {
  const auto check = [](const std::string &text) -> std::string {
    const std::optional<double> number = numberIn<double>(text);
    if (number && std::isfinite(*number) && *number > 0)
      return {};
    return "expected a number above 0, found `" + text + "`";
  };
  option->check(CLI::Validator(check, ""));
  return *this;
}

Option &Option::excludes(const Option &other) {
  option->excludes(other.option);
  return *this;
}

Option &Option::oneValueEach() {
  option->allow_extra_args(false);
  return *this;
}

/// A name or a word that is empty comes of a variable that is not set.
static std::string nonempty(const std::string &text) {
  return text.empty() ? "the value is empty" : "";
}

Option Command::option(const char *names, std::string &value, const char *help) {
  return Option(command->add_option(names, value, help)->check(nonempty));
}
Option Command::option(const char *names, std::vector<std::string> &value, const char *help) {
  return Option(command->add_option(names, value, help)->check(nonempty));
}
Option Command::option(const char *names, int &value, const char *help) {
  return Option(command->add_option(names, value, help));
}
Option Command::option(const char *names, uint32_t &value, const char *help) {
  return Option(command->add_option(names, value, help));
}
Option Command::option(const char *names, int64_t &value, const char *help) {
  return Option(command->add_option(names, value, help));
}
Option Command::option(const char *names, uint64_t &value, const char *help) {
  return Option(command->add_option(names, value, help));
}
Option Command::bytes(const char *names, uint64_t &value, const char *help) {
  CLI::Option *option = command->add_option(names, value, help)->type_name("BYTES");
  const auto asNumber = [](std::string &text) -> std::string {
    const std::optional<uint64_t> number = bytesIn(text);
    if (!number)
      return "expected a number of bytes such as 256M, found `" + text + "`";
    text = std::to_string(*number);
    return {};
  };
  option->transform(CLI::Validator(asNumber, ""));
  return Option(option);
}
Option Command::option(const char *names, double &value, const char *help) {
  return Option(command->add_option(names, value, help));
}
Option Command::option(const char *names, std::optional<int64_t> &value, const char *help) {
  return Option(command->add_option(names, value, help));
}
Option Command::flag(const char *name, bool &value, const char *help) {
  return Option(command->add_flag(name, value, help));
}

namespace {
/// The program's words, and what its command ended with.
struct Program : CLI::App {
  using CLI::App::App;
  int exitCode = exitOk;
  /// Words of another program's command line, by the command that takes them.
  std::map<const CLI::App *, std::vector<std::string> *> rest;
};
} // namespace

Option Command::rest(std::vector<std::string> &words, const char *typeName, const char *help) {
  static_cast<Program *>(command->get_parent())->rest[command] = &words;
  return Option(command->add_option("script", words, help)->type_name(typeName));
}

/// The first of the words, behind that of the command, that is neither an option nor its value.
static int beginOfRest(const CLI::App &command, int argc, char **argv) {
  for (int i = 2; i < argc; ++i) {
    if (*argv[i] != '-')
      return i;
    const CLI::Option *option = command.get_option_no_throw(argv[i]);
    if (option && option->get_items_expected_min() > 0)
      ++i;
  }
  return argc;
}

void Command::runs(const char *example, std::function<int()> run) {
  setFooter(*command, example);
  auto *program = static_cast<Program *>(command->get_parent() ? command->get_parent() : command);
  command->callback([program, run = std::move(run)] { program->exitCode = run(); });
}

CommandLine::CommandLine(const char *description, const char *name, const char *version,
                         const char *example)
    : app(new Program(description, name)) {
  setFooter(*app, example);
  app->set_version_flag("--version", version);
}

CommandLine::~CommandLine() { delete app; }

Command CommandLine::command(const char *name, const char *description) {
  app->require_subcommand(1);
  return Command(app->add_subcommand(name, description));
}

Command CommandLine::only() { return Command(app); }

/// False, and a message, where the first word is no command of ours.
static bool knowsCommand(const CLI::App &app, const char *word) {
  const auto commands = app.get_subcommands(nullptr);
  const auto isNamed = [&](const CLI::App *command) { return command->check_name(word); };
  if (commands.empty() || !word || *word == '-' ||
      std::any_of(commands.begin(), commands.end(), isNamed))
    return true;
  std::fprintf(stderr, "penstock: error: there is no command `%s`; the commands are:", word);
  for (const CLI::App *command : commands)
    std::fprintf(stderr, " %s", command->get_name().c_str());
  std::fprintf(stderr, "\n");
  return false;
}

int CommandLine::run(int argc, char **argv) {
  if (!knowsCommand(*app, argv[1]))
    return exitUsage;
  auto &program = static_cast<Program &>(*app);
  for (auto [command, words] : program.rest)
    if (argv[1] && command->check_name(argv[1])) {
      // CLI11 would take apart what looks like a list.
      const int end = beginOfRest(*command, argc, argv);
      words->assign(argv + end, argv + argc);
      argc = end;
    }
  try {
    app->parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    // Help and version are no errors; all else is the command line's fault.
    return app->exit(error) == 0 ? exitOk : exitUsage;
  }
  return program.exitCode;
}
