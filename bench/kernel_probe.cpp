// SPDX-License-Identifier: Apache-2.0
//
// Generated pixel code alone, by turns with whatever the bench compares it with.
//
// kernel_probe COMPILER-LIBRARY FILE.pipe BATCHES NAME=VALUE...   prints samples per turn
// On each line of input, a number of turns: makes them, prints CPU seconds.
#include "bench/kernel_calls.h"
#include <iostream>

int main(int argc, char **argv) {
  if (argc < 4)
    bench::fail("COMPILER-LIBRARY FILE.pipe BATCHES NAME=VALUE...");
  bench::KernelCalls calls(argv[1], argv[2], "", std::strtoul(argv[3], nullptr, 10),
                           {argv + 4, argv + argc});
  std::printf("%zu\n", calls.samples());
  std::fflush(stdout);
  for (int turns = 0; std::cin >> turns;) {
    const double begin = bench::cpuSeconds();
    for (int i = 0; i < turns; ++i)
      calls.makeAgain();
    std::printf("%.9f\n", bench::cpuSeconds() - begin);
    std::fflush(stdout);
  }
}
