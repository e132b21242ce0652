// SPDX-License-Identifier: Apache-2.0
//
// Constants whose values depend on themselves, and recursive functions.
#include "dsl/Sema/Checker.h"

#include <functional>

namespace penstock::dsl {

void Checker::checkConstCycles() {
  // Depth first; a constant met again on the way to itself closes a cycle.
  std::map<std::string, int, std::less<>> state; // 1 on the way, 2 done
  std::function<void(const std::string &)> visit = [&](const std::string &name) {
    state[name] = 1;
    for (const NameExpr *use : constUses[name]) {
      if (!constUses.contains(use->name))
        continue;
      if (state[use->name] == 1)
        diagnostics.error(use->range,
                          "the value of constant " + quote(use->name) + " depends on itself");
      else if (state[use->name] == 0)
        visit(use->name);
    }
    state[name] = 2;
  };
  for (const ConstDecl &constant : file.consts)
    if (constUses.contains(constant.name.text) && state[constant.name.text] == 0)
      visit(constant.name.text);
}

void Checker::checkRecursion() {
  std::map<const FnDecl *, int> state; // 1 on the way, 2 done
  std::function<void(const FnDecl *)> visit = [&](const FnDecl *fn) {
    state[fn] = 1;
    for (const FnCall &call : fnCalls[fn]) {
      if (state[call.callee] == 1)
        diagnostics
            .error(call.range, call.callee == fn
                                   ? "function " + quote(fn->name.text) + " calls itself"
                                   : "functions " + quote(fn->name.text) + " and " +
                                         quote(call.callee->name.text) + " call each other")
            .note(call.callee->name.range, "it is declared here")
            .hint("`repeat` and `search` go round a bounded number of times");
      else if (state[call.callee] == 0)
        visit(call.callee);
    }
    state[fn] = 2;
  };
  for (const FnDecl &fn : file.fns)
    if (state[&fn] == 0)
      visit(&fn);
}

} // namespace penstock::dsl
