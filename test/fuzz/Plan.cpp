// SPDX-License-Identifier: Apache-2.0
//
// Plans as they come from caches and bundles. What is loaded can be opened as a
// session, whose kernels do nothing: no crash, whatever the plan says.
#include "runtime/core/Plan.h"
#include "runtime/core/FakeFileSystem.h"
#include "runtime/sched/Session.h"
#include "test/fuzz/Fuzz.h"

using penstock::fuzz::require;
using namespace penstock::runtime;

namespace {
class Nothing final : public KernelTable {
public:
  explicit Nothing(size_t count) : count(count) {}
  size_t size() const override { return count; }
  pst_kernel kernel(size_t) const override {
    return [](pst_kernel_args *) -> int32_t { return 0; };
  }

private:
  size_t count;
};
} // namespace

static void open(const std::shared_ptr<const Plan> &plan) {
  FakeFileSystem files;
  files.addFile("/data/a/1.jpg", "no picture");
  static const std::vector<uint8_t> memory(4096);
  SessionOptions options;
  options.files = &files;
  options.threads = options.fetchThreads = 1;
  options.memoryBudget = options.sampleMemory = 16 << 20;
  for (const auto &param : plan->contents().params)
    options.params.push_back({param->name, std::string("/data")});
  // A table of three rows, where the columns are such as memory can hold.
  for (const auto &source : plan->contents().sources)
    for (const auto &column : source->columns) {
      MemoryColumn held{column->name, column->type, {3}, memory.data(), nullptr};
      uint64_t bytes = 3 * 8;
      for (const auto &dim : column->dims) {
        held.extents.push_back(std::max<int64_t>(dim->extent, 0));
        bytes *= std::min<uint64_t>(uint64_t(held.extents.back()), 4096);
      }
      if (source->kind == "raw" && bytes <= memory.size())
        options.memory.push_back(held);
    }
  const auto kernels = std::make_shared<Nothing>(plan->contents().kernels.size());
  const auto session = Session::open(plan, kernels, options);
  require(session.ok() || !session.error().message.empty(), "a refusal has a reason");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const auto plan = Plan::load({data, size});
  if (!plan) {
    require(!plan.error().message.empty(), "a refusal has a reason");
    return 0;
  }
  const std::vector<uint8_t> again = Plan::serialize((*plan)->contents());
  require(Plan::load(again).ok(), "a loaded plan can be stored and loaded again");
  open(*plan);
  return 0;
}
