// SPDX-License-Identifier: Apache-2.0
//
// Reads whole files in two ways: blocking, on some threads, as the runtime does; or through one
// io_uring with some requests under way. Why the runtime does the first:
// docs/rationale/sessions.md.
//
//   files_probe threads|io_uring COUNT FOLDER < NAMES
//
// prints "wall_us cpu_us bytes", the first two per file.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <iostream>
#include <liburing.h>
#include <linux/openat2.h>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

[[noreturn]] void fail(const char *what) {
  std::perror(what);
  std::exit(1);
}

// As runtime/core/RealFileSystem opens: nothing outside of the folder.
open_how howToOpen() {
  open_how how = {};
  how.flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return how;
}

size_t sizeOf(int file) {
  struct stat found;
  if (fstat(file, &found) != 0)
    fail("fstat");
  return size_t(found.st_size);
}

size_t readBlocking(int folder, const std::string &name, std::vector<char> &bytes) {
  open_how how = howToOpen();
  const int file = int(syscall(SYS_openat2, folder, name.c_str(), &how, sizeof how));
  if (file < 0)
    fail("openat2");
  const size_t size = sizeOf(file);
  if (bytes.size() < size + 1)
    bytes.resize(size + 1);
  size_t filled = 0;
  while (ssize_t got = read(file, bytes.data() + filled, size + 1 - filled)) {
    if (got < 0)
      fail("read");
    filled += size_t(got);
  }
  close(file);
  return filled;
}

size_t onThreads(int count, int folder, const std::vector<std::string> &names) {
  std::atomic<size_t> next = 0, total = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&] {
      std::vector<char> bytes;
      for (size_t at; (at = next++) < names.size();)
        total += readBlocking(folder, names[at], bytes);
    });
  for (std::thread &thread : threads)
    thread.join();
  return total;
}

struct Request {
  open_how how = howToOpen();
  int file = -1; // none: it is being opened
  std::vector<char> bytes;
};

size_t throughRing(int depth, int folder, const std::vector<std::string> &names) {
  io_uring ring;
  const unsigned flags =
      IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_COOP_TASKRUN;
  if (io_uring_queue_init(unsigned(depth) * 2, &ring, flags) < 0)
    fail("io_uring_queue_init");
  std::vector<Request> requests{size_t(depth)};
  std::vector<Request *> idle;
  for (Request &request : requests)
    idle.push_back(&request);
  size_t next = 0, done = 0, total = 0;
  while (done < names.size()) {
    for (; !idle.empty() && next < names.size(); ++next, idle.pop_back()) {
      io_uring_sqe *entry = io_uring_get_sqe(&ring);
      io_uring_prep_openat2(entry, folder, names[next].c_str(), &idle.back()->how);
      io_uring_sqe_set_data(entry, idle.back());
    }
    io_uring_submit_and_wait(&ring, 1);
    io_uring_cqe *event;
    unsigned head, seen = 0;
    io_uring_for_each_cqe(&ring, head, event) {
      ++seen;
      auto &request = *static_cast<Request *>(io_uring_cqe_get_data(event));
      if (event->res < 0)
        fail("io_uring");
      if (request.file >= 0) {
        total += size_t(event->res);
        close(std::exchange(request.file, -1));
        ++done;
        idle.push_back(&request);
        continue;
      }
      request.file = event->res;
      const size_t size = sizeOf(request.file);
      if (request.bytes.size() < size + 1)
        request.bytes.resize(size + 1);
      io_uring_sqe *entry = io_uring_get_sqe(&ring);
      io_uring_prep_read(entry, request.file, request.bytes.data(), unsigned(size + 1), 0);
      io_uring_sqe_set_data(entry, &request);
    }
    io_uring_cq_advance(&ring, seen);
  }
  io_uring_queue_exit(&ring);
  return total;
}

double cpuMicroseconds() {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  return double(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
         double(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

} // namespace

int main(int count, char **arguments) {
  if (count != 4)
    return 2;
  const int width = std::atoi(arguments[2]);
  const int folder = open(arguments[3], O_PATH | O_DIRECTORY);
  if (folder < 0)
    fail(arguments[3]);
  std::vector<std::string> names;
  for (std::string line; std::getline(std::cin, line);)
    names.push_back(line);
  const auto begin = std::chrono::steady_clock::now();
  const double cpu = cpuMicroseconds();
  const size_t bytes = arguments[1] == std::string("threads") ? onThreads(width, folder, names)
                                                              : throughRing(width, folder, names);
  const std::chrono::duration<double, std::micro> wall = std::chrono::steady_clock::now() - begin;
  const double each = 1.0 / double(names.size());
  std::printf("%.2f %.2f %zu\n", wall.count() * each, (cpuMicroseconds() - cpu) * each, bytes);
}
