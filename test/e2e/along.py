# SPDX-License-Identifier: Apache-2.0
"""Ops that read whole axes, through the compiler and the JIT, against NumPy."""
import os

import numpy

from pipelines import DTYPES, LanguageTest
from support import main


class AlongTest(LanguageTest):
    def along(self, outputs, lets="", top="", position=0):
        """The outputs of a pipeline over a row with x: f32[h, w], k: i32[t, xyz], v: u8[h, w] and points: f32[p, xyz]."""
        lines = "\n".join(f"output {name}: {kind} = {value}" for name, (kind, value) in outputs.items())
        return self.sample(f"""{top}
pipeline test() {{
  for row in synthetic(20, x = f32[h = 5, w = 33], v = u8[h = 5, w = 33], wave = f32[t = 400],
                       points = f32[p = 0 ..= 40, xyz = 3], label = 0 .. 7) order sequential
  {lets}
  batch 5 per rank last drop {{
  {lines}
  }}
}}""", position)


class Sorting(AlongTest):
    def test_sort_is_a_stable_argsort_along_any_axis(self):
        found = self.along({"v": ("u8[n, h, w]", "row.v"), "a": ("i64[n, h, w]", "sort(row.v / 32, w)"),
                            "b": ("i64[n, h, w]", "sort(row.v / 32, h)"), "c": ("i64[n, h, w]", "sort(-row.x, w)"),
                            "x": ("f32[n, h, w]", "row.x"), "d": ("bool[n, h, w]", "row.v > 99"),
                            "e": ("i64[n, h, w]", "sort(row.v > 99, w)")})
        coarse = found["v"] // 32
        numpy.testing.assert_array_equal(found["a"], numpy.argsort(coarse, axis=1, kind="stable"))
        numpy.testing.assert_array_equal(found["b"], numpy.argsort(coarse, axis=0, kind="stable"))
        numpy.testing.assert_array_equal(found["c"], numpy.argsort(-found["x"], axis=1, kind="stable"))
        numpy.testing.assert_array_equal(found["e"], numpy.argsort(found["d"], axis=1, kind="stable"))

    def test_long_rows_of_every_type(self):
        """Numbers of all magnitudes and of few values, in order and not; NaN last, -0 before 0, equal ones as they came."""
        rng = numpy.random.default_rng(8)
        for count in (1, 64, 257, 3000, 70000):
            columns, expected = {}, {}
            for kind in ("u8", "i8", "u16", "i16", "i32", "i64", "f16", "f32", "f64"):
                dtype = DTYPES[kind]
                if kind[0] == "f":
                    values = numpy.exp(rng.uniform(-12, 9, count)) * rng.choice([-1, 1], count)
                    values[rng.random(count) < 0.2] = 0.5
                    odd = rng.random(count) < 0.1
                    values[odd] = rng.choice([numpy.nan, -numpy.nan, numpy.inf, -numpy.inf, 0.0, -0.0], odd.sum())
                    values = values.astype(dtype)
                    bits = values.view(f"i{values.itemsize}").astype(numpy.int64)
                    keys = numpy.where(numpy.isnan(values), numpy.iinfo(numpy.int64).max, numpy.where(bits < 0, bits ^ ((1 << (8 * values.itemsize - 1)) - 1), bits))
                else:
                    limits = numpy.iinfo(dtype)
                    values = rng.integers(limits.min, limits.max, count, dtype, endpoint=True)
                    values[rng.random(count) < 0.3] //= 64
                    keys = values
                if count == 3000:
                    values, keys = values[numpy.argsort(keys)[::-1]].copy(), numpy.sort(keys)[::-1]
                columns[kind], expected[kind] = values, numpy.argsort(keys, kind="stable")
            settings = []
            for kind, values in columns.items():
                path = os.path.join(self.folder, kind)
                numpy.concatenate([values, values]).tofile(path)
                settings += ["--set", f"{kind}_file={path}"]
            text = ("pipeline test(" + ", ".join(f"{kind}_file: path" for kind in columns) + ") {\n  for row in raw(" +
                    ", ".join(f"x{kind} = column({kind}_file, {kind}[t = {count}])" for kind in columns) + ")\n  batch 2 {\n" +
                    "".join(f"    output {kind}: i64[n, t] = sort(row.x{kind}, t)\n" for kind in columns) +
                    "    output bool: i64[n, t] = sort(row.xu8 > 40, t)\n  }\n}")
            expected["bool"] = numpy.argsort(columns["u8"] > 40, kind="stable")
            for target in ([], ["--target", "x86-64-v2"]):
                found = self.sample(text, 1, *settings, *target)
                for kind, places in expected.items():
                    numpy.testing.assert_array_equal(found[kind], places, f"{count} of {kind}")

    def test_an_index_by_what_sort_gives_puts_in_order(self):
        found = self.along({"x": ("f32[n, h, w]", "row.x"), "a": ("f32[n, h, w]", "row.x[w = sort(row.x, w)]")})
        numpy.testing.assert_array_equal(found["a"], numpy.sort(found["x"], axis=1))

    # Numbers that are equal, that only their signs tell apart, and that are none, in every order.
    BITS = {"f64": [0, -2**63, 2**63 - 1, -1, 0x7FF0000000000000, -2**52, 1, 0x3FF0000000000000],
            "f32": [0, -2**31, 2**31 - 1, -1, 0x7F800000, -2**23, 1, 0x3F800000],
            "f16": [0, -2**15, 2**15 - 1, -1, 0x7C00, -2**10, 1, 0x3C00],
            "bf16": [0, -2**15, 2**15 - 1, -1, 0x7F80, -2**7, 1, 0x3F80],
            "i64": [0, -2**63, 2**63 - 1, -1], "i32": [0, -2**31, 2**31 - 1, -1], "i16": [0, -2**15, 2**15 - 1, -1],
            "u16": [0, 1, 2**16 - 1, 2**15], "i8": [0, -2**7, 2**7 - 1, -1], "u8": [0, 1, 255, 128]}
    WIDTHS = {"f64": "i64", "f32": "i32", "f16": "i16", "bf16": "i16"}

    def test_neighbours_have_the_order_of_a_whole_sort(self):
        for element, bits in [*self.BITS.items(), ("bool", [0, 1])]:
            count = {"f32": 9, "u8": 9, "i16": 7}.get(element, 5)
            numbers = ", ".join(f"{number + 1} - 1" if number == -2**63 else str(number) for number in bits)
            made = f"{element}.bits({self.WIDTHS[element]}(t))" if element in self.WIDTHS else f"{element}(t)"
            delivered, shown = {"bool": ("i64", "i64(%s)"), "bf16": ("i16", "i16.bits(%s)")}.get(element, (element, "%s"))
            lets = f"""
  let table: i64[k] = [{numbers}]
  let x = map (p in row.v) {{ let t = table[k = i64(p) % {len(bits)}] return {made} }}
  let pieces = frames(x, w, j, {count}, 1)
  let places = sort(pieces, j)
  let inOrder = pieces[j = places]"""
            outputs = {}
            for rank in (0, count // 2, count - 1):
                window = f"(window (v in x, w = 0 .. {count}) {{ %s }})[w = 0 .. {34 - count}]"
                outputs[f"place{rank}"] = ("i64[n, h, w]", window % f"sort(v, w)[w = {rank}]")
                outputs[f"whole_place{rank}"] = ("i64[n, h, w]", f"places[j = {rank}]")
                outputs[f"element{rank}"] = (f"{delivered}[n, h, w]",
                                             window % (shown % f"v[w = sort(v, w)][w = {rank}]"))
                outputs[f"whole_element{rank}"] = (f"{delivered}[n, h, w]", shown % f"inOrder[j = {rank}]")
            with self.subTest(element=element):
                found = self.along(outputs, lets=lets)
                for name in outputs:
                    if not name.startswith("whole"):
                        self.assertEqual(found[name].tobytes(), found["whole_" + name].tobytes(), name)


class Scans(AlongTest):
    def test_sums_maxima_and_recurrences_go_in_order(self):
        found = self.along({"x": ("f32[n, h, w]", "row.x"), "a": ("f32[n, h, w]", "scan_sum(row.x, w)"),
                            "b": ("f32[n, h, w]", "scan_max(row.x, h)"),
                            "c": ("f32[n, h, w]", "scan_linear(row.x, w, -0.97)")})
        x = found["x"]
        numpy.testing.assert_array_equal(found["a"], numpy.add.accumulate(x, axis=1, dtype=numpy.float32))
        numpy.testing.assert_array_equal(found["b"], numpy.maximum.accumulate(x, axis=0))
        expected, factor = numpy.zeros_like(x), numpy.float32(-0.97)
        for i in range(x.shape[1]):
            expected[:, i] = x[:, i] + (factor * expected[:, i - 1] if i else numpy.float32(0))
        numpy.testing.assert_array_equal(found["c"], expected)

    def test_a_factor_may_be_drawn_or_come_from_a_row(self):
        found = self.along({"x": ("f32[n, h, w]", "row.x"), "s": ("i64[n]", "row.label"), "f": ("f64[n]", "f"),
                            "a": ("f32[n, h, w]", "scan_linear(row.x, w, f)"),
                            "b": ("f64[n, h, w]", "scan_linear(f64(row.x), w, f64(row.label) / 10.0)"),
                            "c": ("f16[n, h, w]", "scan_linear(f16(row.x), h, f)")},
                           lets="let f = draw uniform(-1.0 .. 1.0)", position=3)
        x, factor = found["x"], found["f"]

        def recurrence(x, factor, axis):
            x = numpy.moveaxis(x, axis, 0)
            result = numpy.zeros_like(x)
            for i in range(len(x)):
                result[i] = x[i] + (factor * result[i - 1] if i else factor * 0)
            return numpy.moveaxis(result, 0, axis)
        numpy.testing.assert_array_equal(found["a"], recurrence(x, numpy.float32(factor), 1))
        numpy.testing.assert_array_equal(found["b"], recurrence(x.astype(numpy.float64), found["s"] / 10.0, 1))
        half = x.astype(numpy.float16).astype(numpy.float32)
        numpy.testing.assert_array_equal(found["c"], recurrence(half, numpy.float32(factor), 0).astype(numpy.float16))

    def test_each_element_may_have_a_factor_of_its_own(self):
        """Over all axes, over some, and a number that is a tensor; returns that begin anew behind an end."""
        found = self.along({"x": ("f32[n, h, w]", "row.x"),
                            "a": ("f32[n, h, w]", "scan_linear(row.x, w, row.x * 0.5)"),
                            "b": ("f32[n, h, w]", "scan_linear(row.x, h, max(row.x over [w]))"),
                            "c": ("f64[n, h, w]", "scan_linear(f64(row.x), w, f64(min(row.x over [h, w])))"),
                            "d": ("f32[n, h, w]", "reverse(scan_linear(reverse(row.x, w), w, reverse(f32(0.9) * f32(row.x < 0.5), w)), w)")})
        x = found["x"]

        def recurrence(x, factors, axis):
            x, factors = numpy.moveaxis(x, axis, 0), numpy.moveaxis(numpy.broadcast_to(factors, x.shape), axis, 0)
            result = numpy.zeros_like(x)
            for i in range(len(x)):
                result[i] = x[i] + factors[i] * (result[i - 1] if i else numpy.zeros_like(x[0]))
            return numpy.moveaxis(result, 0, axis)
        numpy.testing.assert_array_equal(found["a"], recurrence(x, x * numpy.float32(0.5), 1))
        numpy.testing.assert_array_equal(found["b"], recurrence(x, x.max(1)[:, None], 0))
        numpy.testing.assert_array_equal(found["c"], recurrence(x.astype(numpy.float64), numpy.float64(x.min()), 1))
        back = recurrence(x[:, ::-1], (numpy.float32(0.9) * (x < 0.5))[:, ::-1].astype(numpy.float32), 1)[:, ::-1]
        numpy.testing.assert_array_equal(found["d"], back)

    def test_a_recurrence_is_over_floats_with_numbers(self):
        def text(value):
            return ("pipeline p() {\n  for row in synthetic(9, v = u8[t = 9], s = 0.0 .. 1.0)\n"
                    f"  batch 2 {{\n    output y: f32[n, t] = {value}\n  }}\n}}")
        self.refused(text("scan_linear(row.v, t, 0.5)"), "test.pipe:5:39: error: `scan_linear` takes floats, and this is "
                     "u8[t=9]", "hint: `f32(...)` converts")
        self.refused(text("scan_linear(f32(row.v), t, row.v > 2)"), "test.pipe:5:54: error: the factors of a recurrence are numbers, "
                     "and this is bool[t=9]", "hint: `f32(...)` makes 0 and 1 of truth values")
        self.refused(text("f32(scan_sum(row.v > 2, t))"), "`scan_sum` takes numbers, and this is bool[t=9]")


class Compacting(AlongTest):
    KEEP = "let keep = map (s in sum(row.points over [xyz])) { s > 1.5 }\n  let kept = compact(row.points, keep)"

    def test_elements_that_a_mask_keeps_are_delivered_ragged_and_padded(self):
        sizes = set()
        for position in range(8):
            found = self.along({"points": ("f32[n, p <= 40, xyz] ragged", "row.points"),
                                "kept": ("f32[n, p <= 40, xyz] ragged", "kept"),
                                "padded": ("f32[n, p <= 45, xyz] pad -7", "kept"),
                                "total": ("f32[n, xyz]", "sum(kept + 1.0 over [p])"),
                                "least": ("f32[n, xyz]", "min(kept over [p])"),
                                "where": ("i64[n, xyz]", "argmax(kept over [p])"),
                                "number": ("i64[n]", "extent(kept, p)"),
                                "inOrder": ("f32[n, p <= 40] ragged", "firsts[p = sort(firsts, p)]"),
                                "again": ("f32[n, p <= 40, xyz] ragged", "compact(kept, map (f in firsts) { f < 0.9 })")},
                               lets=self.KEEP + "\n  let firsts = kept[xyz = 0]", position=position)
            points = found["points"]
            expected = points[points.sum(axis=1, dtype=numpy.float32) > 1.5]
            sizes.add(len(expected))
            numpy.testing.assert_array_equal(found["kept"], expected)
            numpy.testing.assert_array_equal(found["padded"][:len(expected)], expected)
            numpy.testing.assert_array_equal(found["padded"][len(expected):], -7)
            numpy.testing.assert_allclose(found["total"], (expected + 1).sum(axis=0), rtol=1e-6)
            numpy.testing.assert_array_equal(found["least"], expected.min(axis=0, initial=numpy.inf))
            self.assertEqual(found["number"], len(expected))
            numpy.testing.assert_array_equal(found["inOrder"], numpy.sort(expected[:, 0]))
            numpy.testing.assert_array_equal(found["again"], expected[expected[:, 0] < numpy.float32(0.9)])
            if len(expected):
                numpy.testing.assert_array_equal(found["where"], expected.argmax(axis=0))
        self.assertGreater(len(sizes), 3)

    def test_a_known_length_of_them(self):
        for position in range(5):
            found = self.along({"kept": ("f32[n, p <= 40, xyz] ragged", "kept"), "three": ("f32[n, p, xyz]", "fit_length(kept, p, 3)"),
                                "many": ("f32[n, p, xyz]", "fit_length(kept, p, 99, fill = -7.0)"),
                                "turned": ("f32[n, p, xyz]", "reverse(fit_length(kept + 1.0, p, 50), p)"),
                                "short": ("f32[n, p, xyz]", "fit_length(row.points, p, 3)"), "long": ("f32[n, p, xyz]", "row.points |> fit_length(p, 44, 2.0)"),
                                "points": ("f32[n, p <= 40, xyz] ragged", "row.points")},
                               lets=self.KEEP, position=position)

            def fitted(rows, length, fill):
                return numpy.concatenate([rows[:length], numpy.full((max(length - len(rows), 0), 3), fill, numpy.float32)])
            numpy.testing.assert_array_equal(found["three"], fitted(found["kept"], 3, 0))
            numpy.testing.assert_array_equal(found["many"], fitted(found["kept"], 99, -7))
            numpy.testing.assert_array_equal(found["turned"][::-1], fitted(found["kept"] + numpy.float32(1), 50, 0))
            numpy.testing.assert_array_equal(found["short"], fitted(found["points"], 3, 0))
            numpy.testing.assert_array_equal(found["long"], fitted(found["points"], 44, 2))

    def test_more_than_an_output_declares_is_a_bad_sample(self):
        text = f"""pipeline p() with on_error = fail {{
  for row in synthetic(9, points = f32[p = 40, xyz = 3])
  {self.KEEP}
  batch 2 {{ output y: f32[n, p <= 3, xyz] pad 0 = kept }}
}}"""
        done = self.run_tool("sample", self.write(text), "--position", 0, expect=1)
        self.assertRegex(done.stderr, r"output `y` declares at most 3 along axis `p`, and the sample has \d+ \(.*test.pipe:6:20\)")

    def test_what_needs_the_number_before_pixels_is_refused_at_its_line(self):
        def text(value, kind="f32[n, p <= 40, xyz] ragged"):
            return (f"pipeline p() {{\n  for row in synthetic(9, points = f32[p = 40, xyz = 3])\n  {self.KEEP}\n"
                    f"  batch 2 {{\n    output y: {kind} = {value}\n  }}\n}}")
        reason = "how many elements axis `p` has is known once `compact` has looked at the values, and this needs the number before"
        for value in ("reverse(kept, p)", "extend(kept, p, 1, 1)", "resample(kept, p, 10)",
                      "window (v in kept, p = -1 ..= 1) { v[p = 0] }", "kept + row.points"):
            shown = self.refused(text(value), "test.pipe:7:", reason, "hint: `fit_length(x, p, ...)` makes")
            self.assertEqual(shown.count("error"), 1, shown)
        self.refused(text("kept", "f32[n, p = 40, xyz]"), reason)
        self.refused(text("kept", "f32[n, p, xyz]"), "axis `p` of output `y` differs from sample to sample")
        self.refused(text("compact(row.points, row.points > 0.5)"), "a mask holds truth values over one axis, and this is "
                     "bool[p=40, xyz=3]")
        self.refused(text("row.points |> compact(keep) |> repeat(2) { compact(map (s in sum(kept over [xyz])) { s > 1.8 }) }"), "error")

    def test_under_a_condition_as_many_as_the_arm_that_is_taken_leaves(self):
        some = "map (s in sum(row.points over [xyz])) { s > 1.5 }"
        top = "fn split(x: f32[p, xyz]) -> { points: f32[p, xyz], high: f32[p] } = { points = x, high = x[xyz = 2] }"
        lets = (f"let coin = chance(0.5)\n  let kept = if coin then split(compact(row.points, {some})) else split(row.points)\n"
                "  let three = row.points |> choose { 1 => compact(map (x in row.points[xyz = 0]) { x < 0.3 }), "
                "1 => compact(map (x in row.points[xyz = 0]) { x >= 0.3 }), 1 => identity }")
        taken, thirds = set(), set()
        for position in range(10):
            found = self.along({"points": ("f32[n, p <= 40, xyz] ragged", "row.points"), "coin": ("bool[n]", "coin"),
                                "kept": ("f32[n, p <= 40, xyz] ragged", "kept.points"), "number": ("i64[n]", "extent(kept.points, p)"),
                                "sum": ("f32[n]", "sum(kept.high over [p])"),
                                "padded": ("f32[n, p <= 44] pad -1", "kept.high + kept.points[xyz = 2]"),
                                "third": ("f32[n, p <= 40, xyz] ragged", "three")}, top=top, lets=lets, position=position)
            points = found["points"]
            expected = points[points.sum(axis=1, dtype=numpy.float32) > 1.5] if found["coin"] else points
            numpy.testing.assert_array_equal(found["kept"], expected)
            self.assertEqual(found["number"], len(expected))
            numpy.testing.assert_allclose(found["sum"], expected[:, 2].sum(), rtol=1e-5, atol=1e-5)
            numpy.testing.assert_array_equal(found["padded"][:len(expected)], expected[:, 2] * 2)
            numpy.testing.assert_array_equal(found["padded"][len(expected):], -1)
            low = points[:, 0] < numpy.float32(0.3)
            arms = [i for i, arm in enumerate((points[low], points[~low], points)) if numpy.array_equal(arm, found["third"])]
            self.assertTrue(arms, "neither arm")
            thirds.update(arms[:1] if len(points) > 5 else [])
            taken.add(bool(found["coin"]))
        self.assertEqual(taken, {False, True})
        self.assertGreater(len(thirds), 1)

    def test_views_may_count_but_are_stacked_at_one_size(self):
        found = self.along({"points": ("f32[n, p <= 40, xyz] ragged", "row.points"), "number": ("i64[n, v]", "views.number"),
                            "first": ("f32[n, v, i]", "views.first")},
                           lets="let views = each (v in 0 .. 3) {\n    let kept = compact(row.points, map (x in row.points[xyz = 0]) "
                                "{ x > 0.2 * f32(v) })\n    return { number = extent(kept, p), first = map (i in 0 .. 4) { kept[xyz = 1, p = i] } }\n  }")
        for view in range(3):
            expected = found["points"][found["points"][:, 0] > numpy.float32(0.2) * numpy.float32(view)]
            self.assertEqual(found["number"][view], len(expected))
            numpy.testing.assert_array_equal(found["first"][view][:len(expected)], expected[:4, 1])
        self.refused("pipeline p() {\n  for row in synthetic(9, points = f32[p = 40, xyz = 3])\n"
                     "  let views = each (v in 0 .. 2) { compact(row.points, map (x in row.points[xyz = 0]) { x > 0.2 * f32(v) }) }\n"
                     "  batch 2 { output y: f32[n, v, p <= 40, xyz] pad 0 = views }\n}",
                     "test.pipe:4:36: error: the views differ in the number of elements along axis `p`, known once `compact` has looked "
                     "at the values, and they are stacked", "hint: bring each view to one size, or reduce it: `map (i in 0 .. 100) { x[p = i] }`")


class Grouping(AlongTest):
    def test_voxels_are_means_in_the_order_of_first_points(self):
        for position in range(6):
            found = self.along({"points": ("f32[n, p <= 40, xyz] ragged", "row.points"),
                                "mean": ("f32[n, m <= 30, xyz] ragged", "grid.mean"), "at": ("i32[n, m <= 30, xyz] pad -1", "grid.at"),
                                "count": ("i32[n, m <= 30] ragged", "groups.count"),
                                "highest": ("f32[n, m <= 30, xyz] ragged", "max(groups.points over [p])"),
                                "lowest": ("i64[n, m <= 30, xyz] ragged", "argmin(groups.points over [p])"),
                                "top": ("i64[n, m <= 30, xyz] ragged", "argmax(groups.points over [p])"),
                                "first": ("i64[n, m <= 30] ragged", "groups.first")},
                               top="use points", lets="let grid = voxelize(rename(row.points, p, k), 400mm, 30)\n"
                               "  let groups = group(row.points, by = map (q in row.points) { i32(floor(q / 0.4)) }, limit = 30)",
                               position=position)
            points = found["points"]
            keys = numpy.floor(points / numpy.float32(0.4)).astype(int)
            order, members = [], {}
            for i, key in enumerate(map(tuple, keys)):
                if key not in members:
                    order.append(key)
                members.setdefault(key, []).append(i)
            self.assertLessEqual(len(order), 30)
            numpy.testing.assert_array_equal(found["at"][:len(order)], numpy.array(order).reshape(-1, 3))
            numpy.testing.assert_array_equal(found["at"][len(order):], -1)
            numpy.testing.assert_array_equal(found["count"], [len(members[key]) for key in order])
            numpy.testing.assert_array_equal(found["first"], [members[key][0] for key in order])
            for number, key in enumerate(order):
                numpy.testing.assert_allclose(found["mean"][number], points[members[key]].mean(axis=0), rtol=1e-6)
                numpy.testing.assert_array_equal(found["highest"][number], points[members[key]].max(axis=0))
                numpy.testing.assert_array_equal(found["lowest"][number], numpy.take(members[key], points[members[key]].argmin(axis=0)))
                numpy.testing.assert_array_equal(found["top"][number], numpy.take(members[key], points[members[key]].argmax(axis=0)))

    def test_past_the_limit_elements_are_in_no_group(self):
        found = self.along({"v": ("u8[n, h, w]", "row.v"), "slot": ("i64[n, w]", "g.slot"), "key": ("u8[n, m <= 4] pad 0", "g.key"),
                            "sum": ("i32[n, m <= 4] pad -1", "sum(g.points over [w])")},
                           lets="let line = row.v[h = 0] / 16\n  let g = group(i32(line), by = line, limit = 4)")
        line = found["v"][0] // 16
        firsts = list(dict.fromkeys(line))[:4]
        numpy.testing.assert_array_equal(found["slot"], [firsts.index(x) if x in firsts else -1 for x in line])
        numpy.testing.assert_array_equal(found["key"], firsts)
        numpy.testing.assert_array_equal(found["sum"], [(line == x).sum() * x for x in firsts])

    def test_groups_of_what_a_mask_keeps(self):
        found = self.along({"v": ("u8[n, h, w]", "row.v"), "key": ("u8[n, m <= 33] ragged", "g.key"),
                            "count": ("i32[n, m <= 33] ragged", "g.count")},
                           lets="let line = row.v[h = 0]\n  let some = compact(line / 64, map (x in line) { x > 100 })\n"
                                "  let g = group(some, by = some, limit = 33)")
        some = (found["v"][0] // 64)[found["v"][0] > 100]
        keys = list(dict.fromkeys(some))
        numpy.testing.assert_array_equal(found["key"], keys)
        numpy.testing.assert_array_equal(found["count"], [(some == x).sum() for x in keys])

    def test_mistakes_at_their_line(self):
        def text(lets, value):
            return (f"pipeline p() {{\n  for row in synthetic(9, x = f32[k = 9, xyz = 3], q = i32[k = 9])\n  {lets}\n"
                    f"  batch 2 {{\n    output y: f32[n, m <= 9, xyz] ragged = {value}\n  }}\n}}")
        self.refused(text("let g = group(row.x, by = row.x, limit = 9)", "g.key"), "test.pipe:4:29: error: a key holds integers "
                     "over the axis to group, then over those that make one key, and this is f32[k=9, xyz=3]",
                     "hint: `i32(floor(x / cell))` makes whole numbers")
        self.refused(text("let g = group(row.x, by = row.q, limit = 0)", "row.x"), "the largest number of groups is 0")
        grouped = "let g = group(row.x, by = row.q, limit = 9)"
        self.refused(text(grouped, "g.points"), "an output is a number or a tensor, and this is f32[k=9, xyz=3] in groups")
        self.refused(text(grouped, "sum(g.points over [xyz])"), "elements in groups are reduced over the axis that was grouped, "
                     "`k` alone")
        self.refused(text(grouped, "g.points + 1.0"), "one side is f32[k=9, xyz=3] in groups")


class Scattering(AlongTest):
    def test_elements_are_combined_at_their_places(self):
        lets = ("let line = row.v[h = 0]\n  let at = i32(line) / 40 - 1\n  let start = map (m in 0 .. 5) { 100 }\n"
                "  let none = map (m in 0 .. 5) { f32(0.0) }\n  let rows = map (h in 0 .. 5, m in 0 .. 5) { f32(0.5) }")
        found = self.along({"v": ("u8[n, w]", "line"), "x": ("f32[n, h, w]", "row.x"),
                            "sum": ("i64[n, m]", "scatter(start, int(line), m = at)"),
                            "least": ("i64[n, m]", "scatter(start, int(line), m = at, combine = min)"),
                            "most": ("i64[n, m]", "scatter(start, int(line), m = at, combine = max)"),
                            "first": ("i64[n, m]", "scatter(start, int(line), m = at, combine = first)"),
                            "real": ("f32[n, m]", "scatter(none, row.x[h = 0], m = at)"),
                            "along": ("f32[n, h, m]", "scatter(rows, row.x, m = at)")}, lets=lets)
        line = found["v"].astype(int)
        places, x = line // 40 - 1, found["x"]
        kept = (places >= 0) & (places < 5)
        for name, combine in (("sum", lambda p, q: p + q), ("least", min), ("most", max)):
            expected = [100] * 5
            for place, value in zip(places[kept], line[kept]):
                expected[place] = combine(expected[place], value)
            numpy.testing.assert_array_equal(found[name], expected)
        firsts = [next(iter(line[places == m]), 100) for m in range(5)]
        numpy.testing.assert_array_equal(found["first"], firsts)
        real, along = numpy.zeros(5, numpy.float32), numpy.full((5, 5), numpy.float32(0.5))
        for i in numpy.flatnonzero(kept):
            real[places[i]] += x[0, i]
            along[:, places[i]] += x[:, i]
        numpy.testing.assert_array_equal(found["real"], real)
        numpy.testing.assert_array_equal(found["along"], along)

    def test_elements_and_base_may_have_axes_of_one_name(self):
        """What elements are counted along is not where they go, whatever either is called."""
        lets = ("let line = int(row.v[h = 0])\n  let at = int(row.v[h = 1]) % 40 - 3\n  let back = sort(line, w)\n"
                "  let base = map (w in 0 .. 33) { 7 }\n  let rows = map (h in 0 .. 5, w in 0 .. 33) { 7 }\n"
                "  let small = map (w in 0 .. 4, h in 0 .. 6) { 7 }\n  let h = merge(int(row.v), h, w)\n"
                "  let flat = index(h, h)")
        ways = {"sum": numpy.add, "min": numpy.minimum, "max": numpy.maximum}
        found = self.along({"line": ("i64[n, w]", "line"), "at": ("i64[n, w]", "at"), "back": ("i64[n, w]", "back"), "v": ("i64[n, h, w]", "int(row.v)"),
                            "first": ("i64[n, w]", "scatter(base, line, w = at, combine = first)"),
                            "sorted": ("i64[n, w]", "scatter(base, line[w = back], w = back, combine = first)"),
                            "rides": ("i64[n, h, w]", "scatter(rows, int(row.v), w = at)"),
                            "both": ("i64[n, w, h]", "scatter(small, line, w = at / 9, h = line / 50)"),
                            "few": ("i64[n, w]", "scatter(map (w in 0 .. 3) { 7 }, line, w = at)"),
                            "whole": ("i64[n, h, w]", "scatter(rows, h, w = map (i in flat) { i % 33 }, h = map (i in flat) { i / 33 })"),
                            **{kind: ("i64[n, w]", f"scatter(base, line, w = at, combine = {kind})") for kind in ways}}, lets=lets)
        line, at, v = found["line"], found["at"], found["v"]
        inside = (at >= 0) & (at < 33)
        for kind, combine in ways.items():
            expected = numpy.full(33, 7)
            combine.at(expected, at[inside], line[inside])
            numpy.testing.assert_array_equal(found[kind], expected)
        numpy.testing.assert_array_equal(found["first"], [next(iter(line[at == w]), 7) for w in range(33)])
        numpy.testing.assert_array_equal(found["sorted"], line)
        rides, both, few = numpy.full((5, 33), 7), numpy.full((4, 6), 7), numpy.full(3, 7)
        numpy.add.at(rides, (slice(None), at[inside]), v[:, inside])
        columns = numpy.where(at < 0, -(-at // 9), at // 9)  # towards 0
        numpy.add.at(both, (columns[columns < 4], (line // 50)[columns < 4]), line[columns < 4])
        numpy.add.at(few, at[(at >= 0) & (at < 3)], line[(at >= 0) & (at < 3)])
        for name, expected in (("rides", rides), ("both", both), ("few", few), ("whole", v + 7)):
            numpy.testing.assert_array_equal(found[name], expected, name)

    def test_a_rank_and_a_group_place_elements_as_hard_voxels(self):
        for position in range(4):
            found = self.along({"points": ("f32[n, p <= 40, xyz] ragged", "row.points"), "rank": ("i64[n, p <= 40] ragged", "g.rank"),
                                "slot": ("i64[n, p <= 40] ragged", "g.slot"), "cells": ("f32[n, m <= 6, r, xyz] pad -1", "cells")},
                               lets="let side = i32(floor(row.points[xyz = 0] * 3.0))\n  let g = group(row.points, by = side, limit = 6)\n"
                               "  let none = map (c in g.count, r in 0 .. 4, xyz in 0 .. 3) { f32(0.0) }\n"
                               "  let cells = scatter(none, row.points, m = g.slot, r = g.rank, combine = first)", position=position)
            points, groups = found["points"], []
            for i, key in enumerate(numpy.floor(points[:, 0] * numpy.float32(3)).astype(int)):
                known = [k for k, _ in groups]
                if key not in known:
                    groups.append((key, []))
                    known.append(key)
                self.assertEqual(found["slot"][i], known.index(key))
                self.assertEqual(found["rank"][i], len(groups[known.index(key)][1]))
                groups[known.index(key)][1].append(points[i])
            expected = numpy.full((6, 4, 3), -1, numpy.float32)
            for m, (_, members) in enumerate(groups):
                expected[m] = 0
                expected[m, :len(members[:4])] = members[:4]
            numpy.testing.assert_array_equal(found["cells"], expected)

    def test_hard_voxels_are_the_first_points_of_the_first_cells(self):
        """As spconv's Point2VoxelCPU3d: floor((p - low) / size) in f32; a cell past the limit is left out, and so is a point past its cell's most."""
        low, size, cells = numpy.float32([0.1, -0.5, -1]), numpy.float32([0.3, 0.3, 0.8]), [4, 5, 2]
        for most, limit in ((2, 30), (3, 4), (40, 30)):
            for position in range(5):
                found = self.along({"points": ("f32[n, p <= 40, xyz] ragged", "row.points"), "held": ("f32[n, m <= 30, r, xyz] pad 0", "grid.points"),
                                    "count": ("i32[n, m <= 30] ragged", "grid.count"), "at": ("i32[n, m <= 30, zyx] ragged", "grid.at")},
                                   top="use points", lets="let grid = hard_voxels(rename(row.points, p, k), 100mm .. 1.3m, -0.5m .. 1m, -1m .. 600mm, "
                                   f"300mm, 800mm, {most}, {limit})", position=position)
                held = {}
                for point in found["points"]:
                    cell = numpy.floor((point - low) / size).astype(int)
                    if (cell >= 0).all() and (cell < cells).all() and (tuple(cell) in held or len(held) < limit):
                        held.setdefault(tuple(cell), []).append(point)
                numpy.testing.assert_array_equal(found["at"], numpy.array([cell[::-1] for cell in held]).reshape(-1, 3))
                numpy.testing.assert_array_equal(found["count"], [min(len(points), most) for points in held.values()])
                for number, points in enumerate(held.values()):
                    numpy.testing.assert_array_equal(found["held"][number, :len(points)], points[:most])
                    self.assertFalse(found["held"][number, len(points):].any())

    def test_what_does_not_exist_goes_nowhere(self):
        found = self.along({"v": ("u8[n, w]", "row.v[h = 0]"), "count": ("i32[n, m]", "scatter(start, ones, m = i32(some) / 64)")},
                           lets="let some = compact(row.v[h = 0], row.v[h = 0] > 100)\n  let ones = map (s in some) { i32(1) }\n"
                           "  let start = map (m in 0 .. 4) { i32(0) }")
        some = found["v"][found["v"] > 100]
        numpy.testing.assert_array_equal(found["count"], numpy.bincount(some // 64, minlength=4))

    def test_mistakes_at_their_line(self):
        def text(value):
            return ("pipeline p() {\n  for row in synthetic(9, x = f32[k = 9, c = 3], q = i32[k = 9], h = f16[k = 9])\n"
                    "  let base = map (m in 0 .. 4, c in 0 .. 3) { f32(0.0) }\n"
                    f"  batch 2 {{\n    output y: f32[n, m, c] = {value}\n  }}\n}}")
        self.refused(text("scatter(base, row.x)"), "test.pipe:6:30: error: `scatter` needs places along at least one axis",
                     "hint: `scatter(base, x, m = slot)`")
        self.refused(text("scatter(base, row.x, m = row.x)"), "places are whole numbers over one axis, and this is f32[k=9, c=3]")
        self.refused(text("scatter(base, row.x, z = row.q)"), "`z`")
        self.refused(text("scatter(base, row.x[c = 0], m = row.q)"), "the values have axis `k`, and those of the base that no place "
                     "tells: f32[m=4, c=3] and f32[k=9]")
        self.refused(text("scatter(base, row.x, m = row.q, combine = last)"), "the choices are sum min max first")
        self.refused(text("scatter(map (m in 0 .. 4) { true }, row.x[c = 0] > 0.0, m = row.q)"), "`scatter` does not combine bool",
                     "hint: `i32(...)` makes 0 and 1 of truth values")


class Filters(AlongTest):
    @staticmethod
    def direct(b, a, x):
        """Direct form II transposed, in f64, as scipy.signal.lfilter."""
        count = max(len(b), len(a))
        b, a = (numpy.array(list(side) + [0] * (count - len(side)), float) / a[0] for side in (b, a))
        z, y = [0.0] * count, []
        for value in x.astype(float):
            y.append(z[0] + b[0] * value if count > 1 else value * b[0])
            for j in range(1, count):
                z[j - 1] = (z[j] + value * b[j] if j + 1 < count else value * b[j]) - y[-1] * a[j]
        return numpy.array(y)

    def test_filters_of_any_order(self):
        sides = {"one": ([0.7], [2.0]), "fir": ([0.2, -0.3, 0.5, 0.1], [1.0]), "pole": ([1.0], [1.0, -0.97]),
                 "third": ([0.1, 0.2, 0.2, 0.1], [1.5, -0.9, 0.6, -0.2]), "more": ([0.3, 0.1], [1.0, 0.2, 0.1, -0.3, 0.05, 0.1])}
        outputs = {"x": ("f32[n, h, w]", "row.x")}
        for name, (b, a) in sides.items():
            outputs[name] = ("f32[n, h, w]", f"filter(row.x, w, {b}, {a})")
            outputs[f"{name}_exact"] = ("f64[n, h, w]", f"filter(f64(row.x), h, {b}, {a})")
        found = self.along(outputs)
        for name, (b, a) in sides.items():
            rows = numpy.stack([self.direct(b, a, line) for line in found["x"]])
            numpy.testing.assert_array_equal(found[name], rows.astype(numpy.float32))
            columns = numpy.stack([self.direct(b, a, line) for line in found["x"].T], 1)
            numpy.testing.assert_array_equal(found[f"{name}_exact"], columns)

    def test_numbers_may_be_drawn(self):
        found = self.along({"x": ("f32[n, w]", "row.x[h = 0]"), "f": ("f64[n]", "f"),
                            "y": ("f32[n, w]", "filter(row.x[h = 0], w, [1.0 - f], stack([1.0, -f], j))")},
                           lets="let f = draw uniform(0.5 .. 0.9)")
        f = float(found["f"])
        numpy.testing.assert_array_equal(found["y"], self.direct([1 - f], [1, -f], found["x"]).astype(numpy.float32))

    def test_mistakes_at_their_line(self):
        def text(value):
            return ("pipeline p() {\n  for row in synthetic(9, v = u8[t = 9], x = f32[t = 9], w = f32[t = 1 ..= 9])\n"
                    f"  batch 2 {{\n    output y: f32[n, t] = {value}\n  }}\n}}")
        self.refused(text("filter(row.v, t, [1.0], [1.0])"), "test.pipe:5:34: error: `filter` takes floats, and this is u8[t=9]",
                     "hint: `f32(...)` converts")
        self.refused(text("filter(row.x, t, 0.5, [1.0])"), "the numbers of a filter are floats over one axis, and this is")
        self.refused(text("filter(row.x, t, row.w, [1.0])"), "the order of a filter is known when compiling, and axis `t` differs from "
                     "sample to sample")


class Transforms(AlongTest):
    def test_fft_is_numpys_for_every_kind_of_length(self):
        lengths = (1, 2, 5, 8, 17, 30, 49, 64, 98, 131, 254, 256, 400)
        outputs = {"wave": ("f32[n, t]", "row.wave")}
        for length in lengths:
            outputs[f"s{length}"] = ("f32[n, freq, part]", f"fft(row.wave[t = 0 .. {length}], t)")
            outputs[f"d{length}"] = ("f64[n, freq, part]", f"fft(f64(row.wave[t = 0 .. {length}]), t)")
        found = self.along(outputs)
        for length in lengths:
            expected = numpy.fft.rfft(found["wave"][:length].astype(float))
            for kind, bound in (("s", 3e-7), ("d", 1e-15)):
                parts = found[f"{kind}{length}"].astype(float)
                difference = numpy.abs(parts[:, 0] + 1j * parts[:, 1] - expected).max()
                self.assertLess(difference, bound * max(1, numpy.abs(expected).max()), (kind, length))

    def test_a_front_end_of_speech(self):
        found = self.along({"wave": ("f32[n, t]", "row.wave"), "spec": ("f32[n, freq, t]", "spec")},
                           top="use signal", lets="let spec = row.wave |> windows(100, 50) |> hann |> spectrum |> power "
                           "|> mel(20, 20Hz .. 4kHz, 8kHz) |> log_clamped(0.000001)")
        frames = numpy.stack([found["wave"][i:i + 100].astype(float) for i in range(0, 301, 50)])
        window = 0.5 - 0.5 * numpy.cos(2 * numpy.pi * numpy.arange(100) / 100)
        power = numpy.abs(numpy.fft.rfft(frames * window)) ** 2
        def mel_of(f):
            return 2595 * numpy.log10(1 + f / 700)
        corners = 700 * (10 ** (numpy.linspace(mel_of(20), mel_of(4000), 22) / 2595) - 1)
        hertz = numpy.arange(51) * 80.0
        bank = numpy.stack([numpy.maximum(0, numpy.minimum((hertz - a) / (b - a), (c - hertz) / (c - b)))
                            for a, b, c in zip(corners, corners[1:], corners[2:])], axis=1)
        expected = numpy.log(numpy.maximum(power @ bank, 1e-6)).T
        numpy.testing.assert_allclose(found["spec"], expected, atol=2e-5)

    def test_a_length_is_known_when_compiling(self):
        self.refused("pipeline p() {\n  for row in synthetic(9, x = f32[t = 1 ..= 9])\n  batch 2 {\n"
                     "    output y: f32[n, freq, part] = fft(row.x, t)\n  }\n}", "test.pipe:5:47: error: the length of a transform is "
                     "known when compiling, and axis `t` differs from sample to sample")


class Contractions(AlongTest):
    def test_matrices_of_every_width_and_type(self):
        outputs = {"v": ("u8[n, h, w]", "row.v"), "x": ("f32[n, h, w]", "row.x")}
        for width in (1, 3, 8, 17):
            for kind in ("f32", "f64", "i32", "i64"):
                source = "row.x" if kind[0] == "f" else "row.v"
                outputs[f"{kind}_{width}"] = (f"{kind}[n, h, j]", f"contract({kind}({source}), map (i in index(row.x, w), j in 0 .. {width}) "
                                              f"{{ {kind}(i * 3 - j * j) }})")
        outputs["outer"] = ("f64[n, i, w]", "contract(f64(row.x), map (k in index(row.x, h), i in 0 .. 9) { f64(k - i) })")
        found = self.along(outputs)
        for name, (kind, _) in outputs.items():
            if "_" not in name:
                continue
            width = int(name.split("_")[1])
            source = found["x"] if kind[0] == "f" else found["v"]
            matrix = numpy.arange(33)[:, None] * 3 - numpy.arange(width)[None, :] ** 2
            numpy.testing.assert_allclose(found[name], source.astype(float) @ matrix, rtol=2e-6 if "f32" in kind else 1e-13,
                                          atol=1e-3 if "f32" in kind else 1e-10)
        numpy.testing.assert_allclose(found["outer"], (found["x"].astype(float).T @ (numpy.arange(5)[:, None] - numpy.arange(9))).T)


if __name__ == "__main__":
    main()
