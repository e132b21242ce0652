// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/Session.h"

#include "runtime/sched/SessionImpl.h"

#include <algorithm>
#include <utility>

namespace penstock::runtime {

namespace {

constexpr size_t keptReports = 65'536;

/// A batch in the caller's hands.
class Delivered final : public Batch {
public:
  Delivered(Finished &&finished, std::shared_ptr<BlockPool> pool, int64_t waitedNs, void *stream)
      : pool(std::move(pool)), sessionStream(stream), block(std::move(finished.block)),
        number(finished.epoch), samples(finished.count), waited(waitedNs),
        placesOf(std::move(finished.positions)), rowsOf(std::move(finished.rows)),
        views(block->views(samples)) {}
  ~Delivered() override {
    if (!block->isOrdered())
      block->usedOn(sessionStream);
    pool->giveBackDelivered(std::move(block));
  }

  uint32_t epoch() const override { return number; }
  int64_t count() const override { return samples; }
  const std::vector<OutputView> &outputs() const override { return views; }
  const std::vector<int64_t> &positions() const override { return placesOf; }
  const std::vector<int64_t> &rows() const override { return rowsOf; }
  int64_t waitedNs() const override { return waited; }
  uint64_t contentHash(int64_t slot) const override { return block->contentHash(slot, samples); }
  const void *onHost(size_t output) const override { return block->onHost(output, samples); }
  void *stream() const override { return sessionStream; }
  void usedOn(void *stream) override { block->usedOn(stream); }

private:
  std::shared_ptr<BlockPool> pool;
  void *sessionStream;
  std::unique_ptr<BatchBlock> block;
  uint32_t number;
  int64_t samples;
  int64_t waited;
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

Session::Session(std::unique_ptr<Impl> made) : impl(std::move(made)) {}
Session::~Session() { close(); }

void Session::Impl::beginHere(bool keeps) {
  begun = true;
  before.reset();
  scheduler->restart({place.epoch, place.position}, keeps);
  for (const std::vector<int64_t> &rows : place.asked)
    scheduler->give(rows);
}

Status Session::giveRows(std::vector<int64_t> rows) {
  Impl &self = *impl;
  const Program &program = *self.program;
  if (!program.callerOrders)
    return Error{Code::InvalidArgument, "this session's rows come from the pipeline's order"};
  if (int64_t(rows.size()) > program.perRank)
    return Error{Code::InvalidArgument, "a batch of " + std::to_string(rows.size()) +
                                            " rows, more than the batch size " +
                                            std::to_string(program.perRank)};
  for (int64_t row : rows)
    if (row < 0 || row >= tableLength())
      return Error{Code::InvalidArgument, "row " + std::to_string(row) + " of a table of " +
                                              std::to_string(tableLength())};
  std::lock_guard guard(self.lock);
  if (!self.begun)
    self.beginHere();
  self.place.asked.push_back(rows);
  ++self.given;
  self.scheduler->give(std::move(rows));
  return {};
}

std::optional<Session::WantedRows> Session::wantedRows() {
  Impl &self = *impl;
  std::lock_guard guard(self.lock);
  if (!self.program->callerOrders || self.closed || self.cancelled || !self.failure.empty())
    return std::nullopt;
  if (!self.begun)
    self.beginHere();
  if (!self.scheduler->wantsRows())
    return std::nullopt;
  const auto &asked = self.place.asked;
  const auto ended =
      std::count_if(asked.begin(), asked.end(), [](const auto &batch) { return batch.empty(); });
  if (ended > 1)
    return std::nullopt;
  return WantedRows{self.place.epoch + uint32_t(ended), self.given};
}

Status Session::Impl::askRows(Session &session) {
  std::vector<int64_t> rows;
  while (const auto wanted = session.wantedRows()) {
    const uint32_t epoch = wanted->epoch;
    rows.resize(size_t(program->perRank));
    const int64_t count = options.nextRows(epoch, rows.data(), program->perRank);
    if (count == SessionOptions::rowsNotYet)
      return {};
    if (count < 0 || count > program->perRank)
      return Error{Code::InvalidArgument, "asked for at most " + std::to_string(program->perRank) +
                                              " rows of epoch " + std::to_string(epoch) +
                                              ", the caller answered " + std::to_string(count)};
    rows.resize(size_t(count));
    if (Status status = session.giveRows(rows); !status)
      return status;
  }
  return {};
}

Result<BatchPtr> Session::next() {
  auto taken = nextWithin(-1);
  if (!taken)
    return taken.error();
  if (taken->what == Taken::NoRows)
    return Error{Code::InvalidArgument, "no rows are left of those that the caller gave"};
  return std::move(taken->batch);
}

Result<Session::Taken> Session::nextWithin(int64_t timeoutNs) {
  Impl &self = *impl;
  if (self.closed || self.cancelled)
    return Error{Code::Cancelled, "the session was cancelled"};
  if (self.options.samplesOnly)
    return Error{Code::InvalidArgument, "the session was opened for single samples only"};
  const int64_t begin = self.clock->nowNs();
  {
    std::lock_guard guard(self.lock);
    if (!self.failure.empty())
      return Error{Code::Corrupt, self.failure};
    if (self.beginNs < 0)
      self.beginNs = begin;
    if (!self.begun)
      self.beginHere();
  }
  if (self.options.nextRows && self.asking)
    self.asking = self.askRows(*this);
  Finished finished;
  const BatchScheduler::State state = self.take(finished, timeoutNs);
  return self.count(state, std::move(finished), self.clock->nowNs() - begin);
}

BatchScheduler::State Session::Impl::take(Finished &finished, int64_t timeoutNs) {
  using State = BatchScheduler::State;
  if (before) {
    const State state = before->take(finished, timeoutNs);
    if (state != State::HandedOver)
      return state;
    scheduler->follow(*before);
    std::unique_ptr<BatchScheduler> ended; // behind the lock: its threads end
    std::lock_guard guard(lock);
    numbers.fetchedBytesHeld =
        std::max(numbers.fetchedBytesHeld, uint64_t(before->peakHeldBytes()));
    ended = std::move(before);
  }
  return scheduler->take(finished, timeoutNs);
}

Result<Session::Taken> Session::Impl::count(BatchScheduler::State state, Finished &&finished,
                                            int64_t waited) {
  std::lock_guard guard(lock);
  auto &wait = numbers.stages[size_t(Stage::Wait)];
  wait.count += state != BatchScheduler::State::Timeout;
  wait.busyNs += waited;
  waitedNs += waited;
  isLate = isLate || finished.isLate || state == BatchScheduler::State::Timeout;
  switch (state) {
  case BatchScheduler::State::Cancelled:
    return Error{Code::Cancelled, "the session was cancelled"};
  case BatchScheduler::State::NoMemory:
    return Error{Code::Limit,
                 "all " + std::to_string(pool->size()) +
                     (options.growHeld ? " batches that the memory budget allows are held: release "
                                         "one, or raise the budget"
                                       : " batches are held: release one, or raise prefetch")};
  case BatchScheduler::State::NoRows:
    if (!asking)
      return std::exchange(asking, {}).error();
    return Taken{Taken::NoRows, nullptr};
  case BatchScheduler::State::Timeout:
  case BatchScheduler::State::HandedOver: // take() has gone on
    return Taken{Taken::Timeout, nullptr};
  case BatchScheduler::State::EndOfEpoch:
    tables->saveCheckpoints();
    ++place.epoch;
    last.reset();
    place.position = 0;
    place.bad = 0;
    if (!place.asked.empty())
      place.asked.pop_front();
    return Taken{Taken::EndOfEpoch, nullptr};
  case BatchScheduler::State::Batch:
    break;
  }
  auto batch = deliver(std::move(finished));
  if (!batch)
    return batch.error();
  return Taken{Taken::Batch, std::move(*batch)};
}

void Session::Impl::countStep(const std::string &name, const Statistics::Entry &entry) {
  auto known = std::find_if(numbers.kernels.begin(), numbers.kernels.end(),
                            [&](const Statistics::Kernel &kernel) { return kernel.name == name; });
  if (known == numbers.kernels.end())
    known = numbers.kernels.insert(known, {name, {}});
  known->entry.count += entry.count;
  known->entry.busyNs += entry.busyNs;
}

int64_t Session::Impl::allowedBad() {
  // Kept: by length, it takes a look at all batches of the epoch.
  if (!allowed || allowed->epoch != place.epoch)
    allowed = {place.epoch, program->allowedBad(place.epoch, place.position)};
  return allowed->bad;
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
  if (fatal.empty() && bad > 0 && place.bad + bad > allowedBad()) {
    const BadSample &last = finished.bad.back();
    fatal = std::to_string(place.bad + bad) + " samples of epoch " + std::to_string(place.epoch) +
            " are bad, more than the " + std::to_string(allowedBad()) + " allowed; the last is " +
            last.name + ": " + last.reason;
  }
  const int64_t waited = std::exchange(waitedNs, 0);
  const bool wasLate = std::exchange(isLate, false);
  const std::shared_ptr<const Program> made = finished.program;
  std::shared_ptr<BlockPool> poolOf = std::move(finished.pool);
  auto batch =
      std::make_unique<Delivered>(std::move(finished), std::move(poolOf), waited, options.stream);
  if (!fatal.empty()) {
    failure = fatal;
    return Error{Code::Corrupt, failure};
  }
  last = {place.position, place.bad, {}};
  // A last batch that is not full ends where the epoch does, however many ranks go on from there.
  place.position = made->callerOrders ? end : std::min(end, made->endOfEpoch());
  place.bad += bad;
  if (!place.asked.empty()) {
    last->asked = std::move(place.asked.front());
    place.asked.pop_front();
  }
  numbers.lastWaitNs = waited;
  numbers.longestWaitNs = std::max(numbers.longestWaitNs, waited);
  numbers.lateBatches += wasLate;
  for (size_t i = 0; i < costs.stages.size(); ++i) {
    numbers.stages[i].count += costs.stages[i].count;
    numbers.stages[i].busyNs += costs.stages[i].busyNs;
  }
  for (size_t i = 0; i < costs.steps.size(); ++i)
    countStep(made->layout->steps[i].name, costs.steps[i]);
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

SessionState Session::Impl::placeBeforeLast() const {
  SessionState before = place;
  if (last) {
    before.position = last->position;
    before.bad = last->bad;
    if (place.callerOrders)
      before.asked.push_front(last->asked);
  }
  return before;
}

std::string Session::state(bool beforeLast) const {
  std::lock_guard guard(impl->lock);
  const bool withAsked = !impl->options.askAgain;
  return (beforeLast ? impl->placeBeforeLast() : impl->place).text(withAsked);
}

Status Session::restore(std::string_view text) {
  auto parsed = SessionState::parse(text);
  if (!parsed)
    return parsed.error();
  std::lock_guard guard(impl->lock);
  if (Status status = parsed->checkAgainst(impl->place, impl->program->tree().name); !status)
    return status;
  if (!parsed->callerOrders && parsed->position > impl->program->endOfEpoch())
    return Error{Code::InvalidArgument, "the state is at position " +
                                            std::to_string(parsed->position) +
                                            ", behind the end of an epoch of " +
                                            std::to_string(impl->program->endOfEpoch())};
  for (const std::vector<int64_t> &rows : parsed->asked)
    for (int64_t row : rows)
      if (row >= impl->tables->length(0) || int64_t(rows.size()) > impl->program->perRank)
        return Error{Code::InvalidArgument, "the state is of another table or a larger batch"};
  parsed->adopt(impl->place);
  impl->place = std::move(*parsed);
  impl->last.reset();
  impl->allowed.reset();
  impl->failure.clear();
  impl->asking = {};
  if (impl->begun)
    impl->beginHere();
  return {};
}

Result<SampleReport> Session::sample(uint32_t epoch, int64_t position) {
  Impl &self = *impl;
  if (self.closed || self.cancelled)
    return Error{Code::Cancelled, "the session was cancelled"};
  if (self.program->callerOrders)
    return Error{Code::InvalidArgument,
                 "rows come from the caller, so that no position has a row of its own"};
  if (!self.alone)
    self.alone = std::make_unique<SingleSample>(self.program, self.device, self.scratch,
                                                *self.clock, self.cancelled);
  return self.alone->at(epoch, position);
}

Statistics Session::statistics() const {
  std::lock_guard guard(impl->lock);
  Statistics result = impl->numbers;
  result.fetchedBytesHeld =
      std::max(result.fetchedBytesHeld, uint64_t(impl->scheduler->peakHeldBytes()));
  result.blocks = impl->pool->size();
  result.videos.add(impl->tables->videoCounts());
  result.elapsedNs = impl->beginNs < 0 ? 0 : impl->clock->nowNs() - impl->beginNs;
  return result;
}

std::vector<BadSample> Session::badSamples() const {
  std::lock_guard guard(impl->lock);
  return impl->reports;
}

MemoryReport Session::memory() const {
  std::lock_guard guard(impl->lock);
  return impl->memory;
}
DeviceMemory Session::deviceMemory() const {
  std::lock_guard guard(impl->lock);
  return impl->device->taken();
}
int64_t Session::tableLength() const { return impl->tables->length(0); }
std::vector<std::string> Session::classNames() const { return impl->tables->classNames(0); }
Result<std::string> Session::rowText(int64_t row, std::string_view column) const {
  return impl->tables->text(0, row, column);
}
// With parameters, start() has another program.
int64_t Session::batchSize() const {
  std::lock_guard guard(impl->lock);
  return impl->program->perRank;
}
const std::vector<std::string> &Session::warnings() const { return impl->tables->warnings(); }
const Processors &Session::processors() const { return impl->processors; }
int Session::threads() const { return impl->limits.threads; }

int64_t Session::batchesPerEpoch() const {
  std::lock_guard guard(impl->lock);
  return impl->program->batchesPerEpoch().value_or(-1);
}
int64_t Session::samplesPerEpoch() const {
  std::lock_guard guard(impl->lock);
  return impl->program->callerOrders ? -1 : impl->program->samplesPerEpoch();
}

uint32_t Session::epoch() const {
  std::lock_guard guard(impl->lock);
  return impl->place.epoch;
}

int64_t Session::position(bool beforeLast) const {
  std::lock_guard guard(impl->lock);
  const SessionState place = beforeLast ? impl->placeBeforeLast() : impl->place;
  const auto &byLength = impl->program->byLength;
  return byLength ? byLength->samplesBefore(place.seed, place.epoch, place.position)
                  : place.position;
}

void Session::cancel() {
  impl->cancelled = true;
  std::lock_guard guard(impl->lock);
  if (impl->before)
    impl->before->cancel();
  impl->scheduler->cancel();
}

void Session::close() {
  impl->closed = true;
  impl->cancelled = true;
  if (impl->options.files)
    impl->options.files->cancel();
  if (impl->before)
    impl->before->stop();
  impl->scheduler->stop();
  impl->tables->saveCheckpoints();
}

} // namespace penstock::runtime
