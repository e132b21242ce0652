// SPDX-License-Identifier: Apache-2.0
//
// Kernels on another machine.
#include "test/differential/RemoteMachine.h"
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char **environ;

namespace penstock::differential {

bool RemoteMachine::start() {
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
    return false;
  std::istringstream text(command);
  std::vector<std::string> words;
  for (std::string word; text >> word;)
    words.push_back(word);
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
  const bool started = !words.empty() && posix_spawnp(&process, arguments[0], &actions, nullptr,
                                                      arguments.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(to[0]);
  close(from[1]);
  input = to[1];
  output = from[0];
  if (!started)
    process = -1;
  std::signal(SIGPIPE, SIG_IGN); // one that has died is an answer
  return started;
}

std::string RemoteMachine::stop() {
  close(std::exchange(input, -1));
  close(std::exchange(output, -1));
  if (process < 0)
    return "`" + command + "` cannot be started";
  int status = 0;
  waitpid(std::exchange(process, -1), &status, 0);
  return WIFSIGNALED(status)
             ? "the kernel ended its process by signal " + std::to_string(WTERMSIG(status))
             : "the kernel's process ended";
}

bool RemoteMachine::exchange(const MessageWriter &question, MessageReader &answer) {
  return (process >= 0 || start()) && question.send(input) && answer.receive(output);
}

std::string RemoteMachine::load(const std::vector<uint8_t> &image) {
  MessageWriter question;
  question.number(static_cast<int64_t>(MessageKind::image));
  question.bytes(image);
  MessageReader answer;
  return exchange(question, answer) ? answer.text() : stop();
}

KernelReply RemoteMachine::call(const KernelCall &call) {
  MessageWriter question;
  question.number(static_cast<int64_t>(MessageKind::call));
  write(question, call);
  MessageReader answer;
  if (exchange(question, answer))
    return readReply(answer);
  return {.problem = stop(), .outputs = {}, .scalars = {}};
}

} // namespace penstock::differential
