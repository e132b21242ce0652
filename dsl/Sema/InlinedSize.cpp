// SPDX-License-Identifier: Apache-2.0
#include "dsl/Sema/InlinedSize.h"

#include "dsl/Diagnostics/Quote.h"

#include <algorithm>

namespace penstock::dsl {

namespace {

/// Numbers above this are as good as any.
constexpr uint64_t countless = 1'000'000'000'000;

} // namespace

uint64_t InlinedSize::sizeOf(const Use &use) {
  uint64_t largest = 0;
  for (Owner meant : use.meant)
    largest = std::max(largest, sizeOf(meant));
  return largest;
}

uint64_t InlinedSize::sizeOf(Owner owner) {
  Body &body = bodies[owner];
  if (body.state == Body::Counted)
    return body.all;
  if (body.state == Body::Counting)
    return 0; // an overload that ends the recursion, or an error told elsewhere
  body.state = Body::Counting;
  uint64_t sum = body.own;
  for (const Use &use : body.uses)
    sum = std::min(sum + sizeOf(use), countless);
  body.state = Body::Counted;
  return body.all = sum;
}

void InlinedSize::report(Diagnostics &diagnostics) {
  bool any = false;
  for (const Body &pipeline : pipelines)
    any |= report(pipeline, "pipeline", diagnostics);
  for (Owner constant : constants)
    any = any || report(bodies[constant], "constant", diagnostics);
}

bool InlinedSize::report(const Body &body, const char *what, Diagnostics &diagnostics) {
  uint64_t sum = body.own;
  for (const Use &use : body.uses) {
    sum = std::min(sum + sizeOf(use), countless);
    if (sum <= most)
      continue;
    diagnostics
        .error(use.name.range,
               "with " + quote(use.name.text) + ", this " + what + " has " +
                   (sum == countless ? "more than " : "") + std::to_string(sum) +
                   " expressions once functions and constants are inlined, and at most " +
                   std::to_string(most) + " are possible")
        .hint("`repeat` and `each` go round without writing anything twice");
    return true;
  }
  return false;
}

} // namespace penstock::dsl
