# SPDX-License-Identifier: Apache-2.0
"""Every construct of the language means something: small pipelines through the compiler and the JIT.

Expected values are computed here, by hand or with NumPy.
"""
import math
import os
import platform
import re

import numpy

from pipelines import LanguageTest
from support import main


class Values(LanguageTest):
    def test_constants_units_and_order_of_declaration(self):
        found = self.scalars({"a": ("f64[n]", "both"), "b": ("i64[n]", "million"), "c": ("f64[n]", "half"),
                              "d": ("f64[n]", "turn"), "e": ("f64[n]", "hop / 1ms"), "f": ("f64[n]", "rate / 1Hz")},
                             top="const both = 2.0 * half\nconst half: f64 = 0.5\nconst million = 1_000_000\n"
                                 "const turn: angle = 90deg\nconst hop: duration = 10ms\n"
                                 "const rate: frequency = 16kHz")
        self.assertEqual([found[name] for name in "abcdef"], [1.0, 1_000_000, 0.5, 90.0, 10.0, 16000.0])

    def test_parameters_of_every_type(self):
        path = self.write("""
pipeline test(count: int = 3, small: u8 = 7, amount: f32 = 0.5, share: ratio = 25%, flag: bool = true,
              turn: angle = 3deg, hop: duration = 10ms, rate: frequency = 8kHz, size: length = 2mm,
              span: range = 1 .. 4, how: filter = bilinear) {
  for row in synthetic(10, label = 0 .. 7) order sequential
  batch 2 per rank last drop {
    output count: i64[n] = count + 1 + 0 * row.label
    output small: u8[n] = small
    output amount: f32[n] = amount
    output share: f64[n] = share
    output flag: i64[n] = if flag then 1 else 0
    output turn: f64[n] = turn / 1deg
    output hop: f64[n] = hop / 1ms
    output rate: f64[n] = rate / 1Hz
    output size: f64[n] = size / 1mm
    output span: i64[n] = span.high
  }
}""")
        def values(*settings):
            out = self.run_tool("sample", path, "--position", 0,
                                *[word for pair in settings for word in ("--set", pair)]).stdout
            return [float(value) for value in re.findall(r"^  output \w+: .* = (\S+)$", out, re.M)]
        self.assertEqual(values(), [4, 7, 0.5, 0.25, 1, 3, 10, 8000, 2, 4])
        self.assertEqual(values("count=10", "small=9", "amount=0.25", "share=50%", "flag=false", "turn=1deg",
                                "hop=1s", "rate=1Hz", "size=1cm", "span=2 .. 9"),
                         [11, 9, 0.25, 0.5, 0, 1, 1000, 1, 10, 9])

    def test_quantities_that_cancel(self):
        found = self.scalars({"a": ("f64[n]", "25ms * 16kHz"), "b": ("f64[n]", "6deg / 2deg"), "c": ("f64[n]", "50% * 3deg / 1deg"),
                              "d": ("f64[n]", "1s / 250ms"), "e": ("f64[n]", "abs(-3deg) / 1deg"),
                              "f": ("f64[n]", "7deg % 2deg / 1deg"), "g": ("f64[n]", "max(f64(row.x) * 0.0 * 5s + 3s over [h, w, c]) / 1s")})
        self.assertEqual([found[name] for name in "abcdefg"], [400, 3, 1.5, 4, 3, 1, 3])
        text = "pipeline p() {\n  for row in synthetic(9, label = 0 .. 3)\n  batch 1 { output a: f64[n] = %s }\n}"
        for value, said in (("25ms / 1Hz", "`/` of a duration and a frequency is no number"), ("3deg * 2deg", "`*` of an angle and an angle is no number"),
                            ("2mm * 1s", "`*` of a length and a duration is no number"), ("7ms % 2Hz", "`%` of two quantities with different units: a duration and a frequency"), ("round(2.6ms) / 1ms", "`round` takes a number, and this is a duration"),
                            ("sqrt(3deg)", "`sqrt` takes a number, and this is an angle"), ("sum(stack([3deg, 25ms], k) over [k])", "`stack` takes numbers, and one of these is an angle")):
            self.refused(text % value, said)
        for value in ("row.y + 5kHz", "2kHz - row.y", "row.y % 5ms", "5ms % row.y", "row.y < 5ms", "5ms == row.y", "max(row.y, 5deg)", "row.y in 1ms .. 5ms",
                      "row.y * 5ms + 3deg", "sum(row.y over [t]) + 5ms", "f(row.y, 3mm)"):
            self.refused("fn f(x: f32[t], d: length) -> f32[t] = x + d\npipeline p() {\n  for row in synthetic(9, y = f32[t = 9])\n"
                         f"  let a = {value}\n  batch 1 {{ output y: f32[n, t] = row.y }}\n}}", "of two quantities with different units: ")

    def test_units_fit_the_declared_types(self):
        """Each quantity, a share and a fraction as each type, of a constant, a let and a result, and in the sides of an `if`."""
        written = {"duration": "25ms", "frequency": "3Hz", "angle": "3deg", "length": "2mm", "ratio": "5%", "f64": "2.5"}
        names = {"duration": "a duration", "frequency": "a frequency", "angle": "an angle", "length": "a length"}
        text = ("%s\npipeline p() {\n  for row in synthetic(9, label = 0 .. 3)\n  %s\n"
                "  batch 1 { output a: i64[n] = if x == x then row.label else 0 }\n}")
        for declared in written:
            for kind, value in written.items():
                fits = kind == declared or {kind, declared} == {"ratio", "f64"}
                places = ((f"const x: {declared} = {value}", "let y = 1"), ("", f"let x: {declared} = {value}"),
                          (f"fn f() -> {declared} = {value}", "let x = f()"))
                for place in places:
                    if fits:
                        self.run_tool("check", self.write(text % place))
                    else:
                        self.refused(text % place, f"is declared as {declared}, but is {names.get(kind, 'a fraction')}")
                if kind in names and declared in names and not fits:
                    self.refused(text % ("", f"let x = if row.label > 1 then {value} else {written[declared]}"),
                                 "both sides of `if` must have one type", f"this is {names[kind]}")

    def test_arithmetic_comparisons_and_logic(self):
        found = self.scalars({"a": ("i64[n]", "7 / 2 * 2 + 7 % 2"), "b": ("i64[n]", "-7 / 2"),
                              "c": ("i64[n]", "if 3 in 1 ..= 3 and not (3 in 1 .. 3) then 1 else 0"),
                              "d": ("i64[n]", "if 1 == 2 or 2 >= 2 then 4 else 5"), "e": ("f64[n]", "1.0 / 0.0"),
                              "f": ("i64[n]", "i64(u8.clamp(300.7))")})
        self.assertEqual([found[name] for name in "abcdef"], [7, -3, 1, 4, numpy.inf, 255])

    def test_large_angles_have_a_sine_up_to_2_to_30(self):
        """In lanes: 32 angles on each side, at this machine's level and the lowest."""
        steps = 2.0 ** 25
        for type_, least in (("f32", 2.0 ** -24), ("f64", 2.0 ** -50)):
            text = (f"pipeline p() {{\n  for row in synthetic(1, label = 1 .. 2)\n"
                    f"  let x = map (i in 0 .. 64) {{ {type_}(i + row.label) * {type_}({steps}) }}\n  batch 1 {{\n"
                    + "".join(f"    output {name}: {type_}[n, i] = {name}(x)\n" for name in ("sin", "cos", "tan")) + "  }\n}")
            for level in [()] + [("--target", "x86-64-v2")] * (platform.machine() == "x86_64"):
                found = self.sample(text, 0, *level)
                angles = (numpy.arange(64) + 1) * steps
                known = angles <= 2.0 ** 30
                self.assertEqual(known.sum(), 32)
                for name in ("sin", "cos"):
                    exact = getattr(numpy, name)(angles[known])
                    self.assertTrue((numpy.abs(found[name][known] - exact) <= angles[known] * 2.0 ** -53 + least).all(), (name, type_))
                for name in ("sin", "cos", "tan"):
                    self.assertTrue(numpy.isnan(found[name][~known]).all(), (name, type_))
                    self.assertTrue(numpy.isfinite(found[name][known]).all(), (name, type_))

    def test_records_and_their_functions(self):
        found = self.scalars({"a": ("i64[n]", "both.one.x"), "b": ("i64[n]", "both.two"), "c": ("i64[n]", "swapped.x")},
                             lets="let both = { one = { x = 4, y = 5 }, two = 6 }\nlet swapped = swap(both.one)",
                             top="fn swap(p: { x: int, y: int }) -> { x: int, y: int } = { x = p.y, y = p.x }")
        self.assertEqual([found[name] for name in "abc"], [4, 6, 5])

    def test_a_field_that_a_function_does_not_know_rides_along(self):
        found = self.scalars({"image": ("u8[n, h, w, c]", "scene.image"), "other": ("u8[n, h, w, c]", "row.x"),
                              "label": ("i64[n]", "scene.label")},
                             lets="let scene = { image = row.x, label = 9 } |> flip(w)", top="use vision")
        numpy.testing.assert_array_equal(found["image"], found["other"][:, ::-1])
        self.assertEqual(found["label"], 9)


class NoElements(LanguageTest):
    """Axes without elements: what is delivered, and what needs one."""

    def test_a_column_without_elements_is_delivered(self):
        found = self.sample("""pipeline p() {
  for row in synthetic(5, x = u8[h = 0, w = 3])
  let y = map (p in row.x) { 255 - p }
  batch 2 {
    output y: u8[n, h, w] = y
    output sums: i64[n, w] = sum(i64(row.x) over [h])
    output wide: u8[n, h, w] = extend(row.x, h, 1, 1, fill = 9)
  }
}""")
        self.assertEqual(found["y"].shape, (0, 3))
        numpy.testing.assert_array_equal(found["sums"], [0, 0, 0])
        numpy.testing.assert_array_equal(found["wide"], numpy.full((2, 3), 9))

    def test_what_needs_an_element_is_a_bad_sample_where_there_is_none(self):
        for expression, why in (("extend(row.x, k, 1, 1, border = edge)", "`border = edge` repeats one"),
                                ("map (i in row.at) { row.x[k = i] }", "it is read at a place that is computed; .*"),
                                ("resample(row.x, k, 4)", "`resample` weighs some")):
            with self.subTest(expression=expression):
                path = self.write(f"""pipeline p() with on_error = fail {{
  for row in synthetic(40, x = u8[k = 0 .. 2], at = i64[t = 3])
  let y = {expression}
  batch 4 {{ output y: i64[n] = max(i64(y) over [{"t" if "at" in expression else "k"}]) }}
}}""")
                done = self.run_tool("run", path, "--batches", 10, expect=1)
                self.assertRegex(done.stderr, rf"axis `k` has no elements, and {why} \(.*test.pipe:4:\d+\)\n")

    def test_a_condition_of_the_sample_keeps_from_reading_nothing(self):
        text = """pipeline p() with on_error = fail {
  for row in synthetic(12, x = i64[k = 0 .. 2])
  let padded = if extent(row.x, k) > 0 then map (j in 0 .. 3) { row.x[k = j] } else map (j in 0 .. 3) { -1 }
  batch 4 {
    output y: i64[n, j] = padded
    output size: i64[n] = extent(row.x, k)
  }
}"""
        found = [self.sample(text, position) for position in range(12)]
        self.assertEqual({int(one["size"]) for one in found}, {0, 1})
        for one in found:
            self.assertEqual((one["y"] == -1).all(), one["size"] == 0)

    def test_a_drawn_amount_of_padding_that_is_negative_is_a_bad_sample(self):
        for amounts, bad in (("p, 0", True), ("0, p", True), ("p, p", True), ("max(p, 0), 0", False), ("0, extent(row.x, k) / 2 + max(p, 0)", False)):
            for least in (0, -2):
                with self.subTest(amounts=amounts, least=least):
                    path = self.write(f"""pipeline p() with on_error = fail {{
  for row in synthetic(8, x = u8[k = 4])
  let p = draw int({least} ..= {least})
  let y = extend(row.x, k, {amounts})
  batch 4 {{ output y: i64[n] = sum(i64(y) over [k]) }}
}}""")
                    done = self.run_tool("run", path, expect=1 if bad and least < 0 else 0)
                    if bad and least < 0:
                        self.assertRegex(done.stderr, r"an amount of padding is negative: -2 \(axis `k` has 4 elements\) \(.*test.pipe:5:\d+\)\n")


class Functions(LanguageTest):
    def test_generic_over_element_type_with_defaults_and_named_arguments(self):
        top = """fn scaled[E: (u8, i32, f32)](x: E[w], by: E = 2, plus: E = 1) -> E[w] = map (p in x) { p * by + plus }"""
        found = self.scalars({"a": ("i32[n, w]", "scaled(i32(v))"), "b": ("f32[n, w]", "scaled(f32(v), plus = 0.5)"),
                              "c": ("u8[n, w]", "v |> scaled(3)"), "v": ("u8[n, w]", "v")},
                             lets="let v = row.x[h = 0, c = 0]", top=top)
        v = found["v"].astype(int)
        numpy.testing.assert_array_equal(found["a"], v * 2 + 1)
        numpy.testing.assert_array_equal(found["b"], (v * 2 + 0.5).astype(numpy.float32))
        numpy.testing.assert_array_equal(found["c"], (v * 3 + 1).astype(numpy.uint8))

    def test_overloads_extents_axes_and_blocks(self):
        top = """
fn size(x: u8[h, w]) -> int = h * w
fn size(x: int) -> int = 1
fn backwards(x: u8[a], a: axis) -> u8[a] = reverse(x, a)
fn ends(x: u8[w]) -> i32[w] {
  let first = i32(x[w = 0])
  let last  = i32(x[w = w - 1])
  return map (p in x) { i32(p) + first + last }
}"""
        found = self.scalars({"a": ("i64[n]", "size(row.x)"), "b": ("i64[n]", "size(3)"),
                              "c": ("u8[n, w]", "backwards(v, w)"), "d": ("i32[n, w]", "ends(v)"), "v": ("u8[n, w]", "v")},
                             lets="let v = row.x[h = 0, c = 0]", top=top)
        self.assertEqual([found["a"], found["b"]], [24, 1])
        numpy.testing.assert_array_equal(found["c"], found["v"][::-1])
        v = found["v"].astype(int)
        numpy.testing.assert_array_equal(found["d"], v + v[0] + v[-1])

    def test_own_functions_come_before_the_librarys(self):
        found = self.scalars({"a": ("u8[n, h, w, c]", "invert(row.x)"), "x": ("u8[n, h, w, c]", "row.x")},
                             top="use vision\nfn invert(x: u8[]) -> u8[] = map (p in x) { p / 2 }")
        numpy.testing.assert_array_equal(found["a"], found["x"] // 2)


    def test_axes_that_ride_along_are_not_the_functions_own(self):
        """Whatever they are called: a library's axes are its own business."""
        calls = {"rotate90(row.x)": ("u8", "h, w, c"), "equalize(row.x)": ("u8", "h, w, c"), "autocontrast(row.x)": ("u8", "h, w, c"), "pillow_blur(row.x, 1.0)": ("u8", "h, w, c"),
                 "looped(row.y, 20)": ("f32", "t"), "stft(row.y, hann_window(8), 8, 4)": ("f32", "t, freq, part"), "speed(row.y, 1.25, 16kHz)": ("f32", "t"),
                 "lowpass(row.y, 16kHz, 1kHz)": ("f32", "t"), "istft(stft(row.y, hann_window(8), 8, 4), hann_window(8), 8, 4, 60)": ("f32", "t")}
        expected = {}
        for axis in ("other", "o", "turned", "k", "bin", "i"):
            outputs = "\n".join(f"  output y{i}: {kind}[n, {axis}, {axes}] = {call}" for i, (call, (kind, axes)) in enumerate(calls.items()))
            found = self.sample(f"""use vision, audio
pipeline test() {{
  for row in synthetic(4, x = u8[{axis} = 2, h = 4, w = 4, c = rgb], y = f32[{axis} = 2, t = 64])
  batch 2 {{
{outputs}
  }}
}}""")
            self.assertEqual(len(found), len(calls))
            expected = expected or found
            for name, values in found.items():
                numpy.testing.assert_array_equal(values, expected[name], f"{axis}: {name}")
        self.refused("""use audio
pipeline test() {
  for row in synthetic(4, y = f32[freq = 2, t = 64])
  batch 2 { output y: f32[n, t, freq, part] = stft(row.y, hann_window(8), 8, 4) }
}""", "`stft` makes an axis `freq`, and the argument has one of that name that rides along", "hint: give that one another name before: `rename(x, freq, other)`")

    def test_a_field_is_one_number_however_often_it_is_named(self):
        found = self.scalars({"y": ("u8[n, w]", "row.x[h = 0, c = 0, w = row.label .. row.label + 0 + 1]")}, lets="")
        self.assertEqual(found["y"].shape, (1,))

    def test_remainders_of_the_smallest_numbers(self):
        pairs = [(1.0, 2.0 ** -1023), (3.5e-323, 1e-323), (3.0, 1e-310), (-7.25, 5e-324), (1e-310, 3e-311), (2.0 ** 60, 1e-308), (5.5, 2.25)]
        found = self.scalars({f"r{i}": ("f64[n]", f"(zero + {a!r}) % (zero + {b!r})") for i, (a, b) in enumerate(pairs)}, lets="let zero = f64(row.label) * 0.0")
        self.assertEqual([float(found[f"r{i}"]) for i in range(len(pairs))], [math.fmod(a, b) for a, b in pairs])

    def test_a_quarter_turn_has_the_other_size(self):
        found = self.scalars({f"y{i}": (f"u8[n, h = {h}, w = {w}]", f"rotate(row.x[c = 0, h = 0 .. 3], {angle}, expand = true)")
                              for i, (angle, h, w) in enumerate((("90deg", 6, 3), ("-90deg", 6, 3), ("270deg", 6, 3), ("180deg", 3, 6)))} |
                             {"x": ("u8[n, h, w]", "row.x[c = 0, h = 0 .. 3]")}, top="use vision")
        for i, turns in enumerate((1, -1, 3, 2)):
            numpy.testing.assert_array_equal(found[f"y{i}"], numpy.rot90(found["x"], turns))

    def test_a_peer_of_what_was_made_of_a_peer(self):
        """A pass that moves what is computed behind the peer may not leave a peer's peer."""
        path = self.write("""pipeline test() {
  for row in synthetic(12, x = f32[h = 3, w = 4])
  let x = row.x
  batch 4 {
    let other = draw permutation(n)
    let second = draw permutation(n)
    output y: f32[n, h, w] = (x[n = other] * 2.0)[n = second]
    output z: f32[n, h, w] = reverse(x[n = other], h)[n = second]
  }
}""")
        def hashes(*arguments):
            out = os.path.join(self.folder, "hashes")
            self.run_tool("run", path, "--hashes", out, *arguments)
            with open(out) as file:
                text = file.read()
            os.remove(out)
            return text
        self.assertEqual(hashes(), hashes("--disable-pass", "sink-casts"))


class Tensors(LanguageTest):
    def test_map_over_several_with_index_and_capture(self):
        found = self.scalars({"a": ("i32[n, h, w]", "map (p in x, q in y, i in index(x, h)) { i32(p) * 2 + i32(q) + i32(i) + i32(t) }"),
                              "x": ("u8[n, h, w]", "x"), "y": ("u8[n, h, w]", "y"), "t": ("u8[n, w]", "t"),
                              "outer": ("i64[n, i, j]", "map (i in 0 .. 3, j in 1 ..= 4) { i * 10 + j }")},
                             lets="let x = row.x[c = 0]\nlet y = row.x[c = 1]\nlet t = row.x[h = 1, c = 2]")
        x, y, t = (found[name].astype(int) for name in "xyt")
        numpy.testing.assert_array_equal(found["a"], x * 2 + y + numpy.arange(4)[:, None] + t)
        numpy.testing.assert_array_equal(found["outer"], numpy.arange(3)[:, None] * 10 + numpy.arange(1, 5))

    def test_elements_become_several_numbers(self):
        """Tensors and records made of an element are further axes, and records of tensors; draws are those of one element."""
        top = """fn gradient(x: f32[h, w]) -> { two: f32[h, w, yx], strength: f32[h, w] } = window (v in x, h = -1 ..= 1, w = -1 ..= 1) {
  let dx = v[h = 0, w = 1] - v[h = 0, w = -1]
  let dy = v[h = 1, w = 0] - v[h = -1, w = 0]
  return { two = stack([dy, dx], yx), strength = dx * dx + dy * dy }
}"""
        lets = """let x = f32(row.x[c = 0])
  let noisy = map (p in x) { let d = draw uniform(0.0 .. 1.0) per [h, w]  return { plus = f64(p) + d, minus = f64(p) - d, label = row.label } }
  let grid = map (p in x[h = 0]) { map (a in 0 .. 2, b in 0 .. 3) { i32(p) * 10 + i32(2 * a + b) } }
  let inner = map (p in x[h = 0]) { map (k in 0 .. 3) { { s = p * f32(k), two = stack([p, p * f32(k)], j) } } }
  let drawn = map (p in x) { map (k in 0 .. 4) { f64(p) + draw uniform(0.0 .. 1.0) per [h, w, k] } }
  let alike = map (p in x) { map (k in 0 .. 4) { f64(p) + draw uniform(0.0 .. 1.0) per [k] } }
  let five = window (v in row.x[c = 1], w = -2 ..= 2) { rename(v[w = sort(v, w)], w, k) }
  let nested = map (p in x[h = 0]) { { a = p, deep = { two = stack([p, -p], k), bit = p > 100.0 } } }
  let g = gradient(x)"""
        found = self.scalars({"x": ("f32[n, h, w]", "x"), "plus": ("f64[n, h, w]", "noisy.plus"), "minus": ("f64[n, h, w]", "noisy.minus"),
                              "label": ("i64[n, h, w]", "noisy.label"), "grid": ("i32[n, w, a, b]", "grid"), "a": ("f32[n, w]", "nested.a"),
                              "two": ("f32[n, k, w]", "nested.deep.two"), "bit": ("bool[n, w]", "nested.deep.bit"),
                              "gradient": ("f32[n, h, w, yx]", "g.two"), "s": ("f32[n, w, k]", "inner.s"), "in_two": ("f32[n, w, k, j]", "inner.two"),
                              "drawn": ("f64[n, h, w, k]", "drawn"), "alike": ("f64[n, h, w, k]", "alike"),
                              "green": ("u8[n, h, w]", "row.x[c = 1]"), "five": ("u8[n, h, w, k]", "five"), "strength": ("f32[n, h, w]", "g.strength")}, lets=lets, top=top)
        x = found["x"]
        d = found["plus"] - x
        numpy.testing.assert_allclose(found["minus"], x - d, atol=1e-12)
        self.assertTrue(0 <= d.min() < d.max() < 1)
        numpy.testing.assert_array_equal(found["label"], numpy.full((4, 6), found["row_label"]))
        numpy.testing.assert_array_equal(found["grid"], 10 * x[0].astype(int)[:, None, None] + 2 * numpy.arange(2)[:, None] + numpy.arange(3))
        numpy.testing.assert_array_equal(found["two"], [x[0], -x[0]])
        numpy.testing.assert_array_equal(found["bit"], x[0] > 100)
        padded = numpy.pad(x, 1, "edge")
        dx, dy = padded[1:-1, 2:] - padded[1:-1, :-2], padded[2:, 1:-1] - padded[:-2, 1:-1]
        numpy.testing.assert_array_equal(found["gradient"], numpy.stack([dy, dx], -1))
        numpy.testing.assert_array_equal(found["strength"], dx * dx + dy * dy)
        times = x[0][:, None] * numpy.arange(3, dtype="f4")
        numpy.testing.assert_array_equal(found["s"], times)
        numpy.testing.assert_array_equal(found["in_two"], numpy.stack([x[0][:, None] + 0 * times, times], -1))
        drawn, alike = (found[name] - x[..., None] for name in ("drawn", "alike"))
        self.assertTrue(0 <= drawn.min() and drawn.max() < 1)
        self.assertEqual(len(numpy.unique(drawn.round(9))), drawn.size)
        numpy.testing.assert_allclose(alike, numpy.broadcast_to(alike[0, 0], alike.shape), atol=1e-12)
        self.assertEqual(len(numpy.unique(alike[0, 0])), 4)
        wide = numpy.pad(found["green"], ((0, 0), (2, 2)), "edge")
        numpy.testing.assert_array_equal(found["five"], numpy.sort(numpy.lib.stride_tricks.sliding_window_view(wide, 5, 1), -1))

    def test_lists_of_numbers_that_pixels_decide(self):
        found = self.scalars({"list": ("f64[n, k]", "three"), "x": ("u8[n, h, w, c]", "row.x"), "grid": ("i32[n, a, b]", "grid")},
                             lets="""let e = f64(row.x[h = 0, w = 0, c = 0]) - 0.5
  let three: f64[k] = [0.4375 * e, 2.0, f64(max(row.x[c = 1] over [h, w]))]
  let grid: i32[a, b] = [[i32(e), 7], [i32(row.label), sum(i32(row.x) over [h, w, c])]]""")
        x = found["x"].astype("f8")
        self.assertEqual(found["list"].tolist(), [0.4375 * (x[0, 0, 0] - 0.5), 2.0, x[..., 1].max()])
        self.assertEqual(found["grid"].tolist(), [[int(x[0, 0, 0] - 0.5), 7], [int(found["row_label"]), int(x.sum())]])

    def test_window_and_its_edges(self):
        found = self.scalars({"a": ("i32[n, h, w]", "window (v in x, h = -1 ..= 1, w = 0 ..= 1) { sum(i32(v) over [h, w]) - i32(v[h = 0, w = 0]) }"),
                              "x": ("u8[n, h, w]", "x")}, lets="let x = row.x[c = 0]")
        x = numpy.pad(found["x"].astype(int), ((1, 1), (0, 1)), "edge")
        expected = sum(x[i:i + 4, j:j + 6] for i in range(3) for j in range(2)) - x[1:5, 0:6]
        numpy.testing.assert_array_equal(found["a"], expected)

    def test_reductions(self):
        kinds = {"sum": "i64", "min": "u8", "max": "u8"}
        outputs = {kind: (f"{element}[n, c]", f"{kind}({'i64(row.x)' if kind == 'sum' else 'row.x'} over [h, w])")
                   for kind, element in kinds.items()}
        outputs |= {"any": ("bool[n, c]", "any(row.x > u8(250) over [h, w])"), "all": ("bool[n, c]", "all(row.x > u8(1) over [h, w])"),
                    "count": ("i64[n, c]", "count(row.x > u8(100) over [h, w])"),
                    "argmax": ("i64[n, h, c]", "argmax(row.x over [w])"), "argmin": ("i64[n, h, c]", "argmin(row.x over [w])"),
                    "x": ("u8[n, h, w, c]", "row.x")}
        found = self.scalars(outputs)
        x = found["x"]
        expected = {"sum": x.astype(int).sum((0, 1)), "min": x.min((0, 1)), "max": x.max((0, 1)),
                    "any": (x > 250).any((0, 1)), "all": (x > 1).all((0, 1)), "count": (x > 100).sum((0, 1)),
                    "argmax": x.argmax(1), "argmin": x.argmin(1)}
        for name, value in expected.items():
            with self.subTest(reduction=name):
                numpy.testing.assert_array_equal(found[name], value)

    def test_minima_of_storage_types_keep_their_type(self):
        top = "fn keep[E: (f16, bf16)](x: E[h, w, c]) -> E[c] = max(x over [h, w])"
        outputs = {f"{name}{kind}": (f"f32[n, {axes}]", text.replace("X", f"{kind}(row.x)"))
                   for kind in ("f16", "bf16") for name, axes, text in (
                       ("most", "c", "f32(keep(X))"), ("lower", "h, w, c", "X - min(X over [h])"), ("sum", "c", "sum(X over [h, w])"), ("met", "c", "max(X over [h, w]) + sum(X over [h, w])"),
                       ("pool", "h, w, c", "f32(window (v in X, h = -1 ..= 1) { least(min(v over [h])) })"))}
        top += "\nfn least[E: (f16, bf16)](x: E) -> E = x"
        found = self.scalars({**outputs, "x": ("u8[n, h, w, c]", "row.x")}, top=top)
        x = found["x"].astype(numpy.float32)
        for kind in ("f16", "bf16"):
            numpy.testing.assert_array_equal(found["most" + kind], x.max((0, 1)))
            numpy.testing.assert_array_equal(found["lower" + kind], x - x.min(0))
            numpy.testing.assert_array_equal(found["sum" + kind], x.sum((0, 1)))
            numpy.testing.assert_array_equal(found["met" + kind], x.max((0, 1)) + x.sum((0, 1)))
            edge = numpy.pad(x, ((1, 1), (0, 0), (0, 0)), "edge")
            numpy.testing.assert_array_equal(found["pool" + kind], numpy.minimum(numpy.minimum(edge[:-2], edge[1:-1]), edge[2:]))

    def test_softmax(self):
        found = self.scalars({
            "rows": ("f32[n, h, w, c]", "softmax(f32(row.x) * 0.1 over [w])"), "bytes": ("f32[n, h, w, c]", "softmax(row.x over [w, c])"),
            "wide": ("f64[n, h, w, c]", "softmax(f64(row.x) * 100.0 over [h, w, c])"), "x": ("u8[n, h, w, c]", "row.x")})
        for name, x, axes in (("rows", found["x"].astype("f4") * numpy.float32(0.1), (1,)), ("bytes", found["x"].astype("f4"), (1, 2)),
                              ("wide", found["x"].astype("f8") * 100.0, (0, 1, 2))):
            e = numpy.exp(x - x.max(axes, keepdims=True))
            numpy.testing.assert_allclose(found[name], e / e.sum(axes, keepdims=True), 1e-5)

    def test_what_is_no_number(self):
        values = [0.0, -0.0, 1.5, float("nan"), float("inf"), -float("inf"), -65504.0]
        for kind in ("f16", "bf16", "f32", "f64"):
            lets = f"let x: {kind}[k] = [0.0, -0.0, 1.5, {kind}(nan), inf, -inf, -65504.0]"
            found = self.scalars({name: ("bool[n, k]", f"{name}(x)") for name in ("isnan", "isinf", "isfinite")}, lets=lets)
            for name, one in found.items():
                if name != "row_label":
                    numpy.testing.assert_array_equal(one.astype(bool), getattr(numpy, name)(values), f"{name} of {kind}")
        found = self.scalars({name: ("bool[n, k]", f"{name}(x)") for name in ("isnan", "isinf", "isfinite")}, lets="let x: i32[k] = [0, -7]")
        self.assertEqual([found[name].tolist() for name in ("isnan", "isinf", "isfinite")], [[0, 0], [0, 0], [1, 1]])

    def test_roll_of_rows_without_elements(self):
        for position in range(8):
            found = self.sample("""pipeline p() {
  for row in synthetic(8, y = f32[k = 0 ..= 3])
  batch 2 { output y: f32[n, k <= 3] ragged = row.y  output r: f32[n, k <= 3] ragged = roll(row.y, k, 2) }
}""", position)
            numpy.testing.assert_array_equal(found["r"], numpy.roll(found["y"], 2))

    def test_roll(self):
        steps = (0, 1, 5, 6, 7, -1, -6, -13, 100)
        found = self.scalars({"x": ("u8[n, h, w, c]", "row.x"), "drawn": ("u8[n, h, w, c]", "roll(row.x, w, by)"), "by": ("i64[n]", "by"),
                              **{f"r{i}": ("u8[n, h, w, c]", f"roll(roll(row.x, w, {by}), h, 1)") for i, by in enumerate(steps)}},
                             lets="let by = draw int(-20 .. 20)")
        for i, by in enumerate(steps):
            numpy.testing.assert_array_equal(found[f"r{i}"], numpy.roll(found["x"], (1, by), (0, 1)))
        numpy.testing.assert_array_equal(found["drawn"], numpy.roll(found["x"], found["by"], 1))

    def test_means_of_i64_do_not_wrap(self):
        times = [1_700_000_000_000_000_000 + i for i in range(6)]
        ends = [-2 ** 63, -2 ** 63, 2 ** 63 - 1, -2 ** 63, 5, -2 ** 63]
        top = f"const times: i64[k] = {times}\nconst ends: i64[k] = {[max(value, -2 ** 63 + 1) for value in ends]}\nconst few: i64[k] = [-7, 2, 2]"
        found = self.scalars({name: ("f32[n]", f"mean({name} over [k])") for name in ("times", "ends", "few")}, top=top)
        exact = lambda values: numpy.float32(float(sum(values)) / len(values))
        self.assertEqual([found[name] for name in ("times", "ends", "few")], [exact(times), exact(ends), exact([-7, 2, 2])])

    def test_slices_and_operators_by_axis_name(self):
        found = self.scalars({"a": ("u8[n, h, w]", "row.x[c = 1, h = 1 .. 3, w = 2 ..= 4]"),
                              "b": ("i32[n, w, h]", "i32(row.x[c = 0]) - i32(row.x[c = 0, h = 0])"), "x": ("u8[n, h, w, c]", "row.x")})
        x = found["x"].astype(int)
        numpy.testing.assert_array_equal(found["a"], x[1:3, 2:5, 1])
        numpy.testing.assert_array_equal(found["b"], (x[..., 0] - x[0, :, 0]).T)

    def test_what_is_computed_twice_is_one_number(self):
        """The extent of a slice whose begin is written twice is known."""
        for position in range(4):
            found = self.scalars({"a": ("u8[n, h = 2, w, c]", "row.x[h = row.label % 3 .. row.label % 3 + 2]"),
                                  "b": ("u8[n, h = 1, w, c]", "row.x[h = int(f64(row.label) / 2.0) ..= int(f64(row.label) / 2.0)]"),
                                  "x": ("u8[n, h, w, c]", "row.x")}, position=position)
            at, half = int(found["row_label"]) % 3, int(found["row_label"]) // 2
            numpy.testing.assert_array_equal(found["a"], found["x"][at:at + 2])
            numpy.testing.assert_array_equal(found["b"], found["x"][half:half + 1])

    def test_sums_of_negative_zeros_begin_with_0(self):
        text = """
pipeline p() {
  for row in synthetic(9, x = TYPE[t = 7, k = 9, c = 3])
  let x = map (p in row.x) { (p * p + 1.0) * -0.0 }
  batch 1 per rank last drop {
    output channels: TYPE[n, t, c] = sum(x over [k])
    output rows: TYPE[n, t] = sum(x over [k, c])
    output few: TYPE[n, t, k] = sum(x over [c])
  }
}"""
        for element in ("f32", "f64"):
            for target in ("x86-64-v2", "native"):
                found = self.sample(text.replace("TYPE", element), 0, *(["--target", target] if target != "native" else []))
                for name in ("channels", "rows", "few"):
                    self.assertFalse(numpy.signbit(found[name]).any(), f"{name}, {element}, {target}")

    def test_a_list_is_an_output_of_the_declared_type(self):
        found = self.scalars({"flat": ("f32[n, z]", "[1, 2.5, 3]"), "deep": ("u8[n, a, b]", "[[1, 2], [3, 4]]"),
                              "padded": ("i64[n, z <= 4] pad -1", "[7, row.label]")}, position=3)
        self.assertEqual(found["flat"].tolist(), [1.0, 2.5, 3.0])
        self.assertEqual(found["deep"].tolist(), [[1, 2], [3, 4]])
        self.assertEqual(found["padded"].tolist(), [7, found["row_label"].item(), -1, -1])

        def wrong(output, *parts):
            self.refused("pipeline p() {\n  for row in synthetic(9, f = f32[w = 3], b = bool[w = 3], k = 0 .. 4)\n  batch 3 {\n"
                         "    output k: i64[n] = row.k\n    output " + output + "\n  }\n}\n", *parts)
        wrong("y: u8[n, z] = [1, 256]", "error: 256 in this list is no u8")
        wrong("y: f32[n, z] = [1, row.f]", "error: an element of this list is f32[w=3], and no number", "hint: `stack([...], axis)` joins")
        wrong("y: f32[n, z] = [1, true]", "error: an element of this list is bool, and its type says f32")
        wrong("y: f32[n] = [1, 2]", "error: this list is 1 deep, and its type has 0 axes")
        wrong("y: bool[n] = max(row.b over [w])", "hint: `any` is true where one of them is")
        wrong("y: bool[n] = min(row.b over [w])", "hint: `all` is true where each of them is")

    def test_a_list_becomes_a_tensor_by_its_type(self):
        found = self.scalars({"a": ("i32[n, h, w]", "weights"), "b": ("i32[n, w]", "sum(weights over [h])")},
                             top="const weights: i32[h, w] = [[1, 2, 3], [4, 5, 6]]")
        numpy.testing.assert_array_equal(found["a"], [[1, 2, 3], [4, 5, 6]])
        numpy.testing.assert_array_equal(found["b"], [5, 7, 9])


class Control(LanguageTest):
    def test_if_chooses_numbers_and_tensors(self):
        text = {"a": ("i64[n]", "if row.label >= 3 then 10 else if row.label == 0 then 20 else 30"),
                "b": ("u8[n, h, w, c]", "if row.label >= 3 then row.x else reverse(row.x, w)"),
                "x": ("u8[n, h, w, c]", "row.x"), "label": ("i64[n]", "row.label")}
        labels = set()
        for position in range(12):
            found = self.scalars(text, position=position)
            label = int(found["label"])
            labels.add(label >= 3)
            self.assertEqual(found["a"], 10 if label >= 3 else 20 if label == 0 else 30)
            numpy.testing.assert_array_equal(found["b"], found["x"] if label >= 3 else found["x"][:, ::-1])
        self.assertEqual(labels, {True, False})

    def test_if_chooses_the_fields_of_records(self):
        """By a number that pixels decide, and element by element."""
        def chosen(condition, field):
            return (f"(if {condition} then {{ low = f32(row.x) * 0.5, inside = {{ high = f32(row.x) + 1.0, count = 3 }} }} "
                    f"else {{ low = f32(row.x), inside = {{ high = f32(row.x) * 2.0, count = 4 }} }}).{field}")
        whole = "mean(f32(row.x) over [h, w, c]) > 120.0"
        text = {"low": ("f32[n, h, w, c]", chosen(whole, "low")), "high": ("f32[n, h, w, c]", chosen("row.x > 120", "inside.high")),
                "count": ("i64[n]", chosen(whole, "inside.count")), "x": ("u8[n, h, w, c]", "row.x")}
        met = set()
        for position in range(12):
            found = self.scalars(text, position=position)
            x = found["x"].astype(numpy.float32)
            is_high = bool(x.mean(dtype=numpy.float64) > 120)
            met.add(is_high)
            numpy.testing.assert_array_equal(found["low"], x * 0.5 if is_high else x)
            numpy.testing.assert_array_equal(found["high"], numpy.where(x > 120, x + 1, x * 2))
            self.assertEqual(found["count"], 3 if is_high else 4)
        self.assertEqual(met, {True, False})

    def test_an_if_has_one_type_however_early_it_is_decided(self):
        """Each pair of sides, under each operator, with a condition that is known when compiling and with one that is not."""
        whole, sides = ("7", "200"), ("row.label", "q", "f32(q)", "7", "200", "0.5", "-3")
        outputs, number = {"cut": ("u8[n, h, w, c]", "row.x[w = 0 .. depth]")}, 0 # which makes `depth` known
        for one in sides:
            for other in sides:
                if one == other or "q" in (one, other) and not {one, other} <= {"q", *whole} or "row.label" in (one, other) and "f32(q)" in (one, other):
                    continue
                for rest in ("/ 2", "* 100"):
                    for name, condition in (("early", "depth > 2"), ("late", "level > 2"), ("early_not", "depth > 9"), ("late_not", "level > 9")):
                        body = f"map (q in row.x[c = 0, h = 0]) {{ f64((if {condition} then {one} else {other}) {rest}) }}"
                        outputs[f"{name}{number}"] = ("f64[n, w]", body)
                    number += 1
        found = self.scalars(outputs, settings=("depth: int = 5", "level: int = 5"), position=3)
        for i in range(number):
            for kind in ("", "_not"):
                numpy.testing.assert_array_equal(found[f"early{kind}{i}"], found[f"late{kind}{i}"], outputs[f"late{kind}{i}"][1])
        self.assertGreater(number, 20)

    def test_if_between_a_computed_number_and_a_plain_one(self):
        top = ("fn first(x: u8[h, w, c]) -> f32[] = f32(x[h = 0, w = 0, c = 0])\n"
               "fn half(x: f32[]) -> f32[] = 0.5 * x")
        for position in range(6):
            found = self.scalars({"a": ("f32[n]", "if row.label > 3 then first(row.x) else -1.0"),
                                  "b": ("f32[n]", "if row.label > 3 then f32(7) else first(row.x)"),
                                  "c": ("bool[n]", "if row.label > 3 then any(row.x > 250 over [h, w, c]) else false"),
                                  "d": ("i64[n]", "if row.label > 3 then argmax(row.x[h = 0, c = 0] over [w]) else -1"),
                                  "e": ("f32[n]", "first(row.x) |> half if row.label > 3"),
                                  "f": ("f32[n]", "f32(3) |> choose { 1 => identity, 1 => first_of(row.x) }"),
                                  "g": ("f32[n, w]", "if row.label > 3 then f32(row.x[h = 0, c = 0]) else map (p in row.x[h = 0, c = 0]) { if p > 9 then 1.0 else 0.5 }"),
                                  "h": ("u8[n]", "if row.label > 3 then row.x[h = 0, w = 0, c = 0] else 7"),
                                  "x": ("u8[n, h, w, c]", "row.x")},
                                 top=top + "\nfn first_of(y: f32, x: u8[h, w, c]) -> f32[] = first(x)", position=position)
            x, is_computed = found["x"], found["row_label"] > 3
            self.assertEqual(found["a"], x[0, 0, 0] if is_computed else -1)
            self.assertEqual(found["b"], 7 if is_computed else x[0, 0, 0])
            self.assertEqual(found["c"], is_computed and (x > 250).any())
            self.assertEqual(found["d"], x[0, :, 0].argmax() if is_computed else -1)
            self.assertEqual(found["e"], x[0, 0, 0] / (2 if is_computed else 1))
            self.assertIn(found["f"], (3, x[0, 0, 0]))
            numpy.testing.assert_array_equal(found["g"], x[0, :, 0] if is_computed else numpy.where(x[0, :, 0] > 9, 1, 0.5))
            self.assertEqual(found["h"], x[0, 0, 0] if is_computed else 7)
        self.refused("pipeline p() {\n  for row in synthetic(9, x = u8[h = 4], l = 0 .. 9)\n"
                     "  batch 1 per rank last drop { output x: i64[n] = if row.l > 3 then row.x[h = 0] else 300 }\n}",
                     "both sides of `if` must have one type", "this is u8", "this is int")

    def test_a_parameter_that_takes_a_word_is_compared_with_one(self):
        top = "fn is_nearest(how: interpolation) -> int = if how == nearest then 1 else if how != cubic then 2 else 3"
        calls = {name: ("i64[n]", f"is_nearest({name})") for name in ("nearest", "linear", "cubic")}
        found = self.scalars(calls, top=top)
        self.assertEqual([found[name] for name in calls], [1, 2, 3])
        self.refused("pipeline p(how: filter = box) {\n  for row in synthetic(9, x = u8[h = 4])\n"
                     "  batch 1 per rank last drop { output x: i64[n] = if how == nowhere then 1 else 2 }\n}",
                     "unknown name `nowhere`")

    def test_stages_groups_and_trailing_if(self):
        found = self.scalars({"a": ("u8[n, h, w, c]", "row.x |> { flip(w) |> invert } if row.label < 100 |> flip(h) if row.label > 100"),
                              "b": ("u8[n, h, w, c]", "row.x |> invert on cpu"), "c": ("u8[n]", "300 |> u8.clamp"), "x": ("u8[n, h, w, c]", "row.x")},
                             top="use vision")
        numpy.testing.assert_array_equal(found["a"], 255 - found["x"][:, ::-1])
        numpy.testing.assert_array_equal(found["b"], 255 - found["x"])
        self.assertEqual(found["c"], 255)

    def test_choose_by_weight(self):
        seen = {}
        for position in range(60):
            found = self.scalars({"a": ("i64[n]", "0 |> choose { 3 => plus(1), 1 => plus(2), 0 => plus(4) }")},
                                 top="fn plus(x: int, by: int) -> int = x + by", position=position)
            seen[int(found["a"])] = seen.get(int(found["a"]), 0) + 1
        self.assertEqual(seen.keys(), {1, 2})
        self.assertGreater(seen[1], seen[2])

    def test_ranges_of_degrees_are_numbers_or_angles(self):
        def of(turn, shear):
            return self.sample(f"""use vision
pipeline test() {{
  for row in synthetic(100, x = u8[h = 16, w = 16], label = 0 .. 7) order sequential
  let a = row.x |> random_rotation({turn})
  let b = row.x |> random_affine({turn}, across = 0.2, shear_x = {shear})
  batch 5 per rank last drop {{
    output a: u8[n, h, w] = a
    output b: u8[n, h, w] = b
    output x: u8[n, h, w] = row.x
  }}
}}""", 3)
        numbers, angles = of("-40.0 .. -20.0", "10.0 .. 20.0"), of("-40deg .. -20deg", "10deg .. 20deg")
        for name in "ab":
            numpy.testing.assert_array_equal(numbers[name], angles[name])
            self.assertTrue((numbers[name] != numbers["x"]).any())

    def test_repeat_draws_anew_each_time(self):
        found = self.scalars({"a": ("f64[n]", "0.0 |> repeat (3) { plus(draw uniform(1.0 .. 2.0)) }"),
                              "b": ("i64[n]", "1 |> repeat (4) { twice }"), "c": ("i64[n]", "1 |> repeat (0) { twice }")},
                             top="fn plus(x: f64, by: f64) -> f64 = x + by\nfn twice(x: int) -> int = x * 2")
        self.assertTrue(3 <= found["a"] < 6)
        self.assertEqual([found["b"], found["c"]], [16, 1])

    def test_repeat_of_tensors(self):
        found = self.scalars({"a": ("u8[n, h, w, c]", "row.x |> repeat (3) { flip(w) }"), "x": ("u8[n, h, w, c]", "row.x")},
                             top="use vision")
        numpy.testing.assert_array_equal(found["a"], found["x"][:, ::-1])

    def test_repeat_of_what_changes_the_order_of_axes_or_loses_a_bound(self):
        stages = ["gaussian_blur(3, 1.0)", "rotate(10deg)", "shear(w, 0.3)", "affine(20deg, 1, 0, 1.1, 3deg)"]
        small = "row.x[h = 0 .. 2 + row.label % 3, w = 0 .. 3]"
        texts = {f"{kind}{at}{which}": ("u8[n, h <= 4, w, c] pad 0" if which == "s" else "u8[n, h, w, c]", f"{value} |> {chain}")
                 for at, stage in enumerate(stages) for which, value in (("s", small), ("x", "row.x"))
                 for kind, chain in (("a", f"repeat (2) {{ {stage} }}"), ("b", f"{stage} |> {stage}"))}
        turns = {"t": ("u8[n, h, w, c]", "row.x[w = 0 .. 4] |> repeat (4) { rotate90 }"), "x": ("u8[n, h, w, c]", "row.x[w = 0 .. 4]")}
        for position in range(3):
            found = self.scalars({**texts, **turns}, top="use vision", position=position)
            for name in texts:
                if name[0] == "a":
                    numpy.testing.assert_array_equal(found[name], found["b" + name[1:]], name)
            numpy.testing.assert_array_equal(found["t"], found["x"])
        bounded = """use vision
pipeline p() {
  for row in synthetic(9, x = u8[h = 1 ..= 9, w = 8, c = rgb])
  batch 3 {
    output a: u8[n, h <= 9, w, c] pad 0 = row.x |> repeat (2) { rotate(10deg) }
    output b: u8[n, h <= 9, w, c] pad 0 = row.x |> rotate(10deg) |> rotate(10deg)
  }
}"""
        for position in range(3):
            found = self.sample(bounded, position)
            numpy.testing.assert_array_equal(found["a"], found["b"])
        self.refused("pipeline p() {\n  for row in synthetic(9, x = u8[h = 1 ..= 9])\n"
                     "  batch 3 { output x: u8[n, h <= 9] pad 0 = row.x |> repeat (2) { shorter } }\n}\n"
                     "fn shorter(x: u8[h]) -> u8[h] = x[h = 0 .. (h + 1) / 2]",
                     "`repeat` must keep the type of its input, and changes it", "axis `h` has another extent after it")

    def test_repeat_of_choices(self):
        text = {"a": ("u8[n, h, w, c]", "row.x |> repeat (2) { choose { 1 => box_blur, 1 => invert } }"), "x": ("u8[n, h, w, c]", "row.x")}
        for position in range(4):
            self.assertEqual(self.scalars(text, top="use vision", position=position)["a"].shape, (4, 6, 3))

    def test_each_stacks_views_with_draws_of_their_own(self):
        found = self.scalars({"a": ("f64[n, v]", "each (v in 0 .. 4) { draw uniform(0.0 .. 1.0) }"),
                              "b": ("i64[n, v, w]", "each (v in 2 ..= 3) { each (w in 0 .. 3) { v * 10 + w } }"),
                              "c": ("u8[n, v, h, w, c]", "each (v in 0 .. 2) { if v == 0 then row.x else reverse(row.x, h) }"),
                              "x": ("u8[n, h, w, c]", "row.x")})
        self.assertEqual(len(set(found["a"])), 4)
        numpy.testing.assert_array_equal(found["b"], [[20, 21, 22], [30, 31, 32]])
        numpy.testing.assert_array_equal(found["c"], [found["x"], found["x"][::-1]])

    def test_search_gives_the_first_accepted_try_or_the_fallback(self):
        for position in range(20):
            found = self.scalars({"a": ("f64[n]", "search (50) { let u = draw uniform(0.0 .. 1.0) accept u when u > 0.8 } else -1.0"),
                                  "b": ("i64[n]", "search (3) { let u = draw int(0 .. 10) accept u when u > 100 } else 77")},
                                 position=position)
            self.assertTrue(0.8 < found["a"] < 1 or found["a"] == -1)
            self.assertEqual(found["b"], 77)


class Draws(LanguageTest):
    def test_kinds_and_scopes(self):
        drawn = {"u": "draw uniform(2.0 .. 3.0)", "i": "draw int(5 ..= 6)", "normal": "draw normal(10.0, 0.01)",
                 "beta": "draw beta(2.0, 2.0)", "chance": "if chance(1.0) then 1 else 0",
                 "never": "if chance(0.0) then 1 else 0", "bits": "draw bits", "exp": "draw exponential(1.0)"}
        kinds = {name: "i64[n]" if name in ("i", "chance", "never", "bits") else "f64[n]" for name in drawn}
        outputs = {**{name: (kind, f"my_{name}") for name, kind in kinds.items()}, "lam": ("f64[n]", "lam"),
                   "mine": ("f64[n]", "mine"), "noise": ("f32[n, h, w, c]", "noise")}
        lets = "\n".join(f"let my_{name} = {text}" for name, text in drawn.items())
        lets += "\nlet noise = map (p in row.x) { f32(draw uniform(0.0 .. 1.0) per [h, w]) }"
        batch = "let lam = draw uniform(0.0 .. 1.0)\nlet mine = draw uniform(0.0 .. 1.0) per [n]"
        a, b = (self.scalars(outputs, lets=lets, batch=batch, position=p) for p in (0, 1))
        self.assertTrue(2 <= a["u"] < 3 and a["i"] in (5, 6) and abs(a["normal"] - 10) < 0.1 and 0 < a["beta"] < 1 and a["exp"] > 0)
        self.assertEqual([a["chance"], a["never"]], [1, 0])
        self.assertNotEqual(a["u"], b["u"])
        self.assertEqual(a["lam"], b["lam"])  # one per batch; both samples are in the first
        self.assertNotEqual(a["mine"], b["mine"])
        self.assertEqual(len(numpy.unique(a["noise"][..., 0])), 24)
        numpy.testing.assert_array_equal(a["noise"][..., 0], a["noise"][..., 2])  # one per pixel

    def test_a_number_without_a_meaning_makes_a_bad_sample(self):
        for value, parameter, wrong, message in (
                ("if chance(p) then 1.0 else 0.0", "f64 = 0.5", 1.5, "a probability is 0 to 1, and this is 1.5"),
                ("draw normal(0.0, p)", "f64 = 0.5", -0.1, "a standard deviation is 0 or more, and this is -0.1"),
                ("draw log_uniform(p .. 3.0)", "f64 = 0.5", 1e300,
                 r"this range ends before it starts, and this is 1e\+300 \.\. 3"),
                ("f64(check(p, p < 9.0, \"too many\"))", "f32 = 0.0", 16777.217, "too many, and this is 16777.217"),
                ("check(p, p < 9ms, \"too long\") / 1s", "duration = 1ms", "25ms", "too long, and this is 0.025s"),
                ("f64(check(p, p < 9, \"too many\"))", "u8 = 0", 200, "too many, and this is 200"),
                ("f64(check(p, p < 9, \"too many\"))", "int = 0", 9, "too many, and this is 9")):
            path = self.write(f"pipeline test(p: {parameter}) with on_error = fail {{\n"
                              "  for row in synthetic(9, label = 0 .. 9)\n"
                              f"  batch 2 {{ output x: f64[n] = {value}\n    output label: i64[n] = row.label }}\n}}")
            self.run_tool("run", path)
            done = self.run_tool("run", path, "--set", f"p={wrong}", expect=1)
            self.assertRegex(done.stderr, rf"{message} \(.*:\d+:\d+\)")

    def test_adding_an_unrelated_draw_changes_no_other(self):
        text = {"a": ("f64[n]", "draw uniform(0.0 .. 1.0)")}
        more = {"b": ("f64[n]", "draw normal"), **text}
        self.assertEqual(self.scalars(text)["a"], self.scalars(more)["a"])


class Tables(LanguageTest):
    def pipeline(self, options="", order="order sequential", lets="", table="let table = synthetic(20, label = 0 .. 1000)",
                 batch="batch 4 per rank last drop", outputs="output label: i64[n] = row.label"):
        return f"pipeline test(count: int = 4) {options} {{\n{table}\nfor row in table {order}\n{lets}\n{batch} {{ {outputs} }}\n}}"

    def hashes(self, text, *more):
        path, target = self.write(text), os.path.join(self.folder, "hashes")
        if os.path.exists(target):
            os.remove(target)
        self.run_tool("run", path, "--hashes", target, *more)
        with open(target) as file:
            return [line.split() for line in file]

    def test_order_and_seed(self):
        labels = [int(self.sample(self.pipeline(), position)["label"]) for position in range(4)]
        self.assertEqual(labels, [int(self.sample(self.pipeline(), position)["label"]) for position in range(4)])
        shuffled = lambda options: [entry[2] for entry in self.hashes(self.pipeline(options, "order shuffled"))]
        plain = [entry[2] for entry in self.hashes(self.pipeline())]
        self.assertEqual(sorted(shuffled("")), sorted(plain))
        self.assertNotEqual(shuffled(""), plain)
        self.assertEqual(shuffled("with seed = 0"), shuffled(""))
        self.assertNotEqual(shuffled("with seed = 1"), shuffled(""))

    def test_pick_reads_another_row(self):
        rows = {int(self.sample(self.pipeline(), p)["label"]) for p in range(20)}
        text = self.pipeline(lets="let other = pick(table, draw int(0 .. table.length))",
                             outputs="output label: i64[n] = row.label\noutput other: i64[n] = other.label")
        others = [int(self.sample(text, p)["other"]) for p in range(8)]
        self.assertGreater(len(set(others)), 2)
        self.assertTrue(set(others) <= rows)

    def test_the_last_batch_and_computed_batch_sizes(self):
        count = lambda batch, *more: len(self.hashes(self.pipeline(batch=batch), *more))
        self.assertEqual(count("batch 6 per rank last drop"), 18)
        self.assertEqual(count("batch 6 per rank last keep"), 20)
        for last, samples in (("keep", 6), ("pad", 7)): # of 20 rows, the third rank of three
            self.assertEqual(count(f"batch 6 per rank last {last}", "--world", "3", "--rank", "2"), samples)
        self.assertEqual(count("batch 6 global last pad", "--world", "3", "--rank", "2"), 7)
        self.assertEqual(count("batch count per rank last drop", "--set", "count=7"), 14)
        self.assertEqual(count("batch 2 * count per rank last drop", "--set", "count=7"), 14)
        self.assertEqual(count("batch 8 global last drop", "--world", "2"), 8)

    def test_the_batch_block_sees_other_samples(self):
        text = self.pipeline(outputs="let other = draw permutation(n)\noutput label: i64[n] = row.label\n"
                                     "output theirs: i64[n] = row.label[n = other]\noutput count: i64[n] = n")
        found = [self.sample(text, p) for p in range(4)]
        self.assertEqual(sorted(int(f["label"]) for f in found), sorted(int(f["theirs"]) for f in found))
        self.assertEqual(found[0]["count"], 4)

    def test_numbers_and_tensors_of_other_samples_together(self):
        text = self.pipeline(table="let table = synthetic(20, x = u8[h = 3, w = 2], label = 0 .. 1000)",
                             outputs="let other = draw permutation(n)\noutput x: u8[n, h, w] = row.x\noutput label: i64[n] = row.label\n"
                                     "output theirs: u8[n, h, w] = row.x[n = other]\noutput their_label: i64[n] = row.label[n = other]")
        found = [self.sample(text, p) for p in range(4)]
        for one in found:
            match = [f for f in found if int(f["label"]) == int(one["their_label"])]
            numpy.testing.assert_array_equal(match[0]["x"], one["theirs"])

    def test_ragged_and_padded_outputs(self):
        text = self.pipeline(table="let table = synthetic(20, boxes = f32[k = 0 ..= 5, box = xyxy])",
                             outputs="output ragged: f32[n, k <= 5, box: xyxy] ragged = row.boxes\n"
                                     "output padded: f32[n, k <= 5, box: xyxy] pad -1 = row.boxes")
        sizes = set()
        for position in range(6):
            found = self.sample(text, position)
            size = found["ragged"].shape[0]
            sizes.add(size)
            numpy.testing.assert_array_equal(found["padded"][:size], found["ragged"])
            self.assertTrue((found["padded"][size:] == -1).all())
        self.assertGreater(len(sizes), 1)

    def test_numerics_are_part_of_the_meaning(self):
        text = lambda options: f"""use vision
pipeline test() {options} {{ for row in synthetic(4, x = u8[h = 9, w = 9]) order sequential
  batch 1 per rank last drop {{ output y: u8[n, h, w] = row.x |> resize(4, 4, bicubic) }} }}"""
        default, pillow, exact = (self.sample(text(o))["y"] for o in ("", "with numerics = pillow", "with numerics = exact"))
        numpy.testing.assert_array_equal(default, pillow)
        self.assertLessEqual(numpy.abs(default.astype(int) - exact).max(), 1)


if __name__ == "__main__":
    main()
