// SPDX-License-Identifier: Apache-2.0
//
// How large a program becomes when its functions are inlined where they are
// called: that is what everything behind Sema works on.
#pragma once

#include "dsl/AST/Program.h"
#include "dsl/Diagnostics/Diagnostics.h"

#include <cstdint>
#include <map>
#include <vector>

namespace penstock::dsl {

/// Counts expressions before any is made: a function that calls another one twice doubles
/// it, and twenty of them are a million.
class InlinedSize {
public:
  /// Expressions of a pipeline.
  static constexpr uint64_t most = 500'000;

  void beginPipeline() { pipelines.emplace_back(); }
  /// Counts an expression of `fn`; of the last pipeline if that is null.
  void add(const FnDecl *fn) { ++bodyOf(fn).own; }
  /// Counts a call in it of one of `callees`; which one, only types can tell.
  void addCall(const FnDecl *fn, const Name &name, const std::vector<const FnDecl *> &callees) {
    bodyOf(fn).calls.push_back({name, callees});
  }
  /// Reports the first call of each pipeline that exceeds the limit.
  void report(Diagnostics &diagnostics);

private:
  struct Call {
    Name name;
    std::vector<const FnDecl *> callees;
  };
  struct Body {
    uint64_t own = 0, all = 0;
    std::vector<Call> calls;
    enum { Open, Counting, Counted } state = Open;
  };
  Body &bodyOf(const FnDecl *fn) { return fn ? bodies[fn] : pipelines.back(); }
  uint64_t sizeOf(const FnDecl *fn);
  uint64_t sizeOf(const Call &call);
  void report(const Body &pipeline, Diagnostics &diagnostics);

  std::map<const FnDecl *, Body> bodies;
  std::vector<Body> pipelines;
};

} // namespace penstock::dsl
