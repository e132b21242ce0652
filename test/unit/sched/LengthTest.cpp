// SPDX-License-Identifier: Apache-2.0
//
// Batches by length in a session: what is delivered, to whom, and how it is filled up.
#include "test/unit/sched/Pipelines.h"

#include "runtime/abi/random.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <set>
#include <thread>
#include <tuple>

namespace penstock::test {

namespace {

constexpr int64_t bound = 64;

/// raw(value: i64): the length, and that of output `wave: i32[n, a <= 64]`, whose elements
/// depend on the draw. A sample of a length of 13 is bad.
Pipeline lengthPipeline(int64_t limit, int64_t buckets, plan::Order order = plan::Order::shuffled,
                        bool fills = true) {
  Pipeline p = valuePipeline();
  p.plan.order = order;
  p.plan.rows_kernel = p.kernel([](pst_kernel_args *args) -> int32_t {
    int64_t *s = args->scalars;
    s[20] = std::bit_cast<int64_t>(double(s[8]) - 0.5); // rounded up
    return 0;
  });
  p.plan.setup = p.kernel([](pst_kernel_args *args) -> int32_t {
    int64_t *s = args->scalars;
    const random::Key key{uint64_t(s[PST_ENTRY_SEED]), uint64_t(s[PST_ENTRY_POSITION]),
                          uint32_t(s[PST_ENTRY_EPOCH]), 0};
    s[9] = random::integer(random::bits(key, 77), 0, 1000);
    args->failure[0] = s[8];
    return s[8] == 13 ? 2 : 0;
  });
  for (auto [id, message] : {std::pair(1, "its length is {0}, and a batch takes {1} elements"),
                             std::pair(2, "a length of {0}")}) {
    plan::CheckT &check = Pipeline::add(p.plan.checks);
    check.id = id;
    check.message = message;
    check.file = "test.pipe";
    check.line = 4;
    check.column = 9;
  }
  const int out = p.output("wave", DType::i32, {-1});
  plan::OutputT &wave = *p.plan.outputs[0];
  for (plan::DimT *dim : {wave.dims[1].get(), p.plan.buffers[size_t(out)]->dims[0].get()}) {
    dim->slot = 8;
    dim->bound = bound;
  }
  wave.ragged_axis = 1;
  wave.length_slot = 8;
  if (fills)
    wave.fill = {0xfe, 0xff, 0xff, 0xff};
  p.step(p.kernel([](pst_kernel_args *args) -> int32_t {
    const pst_tensor &to = args->tensors[0];
    for (int64_t i = 0; i < to.extent[0]; ++i) {
      const int32_t element = int32_t(args->scalars[0] + i);
      std::memcpy(static_cast<char *>(to.data) + i * to.stride[0], &element, 4);
    }
    return 0;
  }),
         {}, {out}, {9});
  p.scalarOutput("length", DType::i64, 8);
  p.plan.batch = std::make_unique<plan::BatchT>();
  p.plan.batch->by_length = std::make_unique<plan::ByLengthT>();
  p.plan.batch->by_length->limit = limit;
  p.plan.batch->by_length->buckets = buckets;
  p.plan.batch->by_length->length_slot = 20;
  p.plan.batch->by_length->too_long = 1;
  return p;
}

struct LengthTable {
  explicit LengthTable(int64_t rows, bool hasBad = false) {
    for (int64_t r = 0; r < rows; ++r) {
      lengths.push_back(1 + int64_t(random::mix(5, uint64_t(r)) % 60));
      if (!hasBad && lengths.back() == 13)
        lengths.back() = 14;
    }
  }
  SessionOptions options(int threads = 2, uint32_t rank = 0, uint32_t world = 1) const {
    SessionOptions options;
    options.memory = {{"value", DType::i64, {int64_t(lengths.size())}, lengths.data(), nullptr}};
    options.threads = threads;
    options.rank = rank;
    options.world = world;
    return options;
  }
  std::vector<int64_t> lengths;
};

using Batches = std::vector<std::vector<std::string>>; // samples as text

Batches readBatches(Session &session, int64_t most = INT64_MAX) {
  Batches result;
  while (int64_t(result.size()) < most) {
    auto batch = session.next();
    EXPECT_TRUE(batch) << batch.error().message;
    if (!batch || !*batch)
      break;
    result.emplace_back();
    for (int64_t slot = 0; slot < (*batch)->count(); ++slot)
      result.back().push_back(line(**batch, slot));
  }
  return result;
}

std::string refusal(const Pipeline &p, SessionOptions options) {
  auto session = p.open(std::move(options));
  return session ? "" : session.error().message;
}

TEST(Lengths, ABatchIsAsLongAsItsLongest) {
  LengthTable table(200);
  auto session = lengthPipeline(300, 4).open(table.options());
  ASSERT_TRUE(session) << session.error().message;
  std::set<int64_t> counts, widths;
  for (;;) {
    auto batch = (*session)->next();
    ASSERT_TRUE(batch) << batch.error().message;
    if (!*batch)
      break;
    const OutputView &wave = (*batch)->outputs()[0];
    const auto *lengths = static_cast<const int64_t *>((*batch)->outputs()[1].data);
    const int64_t count = (*batch)->count();
    ASSERT_GT(count, 0);
    const int64_t longest = *std::max_element(lengths, lengths + count);
    EXPECT_EQ(wave.axes, (std::vector<std::string>{"n", "a"}));
    EXPECT_EQ(wave.shape, (std::vector<int64_t>{count, longest}));
    EXPECT_EQ(wave.strides, (std::vector<int64_t>{4 * longest, 4}));
    EXPECT_EQ(wave.offsets, nullptr);
    EXPECT_LE(count * longest, 300);
    const auto *values = static_cast<const int32_t *>(wave.data);
    for (int64_t slot = 0; slot < count; ++slot)
      for (int64_t i = 0; i < longest; ++i) {
        const int32_t found = values[slot * longest + i];
        if (i < lengths[slot])
          EXPECT_EQ(found, values[slot * longest] + i);
        else
          EXPECT_EQ(found, -2);
      }
    counts.insert(count);
    widths.insert(longest);
  }
  EXPECT_EQ(counts.size(), 4u) << "a number of samples for each bucket";
  EXPECT_GT(widths.size(), 4u);
  EXPECT_EQ((*session)->batchSize(), *counts.rbegin());
}

TEST(Lengths, RaggedOutputsAreJoinedAsEver) {
  LengthTable table(200);
  auto filled = lengthPipeline(300, 4).open(table.options());
  auto ragged = lengthPipeline(300, 4, plan::Order::shuffled, false).open(table.options());
  ASSERT_TRUE(filled && ragged);
  // The bytes that a sample has do not depend on how they are delivered.
  EXPECT_EQ(readBatches(**filled), readBatches(**ragged));
  auto batch = (*ragged)->next();
  ASSERT_TRUE(batch && *batch);
  const OutputView &wave = (*batch)->outputs()[0];
  ASSERT_NE(wave.offsets, nullptr);
  EXPECT_EQ(wave.shape, std::vector<int64_t>{wave.offsets[(*batch)->count()]});
}

TEST(Lengths, DoNotDependOnThreadsOrPrefetch) {
  LengthTable table(300, true);
  const Pipeline p = lengthPipeline(300, 4);
  auto first = p.open(table.options(1));
  ASSERT_TRUE(first) << first.error().message;
  Batches expected = readBatches(**first);
  ASSERT_FALSE(expected.empty());
  EXPECT_EQ(int64_t(expected.size()), (*first)->batchesPerEpoch());
  for (auto [threads, prefetch] : {std::pair(2, 1), std::pair(3, 5), std::pair(8, 2)}) {
    SessionOptions options = table.options(threads);
    options.prefetch = prefetch;
    auto other = p.open(options);
    ASSERT_TRUE(other);
    EXPECT_EQ(readBatches(**other), expected);
  }
  const Batches second = readBatches(**first);
  EXPECT_EQ(second.size(), expected.size()) << "all epochs have as many";
  EXPECT_NE(second, expected);
}

TEST(Lengths, GoOnAnywhereUnderAnyNumberOfRanks) {
  LengthTable table(200);
  const Pipeline p = lengthPipeline(300, 4);
  auto one = p.open(table.options());
  ASSERT_TRUE(one);
  const Batches all = readBatches(**one);
  for (int64_t given : {0, 1, 5, 11}) {
    auto session = p.open(table.options());
    ASSERT_TRUE(session);
    readBatches(**session, given);
    const std::string state = (*session)->state();
    EXPECT_NE(state.find(" position=" + std::to_string(given) + " bad=0 lengths="),
              std::string::npos)
        << state;
    int64_t samples = 0;
    for (int64_t i = 0; i < given; ++i)
      samples += int64_t(all[size_t(i)].size());
    EXPECT_EQ((*session)->position(), samples);
    for (uint32_t world : {1u, 2u, 3u}) {
      Batches rest;
      const int64_t rounds = (int64_t(all.size()) - given) / world;
      rest.resize(size_t(rounds * world));
      for (uint32_t rank = 0; rank < world; ++rank) {
        auto other = p.open(table.options(3, rank, world));
        ASSERT_TRUE(other);
        ASSERT_TRUE((*other)->restore(state));
        const Batches own = readBatches(**other);
        ASSERT_EQ(int64_t(own.size()), rounds);
        for (size_t i = 0; i < own.size(); ++i)
          rest[i * world + rank] = own[i];
      }
      EXPECT_EQ(rest, Batches(all.begin() + given, all.begin() + given + rounds * world));
    }
  }
}

TEST(Lengths, AllRanksHaveABatchToTheEnd) {
  LengthTable table(60);
  const Pipeline p = lengthPipeline(300, 3);
  auto whole = p.open([&] {
    SessionOptions options = table.options();
    options.last = LastBatch::Keep;
    return options;
  }());
  ASSERT_TRUE(whole);
  const Batches all = readBatches(**whole);
  std::set<std::string> samples;
  for (const auto &batch : all)
    samples.insert(batch.begin(), batch.end());
  EXPECT_EQ(samples.size(), 60u);
  for (uint32_t world : {2u, 50u}) {
    size_t longest = 0;
    std::set<std::string> seen;
    for (uint32_t rank = 0; rank < world; ++rank) {
      SessionOptions options = table.options(1, rank, world);
      options.last = LastBatch::Keep;
      auto session = p.open(options);
      ASSERT_TRUE(session) << session.error().message;
      const Batches own = readBatches(**session);
      EXPECT_EQ(own.size(), (all.size() + world - 1) / world);
      EXPECT_EQ(int64_t(own.size()), (*session)->batchesPerEpoch());
      for (const auto &batch : own) {
        EXPECT_FALSE(batch.empty());
        seen.insert(batch.begin(), batch.end());
      }
      longest = std::max(longest, own.size());
      EXPECT_EQ(readBatches(**session).size(), own.size()) << "the next epoch";
    }
    for (const std::string &sample : samples)
      EXPECT_TRUE(seen.contains(sample));
  }
}

TEST(Lengths, SubstitutesKeepTheLimit) {
  LengthTable table(400, true);
  const Pipeline p = lengthPipeline(300, 4);
  auto session = p.open(table.options());
  ASSERT_TRUE(session);
  int64_t filled = 0;
  for (;;) {
    auto batch = (*session)->next();
    ASSERT_TRUE(batch) << batch.error().message;
    if (!*batch)
      break;
    const std::vector<int64_t> &shape = (*batch)->outputs()[0].shape;
    EXPECT_LE(shape[0] * shape[1], 300);
    filled += shape[0] * shape[1];
  }
  EXPECT_GT(filled, 0);
  const std::vector<BadSample> bad = (*session)->badSamples();
  ASSERT_GT(bad.size(), 2u);
  EXPECT_EQ(bad[0].reason, "a length of 13 (test.pipe:4:9)");
}

/// Ten rows of 12, ten of 13, which are bad, and four of 60: batches of 9, 9, 2, 2 and 2.
struct UnevenTable : LengthTable {
  UnevenTable() : LengthTable(0) {
    for (int64_t length : {12, 13})
      lengths.insert(lengths.end(), 10, length);
    lengths.insert(lengths.end(), 4, 60);
  }
  std::unique_ptr<Session> open(double share, uint32_t rank = 0, uint32_t world = 1) const {
    SessionOptions wanted = options(2, rank, world);
    wanted.last = LastBatch::Keep;
    wanted.substitute = share;
    auto session = lengthPipeline(120, 2, plan::Order::sequential).open(wanted);
    EXPECT_TRUE(session) << session.error().message;
    return std::move(*session);
  }
};

/// The error that ends an epoch.
std::string errorOf(Session &session) {
  for (;;) {
    auto batch = session.next();
    if (!batch)
      return batch.error().message.substr(0, batch.error().message.find(';'));
    if (!*batch)
      return "";
  }
}

TEST(Lengths, TheLimitOfBadSamplesIsOfWhatTheRankHas) {
  const UnevenTable table;
  for (auto [share, rank, error] :
       {std::tuple(0.9, 1u, ""), // 8 of 9
        std::tuple(0.8, 1u, "8 samples of epoch 0 are bad, more than the 7 allowed"),
        std::tuple(1.0, 2u, ""), // 2 of 2
        std::tuple(0.9, 2u, "2 samples of epoch 0 are bad, more than the 1 allowed")})
    EXPECT_EQ(errorOf(*table.open(share, rank, 5)), error) << share << ", rank " << rank;
}

TEST(Lengths, TheLimitOfBadSamplesStaysWhereAnEpochGoesOn) {
  const UnevenTable table;
  const auto first = table.open(1);
  readBatches(*first, 2);
  const std::string afterTwo = first->state(); // 8 are bad by then
  const auto resume = [&](double share, const std::string &state, uint32_t rank, uint32_t world) {
    const auto session = table.open(share, rank, world);
    EXPECT_TRUE(session->restore(state));
    return errorOf(*session);
  };
  EXPECT_EQ(resume(0.42, afterTwo, 0, 1), ""); // 10 of 24
  EXPECT_EQ(resume(0.41, afterTwo, 0, 1), "10 samples of epoch 0 are bad, more than the 9 allowed");
  // From the second batch on, the first of two ranks has 9 and 2, and the other had the first 9.
  const auto again = table.open(1);
  readBatches(*again, 1);
  EXPECT_EQ(resume(0.73, again->state(), 0, 2), ""); // 8 of 11
  EXPECT_EQ(resume(0.72, again->state(), 0, 2),
            "8 samples of epoch 0 are bad, more than the 7 allowed");
  // Of another number of ranks the state may say more than there are: all may be bad all the same.
  std::string state = again->state();
  state.replace(state.find(" bad=0"), 6, " bad=24 world=3");
  EXPECT_EQ(resume(1, state, 0, 1), "");
}

TEST(Lengths, ASampleAloneIsTheBatchs) {
  LengthTable table(100, true);
  const Pipeline p = lengthPipeline(300, 3);
  auto session = p.open(table.options(2, 1, 2)), alone = p.open(table.options(1));
  ASSERT_TRUE(session && alone);
  for (int i = 0; i < 4; ++i) {
    auto batch = (*session)->next();
    ASSERT_TRUE(batch && *batch);
    for (int64_t slot = 0; slot < (*batch)->count(); ++slot) {
      auto sample = (*alone)->sample(0, (*batch)->positions()[size_t(slot)]);
      ASSERT_TRUE(sample) << sample.error().message;
      EXPECT_EQ(sample->row, (*batch)->rows()[size_t(slot)]);
      EXPECT_EQ(sample->contentHash, (*batch)->contentHash(slot));
      EXPECT_EQ(sample->outputs[0].shape, std::vector<int64_t>{table.lengths[size_t(sample->row)]});
    }
  }
  EXPECT_EQ((*alone)->sample(0, 100).error().message, "there is no position 100; an epoch has 100");
}

TEST(Lengths, SequentialOrdersGoFromShortToLong) {
  LengthTable table(100);
  for (plan::Order order : {plan::Order::sequential, plan::Order::listed}) {
    Pipeline p = lengthPipeline(300, 3, order);
    p.plan.batch->last = plan::Last::keep;
    for (int64_t row = 0; order == plan::Order::listed && row < 50; ++row)
      p.plan.order_list.push_back(2 * row);
    auto session = p.open(table.options());
    ASSERT_TRUE(session) << session.error().message;
    int64_t last = 0, count = 0;
    while (auto batch = (*session)->next()) {
      if (!*batch)
        break;
      for (int64_t row : (*batch)->rows()) {
        EXPECT_GE(table.lengths[size_t(row)], last);
        last = table.lengths[size_t(row)];
        ++count;
      }
    }
    EXPECT_EQ(count, order == plan::Order::listed ? 50 : 100);
  }
}

TEST(Lengths, ParametersChangeTheLimit) {
  LengthTable table(100);
  Pipeline p = lengthPipeline(300, 3);
  for (auto [name, slot] : {std::pair("most", 30), std::pair("kinds", 31)}) {
    p.param(name, DType::i64);
    p.plan.params.back()->integer = slot == 30 ? 300 : 3;
    p.plan.params.back()->slot = slot;
  }
  p.plan.batch->by_length->limit_slot = 30;
  p.plan.batch->by_length->buckets_slot = 31;
  auto fixed = lengthPipeline(120, 3).open(table.options());
  auto session = p.open(table.options());
  ASSERT_TRUE(fixed && session);
  const std::string before = (readBatches(**session, 2), (*session)->state());
  ASSERT_TRUE((*session)->start(0, {{"most", int64_t(120)}}));
  EXPECT_EQ(readBatches(**session), readBatches(**fixed));
  auto restored = (*session)->restore(before);
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().message,
            "the state is of the midst of an epoch that has other batches: the lengths of the "
            "rows, the limit, the number of buckets or `last` have changed since");
  EXPECT_EQ((*session)->start(0, {{"most", int64_t(0)}}).error().message,
            "a batch takes 1 to 2^53 elements, not 0");
  EXPECT_EQ((*session)->start(0, {{"kinds", int64_t(5000)}}).error().message,
            "there are 1 to 4096 buckets, not 5000");
}

TEST(Lengths, SayWhatIsWrong) {
  LengthTable table(100);
  const Pipeline p = lengthPipeline(300, 3);
  table.lengths[7] = 301;
  EXPECT_EQ(refusal(p, table.options()),
            "row 7: its length is 301, and a batch takes 300 elements (test.pipe:4:9)");
  table.lengths[7] = int64_t(1) << 60;
  EXPECT_EQ(refusal(p, table.options()), "row 7: its length is 9007199254740994, and a batch takes "
                                         "300 elements (test.pipe:4:9)");
  table.lengths[7] = 0;
  EXPECT_EQ(refusal(p, table.options()), "row 7: its length is -0.5; lengths are finite and not "
                                         "negative (test.pipe:4:9)");
  table.lengths[7] = 300;
  EXPECT_EQ(refusal(lengthPipeline(3000, 3), table.options()),
            "the bucket of the lengths 1 to 37 has 61 rows, which do not fill one batch of 81: "
            "ask for fewer buckets, or write `last keep`");
  table.lengths[7] = 7;
  EXPECT_EQ(refusal(p, table.options(1, 0, 50)),
            "the rows make 13 batches, fewer than the 50 ranks: write `last keep`, or lower the "
            "limit");
  SessionOptions options = table.options();
  options.last = LastBatch::Pad;
  EXPECT_EQ(refusal(p, options),
            "`last pad` gives all ranks as many samples, and batches by length differ in theirs: "
            "with `last keep` all ranks have as many batches");
  options = table.options();
  options.callerOrders = true;
  EXPECT_EQ(refusal(p, options),
            "rows come from the caller, and batches by length come from the order of `test`");
}

/// folderPipeline(), by the heights that headers of pictures say.
Pipeline heightPipeline(bool keepsAll) {
  Pipeline p = folderPipeline();
  p.plan.media[0]->of_rows = true;
  p.plan.rows_kernel = p.kernel([](pst_kernel_args *args) -> int32_t {
    int64_t *s = args->scalars;
    s[20] = std::bit_cast<int64_t>(double(s[9]));
    s[21] = s[9] >= 18;
    return 0;
  });
  if (!keepsAll)
    p.plan.keep_slot = 21;
  p.plan.batch = std::make_unique<plan::BatchT>();
  p.plan.batch->last = plan::Last::keep;
  p.plan.batch->by_length = std::make_unique<plan::ByLengthT>();
  p.plan.batch->by_length->limit = 60;
  p.plan.batch->by_length->buckets = 2;
  p.plan.batch->by_length->length_slot = 20;
  p.plan.batch->by_length->too_long = 1;
  return p;
}

/// The rows of an epoch by batch, sorted.
std::vector<std::vector<int64_t>> rowsOfBatches(Session &session) {
  std::vector<std::vector<int64_t>> result;
  while (auto batch = session.next()) {
    if (!*batch)
      break;
    result.push_back((*batch)->rows());
    std::sort(result.back().begin(), result.back().end());
  }
  std::sort(result.begin(), result.end());
  return result;
}

TEST(Lengths, AreWhatHeadersSay) {
  // Row r < 5 is 16 + 2 r high, the others 17 + 2 (r - 5).
  FakeFileSystem files;
  fillFolder(files, 10);
  auto session = heightPipeline(true).open(folderOptions(files));
  ASSERT_TRUE(session) << session.error().message;
  for (const auto &rows : rowsOfBatches(**session)) {
    ASSERT_LE(rows.size(), 3u);
    int64_t longest = 0, shortest = INT64_MAX;
    for (int64_t row : rows) {
      const int64_t height = row < 5 ? 16 + 2 * row : 17 + 2 * (row - 5);
      longest = std::max(longest, height);
      shortest = std::min(shortest, height);
    }
    EXPECT_LE(longest * int64_t(rows.size()), 60);
    EXPECT_EQ(longest > 21, shortest > 21) << "two buckets of about 102 elements";
  }
  EXPECT_TRUE((*session)->badSamples().empty());
}

TEST(Lengths, HeadersAreReadOnce) {
  FakeFileSystem files;
  fillFolder(files, 10);
  Pipeline p = heightPipeline(true);
  p.param("most", DType::i64);
  p.plan.params.back()->integer = 60;
  p.plan.params.back()->slot = 30;
  p.plan.batch->by_length->limit_slot = 30;
  auto session = p.open(folderOptions(files));
  ASSERT_TRUE(session) << session.error().message;
  const uint64_t read = files.filesRead();
  EXPECT_EQ(read, 10u);
  ASSERT_TRUE((*session)->start(0, {{"most", int64_t(30)}}));
  EXPECT_EQ(files.filesRead(), read) << "other batches of the same lengths";
  EXPECT_EQ(rowsOfBatches(**session).size(), 10u);
}

/// Files that are read, and the rows of batches.
std::pair<uint64_t, std::vector<std::vector<int64_t>>> openedWith(FakeFileSystem &files,
                                                                  const SessionOptions &options) {
  const uint64_t before = files.filesRead();
  auto session = heightPipeline(true).open(options);
  EXPECT_TRUE(session) << session.error().message;
  const uint64_t read = files.filesRead() - before;
  return {read, rowsOfBatches(**session)};
}

TEST(Lengths, HeadersAreReadAgainWhereFilesHaveChanged) {
  FakeFileSystem files;
  fillFolder(files, 10);
  const SessionOptions without = folderOptions(files);
  SessionOptions options = without;
  options.cacheFolder = "/cache";
  const auto batches = openedWith(files, without).second;
  // Few reads remain: of the folder's index and of this one.
  const auto first = openedWith(files, options), second = openedWith(files, options);
  EXPECT_EQ(first.second, batches);
  EXPECT_EQ(second.second, batches);
  EXPECT_GE(first.first, 10u);
  EXPECT_LE(second.first, 2u);

  Buffer bytes; // the longest, in place of the shortest
  ASSERT_TRUE(files.readFile("/data/dog/j.jpg", bytes));
  files.addFile("/data/cat/a.jpg", std::vector<uint8_t>(bytes.data(), bytes.data() + bytes.size()));
  const auto changed = openedWith(files, options);
  EXPECT_NE(changed.second, batches);
  EXPECT_EQ(changed.second, openedWith(files, without).second);
  EXPECT_EQ(changed.first, second.first + 1);
  EXPECT_EQ(openedWith(files, options), std::pair(second.first, changed.second));

  // A file that has changed just now may change again without another time.
  using namespace std::chrono;
  files.setModified("/data/cat/a.jpg",
                    duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count());
  EXPECT_EQ(openedWith(files, options), changed);
  EXPECT_EQ(openedWith(files, options), changed);
}

// Another file stands under the name when the header is read, and goes again.
TEST(Lengths, HeadersOfFilesThatChangeMeanwhileAreNotKept) {
  FakeFileSystem files;
  fillFolder(files, 10);
  SessionOptions options = folderOptions(files);
  const auto batches = openedWith(files, options).second;
  const std::string path = "/data/cat/a.jpg";
  const FileInfo info = *files.stat(path);
  Buffer own, other;
  ASSERT_TRUE(files.readFile(path, own));
  ASSERT_TRUE(files.readFile("/data/dog/j.jpg", other));
  auto put = [&](const Buffer &bytes) {
    files.addFile(path, std::vector<uint8_t>(bytes.data(), bytes.data() + bytes.size()));
  };
  options.cacheFolder = "/cache";
  files.hold(path);
  std::thread opening([&] { (void)heightPipeline(true).open(options); });
  files.waitForHeldReaders(1);
  put(other);
  files.release(path);
  opening.join();
  put(own);
  files.setModified(path, info.modifiedNs);
  EXPECT_EQ(openedWith(files, options).second, batches);
}

TEST(Lengths, BadHeadersAreNotKept) {
  FakeFileSystem files;
  fillFolder(files, 10);
  SessionOptions options = folderOptions(files);
  const auto batches = openedWith(files, options).second;
  options.cacheFolder = "/cache";
  FakeFileSystem::Faults faults;
  faults.readErrno = EIO;
  files.setFaults("/data/cat/c.jpg", faults);
  (void)openedWith(files, options);
  files.setFaults("/data/cat/c.jpg", {});
  EXPECT_EQ(openedWith(files, options).second, batches);
}

TEST(Lengths, ABadHeaderIsABadSample) {
  for (bool keepsAll : {true, false}) {
    FakeFileSystem files;
    fillFolder(files, 10);
    files.addFile("/data/dog/zz.jpg", {1, 2, 3});
    auto session = heightPipeline(keepsAll).open(folderOptions(files));
    ASSERT_TRUE(session) << session.error().message;
    std::set<int64_t> seen;
    int64_t samples = 0;
    for (const auto &rows : rowsOfBatches(**session)) {
      seen.insert(rows.begin(), rows.end());
      samples += int64_t(rows.size());
    }
    EXPECT_EQ(samples, keepsAll ? 11 : 9) << "the file takes part";
    EXPECT_FALSE(seen.contains(10));
    const std::vector<BadSample> bad = (*session)->badSamples();
    ASSERT_FALSE(bad.empty());
    EXPECT_EQ(bad[0].row, 10);
  }
}

TEST(Lengths, DamagedPlansAreRefused) {
  struct Fault {
    const char *finding;
    void (*make)(plan::PlanT &);
  };
  for (const Fault &fault : std::vector<Fault>{
           {"batch 0 has a number of samples, and goes by their length",
            [](auto &p) { p.batch->size = 4; }},
           {"batch 0 has a number of samples, and goes by their length",
            [](auto &p) { p.batch->global = true; }},
           {"batch 0 goes by length in an order that has none",
            [](auto &p) { p.batch->last = plan::Last::pad; }},
           {"batch 0 goes by length in an order that has none",
            [](auto &p) {
              p.order = plan::Order::weighted;
              p.weight_slot = 20;
            }},
           {"batch 0 names slot 64 of 64", [](auto &p) { p.batch->by_length->length_slot = 64; }},
           {"batch 0 has 0 elements and 3 buckets", [](auto &p) { p.batch->by_length->limit = 0; }},
           {"batch 0 has 300 elements and -1 buckets",
            [](auto &p) { p.batch->by_length->buckets = -1; }},
           {"batch 0 names check 9", [](auto &p) { p.batch->by_length->too_long = 9; }},
           {"output 0 is filled up with an element of 2 bytes",
            [](auto &p) { p.outputs[0]->fill.resize(2); }},
           {"output 0 is filled up with an element of 4 bytes",
            [](auto &p) { p.outputs[0]->ragged_axis = -1; }}}) {
    Pipeline pipeline = lengthPipeline(300, 3);
    fault.make(pipeline.plan);
    auto plan = Plan::make(pipeline.plan);
    ASSERT_FALSE(plan) << fault.finding;
    EXPECT_EQ(plan.error().message, std::string("damaged plan: ") + fault.finding);
  }
}

TEST(Lengths, SingleSamplesNeedNoBatch) {
  LengthTable table(10);
  SessionOptions options = table.options();
  options.samplesOnly = true;
  auto session = lengthPipeline(3000, 3).open(options);
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_TRUE((*session)->sample(0, 9));
}

} // namespace

} // namespace penstock::test
