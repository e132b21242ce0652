// SPDX-License-Identifier: Apache-2.0
//
// One call of a kernel, and what came of it.
//
// Without the compiler's types, so that a process on another machine can make the call.
#pragma once

#include "runtime/core/Image.h"
#include <cstdint>
#include <string>
#include <vector>

namespace penstock::differential {

struct KernelTensor {
  std::vector<int64_t> extents;
  int64_t elementBytes;
  std::vector<uint8_t> bytes; ///< of an input; of an output, as many are made
  bool isOutput;
  bool isDense = false; ///< the kernel relies on it
};

struct KernelCall {
  std::string kernel;
  std::vector<KernelTensor> tensors; ///< inputs, then outputs
  std::vector<int64_t> scalars;
  int64_t scratchBytes;
};

struct KernelReply {
  std::string problem; ///< not empty where the call broke the rules of runtime/abi/kernel.h
  int32_t check = 0;   ///< that failed
  int64_t failure[2] = {};
  std::vector<std::vector<uint8_t>> outputs;
  std::vector<int64_t> scalars; ///< as the kernel left them
};

/// Calls with fresh buffers that end at a protected page and are poisoned where they are written.
KernelReply runKernel(const runtime::Image &image, const KernelCall &call);

//===--- over a pipe ----------------------------------------------------------===//

/// Kinds of messages. The answer to an image is a text, empty where it was loaded; that to a call
/// is the reply.
enum class MessageKind : uint64_t { image = 1, call = 2 };

/// Values one after the other, each with its size.
class MessageWriter {
public:
  void number(int64_t value);
  void bytes(const std::vector<uint8_t> &value);
  void text(const std::string &value);
  void numbers(const std::vector<int64_t> &value);
  /// False where nobody reads.
  bool send(int file) const;

private:
  std::vector<uint8_t> written;
};

class MessageReader {
public:
  /// Waits for a message; false at the end.
  bool receive(int file);
  int64_t number();
  std::vector<uint8_t> bytes();
  std::string text();
  std::vector<int64_t> numbers();

private:
  std::vector<uint8_t> message;
  size_t at = 0;
};

void write(MessageWriter &to, const KernelCall &call);
void write(MessageWriter &to, const KernelReply &reply);
KernelCall readCall(MessageReader &from);
KernelReply readReply(MessageReader &from);

} // namespace penstock::differential
