// SPDX-License-Identifier: Apache-2.0
//
// Threads with a large stack, for deeply nested texts.
#include "api/c/Stack.h"
#include <exception>
#include <pthread.h>

using namespace penstock;

/// The longest text (dsl/Parser) as one sum takes half of it.
static constexpr size_t stackBytes = size_t{1} << 30;

void api::onLargeStack(const std::function<void()> &work) {
  std::exception_ptr thrown;
  const std::function<void()> guarded = [&] {
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
  };
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_t thread;
  auto run = [](void *function) -> void * {
    (*static_cast<const std::function<void()> *>(function))();
    return nullptr;
  };
  const bool started = pthread_attr_setstacksize(&attributes, stackBytes) == 0 &&
                       pthread_create(&thread, &attributes, run,
                                      const_cast<void *>(static_cast<const void *>(&guarded))) == 0;
  pthread_attr_destroy(&attributes);
  if (started)
    pthread_join(thread, nullptr);
  else
    guarded();
  if (thrown)
    std::rethrow_exception(thrown);
}
