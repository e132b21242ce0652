// SPDX-License-Identifier: Apache-2.0
#include "dsl/Sema/InlinedSize.h"

#include "dsl/Diagnostics/Quote.h"

#include <algorithm>

namespace penstock::dsl {

namespace {

/// Numbers above this are as good as any.
constexpr uint64_t countless = 1'000'000'000'000;

} // namespace

uint64_t InlinedSize::sizeOf(const Call &call) {
  uint64_t largest = 0;
  for (const FnDecl *callee : call.callees)
    largest = std::max(largest, sizeOf(callee));
  return largest;
}

uint64_t InlinedSize::sizeOf(const FnDecl *fn) {
  Body &body = bodies[fn];
  if (body.state == Body::Counted)
    return body.all;
  if (body.state == Body::Counting)
    return 0; // an overload that ends the recursion, or an error told elsewhere
  body.state = Body::Counting;
  uint64_t sum = body.own;
  for (const Call &call : body.calls)
    sum = std::min(sum + sizeOf(call), countless);
  body.state = Body::Counted;
  return body.all = sum;
}

void InlinedSize::report(Diagnostics &diagnostics) {
  for (const Body &pipeline : pipelines)
    report(pipeline, diagnostics);
}

void InlinedSize::report(const Body &pipeline, Diagnostics &diagnostics) {
  uint64_t sum = pipeline.own;
  for (const Call &call : pipeline.calls) {
    sum = std::min(sum + sizeOf(call), countless);
    if (sum <= most)
      continue;
    diagnostics
        .error(call.name.range, "with " + quote(call.name.text) + ", this pipeline has " +
                                    (sum == countless ? "more than " : "") + std::to_string(sum) +
                                    " expressions once functions are inlined, and at most " +
                                    std::to_string(most) + " are possible")
        .hint("`repeat` and `each` go round without writing anything twice");
    return;
  }
}

} // namespace penstock::dsl
