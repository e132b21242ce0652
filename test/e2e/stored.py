# SPDX-License-Identifier: Apache-2.0
"""Orders in memory: wherever `n` stands among an output's axes, a sample's bytes are those that it has alone."""
import itertools
import os

from support import ToolTest, main

# Extents below, at and above a vector's, and the other kinds of kernels: rows, sums, sorts, windows, what is computed whole.
VALUES = [
    ("f32", "t", "map (v in row.t) { v * 2.0 }"),
    ("u8", "t", "map (v in row.t) { u8.clamp(round(v * 100.0)) }"),
    ("f16", "t", "f16(sort(row.t, t))"),
    ("i64", "t", "map (v in row.t, i in index(row.t, t)) { i64(i) * 3 - i64(v) }"),
    ("f32", "h", "sum(f32(row.b) over [w])"),
    ("u8", "w", "max(row.b over [h])"),
    ("f32", "hw", "map (v in row.b) { f32(v) * 0.5 }"),
    ("u8", "hw", "reverse(row.b, w)"),
    ("f32", "hw", "window (v in f32(row.b), h = -1 ..= 1, w = -1 ..= 1, border = edge) { sum(v over [h, w]) }"),
    ("u8", "hwc", "row.image |> resize(9, 40)"),
    ("f16", "hwc", "row.image |> random_crop(8) |> normalize(imagenet)"),
    ("f32", "c", "mean(f32(row.image) over [h, w])"),
]


class Stored(ToolTest):
    def run_all(self, outputs, lanes, before=""):
        path = os.path.join(self.folder, "stored.pipe")
        with open(path, "w") as file:
            file.write(f"pipe 1\nuse vision\npipeline stored() {{\n  for row in synthetic(11, t = f32[t = {lanes}], "
                       f"b = u8[h = 5, w = {lanes}], image = u8[h = 12, w = 17, c = rgb])\n{before}  batch 4 last keep {{\n{outputs}  }}\n}}\n")
        hashes = os.path.join(self.folder, "hashes")
        if os.path.exists(hashes):
            os.remove(hashes)
        self.run_tool("run", path, "--no-cache", "--hashes", hashes)
        with open(hashes) as file:
            return file.read()

    def test_a_sample_has_the_same_bytes_wherever_n_stands(self):
        for lanes, (type_, axes, value) in itertools.product((3, 67), VALUES):
            def declared(number, order, place):
                stored = [*order[:place], "n", *order[place:]]
                return f"    output y{number}: {type_}[n, {', '.join(axes)}] stored [{', '.join(stored)}] = {value}\n"
            orders = [order for order in itertools.permutations(axes) for _ in axes]
            places = [1 + i % len(axes) for i in range(len(orders))]
            with self.subTest(f"{value}, {lanes} lanes"):
                found = self.run_all("".join(map(declared, itertools.count(), orders, places)), lanes)
                self.assertEqual(found, self.run_all("".join(map(declared, itertools.count(), orders, itertools.repeat(0))), lanes))
                # One by itself, with n inside of all.
                alone = self.run_all(declared(0, orders[0], len(axes)), lanes)
                self.assertEqual(alone, self.run_all(declared(0, orders[0], 0), lanes))

    def test_what_another_kernel_reads_may_be_stored_anywhere(self):
        for type_, axes, value in VALUES:
            let = f"  let made = {value}\n"
            ranks = f"    output ranks: i64[n, {', '.join(axes)}] = sort(made, {axes[-1]})\n"
            expected = None
            for place in range(len(axes) + 1):
                stored = [*axes[:place], "n", *axes[place:]]
                made = f"    output made: {type_}[n, {', '.join(axes)}] stored [{', '.join(stored)}] = made\n"
                with self.subTest(f"{value}, {stored}"):
                    found = self.run_all(ranks + made, 19, let)
                    expected = expected or found
                    self.assertEqual(found, expected)


if __name__ == "__main__":
    main()
