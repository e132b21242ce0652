# SPDX-License-Identifier: Apache-2.0
"""Decisions of the stage `schedule`, each changed by hand in its text: other code, the same bytes."""
import os
import re

from support import ToolTest, main

SUMS = "output y: f32[n, h] = sum(map (v in row.b) { f32(v) * 0.5 } over [w])"
POOL = "output y: f32[n, h, w] = max(frames(frames(map (v in row.b) { f32(v) * 0.5 }, h, i, 3, 2), w, j, 3, 2) over [i, j])"
PRODUCT = "output y: f32[n, t, mel] = contract(row.power, row.bank)"
LONG_PRODUCT = "output y: f32[n, h, m] = contract(map (v in row.tall) { f32(v) * 0.5 }, map (w in 0 .. 130, m in 0 .. 32) { f32(w * m % 7) })"
# Runs of 3 rows, further down in each column, and columns of nothing but zeros.
BANDED = ("output y: f32[n, t, mel] = contract(row.power, map (v in row.bank, i in index(row.bank, freq), j in index(row.bank, mel)) "
          "{ if i / 3 == j and j % 5 != 2 then v else 0.0 })")

VOTES = ("output y: i32[n, k] = scatter(map (k in 0 .. 9) { i32(k) }, map (v in merge(row.tall, h, w)) { if v > 99 then i32(v) else i32(0) }, "
         "k = map (i in index(merge(row.tall, h, w), h)) { i % 11 })")
TOTALS = "output y: i64[n, c] = sum(map (v in row.image) { i64(v) } over [h, w])"
FFT = "output y: f32[n, t, freq, part] = fft(row.power, freq)"
FFT_OF_FLOATS = "output y: f32[n, h, w, freq, part] = fft(row.cube, k)"
ORDER = "output y: i64[n, t, freq] = sort(row.power, freq)"

TWO = "output y: f32[n, h, w] = f32(row.b) * 0.5\n    output z: u8[n, h, w] = u8(f32(row.b) / 2.0)"

# (the decision, a pipeline's lines, its form in the text of the schedule, the form that replaces it).
DECISIONS = [
    ("lanes", "output y: f32[n, h, w] = map (v in row.b) { f32(v) * 0.5 }", r"lanes = 32", "lanes = 4"),
    ("the axis of the lanes", "output y: f32[n, h, w] = map (v in row.b) { f32(v) * 0.5 }", r'along = "w"', 'along = "h"'),
    ("channels side by side", "output y: f32[n, h, w, c] = row.image |> normalize(imagenet)", r', unroll = "c"', ""),
    ("loops for each arm", "output y: u8[n, h, w, c] = row.image |> invert if chance(0.5)", r"arms = 2", "arms = 1"),
    ("loops for bounded numbers", "output y: f32[n, h, w] = map (v in row.b) { f32(v) * factor }", r'"bounded"', ""),
    ("loops for either direction", "output y: u8[n, h, w] = row.b |> flip(w) if chance(0.5)", r'"strides"', ""),
    ("rows that are dense", "output y: f32[n, t] = max(row.points over [k])", r"dense = array<i64: 0>, ", ""),
    ("rows of a pad by themselves", "output y: u8[n, h, w] = row.b |> pad(2)", r'"rows"', ""),
    ("ends of rows", "output y: f32[n, h, w] = map (v in row.b) { f32(v) * 0.5 }", r"tail = narrow", "tail = single"),
    ("rows in a ring", "output y: u8[n, h, w, c] = row.image |> resize(9, 40)", r'schedule = "ring"', 'schedule = "scratch"'),
    ("a reduction in lanes", SUMS, r"way = lanes, lanes = 32, beside = 2", "way = single"),
    ("sums side by side", SUMS, r"beside = 2", "beside = 4"),
    ("a result in each lane", SUMS, r"way = lanes, lanes = 32, beside = 2", 'way = across, along = "h", lanes = 4'),
    ("axes that are one run", "output y: f32[n, h] = sum(map (v in row.image) { f32(v) * 0.5 } over [w, c])", r", run = 2, beside = 2", ", sums = memory"),
    ("channels of a reduction", "output y: u8[n, c] = max(row.image over [h, w])", r'way = lanes, lanes = 32, unroll = "c"', "way = single"),
    ("lanes of places", "output y: i64[n, h] = argmax(row.b over [w])", r"lanes = 16", "lanes = 8"),
    ("rows of results", "output y: u8[n, w] = max(row.tall over [h])", r"way = rows, lanes = 64, beside = 8", 'way = across, along = "w", lanes = 16'),
    ("rows that are read side by side", "output y: u8[n, w] = max(row.tall over [h])", r"beside = 8", "beside = 2"),
    ("rows that are made when they are read", POOL, r'schedule = "ring"', 'schedule = "scratch"'),
    ("elements without a loop", POOL, r', unrolled = true>, schedule = "ring"', '>, schedule = "ring"'),
    ("results of one vector", "output y: f32[n, t] = sum(row.quads over [k])", r"pieces = true", "pieces = false"),
    ("a scan's rows in lanes", "output y: f32[n, h, w] = scan_sum(map (v in row.tall) { f32(v) * 0.5 }, w)", r"way = transposed, lanes = 8", "way = single, beside = 2"),
    ("rows of a scan in each lane", "output y: f32[n, h, w] = scan_sum(map (v in row.tall) { f32(v) * 0.5 }, h)", r"(#schedule.scan<way = across, along = .w., lanes) = \d+", r"\1 = 4"),
    ("rows of a scan side by side", "output y: f32[n, h, w] = scan_sum(map (v in row.b) { f32(v) * 0.5 }, w)", r"beside = 4", "beside = 1"),
    ("rows that share a table", "output y: f32[n, t] = sum(map (t in 0 .. 50, k in 0 .. 64) { row.power[t = t % 5, freq = k] * 0.5 } over [k])",
     r", period = 5, sharing = 4", ""),
    ("tables of a histogram", "output y: i32[n, bin] = histogram(row.tall over [h, w])", r"tables = 4", "tables = 3"),
    ("tables of a scatter", VOTES, r"tables = 4", "tables = 1"),
    ("zeros that a scatter skips", VOTES, r"(#schedule.turns<tables = 4), skip = 32", r"\1"),
    ("lanes of a product", PRODUCT, r'along = "mel", lanes = 8', 'along = "mel", lanes = 4'),
    ("the axis of a product's lanes", PRODUCT, r'along = "mel", lanes = 8, unroll = "t"(.*), bands = 8', r'along = "t", lanes = 16, unroll = "mel"\1'),
    ("products that share what they read", PRODUCT, r"beside = 4", "beside = 2"),
    ("partial sums of a product", PRODUCT, r"sums = registers", "sums = memory"),
    ("partial sums of a product that are stored", PRODUCT, r"sums = registers", "sums = stored"),
    ("vectors of a product", LONG_PRODUCT, r'lanes = 16(.*), sums = stored', r'lanes = 8\1, sums = registers'),
    ("products without a loop", "output y: f32[n, t, mel] = contract(row.quads, row.few)", r"sums = unrolled", "sums = memory"),
    ("bands of a matrix", PRODUCT, r", bands = 8", ""),
    ("bands of a matrix that has some", BANDED, r", bands = 8", ""),
    ("lanes beside bands", BANDED, r'along = "mel", lanes = 8', 'along = "mel", lanes = 16'),
    ("lanes of bands", BANDED, r"bands = 8", "bands = 4"),
    ("partial sums of a reduction", SUMS, r"beside = 2", "sums = memory"),
    ("partial sums of a result in each lane", "output y: f32[n, k] = sum(row.points over [t])", r"(#schedule.reduction<way = )[^>]*", r'\1across, along = "k", lanes = 4, sums = memory'),
    ("sums in 32 bits", TOTALS, r", small = \d+", ""),
    ("how many numbers 32 bits add", TOTALS, r"small = \d+", "small = 3"),
    ("fewer sums in 32 bits at a time", "output y: i64[n, h] = sum(map (v in row.tall) { i64(v) } over [w])", r"small = 4", "small = 2"),
    ("outputs whose weights are made at once", "output y: u8[n, h, w, c] = row.image |> resize(9, 40)", r"(#schedule.weights<lanes) = \d+", r"\1 = 2"),
    ("transforms side by side", FFT, r'along = "t", lanes = 8', "lanes = 8"),
    ("lanes of transforms", FFT, r'along = "t", lanes = 8', 'along = "t", lanes = 4'),
    ("transforms along another axis", FFT_OF_FLOATS, r'along = "w", lanes = 8', 'along = "h", lanes = 16'),
    ("lanes of one transform", "output y: f32[n, freq, part] = fft(row.sound, t)", r"(#schedule.fft<lanes) = \d+", r"\1 = 2"),
    ("a network that sorts rows", ORDER, r'way = transposed, along = "t", lanes = 4', "way = merged"),
    ("digits that sort rows", ORDER, r'way = transposed, along = "t", lanes = 4', "way = digits"),
    ("merges that sort one row", "output y: i64[n, t] = sort(row.sound, t)", r"#schedule.sort<way = digits>", "#schedule.sort<way = merged>"),
    ("squares of sorted rows", ORDER, r"way = transposed", "way = across"),
    ("lanes of sorted rows", ORDER, r"lanes = 4", "lanes = 8"),
    ("lanes of sorted columns", "output y: i64[n, h, w] = sort(row.tall, h)", r"(#schedule.sort<way = across, along = .w., lanes) = 8", r"\1 = 16"),
    ("squares", "output y: f32[n, w, h] = map (v in row.c) { v * 0.5 }", r', across = "w"', ""),
    ("quotients that are products", "output y: f32[n, h, w] = map (v in row.b, q in map (h in 0 .. 5) { factor * f32(h + 3) }) { f32(v) / q }",
     r'(@k0 "pixels" schedule \{level = 3 : i64)', r"\1, reciprocals"),
    ("outputs of the same loops", TWO, r", together = \[array<i64: 0, 1>\]", ""),
    ("planes side by side", "output y: f32[n, k, h, w] = stack([f32(row.b) * 0.5, f32(row.b) + factor, sqrt(f32(row.b))], k)", r', unroll = "k"', ""),
    ("copies", "output y: u8[n, h, w] = concat(each (q in 0 .. 2) { row.b }, w)", r"(copies = .*?)lanes = 32", r"\1lanes = 8"),
]


# The same of what only registers of 64 bytes and permutations of these have.
TABLES = [
    ("arithmetic in place of a table", "output y: u8[n, h, w] = map (v in row.tall) { u8(f32(v) * factor + factor * 3.0) }", r"table = true", "table = false"),
    ("a table in place of arithmetic", "output y: u8[n, h, w] = map (v in row.tall) { u8(f32(v) * factor) }", r"(pipe.cast +value %\w+) : f32 -> ui8", r"\1 {table = true} : f32 -> ui8"),
    ("bytes that are loaded one by one", "output y: u8[n, h, w] = map (v in row.tall) { row.bytes[k = v] }", r"table = true", "table = false"),
]


class Schedules(ToolTest):
    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def bytes_of(self, path, *options):
        hashes = os.path.join(self.folder, "hashes")
        if os.path.exists(hashes):
            os.remove(hashes)
        self.run_tool("run", path, "--no-cache", "--hashes", hashes, *options)
        with open(hashes) as file:
            return file.read()

    def check(self, output, old, new, level, runs=True):
        pipe = self.write("p.pipe", "pipe 1\nuse vision\npipeline p(factor: f32 = 0.25) {\n  for row in synthetic(11, "
                          "b = u8[h = 5, w = 67], c = f32[h = 21, w = 67], image = u8[h = 12, w = 37, c = rgb], points = f32[t = 50, k = 3], "
                          "quads = f32[t = 50, k = 4], few = f32[k = 4, mel = 24], power = f32[t = 50, freq = 72], bank = f32[freq = 72, mel = 24], "
                          "tall = u8[h = 70, w = 130], bytes = u8[k = 256], "
                          "cube = f32[h = 18, w = 19, k = 64], sound = f32[t = 160])\n"
                          f"  batch 4 last keep {{\n    {output}\n  }}\n}}\n")
        chosen = self.run_tool("compile", pipe, "--no-cache", "--target", level, "--emit", "schedule").stdout
        forced = re.sub(old, new, chosen)
        self.assertNotEqual(chosen, forced)
        texts = [self.write(f"{i}.mlir", text) for i, text in enumerate((chosen, forced))]
        loops = [self.run_tool("compile", text, "--no-cache", "--target", level, "--from", "schedule", "--emit", "loops").stdout
                 for text in texts]
        self.assertNotEqual(*(re.sub(r"#schedule\.\w+<[^>]*>", "", text) for text in loops))
        if runs:
            right, *others = (self.bytes_of(path, "--target", level, *options) for path, options in
                              ((pipe, ()), *((text, ("--from", "schedule")) for text in texts)))
            self.assertEqual([right, right], others)

    def test_other_code_and_the_same_bytes(self):
        for decision, output, old, new in DECISIONS:
            with self.subTest(decision):
                self.check(output, old, new, "x86-64-v3")

    def test_tables_of_bytes(self):
        with open("/proc/cpuinfo") as file:
            flags = file.read()
        for decision, output, old, new in TABLES:
            with self.subTest(decision):
                self.check(output, old, new, "x86-64-v4-vnni", runs=" avx512_vnni" in flags and " avx512vbmi" in flags)

    def test_rows_that_no_reduction_can_make_are_stored(self):
        """Of 40 rows and columns, both reductions go by rows, and the second one reads all that the first one makes."""
        pipe = self.write("p.pipe", "pipe 1\npipeline p() {\n  for row in synthetic(11, x = f32[h = 90, w = 90])\n  batch 4 last keep "
                          "{ output y: f32[n, h, w] = max(frames(frames(row.x, h, i, 40, 1), w, j, 40, 1) over [i, j]) }\n}\n")
        text = self.write("p.mlir", re.sub(r", schedule = \"scratch\"|reduction = #schedule\.reduction<[^>]*>,? ?", "", self.run_tool(
            "compile", pipe, "--no-cache", "--target", "x86-64-v3", "--emit", "schedule").stdout))
        self.assertEqual(self.bytes_of(pipe, "--target", "x86-64-v3"), self.bytes_of(text, "--target", "x86-64-v3", "--from", "schedule"))


if __name__ == "__main__":
    main()
