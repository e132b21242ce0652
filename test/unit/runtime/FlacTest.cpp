// SPDX-License-Identifier: Apache-2.0
//
// FLAC files, written by libFLAC.
#include "runtime/media/Medium.h"
#include "runtime/media/flac/FlacFile.h"

#include <FLAC/metadata.h>
#include <FLAC/stream_encoder.h>

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

using namespace penstock;
using namespace penstock::runtime;

namespace {

using Bytes = std::vector<uint8_t>;

struct Sound {
  uint32_t channels = 1, bits = 16, rate = 16000;
  int64_t samples = 0;
  std::vector<int32_t> values; // by sample, then channel
};

Sound soundOf(uint32_t channels, uint32_t bits, int64_t samples, uint32_t seed) {
  Sound sound{channels, bits, 16000, samples, {}};
  std::mt19937 random(seed);
  const double largest = double((int64_t(1) << (bits - 1)) - 1);
  for (int64_t i = 0; i < samples; ++i)
    for (uint32_t c = 0; c < channels; ++c) { // a tone, noise, and silence
      const double noise = double(random()) / 4294967296.0 - 0.5;
      const bool isSilent = i / 3000 % 3 == 2;
      sound.values.push_back(
          isSilent ? 0 : int32_t(largest * (0.4 * __builtin_sin(double(i) * 0.05) + 0.3 * noise)));
    }
  return sound;
}

struct Options {
  uint32_t block = 576;
  bool saysLength = true, seekTable = false;
};

/// The encoder's output; it seeks back when it knows the length.
struct Written {
  Bytes bytes;
  size_t at = 0;
};

Bytes encoded(const Sound &sound, const Options &options = {}) {
  FLAC__StreamEncoder *encoder = FLAC__stream_encoder_new();
  FLAC__stream_encoder_set_channels(encoder, sound.channels);
  FLAC__stream_encoder_set_bits_per_sample(encoder, sound.bits);
  FLAC__stream_encoder_set_sample_rate(encoder, sound.rate);
  FLAC__stream_encoder_set_streamable_subset(encoder, false);
  FLAC__stream_encoder_set_blocksize(encoder, options.block);
  FLAC__StreamMetadata *table = nullptr;
  if (options.seekTable) {
    table = FLAC__metadata_object_new(FLAC__METADATA_TYPE_SEEKTABLE);
    FLAC__metadata_object_seektable_template_append_spaced_points_by_samples(
        table, 1000, FLAC__uint64(sound.samples));
    FLAC__stream_encoder_set_metadata(encoder, &table, 1);
    FLAC__stream_encoder_set_total_samples_estimate(encoder, FLAC__uint64(sound.samples));
  }
  Written written;
  auto write = [](const FLAC__StreamEncoder *, const FLAC__byte bytes[], size_t count, uint32_t,
                  uint32_t, void *user) {
    Written &to = *static_cast<Written *>(user);
    to.bytes.resize(std::max(to.bytes.size(), to.at + count));
    std::copy_n(bytes, count, to.bytes.begin() + ptrdiff_t(to.at));
    to.at += count;
    return FLAC__STREAM_ENCODER_WRITE_STATUS_OK;
  };
  auto seek = [](const FLAC__StreamEncoder *, FLAC__uint64 at, void *user) {
    static_cast<Written *>(user)->at = size_t(at);
    return FLAC__STREAM_ENCODER_SEEK_STATUS_OK;
  };
  auto tell = [](const FLAC__StreamEncoder *, FLAC__uint64 *at, void *user) {
    *at = static_cast<Written *>(user)->at;
    return FLAC__STREAM_ENCODER_TELL_STATUS_OK;
  };
  EXPECT_EQ(FLAC__stream_encoder_init_stream(encoder, write, options.saysLength ? +seek : nullptr,
                                             options.saysLength ? +tell : nullptr, nullptr,
                                             &written),
            FLAC__STREAM_ENCODER_INIT_STATUS_OK);
  EXPECT_TRUE(FLAC__stream_encoder_process_interleaved(encoder, sound.values.data(),
                                                       uint32_t(sound.samples)));
  EXPECT_TRUE(FLAC__stream_encoder_finish(encoder));
  FLAC__stream_encoder_delete(encoder);
  if (table)
    FLAC__metadata_object_delete(table);
  return written.bytes;
}

class Reader {
public:
  explicit Reader(std::span<const uint8_t> bytes) : input{bytes, {}, nullptr, nullptr, nullptr} {}

  Status probe() { return mediumEntry(kind).probe(input, {}, input.numbers); }
  int64_t number(size_t which) const { return input.numbers[which]; }
  /// Samples [low, high) of all channels within room for the whole; empty: `status` says why.
  std::vector<float> decode(int64_t low, int64_t high, bool isMono = false) {
    const int64_t extents[] = {number(media::waveSamples), number(media::waveChannels)};
    const AxisRange box[] = {{low, high}, {0, extents[1]}};
    const size_t rank = isMono ? 1 : 2;
    const MediumRequest request{
        plan::DType::f32, isMono ? "mono" : "channels", false, {extents, rank}, {box, rank}, {}};
    const auto layout = medium->layout(request);
    const int64_t whole = layout ? layout->strides[0] * extents[0] : 0;
    if (!layout || whole > 1 << 26) {
      status = Error{Code::Limit, "too long"};
      return {};
    }
    std::vector<float> out(size_t(whole) / 4, untouched);
    status = medium->decode(input, request, *layout, reinterpret_cast<uint8_t *>(out.data()));
    return status ? out : std::vector<float>();
  }
  std::string message() {
    if (Status found = probe(); !found)
      return found.error().message;
    const int64_t samples = number(media::waveSamples);
    if (samples > 0)
      (void)decode(0, std::min<int64_t>(samples, 10));
    return status ? "good" : status.error().message;
  }

  static constexpr float untouched = 9;
  Status status;

private:
  const size_t kind = size_t(media::find("wave"));
  DecodeStats stats;
  pst_video_costs videos{};
  MediumHost host{{}, stats, videos, nullptr, nullptr};
  std::unique_ptr<Medium> medium = mediumEntry(kind).make(host);
  MediumInput input;
};

std::string findingOf(std::span<const uint8_t> bytes) { return Reader(bytes).message(); }

// Every range, mono too, with what lies beside it untouched.
TEST(Flac, AnyRangeIsThatOfTheWhole) {
  std::mt19937 random(7);
  for (uint32_t bits : {8u, 12u, 16u, 20u, 24u})
    for (uint32_t channels : {1u, 2u, 5u, 8u}) {
      const Sound sound = soundOf(channels, bits, 20000, bits * channels);
      const Options options{random() % 2 ? 576u : 4096u, random() % 3 > 0, random() % 2 > 0};
      const Bytes file = encoded(sound, options);
      Reader reader(file);
      ASSERT_TRUE(reader.probe()) << bits << " " << channels;
      EXPECT_EQ(reader.number(media::waveRate), 16000);
      EXPECT_EQ(reader.number(media::waveChannels), channels);
      EXPECT_EQ(reader.number(media::waveSamples), 20000);
      EXPECT_EQ(reader.number(media::waveBits), bits);
      EXPECT_EQ(reader.number(media::waveDuration), std::bit_cast<int64_t>(1.25));
      const float scale = 1.0f / float(1u << (bits - 1));
      for (int trial = 0; trial < 12; ++trial) {
        const int64_t low = trial ? int64_t(random() % 20000) : 0;
        const int64_t high = trial ? low + 1 + int64_t(random()) % (20000 - low) : 20000;
        const bool isMono = trial % 3 == 2;
        const auto part = reader.decode(low, high, isMono);
        ASSERT_TRUE(reader.status) << reader.status.error().message;
        for (int64_t t = 0; t < 20000; ++t) {
          const int32_t *values = sound.values.data() + t * channels;
          const bool isInside = t >= low && t < high;
          float sum = float(values[0]) * scale;
          for (uint32_t c = 1; isMono && c < channels; ++c)
            sum += float(values[c]) * scale;
          if (isMono) {
            ASSERT_EQ(part[size_t(t)], isInside ? sum / float(channels) : Reader::untouched) << t;
            continue;
          }
          for (uint32_t c = 0; c < channels; ++c)
            ASSERT_EQ(part[size_t(t * channels + c)],
                      isInside ? float(values[c]) * scale : Reader::untouched)
                << t;
        }
      }
    }
}

TEST(Flac, WhatStandsAroundItDoesNotMatter) {
  const Sound sound = soundOf(2, 16, 9000, 3);
  const Bytes plain = encoded(sound);
  Reader whole(plain);
  ASSERT_TRUE(whole.probe());
  const auto wanted = whole.decode(0, 9000);
  Bytes tagged = {'I', 'D', '3', 4, 0, 0, 0, 0, 1, 2};
  tagged.resize(tagged.size() + 130, 0xFF);
  tagged.insert(tagged.end(), plain.begin(), plain.end());
  tagged.insert(tagged.end(), {'T', 'A', 'G'});
  tagged.resize(tagged.size() + 125);
  Reader reader(tagged);
  ASSERT_TRUE(reader.probe());
  EXPECT_EQ(reader.decode(0, 9000), wanted);
  (void)reader.decode(100, 200);
  EXPECT_TRUE(reader.status);
}

// Also where only the beginning is wanted.
TEST(Flac, OneThatIsCutOffIsBadWhateverIsWanted) {
  const Bytes file = encoded(soundOf(1, 16, 30000, 4));
  for (size_t size :
       {file.size() - 1, file.size() - 100, file.size() / 2, file.size() / 3, size_t(5000)}) {
    Reader reader{std::span(file).first(size)};
    ASSERT_TRUE(reader.probe());
    (void)reader.decode(0, 10);
    ASSERT_FALSE(reader.status) << size;
    EXPECT_EQ(reader.status.error().code, Code::Truncated);
  }
  EXPECT_EQ(findingOf(std::span(file).first(20)),
            "truncated FLAC: it ends after 20 bytes, before its samples");
  EXPECT_EQ(findingOf(std::span(file).first(42)),
            "truncated FLAC: it ends after 42 bytes, before its samples");
}

TEST(Flac, WhatIsWrong) {
  Bytes file = encoded(soundOf(1, 16, 30000, 4));
  auto changed = [&](size_t at, uint8_t value) {
    Bytes other = file;
    other[at] = value;
    return findingOf(other);
  };
  EXPECT_EQ(findingOf(file), "good");
  // The rate, 16000 or 0x3E80 in 20 bits, which frames say, too.
  EXPECT_EQ(changed(18, 0x02),
            "FLAC whose rate changes is not read: it begins with 11904 Hz, and goes on with 16000 "
            "behind sample 0");
  EXPECT_EQ(changed(0, 'g'), "not a sound file: its first bytes are neither WAV's nor FLAC's");
  EXPECT_EQ(changed(4, 1), "damaged FLAC: it does not begin with what its stream is");
  EXPECT_EQ(changed(8, 0xFF), "damaged FLAC: 16 bits at 16000 Hz in blocks of 65344 to 576");
  // The number of samples, 30000 or 0x7530.
  EXPECT_EQ(changed(24, 0x76),
            "truncated FLAC: it ends behind sample 30000, and says that it has 30256");
  MediaSpan bytes(file);
  auto flac = FlacFile::open(bytes);
  ASSERT_TRUE(flac);
  const uint64_t begin = flac->find(3000)->offset, end = *flac->endOf(3001);
  EXPECT_LT(end - begin, 4000u);
  file[(begin + end) / 2] ^= 1;
  Reader reader(file);
  ASSERT_TRUE(reader.probe());
  (void)reader.decode(2990, 3010);
  ASSERT_FALSE(reader.status);
  EXPECT_EQ(reader.status.error().code, Code::Corrupt);
  EXPECT_EQ(reader.status.error().message.substr(0, 14), "damaged FLAC: ");
  (void)reader.decode(0, 1000); // before it
  EXPECT_TRUE(reader.status);
  (void)reader.decode(20000, 21000); // and behind
  EXPECT_TRUE(reader.status);
}

// PENSTOCK_MUTANTS: how many files. What decodes has the samples that were written: frames have
// checksums.
TEST(Flac, DamagedFilesAreFoundOut) {
  const char *count = std::getenv("PENSTOCK_MUTANTS");
  std::mt19937 random(count ? uint32_t(std::random_device()()) : 5);
  const Sound sound = soundOf(2, 16, 8000, 6);
  const Bytes whole = encoded(sound, {576, true, true});
  Reader good(whole);
  ASSERT_TRUE(good.probe());
  const auto wanted = good.decode(0, 8000);
  int bad = 0;
  const int files = count ? std::atoi(count) : 300;
  for (int i = 0; i < files; ++i) {
    Bytes file = whole;
    if (random() % 4 == 0)
      file.resize(random() % file.size());
    for (uint32_t n = random() % 4 + (file.size() == whole.size()); n-- > 0 && !file.empty();)
      file[random() % (random() % 4 ? file.size() : std::min<size_t>(file.size(), 60))] ^=
          uint8_t(1u << random() % 8);
    if (random() % 8 == 0 && file.size() > 200) {
      const size_t at = random() % (file.size() - 150);
      file.erase(file.begin() + ptrdiff_t(at), file.begin() + ptrdiff_t(at + random() % 150));
    }
    Reader reader(file);
    Status status = reader.probe();
    const int64_t samples = reader.number(media::waveSamples);
    std::vector<float> all;
    if (status && samples > 0) {
      all = reader.decode(0, samples);
      status = reader.status;
    }
    if (!status) {
      EXPECT_FALSE(status.error().message.empty());
      ++bad;
      if (samples > 500 && reader.number(media::waveChannels) == 2)
        (void)reader.decode(samples / 2, samples / 2 + 100);
      continue;
    }
    if (samples == 8000 && reader.number(media::waveChannels) == 2 &&
        reader.number(media::waveBits) == 16)
      EXPECT_EQ(all, wanted) << i;
  }
  EXPECT_GT(bad, files / 2);
}

// As by `cat a.flac b.flac`: a sample's number then stands at two places, and which one is found
// would be up to the range.
TEST(Flac, FilesThatWerePutTogether) {
  const Bytes first = encoded(soundOf(2, 16, 90000, 9));
  ASSERT_EQ(findingOf(first), "good");
  for (int64_t samples : {2000, 60000, 90000, 150000, 900000}) {
    const Bytes second = encoded(soundOf(2, 16, samples, 10));
    MediaSpan bytes(second);
    const uint64_t frames = FlacFile::open(bytes)->start().offset;
    for (const uint64_t from : {uint64_t(0), frames}) {
      Bytes file = first;
      file.insert(file.end(), second.begin() + ptrdiff_t(from), second.end());
      Reader reader(file);
      ASSERT_TRUE(reader.probe());
      for (int64_t low : {0, 20000, 45000, 70000, 89000}) {
        (void)reader.decode(low, low + 1000);
        ASSERT_FALSE(reader.status) << samples << " " << low;
        EXPECT_EQ(reader.status.error().code, Code::Corrupt);
      }
      EXPECT_EQ(findingOf(file), "damaged FLAC: more frames follow than those of the 90000 samples "
                                 "that it says it has");
    }
  }
}

// Whole frames: each that is there is right, and libFLAC fills what is missing with silence.
TEST(Flac, FramesThatAreMissingOrElsewhere) {
  std::mt19937 random(7);
  const Bytes whole = encoded(soundOf(1, 16, 8000, 8), {576, true, false});
  Reader good(whole);
  ASSERT_TRUE(good.probe());
  const auto wanted = good.decode(0, 8000);
  std::vector<size_t> starts; // of frames, and the end
  MediaSpan bytes(whole);
  auto flac = FlacFile::open(bytes);
  ASSERT_TRUE(flac);
  for (int64_t sample = 0; sample < 8000; sample += 576)
    starts.push_back(flac->find(sample)->offset);
  starts.push_back(whole.size());
  int bad = 0, right = 0;
  for (int i = 0; i < 120; ++i) {
    const size_t frames = starts.size() - 1, at = 1 + random() % (frames - 3);
    const auto frame = [&](size_t number) {
      return Bytes(whole.begin() + ptrdiff_t(starts[number]),
                   whole.begin() + ptrdiff_t(starts[number + 1]));
    };
    std::vector<size_t> order;
    for (size_t number = 0; number < frames; ++number)
      order.push_back(number);
    if (i % 3 == 0)
      order.erase(order.begin() + ptrdiff_t(at), order.begin() + ptrdiff_t(at + 1 + random() % 2));
    else if (i % 3 == 1)
      std::swap(order[at], order[at + 1]);
    else
      order.insert(order.begin() + ptrdiff_t(at), order[random() % frames]);
    Bytes file(whole.begin(), whole.begin() + ptrdiff_t(starts[0]));
    for (size_t number : order) {
      const Bytes one = frame(number);
      file.insert(file.end(), one.begin(), one.end());
    }
    Reader reader(file);
    ASSERT_TRUE(reader.probe());
    for (int k = 0; k < 6; ++k) {
      const int64_t low = int64_t(random() % 7900),
                    high = low + 1 + int64_t(random() % 100) * (k + 1);
      if (high > 8000)
        continue;
      const auto found = reader.decode(low, high);
      bad += found.empty();
      right += !found.empty();
      for (int64_t sample = low; !found.empty() && sample < high; ++sample)
        ASSERT_EQ(found[size_t(sample)], wanted[size_t(sample)]) << i << " " << sample;
    }
  }
  EXPECT_GT(bad, 50);
  EXPECT_GT(right, 200);
}

} // namespace
