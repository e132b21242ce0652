// SPDX-License-Identifier: Apache-2.0
//
// A program's memory, where the system gives no more. What stands here is the whole process's,
// and so the program's to set, not the library's.

#include "tools/penstock/Memory.h"
#include "tools/penstock/Options.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <malloc.h>
#include <new>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace penstock::cli;

// Addresses alone: they cost no memory.
static constexpr size_t reserveBytes = size_t(8) << 20;
static std::atomic<void *> reserve = nullptr;
static std::terminate_handler before = std::abort;

static void giveReserve() {
  if (void *bytes = reserve.exchange(nullptr))
    munmap(bytes, reserveBytes);
  else
    std::set_new_handler(nullptr);
}

static void sayAndEnd() {
  if (const std::exception_ptr thrown = std::current_exception()) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_alloc &) {
      constexpr char text[] = "penstock: error: no memory: `ulimit -v`, a cgroup or the machine "
                              "gives no more\n";
      (void)!write(STDERR_FILENO, text, sizeof text - 1);
      _exit(exitError);
    } catch (...) { // a fault of ours
    }
  }
  before();
}

void penstock::cli::sayWhenMemoryEnds() {
  void *bytes =
      mmap(nullptr, reserveBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes != MAP_FAILED)
    reserve = bytes;
  std::set_new_handler(giveReserve);
  before = std::set_terminate(sayAndEnd);
}

void penstock::cli::shareArenas() {
#ifdef M_ARENA_MAX
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    mallopt(M_ARENA_MAX, 2);
#endif
}
