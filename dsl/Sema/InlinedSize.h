// SPDX-License-Identifier: Apache-2.0
//
// How large a program becomes when its functions are inlined where they are
// called, and constants where they are named: that is what everything behind Sema works on.
#pragma once

#include "dsl/AST/Program.h"
#include "dsl/Diagnostics/Diagnostics.h"

#include <cstdint>
#include <map>
#include <vector>

namespace penstock::dsl {

/// Counts expressions before any is made: a function that calls another one twice doubles
/// it, as a constant does that names another one twice, and twenty of them are a million.
class InlinedSize {
public:
  /// Expressions of a pipeline, or of a constant.
  static constexpr uint64_t most = 500'000;
  /// A function or a constant; null for the last pipeline.
  using Owner = const void *;

  void beginPipeline() { pipelines.emplace_back(); }
  void beginConstant(const ConstDecl &constant) { constants.push_back(&constant); }
  void add(Owner owner) { ++bodyOf(owner).own; }
  /// Counts what stands in it for one of `meant`; which one, only types can tell.
  void addUse(Owner owner, const Name &name, std::vector<Owner> meant) {
    bodyOf(owner).uses.push_back({name, std::move(meant)});
  }
  /// Reports the first use in each pipeline that exceeds the limit, or else in a constant.
  void report(Diagnostics &diagnostics);

private:
  struct Use {
    Name name;
    std::vector<Owner> meant;
  };
  struct Body {
    uint64_t own = 0, all = 0;
    std::vector<Use> uses;
    enum { Open, Counting, Counted } state = Open;
  };
  Body &bodyOf(Owner owner) { return owner ? bodies[owner] : pipelines.back(); }
  uint64_t sizeOf(Owner owner);
  uint64_t sizeOf(const Use &use);
  bool report(const Body &body, const char *what, Diagnostics &diagnostics);

  std::map<Owner, Body> bodies;
  std::vector<Body> pipelines;
  std::vector<Owner> constants;
};

} // namespace penstock::dsl
