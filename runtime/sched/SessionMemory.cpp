// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/SessionMemory.h"

#include "runtime/sched/BatchBlock.h"

#include <algorithm>
#include <set>
#include <unistd.h>

namespace penstock::runtime {

namespace {

/// The most that indexes of videos or sounds take, which are kept from sample to sample.
uint64_t indexBytes(const plan::PlanT &tree, std::string_view kind) {
  std::set<int> sources;
  for (const auto &media : tree.media)
    if (media->media == kind)
      sources.insert(tree.rows[size_t(media->row)]->source);
  return sources.size() * VideoStore::mostBytes;
}

/// Returns the bytes of a sample's rows that come from callers, without their contents.
uint64_t externalBytes(const Program &program) {
  uint64_t bytes = program.hasExternal ? program.rowCount() * sizeof(ExternalRow) : 0;
  for (size_t i = 0; i < program.rowCount(); ++i)
    if (const ExternalSource *table = program.external(i))
      bytes += table->columns().size() * sizeof(ExternalRow::Field);
  return bytes;
}

} // namespace

MemoryReport memoryOf(const Program &program, const BatchScheduler::Limits &limits,
                      const ScratchLimits &scratch, int64_t blocks) {
  const Layout &layout = *program.layout;
  MemoryReport report;
  const uint64_t block = BatchBlock::bytesFor(layout, program.perRank);
  report.parts.emplace_back("batches",
                            block > UINT64_MAX / 4096 ? UINT64_MAX / 4 : block * uint64_t(blocks));
  const uint64_t sample =
      program.slots() * sizeof(int64_t) + layout.kept.size() * sizeof(pst_tensor) +
      program.mediaCount() * sizeof(Encoded) + program.rowCount() * (sizeof(int64_t) + 1) +
      sizeof(int64_t) + externalBytes(program);
  const int64_t ahead = std::max<int64_t>(1, limits.fetchAhead / program.perRank);
  report.parts.emplace_back("parameters",
                            sample * uint64_t(program.perRank) * uint64_t(limits.prefetch + ahead));
  report.parts.emplace_back("scratch",
                            uint64_t(layout.staticScratch + (1 << 16)) * uint64_t(limits.threads));
  report.parts.emplace_back("constants", layout.constantBytes.size());
  report.parts.emplace_back("order", program.order->bytes() +
                                         (program.byLength ? program.byLength->bytes() : 0));
  report.parts.emplace_back("checkpoints", program.tables->checkpointBytes());
  report.parts.emplace_back("video indexes", indexBytes(program.tree(), "video"));
  report.parts.emplace_back("sound indexes", indexBytes(program.tree(), "wave"));
  for (const auto &[name, bytes] : report.parts)
    report.fixed += bytes;
  report.perSampleLimit = uint64_t(scratch.cap);
  report.fetchLimit = program.fetches() ? uint64_t(limits.fetchMemory) : 0;
  return report;
}

uint64_t budgetOf(uint64_t given) {
  return given ? given : uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
}

Status checkBudget(const MemoryReport &report, uint64_t given, const Program &program,
                   int prefetch) {
  if (report.fixed <= budgetOf(given))
    return {};
  return Error{Code::Limit, "the session needs " + std::to_string(report.fixed) +
                                " bytes of memory, " +
                                (given ? "the budget is " : "the machine has ") +
                                std::to_string(budgetOf(given)) + ": lower the batch size (" +
                                std::to_string(program.perRank) + ") or prefetch (" +
                                std::to_string(prefetch) + ")"};
}

int64_t mostBlocks(const MemoryReport &report, uint64_t given, const Program &program,
                   int64_t blocks) {
  const uint64_t left = budgetOf(given) - std::min(budgetOf(given), report.fixed);
  const uint64_t each =
      std::max<uint64_t>(1, BatchBlock::bytesFor(*program.layout, program.perRank));
  return blocks + int64_t(std::min<uint64_t>(left / each, INT32_MAX));
}

} // namespace penstock::runtime
