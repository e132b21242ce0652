// SPDX-License-Identifier: Apache-2.0
//
// Opening of a session: its program, its memory and its threads.
#include "runtime/core/Memory.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/media/video/VideoLibrary.h"
#include "runtime/sched/SessionImpl.h"
#include "runtime/sched/SessionMemory.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace penstock::runtime {

namespace {

Status checkOptions(const SessionOptions &options) {
  auto refuse = [](std::string text) { return Error{Code::InvalidArgument, std::move(text)}; };
  if (options.prefetch < 1 || options.prefetch > 1024)
    return refuse("prefetch is " + std::to_string(options.prefetch) + "; it is 1 to 1024 batches");
  if (options.threads < 0 || options.threads > 4096 || options.fetchThreads < 0 ||
      options.fetchThreads > 4096)
    return refuse("the number of threads is 0 to 4096");
  if (options.ranksHere < 1)
    return refuse("there is at least one rank on this machine");
  if (options.substitute && (std::isnan(*options.substitute) || *options.substitute > 1))
    return refuse("the share of bad samples is at most 1");
  return {};
}

/// The parameters that differ; both have a value for each of the plan's.
std::vector<size_t> changed(const std::vector<plan::ArgumentT> &before,
                            const std::vector<plan::ArgumentT> &after) {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < after.size(); ++i)
    if (before[i].integer != after[i].integer || before[i].number != after[i].number ||
        before[i].text != after[i].text)
      numbers.push_back(i);
  return numbers;
}

/// Refuses a change of parameters that tables read: those are chosen when a session is opened.
Status checkChange(const plan::PlanT &tree, const std::vector<size_t> &numbers) {
  for (const auto &source : tree.sources)
    for (const auto &argument : source->arguments)
      for (size_t number : numbers)
        if (argument->param == int32_t(number))
          return Error{Code::InvalidArgument, "parameter `" + tree.params[number]->name +
                                                  "` says what `" + source->kind +
                                                  "` reads; open another session for that"};
  return {};
}

std::string unknownLevel(const std::string &name, const std::string &current,
                         const std::vector<TransferLevel> &others) {
  if (others.empty())
    return "the program was compiled for one level of transfers; compile it for `all`";
  std::string names = "`" + current + "`";
  for (const TransferLevel &other : others)
    names += ", `" + other.name + "`";
  return "no level `" + name + "` of transfers; there are " + names;
}

Status checkEpochs(const Program &program, const SessionOptions &options) {
  if (options.samplesOnly)
    return {};
  // What the caller asked for stands above the text.
  const std::string keep =
      options.last ? "have the session keep the last batch" : "write `last keep`";
  if (program.byLength) {
    if (const std::string text = program.byLength->unfilled(); !text.empty())
      return Error{Code::InvalidArgument, text + ": ask for fewer buckets, or " + keep};
    if (program.batchesFrom(0) == 0)
      return Error{Code::InvalidArgument,
                   "the rows make " + std::to_string(program.byLength->batches()) +
                       " batches, fewer than the " + std::to_string(program.world) +
                       " ranks: " + keep + ", or lower the limit"};
  }
  if (program.batchesPerEpoch().value_or(1) > 0)
    return {};
  const int64_t taken = program.positions(), rows = program.tables->length(0);
  const std::string which = taken == rows ? "the table has " + std::to_string(rows) + " rows"
                                          : "the order takes " + std::to_string(taken) + " of " +
                                                std::to_string(rows) + " rows (`where`, or a list)";
  return Error{Code::InvalidArgument, which + ", which do not fill one batch of " +
                                          std::to_string(program.globalBatch) +
                                          ": make it smaller, or " + keep};
}

} // namespace

Result<LoadedPlan> loadPlan(std::shared_ptr<const Plan> plan,
                            std::shared_ptr<const KernelTable> kernels,
                            const std::vector<DeviceImage> &deviceCode,
                            const SessionOptions &options) {
  auto layout = Layout::make(plan, std::move(kernels), options.outputsOnHost);
  if (!layout)
    return layout.error();
  LoadedPlan loaded{std::move(*layout), nullptr};
  if (loaded.layout->deviceStage() < 0)
    return loaded;
  if (!options.device)
    return Error{Code::InvalidArgument, "kernels or outputs of `" + plan->contents().name +
                                            "` are on a GPU: open it with one"};
  auto program = DeviceProgram::load(*loaded.layout, options.device, deviceCode);
  if (!program)
    return program.error();
  loaded.device = std::move(*program);
  return loaded;
}

Result<std::unique_ptr<Session>> Session::open(std::shared_ptr<const Plan> plan,
                                               std::shared_ptr<const KernelTable> kernels,
                                               SessionOptions options) {
  keepReserve();
  if (Status status = checkOptions(options); !status)
    return status.error();
  const plan::PlanT &tree = plan->contents();
  auto params = bindParams(tree, options);
  if (!params)
    return params.error();
  auto loaded = loadPlan(plan, std::move(kernels), options.deviceCode, options);
  if (!loaded)
    return loaded.error();
  for (const auto &media : tree.media)
    if (media->media == "video")
      if (auto module = videoModule(); !module)
        return module.error();
  auto tables = Tables::open(tree, *params, options);
  if (!tables)
    return tables.error();
  auto impl = std::make_unique<Impl>();
  impl->tables = std::move(*tables);
  auto program = Program::make(loaded->layout, impl->tables, options, loaded->device);
  if (!program)
    return program.error();

  impl->params = std::move(*params);
  impl->processors = findProcessors();
  if (options.clock)
    impl->clock = options.clock;
  impl->limits.threads =
      options.threads ? options.threads : defaultThreads(impl->processors, options.ranksHere);
  const int readers = options.files ? options.files->readers() : 8;
  impl->limits.fetchThreads = options.fetchThreads ? options.fetchThreads : readers;
  impl->limits.prefetch = options.prefetch;
  impl->limits.fetchAhead =
      options.fetchAhead ? options.fetchAhead : std::max(64, 2 * impl->limits.fetchThreads);
  impl->limits.isFetchMemoryGiven = options.fetchMemory || options.memoryBudget;
  if (options.fetchMemory)
    impl->limits.fetchMemory = int64_t(std::min<uint64_t>(options.fetchMemory, INT64_MAX));
  else if (options.memoryBudget)
    impl->limits.fetchMemory =
        int64_t(std::min<uint64_t>(options.memoryBudget, uint64_t(impl->limits.fetchMemory)));
  if (options.sampleMemory)
    impl->scratch.cap = int64_t(std::min<uint64_t>(options.sampleMemory, INT64_MAX));
  impl->scratch.share = std::min(impl->scratch.share, impl->scratch.cap);
  impl->transfer = options.transfer;
  impl->loaded.emplace(options.transfer, std::move(*loaded));
  impl->place.pipeline = tree.hash;
  impl->place.seed = (*program)->seed;
  impl->place.rank = (*program)->rank;
  impl->place.world = (*program)->world;
  impl->place.epoch = options.epoch;
  impl->place.table = impl->tables->length(0);
  impl->place.callerOrders = (*program)->callerOrders;
  impl->numbers.threads = impl->limits.threads;
  impl->options = std::move(options);
  if (Status status = impl->prepare(std::move(*program)); !status)
    return status.error();
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

Status Session::Impl::prepare(std::shared_ptr<const Program> wanted, bool handsOver) {
  if (Status status = checkEpochs(*wanted, options); !status)
    return status;
  const int blocks = 2 * options.prefetch;
  MemoryReport report = memoryOf(*wanted, limits, scratch, blocks);
  if (Status status = checkBudget(report, options.memoryBudget, *wanted, options.prefetch); !status)
    return status;
  handsOver = handsOver && begun && !before &&
              report.fixed + memory.fixed <= budgetOf(options.memoryBudget);
  // Outputs that stay on a device lie in its memory, and what it copies from is its, too.
  std::shared_ptr<Device> deviceOf = wanted->device ? wanted->device->device
                                     : device       ? device
                                                    : makeCpuDevice();
  std::shared_ptr<BlockPool> blocksOf = pool;
  if (!pool || !pool->isOf(*wanted->layout) || pool->capacity() < wanted->perRank) {
    const int64_t most =
        options.growHeld ? mostBlocks(report, options.memoryBudget, *wanted, blocks) : blocks;
    auto made = BlockPool::make(wanted->layout, wanted->perRank, blocks, most, deviceOf);
    if (!made)
      return made.error();
    blocksOf = std::move(*made);
  }
  if (scheduler && !handsOver)
    scheduler->stop(); // its threads end before others begin
  auto next = BatchScheduler::make(wanted, blocksOf, scratch, *clock, limits);
  if (!next)
    return next.error();
  alone.reset();
  std::unique_ptr<BatchScheduler> ended, endedToo; // behind the lock
  std::lock_guard guard(lock);
  if (scheduler)
    numbers.fetchedBytesHeld =
        std::max(numbers.fetchedBytesHeld, uint64_t(scheduler->peakHeldBytes()));
  endedToo = std::move(before);
  std::unique_ptr<BatchScheduler> &last = handsOver ? before : ended;
  last = std::exchange(scheduler, std::move(*next));
  pool = std::move(blocksOf);
  program = std::move(wanted);
  memory = std::move(report);
  device = std::move(deviceOf);
  place.lengths = program->byLength ? program->byLength->fingerprint() : 0;
  place.taken = program->positions();
  begun = handsOver;
  if (handsOver)
    before->handOver(*scheduler);
  if (cancelled)
    scheduler->cancel();
  return {};
}

Status Session::Impl::changeParams(const std::vector<ParamValue> &values) {
  std::vector<ParamValue> wanted = options.params;
  for (const ParamValue &value : values) {
    std::erase_if(wanted, [&](const ParamValue &other) { return other.name == value.name; });
    wanted.push_back(value);
  }
  SessionOptions asked = options;
  asked.params = std::move(wanted);
  const plan::PlanT &tree = program->tree();
  auto bound = bindParams(tree, asked);
  if (!bound)
    return bound.error();
  const std::vector<size_t> numbers = changed(params, *bound);
  if (numbers.empty())
    return {};
  if (Status status = checkChange(tree, numbers); !status)
    return status;
  auto made = Program::make(program->layout, tables, asked, program->device, program->headers);
  if (!made)
    return made.error();
  if (Status status = prepare(std::move(*made)); !status)
    return status;
  options.params = std::move(asked.params);
  params = std::move(*bound);
  return {};
}

Status Session::setTransfer(std::string_view level) {
  Impl &self = *impl;
  if (self.closed || self.cancelled)
    return Error{Code::Cancelled, "the session was cancelled"};
  const std::string name(level);
  if (name == self.transfer)
    return {};
  auto known = self.loaded.find(name);
  if (known == self.loaded.end()) {
    const std::vector<TransferLevel> &all = self.options.transfers;
    const auto wanted = std::find_if(
        all.begin(), all.end(), [&](const TransferLevel &other) { return other.name == name; });
    if (wanted == all.end())
      return Error{Code::InvalidArgument, unknownLevel(name, self.transfer, all)};
    auto plan = loadPlan(wanted->plan, wanted->kernels, wanted->deviceCode, self.options);
    if (!plan)
      return plan.error();
    known = self.loaded.emplace(name, std::move(*plan)).first;
  }
  auto made = Program::make(known->second.layout, self.tables, self.options, known->second.device,
                            self.program->headers);
  if (!made)
    return made.error();
  if (Status status = self.prepare(std::move(*made), true); !status)
    return status;
  std::lock_guard guard(self.lock);
  self.transfer = name;
  return {};
}

std::string Session::transfer() const {
  std::lock_guard guard(impl->lock);
  return impl->transfer;
}

Status Session::start(uint32_t epoch, const std::vector<ParamValue> &params) {
  Impl &self = *impl;
  if (self.closed || self.cancelled)
    return Error{Code::Cancelled, "the session was cancelled"};
  if (!params.empty())
    if (Status status = self.changeParams(params); !status)
      return status;
  std::lock_guard guard(self.lock);
  self.place.epoch = epoch;
  self.place.position = self.place.bad = 0;
  self.last.reset();
  self.allowed.reset();
  self.place.asked.clear();
  self.failure.clear();
  self.asking = {};
  if (self.begun)
    self.beginHere(true);
  return {};
}

} // namespace penstock::runtime
