#include "runtime/sched/Session.h"

#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/media/video/VideoLibrary.h"
#include "runtime/sched/Flow.h"
#include "runtime/sched/State.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <set>
#include <unistd.h>
#include <utility>

namespace penstock::runtime {

namespace {

constexpr size_t keptReports = 65'536;

/// A batch in the caller's hands.
class Delivered final : public Batch {
public:
  Delivered(Finished &&finished, std::shared_ptr<BlockPool> pool)
      : pool(std::move(pool)), block(std::move(finished.block)), number(finished.epoch),
        samples(finished.count), placesOf(std::move(finished.positions)),
        rowsOf(std::move(finished.rows)), views(block->views(samples)) {}
  ~Delivered() override { pool->giveBackDelivered(std::move(block)); }

  uint32_t epoch() const override { return number; }
  int64_t count() const override { return samples; }
  const std::vector<OutputView> &outputs() const override { return views; }
  const std::vector<int64_t> &positions() const override { return placesOf; }
  const std::vector<int64_t> &rows() const override { return rowsOf; }
  uint64_t contentHash(int64_t slot) const override { return block->contentHash(slot); }

private:
  std::shared_ptr<BlockPool> pool;
  std::unique_ptr<BatchBlock> block;
  uint32_t number;
  int64_t samples;
  std::vector<int64_t> placesOf, rowsOf;
  std::vector<OutputView> views;
};

uint64_t deliveredBytes(const Batch &batch) {
  uint64_t total = 0;
  for (const OutputView &view : batch.outputs()) {
    uint64_t bytes = uint64_t(sizeOf(view.type));
    for (int64_t extent : view.shape)
      bytes *= uint64_t(extent);
    total += bytes;
  }
  return total;
}

int64_t positionsIn(const std::vector<BadSample> &bad) {
  int64_t count = 0;
  for (size_t i = 0; i < bad.size(); ++i)
    count += i == 0 || bad[i].position != bad[i - 1].position;
  return count;
}

} // namespace

struct Session::Impl {
  std::shared_ptr<const Program> program;
  std::shared_ptr<BlockPool> pool;
  std::shared_ptr<Device> device;
  RealClock realClock;
  const Clock *clock = &realClock;
  ScratchLimits scratch;
  Flow::Limits limits;
  MemoryReport memory;
  Processors processors;
  std::unique_ptr<Flow> flow;
  bool begun = false; // by the first next()
  std::unique_ptr<SampleRunner> alone;
  std::unique_ptr<Fetcher> aloneFiles;
  std::atomic<bool> cancelled{false};
  std::atomic<bool> closed{false};

  mutable std::mutex lock; // of all below
  SessionState place;
  std::string failure; // not empty: what every next() says
  std::vector<BadSample> reports;
  Statistics numbers;
  std::vector<Statistics::Entry> steps; ///< of the layout
  int64_t beginNs = -1;

  Result<BatchPtr> deliver(Finished &&finished);
  Status computeAlone(Work &work);
};

Session::Session(std::unique_ptr<Impl> made) : impl(std::move(made)) {}
Session::~Session() { close(); }

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

/// The most that indexes of videos take, which are kept from sample to sample.
uint64_t videoIndexBytes(const plan::PlanT &tree) {
  std::set<int> sources;
  for (const auto &media : tree.media)
    if (media->media == "video")
      sources.insert(tree.rows[size_t(media->row)]->source);
  return sources.size() * VideoStore::mostBytes;
}

/// What is taken before the first sample, whatever the samples are.
MemoryReport memoryOf(const Program &program, const Flow::Limits &limits,
                      const ScratchLimits &scratch, int64_t batchesHeld) {
  const Layout &layout = *program.layout;
  MemoryReport report;
  const uint64_t block = BatchBlock::bytesFor(layout, program.perRank);
  report.parts.emplace_back("batches", block > UINT64_MAX / 4096 ? UINT64_MAX / 4
                                                                 : block * uint64_t(batchesHeld));
  const uint64_t sample = program.slots() * sizeof(int64_t) +
                          layout.kept.size() * sizeof(pst_tensor) +
                          program.mediaCount() * sizeof(Encoded) +
                          program.rowCount() * (sizeof(int64_t) + 1) + sizeof(int64_t);
  const int64_t ahead = std::max<int64_t>(1, limits.fetchAhead / program.perRank);
  report.parts.emplace_back("parameters",
                            sample * uint64_t(program.perRank) * uint64_t(limits.prefetch + ahead));
  report.parts.emplace_back("scratch",
                            uint64_t(layout.staticScratch + (1 << 16)) * uint64_t(limits.threads));
  report.parts.emplace_back("constants", layout.constantBytes.size());
  report.parts.emplace_back("order", program.order->bytes());
  report.parts.emplace_back("checkpoints", program.tables->checkpointBytes());
  report.parts.emplace_back("video indexes", videoIndexBytes(program.tree()));
  for (const auto &[name, bytes] : report.parts)
    report.fixed += bytes;
  report.perSampleLimit = uint64_t(scratch.cap);
  report.fetchLimit = program.mediaCount() ? uint64_t(limits.fetchMemory) : 0;
  return report;
}

} // namespace

Result<std::unique_ptr<Session>> Session::open(std::shared_ptr<const Plan> plan,
                                               std::shared_ptr<const KernelTable> kernels,
                                               SessionOptions options) {
  if (Status status = checkOptions(options); !status)
    return status.error();
  const plan::PlanT &tree = plan->contents();
  auto params = bindParams(tree, options);
  if (!params)
    return params.error();
  auto layout = Layout::make(plan, std::move(kernels));
  if (!layout)
    return layout.error();
  for (const auto &media : tree.media)
    if (media->media == "video") {
      if (auto module = videoModule(); !module)
        return module.error();
    } else if (media->media != "image") {
      return Error{Code::Unsupported, "there is no decoder for `" + media->media + "`"};
    }
  auto tables = Tables::open(tree, *params, options);
  if (!tables)
    return tables.error();
  auto program = Program::make(*layout, std::move(*tables), options);
  if (!program)
    return program.error();
  const Program &p = **program;

  auto impl = std::make_unique<Impl>();
  impl->program = *program;
  impl->processors = findProcessors();
  if (options.clock)
    impl->clock = options.clock;
  impl->limits.threads =
      options.threads ? options.threads : defaultThreads(impl->processors, options.ranksHere);
  impl->limits.fetchThreads = options.fetchThreads ? options.fetchThreads : 8;
  impl->limits.prefetch = options.prefetch;
  impl->limits.fetchAhead = options.fetchAhead ? options.fetchAhead : 64;
  if (options.fetchMemory)
    impl->limits.fetchMemory = int64_t(std::min<uint64_t>(options.fetchMemory, INT64_MAX));
  if (options.sampleMemory)
    impl->scratch.cap = int64_t(std::min<uint64_t>(options.sampleMemory, INT64_MAX));
  impl->scratch.share = std::min(impl->scratch.share, impl->scratch.cap);

  const int blocks = 2 * options.prefetch;
  impl->memory = memoryOf(p, impl->limits, impl->scratch, blocks);
  const uint64_t machine = uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
  const uint64_t budget = options.memoryBudget ? options.memoryBudget : machine;
  if (impl->memory.fixed > budget)
    return Error{Code::Limit, "the session needs " + std::to_string(impl->memory.fixed) +
                                  " bytes of memory, " +
                                  (options.memoryBudget ? "the budget is " : "the machine has ") +
                                  std::to_string(budget) + ": lower the batch size (" +
                                  std::to_string(p.perRank) + ") or prefetch (" +
                                  std::to_string(options.prefetch) + ")"};
  impl->device = makeCpuDevice();
  auto pool = BlockPool::make(*layout, p.perRank, blocks, impl->device);
  if (!pool)
    return pool.error();
  impl->pool = std::move(*pool);
  impl->place.pipeline = tree.hash;
  impl->place.seed = p.seed;
  impl->place.epoch = options.epoch;
  impl->numbers.threads = impl->limits.threads;
  auto flow = Flow::make(impl->program, impl->pool, impl->scratch, *impl->clock, impl->limits);
  if (!flow)
    return flow.error();
  impl->flow = std::move(*flow);
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

Result<BatchPtr> Session::next() {
  Impl &self = *impl;
  if (self.closed || self.cancelled)
    return Error{Code::Cancelled, "the session was cancelled"};
  // Only here: single samples can be looked at all the same.
  if (const Program &p = *self.program; p.ranks(0).batches(p.positions(), p.keepLast) == 0)
    return Error{Code::InvalidArgument, "the table has " + std::to_string(p.positions()) +
                                            " rows, which do not fill one batch of " +
                                            std::to_string(p.globalBatch) +
                                            ": make it smaller, or write `last keep`"};
  const int64_t begin = self.clock->nowNs();
  {
    std::lock_guard guard(self.lock);
    if (!self.failure.empty())
      return Error{Code::Corrupt, self.failure};
    if (self.beginNs < 0)
      self.beginNs = begin;
    if (!std::exchange(self.begun, true))
      self.flow->restart({self.place.epoch, self.place.position});
  }
  Finished finished;
  const Flow::State state = self.flow->take(finished);
  const int64_t waited = self.clock->nowNs() - begin;
  std::lock_guard guard(self.lock);
  auto &wait = self.numbers.stages[size_t(Stage::Wait)];
  ++wait.count;
  wait.busyNs += waited;
  switch (state) {
  case Flow::State::Cancelled:
    return Error{Code::Cancelled, "the session was cancelled"};
  case Flow::State::NoMemory:
    return Error{Code::Limit, "all " + std::to_string(self.pool->size()) +
                                  " batches are held: release one, or raise prefetch"};
  case Flow::State::EndOfEpoch:
    self.program->tables->saveCheckpoints();
    ++self.place.epoch;
    self.place.position = 0;
    self.place.bad = 0;
    return BatchPtr();
  case Flow::State::Batch:
    break;
  }
  return self.deliver(std::move(finished));
}

Result<BatchPtr> Session::Impl::deliver(Finished &&finished) {
  // The block goes back whatever comes of it.
  const int64_t bad = positionsIn(finished.bad);
  const int64_t end = finished.end;
  std::string fatal = std::move(finished.fatal);
  Costs costs = finished.costs;
  reports.insert(reports.end(), finished.bad.begin(), finished.bad.end());
  if (reports.size() > keptReports)
    reports.erase(reports.begin(), reports.end() - keptReports);
  const int64_t allowed = program->allowedBad();
  if (fatal.empty() && place.bad + bad > allowed) {
    const BadSample &last = finished.bad.back();
    fatal = std::to_string(place.bad + bad) + " samples of epoch " + std::to_string(place.epoch) +
            " are bad, more than the " + std::to_string(allowed) + " allowed; the last is " +
            last.name + ": " + last.reason;
  }
  auto batch = std::make_unique<Delivered>(std::move(finished), pool);
  if (!fatal.empty()) {
    failure = fatal;
    return Error{Code::Corrupt, failure};
  }
  place.position = end;
  place.bad += bad;
  for (size_t i = 0; i < costs.stages.size(); ++i) {
    numbers.stages[i].count += costs.stages[i].count;
    numbers.stages[i].busyNs += costs.stages[i].busyNs;
  }
  steps.resize(program->layout->steps.size());
  for (size_t i = 0; i < costs.steps.size(); ++i) {
    steps[i].count += costs.steps[i].count;
    steps[i].busyNs += costs.steps[i].busyNs;
  }
  numbers.samples += uint64_t(batch->count());
  ++numbers.batches;
  numbers.badSamples += uint64_t(bad);
  numbers.fetchedBytes += costs.fetchedBytes;
  numbers.deliveredBytes += deliveredBytes(*batch);
  numbers.decodedBlocks += costs.decoded.blocksTransformed;
  numbers.decodedRows += costs.decoded.rowsDecoded;
  for (size_t i = 0; i < entropyPathCount; ++i)
    numbers.entropyPaths[i] += costs.decoded.entropyPaths[i];
  numbers.indexUses += costs.decoded.indexUses;
  numbers.indexMisses += costs.decoded.indexMisses;
  numbers.videos.add(costs.videos);
  return BatchPtr(std::move(batch));
}

std::string Session::state() const {
  std::lock_guard guard(impl->lock);
  return impl->place.text();
}

Status Session::restore(std::string_view text) {
  auto parsed = SessionState::parse(text);
  if (!parsed)
    return parsed.error();
  std::lock_guard guard(impl->lock);
  if (Status status = parsed->checkAgainst(impl->place, impl->program->tree().name); !status)
    return status;
  impl->place = *parsed;
  impl->failure.clear();
  if (impl->begun)
    impl->flow->restart({parsed->epoch, parsed->position});
  return {};
}

Status Session::Impl::computeAlone(Work &work) {
  auto fatal = [&] { return Error{Code::Corrupt, work.fatal}; };
  std::vector<int64_t> open;
  for (int64_t slot = 0; slot < work.count; ++slot)
    open.push_back(slot);
  for (int stage = 0; stage < program->layout->stages();) {
    std::vector<std::pair<int64_t, Failure>> failed;
    for (int64_t slot : open) {
      if (cancelled)
        return Error{Code::Cancelled, "the session was cancelled"};
      Failure failure;
      if (stage == 0) {
        if (!alone->select(work, slot))
          continue; // cancelled
        aloneFiles->fetch(work, slot);
      }
      if (!(stage == 0 ? alone->firstStage(work, slot, failure)
                       : alone->laterStage(work, slot, stage, failure)))
        failed.emplace_back(slot, std::move(failure));
    }
    if (cancelled) // a sample that was stopped is not bad
      return Error{Code::Cancelled, "the session was cancelled"};
    open.clear();
    for (const auto &[slot, failure] : failed) {
      if (!substitute(work, slot, failure))
        return fatal();
      open.push_back(slot);
    }
    if (!open.empty()) {
      stage = 0;
      continue;
    }
    ++stage;
    for (int64_t slot = 0; slot < work.count; ++slot)
      open.push_back(slot);
  }
  work.memory->compact(work.count);
  return {};
}

Result<SampleReport> Session::sample(uint32_t epoch, int64_t position) {
  Impl &self = *impl;
  const Program &program = *self.program;
  if (self.closed || self.cancelled)
    return Error{Code::Cancelled, "the session was cancelled"};
  if (position < 0 || position >= program.positions())
    return Error{Code::InvalidArgument, "there is no position " + std::to_string(position) +
                                            "; an epoch has " +
                                            std::to_string(program.positions())};
  if (!self.alone) {
    self.alone = std::make_unique<SampleRunner>(self.program, self.scratch, *self.clock);
    self.aloneFiles =
        std::make_unique<Fetcher>(self.program, imageLimits(self.scratch), *self.clock);
  }

  const int64_t number = position / program.globalBatch;
  const int64_t world = program.world;
  const RankLayout ranks =
      *RankLayout::make(program.globalBatch, uint32_t(position % world), program.world);
  const int64_t count = ranks.samples(number, program.positions());
  const int64_t index = (position - ranks.position(number, 0)) / world;
  const bool whole = program.layout->stages() > 1;
  Work work;
  work.begin(self.program, whole ? count : 1);
  work.stop = stopOf(self.cancelled);
  work.epoch = epoch;
  work.firstIndex = whole ? 0 : index;
  work.batchCount = count;
  work.batchPosition = ranks.position(number, 0);
  for (int64_t slot = 0; slot < work.count; ++slot)
    work.positions[size_t(slot)] = ranks.position(number, work.firstIndex + slot);
  work.memory = BatchBlock::make(program.layout, work.count, self.device);
  if (!work.memory)
    return Error{Code::Limit, "no memory for a sample"};

  FloatMode mode;
  if (Status status = self.computeAlone(work); !status)
    return status.error();
  self.alone->takeCosts();
  return makeSampleReport(work, whole ? index : 0);
}

Statistics Session::statistics() const {
  std::lock_guard guard(impl->lock);
  Statistics result = impl->numbers;
  for (size_t i = 0; i < impl->steps.size(); ++i) {
    const std::string &name = impl->program->layout->steps[i].name;
    auto known =
        std::find_if(result.kernels.begin(), result.kernels.end(),
                     [&](const Statistics::Kernel &kernel) { return kernel.name == name; });
    if (known == result.kernels.end())
      known = result.kernels.insert(known, {name, {}});
    known->entry.count += impl->steps[i].count;
    known->entry.busyNs += impl->steps[i].busyNs;
  }
  result.fetchedBytesHeld = uint64_t(impl->flow->peakHeldBytes());
  result.videos.add(impl->program->tables->videoCounts());
  result.elapsedNs = impl->beginNs < 0 ? 0 : impl->clock->nowNs() - impl->beginNs;
  return result;
}

std::vector<BadSample> Session::badSamples() const {
  std::lock_guard guard(impl->lock);
  return impl->reports;
}

const MemoryReport &Session::memory() const { return impl->memory; }
int64_t Session::tableLength() const { return impl->program->tables->length(0); }
int64_t Session::batchSize() const { return impl->program->perRank; }
const std::vector<std::string> &Session::warnings() const {
  return impl->program->tables->warnings();
}
const Processors &Session::processors() const { return impl->processors; }
int Session::threads() const { return impl->limits.threads; }
int64_t Session::samplesPerEpoch() const { return impl->program->samplesPerEpoch(); }

int64_t Session::batchesPerEpoch() const {
  const Program &p = *impl->program;
  return p.ranks(0).batches(p.positions(), p.keepLast);
}

uint32_t Session::epoch() const {
  std::lock_guard guard(impl->lock);
  return impl->place.epoch;
}

void Session::cancel() {
  impl->cancelled = true;
  impl->flow->cancel();
}

void Session::close() {
  impl->closed = true;
  impl->cancelled = true;
  impl->flow->stop();
  impl->program->tables->saveCheckpoints();
}

} // namespace penstock::runtime
