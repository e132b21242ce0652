// SPDX-License-Identifier: Apache-2.0
//
// Generated pixel code by turns with C code for the same chain.
//
// unseen_probe COMPILER-LIBRARY FILE.pipe PIPELINE ROUNDS LIBRARY,LIBRARY,... NAME=FILE...
// Compares the outputs, then prints a line for each round: CPU seconds per sample, ours first.
// Floats may differ by 1e-5 of the largest, since sums have other orders; all else has equal bits.
#include "bench/kernel_calls.h"
#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>

namespace {
using namespace bench;
using Chain = void (*)(const void *const *, void *const *);

std::vector<uint8_t> contentOf(const std::string &file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Rival {
  std::string name;
  Chain chain;
};

std::vector<Rival> rivalsIn(const std::string &libraries, const char *chain) {
  std::vector<Rival> rivals;
  std::istringstream list(libraries);
  for (std::string library; std::getline(list, library, ',');) {
    void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    auto found = handle ? reinterpret_cast<Chain>(dlsym(handle, chain)) : nullptr;
    if (!found)
      fail(dlerror());
    rivals.push_back({library, found});
  }
  return rivals;
}

void compare(const OutputView &ours, const uint8_t *theirs, const std::string &rival) {
  const size_t bytes = size_t(ours.shape[0] * ours.strides[0]);
  if (ours.type != plan::DType::f32) {
    const auto *mine = static_cast<const uint8_t *>(ours.data);
    for (size_t i = 0; i < bytes; ++i)
      if (mine[i] != theirs[i])
        fail(ours.name + ": byte " + std::to_string(i) + " is " + std::to_string(mine[i]) +
             ", that of " + rival + " " + std::to_string(theirs[i]));
    return;
  }
  const auto *mine = static_cast<const float *>(ours.data);
  const auto *other = reinterpret_cast<const float *>(theirs);
  float largest = 0;
  for (size_t i = 0; i < bytes / 4; ++i)
    largest = std::max(largest, std::fabs(mine[i]));
  for (size_t i = 0; i < bytes / 4; ++i)
    if (!(std::fabs(mine[i] - other[i]) <= 1e-5f * largest))
      fail(ours.name + ": element " + std::to_string(i) + " is " + std::to_string(mine[i]) +
           ", that of " + rival + " " + std::to_string(other[i]));
}
} // namespace

int main(int argc, char **argv) {
  if (argc < 7)
    fail("COMPILER-LIBRARY FILE.pipe PIPELINE ROUNDS LIBRARY,LIBRARY,... NAME=FILE...");
  const std::vector<Rival> rivals = rivalsIn(argv[5], argv[3]);
  const std::vector<std::string> values(argv + 6, argv + argc);
  KernelCalls ours(argv[1], argv[2], argv[3], 1, values);
  const size_t samples = ours.samples();
  std::vector<std::vector<uint8_t>> inputs, outputs;
  for (const std::string &value : values)
    inputs.push_back(contentOf(value.substr(value.find('=') + 1)));
  for (const OutputView &output : ours.last().outputs())
    outputs.emplace_back(size_t(output.shape[0] * output.strides[0]) + 64);
  auto theirs = [&](const Rival &rival) {
    for (size_t i = 0; i < samples; ++i) {
      std::vector<const void *> in;
      std::vector<void *> out;
      for (const auto &input : inputs)
        in.push_back(input.data() + input.size() / samples * i);
      for (size_t k = 0; k < outputs.size(); ++k)
        out.push_back(outputs[k].data() + size_t(ours.last().outputs()[k].strides[0]) * i);
      rival.chain(in.data(), out.data());
    }
  };
  for (const Rival &rival : rivals) {
    theirs(rival);
    for (size_t k = 0; k < outputs.size(); ++k)
      compare(ours.last().outputs()[k], outputs[k].data(), rival.name);
  }
  std::vector<std::function<void()>> turns{[&] { ours.makeAgain(); }};
  for (const Rival &rival : rivals)
    turns.push_back([&] { theirs(rival); });
  // Some milliseconds each: shorter ones see the clock, longer ones the machine's other work.
  std::vector<int> repeats;
  for (const auto &turn : turns) {
    turn();
    const double begin = cpuSeconds();
    turn();
    repeats.push_back(std::max(1, int(0.004 / (cpuSeconds() - begin + 1e-9))));
  }
  for (int round = 0; round < std::atoi(argv[4]); ++round) {
    for (size_t i = 0; i < turns.size(); ++i) {
      const size_t who = (i + size_t(round)) % turns.size();
      const double begin = cpuSeconds();
      for (int k = 0; k < repeats[who]; ++k)
        turns[who]();
      const double each = (cpuSeconds() - begin) / repeats[who] / double(samples);
      std::printf("%zu %.9f ", who, each);
    }
    std::printf("\n");
  }
}
