"""What recipes want of the language, through the compiler and the JIT, against NumPy."""
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


class Literals(RecipeTest):
    def test_they_take_the_declared_type(self):
        top = """fn weights(x: u8[h, w]) -> f32[k] = map (k in 0 .. 3) { if k == 0 then 1 else 0.1 }
fn table(x: u8[h, w]) -> u8[h] = map (h in 0 .. 7) { if h < 3 then 1 else 200 }
fn sign(p: f32) -> f32 { let other = 0.1 return if p > 0.5 then 1 else if p > 0.25 then 0.3 else other }"""
        found = self.recipe({"a": ("f32[n, k]", "weights(row.v)"), "b": ("u8[n, h]", "table(row.v)"),
                             "c": ("f32[n, c]", "some"), "d": ("f32[n]", "one"),
                             "e": ("f32[n, h, w]", "map (p in row.x) { sign(p) }")},
                            "let one: f32 = if row.s > 0.5 then 1 else 0.7\n"
                            "let some: f32[c] = if row.s > 0.5 then [1, 2, 3] else [0.1, 2, 3]", top)
        numpy.testing.assert_array_equal(found["a"], numpy.float32([1, 0.1, 0.1]))
        numpy.testing.assert_array_equal(found["b"], [1, 1, 1, 200, 200, 200, 200])
        big = found["s"] > 0.5
        numpy.testing.assert_array_equal(found["c"], numpy.float32([1 if big else 0.1, 2, 3]))
        self.assertEqual(found["d"], numpy.float32(1 if big else 0.7))
        x = found["x"]
        numpy.testing.assert_array_equal(found["e"], numpy.where(x > 0.5, 1, numpy.where(x > 0.25, 0.3, 0.1)).astype(numpy.float32))
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
