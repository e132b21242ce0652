// SPDX-License-Identifier: Apache-2.0
//
// Penstock-kernel-server.
//
// Calls kernels for a process on another machine, which sends images and calls to its standard
// input. No compiler is in it, so that it can be built for, and emulated as, any machine.
#include "test/differential/KernelCall.h"
#include <memory>
#include <unistd.h>

using namespace penstock;
using namespace penstock::differential;

int main() {
  std::shared_ptr<const runtime::Image> image;
  MessageReader message;
  while (message.receive(STDIN_FILENO)) {
    MessageWriter answer;
    if (static_cast<MessageKind>(message.number()) == MessageKind::image) {
      image.reset();
      auto loaded = runtime::Image::load(message.bytes());
      if (loaded)
        image = *loaded;
      answer.text(loaded ? "" : loaded.error().message);
    } else if (image) {
      write(answer, runKernel(*image, readCall(message)));
    } else {
      write(answer, KernelReply{.problem = "no image was loaded", .outputs = {}, .scalars = {}});
    }
    if (!answer.send(STDOUT_FILENO))
      return 1;
  }
  return 0;
}
