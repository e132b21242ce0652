// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/Order.h"
#include "test/unit/runtime/JpegFiles.h"
#include "test/unit/sched/Pipelines.h"

#include <algorithm>

namespace penstock::test {

namespace {

TEST(BadSample, IsReplacedByTheKeyedDrawAndReported) {
  FakeFileSystem files;
  fillFolder(files, 12);
  auto clean = folderPipeline().open(folderOptions(files));
  ASSERT_TRUE(clean);
  const std::vector<std::string> expected = readEpoch(**clean).samples;

  // Row 1 is cat/c.jpg, row 7 dog/d.jpg.
  files.addFile("/data/cat/c.jpg", "no jpeg at all");
  files.setFaults("/data/dog/d.jpg", {.openErrno = EACCES});
  auto order = *Order::shuffled(12);
  for (int threads : {1, 3}) {
    SessionOptions options = folderOptions(files);
    options.threads = threads;
    auto session = folderPipeline().open(options);
    ASSERT_TRUE(session);
    Epoch read = readEpoch(**session);
    ASSERT_EQ(read.error, "");
    ASSERT_EQ(read.samples.size(), expected.size());
    std::vector<BadSample> bad = (*session)->badSamples();
    size_t next = 0;
    for (int64_t position = 0; position < 12; ++position) {
      int64_t row = order.row(7, 0, position);
      if (row != 1 && row != 7) {
        EXPECT_EQ(read.samples[size_t(position)], expected[size_t(position)]);
        continue;
      }
      for (int attempt = 1; row == 1 || row == 7; ++attempt) {
        ASSERT_LT(next, bad.size());
        EXPECT_EQ(bad[next].position, position);
        EXPECT_EQ(bad[next].row, row);
        EXPECT_EQ(bad[next].name, row == 1 ? "cat/c.jpg" : "dog/d.jpg");
        EXPECT_NE(bad[next].reason, "");
        row = order.substitute(7, 0, position, attempt);
        EXPECT_EQ(bad[next].substitute, row);
        ++next;
      }
      EXPECT_NE(read.samples[size_t(position)].find(" row " + std::to_string(row) + " "),
                std::string::npos)
          << read.samples[size_t(position)];
    }
    EXPECT_EQ(next, bad.size());
    EXPECT_EQ((*session)->statistics().badSamples, 2u);
  }
}

TEST(BadSample, AFileThatVanishesIsOne) {
  FakeFileSystem files;
  fillFolder(files, 12);
  SessionOptions options = folderOptions(files);
  auto session = folderPipeline().open(options);
  ASSERT_TRUE(session);
  files.remove("/data/cat/a.jpg");
  Epoch read = readEpoch(**session);
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.samples.size(), 12u);
  ASSERT_GE((*session)->badSamples().size(), 1u);
  EXPECT_EQ((*session)->badSamples()[0].reason,
            "cannot read /data/cat/a.jpg: No such file or directory");
}

// How much of an image is needed depends on passes: a decode may stand in an arm
// that does not run, or have an empty region. What is cut off is bad all the same.
TEST(BadSample, ATruncatedFileIsOneEvenWhereNoPixelIsNeeded) {
  FakeFileSystem files;
  fillFolder(files, 12);
  Buffer whole;
  ASSERT_TRUE(files.readFile("/data/cat/a.jpg", whole));
  files.addFile("/data/cat/a.jpg",
                std::vector<uint8_t>(whole.data(), whole.data() + whole.size() * 3 / 4));
  for (bool inOtherArm : {false, true}) {
    Pipeline p = folderPipeline();
    p.plan.steps[0]->inputs.clear();
    p.code[size_t(p.plan.steps[0]->kernel)] = [](pst_kernel_args *args) -> int32_t {
      std::memset(args->tensors[0].data, 7, 3);
      return 0;
    };
    plan::DecodeT &decode = *p.plan.decodes[0];
    if (inOtherArm)
      decode.region = {{0, 30, 30}, {1, 30, 30}}; // always 0
    else
      decode.region[0] = {0, 13, 13}; // the end: no row
    auto session = p.open(folderOptions(files));
    ASSERT_TRUE(session);
    EXPECT_EQ(readEpoch(**session).samples.size(), 12u);
    ASSERT_GE((*session)->badSamples().size(), 1u);
    EXPECT_EQ((*session)->badSamples()[0].name, "cat/a.jpg");
    EXPECT_EQ((*session)->badSamples()[0].reason.find("truncated JPEG: "), 0u);
  }
}

TEST(BadSample, AFailedCheckTellsItsMessageAndLine) {
  FakeFileSystem files;
  fillFolder(files, 12);
  JpegRecipe recipe;
  files.addFile("/data/cat/a.jpg", encodeJpeg(recipe, 20, 13, std::vector<uint8_t>(20 * 13 * 3)));
  auto session = folderPipeline().open(folderOptions(files));
  ASSERT_TRUE(session);
  EXPECT_EQ(readEpoch(**session).samples.size(), 12u);
  ASSERT_GE((*session)->badSamples().size(), 1u);
  EXPECT_EQ((*session)->badSamples()[0].reason,
            "the image has 13 rows and 20 columns (test.pipe:3:5)");
}

TEST(BadSample, FailModeNamesFileAndReason) {
  FakeFileSystem files;
  fillFolder(files, 12);
  files.addFile("/data/cat/a.jpg", "");
  SessionOptions options = folderOptions(files);
  options.substitute = -1;
  const int64_t position = [] {
    auto order = *Order::shuffled(12);
    int64_t p = 0;
    while (order.row(7, 0, p) != 0)
      ++p;
    return p;
  }();
  auto session = folderPipeline().open(options);
  ASSERT_TRUE(session);
  Epoch read = readEpoch(**session);
  // Whole batches before the bad one are still delivered.
  EXPECT_EQ(int64_t(read.samples.size()), position / 4 * 4);
  EXPECT_EQ(read.error.find("bad sample at position " + std::to_string(position) +
                            ": cat/a.jpg: not an image file: it is empty"),
            0u)
      << read.error;
  EXPECT_EQ(readEpoch(**session).error, read.error);
}

/// Neither 0.29 nor 29 * 0.01 is 29 hundredths as a double, and their products with 100 are below
/// 29, or above.
TEST(BadSample, SharesAreDecimal) {
  JpegRecipe recipe;
  recipe.stored = JCS_RGB;
  const auto fine = encodeJpeg(recipe, 24, 16, std::vector<uint8_t>(24 * 16 * 3, 90));
  for (const int percent : {7, 14, 28, 29}) {
    FakeFileSystem files;
    for (int file = 0; file < 100; ++file) {
      const std::string name = "/data/cat/" + std::to_string(100 + file) + ".jpg";
      file < percent ? files.addFile(name, "damaged") : files.addFile(name, fine);
    }
    SessionOptions options = folderOptions(files);
    for (const double share : {percent / 100.0, percent * 0.01}) {
      options.substitute = share;
      EXPECT_EQ(readEpoch(**folderPipeline().open(options)).error, "") << share;
      options.substitute = share - 1e-9;
      EXPECT_NE(readEpoch(**folderPipeline().open(options)).error, "") << share;
    }
  }
}

TEST(BadSample, MoreThanAllowedEndTheSession) {
  FakeFileSystem files;
  fillFolder(files, 12);
  for (const char *name : {"cat/a", "cat/c", "dog/b"})
    files.addFile("/data/" + std::string(name) + ".jpg", "damaged");
  SessionOptions options = folderOptions(files);
  options.substitute = 0.17; // 2 of 12
  auto session = folderPipeline().open(options);
  ASSERT_TRUE(session);
  Epoch read = readEpoch(**session);
  EXPECT_EQ(read.error.find("3 samples of epoch 0 are bad, more than the 2 allowed; the last is "),
            0u)
      << read.error;
  options.substitute = 0.25;
  session = folderPipeline().open(options);
  ASSERT_TRUE(session);
  for (int epoch = 0; epoch < 3; ++epoch) // the limit counts each epoch anew
    EXPECT_EQ(readEpoch(**session).error, "");
}

TEST(BadSample, FewerMayBeAllowedThanThereWere) {
  FakeFileSystem files;
  fillFolder(files, 12);
  SessionOptions options = folderOptions(files);
  for (double allowed : {0.1, -1.0}) {
    options.substitute = allowed;
    auto session = folderPipeline().open(options);
    ASSERT_TRUE(session);
    std::string state = (*session)->state();
    state.replace(state.find(" bad=0"), 6, " bad=5");
    ASSERT_TRUE((*session)->restore(state));
    EXPECT_EQ(readEpoch(**session).error, ""); // no more are bad
  }
}

TEST(BadSample, OfOneRankCountForEachOfSeveral) {
  FakeFileSystem files;
  fillFolder(files, 24);
  SessionOptions options = folderOptions(files);
  options.substitute = 0.4; // 9 of 24, 2 of 6
  auto order = *Order::shuffled(24);
  const auto damage = [&](int64_t position) {
    const int64_t row = order.row(7, 0, position);
    auto session = folderPipeline().open(options);
    const std::string name = *(*session)->rowText(row, "name");
    files.addFile("/data/" + name, "damaged");
  };
  for (int64_t position : {0, 1, 2, 5, 8, 13})
    damage(position);
  auto alone = folderPipeline().open(options);
  ASSERT_TRUE(alone);
  ASSERT_EQ(readEpoch(**alone, 3).error, "");
  const std::string state = (*alone)->state();
  const auto count = [](const std::string &text) {
    return text.substr(text.find(" bad="), text.find(" table=") - text.find(" bad="));
  };
  EXPECT_EQ(count(state), " bad=5 world=1");
  options.world = 4;
  const auto resume = [&](uint32_t rank, const std::string &from) {
    options.rank = rank;
    auto session = folderPipeline().open(options);
    EXPECT_TRUE((*session)->restore(from));
    return std::move(*session);
  };
  std::string shares;
  for (uint32_t rank = 0; rank < 4; ++rank)
    shares += count(resume(rank, state)->state());
  EXPECT_EQ(shares, " bad=2 world=4 bad=1 world=4 bad=1 world=4 bad=1 world=4");
  EXPECT_EQ(readEpoch(*resume(1, state)).error, "") << "1 and the one at position 13";
  // And back: each counts for all four.
  const std::string ofFirst = resume(0, state)->state(), ofLast = resume(3, state)->state();
  EXPECT_EQ(count(resume(1, ofFirst)->state()), " bad=2 world=4") << "the same world";
  options.world = 1;
  EXPECT_EQ(count(resume(0, ofFirst)->state()), " bad=8 world=1");
  EXPECT_EQ(count(resume(0, ofLast)->state()), " bad=4 world=1");
  // One of before it was written down counts as it stands.
  std::string old = state;
  old.erase(old.find(" world=1"), 8);
  options.world = 4;
  EXPECT_EQ(count(resume(3, old)->state()), " bad=5 world=4");
  for (const char *wrong : {" world=0", " world=-1", " world=", " world=4294967295"}) {
    std::string text = state;
    text.replace(text.find(" bad=5 world=1"), 14, " bad=99999999" + std::string(wrong));
    EXPECT_FALSE((*alone)->restore(text)) << wrong;
  }
}

TEST(BadSample, TheLimitIsOfWhatARankHasWhereAnEpochGoesOn) {
  FakeFileSystem files;
  fillFolder(files, 22);
  SessionOptions options = folderOptions(files);
  options.last = LastBatch::Drop;
  options.substitute = 0.5;
  auto alone = folderPipeline().open(options);
  ASSERT_TRUE(alone);
  ASSERT_EQ(readEpoch(**alone, 2).error, "");
  const std::string state = (*alone)->state();
  ASSERT_NE(state.find(" position=8 bad=0"), std::string::npos) << state;
  // From position 8 on, the first of three ranks has 9, 12, 15 and 18, and of those before 0, 3 and
  // 6: seven in all. From the epoch's beginning on it would have four.
  const auto damage = [&](int64_t position) {
    const int64_t row = Order::shuffled(22)->row(7, 0, position);
    files.addFile("/data/" + *(*alone)->rowText(row, "name"), "damaged");
  };
  options.world = 3;
  const auto rest = [&] {
    auto first = folderPipeline().open(options);
    EXPECT_TRUE((*first)->restore(state));
    return readEpoch(**first).error;
  };
  for (int64_t position : {9, 12, 18})
    damage(position);
  EXPECT_EQ(rest(), "");
  damage(15);
  EXPECT_EQ(rest().find("4 samples of epoch 0 are bad, more than the 3 allowed; "), 0u);
}

TEST(BadSample, IsNoneWhereTheSystemHasNoMoreFiles) {
  FakeFileSystem files;
  fillFolder(files, 12);
  files.setFaults("/data/dog/d.jpg", {.openErrno = EMFILE});
  SessionOptions options = folderOptions(files);
  options.substitute = 1.0;
  auto session = folderPipeline().open(options);
  ASSERT_TRUE(session);
  const Epoch read = readEpoch(**session);
  EXPECT_NE(read.error.find(" cannot be made: cannot read /data/dog/d.jpg: Too many open files "
                            "(`ulimit -n` says how many this process may have)"),
            std::string::npos)
      << read.error;
  EXPECT_TRUE((*session)->badSamples().empty());
}

TEST(BadSample, ATableOfDamagedFilesEnds) {
  FakeFileSystem files;
  for (int i = 0; i < 8; ++i)
    files.addFile("/data/cat/" + std::to_string(i) + ".jpg", "damaged");
  SessionOptions options = folderOptions(files);
  options.substitute = 1;
  auto session = folderPipeline().open(options);
  ASSERT_TRUE(session);
  Epoch read = readEpoch(**session);
  EXPECT_EQ(read.error.find("bad sample at position 0, and so are 8 substitutes; the last is "), 0u)
      << read.error;
}

TEST(BadSample, AloneItIsReplacedTheSameWay) {
  FakeFileSystem files;
  fillFolder(files, 12);
  files.addFile("/data/cat/a.jpg", "damaged");
  auto session = folderPipeline().open(folderOptions(files));
  ASSERT_TRUE(session);
  const std::vector<std::string> samples = readEpoch(**session).samples;
  for (int64_t position = 0; position < 12; ++position) {
    auto sample = (*session)->sample(0, position);
    ASSERT_TRUE(sample) << sample.error().message;
    EXPECT_EQ("0/" + std::to_string(position) + " row " + std::to_string(sample->row) + " " +
                  std::to_string(sample->contentHash),
              samples[size_t(position)]);
    const bool isBad = (*Order::shuffled(12)).row(7, 0, position) == 0;
    EXPECT_EQ(!sample->bad.empty(), isBad);
  }
}

TEST(BadSample, IsACutFileOfWhichNoPixelIsNeeded) {
  FakeFileSystem files;
  fillFolder(files, 12);
  Buffer whole;
  ASSERT_TRUE(files.readFile("/data/cat/c.jpg", whole));
  const std::span<const uint8_t> cut = whole.span().first(whole.size() - 20);
  files.addFile("/data/cat/c.jpg", std::vector<uint8_t>(cut.begin(), cut.end()));
  Pipeline p = folderPipeline();
  p.code[size_t(p.plan.setup)] = [](pst_kernel_args *args) -> int32_t {
    for (int slot : {11, 12, 13, 14})
      args->scalars[slot] = 0;
    return 0;
  };
  SessionOptions options = folderOptions(files);
  options.substitute = 1;
  auto session = p.open(options);
  ASSERT_TRUE(session);
  EXPECT_EQ(readEpoch(**session).samples.size(), 12u);
  ASSERT_FALSE((*session)->badSamples().empty());
  for (const BadSample &bad : (*session)->badSamples())
    EXPECT_EQ(bad.name, "cat/c.jpg");
  EXPECT_EQ((*session)->statistics()[Stage::Decode].count, 0u);
}

} // namespace

} // namespace penstock::test
