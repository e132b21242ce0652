// SPDX-License-Identifier: Apache-2.0
//
// CUDA text, compiled for the CPU.
#pragma once

#include "codegen/cuda/shim_launch.h"
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace penstock::differential {

/// Memory that the threads of a launch may touch.
class ShimRegions {
public:
  void reads(std::string name, const void *begin, size_t bytes) {
    add(std::move(name), begin, bytes, false, true);
  }
  /// As above; `around` bytes before and behind may be read, too.
  void reads(std::string name, const void *begin, size_t bytes, size_t around) {
    reads(std::move(name), begin, bytes);
    all.back().around = around;
  }
  /// Holds nothing before the launch.
  void writes(std::string name, void *begin, size_t bytes) {
    add(std::move(name), begin, bytes, true, false);
  }
  void keeps(std::string name, void *begin, size_t bytes) {
    add(std::move(name), begin, bytes, true, true);
  }
  /// Records and states of the launch itself.
  void hands(std::string name, const void *begin, size_t bytes, bool writable) {
    add(std::move(name), begin, bytes, writable, true);
    all.back().launched = true;
  }

  std::vector<pst_shim_region> all;

private:
  void add(std::string name, const void *begin, size_t bytes, bool writable, bool written) {
    names.push_back(std::move(name));
    all.push_back({names.back().c_str(), begin, bytes, 0, writable, written, false});
  }
  std::deque<std::string> names;
};

/// Printed kernels behind codegen/cuda/shim.h, watched by its callbacks.
class ShimLibrary {
public:
  using Kernel = decltype(pst_shim_launch::kernel);

  /// Null, and `error`, where the text does not compile. Without `isWatched` nobody looks what its
  /// threads touch: it is several times as fast.
  static std::unique_ptr<ShimLibrary> compile(const std::string &text, std::string &error,
                                              bool isWatched = true);
  ~ShimLibrary();

  Kernel kernel(const std::string &name) const;
  /// Returns the first fault of a thread, with the text's line; empty if there is none.
  std::string run(pst_shim_launch launch, const ShimRegions &regions) const;

private:
  std::string folder;
  void *library = nullptr;
  std::string lineAt(uint64_t offset) const;
};

} // namespace penstock::differential
