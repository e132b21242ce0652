# SPDX-License-Identifier: Apache-2.0
"""Work over the batch: random pipelines with reductions over `n`, against NumPy.

Batches of 1 to 40 samples, last ones that are not full, and the same bits on any number of threads.
"""
import os
import random

import numpy

from pipelines import DTYPES, LanguageTest
from support import main

H, W, K = 3, 5, 4
COLUMNS = {"x": ((H, W), numpy.float32), "b": ((H, W), numpy.uint8), "f": ((K,), numpy.float32),
           "score": ((), numpy.float32), "label": ((), numpy.int64)}


def lane_sum(values):
    """Along the first axis: 32 interleaved partial sums, then a pairwise tree."""
    lanes = numpy.zeros((32,) + values.shape[1:], values.dtype)
    for i, value in enumerate(values):
        lanes[i % 32] += value
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = lanes[:half] + lanes[half:]
    return lanes[0]


def flat(values, axes):
    """The first `axes` axes as one."""
    return values.reshape((-1,) + values.shape[axes:])


def mean(values):
    return (lane_sum(values.astype(numpy.float64)) / numpy.float64(len(values))).astype(numpy.float32)


def variance(values):
    values = values.astype(numpy.float64)
    off = values - lane_sum(values) / numpy.float64(len(values))
    return lane_sum(off * off) / numpy.float64(len(values) - 1) if len(values) > 1 else numpy.float64("nan")


def padded(values):
    return numpy.concatenate([values, numpy.full(40 - len(values), -1, values.dtype)])


# (type, expression, by the batch's columns and the place in it)
EXPRESSIONS = [
    ("f32[n, w]", "sum(row.x over [n, h])", lambda c, i: lane_sum(flat(c["x"], 2))),
    ("f32[n, h, w]", "row.x - mean(row.x over [n])", lambda c, i: c["x"][i] - mean(c["x"])),
    ("f32[n, h]", "mean(max(row.x over [w]) over [n])", lambda c, i: mean(c["x"].max(axis=2))),
    ("f32[n, h, w]", "max(row.x over [n])", lambda c, i: c["x"].max(axis=0)),
    ("i64[n]", "argmax(row.score over [n])", lambda c, i: c["score"].argmax()),
    ("i64[n]", "count(row.label > 3 over [n])", lambda c, i: (c["label"] > 3).sum()),
    ("i64[n]", "row.label - min(row.label over [n])", lambda c, i: c["label"][i] - c["label"].min()),
    ("i64[n, w]", "sum(i64(row.b) over [n, h])", lambda c, i: c["b"].astype(numpy.int64).sum(axis=(0, 1))),
    ("f32[n]", "row.score / sum(row.score over [n])", lambda c, i: c["score"][i] / lane_sum(c["score"])),
    ("i32[n, bin]", "histogram(row.b over [n, h, w])", lambda c, i: numpy.bincount(c["b"].ravel(), minlength=256)),
    ("f32[n, m <= 40] pad -1", "contract(row.f, rename(row.f, n, m))",
     lambda c, i: padded(lane_sum((c["f"][i] * c["f"]).T.copy()))),
    ("u8[n, h, w]", "row.b[n = argmax(row.score over [n])]", lambda c, i: c["b"][c["score"].argmax()]),
    ("i64[n]", "index(row.x, n) * 100 + extent(row.x, n)", lambda c, i: i * 100 + len(c["x"])),
    ("f32[n, w]", "max(row.x[h = 0] over [n]) * f32(index(row.x, n))",
     lambda c, i: c["x"][:, 0].max(axis=0) * numpy.float32(i)),
    ("f32[n, k]", "row.f - max(f32(1.0) over [n])", lambda c, i: c["f"][i] - numpy.float32(1)),
    ("f32[n, k]", "map (p in row.f[n = 0]) { p + f32(index(row.f, n)) }", lambda c, i: c["f"][0] + numpy.float32(i)),
    ("i64[n, m <= 40] pad -1", "map (m in 0 .. n) { row.label[n = m] - row.label }",
     lambda c, i: padded(c["label"] - c["label"][i])),
    ("f64[n]", "var(f64(row.x) over [n, h, w], correction = 1)", lambda c, i: variance(flat(c["x"], 3))),
    ("f32[n, w]", "if chance(0.5) then max(row.x[h = 0] over [n]) else max(row.x[h = 0] over [n])",
     lambda c, i: c["x"][:, 0].max(axis=0)),
    ("f32[n, k]", "row.f[n = 0] + sum(sum(row.f over [n]) over [n])",
     lambda c, i: c["f"][0] + lane_sum(numpy.array([lane_sum(c["f"])] * len(c["f"])))),
    ("i64[n, m <= 40] pad -1", "sort(rename(row.score, n, m), m)",
     lambda c, i: padded(numpy.argsort(c["score"], kind="stable"))),
]


class OverTheBatch(LanguageTest):
    def columns(self, rng, rows):
        made = {}
        for name, (shape, dtype) in COLUMNS.items():
            values = rng.integers(0, 256, (rows,) + shape) if dtype == numpy.uint8 else rng.random((rows,) + shape) * 8
            made[name] = values.astype(dtype)
            made[name].tofile(os.path.join(self.folder, name))
        return made

    def settings(self):
        return [word for name in COLUMNS for word in ("--set", f"{name}={self.folder}/{name}")]

    def text(self, outputs, batch, more="", options=""):
        parameters = ", ".join(f"{name}: path" for name in COLUMNS)
        types = {numpy.float32: "f32", numpy.uint8: "u8", numpy.int64: "i64"}
        def column(name):
            shape, dtype = COLUMNS[name]
            axes = ", ".join(f"{axis} = {extent}" for axis, extent in zip("k" if shape == (K,) else "hw", shape))
            return f"{name} = column({name}, {types[dtype]}{f'[{axes}]' if axes else ''})"
        lines = "\n".join(f"    output o{i}: {kind} = {value}" for i, (kind, value, _) in enumerate(outputs))
        return (f"pipeline p({parameters}, size: int = 4) {options} {{\n"
                f"  for row in raw({', '.join(column(name) for name in COLUMNS)})\n{more}\n"
                f"  batch {batch} {{\n    output label: i64[n] = row.label\n{lines}\n  }}\n}}")

    def test_random_pipelines_equal_numpy(self):
        left = list(range(len(EXPRESSIONS)))
        for seed in range(7):
            choices, rng = random.Random(seed), numpy.random.default_rng(seed)
            size = [1, 40, 3, 33, 8, 17, 5][seed]
            rows = 2 * size + choices.randrange(size)
            keep, known = seed % 2 == 0, seed % 3 != 2
            chosen = [left.pop() for _ in range(min(3, len(left)))] + choices.sample(range(len(EXPRESSIONS)), 1)
            outputs = [EXPRESSIONS[i] for i in chosen]
            text = self.text(outputs, f"{size if known else 'size'} per rank last {'keep' if keep else 'drop'}")
            more = self.settings() + ([] if known else ["--set", f"size={size}"])
            columns = self.columns(rng, rows)
            for position in {choices.randrange(size), rows - 1 if keep else 2 * size - 1}:
                found = self.sample(text, position, *more)
                first = position // size * size
                batch = {name: values[first:min(first + size, rows)] for name, values in columns.items()}
                for i, (kind, expression, expected) in enumerate(outputs):
                    with self.subTest(seed=seed, position=position, expression=expression):
                        wanted = numpy.asarray(expected(batch, position - first)).astype(found[f"o{i}"].dtype)
                        numpy.testing.assert_array_equal(found[f"o{i}"], wanted)
            hashes = []
            for threads in (1, 3):
                target = os.path.join(self.folder, "hashes")
                self.run_tool("run", self.write(text), "--hashes", target, "--threads", threads, *more)
                with open(target) as file:
                    hashes.append(file.read())
                os.remove(target)
            self.assertEqual(*hashes)
        self.assertFalse(left)

    def test_substitutes_count_in_the_place_of_bad_samples(self):
        columns = self.columns(numpy.random.default_rng(1), 12)
        columns["label"] = numpy.arange(12)
        columns["label"].tofile(os.path.join(self.folder, "label"))
        text = self.text([("i64[n]", "sum(row.label over [n])", None)], "4", options="with on_error = substitute(50%)",
                         more='  let good = check(row.label, row.label != 2, "two")').replace(
                             "output label: i64[n] = row.label", "output label: i64[n] = good")
        found = [self.sample(text, position, *self.settings()) for position in range(4)]
        labels = [int(one["label"]) for one in found]
        self.assertEqual(labels[:2] + labels[3:], [0, 1, 3])
        self.assertNotEqual(labels[2], 2)
        self.assertEqual([int(one["o0"]) for one in found], [sum(labels)] * 4)

    def test_ranks_have_batches_of_their_own(self):
        columns = self.columns(numpy.random.default_rng(2), 16)
        text = self.text([("i64[n]", "sum(row.label over [n])", None)], "8 global last drop")
        found = self.sample(text, 1, "--world", 2, *self.settings())["o0"]
        self.assertEqual(found, columns["label"][1:8:2].sum())

    def test_what_is_not_delivered_has_no_batch(self):
        self.columns(numpy.random.default_rng(3), 10)
        text = self.text([("i64[n]", "sum(row.label over [n])", None)], "4 per rank last drop")
        done = self.run_tool("sample", self.write(text), "--position", 9, *self.settings(), expect=1)
        self.assertIn("position 9 is in a last batch of 2 samples, which is not delivered", done.stderr)


class PaddedOverTheBatch(LanguageTest):
    """What all samples share, along an axis of the batch, ends where a last batch does: its padding is nobody's value."""

    FLOATS, INTEGERS = ["f16", "bf16", "f32", "f64"], ["u8", "i8", "u16", "i16", "i32", "i64"]
    AXES = {"m <= {size}": "", "k, m <= {size}": "k in 0 .. 3"}

    def ways(self):
        with open("/proc/cpuinfo") as file:
            flags = file.read()
        offered = {"v2": True, "v3": " avx2" in flags, "v4": " avx512bw" in flags}
        return [["--target", f"x86-64-{level}"] for level, is_offered in offered.items() if is_offered] + [["--disable-pass", "fuse"]]

    def outputs(self, size, combined, turn):
        types = self.INTEGERS + (["f32", "f64"] if combined == "sum" else self.FLOATS)
        for i, kind in enumerate(["bool"] if combined == "any" else types):
            axes, binders = list(self.AXES.items())[(i + turn) % 2]
            each = "row.l > 0" if kind == "bool" else f"{kind}(row.l)"
            value = f"map ({binders}) {{ {each} }}" if binders else each
            fill = "false" if kind == "bool" else "0"
            yield kind, axes.format(size=size), f"{combined}({value} over [n])", fill

    def expected(self, kind, axes, combined, size, labels):
        value = {"min": min, "max": max, "sum": sum, "any": any}[combined](int(label) for label in labels)
        found = numpy.zeros(size, numpy.float32 if kind == "bf16" else DTYPES[kind])
        found[:len(labels)] = numpy.array(value).astype(found.dtype)
        if kind == "bf16":
            found = (found.view(numpy.uint32) >> 16).astype(numpy.uint16)
        return numpy.stack([found] * 3) if "k" in axes else found

    def test_all_types_batches_targets(self):
        for turn, (size, last, combined) in enumerate(((4, 2, "min"), (8, 4, "max"), (40, 33, "sum"), (33, 1, "any"))):
            outputs = list(self.outputs(size, combined, turn))
            lines = "\n".join(f"output o{i}: {kind}[n, {axes}] pad {fill} = rename({value}, n, m)"
                              for i, (kind, axes, value, fill) in enumerate(outputs))
            text = f"""pipeline p() {{
  for row in synthetic({size + last}, l = 1 .. 9)
  batch {size} per rank last keep {{
    output l: i64[n, m <= {size}] pad 0 = rename(row.l, n, m)
    {lines}
  }}
}}"""
            for way in self.ways():
                found = self.sample(text, size + last - 1, *way)
                for i, (kind, axes, value, _) in enumerate(outputs):
                    with self.subTest(size=size, way=way, kind=kind, axes=axes, value=value):
                        wanted = self.expected(kind, axes, combined, size, found["l"][:last])
                        numpy.testing.assert_array_equal(found[f"o{i}"], wanted)


class OfOtherSamples(LanguageTest):
    """Values of other samples of what other samples have, against NumPy."""

    # (type, expression, by the batch's columns, its permutations, its coins and the place in it)
    EXPRESSIONS = [
        ("f32[n, k]", "row.x[n = a][n = b]", lambda c, a, b, coin, i: c["x"][a[b[i]]]),
        ("i64[n]", "row.l[n = a][n = b]", lambda c, a, b, coin, i: c["l"][a[b[i]]]),
        ("f32[n, k]", "row.x[n = a][n = b][n = a]", lambda c, a, b, coin, i: c["x"][a[b[a[i]]]]),
        ("i64[n]", "row.l[n = a][n = b][n = a]", lambda c, a, b, coin, i: c["l"][a[b[a[i]]]]),
        ("f32[n, k]", "row.x[n = a][n = 0]", lambda c, a, b, coin, i: c["x"][a[0]]),
        ("i64[n]", "row.l[n = 1][n = b]", lambda c, a, b, coin, i: c["l"][1]),
        ("i64[n]", "(row.l[n = a] * 10 + row.l)[n = b]", lambda c, a, b, coin, i: c["l"][a[b[i]]] * 10 + c["l"][b[i]]),
        ("u8[n, k]", "u8(row.x[n = a] * 9.0)[n = a]", lambda c, a, b, coin, i: (c["x"][a[a[i]]] * 9).astype(numpy.uint8)),
        ("f32[n, k]", "stack([row.x[n = a], row.x], q)[n = a, q = 0]", lambda c, a, b, coin, i: c["x"][a[a[i]]]),
        ("f32[n, k]", "(if coin == 1 then row.x[n = a] else row.x)[n = b]",
         lambda c, a, b, coin, i: c["x"][a[b[i]] if coin[b[i]] else b[i]]),
        ("f32[n, k]", "row.x[n = row.l[n = a] % extent(row.x, n)]",
         lambda c, a, b, coin, i: c["x"][c["l"][a[i]] % len(a)]),
        ("i64[n]", "row.l[n = (row.l[n = a] + row.l[n = b]) % extent(row.x, n)]",
         lambda c, a, b, coin, i: c["l"][(c["l"][a[i]] + c["l"][b[i]]) % len(a)]),
        ("f32[n]", "row.x[n = row.l[n = a] % extent(row.x, n), k = 2]",
         lambda c, a, b, coin, i: c["x"][c["l"][a[i]] % len(a)][2]),
        ("i64[n]", "(if coin == 1 then row.l[n = a] else row.l)[n = b]",
         lambda c, a, b, coin, i: c["l"][a[b[i]] if coin[b[i]] else b[i]]),
        ("f32[n, k]", "{ x = row.x, l = row.l }[n = a][n = b].x", lambda c, a, b, coin, i: c["x"][a[b[i]]]),
        ("i64[n]", "{ x = row.x, l = row.l }[n = a][n = b].l", lambda c, a, b, coin, i: c["l"][a[b[i]]]),
        ("f32[n, q]", "reverse(rename(row.x[n = a], k, q), q)[n = b]", lambda c, a, b, coin, i: c["x"][a[b[i]], ::-1]),
        ("f32[n, j, k]", "concat([concat([deep, deep[n = a]], k), concat([deep[n = b], deep[n = a][n = b]], k)], j)",
         lambda c, a, b, coin, i: numpy.block([[c["x"][[i]], c["x"][[a[i]]]], [c["x"][[b[i]]], c["x"][[a[b[i]]]]]])),
        ("f32[n, k]", "max(row.x[n = a][n = b] over [n])", lambda c, a, b, coin, i: c["x"].max(axis=0)),
        ("f32[n, k]", "max(row.x[n = a] over [n])[n = b][n = a]", lambda c, a, b, coin, i: c["x"].max(axis=0)),
        ("i64[n, m <= 5] pad 0", "rename(row.l[n = a][n = b], n, m)",
         lambda c, a, b, coin, i: numpy.concatenate([c["l"][a[b]], [0] * (5 - len(a))])),
    ]

    def text(self, chosen):
        lines = "\n".join(f"output o{i}: {kind} = {value}" for i, (kind, value, _) in enumerate(chosen))
        return f"""pipeline p() {{
  for row in synthetic(8, x = f32[k = 4], l = 0 .. 9)
  let coin = draw int(0 .. 2)
  batch 5 per rank last keep {{
    let a = draw permutation(n)
    let b = draw permutation(n)
    let deep = map (j in 0 .. 1, k in 0 .. 4) {{ row.x[k = k] }}
    output a: i64[n] = a
    output b: i64[n] = b
    output coin: i64[n] = coin
    output x: f32[n, k] = row.x
    output l: i64[n] = row.l
    {lines}
  }}
}}"""

    def check(self, chosen, batches, *options):
        text = self.text(chosen)
        for batch in batches:
            found = [self.sample(text, position, *options) for position in batch]
            a, b, coin, x, l = (numpy.stack([one[name] for one in found]) for name in ("a", "b", "coin", "x", "l"))
            self.assertEqual((sorted(a), sorted(b)), (list(range(len(batch))),) * 2)
            for place, one in enumerate(found):
                for i, (_, expression, expected) in enumerate(chosen):
                    with self.subTest(expression=expression, options=options, position=batch[place]):
                        numpy.testing.assert_array_equal(one[f"o{i}"], expected({"x": x, "l": l}, a, b, coin, place))

    def test_together(self):
        self.check(self.EXPRESSIONS, (range(5), range(5, 8)))
        for options in (["--disable-pass", "fuse"], ["--disable-pass", "sink-casts", "--disable-pass", "compose-views"]):
            self.check(self.EXPRESSIONS, (range(5, 8),), *options)

    def test_each_alone(self):
        for one in self.EXPRESSIONS: # nothing else has its values made
            self.check([one], (range(5, 8),))


class Refusals(LanguageTest):
    def check(self, expression, *parts, where="batch", kind="f32[n]"):
        lets = f"let y = {expression}\n" if where == "sample" else ""
        value = "0.0" if where == "sample" else expression
        self.refused(f"""pipeline p() {{
  for row in synthetic(9, x = f32[h = 3], k = f32[k = 0 .. 4], label = 0 .. 3)
  {lets}
  batch 4 {{ output y: {kind} = {value} }}
}}""", *parts)

    def test_the_batch_is_known_in_its_block(self):
        self.check("sum(row.x over [n])", "the batch axis `n` exists in the `batch` block only", where="sample")
        self.check("mean(row.x over [n])", "the batch axis `n` exists in the `batch` block only", where="sample")

    def test_extents_that_differ(self):
        self.check("sum(row.k over [n, k])", "has the same extents in all samples, and axis `k` differs",
                   "resize, crop or pad it; or reduce it over `k` first")

    def test_what_needs_an_axis_of_a_value(self):
        hint = "`rename(x, n, m)` is the value of all samples along an axis `m`"
        self.check("sort(row.x, n)", "`sort` runs over axes of a value, and `n` is that of the batch", hint)
        self.check("row.x[n = 0 .. 2]", "a slice of the batch is no value of a sample", hint)
        self.check("map (p in row.x) { sum(p over [n]) }", "an element has no value in other samples", kind="f32[n, h]")
        self.check("sum(row over [n])", "what runs over the batch is a number or a tensor, and this is a row")
        self.check("rename(row.x, h, n)", "`n` is the axis of the batch")
        self.check("stack([row.x, row.x], n)", "the value has an axis `n` of its own", kind="f32[n, h]")


if __name__ == "__main__":
    main()
