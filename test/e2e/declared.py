# SPDX-License-Identifier: Apache-2.0
"""What types state of axes: extents and bounds, roles, and which of them a function takes."""
import itertools

import numpy

from pipelines import LanguageTest
from support import main


class Declared(LanguageTest):
    def text(self, functions="", lets="", output="i64[n]", value="0", rows="x = f32[k = 5], y = f32[k = 0 ..= 9]", settings=""):
        return f"""use vision, points
{functions}
pipeline test({settings}) with on_error = substitute(100%) {{
  for row in synthetic(40, {rows}) order sequential
  {lets}
  batch 1 per rank last drop {{ output y: {output} = {value} }}
}}"""

    def value(self, *arguments, position=0, **more):
        return self.sample(self.text(*arguments, **more), position)["y"]


class Extents(Declared):
    def test_which_function_is_taken(self):
        """By exact extents and bounds, however they are written."""
        for wanted, extent in itertools.product(("2", "s", "1 + 1", "twice(1)"), (1, 2, 3)):
            for sign, fits in (("=", extent == 2), ("<=", extent <= 2)):
                functions = f"const s: int = 2\nfn twice(x: int) -> int = 2 * x\nfn f(x: f32[k {sign} {wanted}]) -> int = 1\nfn f(x: f32[k]) -> int = 2"
                found = self.value(functions, value=f"f(row.x) + int(row.x[k = 0])", rows=f"x = f32[k = {extent}]")
                self.assertEqual(int(found), 1 if fits else 2, (wanted, sign, extent))

    def test_what_only_samples_know_is_checked(self):
        for sign, wanted, fits, said in (("=", "3", lambda k: k == 3, "3"), ("<=", "3", lambda k: k <= 3, "3 or fewer"),
                                         ("<=", "row.most", lambda k: k <= 4, "4 or fewer"), ("=", "row.most", lambda k: k == 4, "4")):
            rows = "y = f32[k = 0 ..= 9], most = 4 ..= 4"
            lets = [f"let z: f32[k {sign} {wanted}] = row.y"]
            cases = [("", lets[0], "extent(z, k)")]
            if wanted == "3":
                cases += [(f"fn f(x: f32[k {sign} {wanted}]) -> int = extent(x, k)", "", "f(row.y)"),
                          (f"fn f(x: f32[k]) -> f32[k {sign} {wanted}] = x", "", "extent(f(row.y), k)"),
                          (f"fn f(s: {{ a: f32[k {sign} {wanted}], b: f32 }}) -> int = extent(s.a, k)", "", "f({ a = row.y, b = 1.0 })")]
            for functions, lets, value in cases:
                for row in range(10):
                    extent = int(self.value(value="extent(row.y, k)", rows=rows, position=row))
                    path = self.write(self.text(functions, lets, value=value, rows=rows))
                    done = self.run_tool("sample", path, "--position", row, "--on-error", "fail", expect=0 if fits(extent) else 1)
                    if not fits(extent):
                        self.assertIn(f"axis `k` has {extent} elements, and its type says {said} (", done.stderr + done.stdout)

    def test_what_is_known_is_refused(self):
        for functions, lets, value, message in (
                ("", "let a: f32[k <= 2] = row.x", "0", "`a` is declared as f32[k <= 2], but is f32[k=5]"),
                ("const v: f32[h <= 1] = [1, 2, 3]", "", "int(v[h = 0])", "this list has 3 elements along axis `h`"),
                ("fn f(x: f32[k <= 2]) -> int = 1", "", "f(row.x)", "`f` takes 2 or fewer elements along axis `k`, and there are 5"),
                ("fn f(x: f32[k = 1 + 2]) -> int = 1", "", "f(row.x)", "`f` takes 3 elements along axis `k`, and there are 5"),
                ("fn f(x: f32[k]) -> f32[k <= 2] = x", "", "extent(f(row.x), k)", "the result of `f` is declared as f32[k <= 2], but is f32[k=5]")):
            self.refused(self.text(functions, lets, value=f"{value} + int(row.x[k = 0])"), message)


class Roles(Declared):
    rows = "image = u8[h = 4, w = 4, c = rgb], boxes = f32[k = 2, box = xyxy], x = f32[k = 3], u = u8[k = 3], s = i16[k = 2], b = bool, i = 0 .. 9"

    def test_a_role_goes_with_its_elements(self):
        """Six channels, one of three, eight numbers of two boxes: no colours and no box."""
        for value, message in (("hue(concat([row.image, row.image], c), 0.3)", "`hue` takes `x` as u8[c: rgb], and this is u8[h=4, w=4, c=6]"),
                               ("hue(row.image[c = 0 .. 1], 0.3)", "`hue` takes `x` as u8[c: rgb], and this is u8[h=4, w=4, c=1]"),
                               ("flip_boxes(concat([row.boxes, row.boxes], box), w, 10)", "`flip_boxes` takes `boxes` as f32[box: xyxy], and this is f32[k=2, box=8]")):
            self.refused(self.text(output="i64[n]", lets=f"let z = {value}", value="row.i", rows=self.rows), message)
        self.refused(self.text(lets="let z: u8[h, w, c: rgb] = concat([row.image, row.image], c)", value="row.i", rows=self.rows),
                     "`z` is declared as u8[h, w, c: rgb], but is u8[h=4, w=4, c=6]")
        self.value(output="u8[n, byte <= 400] pad 0", value="encode(row.image[c = 0 .. 1], png)", rows=self.rows)

    def test_outputs_have_their_roles(self):
        for value, kind, message in (("concat([row.image, row.image], c)", "u8[n, h, w, c: rgb]", "output `y` declares axis `c` as rgb, which has 3 elements, and there are 6"),
                                     ("row.image[c = 0 .. 2]", "u8[n, h, w, c: rgb]", "output `y` declares axis `c` as rgb, which has 3 elements, and there are 2"),
                                     ("row.image", "u8[n, h, w, c: xyxy]", "output `y` declares axis `c` as xyxy, and that of its value is rgb")):
            self.refused(self.text(output=kind, value=value, rows=self.rows), message)

    def test_hints_work_when_followed(self):
        for value, hint in (("row.i + row.b", "`i64(...)` converts"), ("sum(row.u over [k]) + row.b", "`u8(...)` converts"), ("i64(sqrt(4m))", "`sqrt(x / 1m)`"),
                            ("i64(f16(1.5) + f64(row.i))", "`f64(...)` converts")):
            self.refused(self.text(value=value, rows=self.rows), f"hint: {hint}" if "(...)" in hint else f"as in {hint}")
        for value in ("row.i + i64(row.b)", "i64(sqrt(4m / 1m)) + row.i", "i64(f64(f16(1.5)) + f64(row.i))", "extent(row.image, [h, w, c]) + row.i"):
            self.value(value=value, rows=self.rows)
        self.refused(self.text(output="f32[n, k]", value="place(row.x, row.s, k = 0)", rows=self.rows), "`place` needs tensors of one element type, and these are f32[k=3] and i16[k=2]")
        self.refused(self.text(output="u8[n, k]", value="extend(row.u, k, 1, 1, fill = 300)", rows=self.rows), "the fill must be u8, and this is 300")
        self.refused(self.text("fn f(a: u8) -> u8 = a", lets="let z = f(300)", value="row.i", rows=self.rows), "`f` takes `a` as u8, and this is 300")
        self.refused(self.text("fn f(a: f32) -> f32 = a", lets="let z = f(1e39)", value="row.i", rows=self.rows),
                     "`f` takes `a` as f32, and this number does not fit f32, which ends at 3.4e38")
        for number, wanted in (("1e39", 2), ("1e38", 1), ("inf", 1)):
            found = self.value("fn f(a: f32) -> int = 1\nfn f(a: f64) -> int = 2", value=f"f({number}) + row.i * 0", rows=self.rows)
            self.assertEqual(int(found), wanted)


class Orders(Declared):
    """Names decide, not the order in which axes lie."""
    rows = "x = f32[h = 3, w = 4], p = f32[k = 6, xyz = 3]"
    turned = "let t = map (w in 0 .. 4, h in 0 .. 3) { row.x[h = h, w = w] }\n  let q = map (xyz in 0 .. 3, k in 0 .. 6) { row.p[k = k, xyz = xyz] }"

    def test_places_in_several_axes(self):
        for position in range(6):
            x = self.value(output="f32[n, h, w]", value="row.x", rows=self.rows, position=position)
            for name, order, wanted in itertools.product(("row.x", "t"), ("h, w", "w, h"), ("argmax", "argmin")):
                for functions, value in (("", f"{wanted}({name} over [{order}])"), ("fn f(x: f32[w, h]) -> i64[] = WANTED(x over [ORDER])", f"f({name})"),
                                         ("fn f(x: f32[], a: axes) -> i64[] = WANTED(x over [a])", f"f({name} over [{order}])")):
                    functions = functions.replace("WANTED", wanted).replace("ORDER", order)
                    found = self.value(functions, lets=self.turned, value=value, rows=self.rows, position=position)
                    self.assertEqual(int(found), int(getattr(x if order == "h, w" else x.T, wanted)()), (name, order, value))
            for order in ("h, w", "w, h"):
                found = self.value(output="i64[n, h, w]", rows=self.rows, position=position,
                                   value=f"window (v in row.x, h = -1 ..= 1, w = 0 ..= 1, border = edge) {{ argmax(v over [{order}]) }}")
                wide = numpy.pad(x, ((1, 1), (0, 1)), "edge")
                for i, j in numpy.ndindex(3, 4):
                    part = wide[i:i + 3, j:j + 2]
                    self.assertEqual(found[i, j], (part if order == "h, w" else part.T).argmax())

    def test_groups_of_points(self):
        for position in range(4):
            alone, turned = (self.value(output="f32[n, m <= 6, xyz] pad 0.0", lets=self.turned, rows=self.rows, position=position, value=f"voxelize({of}, 0.6m, 6).mean")
                             for of in ("row.p", "q"))
            numpy.testing.assert_array_equal(alone, turned)

    def test_keys_do_not_ride_along(self):
        """A key for each element of an axis that the function does not name would be many keys."""
        for functions, value, note in (("fn kinds(x: f32[w]) -> i32[m] = group(x, by = map (p in x) { i32(p) }, limit = 4).count", "kinds(row.x)[m = 0]",
                                        "`kinds` takes `x` as f32[w], and here axis `h` rides along"),
                                       ("", "voxelize(stack([row.p, row.p], z), 0.7m, limit = 4).mean[z = 0, m = 0, xyz = 0]",
                                        "`voxelize` takes `p` as f32[k, xyz], and here axis `z` rides along")):
            self.refused(self.text(functions, lets=f"let z = {value}", value="int(row.x[h = 0, w = 0])", rows=self.rows),
                         "one key says to which group an element belongs, and this differs along axis", note)


class SmallTensors(Declared):
    def test_a_draw_is_one_for_all_of_their_elements(self):
        """As for all elements around; `per` draws for each."""
        row = "row.x[k = 0] * 0.0"
        for draw in ("f32(draw uniform(0.0 .. 1.0))", "f32(draw normal(0.0, 1.0))", "(if chance(0.5) then f32(1.0) else 0.0)", "twice()", "f32(draw int(0 .. 9))"):
            seen = set()
            for position in range(6):
                found = self.value("fn twice() -> f32 = f32(draw uniform(0.0 .. 1.0)) + f32(draw uniform(0.0 .. 1.0))", output="f32[n, k, j]", position=position,
                                   value=f"map (p in row.x) {{ map (j in 0 .. 3) {{ p * 0.0 + {draw} }} }}")
                self.assertEqual(len(numpy.unique(found)), 1, draw)
                seen.add(float(found.flat[0]))
            self.assertGreater(len(seen), 1)
        found = self.value(output="f32[n, k, j]", value="map (p in row.x) { map (j in 0 .. 3) { p * 0.0 + f32(draw uniform(0.0 .. 1.0) per [k, j]) } }")
        self.assertEqual(len(numpy.unique(found)), 15)
        found = self.value(output="f32[n, k, j, i]", value="map (p in row.x) { map (j in 0 .. 3) { map (i in 0 .. 2) { p * 0.0 + f32(i) + f32(draw uniform(0.0 .. 1.0)) } } }")
        numpy.testing.assert_allclose(found[..., 1] - found[..., 0], 1, rtol=1e-6)
        self.assertEqual(len(numpy.unique(found[..., 0])), 1)
        # The two draws of one element are two draws.
        found = self.value(output="f32[n, k, j]", value="map (p in row.x) { map (j in 0 .. 3) { p * 0.0 + f32(draw uniform(0.0 .. 1.0)) - f32(draw uniform(0.0 .. 1.0)) } }")
        self.assertNotEqual(float(found.flat[0]), 0.0)
        # What a draw lies between may differ from element to element, as it may around.
        found = self.value(output="f32[n, k, j]", value="map (p in row.x) { map (j in 0 .. 3) { p * 0.0 + f32(draw uniform(0.0 .. f64(j + 1))) } }")
        numpy.testing.assert_allclose(found / found[..., :1], numpy.broadcast_to([1, 2, 3], found.shape), rtol=1e-5)


if __name__ == "__main__":
    main()
