// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/Medium.h"
#include "runtime/media/wave/WaveFile.h"
#include "test/unit/runtime/WatchedBytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

using namespace penstock;
using namespace penstock::runtime;

namespace {

std::string number(uint64_t value, int size) {
  std::string out;
  for (int i = 0; i < size; ++i)
    out += char(value >> (8 * i));
  return out;
}
std::string chunk(const std::string &name, const std::string &contents) {
  return name + number(contents.size(), 4) + contents + std::string(contents.size() % 2, '\0');
}
std::string format(uint32_t tag, uint32_t channels, uint32_t bits, uint32_t rate = 8000) {
  const uint32_t frame = channels * bits / 8;
  return chunk("fmt ", number(tag, 2) + number(channels, 2) + number(rate, 4) +
                           number(rate * frame, 4) + number(frame, 2) + number(bits, 2));
}
std::string riff(const std::string &chunks, const std::string &magic = "RIFF") {
  return magic + number(chunks.size() + 4, 4) + "WAVE" + chunks;
}
/// The RIFX file of a RIFF file that has a format of 16 bytes and then samples.
std::string highBytesFirst(std::string file) {
  const auto frame = size_t(uint8_t(file[32])), channels = size_t(uint8_t(file[22]));
  auto turn = [&](size_t at, size_t size) {
    std::reverse(file.begin() + ptrdiff_t(at), file.begin() + ptrdiff_t(at + size));
  };
  file[3] = 'X';
  for (auto [at, size] :
       {std::pair(4, 4), {16, 4}, {20, 2}, {22, 2}, {24, 4}, {28, 4}, {32, 2}, {34, 2}, {40, 4}})
    turn(size_t(at), size_t(size));
  for (size_t at = 44; at + frame / channels <= file.size(); at += frame / channels)
    turn(at, frame / channels);
  return file;
}
std::span<const uint8_t> bytesOf(const std::string &text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}
std::string messageOf(const std::string &file) {
  MediaSpan bytes(bytesOf(file));
  auto info = probeWave(bytes);
  return info ? std::to_string(info->samples) + " samples" : info.error().message;
}

TEST(Wave, Structure) {
  const std::string head = format(1, 2, 16);
  EXPECT_EQ(messageOf(riff(head + chunk("data", std::string(12, 'x')))), "3 samples");
  EXPECT_EQ(
      messageOf(riff(chunk("LIST", "odd") + head + chunk("data", std::string(15, 'x')) + "rest")),
      "3 samples");
  EXPECT_EQ(messageOf(riff(head + chunk("data", ""))), "0 samples");
  // Written to a pipe: up to the end of the file.
  EXPECT_EQ(messageOf(riff(head + "data\xFF\xFF\xFF\xFF" + std::string(8, 'x'))), "2 samples");
  for (uint32_t size : {0xFFFFFF9Bu, 0x7FFFFFFFu, 0x7FFFFFDBu, 0x7FFFF000u, 0x7FFFEFFDu, 0u})
    EXPECT_EQ(messageOf(riff(head + "data" + number(size, 4) + std::string(9, '\x01'))),
              "2 samples")
        << size;
  for (uint32_t size : {0xFFFFFEFFu, 0x80000000u, 0x7FFFEFFCu})
    EXPECT_EQ(messageOf(riff(head + "data" + number(size, 4) + std::string(9, '\x01'))),
              "truncated WAV: it has 9 bytes of samples, and says " + std::to_string(size));
  EXPECT_EQ(
      messageOf(riff(head + chunk("data", "") + chunk("LIST", "odd") + chunk("id3 ", "tags"))),
      "0 samples");
  const std::string sizes =
      chunk("ds64", number(0, 8) + number(8, 8) + number(2, 8) + number(0, 4));
  for (const char *magic : {"RF64", "BW64"})
    EXPECT_EQ(messageOf(riff(sizes + head + "data\xFF\xFF\xFF\xFF" + std::string(9, 'x'), magic)),
              "2 samples");
  const std::string noSizes =
      chunk("ds64", number(0, 8) + number(0, 8) + number(0, 8) + number(0, 4));
  EXPECT_EQ(messageOf(riff(noSizes + head + "data\xFF\xFF\xFF\xFF" + std::string(9, 'x'), "RF64")),
            "2 samples");
  EXPECT_EQ(messageOf(riff(noSizes + head + "data\xFF\xFF\xFF\xFF", "RF64")), "0 samples");
  const std::string guid("\x00\x00\x00\x00\x10\x00\x80\x00\x00\xAA\x00\x38\x9B\x71", 14);
  auto extensible = [&](const std::string &id) {
    return riff(chunk("fmt ", number(0xFFFE, 2) + number(1, 2) + number(8000, 4) +
                                  number(24000, 4) + number(3, 2) + number(24, 2) + number(22, 2) +
                                  number(20, 2) + number(4, 4) + number(1, 2) + id) +
                chunk("data", "123456"));
  };
  EXPECT_EQ(messageOf(extensible(guid)), "2 samples");
  EXPECT_EQ(messageOf(extensible(std::string(14, 'x'))), "WAV of an unknown format is not read");
}

TEST(Wave, SilenceIsNoChunk) {
  const std::string head = riff(format(1, 2, 16) + "data" + number(0, 4));
  EXPECT_EQ(messageOf(head + std::string(8000, '\0')), "2000 samples");
  const std::string silent = head + std::string(1 << 20, '\0') + "ends";
  Watched header(bytesOf(silent), {{0, 4096}}, /*mayRepeat=*/true);
  auto info = probeWave(header);
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(info->samples, (1 << 18) + 1);
}

TEST(Wave, WhatIsWrong) {
  const std::string data = chunk("data", std::string(12, 'x')), head = format(1, 2, 16);
  EXPECT_EQ(messageOf("NIST_1A\n   1024\n"),
            "a SPHERE file is not decoded (WAV and FLAC are; `sph2pipe` and `sox` make WAV of it)");
  EXPECT_EQ(messageOf("OggS"), "not a sound file: its first bytes are neither WAV's nor FLAC's");
  EXPECT_EQ(messageOf(riff(head)), "truncated WAV: it ends after 36 bytes, before its samples");
  EXPECT_EQ(messageOf(riff(data)), "damaged WAV: samples stand before their format");
  EXPECT_EQ(messageOf(riff(head + data).substr(0, 50)),
            "truncated WAV: it has 6 bytes of samples, and says 12");
  EXPECT_EQ(messageOf(riff(head + chunk("LIST", std::string(50, 'x'))).substr(0, 60)),
            "truncated WAV: it ends after 60 bytes, before its samples");
  EXPECT_EQ(messageOf(riff(format(1, 0, 16) + data)),
            "damaged WAV: 0 channels at 8000 Hz in frames of 0 bytes");
  EXPECT_EQ(messageOf(riff(chunk("fmt ", "short") + data)), "damaged WAV: a format of 5 bytes");
  EXPECT_EQ(
      messageOf(riff(format(2, 2, 4) + data)),
      "WAV of format 2 with 4 bits is not read (PCM up to 32 bits, floats, A-law and mu-law are)");
  EXPECT_EQ(messageOf(riff(chunk("fmt ", number(1, 2) + number(3, 2) + number(8000, 4) +
                                             number(72000, 4) + number(9, 2) + number(20, 2)) +
                           data)),
            "1 samples");
  EXPECT_EQ(messageOf(riff(chunk("ds64", "short") + head + data, "RF64")),
            "damaged WAV: sizes of 5 bytes");
}

// Guards beside the range stay as they are.
TEST(Wave, AnyRangeIsThatOfTheWhole) {
  DecodeStats stats;
  pst_video_costs videos{};
  MediumHost host{{}, stats, videos, nullptr, nullptr};
  const auto kind = size_t(media::find("wave"));
  auto medium = mediumEntry(kind).make(host);
  std::mt19937 random(3);
  for (auto [tag, bits] : {std::pair(1u, 8u),
                           {1u, 16u},
                           {1u, 24u},
                           {1u, 32u},
                           {3u, 32u},
                           {3u, 64u},
                           {6u, 8u},
                           {7u, 8u}})
    for (uint32_t channels : {1u, 2u, 5u}) {
      std::string samples;
      for (uint32_t i = 0; i < 50 * channels * bits / 8; ++i)
        samples += char(random());
      const std::string file = riff(format(tag, channels, bits) + chunk("data", samples));
      const std::string turned = highBytesFirst(file);
      MediumInput input{bytesOf(file), {}, nullptr, nullptr, nullptr};
      ASSERT_TRUE(mediumEntry(kind).probe(input, {}, input.numbers));
      EXPECT_EQ(input.numbers[media::waveSamples], 50);
      for (bool isMono : {true, false}) {
        const int64_t extents[] = {50, channels};
        const AxisRange all[] = {{0, 50}, {0, channels}};
        const size_t rank = isMono ? 1 : 2;
        auto decoded = [&](const AxisRange *box, const MediumInput &from) {
          const MediumRequest request{plan::DType::f32,
                                      isMono ? "mono" : "channels",
                                      false,
                                      {extents, rank},
                                      {box, rank},
                                      {}};
          const auto layout = medium->layout(request);
          std::vector<uint8_t> out(size_t(layout->strides[0] * extents[0]), 0xEE);
          EXPECT_TRUE(medium->decode(from, request, *layout, out.data()));
          return out;
        };
        const auto whole = decoded(all, input);
        EXPECT_EQ(decoded(all, {bytesOf(turned), {}, nullptr, nullptr, nullptr}), whole)
            << tag << " " << bits;
        for (int trial = 0; trial < 20; ++trial) {
          const int64_t low = int64_t(random() % 50), first = int64_t(random() % channels);
          const AxisRange box[] = {{low, low + 1 + int64_t(random()) % (50 - low)},
                                   {first, first + 1 + int64_t(random()) % (channels - first)}};
          const auto part = decoded(box, input);
          for (size_t i = 0; i < whole.size(); ++i) {
            const auto element = int64_t(i / 4), t = isMono ? element : element / channels;
            const bool inside =
                t >= box[0].low && t < box[0].high &&
                (isMono || (element % channels >= box[1].low && element % channels < box[1].high));
            ASSERT_EQ(part[i], inside ? whole[i] : 0xEE) << tag << " " << bits << " " << channels;
          }
        }
      }
    }
}

// PENSTOCK_MUTANTS: how many files. Samples that come are in the file, and nothing else is touched.
TEST(Wave, DamagedFilesAreReadOrRefused) {
  const char *count = std::getenv("PENSTOCK_MUTANTS");
  std::mt19937 random(count ? uint32_t(std::random_device()()) : 9);
  DecodeStats stats;
  pst_video_costs videos{};
  MediumHost host{{}, stats, videos, nullptr, nullptr};
  const auto kind = size_t(media::find("wave"));
  auto medium = mediumEntry(kind).make(host);
  const std::string whole =
      riff(chunk("LIST", "some text") + format(1, 2, 16) + chunk("data", std::string(400, 'x')));
  int bad = 0, files = count ? std::atoi(count) : 300;
  for (int i = 0; i < files; ++i) {
    std::string file = whole;
    if (random() % 3 == 0)
      file.resize(random() % file.size());
    for (uint32_t n = random() % 5; n-- > 0 && !file.empty();)
      file[random() % std::min<size_t>(file.size(), 70)] ^= char(1u << random() % 8);
    MediumInput input{bytesOf(file), {}, nullptr, nullptr, nullptr};
    if (Status status = mediumEntry(kind).probe(input, {}, input.numbers); !status) {
      EXPECT_FALSE(status.error().message.empty());
      ++bad;
      continue;
    }
    const int64_t extents[] = {input.numbers[media::waveSamples]};
    ASSERT_LE(uint64_t(extents[0]), file.size());
    if (extents[0] == 0)
      continue;
    const AxisRange box[] = {{extents[0] / 2, extents[0]}};
    const MediumRequest request{plan::DType::f32, "mono", false, extents, box, {}};
    std::vector<float> out(size_t(extents[0]), 9);
    EXPECT_TRUE(medium->decode(input, request, *medium->layout(request),
                               reinterpret_cast<uint8_t *>(out.data())));
    for (int64_t t = 0; t < box[0].low; ++t)
      ASSERT_EQ(out[size_t(t)], 9);
  }
  EXPECT_GT(bad, files / 10);
}

} // namespace
