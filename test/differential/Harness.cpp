// SPDX-License-Identifier: Apache-2.0
//
// Penstock-differential.
#include "codegen/cpu/Target.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "test/differential/Coverage.h"
#include "test/differential/PipeText.h"
#include "test/differential/Shrink.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

using namespace penstock;
using namespace penstock::differential;

namespace {

struct Tally {
  int64_t equal = 0, differ = 0;
};

/// The difference that a candidate shows on a pipeline, if any.
std::optional<std::string> differenceOf(const Candidate &candidate, mlir::ModuleOp module,
                                        const reference::BatchInputs &inputs,
                                        const reference::BatchResult &expected, Tally *tally) {
  mlir::OwningOpRef<mlir::ModuleOp> own(module.clone());
  const Outcome outcome = candidate.run(*own, inputs);
  auto difference = outcome.refused.empty() ? firstDifference(expected, outcome.result)
                                            : "refused: " + outcome.refused;
  if (tally)
    ++(difference ? tally->differ : tally->equal);
  return difference;
}

void report(mlir::MLIRContext &context, const Recipe &recipe, const Candidate &candidate,
            const std::string &difference, bool shrinks) {
  llvm::errs() << "case " << recipe.seed << ", candidate `" << candidate.name << "`: " << difference
               << "\n";
  if (!shrinks)
    return;
  Case smallest =
      shrink(context, recipe, [&](mlir::ModuleOp module, const reference::BatchInputs &inputs) {
        const auto expected = reference::Interpreter(module).run(inputs);
        return expected.error.empty() &&
               differenceOf(candidate, module, inputs, expected, nullptr).has_value();
      });
  const auto expected = reference::Interpreter(*smallest.module).run(smallest.inputs);
  const auto last = differenceOf(candidate, *smallest.module, smallest.inputs, expected, nullptr);
  llvm::errs() << "smallest: " << last.value_or("(does not repeat)") << "\n";
  smallest.module->print(llvm::errs());
  // The same in the language, where it has words for all of it.
  const auto again =
      writePipe(*smallest.module, smallest.inputs, "found-" + std::to_string(recipe.seed),
                [&](mlir::ModuleOp module, const reference::BatchInputs &inputs) {
                  const auto right = reference::Interpreter(module).run(inputs);
                  return right.error.empty()
                             ? differenceOf(candidate, module, inputs, right, nullptr)
                             : std::optional<std::string>();
                });
  llvm::errs() << "\n" << again;
  llvm::errs() << "\nseed " << smallest.inputs.seed << ", positions from "
               << smallest.inputs.batchPosition << "; again:" << (recipe.isChain ? " --chains" : "")
               << " --case " << recipe.seed << "\n";
}

int usage() {
  llvm::errs()
      << "usage: penstock-differential [--seed S] [--count N] [--case SEED] "
         "[--candidate NAME] [--alternate] [--failures N] [--no-shrink] [--print] "
         "[--chains] [--enforce] [--write FOLDER] [--remote TARGET COMMAND]\n"
         "--remote runs a penstock-kernel-server by COMMAND, and tries code for TARGET there, too\n"
         "--chains makes chains: each step takes the value before\n"
         "--alternate tries one of the candidates on each case, in turn\n"
         "--write writes each case as FOLDER/SEED/case.pipe, with its columns and right "
         "outputs, and compares nothing\n"
         "--enforce fails if a cell of the coverage table that must be full is empty\n";
  return 2;
}

} // namespace

int main(int argc, char **argv) {
  llvm::sys::PrintStackTraceOnErrorSignal(argv[0]);
  llvm::EnablePrettyStackTrace(); // says which case it was
  uint64_t seed = 1, count = 100;
  int64_t most = 3; // failures, before it gives up
  std::optional<uint64_t> single;
  std::string only, writeTo;
  Remote remote;
  bool print = false, enforce = false, shrinks = true, alternate = false, chains = false;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--print") {
      print = true;
    } else if (option == "--enforce") {
      enforce = true;
    } else if (option == "--alternate") {
      alternate = true;
    } else if (option == "--chains") {
      chains = true;
    } else if (option == "--no-shrink") {
      shrinks = false;
    } else if (i + 1 == argc) {
      return usage();
    } else if (option == "--seed") {
      seed = std::stoull(argv[++i]);
    } else if (option == "--count") {
      count = std::stoull(argv[++i]);
    } else if (option == "--case") {
      single = std::stoull(argv[++i]);
    } else if (option == "--failures") {
      most = std::stoll(argv[++i]);
    } else if (option == "--candidate") {
      only = argv[++i];
    } else if (option == "--remote" && i + 2 < argc) {
      remote = {argv[i + 1], argv[i + 2]};
      i += 2;
    } else if (option == "--write") {
      writeTo = argv[++i];
    } else {
      return usage();
    }
  }

  if (!remote.command.empty() && !codegen::Target::named(remote.target)) {
    llvm::errs() << "no target is called " << remote.target << "\n";
    return 2;
  }

  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<pipe::PipeDialect>();
  std::vector<Candidate> candidates = allCandidates(remote);
  std::erase_if(candidates, [&](const Candidate &candidate) {
    return candidate.name.find(only) == std::string::npos;
  });
  std::map<std::string, Tally> tallies;
  Coverage coverage;
  int64_t bad = 0;
  for (uint64_t i = 0; i < (single ? 1 : count) && bad < most; ++i) {
    Recipe recipe;
    recipe.isChain = chains;
    recipe.seed = single ? *single : seed * 1000000 + i;
    llvm::PrettyStackTraceFormat trace("case %llu", static_cast<unsigned long long>(recipe.seed));
    Case made = generate(context, recipe);
    if (print)
      made.module->print(llvm::outs());
    if (mlir::failed(mlir::verify(*made.module))) {
      llvm::errs() << "case " << recipe.seed << ": the generated module is not valid\n";
      ++bad;
      continue;
    }
    const auto expected = reference::Interpreter(*made.module).run(made.inputs);
    if (!expected.error.empty()) {
      llvm::errs() << "case " << recipe.seed << ": " << expected.error << "\n";
      made.module->print(llvm::errs());
      ++bad;
      continue;
    }
    if (!writeTo.empty()) {
      writePipe(*made.module, made.inputs, writeTo + "/" + std::to_string(recipe.seed),
                [](mlir::ModuleOp, const reference::BatchInputs &) { return std::string(); });
      continue;
    }
    int64_t compared = 0;
    for (const auto &[number, candidate] : llvm::enumerate(candidates)) {
      if (alternate && number != recipe.seed % candidates.size())
        continue;
      Tally &tally = tallies[candidate.name];
      const int64_t before = tally.equal;
      if (auto difference = differenceOf(candidate, *made.module, made.inputs, expected, &tally)) {
        report(context, recipe, candidate, *difference, shrinks);
        ++bad;
        break;
      }
      compared += tally.equal - before;
    }
    // Pipelines that differ or are refused are not covered.
    if (compared > 0)
      coverage.count(*made.module);
  }

  if (!writeTo.empty())
    return bad == 0 ? 0 : 1;
  coverage.print(llvm::outs());
  for (const auto &[name, tally] : tallies)
    llvm::outs() << name << ": " << tally.equal << " equal, " << tally.differ << " differ"
                 << "\n";
  if (enforce)
    for (const std::string &cell : coverage.missing()) {
      llvm::errs() << "not covered: " << cell << "\n";
      ++bad;
    }
  return bad == 0 ? 0 : 1;
}
