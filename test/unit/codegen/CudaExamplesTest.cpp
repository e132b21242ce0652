// SPDX-License-Identifier: Apache-2.0
//
// The kernels of every example as CUDA text, run on the CPU: the bits of the
// reference, in any order of threads and blocks.

#include "compiler/Pipelines/Pipelines.h"
#include "mlir/Pass/PassManager.h"
#include "test/differential/Candidates.h"
#include "test/differential/CudaDriver.h"
#include "test/unit/codegen/ExampleInputs.h"

#include <gtest/gtest.h>

using namespace penstock;

namespace {

/// \param tiny  in tiles of few rows, of which some do not fit (CudaDriver.h)
void expectTheBitsOfTheReference(const std::string &text, bool tiny = false) {
  test::Imported imported(text);
  ASSERT_TRUE(imported.result.module) << imported.messages;
  const test::MadeUpMedia media;
  reference::BatchInputs inputs = test::exampleInputs(imported, media);
  const auto expected = reference::Interpreter(*imported.result.module).run(inputs);
  ASSERT_EQ(expected.error, "");
  // The first picture is large enough for every crop.
  ASSERT_FALSE(expected.samples[0].failure) << expected.samples[0].failure->message;

  mlir::PassManager passes(&imported.context);
  const auto selection = pipelines::PassSelection::ofDevice({"sm_90"});
  pipelines::buildOptPipeline(passes, selection);
  pipelines::buildKernelsPipeline(passes, selection);
  ASSERT_TRUE(mlir::succeeded(passes.run(*imported.result.module)));
  const differential::CudaKernels kernels(*imported.result.module, tiny);
  ASSERT_EQ(kernels.error(), "");
  inputs.kernels = &kernels;
  const auto found = reference::Interpreter(*imported.result.module).run(inputs);
  EXPECT_EQ(differential::firstDifference(expected, found).value_or("none"), "none");
  EXPECT_GT(kernels.launches(), 0);
}

class CudaExamples : public testing::TestWithParam<std::string> {};

TEST_P(CudaExamples, HaveTheBitsOfTheReference) {
  std::string text = test::exampleText(GetParam());
  // A second of Whisper's half minute, half a second of noise, DINO's views at half their size,
  // small volumes: threads are slow on a CPU. And waves of any length.
  const std::pair<std::string, std::string> changes[] = {
      {"fit_length(480_000)", "fit_length(16_000)"},
      {"seconds: f64 = 2.0", "seconds: f64 = 0.5"},
      {"size: int = 96, spacing", "size: int = 12, spacing"},
      {"global_size: int = 224, local_size: int = 96",
       "global_size: int = 112, local_size: int = 48"},
      {"shortest: int = 32_000", "shortest: int = 0"}};
  for (const auto &[written, wanted] : changes)
    if (const size_t place = text.find(written); place != std::string::npos)
      text.replace(place, written.size(), wanted);
  expectTheBitsOfTheReference(text);
}

// Pictures that become much smaller have many taps, whose tables go to shared memory, too.
TEST_P(CudaExamples, HaveTheBitsOfTheReferenceWhereTheyShrink) {
  std::string text = test::exampleText(GetParam());
  constexpr std::string_view size = "size: int = ";
  const size_t place = text.find(size);
  if (place == std::string::npos)
    return;
  const size_t begin = place + size.size(), end = text.find_first_not_of("0123456789", begin);
  text.replace(begin, end - begin, "12");
  expectTheBitsOfTheReference(text);
}

// Short transforms that are unrolled and such in loops, of even and odd length,
// f32 and f64, over two axes of lines.
TEST(CudaPasses, TransformsOfAllKindsOfLengths) {
  expectTheBitsOfTheReference(R"(
pipe 1
fn finite(x: f32[t]) -> f32[t] = map (p in x) { if p < 1e6 then p - 80.0 else 0.5 }
pipeline waves(a: path, b: path, c: path, d: path, e: path) {
  for row in raw(a = column(a, f32[v = 3, t = 874]), b = column(b, f32[t = 1001, w = 2]), c = column(c, f32[t = 400]),
                 d = column(d, f32[t = 1]), e = column(e, f32[t = 17]))
  batch 2 {
    output a: f32[n, v, freq, part] = fft(row.a |> finite, t)
    output b: f64[n, freq, w, part] = fft(f64(row.b |> finite), t)
    output c: f32[n, freq, part] = fft(row.c |> finite, t)
    output d: f32[n, freq, part] = fft(row.d |> finite, t)
    output e: f64[n, freq, part] = fft(f64(row.e |> finite), t)
  }
}
)");
}

// More elements than threads, keys that meet, more groups than the limit, one group of
// most elements, and axes around the one that is grouped.
TEST(CudaPasses, GroupsAndSelectionsOfManyElements) {
  expectTheBitsOfTheReference(R"(
pipe 1
fn finite(x: f32[k]) -> f32[k] = map (p in x) { if p < 1e6 then p else 0.5 }
pipeline clouds(points: path, keys: path) {
  for row in raw(points = column(points, f32[v = 2, k = 1500, c = 3]), keys = column(keys, i32[k = 1500]))
  let all = row.points |> finite
  let kept = compact(all, map (q in row.keys) { q % 7 != 0 })
  let key = map (q in row.keys, i in index(row.keys, k)) { if i % 3 == 0 then i32(i) % 331 - 165 else if q < 90 then 5 else q }
  let groups = group(all, by = key, limit = 150)
  batch 2 {
    output kept: f32[n, k <= 1500, v, c] ragged = kept
    output sums: f32[n, m <= 150, v, c] pad 0 = sum(groups.points over [k])
    output most: f32[n, m <= 150, v, c] pad 0 = max(groups.points over [k])
    output count: i32[n, m <= 150] pad 0 = groups.count
    output first: i64[n, m <= 150] pad 0 = groups.first
    output slot: i64[n, k] = groups.slot
  }
}
)");
}

// What is known to have no elements reads none, in tiles that copy what they read beside it.
TEST(CudaPasses, TilesWithoutElements) {
  expectTheBitsOfTheReference(R"(
pipe 1
pipeline tiles(a: path) {
  for row in raw(a = column(a, i64[z = 3, y = 4, x = 2]))
  let none = row.a[x = 1 .. 1]
  batch 2 {
    output none: i64[n, z, y, x] stored [y, n, x, z] = resample(resample(none, y, 1, filter = lanczos, antialias = true), z, 5, filter = lanczos, antialias = true)
    output some: i64[n, z, y, x] = resample(resample(row.a, y, 1, filter = lanczos, antialias = true), z, 5, filter = lanczos, antialias = true)
  }
}
)",
                              /*tiny=*/true);
}

// Patches of 0 to 2 rows and 0 to 18 columns: views of what there is, and tensors of their own.
TEST(CudaPasses, PatchesWithoutElements) {
  expectTheBitsOfTheReference(R"(
pipe 1
fn finite(x: f32[h, w]) -> f32[h, w] = map (p in x) { if p < 1e6 then p else 0.5 }
pipeline patches(x: path) {
  for row in raw(x = column(x, f32[h = 5, w = 70]))
  let all = row.x |> finite
  let rows = draw int(0 .. 2)
  let columns = draw int(0 .. 2)
  let some = all[h = 5 - rows .. 5, w = 70 - 9 * columns .. 70]
  batch 12 {
    output a: f32[n, h, w] = place(all, some, h = 1, w = 3)
    output b: f32[n, h, w] = place(all, scan_sum(some, w), h = 1, w = 3)
    output c: f32[n, h, w] = place(all, all[h = 5 .. 5, w = 0 .. 9], h = 1, w = 3)
  }
}
)");
}

// A block for each result of many elements: of several kinds and types, before and behind others.
TEST(CudaPasses, BlocksOfMany) {
  expectTheBitsOfTheReference(R"(
pipe 1
pipeline many(x: path, y: path) {
  for row in raw(x = column(x, u8[h = 61, w = 67, c = 3]), y = column(y, f32[t = 3001]))
  let sums = sum(i64(row.x) over [h, w])
  let high = max(row.x over [h, w, c])
  batch 2 {
    output sums: i64[n, c] = sums
    output least: f32[n] = min(row.y over [t])
    output most: i16[n, c] = max(i16(row.x) over [h, w])
    output bright: i64[n] = count(map (p in row.x) { p > 99 } over [h, w, c])
    output scaled: i64[n, h, w, c] = map (p in row.x, s in sums) { i64(p) * s / 4087 }
    output below: i64[n] = sum(map (p in row.x) { i64(high - p) } over [h, w, c])
  }
}
)");
}

// Infinities that halves make of integers make NaNs of each other, and the one that is stored is
// canonical.
TEST(CudaPasses, NumbersThatHalvesDoNotHold) {
  expectTheBitsOfTheReference(R"(
pipe 1
pipeline halves(x: path, y: path, z: path) {
  for row in raw(x = column(x, u16[t = 40]), y = column(y, u16[t = 40]), z = column(z, u16[t = 40]))
  batch 2 {
    output apart: f32[n, t] = map (p in row.x) { f32(f16(i32(p) + 66000)) - f32(f16(i32(p) + 67000)) }
    output half: f16[n, t] = map (p in row.y) { f16(f32(f16(i32(p) + 66000)) - f32(f16(i32(p) + 67000))) }
    output brain: bf16[n, t] = map (p in row.z) { bf16(f32(f16(i32(p) + 66000)) * (f32(p) - f32(p))) }
  }
}
)");
}

// Rows of which each op needs the row alone, and one for which it needs those before it.
TEST(CudaPasses, RowsAlone) {
  expectTheBitsOfTheReference(R"(
pipe 1
pipeline rows(x: path) {
  for row in raw(x = column(x, f32[t = 9, k = 70]))
  let all = map (p in row.x) { if p < 1e6 then p else 0.5 }
  let mean = sum(all over [k]) / 70.0
  let d = map (p in all, m in mean) { p - m }
  let size = sum(map (p in d) { p * p } over [k])
  batch 3 {
    output y: f32[n, t, k] = map (p in d, s in size) { p / sqrt(s + 1.0) }
    output z: f32[n, t, k] = map (p in d, s in scan_sum(size, t)) { p / sqrt(s + 1.0) }
    output best: i64[n, t] = argmax(d over [k])
  }
}
)");
}

// Rows of a first pass that are few, many, mirrored and turned round, of several frames; windows
// beyond the edges of all borders, one after the other.
TEST(CudaPasses, TilesOfRows) {
  const std::string text = R"(
pipe 1
use vision
pipeline tiles(x: path, y: path) {
  for row in raw(x = column(x, u8[h = 150, w = 20, c = 3]), y = column(y, u8[t = 3, h = 40, w = 40]))
  let image = row.x
  let inverted = map (p in row.y) { 255 - p }
  let close = window (v in inverted, h = -2 ..= 4) { max(v over [h]) }
  let around = extend(close, h, 5, 11, border = symmetric)
  let outside = window (v in around, h = -3 ..= 3, border = constant, fill = 7) { min(v over [h]) }
  batch 2 {
    output small: u8[n, h, w, c] = image |> resize(20, 64)
    output large: u8[n, c, h, w] = image |> flip(h) |> resize(180, 64)
    output frames: u8[n, t, h, w] = row.y |> resize(24, 32)
    output clamped: u8[n, t, h, w] = window (v in close, h = -3 ..= 1, border = edge) { min(v over [h]) }
    output mirrored: u8[n, t, h, w] = window (v in close, h = -25 ..= 3, border = reflect) { min(v over [h]) }
    output repeated: u8[n, t, h, w] = window (v in close, h = 2 ..= 7, border = symmetric) { min(v over [h]) }
    output outside: u8[n, t, h, w] = outside[h = 0 .. 40]
  }
}
)";
  expectTheBitsOfTheReference(text);
  expectTheBitsOfTheReference(text, /*tiny=*/true);
}

// Windows that tell how many rows a tile reads: no room is left, and none is asked for. Their
// weights are copied.
TEST(CudaPasses, TilesOfWindows) {
  expectTheBitsOfTheReference(R"(
pipe 1
use vision
pipeline windows(x: path, y: path, z: path, r: path, s: path, t: path) {
  for row in raw(x = column(x, u8[h = 50, w = 80]), y = column(y, u8[h = 50, w = 80]), z = column(z, u8[c = 3, h = 9, w = 300]),
                 r = column(r, u8[h = 21, w = 66, c = rgb]), s = column(s, f32[h = 20, w = 70]), t = column(t, f32[k = 3]))
  let across = rename(row.t, k, w)
  let weighted = window (v in row.s, w = -1 ..= 1, border = wrap) { sum(v * across over [w]) }
  let inverted = map (p in row.x) { 255 - p }
  let darker = map (p in row.y) { p / 3 + 7 }
  let brighter = map (p in row.z) { p / 2 + 99 }
  let before = window (v in darker, h = -9 ..= 0, border = symmetric) { max(v over [h]) }
  let behind = window (v in darker, h = 2 ..= 11, border = reflect) { max(v over [h]) }
  batch 2 {
    output one: u8[n, h, w] = window (v in inverted, h = -9 ..= 2, border = reflect) { min(v over [h]) }
    output two: u8[n, h, w] = map (p in before, q in behind) { p - q }
    output blurred: u8[n, h, w, c] = row.r |> random_gaussian_blur(7)
    output weighted: f32[n, h, w] = window (v in weighted, h = -2 ..= 2, border = edge) { max(v over [h]) }
    output low: u8[n, c, h, w] = window (v in brighter, h = -5 ..= 7, border = edge) { min(v over [h]) }
  }
}
)");
}

// Inputs that a block copies: rows of any address and length, of which some do not fit; planes;
// bytes, halves and words; mirrored and turned round.
TEST(CudaPasses, CopiedInputs) {
  const std::string text = R"(
pipe 1
use vision
pipeline copies(a: path, b: path, c: path, d: path) {
  for row in raw(rows = column(a, u8[h = 40, w = 61, c = 3]), planes = column(b, u8[v = 2, c = 3, h = 30, w = 40]),
                 halves = column(c, u16[h = 33, w = 75]), long = column(d, u8[h = 3, w = 8000, c = 3]))
  let left = draw int(0 .. 13)
  let top = draw int(0 .. 9)
  let some = row.rows[h = top .. top + 31, w = left .. left + 47]
  let smooth = window (v in row.halves, w = -2 ..= 2, border = reflect) { max(v over [w]) }
  let here = window (v in row.halves[h = 0 .. 30, w = 0 .. 70], w = -1 ..= 1, border = edge) { max(v over [w]) }
  let there = window (v in row.halves[h = 3 .. 33, w = 5 .. 75], w = -1 ..= 1, border = edge) { min(v over [w]) }
  let both = map (p in here, q in there) { max(p, q) }
  let words = window (v in i32(row.halves), w = -1 ..= 3, border = symmetric) { min(v over [w]) }
  batch 3 {
    output cropped: u8[n, c, h, w] = some |> flip(w) if chance(0.5) |> resize(20, 32)
    output enlarged: u8[n, h, w, c] = some |> resize(64, 72)
    output planes: u8[n, v, c, h, w] = row.planes |> resize(11, 32)
    output long: u8[n, h, w, c] = row.long |> resize(8, 40)
    output smooth: u16[n, h, w] = window (v in smooth, h = -3 ..= 3, border = edge) { max(v over [h]) }
    output both: u16[n, h, w] = window (v in both, h = -3 ..= 3, border = edge) { max(v over [h]) }
    output words: i32[n, h, w] = window (v in words, h = -1 ..= 6, border = reflect) { max(v over [h]) }
  }
}
)";
  expectTheBitsOfTheReference(text);
  expectTheBitsOfTheReference(text, /*tiny=*/true);
}

// A column for each thread: of few and many taps, weights below 0, one to four channels, pictures
// narrower and wider than a block, and rows that are copied in several steps.
TEST(CudaPasses, Columns) {
  const std::string text = R"(
pipe 1
use vision
pipeline columns(a: path, b: path, c: path, d: path) {
  for row in raw(gray = column(a, u8[h = 30, w = 90]), rgb = column(b, u8[h = 33, w = 90, c = rgb]), four = column(c, u8[h = 26, w = 70, c = 4]),
                 broad = column(d, u8[h = 60, w = 400, c = rgb]))
  let left = draw int(0 .. 13)
  let some = row.rgb[w = left .. left + 70]
  batch 2 {
    output taps_3: u8[n, h, w, c] = row.rgb |> resize(20, 100)
    output taps_4: u8[n, c, h, w] = some |> flip(w) if chance(0.5) |> resize(20, 45)
    output taps_6: u8[n, h, w, c] = some |> resize(20, 24)
    output turned: u8[n, h, w, c] = some |> flip(h) |> resize(20, 24)
    output taps_18: u8[n, h, w, c] = some |> resize(20, 16, bicubic)
    output below_0: u8[n, h, w, c] = some |> resize(20, 64, bicubic)
    output further: u8[n, h, w, c] = some |> resize(20, 60, lanczos)
    output wide: u8[n, h, w, c] = some |> resize(16, 300)
    output narrow: u8[n, h, w, c] = row.rgb |> resize(20, 12, box)
    output gray: u8[n, h, w] = row.gray |> resize(20, 70)
    output four: u8[n, h, w, c] = row.four |> resize(20, 48)
    output steps: u8[n, h, w, c] = row.broad |> resize(30, 64)
  }
}
)";
  expectTheBitsOfTheReference(text);
  expectTheBitsOfTheReference(text, /*tiny=*/true);
}

// Rows that are summed up by words: of few and many taps, weights below 0, fewer rows than a word
// takes, of one to four channels, planes and frames.
TEST(CudaPasses, RowsByTaps) {
  const std::string text = R"(
pipe 1
use vision
pipeline taps(a: path, b: path, c: path, d: path, e: path) {
  for row in raw(rgb = column(a, u8[h = 60, w = 40, c = rgb]), low = column(b, u8[h = 2, w = 40, c = rgb]),
                 three = column(c, u8[h = 3, w = 40, c = rgb]), frames = column(d, u8[t = 2, h = 30, w = 40, c = rgb]),
                 planes = column(e, u8[c = 3, h = 40, w = 40]))
  batch 2 {
    output enlarged: u8[n, h, w, c] = row.rgb |> resize(81, 32)
    output taps_4: u8[n, c, h, w] = row.rgb |> flip(h) |> resize(45, 32)
    output taps_7: f32[n, c, h, w] = row.rgb |> resize(20, 32) |> to_tensor
    output taps_9: u8[n, h, w, c] = row.rgb |> resize(30, 32, bicubic)
    output below_0: u8[n, h, w, c] = row.rgb |> resize(70, 32, lanczos)
    output low: u8[n, h, w, c] = row.low |> resize(37, 300)
    output three: u8[n, h, w, c] = row.three |> resize(35, 32)
    output frames: u8[n, t, h, w, c] = row.frames |> resize(24, 32)
    output planes: u8[n, c, h, w] = row.planes |> resize(24, 32)
  }
}
)";
  expectTheBitsOfTheReference(text);
  expectTheBitsOfTheReference(text, /*tiny=*/true);
}

// Strips of rows of any address, direction and length: flips that a sample decides, paddings around
// rows of several types, choices, pixels of four channels, rows that are read twice, and what is
// the same for all of a row; pixels of three channels side by side, of which a strip is three
// words. Each also in turns of a loop.
TEST(CudaPasses, StripsOfRows) {
  const std::string text = R"(
pipe 1
use vision
pipeline strips(a: path, b: path, c: path, d: path) {
  for row in raw(pixels = column(a, u8[h = 41, w = 83, c = rgb]), four = column(b, u8[h = 20, w = 33, c = 4]),
                 words = column(c, i32[h = 30, w = 45]), halves = column(d, u16[h = 9, w = 60]))
  let left = draw int(0 .. 8)
  let some = row.pixels[h = left .. left + 33, w = left .. left + 75] |> flip(w) if chance(0.5)
  let wide = row.pixels[h = left .. left + 33, w = left .. left + 64] |> flip(w) if chance(0.5)
  let around = row.words |> pad(5)
  let there = around[h = left .. left + 31, w = left + 2 .. left + 45]
  let framed = row.words |> pad(1)
  let turned = row.words |> flip(w) if chance(0.5)
  batch 6 {
    output odd: u8[n, c, h, w] = some
    output even: f16[n, c, h, w] = wide |> normalize(imagenet)
    output grey: f32[n, c, h, w] = some |> to_tensor
    output four: u8[n, h, w, c] = row.four |> flip(w) if chance(0.5)
    output padded: i32[n, h, w] = there |> flip(w) if chance(0.5)
    output pixels: f32[n, c, h, w] = row.pixels |> pad(6) |> random_crop(40) |> flip(w) if chance(0.5) |> to_tensor
    output chosen: i32[n, h, w] = if left < 3 then there + 1 else if left < 5 then there * 3 else framed[h = 0 .. 31, w = 2 .. 45]
    output twice: i32[n, h, w] = map (p in row.words, q in turned, j in index(turned, w)) { if j % 2 == 0 then max(p, q) else p }
    output looked: i32[n, h, w] = map (p in row.words) { max(p, row.words[h = i64(p) % 30, w = 3]) }
    output doubles: f64[n, h, w] = f64(row.halves |> flip(w) if chance(0.5))
    output rgb: u8[n, h, w, c] = some |> saturation(0.7)
    output inner: f16[n, h, w, c] = f16(row.pixels[w = 3 .. 40] |> flip(w) if chance(0.5)) * 0.5
    output grays: u8[n, h, w, c] = if left < 4 then some else some |> grayscale
    output floats: f32[n, h, w, c] = f32(some) - 0.5
  }
}
)";
  expectTheBitsOfTheReference(text);
  expectTheBitsOfTheReference(text, /*tiny=*/true);
}

INSTANTIATE_TEST_SUITE_P(All, CudaExamples, testing::ValuesIn(test::exampleFiles()),
                         [](const auto &info) {
                           return std::filesystem::path(info.param).stem().string();
                         });

} // namespace
