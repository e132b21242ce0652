// SPDX-License-Identifier: Apache-2.0
//
// Kernels on another machine.
#pragma once

#include "test/differential/KernelCall.h"
#include <string>
#include <vector>

namespace penstock::differential {

/// A penstock-kernel-server, run by a command such as `qemu-aarch64-static PROGRAM`. It is started
/// when it is first needed, and again when a kernel has ended it.
class RemoteMachine {
public:
  explicit RemoteMachine(std::string command) : command(std::move(command)) {}
  ~RemoteMachine() { stop(); }
  RemoteMachine(const RemoteMachine &) = delete;
  RemoteMachine &operator=(const RemoteMachine &) = delete;

  /// Says what is wrong, or nothing.
  std::string load(const std::vector<uint8_t> &image);
  /// Calls a kernel of the image that was loaded last.
  KernelReply call(const KernelCall &call);

private:
  bool start();
  std::string stop(); ///< how it ended
  bool exchange(const MessageWriter &question, MessageReader &answer);

  std::string command;
  int process = -1, input = -1, output = -1;
};

} // namespace penstock::differential
