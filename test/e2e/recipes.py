# SPDX-License-Identifier: Apache-2.0
"""Parts of the language that recipes need, through the compiler and the JIT, against NumPy."""
import numpy

from pipelines import LanguageTest
from support import main

ROW = """synthetic(20, x = f32[h = 5, w = 33], v = u8[h = 5, w = 33], m = f32[q = 4, w = 33], s = 0.0 .. 1.0,
                       points = f32[k = 0 ..= 40, xyz = 3], label = 0 .. 7)"""


class RecipeTest(LanguageTest):
    def recipe(self, outputs, lets="", top="", position=3):
        """The outputs of a pipeline over a row with x, v, m, s, points and label."""
        outputs = {"x": ("f32[n, h, w]", "row.x"), "v": ("u8[n, h, w]", "row.v"), "m": ("f32[n, q, w]", "row.m"),
                   "s": ("f64[n]", "row.s"), **outputs}
        lines = "\n".join(f"output {name}: {kind} = {value}" for name, (kind, value) in outputs.items())
        return self.sample(f"{top}\npipeline test() {{\n  for row in {ROW} order sequential\n  {lets}\n"
                           f"  batch 5 per rank last drop {{\n{lines}\n  }}\n}}", position)

    def wrong(self, text, *parts):
        return self.refused("pipeline p() {\n  for row in " + ROW + "\n  batch 2 { output y: " + text + " }\n}\n", *parts)


class Statistics(RecipeTest):
    def test_they_are_those_of_numpy_in_f64_rounded_once(self):
        found = self.recipe({"a": ("f32[n, h]", "mean(row.x over [w])"), "b": ("f32[n]", "mean(row.v over [h, w])"),
                             "c": ("f32[n, w]", "var(row.x over [h], correction = 1)"), "d": ("f32[n]", "std(row.v over [w, h])"),
                             "e": ("f32[n, h]", "norm(row.x over [w])"), "f": ("f64[n, h]", "std(f64(row.x) over [w], 1)"),
                             "g": ("f32[n]", "mean(f16(row.x) over [h, w])"), "i": ("f32[n]", "var(i32(row.v) over [h, w])")})
        x, v = found["x"].astype(numpy.float64), found["v"]
        near = lambda name, wanted: numpy.testing.assert_allclose(found[name], wanted, rtol=1e-7 if name != "f" else 1e-14)
        near("a", x.mean(1))
        near("b", v.mean())
        near("c", x.var(0, ddof=1))
        near("d", v.std())
        near("e", numpy.sqrt((x * x).sum(1)))
        near("f", x.std(1, ddof=1))
        near("g", found["x"].astype(numpy.float16).astype(numpy.float64).mean())
        near("i", v.var())

    def test_functions_take_axes(self):
        top = """fn rms(x: f32[], a: axes) -> f32[] = norm(x over [a]) / sqrt(f32(extent(x, a)))
fn scaled(a: axes, x: f32[h], by: f32) -> f32[] = by * mean(x over [a])
fn noise(x: f32[h, w], a: axes) -> f32[h, w] = map (p in x) { p * f32(draw uniform(1.0 .. 2.0) per [a]) }"""
        found = self.recipe({"a": ("f32[n]", "rms(row.x over [h, w])"), "b": ("f32[n]", "rms(row.x, [w, h])"),
                             "c": ("f32[n, w]", "scaled(row.x over [h], 2.0)"), "d": ("f32[n, h]", "row.x |> rms([w])"),
                             "e": ("f32[n, h, w]", "noise(row.x, [h])")}, top=top)
        x = found["x"].astype(numpy.float64)
        numpy.testing.assert_allclose(found["a"], numpy.sqrt((x * x).mean()), rtol=2e-7)
        self.assertEqual(found["a"], found["b"])
        numpy.testing.assert_allclose(found["c"], 2 * x.mean(0), rtol=2e-7)
        numpy.testing.assert_allclose(found["d"], numpy.sqrt((x * x).mean(1)), rtol=2e-7)
        factors = found["e"] / found["x"]
        numpy.testing.assert_allclose(factors, numpy.repeat(factors[:, :1], 33, axis=1), rtol=1e-6)
        self.assertGreater(numpy.ptp(factors), 0.05)

    def test_of_elements_that_pixels_chose(self):
        top = "fn far(p: f32[k, xyz]) -> bool[k] = map (d in norm(p over [xyz])) { d > 0.9 }"
        lets = "let kept = compact(row.points, far(row.points))"
        found = self.recipe({"points": ("f32[n, k <= 40, xyz] pad 0", "row.points"), "a": ("f32[n, xyz]", "mean(kept over [k])"),
                             "b": ("f32[n, xyz]", "std(kept over [k], correction = 1)")}, lets, top, position=7)
        points = found["points"].astype(numpy.float64)
        kept = points[numpy.sqrt((points ** 2).sum(1)) > 0.9]
        self.assertGreater(len(kept), 2)
        numpy.testing.assert_allclose(found["a"], kept.mean(0), rtol=1e-6)
        numpy.testing.assert_allclose(found["b"], kept.std(0, ddof=1), rtol=1e-6)

    def test_mistakes(self):
        self.wrong("f32[n] = mean(row.x over [c])", "error: `mean` over axis `c`, which its input does not have")
        self.wrong("f32[n] = sum(row.x over [h], 3)", "error: `sum` takes one value, and the axes after `over`")
        self.refused("fn f(x: f32[h], y: f32) -> f32[h] = x * y\nfn g(x: f32[h]) -> f32[] = f(x over [h], 2.0)",
                     "`over` follows the argument of a reduction, and `f` is a function",
                     "hint: a parameter of type `axes` takes them: `fn f(x: f32[], a: axes) -> f32[]`")
        self.refused("fn f(x: f32[h]) -> f32[] = x |> mean", "`mean`")


class Joining(RecipeTest):
    def test_numbers_stack_and_join(self):
        found = self.recipe({"a": ("f32[n, k]", "stack([1, f32(row.s), mean(row.x over [h, w]), 0.25], k)"),
                             "b": ("f32[n, w]", "concat([0.5, row.x[h = 2], max(row.x over [h, w])], w)"),
                             "c": ("i64[n, q]", "concat([row.label, 3], q)"), "label": ("i64[n]", "row.label")})
        wanted = numpy.float32([1, found["s"], found["x"].mean(dtype=numpy.float64), 0.25])
        numpy.testing.assert_allclose(found["a"], wanted, rtol=1e-7)
        numpy.testing.assert_array_equal(found["b"], [0.5, *found["x"][2], found["x"].max()])
        numpy.testing.assert_array_equal(found["c"], [found["label"], 3])
        self.wrong("f32[n, k] = stack([row.s, mean(row.x over [h, w])], k)",
                   "error: `stack` of f64 and f32: element types do not convert by themselves")

    def test_a_matrix_in_either_order(self):
        found = self.recipe({"a": ("f32[n, h, q]", "contract(row.x, row.m)"),
                             "b": ("f32[n, h, q]", "contract(row.x, map (w in 0 .. 33, q in 0 .. 4) { row.m[w = w, q = q] })")})
        numpy.testing.assert_allclose(found["a"], found["x"] @ found["m"].T, rtol=1e-5)
        numpy.testing.assert_array_equal(found["a"], found["b"])


    def test_what_exists_of_several_follows_each_other(self):
        lets = """let low = compact(row.points, map (z in row.points[xyz = 0]) { z < 0.5 })
  let high = compact(row.points, map (z in row.points[xyz = 1]) { z > 0.7 })
  let all = concat([low, row.points, high], k)"""
        found = self.recipe({"points": ("f32[n, k <= 40, xyz] ragged", "row.points"), "all": ("f32[n, k <= 120, xyz] pad -1.0", "all"),
                             "sum": ("f32[n, xyz]", "sum(all over [k])"), "many": ("f32[n]", "f32(extent(all, k))"),
                             "one": ("f32[n, t <= 41] pad 0", "concat([rename(low[xyz = 2], k, t), 7], t)")}, lets, position=7)
        points = found["points"].reshape(-1, 3)
        self.assertGreater(len(points), 2)
        low, high = points[points[:, 0] < 0.5], points[points[:, 1] > 0.7]
        wanted = numpy.concatenate([low, points, high])
        numpy.testing.assert_array_equal(found["all"][:len(wanted)], wanted)
        numpy.testing.assert_array_equal(found["all"][len(wanted):], -1)
        self.assertEqual(found["many"], len(wanted))
        numpy.testing.assert_allclose(found["sum"], wanted.sum(0), rtol=1e-5)
        numpy.testing.assert_array_equal(found["one"][:len(low) + 1], [*low[:, 2], 7])

    def test_views_that_differ_are_joined(self):
        lets = """let tiles = concat(each (q in 0 .. 3) {
    let low = draw uniform(0.0 .. 0.6)
    let kept = compact(row.points, map (z in row.points[xyz = 0]) { z > f32(low) })
    return { points = kept, low = low, number = q }
  }, k)"""
        found = self.recipe({"points": ("f32[n, k <= 40, xyz] ragged", "row.points"), "low": ("f64[n, q]", "tiles.low"),
                             "all": ("f32[n, k <= 120, xyz] pad -1.0", "tiles.points"), "number": ("i64[n, q]", "tiles.number")}, lets, position=7)
        points = found["points"].reshape(-1, 3)
        numpy.testing.assert_array_equal(found["number"], [0, 1, 2])
        self.assertEqual(len(set(found["low"])), 3)
        wanted = numpy.concatenate([points[points[:, 0] > numpy.float32(low)] for low in found["low"]])
        self.assertGreater(len(wanted), 2)
        numpy.testing.assert_array_equal(found["all"][:len(wanted)], wanted)
        numpy.testing.assert_array_equal(found["all"][len(wanted):], -1)

    def test_axes_split_and_merge(self):
        found = self.recipe({"a": ("f32[n, h, w, j]", "split(row.x, w, j, 11)"), "b": ("f32[n, h]", "merge(row.x, h, w)"),
                             "c": ("f32[n, w]", "merge(row.x, w, h)"), "d": ("f32[n, w]", "max(split(row.x, w, j, 3) over [h, j])"),
                             "e": ("u8[n, h, w]", "merge(merge(split(split(row.v, w, i, 3), h, j, 1), w, j), w, i)")})
        x = found["x"]
        numpy.testing.assert_array_equal(found["a"], x.reshape(5, 3, 11))
        numpy.testing.assert_array_equal(found["b"], x.reshape(-1))
        numpy.testing.assert_array_equal(found["c"], x.T.reshape(-1))
        numpy.testing.assert_array_equal(found["d"], x.reshape(5, 11, 3).max((0, 2)))
        numpy.testing.assert_array_equal(found["e"], found["v"])
        self.wrong("f32[n, h, w, j] = split(row.x, w, j, 4)", "error: axis `w` of f32[h=5, w=33] does not split into pieces of 4",
                   "hint: `frames(x, w, j, 4, 4)` leaves out the rest")


class Places(RecipeTest):
    def test_slices_where_pixels_say(self):
        lets = """let best = argmax(sum(row.x over [h]) over [w])
  let first = argmax(row.x[h = 0] over [w])"""
        found = self.recipe({"best": ("i64[n]", "best"), "first": ("i64[n]", "first"), "a": ("f32[n, h, w]", "row.x[w = best - 2 .. best + 3]"),
                             "b": ("f32[n, h, w <= 33] pad -1.0", "row.x[w = 0 ..= best]"),
                             "c": ("f32[n, w <= 33] pad -1.0", "row.x[h = 2, w = min(first, best) .. max(first, best)]"),
                             "d": ("f32[n]", "sum(row.x[w = best .. 33] over [h, w])"),
                             "e": ("u8[n, h, w <= 9] pad 0", "row.v[w = best .. best + row.label + 1]"), "label": ("i64[n]", "row.label")}, lets)
        x, v, best, first = found["x"], found["v"], int(found["best"]), int(found["first"])
        inside = lambda low, high: numpy.clip(numpy.arange(low, high), 0, 32)
        numpy.testing.assert_array_equal(found["a"], x[:, inside(best - 2, best + 3)])
        numpy.testing.assert_array_equal(found["b"][:, :best + 1], x[:, :best + 1])
        numpy.testing.assert_array_equal(found["b"][:, best + 1:], -1)
        part = x[2, min(first, best):max(first, best)]
        numpy.testing.assert_array_equal(found["c"][:len(part)], part)
        numpy.testing.assert_array_equal(found["c"][len(part):], -1)
        numpy.testing.assert_allclose(found["d"], x[:, best:].sum(), rtol=1e-5)
        many = int(found["label"]) + 1
        numpy.testing.assert_array_equal(found["e"][:, :many], v[:, inside(best, best + many)])
        self.wrong("f32[n, h, w <= 33] pad 0 = row.x[w = 0.5 .. f64(argmax(row.x over [h, w]))]", "error: a slice runs between whole numbers")

    def test_a_place_is_one_however_it_is_written(self):
        """So many elements from a place on, whether it has a name or is written again, and whatever a shift folds to."""
        top = "fn from_there(x: f32[w], at: int, shift: int) -> f32[] = sum(x[w = at + shift .. at + shift + 4] over [w])"
        places = {"at": "at", "max(at, 1)": "max(at, 1)", "2 * at": "2 * at", "at + at": "at + at", "at * 1": "at", "at - row.label": "at - int(found['label'])",
                  "min(at, 30) + argmin(row.x[h = 0] over [w])": "min(at, 30) + x[0].argmin()", "at + 0": "at", "0 + at": "at"}
        outputs = {f"p{i}": ("f32[n, h]", f"sum(row.x[w = {place} .. {place} + 4] over [w])") for i, place in enumerate(places)}
        outputs |= {f"s{shift}": ("f32[n, h]", f"from_there(row.x, at, {shift} - 2)") for shift in range(5)}
        outputs |= {"whole": ("f32[n, h, w]", "row.x[w = max(at, 1) + row.label .. max(at, 1) + row.label + 4]")}
        for position in range(4):
            found = self.recipe({**outputs, "label": ("i64[n]", "row.label")}, "let at = argmax(row.x over [h, w]) % 33", top, position)
            x = found["x"]
            at = int(x.argmax() % 33)
            shown = lambda first: x[:, numpy.clip(numpy.arange(first, first + 4), 0, 32)]
            for i, (place, value) in enumerate(places.items()):
                with self.subTest(place):
                    numpy.testing.assert_allclose(found[f"p{i}"], shown(eval(value)).sum(1), rtol=1e-5)
            for shift in range(5):
                numpy.testing.assert_allclose(found[f"s{shift}"], shown(at + shift - 2).sum(1), rtol=1e-5)
            numpy.testing.assert_array_equal(found["whole"], shown(max(at, 1) + int(found["label"])))

    def test_what_ends_at_one_place_goes_together(self):
        found = self.recipe({"y": ("f32[n, h, w <= 33] pad -1.0", "row.x[w = 0 .. at] * f32(row.v[w = 0 .. at])"), "at": ("i64[n]", "at")},
                            "let at = argmax(row.x over [h, w]) % 30 + 2")
        at = int(found["at"])
        numpy.testing.assert_array_equal(found["y"][:, :at], found["x"][:, :at] * found["v"][:, :at])
        numpy.testing.assert_array_equal(found["y"][:, at:], -1)
        self.wrong("f32[n, h, w <= 33] pad 0.0 = row.x[w = 0 .. argmax(row.x[h = 0] over [w])] * row.x[w = 0 .. argmax(row.x[h = 1] over [w])]",
                   "error: axis `w` has as many elements as one mask, key or place leaves on one side, and as another one leaves on the other")

    def test_places_among_what_exists(self):
        """A place in several axes counts the elements that there are, not those that there was room for."""
        lets = """let kept = compact(row.x, row.x[h = 0] > 0.4)
  let cut = kept[h = 0 ..= argmax(row.x[w = 0] over [h])]"""
        found = self.recipe({"kept": ("i64[n]", "argmax(kept over [h, w])"), "cut": ("i64[n]", "argmin(cut over [h, w])"), "row": ("i64[n]", "argmax(kept over [h, w]) / extent(kept, w)"),
                             "order": ("i64[n]", "argmax(rename(kept, w, b) over [b, h])"), "one": ("i64[n, h]", "argmax(kept over [w])")}, lets)
        x = found["x"]
        kept = x[:, x[0] > 0.4]
        self.assertGreater(kept.shape[1], 1)
        cut = kept[:x[:, 0].argmax() + 1]
        self.assertEqual([int(found[name]) for name in ("kept", "cut", "row", "order")],
                         [kept.argmax(), cut.argmin(), kept.argmax() // kept.shape[1], kept.T.argmax()])
        numpy.testing.assert_array_equal(found["one"], kept.argmax(1))

    def test_samples_at_other_axes(self):
        lets = """let y = map (k in 0 .. 7) { f64(k) * 0.8 }
  let z = map (k in 0 .. 7) { f64(k * k) * 0.6 + 0.5 }
  let both = map (a in 0 .. 2, h in 0 .. 5, w in 0 .. 33) { f64(if a == 0 then w else 32 - w) + 0.5 }"""
        found = self.recipe({"a": ("f32[n, k]", "gather(row.x, h = y, w = z, interpolation = nearest)"),
                             "b": ("f32[n, k, w]", "gather(row.x, h = y, interpolation = nearest)"),
                             "c": ("f32[n, a, h, w]", "gather(row.x, w = both, interpolation = linear)"),
                             "d": ("f32[n, k]", "gather(row.x, h = y, w = z, interpolation = linear, fill = -1.0)"),
                             "e": ("f32[n]", "gather(row.x, h = map (p in row.x[h = 0, w = 0]) { 2.5 }, w = map (p in row.x[h = 0, w = 0]) { 3.5 })")}, lets)
        x, k = found["x"], numpy.arange(7)
        rows = numpy.clip(numpy.floor(k * 0.8).astype(int), 0, 4)
        columns = numpy.clip(numpy.floor(k * k * 0.6 + 0.5).astype(int), 0, 32)
        numpy.testing.assert_array_equal(found["a"], x[rows, columns])
        numpy.testing.assert_array_equal(found["b"], x[rows])
        numpy.testing.assert_allclose(found["c"], [x, x[:, ::-1]], rtol=1e-6)

        def at(y, z):
            if not (0 <= y < 5 and 0 <= z < 33):
                return -1
            y, z = y - 0.5, z - 0.5
            i, j = int(numpy.floor(y)), int(numpy.floor(z))
            value = lambda a, b: float(x[min(max(a, 0), 4), min(max(b, 0), 32)])
            along = lambda a: value(a, j) + (value(a, j + 1) - value(a, j)) * (z - j)
            return along(i) + (along(i + 1) - along(i)) * (y - i)
        numpy.testing.assert_allclose(found["d"], [at(a * 0.8, a * a * 0.6 + 0.5) for a in k], rtol=1e-6)
        self.assertEqual(found["e"], x[2, 3])


def windows(x, size=3, mode="edge"):
    """x: [h, w] -> [h, w, size, size], as `window` sees it."""
    reach = size // 2
    return numpy.lib.stride_tricks.sliding_window_view(numpy.pad(x, reach, mode), (size, size))


class Windows(RecipeTest):
    def test_neighbours_are_a_small_tensor(self):
        top = """fn median(v: u8[h, w]) -> u8 { let all = merge(v, h, w) return all[h = sort(all, h)][h = 4] }
fn energy(g: f32[h, w]) -> f32[] = sqrt(sum(g * g over [h, w]))
fn bounds(g: f32[h, w]) -> { low: f32, high: f32 } = { low = min(g over [h, w]), high = max(g over [h, w]) }"""
        near = lambda body, of="row.v": f"window (v in {of}, h = -1 ..= 1, w = -1 ..= 1) {{ {body} }}"
        found = self.recipe({
            "a": ("u8[n, h, w]", near("median(v)")), "b": ("f32[n, h, w]", near("std(v over [h, w])")),
            "c": ("f32[n, h, w]", near("energy(v)", "row.x")),
            "d": ("i64[n, h, w]", near("sum(map (p in v) { if p > v[h = 0, w = 0] then 1 else 0 } over [h, w])")),
            "e": ("i64[n, h, w]", near("sum(if v > v[h = 0, w = 0] then 1 else 0 over [h, w])")),
            "f": ("f32[n, h, w]", near("sum(table[i = v / 16] over [h, w])")),
            "g": ("i32[n, h, w]", near("sum(i32(v[h = 0 ..= 1, w = -1 .. 1]) over [h, w])")),
            "i": ("i64[n, h, w]", near("argmax(v over [h, w])")),
            "j": ("f32[n, h, w]", near("bounds(v).high - bounds(v).low", "row.x")),
            "k": ("u8[n, h, w]", near("if max(v over [h, w]) > 200 then v[h = 0, w = 0] else reverse(v, w)[h = 0, w = 1]"))},
            "let table = map (i in 0 .. 16) { f32(i * i) }", top)
        v, x = windows(found["v"]), windows(found["x"])
        middle = v[:, :, 1:2, 1:2]
        numpy.testing.assert_array_equal(found["a"], numpy.median(v, axis=(2, 3)))
        numpy.testing.assert_allclose(found["b"], v.astype(float).std((2, 3)), rtol=1e-6, atol=1e-6)
        numpy.testing.assert_allclose(found["c"], numpy.sqrt((x.astype(float) ** 2).sum((2, 3))), rtol=1e-6)
        numpy.testing.assert_array_equal(found["d"], (v > middle).sum((2, 3)))
        numpy.testing.assert_array_equal(found["e"], found["d"])
        numpy.testing.assert_array_equal(found["f"], ((v // 16).astype(int) ** 2).sum((2, 3)))
        numpy.testing.assert_array_equal(found["g"], v[:, :, 1:, :2].astype(int).sum((2, 3)))
        numpy.testing.assert_array_equal(found["i"], v.reshape(5, 33, 9).argmax(2))
        numpy.testing.assert_array_equal(found["j"], x.max((2, 3)) - x.min((2, 3)))
        numpy.testing.assert_array_equal(found["k"], numpy.where(v.max((2, 3)) > 200, v[:, :, 1, 1], v[:, :, 1, 0]))

    def test_binders_beside_neighbours(self):
        """What has the window's axes is taken by its place in the window, whether by arithmetic or by a binder of a `map`."""
        near = lambda body: f"window (v in i32(row.v), h = -1 ..= 1, w = -1 ..= 1) {{ {body} }}"
        found = self.recipe({
            "a": ("i32[n, h, w]", near("sum(map (p in v, q in both) { p * q } over [h, w])")),
            "b": ("i32[n, h, w]", near("sum(v * both over [h, w])")),
            "c": ("i32[n, h, w]", near("sum(map (q in across, p in v) { p * q } over [h, w])")),
            "d": ("i32[n, h, w]", near("sum(map (p in v, q in i32(row.v)) { p - q } over [h, w])")),
            "e": ("i32[n, h, w]", near("sum(map (p in v, i in 0 .. 2, q in along) { p * q + i32(i) } over [h, w, i])"))},
            """let both = map (h in 0 .. 3, w in 0 .. 3) { i32(h * 5 - w) }
  let across = map (w in 0 .. 3) { i32(w * w) }
  let along = map (i in 0 .. 2) { i32(i) + 3 }""")
        v = windows(found["v"]).astype(int)
        h, w = numpy.indices((3, 3))
        numpy.testing.assert_array_equal(found["a"], (v * (h * 5 - w)).sum((2, 3)))
        numpy.testing.assert_array_equal(found["b"], found["a"])
        numpy.testing.assert_array_equal(found["c"], (v * w * w).sum((2, 3)))
        numpy.testing.assert_array_equal(found["d"], v.sum((2, 3)) - 9 * found["v"].astype(int))
        numpy.testing.assert_array_equal(found["e"], v.sum((2, 3)) * 7 + 9)

    def test_scans_along_neighbours(self):
        near = lambda body, of="row.x": f"window (v in {of}, w = -1 ..= 1) {{ {body} }}"
        found = self.recipe({"a": ("f32[n, h, w]", near("scan_linear(v, w, 0.5)[w = 1]")),
                             "b": ("f32[n, h, w]", near("sum(scan_max(v, w) over [w])")),
                             "c": ("u8[n, h, w]", near("scan_sum(v, w)[w = 0]", "row.v")),
                             "d": ("f16[n, h, w]", near("scan_sum(f16(v), w)[w = 1]"))})
        x, v = (numpy.lib.stride_tricks.sliding_window_view(numpy.pad(found[name], ((0, 0), (1, 1)), "edge"), 3, 1)
                for name in "xv")
        half, zero = numpy.float32(0.5), numpy.float32(0)
        numpy.testing.assert_array_equal(found["a"], x[..., 2] + half * (x[..., 1] + half * (x[..., 0] + zero)))
        top = numpy.maximum.accumulate(x, 2)
        numpy.testing.assert_array_equal(found["b"], (top[..., 0] + top[..., 2]) + top[..., 1])  # the tree of a sum
        numpy.testing.assert_array_equal(found["c"], v[..., 0] + v[..., 1])
        small = x.astype(numpy.float16).astype(numpy.float32)
        numpy.testing.assert_array_equal(found["d"], (small[..., 0] + small[..., 1] + small[..., 2]).astype(numpy.float16))

    def test_elements_stack(self):
        found = self.recipe({
            "a": ("f32[n, h, w]", "map (p in row.x, q in row.x[h = 0], r in row.x[h = 1]) { let t: f32[k] = [p, q, r, 0.5] return max(t over [k]) }"),
            "b": ("i64[n, w]", "map (p in row.x[h = 0], q in row.x[h = 1], r in row.x[h = 2]) { sort(stack([p, q, r], k), k)[k = 0] }"),
            "c": ("f32[n, w]", "map (p in row.x[h = 0]) { sum(map (k in 0 .. 4) { p * f32(k) } over [k]) }"),
            "d": ("f32[n, w]", "map (p in row.x[h = 0]) { concat([stack([p, 1.0], k), 2.5], k)[k = int(p * 2.9)] }"),
            "e": ("i64[n, w]", "map (p in row.x[h = 0]) { count(map (q in edges) { q < p } over [e]) }"),
            "f": ("i64[n, w]", "map (p in row.x[h = 0]) { count(map (q in some) { q < p } over [w]) }"),
            "g": ("f32[n, w]", "map (p in row.x[h = 0]) { sum(map (q in edges, r in some, i in 0 .. 2) { if q < p then r else f32(i) } over [e, w, i]) }")},
            "let edges = map (e in 0 .. 8) { f32(e) / 8.0 }\n  let some = row.x[h = 1, w = 3 .. 6]")
        x = found["x"]
        numpy.testing.assert_array_equal(found["a"], numpy.maximum(numpy.maximum(x, x[0]), numpy.maximum(x[1], numpy.float32(0.5))))
        numpy.testing.assert_array_equal(found["b"], x[:3].argsort(0, kind="stable")[0])
        numpy.testing.assert_allclose(found["c"], x[0] * 6, rtol=1e-6)
        places = (x[0] * numpy.float32(2.9)).astype(int)
        numpy.testing.assert_array_equal(found["d"], numpy.stack([x[0], 0 * x[0] + 1, 0 * x[0] + 2.5])[places, numpy.arange(33)])
        below, some = numpy.arange(8)[:, None] / 8 < x[0], x[1, 3:6]
        numpy.testing.assert_array_equal(found["e"], below.sum(0))
        numpy.testing.assert_array_equal(found["f"], (some[:, None] < x[0]).sum(0))
        numpy.testing.assert_allclose(found["g"], below.sum(0) * 2 * some.sum() + (8 - below.sum(0)) * 3, rtol=1e-6)

    def test_mistakes(self):
        near = lambda body: f"f32[n, h, w] = window (v in row.x, h = -1 ..= 1) {{ {body} }}"
        self.wrong(near("sum(v[h = 0 ..= 2] over [h])"), "error: this window spans -1 ..= 1 along axis `h`, not 2")
        self.wrong(near("sum(histogram(v over [h]) over [bin])"), "error: `histogram` counts what is in a tensor, and this is "
                   "f32[h=-1 ..= 1], the neighbours of an element", "hint: `count(v == 3 over [h, w])` counts how many of them")
        self.wrong(near("sum(compact(v, v > 0.5) over [h])"), "error: how many neighbours `compact` leaves would differ from "
                   "element to element", "hint: `map (p in v, q in keep) { if q then p else 0 }` puts something")
        self.wrong(near("mean(v over [w])"), "error: `mean` over axis `w`, which its input does not have")
        self.wrong(near("map (p in v) { p * 2.0 }"), "error: the body of `window` must give one number, and this is f32[h=-1 ..= 1]",
                   "hint: reduce it: `sum(v over [h])`")


class Iterations(RecipeTest):
    """`repeat` over numbers that an iteration makes of pixels."""

    def test_points_farthest_from_those_chosen(self):
        top = """fn farther(s: { p: f32[h, w], near: f32[w], chosen: i64[q], last: int, i: int })
    -> { p: f32[h, w], near: f32[w], chosen: i64[q], last: i64[], i: int } {
  let apart = map (p in s.p, o in s.p[w = s.last]) { (p - o) * (p - o) }
  let near = map (d in sum(apart over [h]), n in s.near) { min(d, n) }
  return { p = s.p, near = near, chosen = map (c in s.chosen, q in 0 .. 6) { if q == s.i then s.last else c },
           last = argmax(near over [w]), i = s.i + 1 }
}"""
        start = "{ p = row.x, near = map (w in 0 .. 33) { f32(9) }, chosen = map (q in 0 .. 6) { int(-1) }, last = 7, i = 0 }"
        found = self.recipe({"q": ("i64[n, q]", "s.chosen"), "i": ("i64[n]", "s.i"), "last": ("i64[n]", "s.last")},
                            f"let s = {start} |> repeat (5) {{ farther }}", top)
        x, near, last, chosen = found["x"].astype(numpy.float64), numpy.full(33, 9.0), 7, []
        for _ in range(5):
            chosen.append(last)
            near = numpy.minimum(near, ((x - x[:, last:last + 1]) ** 2).sum(0))
            last = near.argmax()
        numpy.testing.assert_array_equal(found["q"], [*chosen, -1])
        self.assertEqual((found["i"], found["last"]), (5, last))

    def test_numbers_that_come_back_as_numbers(self):
        top = """fn most(s: { x: f32[h, w], top: f32[], k: int }) -> { x: f32[h, w], top: f32[], k: int } =
  { x = s.x, top = max(s.x over [h, w]), k = s.k + 2 }
fn reset(s: { x: f32[h, w], top: f32[], k: int }) -> { x: f32[h, w], top: f32, k: int } = { x = s.x, top = 0.25, k = s.k }"""
        found = self.recipe({"a": ("f32[n]", "once.top"), "b": ("f32[n]", "back.top"), "k": ("i64[n]", "once.k"),
                             "none": ("f32[n]", "never.top")},
                            "let start = { x = row.x, top = f32(0.5), k = 1 }\n"
                            "let once = start |> repeat (3) { most }\nlet never = start |> repeat (0) { most }\n"
                            "let back = start |> repeat (2) { most |> repeat (2) { most |> reset } |> reset }", top)
        self.assertEqual((found["a"], found["b"], found["k"], found["none"]), (found["x"].max(), 0.25, 7, 0.5))

    def test_draws_are_those_of_one_evaluation(self):
        top = """fn moved(s: { x: f32[h, w], best: f32[], by: f64 }) -> { x: f32[h, w], best: f32[], by: f64 } =
  { x = s.x, best = max(s.x over [h, w]), by = s.by + draw uniform(0.0 .. 1.0) }"""
        lets = "let later = { x = row.x, best = f32(0), by = 0.0 } |> repeat (2) { moved }\nlet after = draw uniform(0.0 .. 1.0)"
        found = self.recipe({"by": ("f64[n]", "later.by"), "after": ("f64[n]", "after")}, lets, top)
        alone = self.recipe({"by": ("f64[n]", "later.by"), "after": ("f64[n]", "after")},
                            lets.replace("best = f32(0),", "best = max(row.x over [h, w]),"), top)
        self.assertGreater(found["by"], 0)
        self.assertEqual((found["by"], found["after"]), (alone["by"], alone["after"]))

    def test_mistakes(self):
        self.refused("fn f(s: { x: u8[h, w], a: f64 }) -> { x: u8[h, w], a: i64[] } = { x = s.x, a = argmax(sum(i32(s.x) over [h]) over [w]) }\n"
                     "pipeline p() {\n  for row in " + ROW + "\n  let s = { x = row.v, a = f64(row.s) } |> repeat (2) { f }\n"
                     "  batch 2 { output y: f64[n] = f64(s.a) }\n}",
                     "error: `repeat` must keep the type of its input, and changes it", "a: f64 } to { x: u8[h=5, w=33], a: i64 }")


class Literals(RecipeTest):
    def test_they_take_the_declared_type(self):
        top = """fn weights(x: u8[h, w]) -> f32[k] = map (k in 0 .. 3) { if k == 0 then 1 else 0.1 }
fn table(x: u8[h, w]) -> u8[h] = map (h in 0 .. 7) { if h < 3 then 1 else 200 }
fn some_near(x: f32[h, w]) -> f32[h, w] = window (v in x, w = -1 ..= 1) { if max(v over [w]) > 0.7 then 1 else 0.1 }
fn sign(p: f32) -> f32 { let other = 0.1 return if p > 0.5 then 1 else if p > 0.25 then 0.3 else other }"""
        found = self.recipe({"a": ("f32[n, k]", "weights(row.v)"), "b": ("u8[n, h]", "table(row.v)"),
                             "c": ("f32[n, c]", "some"), "d": ("f32[n]", "one"),
                             "e": ("f32[n, h, w]", "map (p in row.x) { sign(p) }"), "f": ("f32[n, h, w]", "some_near(row.x)")},
                            "let one: f32 = if row.s > 0.5 then 1 else 0.7\n"
                            "let some: f32[c] = if row.s > 0.5 then [1, 2, 3] else [0.1, 2, 3]", top)
        numpy.testing.assert_array_equal(found["a"], numpy.float32([1, 0.1, 0.1]))
        numpy.testing.assert_array_equal(found["b"], [1, 1, 1, 200, 200, 200, 200])
        big = found["s"] > 0.5
        numpy.testing.assert_array_equal(found["c"], numpy.float32([1 if big else 0.1, 2, 3]))
        self.assertEqual(found["d"], numpy.float32(1 if big else 0.7))
        x = found["x"]
        numpy.testing.assert_array_equal(found["e"], numpy.where(x > 0.5, 1, numpy.where(x > 0.25, 0.3, 0.1)).astype(numpy.float32))
        wide = numpy.pad(x, ((0, 0), (1, 1)), mode="edge")
        numpy.testing.assert_array_equal(found["f"], numpy.where(numpy.maximum(numpy.maximum(wide[:, :-2], x), wide[:, 2:]) > 0.7, 1, 0.1).astype(numpy.float32))
        self.refused("fn table(x: u8[h, w]) -> u8[k] = map (k in 0 .. 7) { if k < 3 then 1 else 300 }\n"
                     "pipeline p() {\n  for row in synthetic(9, v = u8[h = 2, w = 2])\n  batch 2 { output y: u8[n, k] = table(row.v) }\n}",
                     "error: the result of `table` is declared as u8[k], but is i64[k=7]")


class Binders(RecipeTest):
    def test_they_may_have_the_name_of_an_axis(self):
        top = """fn ramp(x: f32[h, w]) -> f32[h, w] {
  let rows = map (h in 0 .. h) { f32(h) * 0.5 }
  return map (p in x, r in rows, w in index(x, w)) { p + r * f32(w) + f32(h) }
}"""
        found = self.recipe({"a": ("f32[n, h, w]", "ramp(row.x)")}, top=top)
        rows, columns = numpy.mgrid[:5, :33].astype(numpy.float32)
        numpy.testing.assert_array_equal(found["a"], found["x"] + rows * numpy.float32(0.5) * columns + numpy.float32(5))


if __name__ == "__main__":
    main()
