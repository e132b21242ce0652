# SPDX-License-Identifier: Apache-2.0
"""Loops over rows, or over one axis after the other, against NumPy: the same bits as element by element."""
import numpy

from pipelines import LanguageTest
from support import main

BORDERS = {"edge": "edge", "reflect": "reflect", "symmetric": "symmetric", "wrap": "wrap"}
# Numbers of both signs, zeros of both signs, NaN.
ODD = "map (p in row.x) { if p > 0.9 then f32(nan) else if p < 0.2 then -0.0 else if p < 0.4 then 0.0 else p - 0.7 }"


def tree(x, axis):
    """Element i to partial sum i mod 32, and those pairwise."""
    x = numpy.moveaxis(x, axis, 0)
    sums = numpy.zeros((32, *x.shape[1:]), "f4")
    for i, row in enumerate(x):
        sums[i % 32] += row
    while len(sums) > 1:
        sums = sums[:len(sums) // 2] + sums[len(sums) // 2:]
    return sums[0]


def windows(x, low, high, mode, **more):
    """All neighbours of each element, along a last axis."""
    padded = numpy.pad(x, [(-a, b) for a, b in zip(low, high)], mode, **more)
    shape = [b - a + 1 for a, b in zip(low, high)]
    return numpy.lib.stride_tricks.sliding_window_view(padded, shape).reshape(*x.shape, -1)


def same_bits(a, b):
    numpy.testing.assert_array_equal(a.view("u4"), b.view("u4"))


class RowsTest(LanguageTest):
    def of(self, columns, outputs, lets=""):
        columns = ", ".join(f"{name} = {kind}" for name, kind in columns.items())
        lines = "\n".join(f"output {name}: {kind} = {value}" for name, (kind, value) in outputs.items())
        return self.sample(f"pipeline test() {{ for row in synthetic(4, {columns}) order sequential\n {lets}\n"
                           f"batch 2 {{ {lines} }} }}")


class Windows(RowsTest):
    def test_a_window_of_all_neighbours_is_one_along_each_axis(self):
        for border, mode in BORDERS.items():
            where = f"(v in row.x, h = -1 ..= 3, w = -4 ..= 2, border = {border})"
            bytes_ = f"(v in row.b, h = -1 ..= 3, w = -4 ..= 2, border = {border})"
            found = self.of({"x": "f32[h = 11, w = 37]", "b": "u8[h = 11, w = 37]"}, {
                "x": ("f32[n, h, w]", "row.x"), "b": ("u8[n, h, w]", "row.b"),
                "least": ("f32[n, h, w]", f"window {where} {{ min(v over [h, w]) }}"),
                "most": ("u8[n, h, w]", f"window {bytes_} {{ max(v over [h, w]) }}"),
                "squares": ("i32[n, h, w]", f"window {bytes_} {{ sum(i32(v) * i32(v) over [h, w]) - i32(v[h = 0, w = 0]) }}")})
            x, b = (windows(found[name], (-1, -4), (3, 2), mode) for name in "xb")
            same_bits(found["least"], x.min(-1))
            numpy.testing.assert_array_equal(found["most"], b.max(-1))
            numpy.testing.assert_array_equal(found["squares"], (b.astype("i4") ** 2).sum(-1) - found["b"])

    def test_what_fills_beyond_the_ends_counts_as_a_neighbour(self):
        where = "(v in row.b, h = -2 ..= 2, w = -2 ..= 2, border = constant, fill = 90)"
        found = self.of({"b": "u8[h = 9, w = 40]"}, {
            "b": ("u8[n, h, w]", "row.b"), "most": ("u8[n, h, w]", f"window {where} {{ max(v over [h, w]) }}"),
            "least": ("u8[n, h, w]", f"window {where} {{ min(v over [h, w]) }}"),
            "sum": ("i32[n, h, w]", f"window {where} {{ sum(i32(v) over [h, w]) }}")})
        b = windows(found["b"], (-2, -2), (2, 2), "constant", constant_values=90)
        for name, expected in ("most", b.max(-1)), ("least", b.min(-1)), ("sum", b.sum(-1, dtype="i4")):
            numpy.testing.assert_array_equal(found[name], expected)

    def test_places_in_order_give_elements_in_order(self):
        lets = """let three = window (v in row.b, h = -1 ..= 1, w = -1 ..= 1) {
    let all = merge(v, h, w)
    let other = merge(255 - v, h, w)
    let place = sort(all, h)
    return i32(all[h = place][h = 4]) + 1000 * i32(all[h = place][h = 8]) + 1000000 * i32(other[h = place][h = 1])
  }
  let five = window (v in i16(row.b) - 120, w = -3 ..= 1) { v[w = sort(v, w)][w = -2] }"""
        found = self.of({"b": "u8[h = 9, w = 40]"}, {"b": ("u8[n, h, w]", "row.b"), "three": ("i32[n, h, w]", "three"),
                                                    "five": ("i16[n, h, w]", "five")}, lets)
        three = numpy.sort(windows(found["b"], (-1, -1), (1, 1), "edge").astype("i4"), -1)
        five = numpy.sort(windows(found["b"].astype("i2") - 120, (0, -3), (0, 1), "edge"), -1)
        numpy.testing.assert_array_equal(found["three"], three[..., 4] + 1000 * three[..., 8] + 1000000 * (255 - three[..., 1]))
        numpy.testing.assert_array_equal(found["five"], five[..., 1])

    def test_many_neighbours_are_compared_with_one_that_stays(self):
        lets = """let y = window (v in row.x, h = -3 ..= 3, w = -5 ..= 5) {
    let d = v - v[h = 0, w = 0]
    let weight = 1.0 / (1.0 + d * d)
    return sum(weight * v over [h, w]) / sum(weight over [h, w]) + max(v * v[h = -3, w = -5] over [h, w])
  }"""
        found = self.of({"x": "f32[h = 9, w = 40]"}, {"x": ("f32[n, h, w]", "row.x"), "y": ("f32[n, h, w]", "y")}, lets)
        x = windows(found["x"], (-3, -5), (3, 5), "edge")
        d = x - found["x"][..., None]
        one = numpy.float32(1)
        weight = one / (one + d * d)
        same_bits(found["y"], tree(weight * x, -1) / tree(weight, -1) + (x * x[..., :1]).max(-1))


class Reductions(RowsTest):
    def test_long_sums_of_floats_keep_their_order(self):
        for h, w in (33, 16), (64, 17), (300, 40), (1000, 5):
            found = self.of({"x": f"f32[h = {h}, w = {w}, c = 3]"}, {
                "x": ("f32[n, h, w, c]", "row.x"), "a": ("f32[n, w, c]", "sum(row.x over [h])"),
                "b": ("f32[n, w]", "sum(row.x[c = 1] * 0.5 over [h])"),
                "c": ("f32[n, c, w]", "sum(row.x over [h])")})
            same_bits(found["a"], tree(found["x"], 0))
            same_bits(found["b"], tree(found["x"][..., 1] * numpy.float32(0.5), 0))
            same_bits(found["c"], numpy.ascontiguousarray(tree(found["x"], 0).T))

    def test_sums_over_axes_around_one_that_stays(self):
        found = self.of({"x": "f32[t = 7, h = 13, w = 50]"}, {"x": ("f32[n, t, h, w]", "row.x"),
                                                              "a": ("f32[n, w]", "sum(row.x over [t, h])"),
                                                              "b": ("f32[n, h, w]", "sum(row.x over [t])")})
        same_bits(found["a"], tree(found["x"].reshape(91, 50), 0))
        same_bits(found["b"], tree(found["x"], 0))

    def test_long_minima_and_maxima_know_of_nan_and_of_zeros(self):
        for h in 17, 24, 300:
            found = self.of({"x": f"f32[h = {h}, w = 21, c = 3]", "b": f"u8[h = {h}, w = 21, c = 3]"}, {
                "x": ("f32[n, h, w, c]", "odd"), "b": ("u8[n, h, w, c]", "row.b"), "most": ("f32[n, w, c]", "max(odd over [h])"),
                "least": ("f32[n, w, c]", "min(odd over [h])"), "bytes": ("u8[n, w, c]", "max(row.b over [h])"),
                "sums": ("i32[n, w, c]", "sum(i32(row.b) over [h])")}, lets="let odd = " + ODD)
            x = found["x"]
            low, high = numpy.fmin.reduce(x, 0), numpy.fmax.reduce(x, 0)
            signs = numpy.signbit(x)  # of zeros: any below, all above
            low = numpy.where(low == 0, numpy.where((signs & (x == 0)).any(0), numpy.float32(-0.0), numpy.float32(0)), low)
            high = numpy.where(high == 0, numpy.where((~signs & (x == 0)).any(0), numpy.float32(0), numpy.float32(-0.0)), high)
            same_bits(found["least"], low)
            same_bits(found["most"], high)
            numpy.testing.assert_array_equal(found["bytes"], found["b"].max(0))
            numpy.testing.assert_array_equal(found["sums"], found["b"].sum(0, dtype="i4"))

    def test_pooling_makes_the_rows_that_it_reads(self):
        pool = "frames(frames({}, h, i, 3, 2), w, j, 3, 2)"
        found = self.of({"x": "f32[c = 3, h = 31, w = 45]", "b": "u8[h = 31, w = 45]"}, {
            "x": ("f32[n, c, h, w]", "odd"), "b": ("u8[n, h, w]", "row.b"),
            "most": ("f32[n, c, h, w]", f"max({pool.format('odd')} over [i, j])"),
            "half": ("f32[n, c, h, w]", f"min({pool.format('odd')} over [i, j]) * 0.5"),
            "sums": ("i32[n, w, h]", f"sum({pool.format('i32(row.b)')} over [i, j])")}, lets="let odd = " + ODD)
        def pieces(x):
            view = numpy.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(-2, -1))[..., ::2, ::2, :, :]
            return view.reshape(*view.shape[:-2], 9)
        x, b = pieces(found["x"]), pieces(found["b"])
        numpy.testing.assert_array_equal(found["most"], numpy.fmax.reduce(x, -1))
        numpy.testing.assert_array_equal(found["half"], numpy.fmin.reduce(x, -1) * numpy.float32(0.5))
        numpy.testing.assert_array_equal(found["sums"], b.sum(-1, dtype="i4").T)

    def test_pooling_pixels_makes_their_rows(self):
        for channels in (2, 3, 4):
            for size, step in ((3, 3), (3, 2), (7, 7), (4, 3)):
                pool = f"frames(frames({{}}, h, i, {size}, {step}), w, j, {size}, {step})"
                found = self.of({"x": f"f32[h = 31, w = 75, c = {channels}]", "b": f"u8[h = 31, w = 75, c = {channels}]"}, {
                    "x": ("f32[n, h, w, c]", "odd"), "b": ("u8[n, h, w, c]", "row.b"),
                    "most": ("f32[n, h, w, c]", f"max({pool.format('odd')} over [i, j])"),
                    "sums": ("i32[n, h, w, c]", f"sum({pool.format('i32(row.b)')} over [i, j])"),
                    "planes": ("u8[n, c, h, w]", f"min({pool.format('row.b')} over [i, j])"),
                    "means": ("u8[n, h, w, c]", f"map (s in sum({pool.format('i32(row.b)')} over [i, j]))"
                              f" {{ u8.clamp((s + 4) / {size * size}) }}")}, lets="let odd = " + ODD)
                def pieces(x):
                    view = numpy.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(-3, -2))
                    view = view[..., ::step, ::step, :, :, :]
                    return view.reshape(*view.shape[:-2], size * size)
                with self.subTest(channels=channels, size=size, step=step):
                    x, b = pieces(found["x"]), pieces(found["b"])
                    numpy.testing.assert_array_equal(found["most"], numpy.fmax.reduce(x, -1))
                    numpy.testing.assert_array_equal(found["sums"], b.sum(-1, dtype="i4"))
                    numpy.testing.assert_array_equal(found["planes"], numpy.moveaxis(b.min(-1), -1, -3))
                    numpy.testing.assert_array_equal(found["means"], (b.sum(-1, dtype="i4") + 4) // (size * size))


class Runs(RowsTest):
    def test_tables_are_read_where_bytes_say(self):
        found = self.of({"x": "u8[h = 9, w = 41, c = 3]", "a": "u8[h = 9, w = 41]", "b": "u8[h = 9, w = 41]", "t": "f32[k = 256]", "u": "f32[k = 256, j = 256]"}, {
            "x": ("u8[n, h, w, c]", "row.x"), "a": ("u8[n, h, w]", "row.a"), "b": ("u8[n, h, w]", "row.b"), "t": ("f32[n, k]", "table"), "u": ("f32[n, k, j]", "plane"),
            "one": ("f32[n, h, w, c]", "map (p in row.x) { table[k = p] }"),
            "row": ("f32[n, h, w, c]", "map (p in row.x) { plane[k = 3, j = p] }"),
            "far": ("f32[n, h, w, c]", "map (p in row.x) { plane[k = p, j = 255] }"),
            "two": ("f32[n, h, w]", "map (p in row.a, q in row.b) { plane[k = p, j = q] }")},
            lets="let table = row.t\nlet plane = row.u")
        x, t, u = found["x"].astype(int), found["t"], found["u"]
        same_bits(found["one"], t[x])
        same_bits(found["row"], u[3][x])
        same_bits(found["far"], u[:, 255][x])
        same_bits(found["two"], u[found["a"].astype(int), found["b"].astype(int)])

    def test_pixels_that_all_channels_treat_alike_are_one_run(self):
        found = self.of({"x": "u8[t = 5, h = 7, w = 9, c = 3]"}, {
            "x": ("u8[n, t, h, w, c]", "row.x"),
            "a": ("u8[n, t, h, w, c]", "map (p in row.x[t = 1 .. 5], q in row.x[t = 0 .. 4]) { max(p, q) - min(p, q) }"),
            "b": ("f32[n, t, h, w, c]", "f32(row.x[h = 2 .. 7]) * 0.5"),
            "c": ("u8[n, t, h, w, c]", "map (p in row.x, k in index(row.x, c)) { p + u8(k) }"),
            "d": ("u8[n, t, h, w, c]", "map (p in reverse(row.x, w)) { 255 - p }")})
        x = found["x"]
        numpy.testing.assert_array_equal(found["a"], numpy.maximum(x[1:], x[:-1]) - numpy.minimum(x[1:], x[:-1]))
        numpy.testing.assert_array_equal(found["b"], x[:, 2:].astype("f4") * numpy.float32(0.5))
        numpy.testing.assert_array_equal(found["c"], x + numpy.arange(3, dtype="u1"))
        numpy.testing.assert_array_equal(found["d"], 255 - x[:, :, ::-1])

    def test_all_pairs_of_rows(self):
        found = self.of({"a": "f32[i = 12, k = 19]", "b": "f32[j = 21, k = 19]"}, {
            "a": ("f32[n, i, k]", "row.a"), "b": ("f32[n, j, k]", "row.b"),
            "y": ("f32[n, i, j]", "sum(map (p in row.a, q in row.b) { (p - q) * (p - q) } over [k])")})
        d = found["a"][:, None] - found["b"][None]
        same_bits(found["y"], tree(d * d, -1))


class Compacted(RowsTest):
    def test_what_one_mask_keeps_goes_together(self):
        lets = """let mask = map (p in row.x) { p > 0.4 }
  let a = compact(row.x, mask)
  let b = compact(row.y, mask)"""
        found = self.of({"x": "f32[k = 50]", "y": "f32[k = 50, f = 3]"}, {
            "x": ("f32[n, k]", "row.x"), "y": ("f32[n, k, f]", "row.y"), "sum": ("f32[n, k <= 50, f] ragged", "map (p in a, q in b) { p + q }"),
            "all": ("f32[n]", "max(b[f = 0] + a over [k])")}, lets)
        mask = found["x"] > 0.4
        expected = found["x"][mask][:, None] + found["y"][mask]
        same_bits(found["sum"], expected)
        same_bits(found["all"], expected[:, 0].max())

    def test_what_two_masks_keep_does_not(self):
        told = self.refused("""pipeline p() {
  for row in synthetic(4, x = f32[k = 50])
  let a = compact(row.x, map (p in row.x) { p > 0.4 })
  let b = compact(row.x, map (p in row.x) { p < 0.4 })
  batch 2 { output y: f32[n, k <= 50] ragged = a + b }
}""")
        self.assertIn("error: axis `k` has as many elements as one mask, key or place leaves on one side, and as another one leaves on the other", told)
        self.assertIn("hint: what goes together is taken by one mask: `compact(x, mask)`, `compact(y, mask)`", told)


class Lost(RowsTest):
    """Minima and maxima of nothing but NaN are NaN, however they are written; of nothing they are the other end of the type."""

    def test_of_nothing_but_nan(self):
        lets = """let lost = map (p in row.x) { if p < 2.0 then f32(nan) else p }
  let some = map (p in lost, j in index(lost, w)) { if j == 3 then -inf else p }
  let keys = map (i in index(row.x, w)) { i % 4 }
  let groups = group(some, by = keys, limit = 6, into = m)
  let kept = compact(lost[h = 0], map (p in row.x[h = 0]) { p < 0.5 })
  let none = compact(lost[h = 0], map (p in row.x[h = 0]) { p > 2.0 })"""
        forms = {"over [w]": "(lost over [w])", "over [h]": "(lost over [h])", "over [h, w]": "(lost over [h, w])",
                 "f16": "(f16(lost) over [w])", "f64": "(f64(lost) over [h])", "compact": "(kept over [w])",
                 "batch": "(lost over [n])", "pieces": "(split(lost, w, k, 4) over [k])", "groups": "(group(lost[h = 0], by = keys, limit = 4, into = m).points over [w])"}
        axes = {"over [w]": "h", "f16": "h", "over [h]": "w", "f64": "w", "pieces": "h, w", "batch": "h, w", "groups": "m <= 4"}
        outputs = {}
        for kind in ("min", "max"):
            for name, form in forms.items():
                axis = axes.get(name, "")
                element = {"f16": "f16", "f64": "f64"}.get(name, "f32")
                outputs[f"{kind}_{name.translate(str.maketrans(' [],', '____'))}"] = (
                    f"{element}[n{', ' + axis if axis else ''}]" + (" ragged" if "<=" in axis else ""), kind + form)
            outputs[f"{kind}_window"] = ("f32[n, h, w]", f"window (v in lost, h = -1 ..= 1, w = -1 ..= 1) {{ {kind}(v over [h, w]) }}")
            outputs[f"{kind}_wide"] = ("f32[n, h, w]", f"window (v in lost, h = -9 ..= 9, w = -9 ..= 9) {{ {kind}(v over [h, w]) }}")
            outputs[f"{kind}_list"] = ("f32[n, h, w]", f"map (p in lost) {{ {kind}(stack([p, p], k) over [k]) }}")
            outputs[f"{kind}_two"] = ("f32[n, h, w]", f"map (p in lost) {{ {kind}(p, p) }}")
            outputs[f"{kind}_none"] = ("f32[n]", f"{kind}(none over [w])")
        outputs["scan_list"] = ("f32[n, h, w, k]", "map (p in lost, k in 0 .. 2) { scan_max(stack([p, p], j), j)[j = 1] }")
        outputs["scan_rows"] = ("f32[n, h, w]", "scan_max(some, w)")
        outputs["scan_columns"] = ("f32[n, h, w]", "scan_max(some, h)")
        found = self.of({"x": "f32[h = 11, w = 40]"}, outputs, lets)
        for name, value in found.items():
            if name.endswith("none"):
                self.assertTrue((value == (numpy.inf if name.startswith("min") else -numpy.inf)).all(), name)
            elif name == "scan_rows":
                self.assertTrue(numpy.isnan(value[..., :3]).all() and (value[..., 3:] == -numpy.inf).all(), name)
            elif name == "scan_columns":
                self.assertTrue((value[..., 3] == -numpy.inf).all() and numpy.isnan(numpy.delete(value, 3, -1)).all(), name)
            else:
                self.assertTrue(numpy.isnan(value).all(), name)


if __name__ == "__main__":
    main()
